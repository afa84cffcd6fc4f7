"""What the terminal says of a night, and of one scenario."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.report.story import Story
from isr_pipeline.report.terminal import print_night, print_run
from isr_pipeline.worlds.columns import METRICS, OF_THE_RUN
from tests.approved import Approved
from tests.report.test_story import offline, run


def configuration(name: str, verdict: str | None, **decisions: Any) -> dict[str, Any]:
    """A configuration as `night show --json` has it."""
    return {"name": name, "verdict": verdict, "metrics": {}, "decisions": decisions}


def printed(configs: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of a night of some configurations."""
    places = {"report": "/nowhere", "data_docs": "/nowhere", "mlflow": ""}
    night = {
        "night": "2026-11-20", "experiment": "made", "status": "regressed", "headline": "",
        "to_do": ["isr-pipeline why"], "reason": "", "later": "",
        "configs": configs, "tables": {}, "places": places,
    }  # fmt: skip
    print_night(night)
    return capsys.readouterr().out.splitlines()


class TestNight:
    """The worst first, the reason above the table."""

    def test_red_rows_come_first(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Those of one verdict stay in the experiment's order, one that waits for its own last."""
        configs = [
            configuration("later", None),
            configuration("fine", "ok"),
            configuration("maybe", "suspect"),
            configuration("bad", "regressed"),
            configuration("good", "ok"),
        ]
        names = [one["name"] for one in configs]
        rows = [line.split()[0] for line in printed(configs, capsys) if line.split()]
        assert [row for row in rows if row in names] == ["bad", "maybe", "fine", "good", "later"]

    def test_ends_with_what_to_do(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The last thing that a terminal shows is a command that finds the cause."""
        assert printed([configuration("bad", "regressed")], capsys)[-1].endswith("isr-pipeline why")

    def test_what_got_worse_stands_above_the_table(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A reader meets the reason before 22 rows of numbers."""
        change = {"status": "regressed", "change": "ISR flaps 2 × (1.5 to 2.5)"}
        configs = [configuration("bad", "regressed", isr_flaps_per_partition_hour=change)]
        lines = printed(configs, capsys)
        reason = lines.index("regressed  bad: ISR flaps 2 × (1.5 to 2.5)")
        table = next(at for at, line in enumerate(lines) if line.startswith("configuration"))
        assert reason < table


class TestRun:
    """A scenario that `simulate` ran."""

    def test_faults_are_listed(
        self, capsys: pytest.CaptureFixture[str], approved: Approved
    ) -> None:
        """And who was hit, before any number."""
        print_run(Story((run(*offline(7, 40, 50)),)), [dict.fromkeys((*METRICS, *OF_THE_RUN))])
        lines = capsys.readouterr().out.splitlines()
        approved(lines[:3])

    def test_numbers_have_units(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A share is in percent, and no number has an exponent."""
        outcome = dict.fromkeys((*METRICS, *OF_THE_RUN)) | {
            "offline_partition_rate": 0.25, "kernel_events": 2_648_420,
        }  # fmt: skip
        print_run(Story((run(),)), [outcome])
        said = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert [
            "offline",
            "to",
            "the",
            "controller",
            "25",
            "%",
            "of",
            "time",
            "offline_partition_rate",
        ] in said
        assert ["kernel", "events", "2648420", "kernel_events"] in said

    def test_before_and_after_stand_beside_each_other(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Of two runs each number is printed twice."""
        before, after = (
            dict.fromkeys((*METRICS, *OF_THE_RUN)) | {"leaderless_rate": share}
            for share in (0.25, 0.5)
        )
        print_run(Story((run(title="a"), run(title="b"))), [before, after])
        (line,) = [
            line for line in capsys.readouterr().out.splitlines() if " leaderless_rate" in line
        ]
        assert line.split()[4:6] == ["25", "50"]
