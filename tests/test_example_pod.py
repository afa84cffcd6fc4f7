"""The example of a night in a pod, under the provider that it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isr_pipeline import cli
from isr_pipeline.base.home import REPOSITORY
from tests.saying import finished
from tools.setup import find_uv

FILE = REPOSITORY / "examples" / "airflow" / "isr_night_in_a_pod.py"

WITH_IT = (
    "apache-airflow-providers-cncf-kubernetes", "kubernetes", "kubernetes-asyncio", "aiofiles",
    "durationpy", "oauthlib", "requests-oauthlib", "websocket-client",
)  # fmt: skip
"""The provider, and what of it `make setup` leaves out."""

CLUSTER = """
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: c
"""
"""A cluster that nobody asks anything."""

POD = """
import json, runpy, sys
from types import SimpleNamespace
from datetime import datetime, UTC

dag = runpy.run_path(sys.argv[1])["dag"]
(task,) = dag.tasks
run = SimpleNamespace(run_after=datetime(2026, 11, 19, 2, tzinfo=UTC))
task.render_template_fields({"dag_run": run}, dag.get_template_env())
pod = task.build_pod_request_obj()
(container,) = pod.spec.containers
print(json.dumps({"args": container.args, "env": {one.name: one.value for one in container.env}}))
"""


@pytest.mark.slow
def test_asks_for_a_pod(tmp_path: Path) -> None:
    """The provider takes every argument; the pod runs a command that there is, for its date."""
    uv = find_uv(sys.executable)
    export = [uv, "export", "-q", "--frozen", "--all-extras", "--no-hashes", "--no-emit-project"]
    (tmp_path / "lock").write_text(finished(export, cwd=REPOSITORY).stdout)
    subprocess.run(
        [uv, "pip", "install", "-q", "--no-deps", "--python", sys.executable]
        + ["-c", str(tmp_path / "lock"), "--target", str(tmp_path / "site"), *WITH_IT],
        check=True,
    )
    (tmp_path / "cluster").write_text(CLUSTER)
    own = {"AIRFLOW_HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "cluster")}
    own |= {"PYTHONPATH": str(tmp_path / "site")}
    done = finished([sys.executable, "-c", POD, str(FILE)], env=os.environ | own)
    assert done.returncode == 0, done.stderr
    pod = json.loads(done.stdout.splitlines()[-1])
    assert pod["args"][:3] == ["isr-pipeline", "night", "run"]
    assert pod["args"][-1] == "--night=2026-11-19"
    assert pod["env"]["ISR_PIPELINE_STORE"] == "s3://kafka-nights/team"
    asked = CliRunner().invoke(cli.app, [*pod["args"][1:], "--help"])
    assert asked.exit_code == 0
