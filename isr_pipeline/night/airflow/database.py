"""How Airflow opens its database; Airflow imports this module by the name that `stack` gives it.

Two things differ from what Python and SQLite do by themselves:

* A program waits a minute for the one that writes: Python's five seconds are too few where two
  cores run a Spark and four Airflow programs.
* A savepoint takes the write lock at once. Left to SQLite it begins as a reader, and a reader that
  wants to write after another has written fails *immediately* with ``database is locked``
  (``SQLITE_BUSY_SNAPSHOT``), however long it may wait. Airflow creates the runs of a backfill in
  such savepoints, while its scheduler writes all the time.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from airflow.configuration import conf

WAIT_SECONDS_MAX = 60


class Writer(sqlite3.Cursor):
    """A cursor whose outermost savepoint is a writer from its start."""

    def execute(self, sql: str, parameters: Any = (), /) -> Writer:
        """Run a statement, as `sqlite3.Cursor.execute` does."""
        if sql.startswith("SAVEPOINT") and not self.connection.in_transaction:
            super().execute("BEGIN IMMEDIATE")
        return super().execute(sql, parameters)


class Database(sqlite3.Connection):
    """A connection with such cursors."""

    def cursor(self, factory: Any = None) -> Any:
        """Open a cursor, as `sqlite3.Connection.cursor` does."""
        return super().cursor(factory or Writer)


def connect_args(address: str) -> dict[str, Any]:
    """Return what `sqlite3.connect` needs for a database at an address (SQLAlchemy's URL)."""
    if not address.startswith("sqlite"):
        return {}
    return {"timeout": WAIT_SECONDS_MAX, "factory": Database}


CONNECT_ARGS = connect_args(conf.get("database", "sql_alchemy_conn"))
"""``[database] sql_alchemy_connect_args`` (Airflow adds to this dictionary)."""

CONNECT_ARGS_ASYNC = dict(CONNECT_ARGS)
"""``[database] sql_alchemy_connect_args_async``."""
