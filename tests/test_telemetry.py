"""No library of ours tells anybody that it was used."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from isr_pipeline.base.home import REPOSITORY
from tests.saying import finished

WATCHED = """
import json, socket, sys, threading

asked = []

def ask(host, *rest, **more):
    asked.append(str(host))
    raise OSError("refused by the test")

socket.getaddrinfo = ask

{used}

for one in threading.enumerate():
    if one is not threading.current_thread():
        one.join(5)
print(json.dumps(sorted(set(asked))))
"""
"""A program that notes every host that a library asks for by name."""

TRACKING = """
from isr_pipeline.report.tracking.client import connect

client = connect()
experiment = client.create_experiment("x")
run = client.create_run(experiment)
client.log_metric(run.info.run_id, "m", 1.0)
client.set_terminated(run.info.run_id)
"""
"""A run in MLflow."""

CHECKS = """
from isr_pipeline.base.home import Home
from isr_pipeline.tables.validation.run import check
from tests.validation import tables

plan = tables.tiny_plan(Home.from_environment().root, night="2026-11-19")
tables.write("scenarios", tables.scenarios(), plan)
check("scenarios", plan)
"""
"""A table that Great Expectations checks."""

SILENT = ("CI", "DO_NOT_TRACK", "PYTEST_", "GITHUB_", "MLFLOW_", "GX_")
"""Beginnings of variables that would keep a library from asking at all."""


def asked(used: str, home: Path, **variables: str) -> list[str]:
    """Hosts that some code asks for, in a program that does not look like a test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SILENT)}
    done = finished(
        [sys.executable, "-c", WATCHED.format(used=used)],
        cwd=REPOSITORY,
        env={**kept, "ISR_PIPELINE_HOME": str(home), **variables},
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout.splitlines()[-1]))


class TestNobodyIsAsked:
    """What a night uses asks no other host."""

    @pytest.mark.slow
    @pytest.mark.parametrize("used", [TRACKING, CHECKS], ids=["MLflow", "Great Expectations"])
    def test_by_a_library(self, tmp_path: Path, used: str) -> None:
        """Whatever it would report."""
        assert asked(used, tmp_path) == []

    @pytest.mark.slow
    def test_one_that_is_let_would(self, tmp_path: Path) -> None:
        """The same program notes a report that is not switched off."""
        assert asked(TRACKING, tmp_path, MLFLOW_DISABLE_TELEMETRY="false") != []
