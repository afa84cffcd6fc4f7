"""The measurement of some topics: what it asks, and what it writes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import topics
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.file import load_experiment


def arm(names: str, partitions: int, pair_s: float, value: float, ratio: float) -> topics.Arm:
    """An arm with one value and one ratio everywhere, but no flaps under the first limit."""
    three: tuple[float | None, ...] = (ratio, ratio - 0.1, ratio + 0.1)
    of_metrics = dict.fromkeys(topics.METRICS, three)
    first = {**of_metrics, "isr_flaps_per_partition_hour": (None,) * 3}
    ratios = {"10 s": first, "20 s": of_metrics}
    return topics.Arm(names, partitions, pair_s, dict.fromkeys(topics.METRICS, value), ratios)


def test_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cluster and experiment can be read: 2 000 partitions on 20 brokers, three lag limits."""
    for kind in ("clusters", "experiments", "faults"):
        (tmp_path / kind).mkdir()
    nightly = REPOSITORY / "config" / "faults" / "nightly.yaml"
    (tmp_path / "faults" / "nightly.yaml").write_text(nightly.read_text())
    (tmp_path / "clusters" / "large.yaml").write_text(topics.cluster_text())
    (tmp_path / "experiments" / "large.yaml").write_text(topics.experiment_text(48))
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(tmp_path))
    experiment = load_experiment("large")
    assert sum(len(topic["assignment"]) for topic in experiment.cluster.topics) == 2_000
    assert len(experiment.cluster.cluster["brokers"]) == 20
    assert [one.name for one in experiment.groups[0].candidates] == [
        *("lag-10000", "lag-20000", "lag-30000")
    ]


def test_the_tables() -> None:
    """Values stand as ratios to those of all topics; what the whole does not have is not told."""
    arms = [arm("all", 2_000, 2.0, 4.0, 0.5), arm("orders", 1_200, 0.4, 6.0, 0.6)]
    noted = {
        "when": "2026-11-24T22:00:00+00:00",
        "commit": "abc",
        "machine": "Linux",
        "brokers": 20,
        "scenarios": 48,
        "arms": [asdict(one) for one in arms],
    }
    lines = topics.block(noted).splitlines()
    assert lines[0].startswith("Measured 2026-11-24 at abc on Linux. 48 scenarios")
    ratios = " | ".join(["1.50"] * len(topics.METRICS))
    assert f"| orders | 1200 | 0.40 | {ratios} |" in lines
    assert "; offline 0.50 (0.40–0.60), 0.60; " in lines[-1]
    assert "; flaps" not in lines[-1]
