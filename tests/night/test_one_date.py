"""README's steps on one day: a night, its acceptance, a change, the same date again."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import Refused
from isr_pipeline.cli import app
from isr_pipeline.experiment.plan import Plan, code_version
from isr_pipeline.night.keep import accept_baseline, prune
from isr_pipeline.night.status import Status, folder_of, nights, write_status
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.report.tracking import client, log_night
from isr_pipeline.verdicts import ledger
from isr_pipeline.verdicts.baseline import show_if_whole
from isr_pipeline.verdicts.blame.case import read_case
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import accept_command, cause_commands
from tests.approved import Approved
from tests.report.reading import as_read
from tests.verdicts.synthetic import LATER, NIGHT, Change, World, decided, home, scaled

__all__ = ["home"]

FLAPS = "isr_flaps_per_partition_hour"


def run(hour: str, change: Change | None = None) -> Plan:
    """A run of the date, judged to its end."""
    world = World(
        experiment="smoke",
        code_version=code_version(),
        run=f"manual__{hour}",
        began=f"{NIGHT}T{hour}:00Z",
    )
    plan = world.write(NIGHT, change)
    judge_night(plan)
    verdict = decided(plan)
    write_status(plan.place, Status(str(verdict.status), "", plan.run, plan.began))
    return plan


@pytest.fixture
def red(home: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The second run of a date whose first one is the baseline."""
    assert home
    monkeypatch.setattr(log_night, "pin_baseline", lambda _: None)
    monkeypatch.setattr(client, "delete_night", lambda *_: 0)
    run("03:11")
    accept_baseline("smoke", NIGHT, who="Ada", why="first")
    return run("05:40", scaled(FLAPS, 2.0, "today"))


class TestSecondRun:
    """It is compared with the first, and is not the baseline."""

    def test_why_and_blame_can_be_asked(self, red: Plan) -> None:
        """Both know the two runs from each other."""
        case = read_case(red, "today")
        assert (case.metric, case.status) == (FLAPS, "regressed")
        assert case.runs == f"accepted {NIGHT}, 03:11; tonight {NIGHT}, 05:40"

    def test_the_page_names_the_two(self, red: Plan, approved: Approved) -> None:
        """By their times: their dates are one."""
        approved([one for one in as_read(render(read_night(red))) if NIGHT in one][:3])

    @pytest.mark.usefixtures("red")
    def test_the_terminal_names_the_two(self, approved: Approved) -> None:
        """And how often the date was asked."""
        said = CliRunner().invoke(app, ["night", "show", NIGHT, "--experiment", "smoke"]).stdout
        approved(
            [one for one in said.splitlines() if one.startswith(("night", "baseline", "asked"))]
        )

    @pytest.mark.usefixtures("red")
    @pytest.mark.parametrize(
        ("way", "start"),
        [([], "runner.run_night"), (["--in-process"], "in_process.run_in_process")],
        ids=["in Airflow", "in this process"],
    )
    def test_the_run_ends_with_what_to_do(
        self, monkeypatch: pytest.MonkeyPatch, way: list[str], start: str
    ) -> None:
        """Whoever ran it reads why, blame and accept last, whichever way it ran."""
        monkeypatch.setattr(f"isr_pipeline.night.{start}", lambda *_, **__: False)
        given = ["night", "run", "--night", NIGHT, "--experiment", "smoke", *way]
        done = CliRunner().invoke(app, given)
        assert done.exit_code == 1
        to_do = [*cause_commands("smoke", NIGHT, "today"), accept_command("smoke", NIGHT)]
        said = [one.removeprefix("what to do").strip() for one in done.stdout.splitlines()]
        assert said[-len(to_do) :] == to_do

    @pytest.mark.usefixtures("red")
    def test_it_is_not_kept_as_the_baseline(self) -> None:
        """Pruning leaves the night that is the baseline, not one that has its date."""
        write_status(folder_of("smoke", LATER), Status("ok"))
        assert list(prune(1, "smoke")) == [("smoke", NIGHT)]

    def test_accepted_it_is_the_baseline(self, red: Plan) -> None:
        """Nothing can be asked of it any more; the ledger has what it absorbed, and it is kept."""
        accept_baseline("smoke", NIGHT, who="Ada", why="meant")
        with pytest.raises(Refused, match="is the baseline itself"):
            read_case(red, "today")
        record = show_if_whole("smoke")
        assert record is not None
        assert record.called == f"{NIGHT}, 05:40"
        assert "today: ISR flaps" in ledger.read("smoke")[-1].lines()[0]
        write_status(folder_of("smoke", LATER), Status("ok"))
        assert list(prune(1, "smoke")) == []
        assert ("smoke", NIGHT) in nights("smoke")

    def test_acceptances_of_one_second_differ_in_time(self, red: Plan) -> None:
        """By their times a night's verdict tells which of them it was compared with."""
        for why in ("second", "third"):
            accept_baseline(red.experiment, NIGHT, who="Ada", why=why)
        times = [one.accepted_at for one in ledger.read(red.experiment)]
        assert times == sorted(set(times))


def test_a_baseline_of_an_older_release(red: Plan) -> None:
    """It says no run: one that was compared with it is another, by what the verdict says."""
    plan = red.model_copy(update={"run": "", "began": ""})
    verdict = judge_night(plan)
    record = show_if_whole("smoke")
    assert record is not None
    old = record.model_copy(update={"run": "", "began": ""})
    assert not old.is_made_of(plan, verdict)
    assert old.is_made_of(plan, verdict.model_copy(update={"baseline": None}))
