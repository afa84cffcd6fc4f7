"""Accepting a night whose confirm panel has to be simulated: by which program, on which Spark."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.night import claim, stack
from isr_pipeline.night.airflow.airflow_lock import SUPERVISOR_VARIABLE
from isr_pipeline.night.keep import accept_baseline, simulate_confirm
from isr_pipeline.night.spark.submit import JobFailed
from isr_pipeline.night.status import Status, folder_of, write_status
from isr_pipeline.report.tracking import log_night
from isr_pipeline.verdicts.judge import judge_night
from tests.verdicts.synthetic import LATER, NIGHT, World, home, scaled

__all__ = ["home"]


def test_a_night_that_never_was(home: Path) -> None:
    """It has not failed: it is not there, and the line says which are."""
    World(experiment="smoke").write(NIGHT)
    with pytest.raises(Refused, match=f"there is no night 2026-01-01 of smoke; there are {NIGHT}"):
        accept_baseline("smoke", "2026-01-01", who="Ada", why="a reason")


@pytest.mark.usefixtures("home")
def test_not_beside_a_night_that_began_hours_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run waits for its next task, in an Airflow of which no process can be seen."""
    monkeypatch.delenv(SUPERVISOR_VARIABLE, raising=False)
    known = Home.from_environment()
    claim.claim_night(
        known, owner="a", experiment="smoke", night=NIGHT, airflow="", is_running=lambda _: True
    )
    with claim.renewed(known, "smoke", NIGHT, owner="a", then_s=24 * 3600):
        pass
    later_s = time.time() + 7 * 3600
    monkeypatch.setattr(claim, "time", SimpleNamespace(time=lambda: later_s))
    with pytest.raises(Refused, match=rf"^night {NIGHT} of smoke \(run a\) is being written"):
        accept_baseline("smoke", NIGHT, who="Ada", why="a reason")


@pytest.mark.usefixtures("home")
class TestSaid:
    """What whoever accepts a night reads."""

    def test_nothing_could_be_compared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another panel absorbs any change: that is said, and no change is listed."""
        monkeypatch.setattr(log_night, "pin_baseline", lambda _: None)
        said = []
        for night, digest in ((NIGHT, "a" * 64), (LATER, "e" * 64)):
            change = scaled("isr_flaps_per_partition_hour", 3.0, "today")
            world = World(experiment="smoke", panel_digest=digest)
            judge_night(world.write(night, change if night == LATER else None))
            write_status(folder_of("smoke", night), Status("baseline"))
            said.append(
                accept_baseline("smoke", night, who="Ada", why="a reason", absorb_unseen=True)
            )
        assert said == [
            [f"night {NIGHT} is the baseline of smoke, accepted by Ada: a reason{UNKNOWN}"],
            [
                f"night {LATER} is the baseline of smoke, accepted by Ada: a reason{UNKNOWN}",
                "the panel is another: nothing could be compared, the sums begin anew",
                "accepted unseen: no run was compared with it",
            ],
        ]


UNKNOWN = "; the sources of its code were not found, so nobody can ask it why"


class TestConfirm:
    """The job that acceptance submits."""

    @pytest.mark.usefixtures("home")
    def test_a_failure_is_one_line(self) -> None:
        """The job is given the panel and the configurations; why it failed is said."""
        given: list[str] = []

        def spark(arguments: list[str]) -> None:
            given.extend(arguments)
            raise JobFailed("no executors")

        with pytest.raises(Refused) as refused:
            simulate_confirm(spark, World().plan(NIGHT), ("id-today", "id-lag-20s"))
        assert str(refused.value) == (
            f"the confirm panel of night {NIGHT} could not be simulated: no executors"
        )
        assert given[-4:] == ["--panel", "confirm", "--configs", "id-today,id-lag-20s"]

    @pytest.mark.usefixtures("home")
    def test_how_far_it_is_is_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Of all that Spark says, the lines of progress alone."""

        def spark(_: list[str]) -> None:
            sys.stdout.write("26/11/26 WARN TaskSetManager: Lost task\n")
            sys.stdout.write("progress 10/40: confirm, 131 pairs/s, 2 s left\n")

        said: list[str] = []
        simulate_confirm(spark, World().plan(NIGHT), ("id-today",), say=said.append)
        assert said == [
            "simulates its confirm panel",
            "progress 10/40: confirm, 131 pairs/s, 2 s left",
        ]
        assert capsys.readouterr().out == ""

    @pytest.mark.parametrize(
        ("text", "master"),
        [
            ("spark://there:7077", "spark://there:7077"),
            (json.dumps({"host": "spark://there", "port": 7077}), "spark://there:7077"),
        ],
    )
    def test_a_variable_of_either_form(
        self, monkeypatch: pytest.MonkeyPatch, text: str, master: str
    ) -> None:
        """A URI is no JSON, and was a traceback."""
        monkeypatch.delenv("SPARK_MASTER", raising=False)
        monkeypatch.setenv(stack.CONNECTION, text)
        assert stack.wanted_master() == master
