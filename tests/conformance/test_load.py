"""Real brokers over disks of known speed, and the same simulated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.conformance import load
from isr_pipeline.scenarios.hardware import Hardware
from isr_pipeline.scenarios.model import parse_scenario


@pytest.fixture(scope="module")
def compared() -> load.Compared:
    """Every repetition."""
    return load.compare()


@pytest.fixture(scope="module")
def found(compared: load.Compared) -> list[load.Followed]:
    """Every follower of every repetition."""
    return [one for one in compared.followed if not one.crashed]


class TestBars:
    """Who left leaves, who stayed stays; a constant guess passes one of both alone."""

    def test_who_left_by_load_leaves(self, found: list[load.Followed]) -> None:
        """Nine of ten at least."""
        left = [one for one in found if one.observed.left_ms is not None]
        assert sum(one.agrees for one in left) >= 0.9 * len(left) > 50

    def test_who_stayed_stays(self, found: list[load.Followed]) -> None:
        """Nine of ten at least."""
        stayed = [one for one in found if one.observed.left_ms is None]
        assert sum(one.agrees for one in stayed) >= 0.9 * len(stayed) > 30


class TestReplays:
    """Old data that are read from a leader's disk."""

    def test_move_the_isr_on_a_listener_for_all(self, found: list[load.Followed]) -> None:
        """There followers leave, as was seen; with a listener of their own nobody does."""
        replays = [one for one in found if one.recording.case.startswith("E2")]
        left = {one.recording.case for one in replays if one.simulated.left_ms is not None}
        assert left == {"E2-single-many-net3", "E2-single-hdd-net3"}
        assert left == {one.recording.case for one in replays if one.observed.left_ms is not None}


class TestReturns:
    """A broker that returns to what it has missed takes as long as real ones took."""

    def test_over_a_thin_link(self, compared: load.Compared) -> None:
        """Fetches of 64 KiB over 20 ms, and leaders whose NICs carry six megabytes a second."""
        thin = [
            one
            for one in compared.caught_up
            if "64k" in one.recording.case
            or one.recording.scenario.cluster.broker_hardware.get(1, Hardware()).nic_bytes_per_s
        ]
        assert [one.agrees for one in thin] == [True] * 3

    def test_to_cold_data(self, compared: load.Compared) -> None:
        """Disks decide: 320 MB at 20 MB/s, and 260 at 10 MB/s with slow seeks; within a tenth."""
        cold = [one for one in compared.caught_up if one.recording.case.startswith("E1")]
        for one in cold:
            assert one.simulated_ms == pytest.approx(one.observed_ms, rel=0.1)
        assert len(cold) == 5

    def test_in_time(self, compared: load.Compared) -> None:
        """Every partition of it, not the last alone."""
        own = [one for one in compared.followed if one.crashed and one.recording.is_timed]
        assert [one.in_time for one in own] == [True] * 28

    def test_under_a_quota(self, compared: load.Compared) -> None:
        """The leaders' four megabytes a second, or the follower's six."""
        throttled = [one for one in compared.caught_up if "E6" in one.recording.case]
        assert [one.agrees for one in throttled] == [True] * 2

    @pytest.mark.parametrize(
        ("isrs", "caught_up_ms"),
        [
            ([[1, 2, 3], [1, 2, 3]], None),
            ([[1, 2], [1, 2], [1, 2, 3]], 1),
            ([[1, 2, 3], [1, 2], [1, 2], [1, 2, 3], [1, 3]], 2),
        ],
    )
    def test_the_last_join_counts(self, isrs: list[list[int]], caught_up_ms: int | None) -> None:
        """Not what came before the return, nor what another follower does."""
        events = [
            {"kind": "isr_expand", "topic": "t", "partition": 0, "isr": isr, "t_ms": at}
            for at, isr in enumerate(isrs, 1)
        ]
        scenario = parse_scenario(
            {
                "scenario_id": "one",
                "horizon_ms": 10_000,
                "cluster": {"release": "3.7-3.9", "controller": "kraft", "brokers": [1, 2, 3]},
                "topics": [{"name": "t", "assignment": {0: [1, 2, 3]}, "produce": []}],
            },
            "one",
        )
        since = 3 if caught_up_ms is None else 2
        assert load.catch_up_ms(events, scenario, 3, since) == caught_up_ms


class TestAbsences:
    """How a follower's absence is read from events."""

    FOLLOWER = ("t", 0, 3)

    @pytest.mark.parametrize(
        ("isrs", "left_ms", "back_ms"),
        [
            ([], None, None),
            ([[1, 2]], 0, None),
            ([[1, 2], [1, 2, 3]], 0, 1),
            ([[1, 2, 3], [1, 2], [1], [1, 3]], 1, 3),
            ([[1, 2], [1, 2, 3], [1, 2]], 0, None),
        ],
    )
    def test_first_out_and_last_in(
        self, isrs: list[list[int]], left_ms: int | None, back_ms: int | None
    ) -> None:
        """Times are those of the events."""
        events = [
            {
                "kind": "isr_expand" if 3 in isr else "isr_shrink",
                "topic": "t",
                "partition": 0,
                "isr": isr,
                "t_ms": at,
            }
            for at, isr in enumerate(isrs)
        ]
        assert load.absence(events, self.FOLLOWER) == load.Absence(left_ms, back_ms)


@pytest.mark.parametrize(
    "more",
    [{}, {"case": "x", "release": "3.9.1", "until_ms": 1, "observed": [], "scenario": "a word"}],
)
def test_a_damaged_line_is_refused(tmp_path: Path, more: dict[str, object]) -> None:
    """In one line that names it."""
    file = tmp_path / "load.jsonl"
    file.write_text(json.dumps({"id": "x", **more}) + "\n")
    with pytest.raises(InputError, match=r"load\.jsonl: line 1"):
        load.load_recordings(file)
