"""A real MLflow store for each test, in the test's own home."""

import shutil
from pathlib import Path

import pytest
from mlflow import MlflowClient

from isr_pipeline.report.tracking.client import connect
from tests.verdicts.synthetic import home

__all__ = ["home"]


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite store, made once: migrating takes two seconds."""
    file = tmp_path_factory.mktemp("store") / "mlflow.db"
    MlflowClient(f"sqlite:///{file}").search_experiments()
    return file


@pytest.fixture
def client(home: Path, empty_store: Path) -> MlflowClient:
    """The store of the test's own home."""
    shutil.copy(empty_store, home / "mlflow.db")
    return connect()
