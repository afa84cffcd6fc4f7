"""Airflow's programs on one SQLite file."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from isr_pipeline.base.home import Home
from isr_pipeline.night.airflow.database import connect_args
from isr_pipeline.night.stack import environment
from tests.saying import finished

COUNT = text("select count(*) from runs")
ADD = text("insert into runs values (1)")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database as Airflow keeps it, with one empty table."""
    file = tmp_path / "airflow.db"
    with sqlite3.connect(file) as database:
        database.execute("pragma journal_mode=wal")
        database.execute("create table runs (number)")
    return file


@pytest.fixture
def other(file: Path) -> Iterator[sqlite3.Connection]:
    """Another program's connection, which does not wait."""
    database = sqlite3.connect(file, timeout=0)
    yield database
    database.close()


class TestSavepoint:
    """A read and then a write in a savepoint, as Airflow creates the runs of a backfill."""

    def test_no_other_writes_between(self, file: Path, other: sqlite3.Connection) -> None:
        """Who has read in a savepoint can write: another program has to wait for its end."""
        address = f"sqlite:///{file}"
        with Session(create_engine(address, connect_args=connect_args(address))) as session:
            with session.begin_nested():
                assert session.scalar(COUNT) == 0
                with pytest.raises(sqlite3.OperationalError, match="database is locked"):
                    other.execute(ADD.text)
                session.execute(ADD)
            session.commit()
        other.execute(ADD.text)
        assert other.execute(COUNT.text).fetchone() == (2,)

    def test_a_savepoint_inside_a_transaction_is_part_of_it(self, file: Path) -> None:
        """What a savepoint takes back leaves what was written before it."""
        address = f"sqlite:///{file}"
        with Session(create_engine(address, connect_args=connect_args(address))) as session:
            session.execute(ADD)
            with session.begin_nested() as nested:
                session.execute(ADD)
                nested.rollback()
            session.commit()
            assert session.scalar(COUNT) == 1


class TestWhoseDatabase:
    """Only SQLite is given these arguments."""

    def test_another_database_is_given_nothing(self) -> None:
        """PostgreSQL knows neither of them."""
        assert connect_args("postgresql+psycopg2://airflow@127.0.0.1/airflow") == {}

    def test_airflow_opens_its_database_with_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In the stack's environment both of Airflow's engines have them."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        asked = (
            "import asyncio\n"
            "from airflow import settings\n"
            "print(type(settings.engine.raw_connection().dbapi_connection).__name__)\n"
            "async def opened():\n"
            "    async with settings.async_engine.connect() as connection:\n"
            "        raw = await connection.get_raw_connection()\n"
            "        print(type(raw.driver_connection._conn).__name__)\n"
            "    await settings.async_engine.dispose()\n"
            "asyncio.run(opened())\n"
        )
        variables = environment(Home.from_environment())
        told = finished([sys.executable, "-c", asked], env=variables)
        assert told.stdout.split() == ["Database", "Database"], told.stderr
