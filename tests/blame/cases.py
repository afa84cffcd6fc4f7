"""Cases made by hand: a paused follower, a leader that crashes, and what may differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from isr_pipeline.kernels.process import Kernel
from isr_pipeline.kernels.source import PACKAGE, Source, read_package
from isr_pipeline.verdicts.blame.case import Case, Drawn, Side
from tests.kernels import repository

METRIC = "leaderless_rate"
LAG = "replica.lag.time.max.ms"
SESSION = "broker.session.timeout.ms"
RULES = "kafka/replica.py"

SCENARIO: dict[str, Any] = {
    "scenario_id": "paused",
    "seed": 1,
    "horizon_ms": 20_000,
    "warmup_ms": 1_000,
    "cluster": {"release": "3.7-3.9", "controller": "kraft", "brokers": [1, 2]},
    "topics": [
        {
            "name": "t",
            "assignment": {"0": [1, 2]},
            "produce": [
                {"records_per_s": 20, "records_per_batch": 1, "record_bytes": 100, "acks": 1}
            ],
        }
    ],
    "faults": [
        {"kind": "pause", "broker": 2, "start_ms": 3_000, "duration_ms": 7_000},
        {"kind": "crash", "broker": 1, "start_ms": 9_500, "restart_after_ms": None},
    ],
}
"""Broker 2 stands still from 3 to 10 s, its leader dies at 9.5 s: a lag limit below 6.5 s loses it
from the ISR, and the partition is offline."""


def edited(source: Source, old: str, new: str, file: str = RULES) -> Source:
    """Sources with one place of one file changed."""
    text = source.files[file].decode()
    assert text.count(old) == 1, old
    files = {**source.files, file: text.replace(old, new).encode()}
    return replace(source, files=files)


_VALUES: dict[tuple[str, str, bool], float] = {}
"""What sources gave so far: a process of its own takes seconds to start."""


def value(source: Source, overrides: dict[str, Any], *, compiled: bool) -> float:
    """The metric of the scenario."""
    asked = source.digest, repr(sorted(overrides.items())), compiled
    if asked not in _VALUES:
        with Kernel(source, "a test's code", compiled=compiled) as kernel:
            ran = kernel.run(SCENARIO, overrides, events=False)
        assert not ran.problem, ran.problem
        _VALUES[asked] = float(ran.outcome[METRIC])
    return _VALUES[asked]


def case(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    old: Source | None = None,
    new: Source | None = None,
    versions: tuple[str, str] = ("old", "new"),
) -> Case:
    """Two sides, with the values that their kernels give."""
    old, new = old or read_package(), new or read_package()
    drawn = Drawn(
        scenario_id="paused",
        scenario=SCENARIO,
        weight=1.0,
        before=value(old, before, compiled=False),
        after=value(new, after, compiled=False),
        divisor=(SCENARIO["horizon_ms"] - SCENARIO["warmup_ms"]) / 1_000,
    )
    return Case(
        experiment="made",
        night="2026-11-20",
        config="today",
        metric=METRIC,
        status="regressed",
        change="offline (no leader) 2 × (1.5 to 2.5)",
        before=Side("the baseline's code", old, versions[0], before),
        after=Side("the night's code", new, versions[1], after),
        deciding=(drawn,),
        differing=(drawn,),
        accepted="2026-11-19, 03:11",
        tonight="2026-11-20, 03:11",
    )


def checkout(folder: Path, *steps: Source) -> Path:
    """A checkout with a commit a step, tagged ``step0`` and so on."""
    return repository.checkout(
        folder,
        *(
            (f"step{number}", {f"{PACKAGE}/{name}": text for name, text in step.files.items()})
            for number, step in enumerate(steps)
        ),
    )
