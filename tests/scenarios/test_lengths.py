"""Lengths of incidents that somebody measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.experiment.file import asked_incidents, load_experiment
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.lengths import apart, with_lengths
from isr_pipeline.scenarios.model import scenario_from_json
from isr_pipeline.scenarios.profile import load_profile
from tests.approved import Approved

NIGHTLY = load_profile(
    read_mapping(Path(__file__).resolve().parents[2] / "config" / "faults" / "nightly.yaml"), "n"
)


def pauses(folder: Path, *lines: str) -> tuple[str, set[float]]:
    """Digest of a panel, and the lengths of the pauses that come alone in it."""
    file = folder / "asked.yaml"
    file.write_text(
        "seed: 1\ncluster: default\nfaults: nightly\nhorizon_ms: 60000\nwarmup_ms: 5000\n"
        "panels: {regression: 200, confirm: 200}\nreference: today\n"
        + "".join(f"{line}\n" for line in lines)
        + "groups: [{name: asked, candidates: [{name: today}]}]\n"
    )
    experiment = load_experiment(file)
    rows = [row for row in draw_panel(experiment.source, "regression") if row.pattern == "pause"]
    faults = [scenario_from_json(row.scenario_json).faults for row in rows]
    return experiment.digest, {one.model_dump()["duration_ms"] for each in faults for one in each}


class TestCommandLine:
    """``pause=365:5s-15s``."""

    def test_taken_apart(self) -> None:
        """Counts go where counts went; a unit stands with each end."""
        counts, lengths = apart(["crash=4,pause=365:500ms-15s", "slow_disk=2:1s-1.5min"], "--i")
        assert counts == ["crash=4", "pause=365", "slow_disk=2"]
        assert lengths == {"pause": (500, 15_000), "slow_disk": (1_000, 90_000)}

    @pytest.mark.parametrize(
        "written", ["5-15", "5s", "15s-5s", "0s-5s", "1.2.3s-5s", "", "5s-15h"]
    )
    def test_refused(self, written: str, approved: Approved) -> None:
        """No form, no unit, the longest before the shortest."""
        with approved.refusal(InputError):
            apart([f"pause=365:{written}"], "--incidents")

    @pytest.mark.parametrize("kind", ["stalled_reads", "leader_move"])
    def test_a_kind_without_a_length(self, kind: str, approved: Approved) -> None:
        """Strata that differ by length have ranges of their own; a move takes no time."""
        with approved.refusal(InputError):
            asked_incidents("compare", "nightly", [f"{kind}=3:5s-15s"])


class TestDrawn:
    """What a panel draws then."""

    def test_within_the_range(self, tmp_path: Path) -> None:
        """All pauses that come alone last so long; another panel than without."""
        digest, lengths = pauses(tmp_path)
        other, ours = pauses(tmp_path, "lengths_ms: {pause: [5000, 15000]}")
        assert min(lengths) < 5_000
        assert len(ours) > 3
        assert (min(ours) >= 5_000, max(ours) <= 15_000) == (True, True)
        assert digest != other

    def test_only_of_the_kind(self) -> None:
        """Chains of pauses, and other kinds, keep their times."""
        changed = with_lengths(NIGHTLY, {"pause": (5_000, 15_000)}, "here")
        differing = [n for n, one in NIGHTLY.strata.items() if one != changed.strata[n]]
        assert differing == ["follower"]
        assert {*changed.strata["follower"].parameters} - {
            *NIGHTLY.strata["follower"].parameters
        } == {"pause.duration_ms"}
