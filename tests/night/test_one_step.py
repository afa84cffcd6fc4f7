"""One step of a night by the command line: `isr-pipeline night step`."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isr_pipeline import cli
from isr_pipeline.base import refusals
from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.plan import Plan, code_version, kernel_digest
from isr_pipeline.night import steps, task_work
from isr_pipeline.night.claim import claim_night, release_night
from isr_pipeline.night.one_step import BrokeOff, run_step
from isr_pipeline.night.supervisor import MARK
from isr_pipeline.verdicts.record import verdict_of
from tests.approved import Approved
from tests.saying import finished, refused
from tests.verdicts.synthetic import NIGHT, World, home

__all__ = ["home"]

RUN = "manual__1"


def claim(owner: str = RUN) -> None:
    """Claim the night for a run."""
    claim_night(
        Home.from_environment(), owner=owner, experiment="smoke", night=NIGHT, airflow="",
        is_running=lambda _: False,
    )  # fmt: skip


def claimed_plan(home: Path) -> str:
    """File of the plan of a run that has claimed its night, whose tables are there."""
    made = World(experiment="smoke").write(NIGHT)
    claim()
    own = made.model_copy(update={"run": RUN, "code_version": code_version()})
    return str(own.save(home / "plan.json"))


@pytest.fixture
def plan(home: Path) -> str:
    """The same."""
    return claimed_plan(home)


class TestAStep:
    """What it does."""

    def test_is_that_of_the_night(self, plan: str) -> None:
        """The function of that name in the list of steps, on the plan of the file."""
        said = run_step("judge", plan)
        assert verdict_of(Plan.load(plan)).experiment == "smoke"
        assert said

    def test_as_json(self, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Standard output has the answer alone, whatever the step prints."""

        def work(_: object) -> str:
            sys.stdout.write("working\n")
            return "done"

        monkeypatch.setattr(steps, "BETWEEN", (steps.Step("judge", work),))
        done = CliRunner().invoke(cli.app, ["night", "step", "judge", "--plan", plan, "--json"])
        assert json.loads(done.stdout) == {"step": "judge", "said": "done"}
        assert done.stderr == "working\n"

    def test_ends_with_its_caller(self, plan: str) -> None:
        """A task that was killed leaves no step behind."""
        code = (
            "import sys, time; from isr_pipeline.night import one_step, steps\n"
            "steps.BETWEEN = (steps.Step('judge', lambda _: time.sleep(30)),)\n"
            f"one_step.run_step('judge', {plan!r})\n"
        )
        gone = finished([sys.executable, "-c", "import os; print(os.getpid())"]).stdout.strip()
        done = finished([sys.executable, "-c", code], env=os.environ | {MARK: gone})
        assert done.returncode == 1
        assert "Traceback" not in done.stderr


class TestRefusals:
    """What is refused, and how that is told."""

    @pytest.mark.parametrize("name", ["plan", "simulate", "juge"])
    def test_no_such_step(self, plan: str, name: str) -> None:
        """Those of Spark, and the ends of a night, are done by whoever runs it."""
        with pytest.raises(InputError) as caught:
            run_step(name, plan)
        error = caught.value
        assert (error.where, error.field) == ("night step", "NAME")
        assert error.allowed.split(", ") == [one.name for one in steps.BETWEEN if one.work]

    def test_no_plan(self, home: Path) -> None:
        """The file is named."""
        missing = str(home / "none.json")
        assert refused(lambda: run_step("judge", missing)).startswith(f"{missing}: ")

    def test_nobody_has_the_night(self, plan: str, approved: Approved) -> None:
        """A night that was published or is another's stays as it is."""
        release_night(Home.from_environment(), "smoke", NIGHT, owner=RUN)
        claim("scheduled__2")
        with approved.refusal(Refused):
            run_step("judge", plan)

    def test_another_kernel(self, plan: str, approved: Approved) -> None:
        """One night is not judged by two simulators."""
        told = json.loads(Path(plan).read_text())
        told["code_version"] = "0.3.0+kernel.000000000000"
        Path(plan).write_text(json.dumps(told))
        here = kernel_digest()[:12]
        with approved.refusal(Refused, PLAN=plan, HERE=here):
            run_step("judge", plan)

    def test_broke_off(
        self, plan: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Its exit status says that another try may do; the reason stands below the traceback."""

        def work(_: object) -> None:
            raise ValueError("x is 3")

        monkeypatch.setattr(steps, "BETWEEN", (steps.Step("judge", work),))
        monkeypatch.setattr(sys, "argv", ["isr-pipeline", "night", "step", "judge", "--plan", plan])
        with pytest.raises(SystemExit) as ended:
            refusals.run(cli.app)
        assert ended.value.code == BrokeOff.exit_status == 4
        assert capsys.readouterr().err.splitlines()[-1] == "ValueError: x is 3"


class TestAPartOfATask:
    """`isr-pipeline night task`: what tasks do beside steps."""

    def ask(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        name: str,
        asked: str,
    ) -> tuple[object, str, str]:
        """Exit status, standard output, and the last line of standard error."""
        monkeypatch.setattr(sys, "argv", ["isr-pipeline", "night", "task", name])
        monkeypatch.setattr(sys, "stdin", io.StringIO(asked))
        status: object = 0
        try:
            refusals.run(cli.app)
        except SystemExit as ended:
            status = ended.code
        said = capsys.readouterr()
        return status, said.out, said.err.rpartition("\n")[0].rpartition("\n")[2]

    def test_answers(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """JSON alone on standard output, whatever is printed meanwhile."""

        def work(keep: int) -> list[int]:
            sys.stdout.write("working\n")
            return [keep]

        monkeypatch.setitem(task_work.WORK, "prune", work)
        status, said, log = self.ask(monkeypatch, capsys, "prune", '{"keep": 3}')
        assert (status, json.loads(said), log) == (0, [3], "working")

    @pytest.mark.parametrize(
        ("name", "asked"), [("prun", "{}"), ("prune", "3"), ("prune", ""), ("prune", '{"kep": 3}')]
    )
    def test_refuses(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        approved: Approved,
        name: str,
        asked: str,
    ) -> None:
        """What is no part of a task, or not its arguments; in one line."""
        status, said, line = self.ask(monkeypatch, capsys, name, asked)
        assert (status, said) == (InputError.exit_status, "")
        approved(line)
