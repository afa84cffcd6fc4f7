"""How Airflow opens its database; Airflow imports this module by the name that `stack` gives it."""

from __future__ import annotations

from airflow.configuration import conf

from isr_pipeline.host.sqlite_writes import connect_args

CONNECT_ARGS = connect_args(conf.get("database", "sql_alchemy_conn"))
"""``[database] sql_alchemy_connect_args`` (Airflow adds to this dictionary)."""

CONNECT_ARGS_ASYNC = dict(CONNECT_ARGS)
"""``[database] sql_alchemy_connect_args_async``."""
