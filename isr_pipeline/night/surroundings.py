"""Which of the caller's environment variables the programs of this checkout may see.

A shell that was made for another Spark, another Python or a proxy holds variables that break a
night minutes after its start. Every program that ``make`` or the command line starts gets the
caller's environment without them, and one line says which were left aside. What
docs/operations.md names stays.

Nothing here applies in an Airflow and a Spark that somebody else runs: there, theirs decides.

Runs as a program too, for make and set-up: ``python -I -X utf8 surroundings.py [--quiet] COMMAND``
(so Python itself reads none of these variables, and names of files as UTF-8). Standard library
only, since set-up runs it before there is an environment.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import NoReturn

_BREAKING = re.compile(
    r"""
      SPARK_.* | PYSPARK_.* | PYARROW_IGNORE_TIMEZONE  # another Spark: its place, options, Python
    | HADOOP_.* | YARN_.* | HIVE_.*                    # another file system than the one written to
    | PYTHON.+ | __PYVENV_LAUNCHER__                   # another Python: its modules, its behaviour
    | .*JAVA_OPTIONS | JAVA_TOOL_OPTIONS
    | BASH_ENV | CDPATH | SHELLOPTS | BASHOPTS | POSIXLY_CORRECT | BASH_FUNC_.*  # Spark's scripts
    | AIRFLOW_CONFIG                                   # another Airflow, with its database
    | GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY)  # another repository
    | GX_CLOUD_.* | MLFLOW_(RUN_ID|EXPERIMENT_ID|EXPERIMENT_NAME|ENABLE_ASYNC_LOGGING)
    | PYTEST_.* | MYPYPATH | RUFF_.* | NUMBA_DISABLE_JIT
    | UV_(PROJECT|WORKING_DIR.*|PYTHON|LOCKED|NO_SYNC|NO_DEV|NO_DEFAULT_GROUPS|NO_EDITABLE
         |NO_INSTALL_PROJECT|ISOLATED|SYSTEM_PYTHON|MANAGED_PYTHON)
    """,
    re.VERBOSE,
)
_HARMLESS = frozenset(
    {
        "SPARK_MASTER",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONFAULTHANDLER",
        "PYTHONPYCACHEPREFIX",
        "PYTEST_ARGS",  # of make test
        "PYTEST_CURRENT_TEST",
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
        "PYTEST_XDIST_TESTRUNUID",
        "PYTEST_VERSION",
    }
)
_OF_A_CLUSTER = frozenset(
    {"HADOOP_CONF_DIR", "HADOOP_USER_NAME", "YARN_CONF_DIR", "SPARK_LOCAL_IP"}
)
"""Kept where Spark or the tables are on other machines: they say how to reach them."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")

LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
"""In another one Java cannot open files whose names hold letters beyond ASCII."""


def left_aside(variables: Mapping[str, str]) -> list[str]:
    """Names of the variables that a program of this checkout must not see, sorted.

    Args:
        variables: an environment, such as ``os.environ``.
    """
    kept = _HARMLESS | (_OF_A_CLUSTER if _elsewhere(variables) else frozenset())
    return sorted(name for name in variables if _BREAKING.fullmatch(name) and name not in kept)


def own(variables: Mapping[str, str]) -> dict[str, str]:
    """Give an environment for a program of this checkout.

    The loopback is never asked for through a proxy, and names of files are UTF-8.

    Args:
        variables: the caller's.
    """
    aside = set(left_aside(variables))
    kept = {name: value for name, value in variables.items() if name not in aside}
    for name in ("NO_PROXY", "no_proxy"):
        given = [part for part in kept.get(name, "").split(",") if part.strip()]
        kept[name] = ",".join([*given, *(host for host in _LOOPBACK if host not in given)])
    kept["LC_ALL"] = LOCALE
    if sys.platform == "darwin":
        # Airflow's workers are forked, which macOS breaks off unless it is told that this is meant.
        kept["OBJC_DISABLE_INITIALIZE_FORK_SAFETY"] = "YES"
    return kept


def told(names: list[str]) -> str:
    """One line that says what was left aside."""
    return (
        f"left aside from your environment: {', '.join(names)} "
        "(docs/operations.md names the variables that count)\n"
    )


def _elsewhere(variables: Mapping[str, str]) -> bool:
    """Whether Spark or the tables are on other machines."""
    master = variables.get("SPARK_MASTER", "")
    connection = variables.get("AIRFLOW_CONN_SPARK_DEFAULT", "")
    return (
        (bool(master) and not master.startswith("local"))
        or (bool(connection) and '"local' not in connection and "://local" not in connection)
        or "://" in variables.get("ISR_PIPELINE_ROOT", "")
        or "://" in variables.get("ISR_PIPELINE_STORE", "")
    )


def enter(module: str, arguments: list[str]) -> None:
    """Go on in an environment of our own: at the start of a program that a person calls.

    Does nothing where set-up did not make this Python's environment: there, others decide.

    Args:
        module: to start again if this Python itself was told something by the caller's variables.
        arguments: of the program.
    """
    if not os.path.exists(os.path.join(sys.prefix, ".set-up")):  # noqa: PTH110, PTH118
        return
    names = left_aside(os.environ)
    variables = own(os.environ)
    if names:
        sys.stderr.write(told(names))
        sys.stderr.flush()
    if any(name.startswith("PYTHON") for name in names):
        command = [sys.executable, "-P", "-m", module, *arguments]
        os.execve(sys.executable, command, variables)  # noqa: S606 - the same program
    for name in names:
        del os.environ[name]
    os.environ.update(variables)


def main() -> NoReturn:
    """Become the command in the arguments, in an environment of our own."""
    command = sys.argv[1:]
    quiet = command[0] == "--quiet"
    names = left_aside(os.environ)
    if names and not quiet:
        sys.stderr.write(told(names))
        sys.stderr.flush()
    command = command[quiet:]
    try:
        os.execvpe(command[0], command, own(os.environ))  # noqa: S606 - takes over
    except OSError as error:
        sys.exit(_cannot_start(command[0], error))


def _cannot_start(program: str, error: OSError) -> int:
    """Say why a program does not start; the exit status that a shell would give."""
    sys.stderr.write(f"{program} cannot be started: {str(error.strerror).lower()}\n")
    return 127


if __name__ == "__main__":
    main()
