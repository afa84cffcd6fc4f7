"""What a verdict is made of: statuses, and the record of a night in ``verdict.json``."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from isr_pipeline.errors import Refused
from isr_pipeline.home import Home
from isr_pipeline.scenarios.former_names import column_now


class Status(StrEnum):
    """What is said of a configuration, or of one metric of it."""

    BASELINE = "baseline"
    UNCHANGED = "unchanged"
    OK = "ok"
    IMPROVED = "improved"
    SUSPECT = "suspect"
    REGRESSED = "regressed"
    UNDECIDED = "undecided"
    NO_DATA = "no-data"

    @classmethod
    def _missing_(cls, value: object) -> Status | None:
        """Nights of 0.1.0 said `underpowered` where nothing was decided."""
        return cls.UNDECIDED if value == "underpowered" else None


WORST_FIRST = (
    Status.NO_DATA,
    Status.REGRESSED,
    Status.SUSPECT,
    Status.UNDECIDED,
    Status.IMPROVED,
    Status.OK,
    Status.UNCHANGED,
    Status.BASELINE,
)
"""A configuration has the first of these that any of its metrics has."""

RED = frozenset({Status.NO_DATA, Status.REGRESSED})
"""Statuses that turn the gate red."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class MetricVerdict(_Record):
    """One metric of one configuration.

    Attributes:
        metric: outcome column.
        status: of this metric.
        reason: one line that says why.
        total: weighted total in natural units (partition-seconds, events, ms, count); None if a
            pair is missing or failed.
        baseline_total: the same of the accepted baseline.
        value: weighted mean in the metric's own unit.
        baseline_value: the same of the accepted baseline.
        delta: value - baseline_value.
        ratio: total / baseline_total; 1 for 0 / 0, None from zero.
        ratio_low: lower end of the paired bootstrap interval of the ratio, for display.
        ratio_high: upper end.
        discordant: scenarios in which the two nights differ.
        p: one-sided p-value of the direction that was found (worse if delta > 0).
        q: the same after Benjamini-Hochberg over the comparisons that could be significant; 1 for
            one that could not.
        p_confirm: one-sided p on the confirm panel, if it was run.
    """

    metric: Annotated[str, BeforeValidator(column_now)]
    status: Status
    reason: str
    total: float | None = None
    baseline_total: float | None = None
    value: float | None = None
    baseline_value: float | None = None
    delta: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    discordant: int | None = None
    p: float | None = None
    q: float | None = None
    p_confirm: float | None = None


class ConfigVerdict(_Record):
    """One configuration: the worst of its metrics."""

    name: str
    config_id: str
    baseline_config_id: str | None = None
    status: Status
    reason: str
    metrics: tuple[MetricVerdict, ...]

    def metric(self, name: str) -> MetricVerdict:
        """Return the verdict on one metric.

        Raises:
            KeyError: the metric is not tested.
        """
        for one in self.metrics:
            if one.metric == name:
                return one
        raise KeyError(name)

    def metrics_with(self, status: Status) -> tuple[str, ...]:
        """Names of the metrics with that status."""
        return tuple(one.metric for one in self.metrics if one.status is status)


class BaselineNote(_Record):
    """Which baseline a night was compared with; see ``baseline.json``."""

    night: str
    accepted_by: str
    accepted_at: str
    why: str
    code_version: str
    panel_digest: str


class NightVerdict(_Record):
    """Everything that is said of a night.

    Attributes:
        headline: the one line.
        status: worst status of any configuration.
        red: whether the gate must fail (if it is set to).
        tests: configuration x metric comparisons that could have been significant, copies counted
            once: those that the correction counts.
        discordant_needed: fewest differing scenarios that could ever be significant.
        awaits_confirm: config_ids flagged as worse whose confirm panel was not yet looked at.
        baseline: what was compared with; None if nothing was ever accepted.
        outcomes_digest: digest of the regression outcomes that were judged.
    """

    experiment: str
    night: str
    headline: str
    status: Status
    red: bool
    panel_digest: str
    code_version: str
    outcomes_digest: str
    tests: int
    discordant_needed: int
    awaits_confirm: tuple[str, ...]
    baseline: BaselineNote | None
    configurations: tuple[ConfigVerdict, ...]

    def counts(self) -> Counter[Status]:
        """How many configurations have each status."""
        return Counter(one.status for one in self.configurations)

    def configuration(self, config_id: str) -> ConfigVerdict:
        """Return the verdict on one configuration.

        Raises:
            KeyError: it is not part of the night.
        """
        for one in self.configurations:
            if one.config_id == config_id:
                return one
        raise KeyError(config_id)

    def save(self, path: Path | None = None) -> Path:
        """Write ``verdict.json`` (the night's own, unless a path is given) and return its path."""
        path = path or verdict_path(self.experiment, self.night)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.draft")
        draft.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")
        draft.replace(path)
        return path


def verdict_path(experiment: str, night: str) -> Path:
    """Where a night's ``verdict.json`` is."""
    return Home.from_environment().night_dir(experiment, night) / "verdict.json"


def load_verdict(experiment: str, night: str) -> NightVerdict:
    """Read a night's verdict.

    Raises:
        Refused: the night was never judged, or its verdict.json is damaged.
    """
    path = verdict_path(experiment, night)
    try:
        return NightVerdict.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        msg = (
            f"experiment {experiment}, night {night}: not judged; run `make nightly NIGHT={night}`"
        )
        raise Refused(msg) from None
    except ValueError:
        msg = (
            f"experiment {experiment}, night {night}: verdict.json is damaged; run the night again"
        )
        raise Refused(msg) from None


def worst(statuses: list[Status]) -> Status:
    """The worst of some statuses; `baseline` of none."""
    return min(statuses, key=WORST_FIRST.index, default=Status.BASELINE)


def headline(
    configurations: tuple[ConfigVerdict, ...], experiment: str, night: str, *, pending: bool
) -> str:
    """One line: worst first, with the metrics that regressed.

    Args:
        configurations: the verdicts.
        experiment: for the command that accepts a first baseline.
        night: likewise.
        pending: whether the suspects still await the confirm panel.
    """
    counts = Counter(one.status for one in configurations)
    total = len(configurations)
    parts: list[str] = []
    for status in WORST_FIRST:
        count = counts[status]
        if not count:
            continue
        subject = f"{count} of {total} configurations" if not parts else str(count)
        parts.append(f"{subject} {_words(status, configurations, pending)}")
    line = "; ".join(parts)
    if counts[Status.BASELINE] == total:
        accept = f"isr-pipeline baseline accept {night} --experiment {experiment}"
        line = f"no baseline accepted yet ({total} configurations); accept this night: {accept}"
    return line


def _words(status: Status, configurations: tuple[ConfigVerdict, ...], pending: bool) -> str:
    having = [one for one in configurations if one.status is status]
    metrics: Counter[str] = Counter()
    for one in having:
        metrics.update(one.metrics_with(status))
    named = ", ".join(name for name, _ in metrics.most_common())
    match status:
        case Status.REGRESSED:
            return f"regressed on {named}, confirmed"
        case Status.SUSPECT:
            return f"suspect on {named}, {'to be' if pending else 'not'} confirmed"
        case Status.IMPROVED:
            return f"improved on {named}"
        case Status.NO_DATA:
            reasons = {one.reason for one in having}
            return f"without data ({having[0].reason})" if len(reasons) == 1 else "without data"
        case Status.BASELINE:
            return "new, without a baseline"
        case _:
            return str(status)


def number(value: float | None) -> str:
    """Three significant digits, thousands without an exponent; a dash where there is no number."""
    if value is None:
        return "–"
    return f"{value:.0f}" if 1_000 <= abs(value) < 1_000_000 else f"{value:.3g}"
