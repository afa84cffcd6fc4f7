"""What a lag limit changes in a large cluster simulated whole, and with some of its topics.

``python -m benchmarks.topics`` simulates one panel of faults on 20 brokers with 2 000 partitions
under three lag limits: with all topics, and with fewer. What comes out is noted in
``results/topics.jsonl`` and filled into ``results/topics.md``; ``--fill`` only fills in what was
noted last. Other options make the cluster or the panel smaller.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from isr_pipeline.base.compiling import use_kernel_cache
from isr_pipeline.base.home import REPOSITORY, SHIPPED
from isr_pipeline.base.version import commit
from isr_pipeline.experiment.file import Experiment, load_experiment

BROKERS, PARTITIONS, SCENARIOS = 20, 2_000, 48
KEPT = (("orders", "metrics"), ("orders",), ("metrics",))
"""Topics of each arm beside the whole."""
LIMITS = {"10 s": 10_000, "20 s": 20_000, "30 s": 30_000}
REFERENCE = "30 s"
METRICS = {
    "produce_unavailable_rate": "produce unavailable",
    "offline_partition_rate": "offline",
    "under_min_isr_rate": "under min ISR",
    "isr_flaps_per_partition_hour": "flaps",
    "commit_latency_p99_ms": "commit p99",
}
RESULTS = REPOSITORY / "benchmarks" / "results" / "topics.jsonl"
PAGE = RESULTS.with_suffix(".md")
BEGIN, END = "<!-- figures:topics -->", "<!-- figures:topics:end -->"
_COLUMNS = ("reference_value", "ratio", "ratio_low", "ratio_high")


@dataclass(frozen=True, slots=True)
class Arm:
    """The panel with some of the topics.

    Attributes:
        topics: that are simulated, in words; ``partitions``: how many they have.
        pair_s: core-seconds of a pair.
        values: metric -> the reference's value.
        ratios: lag limit -> metric -> (ratio to the reference, ends of its 95 % interval); None
            where it has none.
    """

    topics: str
    partitions: int
    pair_s: float
    values: dict[str, float]
    ratios: dict[str, dict[str, tuple[float | None, ...]]]


def cluster_text(brokers: int = BROKERS, partitions: int = PARTITIONS) -> str:
    """A cluster file: replicas anywhere, three kinds of topics, four rates, two log dirs."""
    chance = random.Random(7)
    lines = ["release: 3.9.1", "controller: kraft", "brokers:"]
    lines += [f"  - {{id: {b}, log_dirs: [/d1, /d2]}}" for b in range(1, brokers + 1)]
    lines.append("topics:")
    acks_all = "[{acks: all, records_per_batch: 10, record_bytes: 500}]"
    acks_one = "[{acks: 1, records_per_batch: 10, record_bytes: 200}]"
    for name, share, settings, produce in (
        ("orders", 0.6, "{min.insync.replicas: 2}", acks_all),
        ("metrics", 0.3, "{}", acks_one),
        ("archive", 0.1, "{}", "[]"),
    ):
        lines += [f"  - name: {name}", f"    settings: {settings}", f"    produce: {produce}"]
        lines.append("    partitions:")
        for number in range(round(partitions * share)):
            replicas = chance.sample(range(1, brokers + 1), 3)
            dirs = ", ".join(chance.choice(("/d1", "/d2")) for _ in replicas)
            rate = f", records_per_s: {chance.choice((5, 10, 20, 50))}" if produce != "[]" else ""
            lines.append(
                f"      - {{id: {number}, replicas: {replicas}, log_dirs: [{dirs}]{rate}}}"
            )
    return "\n".join(lines) + "\n"


def experiment_text(scenarios: int) -> str:
    """The question: which lag limit."""
    lines = ["seed: 20261124", "cluster: large", "faults: nightly", "horizon_ms: 120000"]
    lines += [f"panels: {{regression: {scenarios}, confirm: {scenarios}}}", "reference: lag-30000"]
    lines += ["groups:", "  - name: lag-limit", "    candidates:"]
    lines += [
        f"      - {{name: lag-{value}, set: {{replica.lag.time.max.ms: {value}}}}}"
        for value in LIMITS.values()
    ]
    return "\n".join(lines) + "\n"


def arms(brokers: int, partitions: int, scenarios: int) -> Iterator[Arm]:
    """Simulate the panel with all partitions, then with fewer."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config"
        for kind in ("clusters", "experiments", "faults"):
            (config / kind).mkdir(parents=True)
        shipped = SHIPPED / "config" / "faults" / "nightly.yaml"
        (config / "faults" / "nightly.yaml").write_text(shipped.read_text())
        (config / "clusters" / "large.yaml").write_text(cluster_text(brokers, partitions))
        (config / "experiments" / "large.yaml").write_text(experiment_text(scenarios))
        os.environ["ISR_PIPELINE_CONFIG"] = str(config)
        yield _arm(load_experiment("large"), "all")
        for kept in KEPT:
            yield _arm(load_experiment("large", kept), ", ".join(kept))


def _arm(experiment: Experiment, topics: str) -> Arm:
    from isr_pipeline.experiment.configurations import configurations  # noqa: PLC0415
    from isr_pipeline.scenarios.generator import draw_panel  # noqa: PLC0415
    from isr_pipeline.scenarios.model import parse_scenario  # noqa: PLC0415
    from isr_pipeline.tables.pairs import simulate_scenario  # noqa: PLC0415
    from isr_pipeline.worlds.run import run  # noqa: PLC0415 - loads the kernel

    run(parse_scenario(dict(experiment.source.frame), experiment.where))
    begin = time.process_time()
    listed = list(configurations(experiment))
    drawn = draw_panel(experiment.source, "regression")
    rows = pd.DataFrame([row for one in drawn for row in simulate_scenario((one, listed))])
    partitions = sum(len(topic["assignment"]) for topic in experiment.cluster.topics)
    return arm_of(rows, topics, partitions, time.process_time() - begin)


def arm_of(rows: pd.DataFrame, topics: str, partitions: int, core_s: float) -> Arm:
    """Sum up the rows of the outcomes table that took so many core-seconds."""
    from isr_pipeline.tables.summary import WHOLE_PANEL, summarize  # noqa: PLC0415

    sides = dict(iter(rows.groupby("config_name")))
    values: dict[str, float] = {}
    ratios: dict[str, dict[str, tuple[float | None, ...]]] = {}
    for words, limit in LIMITS.items():
        if words == REFERENCE:
            continue
        summary = summarize(sides[f"lag-{limit}"], sides["lag-30000"], seed="topics")
        whole = summary[summary["stratum"] == WHOLE_PANEL].set_index("metric")
        ratios[words] = {}
        for metric in METRICS:
            value, ratio, low, high = (float(whole[of][metric]) for of in _COLUMNS)
            values[metric] = value
            ratios[words][metric] = tuple(
                None if math.isnan(one) else one for one in (ratio, low, high)
            )
    return Arm(topics, partitions, core_s / len(rows), values, ratios)


# ---------------------------------------------------------------------------- what is written


def block(noted: dict[str, Any]) -> str:
    """The tables of the page."""
    arms = [Arm(**one) for one in noted["arms"]]
    whole = arms[0]
    title = (
        f"Measured {noted['when'][:10]} at {noted['commit']} on {noted['machine']}. "
        f"{noted['scenarios']} scenarios of 120 s had the faults of `nightly`, on "
        f"{noted['brokers']} brokers with {whole.partitions} partitions. "
        f"Values under {REFERENCE}, as ratios to those of all topics:"
    )
    lines = [
        title,
        "",
        "| topics | partitions | core-seconds a pair | " + " | ".join(METRICS.values()) + " |",
        "|---" * (3 + len(METRICS)) + "|",
    ]
    for one in arms:
        cells = " | ".join(_over(one.values[m], whole.values[m]) for m in METRICS)
        lines.append(f"| {one.topics} | {one.partitions} | {one.pair_s:.2f} | {cells} |")
    return "\n".join([*lines, "", _told(arms)])


def _told(arms: list[Arm]) -> str:
    """What the first lag limit changes in each arm, with the whole cluster's intervals."""
    words, of_limit = next(iter(arms[0].ratios.items()))
    told = []
    for metric, name in METRICS.items():
        if of_limit[metric][0] is not None:
            others = (_words(one.ratios[words][metric][0]) for one in arms[1:])
            told.append(f"{name} {', '.join([_words(*of_limit[metric]), *others])}")
    return (
        f"What {words} change, as ratios to {REFERENCE}, in the order of these rows (95 % interval "
        f"over scenarios): {'; '.join(told)}. `topics.jsonl` has all intervals and limits."
    )


def _over(value: float, whole: float) -> str:
    """A ratio in words; a dash where nothing happens in the whole cluster."""
    return f"{value / whole:.2f}" if whole > 0 else "–"


def _words(ratio: float | None, *ends: float | None) -> str:
    """A ratio, with the ends of its interval if it has any; a dash where the reference has none."""
    if ratio is None:
        return "–"
    interval = "–".join("open" if end is None else f"{end:.2f}" for end in ends)
    return f"{ratio:.2f} ({interval})" if ends else f"{ratio:.2f}"


def fill() -> None:
    """Write the newest figures into the page."""
    noted = json.loads(RESULTS.read_text().splitlines()[-1])
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{block(noted)}\n{END}{after}")


def main() -> None:
    """Measure, note and fill in."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fill", action="store_true", help="only fill in what was noted last")
    parser.add_argument("--brokers", type=int, default=BROKERS)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--scenarios", type=int, default=SCENARIOS)
    given = parser.parse_args()
    if not given.fill:
        use_kernel_cache()
        found = []
        for arm in arms(given.brokers, given.partitions, given.scenarios):
            found.append(arm)
            print(arm.topics, arm.partitions, f"{arm.pair_s:.3f} s a pair", arm.values, flush=True)
        noted = {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores "
            f"(load {os.getloadavg()[0]:.2f})",
            "brokers": given.brokers,
            "scenarios": given.scenarios,
            "arms": [asdict(arm) for arm in found],
        }
        with RESULTS.open("a") as file:
            file.write(json.dumps(noted) + "\n")
    fill()


if __name__ == "__main__":
    main()
