"""What a verdict is made of: statuses, and the record of a night in ``verdict.json``.

A night is judged against its baseline, and each of its configurations against the experiment's
reference: what it gains and costs, metric by metric.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.models import format_of
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.files.words import run_called
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import Place

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

FORMAT = 5
"""Number of the format of verdict.json: one more when an older one cannot be read any more."""


VERDICT = "verdict.json"


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


class Finding(StrEnum):
    """What a look at a panel finds of a metric."""

    IDENTICAL = "identical"
    """To the last bit."""

    ROUNDING = "rounding"
    """Nothing differs by more than the order of additions."""

    RISE = "rise"
    """It rises by what is looked at again, and not by chance."""

    RISE_IN_STRATA = "rise-in-strata"
    """In some strata alone."""

    NEWLY = "newly"
    """Scenarios have some of what must never happen, and had none, or hardly any."""

    FALL = "fall"
    """It falls by what matters, and not by chance."""

    RULED_OUT = "ruled-out"
    """A rise that matters is ruled out."""

    TOO_FEW = "too-few"
    """So few scenarios differ that nothing could be significant."""

    SMALL = "small"
    """It differs not by chance, by less than what matters."""

    OPEN = "open"
    """None of these."""

    NONE_RULES_OUT = "none-rules-out"
    """No further scenario differs; those that were missed would not matter."""

    NONE_LEAVES_OPEN = "none-leaves-open"
    """No further scenario differs; those that were missed may matter."""


SUSPICIONS = frozenset({Finding.RISE, Finding.RISE_IN_STRATA, Finding.NEWLY})
"""Findings that make a metric `suspect`."""

LOST = "records_lost"
"""Metric of acknowledged records that are gone: told before any other."""

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

OPEN = frozenset({Status.SUSPECT, Status.UNDECIDED})
"""Statuses of a metric that further scenarios may decide."""

LEANS_P = 0.2
"""P of two counts of phases up to which more phases, or scenarios, are asked."""

RED = frozenset({Status.NO_DATA, Status.REGRESSED})
"""Statuses that turn the gate red."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Per(StrEnum):
    """What the two figures of a comparison are of."""

    YEAR = "a year"
    """All incidents of a year, or those of a stratum."""

    ACKNOWLEDGED = "% of acknowledged records"
    """A year's records, of those that the reference acknowledges in its incidents."""

    TYPICAL = "in a typical scenario"
    """The geometric mean of a latency with its floor."""

    SCENARIO = "a scenario"
    """The mean of a total over the scenarios of a stratum."""

    MIX = "mix"
    """The mean over a panel whose mix says nothing of how often things happen: told by no one."""


class Figures(_Record):
    """The two figures that a ratio is of, with the ratio: what is printed of a comparison.

    Attributes:
        per: what the figures are of.
        scenarios: that both have in them.
        before, after: in the unit that :func:`isr_pipeline.verdicts.sentences.unit_per` names.
        ratio: after over before; None from zero.
        low, high: ends of its interval; None where there is none.
        hit: partitions that a scenario keeps from taking acks=all produce, before and after; None
            unless ``per`` says a scenario, and the metric is how long they do.
        when: what happens in its scenarios, and how long; empty unless ``per`` says a scenario.
    """

    per: Per
    scenarios: int
    before: float
    after: float
    ratio: float | None
    low: float | None = None
    high: float | None = None
    hit: tuple[float, float] | None = None
    when: str = ""


class StratumVerdict(_Record):
    """One metric of one configuration in one stratum.

    Attributes:
        stratum: its name.
        status: `suspect` and `regressed` by closed testing with all strata of the metric.
        scenarios: of the panel that are in it.
        share: of the population.
        risen: scenarios that got worse; ``fallen``: better.
        value: mean in the metric's own unit; ``baseline_value``: of the accepted baseline.
        ratio: as of the whole panel; None from zero.
        ratio_low: its ends, each one-sided at 5 %; ``ratio_high``: likewise.
        p: one-sided p-value of the direction that was found, of this stratum alone.
        p_confirm: likewise on further scenarios, if there were any.
        pair: what is printed of it.
    """

    stratum: str
    status: Status
    scenarios: int
    share: float
    risen: int
    fallen: int
    value: float
    baseline_value: float
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    p: float | None = None
    p_confirm: float | None = None
    pair: Figures


class Redraw(_Record):
    """A scenario in which something happened that must never happen, in other phases.

    Attributes:
        scenario_id: the scenario.
        draws: phases drawn, the same ones on both sides.
        tonight: in how many of them it happened with tonight's code and settings.
        before: likewise with the baseline's.
        p: one-sided p-value of Fisher's exact test of the two counts.
        above: how much of it counts as happening: more than ten times what the baseline had in
            the scenario itself, so more than 0 of what it had none of.
        number: 1 if the scenario was among the first to be drawn again, 2 if it was found later.
        level: below which the p is certain.
    """

    scenario_id: str
    draws: int
    tonight: int
    before: int
    p: float
    above: float = 0.0
    number: int = 1
    level: float = 0.0

    @property
    def leans(self) -> bool:
        """Whether the counts hint at a difference, certain or not."""
        return self.p <= LEANS_P

    @property
    def is_certain(self) -> bool:
        """Whether the counts show a difference."""
        return self.p < self.level

    @property
    def rank(self) -> tuple[float, str]:
        """What sorts the surest of some redraws first."""
        return self.p / self.level, self.scenario_id


class Traded(_Record):
    """What got worse and what got better would each matter alone.

    Attributes:
        risen: scenarios that got worse; ``fallen``: better.
        risen_most: scenarios that got worse most, the first most; ``fallen_most``: likewise better.
    """

    risen: int
    fallen: int
    risen_most: tuple[str, ...]
    fallen_most: tuple[str, ...]


class Seen(_Record):
    """What one look at a panel shows of a metric: the facts of its reason.

    Attributes:
        finding: what it comes to. Of outcomes that are the same it is all.
        scenarios: further ones that were looked at; None of the standing panel.
        confirms: whether they confirm a rise.
        value: weighted mean in the metric's own unit; ``baseline_value``: of the baseline.
        ratio: as of :class:`MetricVerdict`, with ``ratio_low`` and ``ratio_high``.
        q: of the direction that was found; the smaller one where neither was.
        p: one-sided p-value of a rise that matters, or of a larger one.
        strata: those in which it rises.
        differing: scenarios that do; ``needed``: fewest that could be significant.
        newly: scenarios in which it newly happens, of what must never happen.
        had: whether some of these had a tenth of it, or less, but not none.
        traded: if it is.
        pair: what is printed of it.
    """

    finding: Finding
    scenarios: int | None = None
    confirms: bool = False
    value: float = 0.0
    baseline_value: float = 0.0
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    q: float | None = None
    p: float | None = None
    strata: tuple[StratumVerdict, ...] = ()
    differing: int = 0
    needed: int = 0
    newly: int = 0
    had: bool = False
    traded: Traded | None = None
    pair: Figures | None = None

    def on(self, scenarios: int, *, confirms: bool = False) -> Seen:
        """The same, seen on so many further scenarios."""
        return self.model_copy(update={"scenarios": scenarios, "confirms": confirms})


class MetricVerdict(_Record):
    """One metric of one configuration.

    Attributes:
        metric: outcome column.
        status: of this metric.
        seen: what the status follows from; None if nothing was compared.
        further: what further scenarios show that do not confirm what was seen; None if they did,
            or none were looked at.
        not_drawn: why scenarios that had to be drawn again were not; empty if none had to.
        total: weighted total in natural units (partition-seconds, events, ms, count); None if a
            pair is missing or failed.
        baseline_total: the same of the accepted baseline.
        value: weighted mean in the metric's own unit.
        baseline_value: the same of the accepted baseline.
        delta: value - baseline_value.
        ratio: of the two totals, of a latency the geometric mean of the scenarios' ratios; 1 for
            0 / 0, None from zero.
        ratio_low: lower end of the ratio's interval, by random halves of the scenarios.
        ratio_high: upper end.
        low_level: one-sided level of the lower end, after the correction if it was called worse.
        high_level: of the upper end, after the correction if it was called better.
        discordant: scenarios in which the two nights differ.
        risen: those that got worse; ``fallen``: those that got better.
        traded: whether what got worse and what got better would each matter alone.
        alone: scenarios whose own weighted loss is ten times the floor.
        newly: scenarios in which it newly happens, of what must never happen.
        p: one-sided p-value of the direction that was found (worse if delta > 0).
        q: the same after Benjamini-Hochberg over the comparisons that could be significant; 1 for
            one that could not.
        p_confirm: one-sided p on further scenarios, if there were any.
        scenarios: how many are behind all these numbers.
        strata: the same in each stratum; empty if nothing was compared or nothing differs.
        redraws: other phases of scenarios in which it newly happened, of what must never happen.
        pair: what is printed of it; None if nothing was compared.
        without_incident: of what the cluster has of it in scenarios that stand for no incident;
            None if it has nothing there.
    """

    metric: str
    status: Status
    seen: Seen | None = None
    further: Seen | None = None
    not_drawn: str = ""
    total: float | None = None
    baseline_total: float | None = None
    value: float | None = None
    baseline_value: float | None = None
    delta: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    low_level: float | None = None
    high_level: float | None = None
    discordant: int | None = None
    risen: int | None = None
    fallen: int | None = None
    traded: bool = False
    alone: tuple[str, ...] = ()
    newly: tuple[str, ...] = ()
    p: float | None = None
    q: float | None = None
    p_confirm: float | None = None
    scenarios: int | None = None
    strata: tuple[StratumVerdict, ...] = ()
    redraws: tuple[Redraw, ...] = ()
    pair: Figures | None = None
    without_incident: Figures | None = None

    @property
    def is_open(self) -> bool:
        """Whether further scenarios could decide it."""
        if self.redraws and not any(one.leans for one in self.redraws):
            return False
        return self.status in OPEN


class NotCompared(_Record):
    """Why a configuration was not compared with a baseline, or not to the end.

    Attributes:
        why: one line.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")  # older ones had more

    why: str


class ConfigVerdict(_Record):
    """One configuration: the worst of its metrics.

    Attributes:
        not_compared: why; None if it was.
        changed: outcome columns that are not bit-identical though every tested one is.
        stopped: why no further scenarios are simulated for it though something is open; empty if
            they are, as long as the budget says so.
        own: metric -> its figure on the standing panel: of a year, or of a typical scenario; those
            that have neither, or that a pair is missing for, are left out.
    """

    name: str
    config_id: str
    baseline_config_id: str | None = None
    status: Status
    metrics: tuple[MetricVerdict, ...]
    not_compared: NotCompared | None = None
    changed: tuple[str, ...] = ()
    stopped: str = ""
    own: dict[str, float] = {}

    @property
    def is_open(self) -> bool:
        """Whether further scenarios could decide something of it.

        What was drawn again in other phases, and happens as often as before, is decided as far as
        it can be.
        """
        return not self.stopped and any(one.is_open for one in self.metrics)

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

    def with_metrics(self, metrics: tuple[MetricVerdict, ...]) -> ConfigVerdict:
        """The same configuration, with other verdicts on its metrics."""
        status = worst([one.status for one in metrics])
        return self.model_copy(update={"status": status, "metrics": metrics})

    @property
    def words(self) -> tuple[Status, ...]:
        """Its status, and `improved` beside it if a metric is and the status does not say so."""
        if self.status is Status.IMPROVED or not self.metrics_with(Status.IMPROVED):
            return (self.status,)
        return (self.status, Status.IMPROVED)


class Word(StrEnum):
    """What is said of one metric of a configuration, or of one stratum of it."""

    BETTER = "better"
    WORSE = "worse"
    NONE = "no difference that matters"
    UNDECIDED = "undecided"


class _Beside(_Record):
    """One metric of a configuration, beside the reference's on the same scenarios.

    Attributes:
        word: what is said of it.
        scenarios: that both ran.
        before: mean of the reference, in the metric's own unit; ``after``: of the configuration.
        ratio: of the two, of a latency the geometric mean of the scenarios' ratios; None from zero.
        low: lower end of the ratio's interval, one-sided at 5 %, or at what the correction left if
            it is called worse; None where there is none. ``high``: likewise, if called better.
        pair: what is printed of it.
    """

    word: Word
    scenarios: int
    before: float
    after: float
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    pair: Figures


class StratumDifference(_Beside):
    """A stratum in which the metric is better or worse, by closed testing with all its strata.

    Attributes:
        stratum: its name.
    """

    stratum: str


class Year(_Record):
    """One metric of one configuration in a year of the cluster.

    Attributes:
        incidents: that the year has.
        value: the year's total, in the metric's unit of a year.
        low, high: ends of its interval, one-sided at 5 % each, as far as scenarios go: how often
            incidents come is taken as it is.
    """

    incidents: float
    value: float
    low: float
    high: float

    @property
    def per_incident(self) -> float:
        """What an incident costs in the mean."""
        return self.value / self.incidents


class Difference(_Beside):
    """All scenarios together.

    Attributes:
        metric: its name.
        differing: in how many scenarios the two differ.
        q: p-value of the direction that was found, after Benjamini-Hochberg over all comparisons
            with the reference; None where nothing differs.
        newly: some scenarios in which it happens and under the reference does not, of what must
            never happen.
        decided_by: about how many scenarios would decide it; None if it is decided, or nobody can
            tell.
        strata: those in which it is better or worse.
        year_before: a year of the reference; None where nobody counts incidents, or a sum of the
            metric means nothing. ``year_after``: of the configuration.
        without_incident: see :class:`MetricVerdict`.
    """

    metric: str
    differing: int
    q: float | None = None
    newly: tuple[str, ...] = ()
    decided_by: int | None = None
    strata: tuple[StratumDifference, ...] = ()
    year_before: Year | None = None
    year_after: Year | None = None
    without_incident: Figures | None = None


class Described(_Record):
    """A metric beside the reference's that is shown and never tested."""

    metric: str
    pair: Figures


class Reached(_Record):
    """How far the runs of two configurations came to a bound that they differ in.

    Attributes:
        key: of Kafka, with its bound in :mod:`isr_pipeline.verdicts.exercised`.
        measure: the farthest that any run came; ``value``: the nearest of both values of the key.
            Both in the unit of the measure's column.
    """

    key: str
    measure: float
    value: float


class AgainstReference(_Record):
    """A configuration against the reference.

    Attributes:
        name, config_id: of the configuration.
        weaker: keys by which it keeps acknowledged records less surely than the reference; none if
            it does not.
        problem: why it could not be compared; empty if it was.
        healed_before: partition-minutes a year without produce after the ends of scenarios that
            heal by themselves; of the reference, None where nobody counts incidents.
            ``healed_after``: of the configuration.
        repair_before, repair_after: the same after those that need somebody, until repaired.
        differences: of each metric; none where it could not be compared. Time under min ISR is left
            out where min.insync.replicas is another: the bar was moved.
        described: metrics that nothing tests, in the order of a page: outside the correction, and
            without a word. Of the standing panel.
        night: in which this very comparison was made, and kept; empty: tonight.
        keys: what it sets otherwise than the reference.
        reached: how far the runs came to the bounds in which both differ.
        assumed_records_per_s: rate of partitions of which nobody gave any; None: all are given.
    """

    name: str
    config_id: str
    weaker: tuple[str, ...]
    problem: str = ""
    healed_before: Year | None = None
    healed_after: Year | None = None
    repair_before: Year | None = None
    repair_after: Year | None = None
    differences: tuple[Difference, ...] = ()
    described: tuple[Described, ...] = ()
    night: str = ""
    keys: tuple[str, ...] = ()
    reached: tuple[Reached, ...] = ()
    assumed_records_per_s: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether a metric is undecided."""
        return any(one.word is Word.UNDECIDED for one in self.differences)

    def difference(self, metric: str) -> Difference | None:
        """The difference in one metric; None if it was not compared."""
        return next((one for one in self.differences if one.metric == metric), None)


class StageVerdict(_Record):
    """A stage of further scenarios, and what the look after it decided.

    Attributes:
        panel: of its rows in the tables.
        scenarios: of this stage; ``scenarios_together``: of all stages up to it.
        level: error that this look may make of what all looks may.
        configurations: how many were open against the baseline; ``decided``: how many were not,
            after it.
        asked: how many were undecided against the reference; ``answered``: how many were not, after
            it.
    """

    panel: str
    scenarios: int
    scenarios_together: int
    level: float
    configurations: int
    decided: int
    asked: int = 0
    answered: int = 0


class _OfARun(_Record):
    """What is said of a run of a night.

    Attributes:
        night: its date, of which there may be other runs.
        began: when it did (UTC); empty for runs of releases before 0.3.0.
    """

    night: str
    began: str = ""

    @property
    def called(self) -> str:
        """See :func:`isr_pipeline.base.files.words.run_called`."""
        return run_called(self.night, self.began)


class Accepted(_OfARun):
    """Which run was accepted, by whom, when (UTC) and why, and which code made it.

    Attributes:
        run: its id; empty in what a release before 0.3.0 accepted.
    """

    accepted_by: str
    accepted_at: str
    why: str
    code_version: str
    run: str = ""

    def accepted_fields(self) -> dict[str, Any]:
        """These fields alone."""
        return self.model_dump(include=set(Accepted.model_fields))


class BaselineNote(Accepted):
    """Which baseline a night was compared with; see ``baseline.json``.

    Attributes:
        latest_at: when a configuration of it was last accepted alone; empty if none was.
    """

    panel_digest: str
    latest_at: str = ""


class LastCompared(_OfARun):
    """The last run that was compared with the baseline that a night could not be compared with.

    Attributes:
        latest_at: of that baseline, as in :class:`BaselineNote`.
        worse: its configurations that got worse or may have, with those metrics alone.
    """

    latest_at: str
    worse: tuple[ConfigVerdict, ...]


class NightVerdict(_OfARun):
    """Everything that is said of a night.

    Attributes:
        status: worst status of any configuration.
        red: whether the gate must fail (if it is set to).
        tests: configuration x metric comparisons that could have been significant, copies counted
            once: those that the correction counts.
        discordant_needed: fewest differing scenarios that could ever be significant.
        awaits_confirm: config_ids with an open metric and a stage that was not yet looked at.
        awaits_reference: those that were asked about, are undecided against the reference, and
            await such a stage.
        baseline: what was compared with; None if nothing was ever accepted.
        last_compared: of a night that could not be compared with the baseline, the last that was.
        times_asked: how often a night of this date was judged on this panel, this one counted.
        outcomes_digest: digest of the regression outcomes that were judged.
        scenarios: of the standing panel.
        stages: of further scenarios, in order; none if nothing was open.
        stopped: why there are no more though something is open; empty if the budget says so.
        against_reference: every other configuration against the experiment's reference, in the
            experiment's order.
        format: `FORMAT`.
    """

    experiment: str
    night: str
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
    scenarios: int = 0
    stages: tuple[StageVerdict, ...] = ()
    stopped: str = ""
    against_reference: tuple[AgainstReference, ...] = ()
    awaits_reference: tuple[str, ...] = ()
    last_compared: LastCompared | None = None
    times_asked: int = 1
    format: int = FORMAT

    @property
    def awaiting(self) -> tuple[str, ...]:
        """config_ids that await further scenarios, against the baseline or the reference."""
        return tuple(dict.fromkeys((*self.awaits_confirm, *self.awaits_reference)))

    @property
    def is_compared(self) -> bool:
        """Whether any of its configurations was compared with the baseline."""
        return any(one.baseline_config_id is not None for one in self.configurations)

    @property
    def scenarios_used(self) -> int:
        """Scenarios of the configuration that took most, over all its panels."""
        return self.scenarios + sum(stage.scenarios for stage in self.stages)

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

    def save(self, folder: Place) -> Place:
        """Write ``verdict.json`` into the folder of a run and return its path."""
        return write_whole(folder / VERDICT, self.model_dump_json(indent=1) + "\n")


class VerdictDamaged(Refused):
    """A night's verdict.json cannot be read: it is damaged, or of another format."""


def load_verdict(experiment: str, night: str) -> NightVerdict:
    """Read the verdict of a night, which is that of its last whole run.

    Raises:
        Refused: the night was never judged.
        VerdictDamaged: its verdict.json cannot be read.
    """
    folder = Home.from_environment().night_dir(experiment, night)
    return verdict_in(folder, experiment, night)


def verdict_of(plan: Plan) -> NightVerdict:
    """Read the verdict of the run that a plan is of.

    Raises:
        Refused: it was never judged.
        VerdictDamaged: its verdict.json cannot be read.
    """
    return verdict_in(plan.place, plan.experiment, plan.night)


def verdict_in(folder: Place, experiment: str, night: str) -> NightVerdict:
    """Read the verdict in a folder of a run of a night.

    Raises:
        Refused: the run was never judged.
        VerdictDamaged: its verdict.json cannot be read.
    """
    try:
        text = (folder / VERDICT).read_text(encoding="utf-8")
        found = format_of(json.loads(text))
        if found == FORMAT:
            return NightVerdict.model_validate_json(text)
    except FileNotFoundError:
        msg = f"experiment {experiment}, night {night}: not judged; {run_again(experiment, night)}"
        raise Refused(msg) from None
    except ValueError:
        msg = (
            f"experiment {experiment}, night {night}: verdict.json is damaged; run the night again"
        )
        raise VerdictDamaged(msg) from None
    raise VerdictDamaged(
        f"experiment {experiment}, night {night}: verdict.json has format {found}, this release "
        f"reads {FORMAT}; {run_again(experiment, night)}"
    )


def accept_command(experiment: str, night: str, only: Sequence[str] = ()) -> str:
    """The command that accepts a night, or some configurations; its reason left to the person."""
    alone = "".join(f" --config {name}" for name in only)
    return f"isr-pipeline baseline accept {night} --experiment {experiment}{alone} --why 'REASON'"


def cause_commands(experiment: str, night: str, name: str) -> tuple[str, str]:
    """The commands that show where a configuration's runs first differ, and what made the change.

    Args:
        experiment: name.
        night: YYYY-MM-DD.
        name: of a configuration that regressed or is suspect.
    """
    of = f"{night} {shlex.quote(name)} --experiment {experiment}"
    return f"isr-pipeline why {of}", f"isr-pipeline blame {of}"


def run_again(experiment: str, night: str) -> str:
    """What to do about a night that lacks something, with the command."""
    return f"run it again: isr-pipeline night run --night {night} --experiment {experiment}"


def ask_again(experiment: str, night: str, scenarios: int) -> str:
    """The command that asks the same question with a larger budget."""
    of = f"--experiment {experiment} --night {night} --scenarios {scenarios}"
    return f"isr-pipeline night run {of}"


def worst(statuses: list[Status]) -> Status:
    """The worst of some statuses; `baseline` of none."""
    return min(statuses, key=WORST_FIRST.index, default=Status.BASELINE)
