"""``python -m benchmarks.detection``: make the pool, play the nights, print and record."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.detection import otava
from benchmarks.detection.arms import OWN, Alarms
from benchmarks.detection.contest import Contest, load_contest
from benchmarks.detection.draw import CONFIGURATIONS, draw_night
from benchmarks.detection.nights import (
    Kind,
    Played,
    columns_of,
    harmless_arms,
    needed,
    planted_arms,
    play,
    shown,
)
from benchmarks.detection.pool import Pool, load_pool, make_pool
from benchmarks.detection.score import WINDOWS, Score, Share, wilson
from isr_pipeline.errors import InputError
from isr_pipeline.experiment.plan import code_version
from isr_pipeline.verdicts import look
from isr_pipeline.verdicts.settings import load_settings

OFFLINE = "offline_partition_rate"
FLAPS = "isr_flaps_per_partition_hour"
WORDS = {OFFLINE: "offline", FLAPS: "flaps"}
SIZES = {OFFLINE: 1_000, FLAPS: 200}
"""Scenarios of a panel on which a metric's regressions are to be found."""

BARS = (("offline", "x1.5"), ("flaps", "x1.25"))
RESULTS = Path(__file__).resolve().parent.parent / "results" / "detection.jsonl"
LATER = "otava_after_a_week"


@dataclass
class Result:
    """What came out.

    Attributes:
        scores: contestant -> its counts.
        by_injection: what own said of each injection: "configuration change, metric effect".
        null_by_size: own's false-alarm nights by panel size.
    """

    scores: dict[str, Score] = field(default_factory=dict)
    by_injection: dict[str, dict[str, Share]] = field(default_factory=dict)
    null_by_size: dict[int, Share] = field(default_factory=dict)


def main() -> int:
    """Run the contest; 1 if a bar was missed, 2 if it could not be run."""
    given = _arguments()
    console = Console()
    try:
        otava.set_up()
        contest = load_contest()
        if given.pool is None:
            _simulate(contest, given, console)
        if given.pool_only:
            return 0
        pool = load_pool(contest, given.scenarios, columns_of(load_settings()), given.pool)
        result = _contest(pool, given, console)
    except (InputError, otava.OtavaMissing) as problem:
        console.print(f"[red]contest: {problem}")
        return 2
    record = _record(pool, result)
    _print_truth(pool, result, console)
    _print_scores(result, console)
    missed = _missed(record)
    console.print("every bar is met" if not missed else f"missed: {'; '.join(missed)}")
    if not given.no_record:
        with RESULTS.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record) + "\n")
        console.print(f"one line appended to {RESULTS.name}")
    return 1 if missed else 0


def _simulate(contest: Contest, given: argparse.Namespace, console: Console) -> None:
    with Progress(console=console) as progress:
        bar = progress.add_task("simulating the pool (resumes where it stopped)")
        for done, total in make_pool(contest, given.scenarios, given.processes):
            progress.update(bar, completed=done, total=max(total, 1))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detection", description=__doc__)
    cpus = os.cpu_count() or 1
    parser.add_argument("--scenarios", type=int, default=10_000, help="size of the pool")
    parser.add_argument("--processes", type=int, default=cpus, help="how many to run at a time")
    parser.add_argument("--nights", type=int, default=60, help="of each kind with regressions")
    parser.add_argument("--null-nights", type=int, default=300, help="of each panel size")
    parser.add_argument("--otava-nights", type=int, default=6, help="of each kind; it is slow")
    parser.add_argument("--pool", help="digest of one that is there, though other code made it")
    parser.add_argument("--pool-only", action="store_true", help="simulate, and stop")
    parser.add_argument("--no-record", action="store_true", help="append no line to the results")
    return parser.parse_args()


def _kinds(pool: Pool, given: argparse.Namespace) -> list[tuple[Kind, int]]:
    """Nights to play: null ones of both sizes, and every effect that something planted has."""
    kinds = [(Kind(size), given.null_nights) for size in SIZES.values()]
    for metric, size in SIZES.items():
        for effect in WINDOWS:
            for beyond in (False, True):
                kind = Kind(size, metric, effect, beyond)
                if planted_arms(pool, kind):
                    kinds.append((kind, given.nights))
    doubled = Kind(2 * SIZES[FLAPS], FLAPS, "x1.25")
    return [*kinds, (doubled, given.nights)] if planted_arms(pool, doubled) else kinds


def _contest(pool: Pool, given: argparse.Namespace, console: Console) -> Result:
    settings = load_settings()
    metrics = list(settings.metrics)
    truth = {
        (arm.configuration, arm.change): {name: pool.ratio(arm, name) for name in metrics}
        for arm in pool.arms
    }
    kinds = _kinds(pool, given)
    total = sum(count for _, count in kinds)
    played: list[Played] = []
    with Progress(console=console) as progress:
        bar = progress.add_task("playing nights", total=total)
        for night in play(pool, kinds, given.processes):
            played.append(night)
            progress.advance(bar)
    result = Result()
    for night in played:
        _count(result, night, night.alarms, metrics, truth)
    console.print("asking Otava")
    asked = [
        night
        for kind, _ in kinds
        for night in [one for one in played if one.kind == kind][: given.otava_nights]
    ]
    for name, answers in zip(
        ("otava", LATER),
        otava.rises([night.series for night in asked], given.processes),
        strict=True,
    ):
        for night, alarms in zip(asked, answers, strict=True):
            raised = {name: Alarms(alarms, alarms, np.zeros_like(alarms))}
            _count(result, night, raised, metrics, truth)
    return result


def _count(
    result: Result,
    night: Played,
    raised: Mapping[str, Alarms],
    metrics: list[str],
    truth: Mapping[tuple[str, str], Mapping[str, float]],
) -> None:
    kind = night.kind
    for name, alarms in raised.items():
        score = result.scores.setdefault(name, Score())
        if kind.metric is None:
            score.null_night(alarms)
        else:
            target = f"{WORDS[kind.metric]}_{kind.effect}" + ("_beyond" if kind.beyond else "")
            if kind.scenarios != SIZES[kind.metric]:
                target += f"_on_{kind.scenarios}"
            score.night(alarms, night.arms, metrics, (kind.metric, target), truth)
    own = raised.get(OWN)
    if own is None:
        return
    if kind.metric is None:
        share = result.null_by_size.setdefault(kind.scenarios, Share())
        share.add(bool(own.confirmed.any()))
        return
    row = metrics.index(kind.metric)
    for column, arm in enumerate(night.arms):
        if arm.kind == "injection" and kind.scenarios == SIZES[kind.metric]:
            key = f"{arm.configuration} {arm.change} {kind.metric}"
            counts = result.by_injection.setdefault(key, {})
            for name, array in (
                ("flagged", own.flagged),
                ("regressed", own.confirmed),
                ("undecided", own.undecided),
            ):
                counts.setdefault(name, Share()).add(bool(array[row, column]))


# ---------------------------------------------------------------------------- what is told


def _record(pool: Pool, result: Result) -> dict[str, Any]:
    """One line of detection.jsonl."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": _commit(),
        "code_version": code_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "pool": {
            "digest": pool.digest,
            "code_version": pool.made_by,
            "scenarios": pool.size,
            "arms": len(pool.arms),
            "horizon_ms": pool.experiment.horizon_ms,
        },
        "configurations_per_night": CONFIGURATIONS,
        "scenarios_per_panel": {WORDS[metric]: size for metric, size in SIZES.items()},
        "arms": {name: _score(score) for name, score in result.scores.items()},
        "false_alarm_nights_by_panel": {
            str(size): {"nights": share.tries, "false_alarm_nights": share.hits}
            for size, share in result.null_by_size.items()
        },
        "cpu_s_of_400_tests": _cpu_of_400_tests(pool),
        "injections": _injections(pool, result),
    }


def _score(score: Score) -> dict[str, Any]:
    raised: dict[str, Any] = {}
    for prefix, counts in (
        ("recall", score.flagged),
        ("recall_regressed", score.confirmed),
        ("undecided", score.undecided),
    ):
        for target, share in counts.items():
            if prefix != "undecided" or share.hits:
                raised[f"{prefix}_{target}"] = share.value
                raised[f"{prefix}_{target}_interval"] = _interval(share)
                raised[f"{prefix}_{target}_tries"] = share.tries
    raised |= {
        "precision_confirmed": score.precision.value,
        "precision_confirmed_interval": _interval(score.precision),
        "confirmed": score.precision.tries,
        "false_alarm_nights": score.alarms.hits,
        "false_alarm_nights_interval": _interval(score.alarms),
        "null_nights": score.alarms.tries,
        "suspect_null_nights": score.suspicions.hits,
    }
    return raised


def _interval(share: Share) -> list[float]:
    return [round(end, 4) for end in wilson(share.hits, share.tries)]


def _injections(pool: Pool, result: Result) -> list[dict[str, Any]]:
    """True effects, and what own said of each injection where it was planted."""
    listed = []
    for one in load_contest().configurations:
        for injection in one.injections:
            arm = next(
                arm
                for arm in pool.arms
                if (arm.configuration, arm.change) == (one.name, injection.name)
            )
            row: dict[str, Any] = {
                "configuration": one.name,
                "change": injection.name,
                "what": injection.what,
            }
            for metric, size in SIZES.items():
                raised = result.by_injection.get(f"{one.name} {injection.name} {metric}", {})
                row[WORDS[metric]] = {
                    "true_ratio": round(pool.ratio(arm, metric), 3),
                    "scenarios_that_show_it": round(shown(pool, arm, Kind(size, metric)), 1),
                    **{name: share.value for name, share in raised.items()},
                }
            listed.append(row)
    return listed


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _cpu_of_400_tests(pool: Pool) -> dict[str, float]:
    """CPU seconds of judging 402 comparisons, one in ten planted, by panel size, best of three."""
    settings = load_settings()
    metrics = list(settings.metrics)
    harmless, planted = harmless_arms(pool, metrics), pool.arms_of("injection")
    arms = tuple(
        planted[index % len(planted)] if index % 10 == 0 else harmless[index % len(harmless)]
        for index in range(-(-400 // len(metrics)))
    )
    found = {}
    for size in sorted(set(SIZES.values())):
        night = draw_night(pool, arms, size, metrics, np.random.default_rng(size))
        took = []
        for _ in range(3):
            start = time.process_time()
            look.call(*night.regression, settings)
            took.append(time.process_time() - start)
        found[str(size)] = round(min(took), 3)
    return found


def _missed(record: dict[str, Any]) -> list[str]:
    """Bars that were not met, in words."""
    own = record["arms"][OWN]
    found = []
    for metric, effect in BARS:
        for prefix, least in (("recall", 0.95), ("recall_regressed", 0.90)):
            value = own.get(f"{prefix}_{metric}_{effect}")
            if value is None:
                found.append(f"nothing was planted at {metric} {effect}")
            elif value < least:
                found.append(f"{prefix} of {metric} {effect} is {value:.3f}, not {least:.2f}")
    precision = own["precision_confirmed"]
    if precision is None or precision < 0.99:
        found.append(f"precision of regressed is {precision}, not 0.99")
    if own["false_alarm_nights"] * 300 > own["null_nights"]:
        found.append(f"{own['false_alarm_nights']} false-alarm nights in {own['null_nights']}")
    for size, seconds in record["cpu_s_of_400_tests"].items():
        if seconds >= 1.0:
            found.append(f"400 tests on {size} scenarios take {seconds} s")
    return found


def _print_truth(pool: Pool, result: Result, console: Console) -> None:
    table = Table(title=f"planted, as the pool of {pool.size} scenarios says it")
    for name in ("configuration", "change"):
        table.add_column(name)
    for metric, size in SIZES.items():
        for name in ("true ratio", f"shows in (of {size})", "flagged", "regressed"):
            table.add_column(f"{WORDS[metric]} {name}", justify="right")
    for row in _injections(pool, result):
        cells = []
        for metric in SIZES:
            one = row[WORDS[metric]]
            cells += [f"{one['true_ratio']:.2f}", f"{one['scenarios_that_show_it']:.0f}"]
            cells += [_percent(one.get("flagged")), _percent(one.get("regressed"))]
        table.add_row(row["configuration"], row["change"], *cells)
    console.print(table)
    console.print(f"a panel must show a change in {needed()} scenarios or more")
    for arm in pool.arms_of("harmless"):
        ratios = ", ".join(f"{WORDS[one]} {pool.ratio(arm, one):.3f}" for one in SIZES)
        shares = ", ".join(
            f"{WORDS[one]} {pool.differing_mask(arm, one).mean():.3f}" for one in SIZES
        )
        console.print(f"harmless {arm.configuration} {arm.change}: ratio {ratios}; share {shares}")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _print_scores(result: Result, console: Console) -> None:
    targets = sorted({key for score in result.scores.values() for key in score.flagged})
    table = Table(title="the contest (share, Wilson 95 % interval)")
    table.add_column("contestant")
    for target in targets:
        table.add_column(f"flagged {target}", justify="right")
        table.add_column(f"confirmed {target}", justify="right")
    table.add_column("precision", justify="right")
    table.add_column("false-alarm nights", justify="right")
    for name, score in result.scores.items():
        cells = []
        for target in targets:
            cells += [_cell(score.flagged.get(target)), _cell(score.confirmed.get(target))]
        cells += [_cell(score.precision), f"{score.alarms.hits} of {score.alarms.tries}"]
        table.add_row(name, *cells)
    console.print(table)


def _cell(share: Share | None) -> str:
    if share is None or share.value is None:
        return "-"
    low, high = wilson(share.hits, share.tries)
    return f"{share.value:.2f} ({low:.2f}-{high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
