"""How a run ends: gate, note, and who is told, where the home is in the Airflow Variable alone."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, BaseNotifier
from airflow.sdk.exceptions import AirflowFailException

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.base.storage.places import Place
from isr_pipeline.experiment.file import dag_id_of
from isr_pipeline.night import claim, life, steps
from isr_pipeline.night.airflow import run_end, wiring
from isr_pipeline.night.airflow.airflow_rest import WHY
from isr_pipeline.night.airflow.connections import into_environment, settings
from isr_pipeline.night.airflow.notifiers import notifiers
from isr_pipeline.night.airflow.run_end import (
    ACCEPT,
    close,
    free_night,
    note_end,
    note_of_lines,
    tell_end,
)
from isr_pipeline.night.claim import claim_night, holds_claim, release_night
from isr_pipeline.night.status import (
    Status,
    folder_of,
    later_run,
    read_status,
    run_folder,
    run_name,
    status_in,
)
from isr_pipeline.verdicts.record import Status as Verdict
from isr_pipeline.verdicts.sentences import headline
from tests.verdicts.synthetic import BEGAN, NIGHT, World, record_with

EXPERIMENT, RUN = "smoke", "manual__1"
DAG_ID = dag_id_of(EXPERIMENT)

TASKS = frozenset(steps.NAMES) - {"gate"}

TOLD: list[str] = []


def remember(line: str) -> None:
    """A notifier of one's own."""
    TOLD.append(line)


class Note(BaseNotifier):  # type: ignore[misc]
    """A notifier as Airflow's providers have them."""

    template_fields = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def notify(self, context: Any) -> None:
        """Remember what would be sent."""
        TOLD.append(self.text)


class Broken(Note):
    """One whose server does not answer."""

    def notify(self, context: Any) -> None:
        """Fail."""
        raise OSError("connection refused")


class Api(BaseHTTPRequestHandler):
    """Airflow's REST API, as far as notes go."""

    notes: dict[str, str] = {}  # noqa: RUF012 - of one test
    left: dict[str, str] = {}  # noqa: RUF012 - XComs, of one test

    def _answer(self, content: dict[str, str], status: int = 200) -> None:
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _content(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def do_POST(self) -> None:
        """Log in."""
        assert self._content() == {"username": "ada", "password": "of-the-test"}
        self._answer({"access_token": "token"})

    def do_GET(self) -> None:
        """Give what a task left."""
        key = self.path.rpartition("/xcomEntries/")[2].partition("?")[0]
        self._answer({"value": self.left.get(key, "")}, 200 if key in self.left else 404)

    def do_PATCH(self) -> None:
        """Take a note."""
        assert self.headers["Authorization"] == "Bearer token"
        self.notes[self.path] = self._content()["note"]
        self._answer({})

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def api() -> Iterator[HTTPServer]:
    """A server of notes on the loopback."""
    Api.notes, Api.left = {}, {}
    server = HTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture
def home(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    api: HTTPServer,
    install: Callable[[str, str], None],
) -> Home:
    """A home that only the Airflow Variable names, as in somebody else's Airflow."""
    TOLD.clear()
    install("office", f"from {__name__} import Broken, Note\n")
    for name in ("HOME", "ROOT", "STORE", "NOTIFY"):
        monkeypatch.setenv(f"ISR_PIPELINE_{name}", "")
        monkeypatch.delenv(f"ISR_PIPELINE_{name}")
    variable: dict[str, Any] = {"home": str(tmp_path / "home"), "airflow_connection": "this"}
    variable |= {"on_failure": {"office.Note": {"text": "red: {{ line }}"}}}
    variable |= {"on_success": {"office.Note": {"text": "green: {{ line }}"}}}
    monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", json.dumps(variable))
    login = {"login": "ada", "password": "of-the-test", "port": api.server_port}
    connection = {"conn_type": "http", "host": "127.0.0.1", **login}
    monkeypatch.setenv("AIRFLOW_CONN_THIS", json.dumps(connection))
    into_environment(settings())
    return Home.from_environment()


def run_of(states: dict[str, str | None] | None = None, *, run: str = RUN) -> dict[str, Any]:
    """Context of a run whose tasks are in these states, the others succeeded."""
    kept: dict[str, Any] = {}
    found: dict[str, str | None] = dict.fromkeys(TASKS - {"simulate"}, "success")
    found |= {"simulate_0": "success"}
    found |= states or {}
    instance = SimpleNamespace(
        get_task_states=lambda **_: {run: found},
        get_dagrun_state=lambda *_: "running",
        xcom_push=lambda key, value: kept.update({key: value}),
        xcom_pull=lambda key, **_: kept.get(key),
    )
    dag_run = SimpleNamespace(
        run_id=run, dag_id=DAG_ID, run_type="manual", logical_date=None,
        run_after=datetime.now(UTC),
    )  # fmt: skip
    params = {"night": NIGHT, "fail_on_regression": True}
    dag = DAG(DAG_ID, schedule=None)
    return {"ti": instance, "dag_run": dag_run, "params": params, "dag": dag, "kept": kept}


def judged(home: Home, status: Verdict, run: str = RUN) -> None:
    """A night whose first configuration has a status, about to be finished by a run."""
    begin(home, run)
    record_with(EXPERIMENT, status).save(own_folder(run))


def found(status: Verdict) -> str:
    """What such a night found, in a line."""
    return headline(record_with(EXPERIMENT, status))


def own_folder(run: str) -> Place:
    """Folder of a run that is not whole."""
    return run_folder(EXPERIMENT, run_name(NIGHT, run))


def begin(home: Home, run: str = RUN) -> None:
    """Note that a run writes the night."""
    wiring.take_claim(run_of(run=run), first=True)
    World(experiment=EXPERIMENT).begun(NIGHT, run)
    assert holds_claim(home, EXPERIMENT, NIGHT, owner=run)


def gate(context: dict[str, Any]) -> tuple[bool, str]:
    """Whether the gate lets a run pass, and what it says."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            close(context, EXPERIMENT, TASKS)
        except SystemExit as ended:
            return ended.code == 0, said.getvalue()
    return True, said.getvalue()


def end(context: dict[str, Any], *, failed: bool) -> None:
    """What Airflow calls in its dag-processor."""
    callbacks: list[Any] = [note_end, functools.partial(tell_end, failed=failed)]
    for callback in [*([free_night] if failed else []), *callbacks]:
        callback(context)


def notes() -> dict[str, str]:
    """Notes by the last part of their page."""
    return {path.partition("?")[0].rpartition("/")[2]: text for path, text in Api.notes.items()}


class TestScheduler:
    """Nothing of ours is called inside it."""

    def test_no_listener(self) -> None:
        """No plugin of ours has one."""
        project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
        plugins = project["entry-points"].get("airflow.plugins", {})
        for name, value in plugins.items():
            one = metadata.EntryPoint(name, value, "airflow.plugins").load()
            assert one.listeners == []

    def test_the_dags_have_callbacks(self, bag: Any) -> None:
        """Airflow calls them in its dag-processor, once for each run."""
        for dag_id in (DAG_ID, "isr_baseline_accept"):
            assert bag.dags[dag_id].on_success_callback
            assert bag.dags[dag_id].on_failure_callback


class TestGate:
    """The last task of a night."""

    def test_a_green_night_passes(self, home: Home) -> None:
        """Its claim is given back, and status.json has the verdict."""
        judged(home, Verdict.UNCHANGED)
        passed, said = gate(run_of())
        assert passed
        assert said == "3 of 3 configurations unchanged\n"
        assert status_in(folder_of(EXPERIMENT, NIGHT)).state == "unchanged"
        assert not holds_claim(home, EXPERIMENT, NIGHT, owner=RUN)

    def test_a_red_night_says_what_to_do(self, home: Home) -> None:
        """No traceback: the log ends with the finding and the commands that go on from it."""
        judged(home, Verdict.REGRESSED)
        passed, said = gate(run_of())
        assert not passed
        first, *_, why, blame, accept = said.splitlines()
        assert first == found(Verdict.REGRESSED)
        name = World(experiment=EXPERIMENT).planned(NIGHT).configurations[0].name
        of = f"{NIGHT} {name} --experiment {EXPERIMENT}"
        assert (why, blame) == (f"isr-pipeline why {of}", f"isr-pipeline blame {of}")
        assert accept.startswith(f"isr-pipeline baseline accept {NIGHT} --experiment {EXPERIMENT}")

    def test_a_failed_task_is_named(self, home: Home) -> None:
        """With the reason that it left."""
        begin(home)
        context = run_of({"simulate_0": "failed", "decide": "upstream_failed"})
        context["ti"].xcom_push(WHY, "memory was short")
        passed, said = gate(context)
        assert not passed
        said = said.rstrip("\n")
        assert said.endswith("has no verdict: simulate_0 failed: memory was short")
        assert read_status(EXPERIMENT, NIGHT) == Status("failed", said, RUN, BEGAN)

    def test_a_run_ended_by_hand_gives_the_night_free(self, home: Home) -> None:
        """Airflow fails what runs, leaves out what did not begin, and still runs a tear-down."""
        begin(home)
        left_out = dict.fromkeys(TASKS - {"plan", "simulate"}, "skipped")
        passed, said = gate(run_of({"simulate_0": "failed", **left_out}))
        assert not passed
        assert said == f"night {NIGHT} of {EXPERIMENT}: stopped by hand\n"
        assert read_status(EXPERIMENT, NIGHT).state == "interrupted"
        assert not holds_claim(home, EXPERIMENT, NIGHT, owner=RUN)

    def test_a_night_of_another_run_is_left_alone(self, home: Home) -> None:
        """A run that was refused, or ended while it waited, has nothing to finish."""
        begin(home, "another")
        passed, said = gate(run_of({"plan": "failed"}))
        assert not passed
        assert said == "plan failed\n"
        assert read_status(EXPERIMENT, NIGHT) == Status("running", "", "another", BEGAN)
        assert holds_claim(home, EXPERIMENT, NIGHT, owner="another")

    def test_a_night_made_anew_is_left_alone(self, home: Home) -> None:
        """A run that was refused has nothing to finish either once the other one has ended."""
        made_anew(home)
        passed, said = gate(run_of({"plan": "failed"}))
        assert not passed
        assert said == "plan failed\n"
        assert read_status(EXPERIMENT, NIGHT) == Status("unchanged", "", "another", BEGAN)

    def test_a_night_that_never_began_is_noted(self, home: Home) -> None:
        """Its plan was refused after the claim: the reason is kept, and the night is free."""
        wiring.take_claim(run_of(), first=True)
        passed, said = gate(run_of({"plan": "failed"}))
        assert not passed
        ended = read_status(EXPERIMENT, NIGHT)
        assert (ended.state, ended.reason, ended.dag_run_id) == ("failed", said.rstrip("\n"), RUN)
        assert not holds_claim(home, EXPERIMENT, NIGHT, owner=RUN)

    def test_is_a_tear_down(self, bag: Any) -> None:
        """Airflow runs it whatever happened before, and its state is the run's."""
        task = bag.dags[DAG_ID].get_task("gate")
        assert task.is_teardown
        assert task.on_failure_fail_dagrun
        assert task.trigger_rule == "all_done_setup_success"


def made_anew(home: Home) -> None:
    """Have another run begin and end the night that this run began and lost."""
    begin(home)
    release_night(home, EXPERIMENT, NIGHT, owner=RUN)
    begin(home, "another")
    record_with(EXPERIMENT, Verdict.UNCHANGED).save(own_folder("another"))
    life.finish(EXPERIMENT, NIGHT, broken=[], fail_on_regression=True, dag_run_id="another")


class TestClaimed:
    """What a task has its night by while it works, and what it leaves."""

    def test_stands_for_as_long_as_the_run_may_take(self, home: Home) -> None:
        """The next task may stand in line for hours, and nothing of ours runs meanwhile."""
        begin(home)
        with wiring.claimed(run_of()):
            pass
        file = home.locks / claim.CLAIMS / EXPERIMENT / f"{NIGHT}.json"
        left_s = json.loads(file.read_text())["until_s"] - time.time()
        assert left_s == pytest.approx(settings().run_hours * 3600, abs=60)

    def test_a_cleared_task_works_on_a_copy(self, home: Home) -> None:
        """Its run is the night already, which stays as it is until the run is whole again."""
        judged(home, Verdict.UNCHANGED)
        gate(run_of())
        with wiring.claimed(run_of()):
            later = later_run(EXPERIMENT, NIGHT)
        assert later is not None
        assert later.status.state == "running"
        assert read_status(EXPERIMENT, NIGHT).state == "unchanged"

    def test_a_night_made_anew_is_refused(self, home: Home) -> None:
        """Before anything is written over it, in one line."""
        made_anew(home)
        with pytest.raises(Refused, match="run another has made it anew; run it again"):
            wiring.claimed(run_of()).__enter__()
        assert not holds_claim(home, EXPERIMENT, NIGHT, owner=RUN)

    def test_a_spark_job_ends_with_its_claim(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """spark-submit is stopped, and the task is not tried again."""
        stopped = []

        def submit(_: object, __: object) -> None:
            release_night(home, EXPERIMENT, NIGHT, owner=RUN)
            time.sleep(60)

        monkeypatch.setattr(claim, "RENEWED_EACH_S", 0.002)
        monkeypatch.setattr(SparkSubmitOperator, "execute", submit)
        monkeypatch.setattr(SparkSubmitOperator, "on_kill", lambda _: stopped.append(True))
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://local")
        begin(home)
        began_s = time.monotonic()
        with pytest.raises(AirflowFailException, match="somebody removed"):
            wiring.SparkJob(task_id="job", job="simulate.py").execute(run_of())
        assert stopped == [True]
        assert time.monotonic() - began_s < 30


class TestNote:
    """What the pages of a run and of its last task say."""

    def test_of_a_red_night(self, home: Home) -> None:
        """The finding, and the commands; both pages have it."""
        judged(home, Verdict.REGRESSED)
        context = run_of()
        gate(context)
        end(context, failed=True)
        assert set(notes()) == {RUN, "gate"}
        assert notes()[RUN] == notes()["gate"]
        assert notes()[RUN].startswith(f"**{NIGHT} of {EXPERIMENT}: {found(Verdict.REGRESSED)}")
        assert f"* `isr-pipeline why {NIGHT} " in notes()[RUN]

    def test_of_an_acceptance(self, home: Home) -> None:
        """Who accepted what; or, where it was refused, why."""
        assert home
        context = run_of()
        run_end.leave(
            context, "night 1 is the baseline", "**night 1 is the baseline**\n\n* lag-20s"
        )
        note_end(context, task=ACCEPT)
        assert notes()[ACCEPT] == "**night 1 is the baseline**\n\n* lag-20s"
        context = run_of()
        context["ti"].xcom_push(WHY, "there is no night 1 of smoke")
        note_end(context, task=ACCEPT)
        assert notes()[ACCEPT] == "**there is no night 1 of smoke**"

    def test_of_many_lines(self) -> None:
        """As many as there is room for, each whole."""
        assert note_of_lines("first", "x" * 400, "y" * 400, "z" * 400) == (
            f"**first**\n\n* {'x' * 400}\n* {'y' * 400}"
        )

    def test_in_a_test_of_airflows(self, home: Home) -> None:
        """`dag.test` gives callbacks no XComs: Airflow's API has what the gate left."""
        assert home
        Api.left = {"note": "**unchanged**", "line": "smoke 1: unchanged"}
        context = run_of()
        del context["ti"].xcom_pull
        end(context, failed=False)
        assert notes() == {RUN: "**unchanged**", "gate": "**unchanged**"}
        assert TOLD == ["green: smoke 1: unchanged"]

    def test_without_a_login(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One line says what to name, in the log of the run's last task too; nothing fails."""
        variable = {"home": str(home.path)}
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", json.dumps(variable))
        monkeypatch.setenv("AIRFLOW_HOME", str(home.path))
        why = (
            "no login to Airflow's API is known; "
            "name one in airflow_connection of the Airflow Variable isr_pipeline\n"
        )
        judged(home, Verdict.UNCHANGED)
        _, said = gate(run_of())
        assert said.endswith(f"the run will have no note: {why}")
        note_end(run_of())
        assert capsys.readouterr().out == f"the run has no note: {why}"


class TestTold:
    """Who hears of a night's end: once, whether it was judged or failed."""

    @pytest.mark.parametrize(
        ("status", "colour"), [(Verdict.REGRESSED, "red"), (Verdict.UNCHANGED, "green")]
    )
    def test_a_judged_night(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, status: Verdict, colour: str
    ) -> None:
        """A function of one's own and Airflow's notifiers get the line, each once."""
        monkeypatch.setenv("ISR_PIPELINE_NOTIFY", f"{__name__}:remember")
        judged(home, status)
        context = run_of()
        passed, _ = gate(context)
        assert TOLD == []
        end(context, failed=not passed)
        own, airflow = TOLD
        assert airflow == f"{colour}: {own}"
        assert own.startswith(f"{EXPERIMENT} {NIGHT}: {found(status)}")

    def test_a_failed_night(self, home: Home) -> None:
        """The line says which task failed, and why."""
        begin(home)
        context = run_of({"validate_outcomes": "failed"})
        context["ti"].xcom_push(WHY, "outcomes of night 1 refused")
        gate(context)
        end(context, failed=True)
        assert len(TOLD) == 1
        assert TOLD[0].endswith("validate_outcomes failed: outcomes of night 1 refused")

    def test_a_night_whose_gate_never_ran(self, home: Home) -> None:
        """Airflow ended the run for its time: that is said, and the night is free."""
        begin(home)
        end(run_of() | {"reason": "timed_out"}, failed=True)
        (line,) = TOLD
        assert line == f"red: {DAG_ID}: run {RUN} ended without its task gate: timed_out"
        assert read_status(EXPERIMENT, NIGHT).state == "interrupted"

    def test_a_broken_notifier_is_said(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It fails nothing, and the next one is told."""
        named = {f"office.{one}": {"text": "{{ line }}"} for one in ("Broken", "Note")}
        variable = {"home": str(home.path), "on_failure": named}
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", json.dumps(variable))
        tell_end(run_of(), failed=True)
        assert "the notifier failed: connection refused" in capsys.readouterr().out
        assert len(TOLD) == 1

    @pytest.mark.parametrize("named", [{"nowhere.Notifier": {}}, {"office.Note": {"texts": "x"}}])
    def test_what_is_no_notifier(self, home: Home, named: dict[str, Any]) -> None:
        """One line names it."""
        with pytest.raises(InputError, match=r"^Airflow Variable isr_pipeline: on_failure, on_suc"):
            notifiers(named)

    def test_a_variable_that_was_spoilt_in_the_night(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The callback says so in a line; it does not break off."""
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", '{"on_failure": {"nowhere.Notifier": {}}}')
        tell_end(run_of(), failed=True)
        said = capsys.readouterr().out
        assert said.startswith("nobody was told by a notifier: Airflow Variable isr_pipeline: ")


def test_two_nights_of_an_experiment_go_on_beside_each_other(home: Home) -> None:
    """A backfill's runs do not wait for each other; runs of one night do."""
    begin(home)
    claim_night(
        home, owner="other", experiment=EXPERIMENT, night="2026-11-20", airflow="",
        is_running=lambda _: True,
    )  # fmt: skip
    assert holds_claim(home, EXPERIMENT, NIGHT, owner=RUN)
    assert holds_claim(home, EXPERIMENT, "2026-11-20", owner="other")
