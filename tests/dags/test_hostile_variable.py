"""The Airflow Variable edited by an enemy: nothing of theirs runs, and one line says why."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import airflow.providers
import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.night.airflow.connections import settings
from isr_pipeline.night.airflow.notifiers import notifiers
from tests.tables import from_table

MAIL = "airflow.providers.smtp.notifications.smtp.SmtpNotifier"


def use(monkeypatch: pytest.MonkeyPatch, variable: dict[str, Any]) -> None:
    """Do with a Variable what the dag-processor and workers do, up to the telling."""
    monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", json.dumps(variable))
    chosen = settings()
    notifiers(chosen.on_failure | chosen.on_success)


def refusal(monkeypatch: pytest.MonkeyPatch, variable: dict[str, Any]) -> str:
    """The line with which a Variable is refused."""
    with pytest.raises(InputError) as refused:
        use(monkeypatch, variable)
    line = str(refused.value)
    assert "\n" not in line
    return line


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that an enemy's program would make; the current folder is beside it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "made"


class TestNotifiers:
    """`on_failure` and `on_success` name classes of installed packages alone."""

    @from_table
    def test_no_notifier(
        self, made: Path, monkeypatch: pytest.MonkeyPatch, name: str, arguments: dict[str, Any]
    ) -> None:
        """What is no notifier is not called, wherever it comes from."""
        assert refusal(monkeypatch, {"on_failure": {name: arguments}}).startswith(
            "Airflow Variable isr_pipeline: on_failure"
        )
        assert not made.exists()

    @from_table
    def test_a_file_that_is_not_installed(
        self, made: Path, monkeypatch: pytest.MonkeyPatch, file: str, name: str
    ) -> None:
        """It is not even imported, be it a notifier or not."""
        folder = made.parent / "plugins"
        path = folder / file
        path.parent.mkdir(parents=True)
        path.write_text(
            "from airflow.sdk import BaseNotifier\n"
            f"open({str(made)!r}, 'w')\n"
            "class Notifier(BaseNotifier): ...\n"
        )
        monkeypatch.syspath_prepend(folder)
        providers = [*airflow.providers.__path__, str(folder / "airflow" / "providers")]
        monkeypatch.setattr(airflow.providers, "__path__", providers)
        monkeypatch.delitem(sys.modules, "moto", raising=False)
        line = refusal(monkeypatch, {"on_success": {name: {}}})
        assert line.endswith("(no installed package has that module)")
        assert not made.exists()

    @from_table
    @pytest.mark.parametrize("wrapped", [lambda text: text, lambda text: [{"name": text}]])
    def test_a_template(
        self, monkeypatch: pytest.MonkeyPatch, text: str, wrapped: Callable[[str], Any]
    ) -> None:
        """A notifier would send what a template reads: the passwords of other Connections."""
        variable = {"on_failure": {MAIL: {"to": "a@b.example", "subject": wrapped(text)}}}
        assert "allowed: no template but {{ line }}" in refusal(monkeypatch, variable)

    def test_a_package_that_ends_the_program(
        self, monkeypatch: pytest.MonkeyPatch, install: Callable[[str, str], None]
    ) -> None:
        """Its end is not ours."""
        install("ending", "raise SystemExit('bye')\n")
        assert "(bye)" in refusal(monkeypatch, {"on_failure": {"ending.Notifier": {}}})

    def test_airflow_s_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """That of an installed provider is taken, with the night's line."""
        use(monkeypatch, {"on_failure": {MAIL: {"to": "a@b.example", "subject": "{{ line }}"}}})


class TestShape:
    """A Variable that is no object of a few keys."""

    @pytest.mark.parametrize("text", ["[" * 20_000, '{"home": ' * 20_000])
    def test_nested_without_end(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        """What the reader of JSON gives up is one line too, no traceback of the dag-processor."""
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", text)
        with pytest.raises(InputError, match=r"^Airflow Variable isr_pipeline: .*a JSON object"):
            settings()


class TestCode:
    """Other keys that would name code."""

    def test_notify(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A function is named in the environment, not here."""
        assert refusal(monkeypatch, {"notify": "os:system"}) == (
            "Airflow Variable isr_pipeline: notify: os:system; allowed: ISR_PIPELINE_NOTIFY in the "
            "environment: it names code, which the Variable may not"
        )

    @pytest.mark.parametrize("key", ["home", "store", "root", "config", "pool", "mlflow_prefix"])
    @pytest.mark.parametrize("text", ["/a\0b", "/a\nb", " "])
    def test_a_text_of_several_lines(
        self, monkeypatch: pytest.MonkeyPatch, key: str, text: str
    ) -> None:
        """An environment variable cannot hold a NUL, and no line of a log shall be theirs."""
        assert refusal(monkeypatch, {key: text}).startswith(f"Airflow Variable isr_pipeline: {key}")


class TestSpark:
    """`spark_conf` has sizes, and numbers for them."""

    @from_table
    def test_what_is_no_size(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        """The line says where such a setting may stand."""
        line = refusal(monkeypatch, {"spark_conf": {"spark.executor.cores": "2", name: "/x"}})
        assert line.startswith("Airflow Variable isr_pipeline: spark_conf.")
        assert line.endswith("stand as `conf` in the extra of Spark's Connection")

    @pytest.mark.parametrize(
        "size",
        ["4g --jars x", "4g\n--jars\nx", "{{ conn.mlflow.password }}", "$(touch made)", "", 4],
    )
    def test_what_is_no_number(self, monkeypatch: pytest.MonkeyPatch, size: object) -> None:
        """A size holds no blank, no line's end, and no template, which Airflow would fill in."""
        line = refusal(monkeypatch, {"spark_conf": {"spark.executor.memory": size}})
        assert line.startswith("Airflow Variable isr_pipeline: spark_conf.spark.executor.memory: ")
