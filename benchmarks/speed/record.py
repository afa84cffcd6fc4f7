"""One line of ``benchmarks/results/speed.jsonl`` a run: what was measured, where, of which commit.

A part that was not run is null in its line, with the reason under ``not_run``; nothing is carried
over from an earlier line.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import reference
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.plan import code_version

if TYPE_CHECKING:
    from benchmarks.speed.arms import Measured
    from benchmarks.speed.kernel import KernelFigures
    from benchmarks.speed.night import NightFigures
    from benchmarks.speed.scale import ScaleFigures
    from benchmarks.speed.spark import SparkFigures

RESULTS = REPOSITORY / "benchmarks" / "results" / "speed.jsonl"
PARTS = ("kernel", "scale", "spark", "night")


@dataclass(slots=True)
class Figures:
    """What the parts found; None for one that was not run, with the reason under its name."""

    kernel: KernelFigures | None = None
    scale: ScaleFigures | None = None
    spark: SparkFigures | None = None
    night: NightFigures | None = None
    not_run: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure has to reach.

    Attributes:
        at_least: the least it may be; ``at_most``: the most; None for no such limit.
    """

    at_least: float | None = None
    at_most: float | None = None

    def met(self, value: float) -> bool:
        """Whether a value is within the bar."""
        low = self.at_least is None or value >= self.at_least
        return low and (self.at_most is None or value <= self.at_most)

    def __str__(self) -> str:
        """``>= 0.35`` or ``<= 2``."""
        return f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"


BARS = {
    "kernel_over_bare_tree": Bar(at_least=0.35),
    "skipping_over_brute_force": Bar(at_least=20),
    "30x3000_over_6x60": Bar(at_least=1 / 3),
    "100x20000_over_6x60": Bar(at_least=1 / 8),
    "layout_over_120_s": Bar(at_most=0.2),
    "partition_at_16x_over_1x": Bar(at_most=1.5),
    "30x3000_over_6x60_own_rates": Bar(at_least=1 / 3),
    "100x20000_over_6x60_own_rates": Bar(at_least=1 / 8),
    "partition_at_16x_over_1x_own_rates": Bar(at_most=1.5),
    "largest_worker_peak_rss_mb": Bar(at_most=4000),
    "two_cores_over_one": Bar(at_least=1.8),
    "kernel_share_of_busy": Bar(at_least=0.9),
    "longest_over_median_task": Bar(at_most=2),
    "worker_peak_rss_mb": Bar(at_most=500),
    "night_total_s": Bar(at_most=120),
    "night_simulation_and_validation": Bar(at_least=0.5),
}
"""What the project holds itself to."""


def ratios_of(found: Figures) -> dict[str, Measured | None]:
    """The ratios that are compared over commits; None where their part was not run."""
    kernel, scale, spark = found.kernel, found.scale, found.spark
    return {
        "kernel_over_bare_tree": kernel.kernel_over_tree if kernel else None,
        "skipping_over_brute_force": kernel.panel_time_ratio if kernel else None,
        "30x3000_over_6x60": scale.middle_over_small if scale else None,
        "100x20000_over_6x60": scale.large_over_small if scale else None,
        "layout_over_120_s": scale.layout_share if scale else None,
        "partition_at_16x_over_1x": scale.growth if scale else None,
        "30x3000_over_6x60_own_rates": scale.middle_over_small_own_rates if scale else None,
        "100x20000_over_6x60_own_rates": scale.large_over_small_own_rates if scale else None,
        "partition_at_16x_over_1x_own_rates": scale.growth_own_rates if scale else None,
        "largest_worker_peak_rss_mb": scale.peak_mb if scale else None,
        "two_cores_over_one": spark.two_over_one if spark else None,
        "kernel_share_of_busy": spark.kernel_share if spark else None,
        "longest_over_median_task": spark.longest_over_median if spark else None,
    }


def line(found: Figures, load_before: float) -> dict[str, Any]:
    """Make the line of a run.

    Args:
        found: what its parts found.
        load_before: the machine's load before it began: of others.
    """
    kernel, spark, night = found.kernel, found.spark, found.night
    ratios = ratios_of(found)
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": _git("rev-parse", "HEAD") or None,
        "changed_since_commit": bool(_git("status", "--porcelain", "--", "isr_pipeline")),
        "code_version": code_version(),
        "machine": machine(),
        "load_before": round(load_before, 2),
        "panel_digest": reference.digest(),
        "ratios": {name: one and _short(one.median) for name, one in ratios.items()},
        "spread": {
            name: one and [_short(one.least), _short(one.most), one.runs]
            for name, one in ratios.items()
        },
        "more_ratios": _more_ratios(found),
        "events_per_s": _events_per_s(kernel),
        "broker_hours_per_core_s": kernel
        and {
            "brute_force": _short(kernel.brute_broker_hours_per_s.median),
            "jumps": _short(kernel.jump_broker_hours_per_s.median),
        },
        "pairs_in_sample": kernel and kernel.pairs,
        "slots": kernel and list(kernel.slots),
        "kernel_ms_per_pair": kernel and _short(kernel.ms_per_pair.median),
        "panel_ms_per_pair": kernel and _short(1e3 * kernel.panel.seconds / kernel.panel.pairs),
        "worker_peak_rss_mb": spark and round(spark.peak_rss_mb, 1),
        "java_peak_rss_mb": spark and round(spark.java_peak_rss_mb, 1),
        "pairs_per_core_s": spark and _short(spark.pairs_per_core_s.median),
        "bytes_per_pair": spark and spark.bytes_per_pair,
        "shuffle_bytes": None if spark is None else spark.shuffle_bytes,
        "result_bytes_per_task": spark and round(spark.result_bytes_per_task),
        "job_overhead_s": spark and _short(spark.job_overhead_s.median),
        "busy_split": spark and spark.split,
        "scaling": spark and spark.scaling,
        "night": night
        and {
            "experiment": night.experiment,
            "night": night.night,
            "begun": night.begun,
            "code_version": night.code_version,
            "pairs": night.pairs,
            "total_s": night.total,
            "simulation_and_validation": night.simulation_and_validation,
        },
        "night_seconds": night and night.seconds,
        "scale": found.scale
        and {
            name: {what: _short(value) for what, value in asdict(one).items()}
            for name, one in found.scale.found.items()
        },
        "not_run": found.not_run,
    }


def _more_ratios(found: Figures) -> dict[str, Any]:
    """Ratios that no bar is about."""
    kernel, spark, scale = found.kernel, found.spark, found.scale
    return {
        "kernel_over_branch_free_tree": kernel
        and _short(kernel.kernel_over_branch_free_tree.median),
        "chains_at_once": kernel and _short(kernel.chains_at_once.median),
        "skipping_over_brute_force_in_events": kernel
        and _short(kernel.panel.all_events / kernel.panel.events),
        "jumps_alone_over_brute_force": kernel and _short(kernel.time_ratio.median),
        "jumps_alone_over_brute_force_in_events": kernel and _short(kernel.event_ratio),
        "kernel_cpu_share_of_busy": spark and _short(spark.kernel_cpu_share.median),
        "pairs_over_runs": kernel and _short(kernel.panel.pairs / kernel.panel.runs),
        "30x3000_over_6x60_light": scale and _short(scale.middle_over_small_light.median),
        "100x20000_over_6x60_light": scale and _short(scale.large_over_small_light.median),
    }


def _events_per_s(kernel: KernelFigures | None) -> dict[str, Any]:
    """Events a second of every loop; names are those of the table on the terminal."""
    rates: dict[str, Any] = dict.fromkeys(("kernel_brute_force", "kernel_jumps"))
    if kernel is not None:
        for slots, rate in kernel.tree_events_per_s.items():
            rates[f"bare_tree_{slots}_slots"] = round(rate.median)
            without = kernel.branch_free_tree_events_per_s[slots]
            rates[f"branch_free_tree_{slots}_slots"] = round(without.median)
        rates["kernel_brute_force"] = round(kernel.brute_events_per_s.median)
        rates["kernel_jumps"] = round(kernel.jump_events_per_s.median)
    return rates


def append(record: dict[str, Any], file: Path = RESULTS) -> None:
    """Append a line to the results."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as results:
        results.write(json.dumps(record) + "\n")


def read(file: Path = RESULTS) -> list[dict[str, Any]]:
    """Return every line of the results, oldest first."""
    if not file.is_file():
        return []
    return [json.loads(text) for text in file.read_text().splitlines() if text.strip()]


def machine() -> str:
    """System, processor and number of cores."""
    name = platform.processor() or platform.machine()
    known = Path("/proc/cpuinfo")  # Linux
    for text in known.read_text().splitlines() if known.exists() else ():
        if text.startswith("model name"):
            name = text.split(":", 1)[1].strip()
            break
    return f"{platform.system()} {platform.machine()}, {name}, {os.cpu_count()} cores"


def _short(value: float) -> float:
    """Four digits that mean something."""
    return float(f"{value:.4g}")


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
