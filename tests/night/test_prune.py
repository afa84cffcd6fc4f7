"""Old nights are removed; the accepted one is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.cli import app
from isr_pipeline.night.keep import prune
from isr_pipeline.night.status import Status, folder_of, nights, write_status
from isr_pipeline.verdicts.baseline import BaselineRecord
from tests.approved import Approved

NIGHTS = ("2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Four nights, of which only the folders are there."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    monkeypatch.delenv("ISR_PIPELINE_ROOT", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for night in NIGHTS:
        write_status(folder_of("smoke", night), Status("baseline"))
    return Home.from_environment()


def accept(home: Home, text: str) -> None:
    """Write a baseline's record."""
    folder = home.baseline_dir("smoke")
    folder.mkdir(parents=True)
    (folder / "baseline.json").write_text(text)


class TestPrune:
    """Which nights go."""

    def test_logs_of_a_night_go_with_it(self, home: Home) -> None:
        """Airflow's own clean-up leaves the files of task logs."""
        folder = home.airflow / "logs" / "dag_id=isr_nightly_smoke"
        for night in NIGHTS:
            write_status(folder_of("smoke", night), Status("baseline", dag_run_id=f"run-{night}"))
            (folder / f"run_id=run-{night}" / "task_id=plan").mkdir(parents=True)
        list(prune(1))
        assert [one.name for one in folder.iterdir()] == [f"run_id=run-{NIGHTS[-1]}"]

    def test_logs_of_earlier_runs_of_a_night_go_too(self, home: Home) -> None:
        """A night that was run again left task logs of both runs."""
        folder = home.airflow / "logs" / "dag_id=isr_nightly_smoke"
        for run in (f"manual__{NIGHTS[0]}T01:00", f"backfill__{NIGHTS[0]}T00:00"):
            (folder / f"run_id={run}" / "task_id=plan").mkdir(parents=True)
        list(prune(3))
        assert list(folder.iterdir()) == []

    def test_older_nights_go(self, home: Home) -> None:
        """The newest stay, and what went is said."""
        assert list(prune(2)) == [("smoke", "2026-11-01"), ("smoke", "2026-11-02")]
        assert nights() == [("smoke", "2026-11-03"), ("smoke", "2026-11-04")]

    def test_a_night_that_failed_is_none_of_those_kept(self, home: Home) -> None:
        """The newest one failed: the one before it is what stays, and what failed is kept too."""
        write_status(folder_of("smoke", NIGHTS[3]), Status("failed", "no room"))
        write_status(folder_of("smoke", NIGHTS[1]), Status("interrupted", "stopped by hand"))
        assert [night for _, night in prune(1)] == [NIGHTS[0], NIGHTS[1]]
        assert list(prune(2)) == []

    def test_a_dry_run_removes_nothing(self, home: Home) -> None:
        """It says what would go."""
        assert [night for _, night in prune(3, dry_run=True)] == [NIGHTS[0]]
        assert [night for _, night in nights()] == list(NIGHTS)

    @pytest.mark.usefixtures("home")
    def test_the_command_can_run_dry(self, approved: Approved) -> None:
        """It says which would go in other words than which went, and removes nothing."""
        given = ["night", "prune", "--keep", "2"]
        dry = CliRunner().invoke(app, [*given, "--dry-run"])
        assert (dry.exit_code, len(nights())) == (0, len(NIGHTS))
        approved([dry.stdout, CliRunner().invoke(app, given).stdout])

    def test_accepted_night_stays(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """The night that is the baseline is kept besides the newest, however old it is."""
        fields: dict[str, Any] = dict.fromkeys(BaselineRecord.model_fields, "")
        record = BaselineRecord.model_construct(**{**fields, "night": "2026-11-01"})
        monkeypatch.setattr("isr_pipeline.verdicts.baseline.show", lambda _: record)
        assert list(prune(1)) == [("smoke", "2026-11-02"), ("smoke", "2026-11-03")]
        assert nights() == [("smoke", "2026-11-01"), ("smoke", "2026-11-04")]

    def test_damaged_baseline_removes_nothing(self, home: Home) -> None:
        """Nobody can tell which night it was: refused in one line, all nights stay."""
        accept(home, "{")
        with pytest.raises(Refused, match=r"^smoke: baseline is damaged.*; nothing was removed$"):
            list(prune(1))
        assert [night for _, night in nights()] == list(NIGHTS)
