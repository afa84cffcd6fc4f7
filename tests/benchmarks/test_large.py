"""The plan on paper for a large cluster: what is measured of a pair, and what follows from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.speed import large, scale, sizing
from tests.tables import data_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NOTED: dict[str, Any] = data_of(__file__, "NOTED")
USUAL: dict[str, Any] = {"bytes_per_pair": {"outcomes": 30.0}, "java_peak_rss_mb": 600.0}


class TestPairs:
    """What is measured, on a cluster that takes no time."""

    def test_a_crash_costs_events(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The broker that crashes leads partitions: its pair leaves events, and they take room."""
        monkeypatch.setattr(large, "SIZE", scale.Size(3, 12))
        found = large.measure()
        assert 0 < found.events <= 5000
        assert found.event_bytes > 0
        assert min(found.healthy_s, found.crash_s, found.brute_s) > 0


class TestPlan:
    """What is reckoned."""

    def test_core_hours_and_time(self) -> None:
        """A hundred thousand pairs of 9 s are 250 core-hours, 3.9 h on 64 cores."""
        (row,) = (one for one in large.block(NOTED, USUAL).splitlines() if "| healthy |" in one)
        assert row == "| healthy | 9 | 250 | 3.9 h | 7 min |"

    def test_memory_and_storage(self) -> None:
        """A worker a core and one Java; every pair keeps as many events as it may."""
        text = large.block(NOTED, USUAL)
        assert "4 x 16 cores, 13 GB each" in text
        assert "Tables take at most 10.0 GB" in text

    def test_fills_the_page(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Between its marks, from what was noted last; the rest of the page stays."""
        page = tmp_path / "page.md"
        page.write_text(f"before\n{large.BEGIN}\nold\n{large.END}\nafter\n")
        results = tmp_path / "large.jsonl"
        results.write_text(f"{json.dumps({**NOTED, 'date': '2020-01-01'})}\n{json.dumps(NOTED)}\n")
        monkeypatch.setattr(sizing, "PAGE", page)
        monkeypatch.setattr(large, "RESULTS", results)
        large.fill()
        text = page.read_text()
        assert text.startswith(f"before\n{large.BEGIN}\nMeasured 2026-11-24 at 0123456 ")
        assert text.endswith(f"{large.END}\nafter\n")
        assert "old" not in text
