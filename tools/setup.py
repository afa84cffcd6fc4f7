"""Set-up: everything this checkout needs, into this checkout.

Run by every ``make`` target. Needs Python 3.11 to 3.14 and the package index; root, Docker, Java
and a home directory are not needed. Creates ``.tools/`` (uv, if none is on PATH), ``.venv/`` (the
locked environment) and ``.state/`` (whatever a night makes). A second run compares one stamp and
ends: no network, nothing reinstalled.

``--simulator``: the simulator alone, without Airflow, Spark, MLflow, Great Expectations and what
developers need, and without bytecode: Python compiles each library when it is first imported. The
rest takes a minute of processor time and 1.3 GB.

Standard library only, and old syntax: an old Python must get as far as saying that it is too old.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
TOOLS = ROOT / ".tools"
STATE = ROOT / ".state"
STAMP = VENV / ".set-up"
SIMULATOR = "--simulator"
UV_VERSION = "0.13.9"
UV_OLDEST = (0, 9, 0)  # knows [tool.uv] exclude-dependencies
PYTHON_OLDEST, PYTHON_TOO_NEW = (3, 11), (3, 15)
SURROUNDINGS = ROOT / "isr_pipeline" / "night" / "surroundings.py"
PATH_REFUSED = {
    ":": "separates folders in PATH and in Java's class path",
    ",": "separates folders in Spark's settings",
    ";": "separates folders in Spark's settings",
    "%": "begins a variable in Airflow's settings",
    "?": "begins the options of a database's address",
    "#": "begins a comment in settings",
    "*": "stands for any name in Spark",
    "[": "stands for names in Spark",
    "]": "stands for names in Spark",
    "{": "stands for names in Spark",
    "}": "stands for names in Spark",
    "$": "begins a variable in make",
    "`": "begins a command in shells",
    '"': "ends a quoted path",
    "\\": "hides the next letter",
    "!/": "ends an archive's name in Java",
    "\t": "ends a word",
    "\n": "ends a line",
}
"""Letters of a path that some program of the stack reads as something else."""


class SetUpError(Exception):
    """What is missing and what to do, in one line."""


def main() -> int:
    """Bring the checkout to the locked state; exit status 1 and one line if that cannot be done."""
    try:
        set_up(simulator=SIMULATOR in sys.argv)
    except SetUpError as error:
        sys.stderr.write(f"make setup: {error}\n")
        return 1
    return 0


def set_up(simulator: bool) -> None:
    """Do only what the stamp says is missing: all, or the simulator alone."""
    if os.name != "posix":
        raise SetUpError("Linux or macOS is needed; on Windows use WSL 2, there it is Linux")
    check_path(str(ROOT))
    wanted = fingerprint()
    found = STAMP.read_text() if STAMP.is_file() else ""
    done = [wanted, wanted + SIMULATOR] if simulator else [wanted]
    if found in done and (VENV / "bin" / "isr-pipeline").exists():
        return
    if found and not found.endswith(SIMULATOR):
        simulator = False  # who has all keeps all
    python = find_python()
    uv = find_uv(python)
    what = "the simulator" if simulator else "the locked environment"
    print_line("installing " + what + " into .venv (the first time 1 to 3 minutes)")
    environment = dict(
        os.environ,
        UV_PROJECT_ENVIRONMENT=str(VENV),
        UV_PYTHON_DOWNLOADS="never",
        UV_CACHE_DIR=str(cache_folder()),
    )
    environment.pop("VIRTUAL_ENV", None)
    own = [python, "-I", "-X", "utf8", str(SURROUNDINGS), "--quiet"]
    command = own + [uv, "sync", "--frozen", "--quiet", "--python", python]
    if simulator:
        command += ["--extra", "simulate", "--no-default-groups"]
    else:
        command += ["--all-extras", "--no-extra", "k8s", "--no-extra", "server"]
        command += ["--compile-bytecode"]
    run(
        command,
        "the locked environment could not be installed; check that the package index can be "
        "reached (proxy and certificate variables) and that the disk has 3 GB free, then run "
        "`make setup` again",
        env=environment,
    )
    make_own_path_relative()
    if not simulator:
        check_java(own)
    STATE.mkdir(exist_ok=True)
    STAMP.write_text(wanted + SIMULATOR if simulator else wanted)
    print_line("ready; `source .venv/bin/activate` lets you type isr-pipeline")


def check_path(path: str) -> None:
    """Refuse a checkout whose path some program of the stack would read as something else."""
    for letter, why in PATH_REFUSED.items():
        if letter in path:
            raise SetUpError(
                f"the path of the checkout, {path!r}, holds {letter!r}, which {why}; "
                "move the checkout to a path without it (spaces, quotes like ' and any alphabet "
                "are fine)"
            )


def fingerprint() -> str:
    """Digest of all that decides what ``.venv`` holds; a moved checkout needs a new one."""
    digest = hashlib.sha256(str(ROOT).encode())
    for path in (ROOT / "pyproject.toml", ROOT / "uv.lock", Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest() + "\n"


def find_python() -> str:
    """First interpreter the environment can be built on: this one, else one on PATH."""
    names = ["python3." + str(minor) for minor in (12, 11, 13, 14)]
    for candidate in [sys.executable, "python3"] + names + ["python"]:
        path = shutil.which(candidate) if candidate else None
        if path and PYTHON_OLDEST <= python_version(path) < PYTHON_TOO_NEW:
            return path
    raise SetUpError(
        f"Python 3.11 to 3.14 is missing (this is {sys.version_info[0]}.{sys.version_info[1]}); "
        "install one, or name it: make setup PYTHON=/path/to/python3.13"
    )


def python_version(path: str) -> "tuple[int, int]":
    """``(3, 11)``, or ``(0, 0)`` if the file does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        text = subprocess.check_output(
            [path, "-I", "-c", code], stderr=subprocess.DEVNULL, timeout=60
        )
        major, minor = text.split()
        return int(major), int(minor)
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0, 0


def find_uv(python: str) -> str:
    """The uv on PATH if new enough, else one fetched into ``.tools/uv``."""
    on_path = shutil.which("uv")
    if on_path and uv_version(on_path) >= UV_OLDEST:
        return on_path
    own = TOOLS / "uv" / "bin" / "uv"
    if own.exists() and uv_version(str(own)) >= UV_OLDEST:
        return str(own)
    print_line(f"fetching uv {UV_VERSION} into .tools")
    shutil.rmtree(str(TOOLS / "uv"), ignore_errors=True)
    install = [python, "-I", "-m", "pip", "install", "--quiet", "--no-input"]
    install.append("--no-warn-script-location")
    if has_module(python, "ensurepip"):
        run([python, "-I", "-m", "venv", str(TOOLS / "uv")], f"`{python} -m venv` failed")
        install[0] = str(TOOLS / "uv" / "bin" / "python")
    elif has_module(python, "pip"):
        install += ["--target", str(TOOLS / "uv")]
    else:
        raise SetUpError(
            f"{python} has neither venv nor pip; install python3-venv, or put uv on PATH"
        )
    run(
        install + ["uv==" + UV_VERSION],
        "uv could not be fetched; check that the package index can be reached (proxy and "
        f"certificate variables), or put uv {UV_OLDEST[0]}.{UV_OLDEST[1]} or newer on PATH",
    )
    return str(own)


def uv_version(path: str) -> "tuple[int, ...]":
    """``(0, 13, 9)``, or ``()`` if the file does not run."""
    try:
        words = subprocess.check_output([path, "--version"], stderr=subprocess.DEVNULL).split()
        return tuple(int(part) for part in words[1].decode().split("+")[0].split(".")[:3])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return ()


def has_module(python: str, name: str) -> bool:
    """Whether that interpreter can import a module (Debian ships venv without ensurepip)."""
    command = [python, "-I", "-c", "import " + name]
    return subprocess.call(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def cache_folder() -> Path:
    """Where uv keeps downloads: its own place, or ours if there is no home to put it in."""
    if os.environ.get("UV_CACHE_DIR"):
        return Path(os.environ["UV_CACHE_DIR"])
    home = os.environ.get("HOME", "")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path(home) / ".cache")
    writable = os.access(str(base), os.W_OK) or (home and os.access(home, os.W_OK))
    return base / "uv" if writable and base.is_absolute() else TOOLS / "uv-cache"


def make_own_path_relative() -> None:
    """Say where the checkout is without the letters of its path.

    Python before 3.13 reads that file in the shell's encoding, and in the plain C locale would
    not start below a folder that is called ``Übung``.
    """
    for file in VENV.glob("lib/python3*/site-packages/*isr_pipeline*.pth"):
        if set(file.read_text(encoding="utf-8").splitlines()) == {str(ROOT)}:
            file.write_text(os.path.relpath(str(ROOT), str(file.parent)) + "\n", encoding="utf-8")


def check_java(own: "list[str]") -> None:
    """Ask the installed package which Java Spark will use."""
    command = own + [str(VENV / "bin" / "python"), "-m", "isr_pipeline.night.spark.java"]
    run(command, "no Java runtime for Spark was found; set JAVA_HOME to a Java 17 or 21")


def run(command: "list[str]", failure: str, env: "dict[str, str] | None" = None) -> None:
    """Run a command, its output below ours; ``failure`` is the line for the user."""
    try:
        status = subprocess.call(command, env=env, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise SetUpError(f"{failure} ({error})") from error
    if status != 0:
        raise SetUpError(failure)


def print_line(text: str) -> None:
    """One line of progress."""
    sys.stdout.write(f"make setup: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
