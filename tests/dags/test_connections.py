"""An Airflow that is already there: its Variable and its connections say what is where."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks import spark_submit
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import REPOSITORY, SHIPPED
from isr_pipeline.night import stack, steps
from isr_pipeline.night.airflow import wiring
from isr_pipeline.night.airflow.connections import (
    KUBERNETES,
    SIZES,
    Settings,
    into_environment,
    settings,
    spark_connection,
)
from isr_pipeline.night.airflow.wiring import SparkJob, submit_job
from isr_pipeline.night.spark.submit import STARTED, JobFailed, JobNotStarted
from tests.saying import finished, refused
from tests.tables import data_of, from_table

DAGS = SHIPPED / "dags"

CONNECTIONS: dict[str, str] = data_of(__file__, "CONNECTIONS")


class TestSparkConnection:
    """Where Spark is."""

    @pytest.mark.parametrize("form", CONNECTIONS)
    def test_as_the_provider_reads_it(self, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
        """Every form of a connection names the master, launcher and mode that Spark is given."""
        monkeypatch.setenv("AIRFLOW_CONN_OURS", CONNECTIONS[form])
        ours = spark_connection("ours")
        provider: dict[str, Any] = SparkSubmitHook(conn_id="ours")._connection
        assert ours.master == provider["master"]
        assert ours.launcher == provider["spark_binary"]

    @pytest.mark.parametrize("form", CONNECTIONS)
    def test_an_accepting_user_s_spark_is_the_same(
        self, monkeypatch: pytest.MonkeyPatch, form: str
    ) -> None:
        """What `baseline accept` submits to is the master of the connection of nights."""
        monkeypatch.delenv("SPARK_MASTER", raising=False)
        monkeypatch.setenv(stack.CONNECTION, CONNECTIONS[form])
        provider: dict[str, Any] = SparkSubmitHook(conn_id="spark_default")._connection
        assert stack.wanted_master() == provider["master"]

    def test_an_acceptance_goes_where_nights_go(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Launcher, master, queue and settings of the connection; why it failed is one line."""
        launcher = tmp_path / "spark3-submit"
        launcher.write_text(
            f'#!/bin/sh\necho "$@" > {tmp_path}/given\necho "error: no executors"\nexit 3\n'
        )
        launcher.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        extra = {"spark-binary": "spark3-submit", "queue": "nights", "conf": {"spark.a": "b"}}
        connection = {"conn_type": "spark", "host": "yarn", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        with pytest.raises(JobFailed, match=r"\(exit status 3\): .*no executors"):
            submit_job("isr-confirm", "simulate.py", ["--plan", "plan.json"])
        given = (tmp_path / "given").read_text()
        options = ("--master yarn", "--queue nights", "--deploy-mode client", "--conf spark.a=b")
        for option in options:
            assert option in given
        assert given.endswith("simulate.py --plan plan.json\n")

    def test_kubernetes(
        self, monkeypatch: pytest.MonkeyPatch, install: Callable[[str, str], None]
    ) -> None:
        """A URI's scheme is the master's."""
        install(KUBERNETES, "")
        monkeypatch.setenv("AIRFLOW_CONN_OURS", "k8s://https%3A%2F%2Fkubernetes.default:443")
        assert spark_connection("ours").master == "k8s://https://kubernetes.default:443"

    @pytest.mark.parametrize(
        "connection", ["k8s://https%3A%2F%2Fkube:443", "spark://spark%3A%2F%2Fk8s-node:7077"]
    )
    def test_kubernetes_without_its_provider(
        self, monkeypatch: pytest.MonkeyPatch, connection: str
    ) -> None:
        """Spark's provider would end in a NameError, wherever a master's name holds k8s."""
        monkeypatch.setenv("AIRFLOW_CONN_OURS", connection)
        with pytest.raises(NameError):
            SparkSubmitHook(conn_id="ours")
        with pytest.raises(Refused) as refused:
            spark_connection("ours")
        line = str(refused.value)
        assert line.startswith("connection ours: ")
        assert line.endswith(
            f": Airflow needs {KUBERNETES} for it; allowed: another master, or "
            "pip install 'isr-pipeline[k8s]'"
        )

    @pytest.mark.parametrize("mode", ["cluster", "clientt"])
    def test_another_mode(self, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
        """A driver that runs elsewhere would not find what Airflow's worker gave it."""
        connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": mode}}
        monkeypatch.setenv("AIRFLOW_CONN_OURS", json.dumps(connection))
        with pytest.raises(Refused, match=f"^connection ours: deploy-mode: {mode}; allowed: clie"):
            spark_connection("ours")

    @pytest.mark.parametrize("conf", ["spark.a=b", {"a": "b"}, {"spark.a": 1}])
    def test_settings_that_are_none(self, monkeypatch: pytest.MonkeyPatch, conf: object) -> None:
        """The connection and its key are named."""
        connection = {"conn_type": "spark", "host": "yarn", "extra": {"conf": conf}}
        monkeypatch.setenv("AIRFLOW_CONN_OURS", json.dumps(connection))
        with pytest.raises(
            Refused, match=r"^connection ours: conf: \S.*; allowed: settings and their"
        ):
            spark_connection("ours")

    def test_none(self) -> None:
        """A connection that Airflow does not have is refused; nobody said `yarn`."""
        assert refused(lambda: spark_connection("nowhere"), Refused) == (
            "connection nowhere: Airflow has none; "
            "allowed: a connection of type spark, with a master URL as its host"
        )


class TestABrokenOffJob:
    """A job whose session came up began, wherever its executors are: it may be tried again."""

    MASTERS = ("local[2]", "spark://master:7077", "yarn", "k8s://https://kubernetes:443")

    @pytest.fixture(params=MASTERS)
    def _spark(
        self,
        request: pytest.FixtureRequest,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        install: Callable[[str, str], None],
    ) -> None:
        """A spark-submit in client mode, whose driver inherits its environment as Spark's does."""
        install(KUBERNETES, "")
        monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)
        launcher = tmp_path / "spark-submit"
        launcher.write_text(
            "#!/bin/sh\necho 'error: a warning of some library'\n"
            f'echo "an executor was lost" > "${STARTED}"\nexit 1\n'
        )
        launcher.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        connection = {"conn_type": "spark", "host": request.param}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))

    @pytest.mark.usefixtures("_spark")
    def test_of_a_task(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Airflow tries it again, and hears the driver's own reason."""
        monkeypatch.setattr(wiring, "claimed", lambda _: contextlib.nullcontext())
        with pytest.raises(AirflowException, match=r"^an executor was lost$") as failed:
            SparkJob(task_id="job", job="simulate.py").execute({})
        assert not isinstance(failed.value, AirflowFailException)
        assert STARTED not in os.environ

    @pytest.mark.usefixtures("_spark")
    def test_is_given_what_the_variable_says(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """When the task runs: its sizes, and the Python of the driver."""
        variable = {"spark_conf": {"spark.executor.memory": "4g"}, "python": sys.executable}
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", json.dumps(variable))
        (tmp_path / "spark-submit").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/given; exit 1')
        monkeypatch.setattr(wiring, "claimed", lambda _: contextlib.nullcontext())
        with pytest.raises(AirflowException):
            SparkJob(task_id="job", job="simulate.py").execute({})
        given = (tmp_path / "given").read_text()
        assert "--conf spark.executor.memory=4g" in given
        assert f"--conf spark.pyspark.driver.python={sys.executable}" in given

    @pytest.mark.usefixtures("_spark")
    def test_has_no_driver_that_only_is_called_python(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The Variable may have been edited since the night began."""
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", '{"python": "/opt/enemy/bin/python"}')
        with pytest.raises(InputError) as caught:
            submit_job("isr-confirm", "simulate.py", [])
        assert caught.value.field == "python"

    @pytest.mark.usefixtures("_spark")
    def test_of_an_acceptance(self) -> None:
        """The same."""
        with pytest.raises(JobFailed, match=r"^an executor was lost$") as failed:
            submit_job("isr-confirm", "simulate.py", [])
        assert not isinstance(failed.value, JobNotStarted)


class TestSettings:
    """The Variable `isr_pipeline`."""

    def test_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the Variable everything is as in our own set-up."""
        monkeypatch.delenv("AIRFLOW_VAR_ISR_PIPELINE", raising=False)
        assert settings() == Settings()

    def test_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A JSON object."""
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", '{"home": "/shared", "pool": "spark"}')
        assert settings() == Settings(home="/shared", pool="spark")

    @from_table
    def test_refused(self, monkeypatch: pytest.MonkeyPatch, text: str, line: str) -> None:
        """One line names the Variable, the key and what is allowed."""
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", text)
        assert refused(settings).startswith(line)

    def test_sizes_are_listed(self) -> None:
        """The page that the refusal names has every size, and no other setting in its row."""
        (row,) = (
            line
            for line in (REPOSITORY / "docs" / "deploy.md").read_text().splitlines()
            if line.startswith("| `spark_conf` |")
        )
        assert set(re.findall(r"`(spark\.[\w.]+)`", row)) == SIZES


class TestIntoEnvironment:
    """What tasks, and the programs that they start, find."""

    NAMES = ("ISR_PIPELINE_HOME", "ISR_PIPELINE_ROOT", "ISR_PIPELINE_CONFIG")
    LOGIN = ("MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")

    @pytest.fixture(autouse=True)
    def _bare(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """No variable of ours is set, and none is left behind."""
        for name in self.NAMES + self.LOGIN:
            monkeypatch.setenv(name, "")
            monkeypatch.delenv(name)

    def test_set(self) -> None:
        """Each field becomes its variable; what is not said stays unset."""
        into_environment(Settings(home="/h", config="/c"))
        assert os.environ["ISR_PIPELINE_HOME"] == "/h"
        assert os.environ["ISR_PIPELINE_CONFIG"] == "/c"
        assert "ISR_PIPELINE_ROOT" not in os.environ

    def test_environment_wins(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """What a worker's own environment says holds for it."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        into_environment(Settings(home="/h"))
        assert os.environ["ISR_PIPELINE_HOME"] == str(tmp_path)

    @pytest.mark.parametrize(
        ("connection", "address"),
        [
            ({"conn_type": "http", "host": "mlflow", "port": 5000}, "http://mlflow:5000"),
            ({"conn_type": "http", "host": "mlflow", "schema": "https"}, "https://mlflow"),
            ({"conn_type": "http", "host": "https://mlflow.example"}, "https://mlflow.example"),
        ],
    )
    def test_mlflow(
        self, monkeypatch: pytest.MonkeyPatch, connection: dict[str, Any], address: str
    ) -> None:
        """An HTTP connection gives MLflow's address and login."""
        login = {"login": "isr", "password": "of-the-test"}
        monkeypatch.setenv("AIRFLOW_CONN_OURS", json.dumps(connection | login))
        into_environment(Settings(mlflow_connection="ours"))
        assert [os.environ[name] for name in self.LOGIN] == [address, *login.values()]


class TestPoolAndLimit:
    """What of the Variable shapes the DAG itself."""

    PARSED = (
        "import json, runpy, sys\n"
        "dag = runpy.run_path(sys.argv[1])['DAGS'][0]\n"
        "pools = {t.task_id: getattr(t, 'pool') for t in dag.tasks}\n"
        "delays = {t.retry_delay.total_seconds() for t in dag.tasks}\n"
        "print(json.dumps([pools, sorted(delays), dag.dagrun_timeout.total_seconds()]))\n"
    )

    def test_said(self, tmp_path: Path) -> None:
        """Tasks that use Spark are in the pool; a run ends after its hours, and tries are apart.

        A Connection that is named is for tasks: Airflow has none of that name here.
        """
        said = {"pool": "spark", "run_hours": 3, "retry_delay": 90, "mlflow_connection": "none"}
        variables = {"AIRFLOW_VAR_ISR_PIPELINE": json.dumps(said), "AIRFLOW_HOME": str(tmp_path)}
        done = finished(
            [sys.executable, "-c", self.PARSED, str(DAGS / "isr_nightly.py")],
            env=os.environ | variables,
            check=True,
        )
        pools, delays, seconds = json.loads(done.stdout.splitlines()[-1])
        of_spark = {step.name for step in steps.BETWEEN if step.job}
        assert {name for name, pool in pools.items() if pool == "spark"} == of_spark
        assert delays == [90]
        assert seconds == 3 * 3600

    def test_broken_experiments_are_those_of_its_folder(self, tmp_path: Path) -> None:
        """Airflow reads each file in a process of its own, in which nobody else set the folder."""
        folder = tmp_path / "experiments"
        folder.mkdir()
        (folder / "broken.yaml").write_text("schedule: midnight\n")
        variables = {"AIRFLOW_VAR_ISR_PIPELINE": json.dumps({"config": str(tmp_path)})}
        done = finished(
            [sys.executable, str(DAGS / "isr_broken_experiments.py")],
            env=os.environ | variables | {"AIRFLOW_HOME": str(tmp_path / "airflow")},
        )
        assert f"ImportError: {folder}/broken.yaml: seed: missing" in done.stderr
