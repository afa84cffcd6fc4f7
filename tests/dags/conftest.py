"""The DAGs as Airflow reads them, with an Airflow home of their own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

# Airflow reads its configuration once, when it is first imported, and writes one into its home
# if there is none: that must not be the home of the person who runs the tests.
_HOME = tempfile.TemporaryDirectory(prefix="airflow-tests-")
with mock.patch.dict(
    os.environ, {"AIRFLOW_HOME": _HOME.name, "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
):
    import airflow.settings


@pytest.fixture(scope="session")
def bag() -> Iterator[Any]:
    """Every DAG of the folder, parsed by Airflow itself."""
    from airflow.dag_processing.dagbag import BundleDagBag

    from isr_pipeline.base.home import REPOSITORY

    assert _HOME.name == airflow.settings.AIRFLOW_HOME
    folder = Path(REPOSITORY / "dags")
    yield BundleDagBag(folder, bundle_path=folder, bundle_name="dags-folder")
    _HOME.cleanup()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Install a package of one module, as pip does: the package lists its files."""

    def put(package: str, text: str) -> None:
        name = package.replace("-", "_")
        site = tmp_path / "site-packages"
        listed = site / f"{name}-1.dist-info"
        listed.mkdir(parents=True)
        (site / f"{name}.py").write_text(text)
        (listed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (listed / "RECORD").write_text(f"{name}.py,,\n{listed.name}/METADATA,,\n")
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, name, raising=False)

    return put
