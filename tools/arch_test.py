"""``make arch-test``: the library's scenarios on ARM64 give the bytes that they give here.

qemu-user runs an ARM64 Python, Debian's, with the wheels of the lock for ARM64. All of it is
unpacked into ``.tools/arm64``; nothing is installed, no root and no container are needed. The
first run fetches some 150 MB; the kernel compiles for five to ten minutes under qemu.

Where Debian's packages cannot be had the test is skipped, and says why (exit status 0); scenarios
that differ are exit status 1.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".tools" / "arm64"
SYSTEM = PLACE / "system"
WHEELS = PLACE / "wheels"

DEBIAN, PYTHON = "bookworm", "3.11"
MIRROR = "http://deb.debian.org/debian"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PACKAGES = (
    *("libc6", "libgcc-s1", "libstdc++6", "zlib1g", "libexpat1", "libffi8", "libssl3"),
    *("libbz2-1.0", "liblzma5", "libsqlite3-0", "libuuid1", "libcrypt1"),
    *("libpython3.11-minimal", "libpython3.11-stdlib", "python3.11-minimal"),
)
LIBRARIES = (
    *("numpy", "numba", "llvmlite", "ruamel-yaml", "pydantic", "pydantic-core"),
    *("annotated-types", "typing-extensions", "typing-inspection"),
)
"""What running a scenario imports."""


class CannotTryError(Exception):
    """What is missing here, in one line."""


def main() -> int:
    """Make what is missing, run both, compare."""
    try:
        qemu = find_qemu()
        make_system()
        make_wheels()
    except CannotTryError as missing:
        sys.stdout.write(f"arch-test skipped: {missing}\n")
        return 0
    script = str(ROOT / "tools" / "arch_scenarios.py")
    here = run_scenarios([sys.executable, script], dict(os.environ))
    there = run_scenarios(
        [qemu, "-L", str(SYSTEM), str(SYSTEM / "usr" / "bin" / f"python{PYTHON}"), "-P", script],
        {
            "PATH": os.defpath,
            "HOME": str(PLACE),
            "LC_ALL": "C.UTF-8",
            "PYTHONHOME": str(SYSTEM / "usr"),
            "PYTHONPATH": str(WHEELS),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ISR_PIPELINE_HOME": str(PLACE / "home"),
        },
    )
    return compare(here, there)


def compare(here: "dict[str, str]", there: "dict[str, str]") -> int:
    """Say whether both gave the same."""
    names = sorted(set(here) | set(there))
    differing = [name for name in names if here.get(name) != there.get(name)]
    if differing or not names:
        sys.stdout.write(f"arch-test: not the same on ARM64: {', '.join(differing) or 'nothing'}\n")
        return 1
    sys.stdout.write(f"arch-test: {len(names)} scenarios, byte for byte the same on ARM64\n")
    return 0


def run_scenarios(command: "list[str]", variables: "dict[str, str]") -> "dict[str, str]":
    """Run the scenarios; name -> digest."""
    done = subprocess.run(
        command, env=variables, stdout=subprocess.PIPE, text=True, check=False, cwd=str(ROOT)
    )
    if done.returncode:
        raise SystemExit(f"arch-test: {command[0]} ended with status {done.returncode}")
    return dict(line.split() for line in done.stdout.splitlines())


def find_qemu() -> str:
    """The emulator on PATH, else Debian's, unpacked."""
    for name in ("qemu-aarch64-static", "qemu-aarch64"):
        found = shutil.which(name)
        if found:
            return found
    own = PLACE / "qemu" / "usr" / "bin" / "qemu-aarch64-static"
    if not own.exists():
        unpack(["qemu-user-static"], PLACE / "qemu", {})
    return str(own)


def make_system() -> None:
    """Unpack Debian's ARM64 Python and what it is linked with."""
    if (SYSTEM / "usr" / "bin" / f"python{PYTHON}").exists():
        return
    if not KEYRING.exists():
        raise CannotTryError(f"{KEYRING} is missing (Debian's package debian-archive-keyring)")
    apt = PLACE / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {DEBIAN} main\n")
    (apt / "apt.conf").write_text(
        'APT::Architecture "arm64";\nAPT::Architectures { "arm64"; };\n'
        f'Dir::State "{apt}/state";\nDir::State::status "{apt}/status";\n'
        f'Dir::Cache "{apt}/cache";\nDir::Etc::sourcelist "{apt}/sources.list";\n'
        'Dir::Etc::sourceparts "-";\nAPT::Sandbox::User "";\n'
        'Acquire::Languages "none";\n'
    )
    variables = {"APT_CONFIG": str(apt / "apt.conf")}
    quietly(["apt-get", "-qq", "update"], variables, apt, f"{MIRROR} cannot be reached")
    unpack(list(PACKAGES), SYSTEM, variables)


def unpack(packages: "list[str]", target: Path, variables: "dict[str, str]") -> None:
    """Download packages of Debian and unpack them, whole or not at all."""
    say(f"fetching {', '.join(packages)}")
    draft = target.with_name(target.name + ".draft")
    shutil.rmtree(draft, ignore_errors=True)
    downloads = draft / "var" / "downloads"
    downloads.mkdir(parents=True)
    missing = "Debian's packages cannot be fetched: " + ", ".join(packages)
    quietly(["apt-get", "-qq", "download", *packages], variables, downloads, missing)
    for package in sorted(downloads.glob("*.deb")):
        quietly(["dpkg-deb", "-x", str(package), str(draft)], {}, draft, f"{package} is damaged")
    shutil.rmtree(downloads)
    shutil.rmtree(target, ignore_errors=True)
    draft.rename(target)


def make_wheels() -> None:
    """Install the locked wheels for ARM64 into a folder."""
    if WHEELS.exists():
        return
    uv = shutil.which("uv") or str(ROOT / ".tools" / "uv" / "bin" / "uv")
    listed = subprocess.run(
        [uv, "export", "--frozen", "--no-dev", "--no-hashes", "--no-emit-project", "--quiet"],
        stdout=subprocess.PIPE, text=True, check=True, cwd=str(ROOT),
    ).stdout  # fmt: skip
    wanted = [line.split(" ;")[0] for line in listed.splitlines()]
    wanted = [line for line in wanted if line.split("==")[0] in LIBRARIES]
    say(f"fetching wheels for ARM64: {', '.join(wanted)}")
    draft = WHEELS.with_name("wheels.draft")
    shutil.rmtree(draft, ignore_errors=True)
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--python-platform", "aarch64-manylinux_2_28", "--python-version", PYTHON]
    quietly([*command, "--target", str(draft), *wanted], {}, ROOT, "the wheels cannot be fetched")
    draft.rename(WHEELS)


def quietly(command: "list[str]", variables: "dict[str, str]", folder: Path, failure: str) -> None:
    """Run a command; if it fails there is nothing to try with."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **variables},
            cwd=str(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except OSError:
        raise CannotTryError(f"{command[0]} is missing") from None
    if done.returncode:
        last = next((line for line in reversed(done.stdout.splitlines()) if line.strip()), "")
        raise CannotTryError(f"{failure} ({last})")


def say(text: str) -> None:
    """One line of progress."""
    sys.stdout.write(f"arch-test: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
