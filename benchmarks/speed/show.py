"""The tables on the terminal: every arm beside the others, every bar beside its figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.speed.record import BARS, Figures, ratios_of
from isr_pipeline.base.home import DEFAULT_EXPERIMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.speed.arms import Measured
    from benchmarks.speed.kernel import KernelFigures
    from benchmarks.speed.night import NightFigures
    from benchmarks.speed.scale import ScaleFigures
    from benchmarks.speed.spark import SparkFigures

MILLION = 1e6

WORDS = {
    "kernel_over_bare_tree": "kernel, brute force / bare winner tree",
    "skipping_over_brute_force": "jumps and shared runs / brute force, reference panel, time",
    "30x3000_over_6x60": "30 brokers x 3 000 partitions / 6 x 60, events a second, brute force",
    "100x20000_over_6x60": "100 brokers x 20 000 partitions / 6 x 60, likewise",
    "layout_over_120_s": "layout / brute force of 120 s, largest",
    "partition_at_16x_over_1x": "cost of a partition, 16 times as many / 60",
    "30x3000_over_6x60_own_rates": "30 x 3 000 / 6 x 60, each partition with a rate of its own",
    "100x20000_over_6x60_own_rates": "100 x 20 000 / 6 x 60, likewise",
    "partition_at_16x_over_1x_own_rates": "cost of a partition, 16 times as many / 60, likewise",
    "largest_worker_peak_rss_mb": "memory of a worker, 100 brokers x 20 000 partitions, MB",
    "two_cores_over_one": "two cores / one core, simulation on Spark",
    "kernel_share_of_busy": "kernel's share of the executors' busy time",
    "longest_over_median_task": "longest / median task",
}


def tables(found: Figures) -> Iterator[Table]:
    """Make a table of every part that was run, then the bars."""
    if found.kernel:
        yield _kernel(found.kernel)
    if found.scale:
        yield _scale(found.scale)
    if found.spark:
        yield _spark(found.spark)
        yield _scaling(found.spark)
    if found.night:
        yield _night(found.night)
    yield _bars(found)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(columns[0])
    for name in columns[1:]:
        table.add_column(name, justify="right")
    return table


def _kernel(kernel: KernelFigures) -> Table:
    low, high = kernel.slots
    title = (
        f"kernel on {kernel.pairs} pairs of the reference panel ({low} to {high} slots), "
        f"{kernel.brute_events_per_s.runs} runs, processor time"
    )
    table = _table(title, "arm", "broker-hours / core-s", "M events / s", "ms / pair")
    brute_ms = kernel.ms_per_pair.median * kernel.time_ratio.median
    for slots, rate in kernel.tree_events_per_s.items():
        table.add_row(f"bare winner tree, {slots} slots", "", _millions(rate), "")
        without = kernel.branch_free_tree_events_per_s[slots]
        table.add_row("the same, its handler without a branch", "", _millions(without), "")
    over = kernel.kernel_over_branch_free_tree
    table.add_row("kernel / the tree without a branch", "", f"{over.median:.2f} x", "")
    at_once = kernel.chains_at_once
    shown = f"{at_once.median:.1f} ({at_once.least:.1f} to {at_once.most:.1f})"
    table.add_row("chains of arithmetic at once, 5 on a core of one's own", "", shown, "")
    table.add_row(
        "kernel, brute force",
        _with_spread(kernel.brute_broker_hours_per_s),
        _millions(kernel.brute_events_per_s),
        f"{brute_ms:.1f}",
    )
    table.add_row(
        "kernel with jumps",
        _with_spread(kernel.jump_broker_hours_per_s),
        f"{_millions(kernel.jump_events_per_s)} that fired",
        f"{kernel.ms_per_pair.median:.1f}",
    )
    panel = kernel.panel
    table.add_row(
        f"{panel.pairs} pairs of the panel, {panel.runs} of them simulated",
        "",
        f"{panel.events / panel.seconds / MILLION:.1f} that fired",
        f"{1e3 * panel.seconds / panel.pairs:.1f}",
    )
    table.add_row(
        f"events: jumps fire one of {kernel.event_ratio:.1f}, with shared runs one of "
        f"{panel.all_events / panel.events:.1f}",
        "",
        "",
        "",
    )
    return table


def _scale(scale: ScaleFigures) -> Table:
    table = _table(
        "clusters as large as real ones (the last turn; light: a tenth of the load)",
        "brokers x partitions",
        "entities",
        "M events / s",
        "us / partition-s",
        "120 s by brute force, s",
        "layout, s",
        "next scenario, s",
        "next configuration, s",
        "worker MB",
    )
    for name, one in scale.found.items():
        table.add_row(
            name,
            str(one.entities),
            f"{one.events_per_s / MILLION:.1f}",
            f"{one.us_per_partition_s:.1f}",
            f"{one.run_120_s:.2f}",
            f"{one.layout_s:.3f}",
            f"{one.scenario_s:.3f}",
            f"{one.configuration_s:.3f}",
            f"{one.peak_mb:.0f}",
        )
    return table


def _spark(spark: SparkFigures) -> Table:
    title = (
        f"Spark, two cores: {spark.pairs} pairs in {spark.tasks} tasks, like a shard of a night, "
        f"{spark.kernel_share.runs} runs"
    )
    table = _table(title, "what", "figure")
    table.add_row("pairs per busy core-second", _with_spread(spark.pairs_per_core_s))
    table.add_row("kernel's share of busy time", f"{100 * spark.kernel_share.median:.1f} %")
    table.add_row("the same in processor time, and the rest:", "")
    for part, share in spark.split.items():
        ms = 1e3 * share / spark.pairs_per_core_s.median
        table.add_row(f"  {part}", f"{100 * share:.1f} %, {ms:.2f} ms a pair")
    table.add_row("job beside the simulation", f"{_with_spread(spark.job_overhead_s)} s")
    table.add_row("largest Python worker", f"{spark.peak_rss_mb:.0f} MB")
    table.add_row("Spark's Java", f"{spark.java_peak_rss_mb:.0f} MB")
    table.add_row("shuffled", f"{spark.shuffle_bytes} bytes")
    table.add_row("to the driver, a task", f"{spark.result_bytes_per_task:.0f} bytes")
    return table


def _scaling(spark: SparkFigures) -> Table:
    table = _table(
        "growth, two cores (copies of the same scenarios; other configurations)",
        "along",
        "times",
        "pairs",
        "seconds",
        "x",
        "core-seconds",
        "x",
        "worker MB",
    )
    for along, grown in spark.scaling.items():
        first = grown["1x"]
        for times, row in grown.items():
            table.add_row(
                along,
                times,
                f"{row['pairs']:.0f}",
                f"{row['seconds']:.2f}",
                f"{row['seconds'] / first['seconds']:.2f}",
                f"{row['core_seconds']:.2f}",
                f"{row['core_seconds'] / first['core_seconds']:.2f}",
                f"{row['peak_rss_mb']:.0f}",
            )
    return table


def _night(night: NightFigures) -> Table:
    title = (
        f"night {night.night} of {night.experiment}, {night.pairs} pairs, begun {night.begun}, "
        f"by {night.code_version}"
    )
    table = _table(title, "task", "seconds", "share")
    for task, seconds in night.seconds.items():
        table.add_row(task, f"{seconds:.1f}", f"{100 * seconds / night.total:.0f} %")
    table.add_row("all", f"{night.total:.1f}", "")
    return table


def _bars(found: Figures) -> Table:
    table = _table("ratios", "what", "median", "least .. most", "bar", "")
    for name, one in ratios_of(found).items():
        if one is None:
            continue
        _bar(table, WORDS[name], name, one.median, f"{_figure(one.least)} .. {_figure(one.most)}")
    if found.spark:
        words = "peak memory of a Python worker, MB"
        _bar(table, words, "worker_peak_rss_mb", found.spark.peak_rss_mb)
    if found.night and found.night.experiment == DEFAULT_EXPERIMENT:
        words = "simulation and validation in the night"
        share = found.night.simulation_and_validation
        _bar(table, "the night, seconds", "night_total_s", found.night.total)
        _bar(table, words, "night_simulation_and_validation", share)
    return table


def _bar(table: Table, words: str, name: str, value: float, spread: str = "") -> None:
    bar = BARS[name]
    verdict = "[green]met[/]" if bar.met(value) else "[red]missed[/]"
    table.add_row(words, _figure(value), spread, str(bar), verdict)


def _figure(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.0f}"


def _millions(rate: Measured) -> str:
    return f"{rate.median / MILLION:.1f}{_spread(rate)}"


def _with_spread(one: Measured) -> str:
    return f"{_figure(one.median)}{_spread(one)}"


def _spread(one: Measured) -> str:
    """Half the width of the runs, as a share of the median."""
    return f" ± {50 * one.spread:.0f} %" if one.runs > 1 else ""
