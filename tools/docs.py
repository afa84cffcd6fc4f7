"""``make docs``: the documentation as a site, in ``.state/site``.

MkDocs Material and what it needs are locked as the dependency group ``docs``. They go into an
environment of their own, ``.tools/docs``, so that nights never carry them. A link that leads
nowhere fails the build. The site is files: open ``.state/site/index.html``, search included.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import setup  # noqa: E402 - the line above leads there

ENVIRONMENT = ROOT / ".tools" / "docs"
SITE = ROOT / ".state" / "site"


def main() -> int:
    """Install what is missing, build; the exit status of the build."""
    try:
        python = setup.find_python()
        uv = setup.find_uv(python)
        variables = dict(
            os.environ,
            UV_PROJECT_ENVIRONMENT=str(ENVIRONMENT),
            UV_PYTHON_DOWNLOADS="never",
            UV_CACHE_DIR=str(setup.cache_folder()),
        )
        variables.pop("VIRTUAL_ENV", None)
        own = [python, "-I", "-X", "utf8", str(setup.SURROUNDINGS), "--quiet"]
        sync = [uv, "sync", "--frozen", "--only-group", "docs", "--quiet", "--python", python]
        setup.run(
            [*own, *sync],
            "the packages of the site could not be installed; the first time needs a network",
            env=variables,
        )
    except setup.SetUpError as error:
        sys.stderr.write(f"make docs: {str(error).removeprefix('make setup: ')}\n")
        return 1
    variables["NO_MKDOCS_2_WARNING"] = "1"
    build = [str(ENVIRONMENT / "bin" / "mkdocs"), "build", "--strict", "--clean"]
    done = subprocess.run(
        [*own, *build],
        cwd=str(ROOT),
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    said = [line for line in done.stdout.splitlines() if not line.startswith("INFO")]
    if done.returncode:
        sys.stderr.write("\n".join(said) + "\n")
    else:
        sys.stdout.write(f"make docs: {SITE / 'index.html'}\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
