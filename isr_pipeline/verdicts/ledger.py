"""The ledger of acceptances: what every accepted night changed, and what that adds up to.

A baseline that is accepted again and again can hide a slow decline: each step is too small to be
called, or was meant. ``<home>/baselines/<experiment>.ledger.jsonl`` has one line an acceptance and
is only ever appended to. An entry says against which acceptance its ratios are, so that they can be
multiplied along that chain, configuration by configuration.
"""

from __future__ import annotations

import fcntl
import math
import os
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.lock import alone
from isr_pipeline.base.files.words import counted
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.remote import RemotePath
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import Accepted, Figures, MetricVerdict, Per, Status
from isr_pipeline.verdicts.sentences import how_much
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from isr_pipeline.base.storage.places import Place

OTHER_PANEL = "the panel is another: nothing could be compared, the sums begin anew"
"""Said of an acceptance that replaces a baseline of other scenarios."""

WAS_DAMAGED = "the baseline before was damaged: nothing could be compared, the sums begin anew"
"""Said of an acceptance that replaces one that cannot be read."""

QUIET = frozenset({Status.UNCHANGED, Status.BASELINE})
"""Statuses of a metric that changes nothing."""

NOT_COMPARED = "not compared"


class Absorbed(BaseModel):
    """One metric of an accepted configuration that is not what it was.

    Attributes:
        status: the verdict on it.
        ratio: tonight's to the baseline's; None from zero, or where it could not be compared.
        value, baseline_value: in the metric's own unit.
        figures: what is printed of it; None where nothing was compared, or of an older ledger.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    status: Status
    ratio: float | None = None
    value: float | None = None
    baseline_value: float | None = None
    figures: Figures | None = None

    @property
    def is_compared(self) -> bool:
        """Whether it is known how large the change is."""
        return self.ratio is not None or None not in {self.value, self.baseline_value}

    def text(self, metric: str) -> str:
        """The change in a few words: ``+31 %``, or the two values where there is no ratio."""
        if not self.is_compared:
            return NOT_COMPARED
        return _change(metric, self.ratio, (self.baseline_value, self.value), self.figures)


class Unseen(BaseModel):
    """What a person was told who accepted a night that could not be compared with the baseline.

    Attributes:
        last_compared: the last run that was, by its date and time; empty if none was.
        worse: what had got worse in it, a line for each configuration.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    last_compared: str = ""
    worse: tuple[str, ...] = ()

    def said(self, most: int) -> list[str]:
        """Which run was compared last, and some of what had got worse in it."""
        if not self.last_compared:
            return ["no run was compared with it"]
        more = len(self.worse) - most
        return [
            f"the last run that was compared is of {self.last_compared}",
            *(self.worse[:most] or ("nothing got worse in it",)),
            *([f"and {counted(more, 'more configuration')}"] if more > 0 else []),
        ]

    def lines(self) -> list[str]:
        """That nothing was compared, then what the last run that was had found."""
        first, *worse = self.said(len(self.worse))
        return [f"accepted unseen: {first}", *(f"  {one}" for one in worse)]


class Entry(Accepted):
    """One acceptance, one line of the ledger.

    Attributes:
        compared_with: ``accepted_at`` of the newest acceptance of the baseline that was in force;
            empty if there was none, or of another panel.
        absorbed: configuration -> metric -> its change, for every configuration accepted; those
            without a change have no metrics.
        removed: configurations of the earlier baseline that were no longer part of the night.
        remarks: what else whoever reads the sums must know, a line each.
        unseen: what was named where the night could not be compared, and it was accepted all the
            same; None if it could be.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    panel_digest: str
    compared_with: str = ""
    absorbed: dict[str, dict[str, Absorbed]]
    removed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    unseen: Unseen | None = None

    def told(self) -> list[str]:
        """What was not compared, and what else whoever reads the sums must know."""
        return [*self.remarks, *(self.unseen.lines() if self.unseen else ())]

    def lines(self) -> list[str]:
        """What is said of the acceptance: what must be known of it, then its changes."""
        return [*self.told(), *self.changes()]

    def changes(self) -> list[str]:
        """What the acceptance changes, one line a configuration."""
        found = [
            f"{name}: {_changes(metrics)}" for name, metrics in self.absorbed.items() if metrics
        ]
        return [*found, *(f"{name}: removed from the experiment" for name in self.removed)]


def _changes(metrics: AbsorbedMetrics) -> str:
    """Every metric's change; one remark where pairs of the baseline before had failed."""
    if all(one.status is Status.NO_DATA for one in metrics.values()):
        return f"{NOT_COMPARED}, pairs of its baseline before had failed; its sums begin anew"
    return ", ".join(
        f"{quantities.label(metric)} {one.text(metric)} ({one.status})"
        for metric, one in metrics.items()
    )


class Compounded(BaseModel):
    """What the acceptances of one configuration add up to in one metric.

    Attributes:
        ratio: today's baseline to the first one; None where some step went from zero or to it.
        acceptances: how many changed the metric.
        since: night of the acceptance that the chain begins with.
        first, last: the metric before and after all of them, in its own unit, if they are known.
        figures: likewise, as they are printed; None where an end has none.
    """

    model_config = ConfigDict(frozen=True)

    config: str
    metric: str
    ratio: float | None
    acceptances: int
    since: str
    first: float | None = None
    last: float | None = None
    figures: Figures | None = None

    @property
    def change(self) -> str:
        """The sum in a few words: ``+31 %``, or the two values where there is no ratio."""
        return _change(self.metric, self.ratio, (self.first, self.last), self.figures)

    @property
    def text(self) -> str:
        """One line for people."""
        times = counted(self.acceptances, "acceptance")
        name = quantities.label(self.metric)
        return f"{self.config}: {name} {self.change} over {times} since {self.since}"

    @property
    def size(self) -> float:
        """By which sums are sorted: how far the ratio is from 1, either way."""
        return max(self.ratio, 1 / self.ratio) if self.ratio else math.inf


def _change(
    metric: str,
    ratio: float | None,
    means: tuple[float | None, float | None],
    figures: Figures | None,
) -> str:
    """``+31 %``; without a ratio ``from none to 12.3 partition-minutes a year``.

    An older ledger has two means of its panel instead: ``0 to 0.855 % of time``.
    """
    if ratio is not None:
        return percent(ratio)
    if figures is not None and (figures.before or figures.after):
        return how_much(metric, figures)
    before, after = means
    if metric not in METRICS:  # of an older ledger
        return f"{before:.3g} to {after:.3g}"
    return f"{quantities.amount(metric, before)} to {quantities.quantity(metric, after)}"


def percent(ratio: float) -> str:
    """A ratio as a change: ``+31 %``; a factor from 2 on."""
    return quantities.times(ratio) if ratio >= 2 else f"{100 * (ratio - 1):+.3g} %"


def path(experiment: str) -> Place:
    """Where an experiment's ledger is."""
    return Home.from_environment().baseline_dir(experiment).with_name(f"{experiment}.ledger.jsonl")


AbsorbedMetrics = dict[str, Absorbed]
"""Metric -> its change, of one configuration."""


def absorbed(metrics: Iterable[MetricVerdict]) -> AbsorbedMetrics:
    """Metric -> its change, of those that changed."""
    return {
        metric.metric: Absorbed(
            status=metric.status,
            ratio=metric.ratio,
            value=metric.value,
            baseline_value=metric.baseline_value,
            figures=metric.pair,
        )
        for metric in metrics
        if metric.status not in QUIET and metric.delta
    }


def append(experiment: str, entry: Entry) -> None:
    """Add an acceptance. A line that a killed program left unfinished stays, and is passed over.

    Raises:
        OSError: the file cannot be written.
        StoreError: the object store does not answer, refuses, or lost it.
    """
    file = path(experiment)
    if isinstance(file, RemotePath):
        _append_remote(file, entry)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        ledger.seek(0, os.SEEK_END)
        if ledger.tell():
            ledger.seek(-1, os.SEEK_END)
            if ledger.read(1) != b"\n":
                ledger.write(b"\n")
        ledger.write(entry.model_dump_json().encode() + b"\n")
        ledger.flush()
        os.fsync(ledger.fileno())


def _append_remote(file: RemotePath, entry: Entry) -> None:
    """Put the ledger again with one line more: a store cannot add to a file.

    One acceptance at a time, by a lock of the home.
    """
    with alone(Home.from_environment().locks, "ledger"):
        try:
            before = file.read_bytes()
        except FileNotFoundError:
            before = b""
        file.write_bytes(before + entry.model_dump_json().encode() + b"\n")


def read(experiment: str) -> list[Entry]:
    """Every acceptance, oldest first; none if nothing was accepted since there is a ledger.

    Raises:
        Refused: a line is no entry; file and line.
    """
    return [entry for entry in _lines(experiment) if entry is not None]


def as_json(experiment: str) -> dict[str, Any]:
    """Every acceptance, what they add up to, and how many lines were lost, as JSON has them.

    Raises:
        Refused: see :func:`read`.
    """
    entries = read(experiment)
    return {
        "acceptances": [one.model_dump(mode="json") for one in entries],
        "lines_lost": lines_lost(experiment),
        "compounded": [one.model_dump(mode="json") for one in compounded(entries)],
    }


def lines_lost(experiment: str) -> int:
    """Lines of the ledger that were cut off, and are passed over.

    Raises:
        Refused: see :func:`read`.
    """
    return sum(entry is None for entry in _lines(experiment))


def _lines(experiment: str) -> Iterator[Entry | None]:
    """Each line; None is one that a killed program cut off: the next one began a new line."""
    file = path(experiment)
    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            yield Entry.model_validate_json(line)
        except ValidationError as problem:
            if problem.errors()[0]["type"] != "json_invalid":
                raise Refused(
                    f"{file}:{number}: no entry of a ledger; move the file away to begin another"
                ) from None
            yield None


def compounded(entries: Sequence[Entry]) -> list[Compounded]:
    """What the chain of acceptances of each configuration adds up to, largest change first.

    A configuration's chain goes back from its newest acceptance, each time to the newest one that
    its ratios are against, and ends where they are against none (another panel, a new
    configuration). A metric that rose from zero on the way, or fell to it, has no ratio.
    """
    found = []
    for name in {name: None for entry in entries for name in entry.absorbed}:
        steps = _chain(entries, name)
        metrics = {metric: None for step in steps for metric in step.absorbed[name]}
        found += [one for metric in metrics if (one := _along(steps, name, metric))]
    return sorted(found, key=lambda one: one.size, reverse=True)


def _along(steps: Sequence[Entry], name: str, metric: str) -> Compounded | None:
    """Multiply one metric's ratios, newest acceptance first; None if it is what it was."""
    changes, since = [], steps[0].night
    for step in steps:
        since = step.night
        change = step.absorbed[name].get(metric)
        if not step.compared_with or (change and not change.is_compared):
            break
        if change is not None:
            changes.append(change)
    if not changes:
        return None
    ratio: float | None = math.prod(change.ratio or 0.0 for change in changes)
    first, last = changes[-1].baseline_value, changes[0].value
    if math.isclose(ratio or 0.0, 1.0) or (first is not None and first == last):
        return None  # taken back
    return Compounded(
        config=name,
        metric=metric,
        ratio=ratio or None,
        acceptances=len(changes),
        since=since,
        first=first,
        last=last,
        figures=_from_to(changes[-1].figures, changes[0].figures),
    )


def _from_to(first: Figures | None, last: Figures | None) -> Figures | None:
    """The first figure of all and the last, which need not be of the same scenarios: no ratio."""
    if first is None or last is None or first.per is not last.per:
        return None
    if last.per is Per.MIX and first.before and last.after:
        return None
    return Figures(
        per=last.per,
        scenarios=last.scenarios,
        before=first.before,
        after=last.after,
        ratio=None,
    )


def _chain(entries: Sequence[Entry], name: str) -> list[Entry]:
    """Acceptances of one configuration, newest first, each the one that the last is against."""
    having = [entry for entry in entries if name in entry.absorbed]
    chain = having[-1:]
    while chain and chain[-1].compared_with:
        last = chain[-1]
        before = [
            entry
            for entry in having[: having.index(last)]
            if entry.accepted_at <= last.compared_with
        ]
        if not before:
            break
        chain.append(before[-1])
    return chain
