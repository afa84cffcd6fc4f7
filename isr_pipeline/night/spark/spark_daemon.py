"""The process that Spark forks its Python workers from.

Spark's own, with differences that matter when tasks take a second:

* pyspark is imported from the environment, if it is there, not from the archives (pyspark.zip, a
  jar) that Spark puts first on the path. Before every task a worker invalidates its import caches,
  which means reading each archive's directory again, for every package in it: 0.2 s of processor
  time a task.
* The modules named in ``ISR_PIPELINE_PRELOAD`` (with commas between) are imported here, once a
  machine instead of once a worker; of ``module:function`` the function is also called. What they
  brought stays out of garbage collection: a worker collects after every task, and walking through
  all of numba and pandas takes 0.1 s.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

PRELOAD = "ISR_PIPELINE_PRELOAD"


def leave_archives() -> None:
    """Take Spark's archives off the path, if the packages in them are installed beside us."""
    archives = [entry for entry in sys.path if Path(entry).is_file()]
    others = [entry for entry in sys.path if entry not in archives]
    if PathFinder.find_spec("pyspark", others) is None:
        return
    sys.path[:] = others
    for entry in list(sys.path_importer_cache):
        if entry.startswith(tuple(archives)):
            del sys.path_importer_cache[entry]


def main() -> None:
    """Import what workers need, then serve Spark until it goes."""
    leave_archives()
    from pyspark.daemon import manager  # noqa: PLC0415 - not before the archives are off the path

    with contextlib.redirect_stdout(sys.stderr):  # Spark reads our address from standard output
        for named in filter(None, os.environ.get(PRELOAD, "").split(",")):
            module, _, function = named.partition(":")
            imported = importlib.import_module(module)
            if function:
                getattr(imported, function)()
    gc.collect()
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
