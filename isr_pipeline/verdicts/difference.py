"""What a configuration gains and costs, metric by metric, against the experiment's reference."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Word(StrEnum):
    """What is said of one metric of a configuration, or of one stratum of it."""

    BETTER = "better"
    WORSE = "worse"
    NONE = "no difference that matters"
    UNDECIDED = "undecided"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class _Beside(_Record):
    """One metric of a configuration, beside the reference's on the same scenarios.

    Attributes:
        word: what is said of it.
        scenarios: that both ran.
        before: mean of the reference, in the metric's own unit; ``after``: of the configuration.
        ratio: of the two, of a latency the geometric mean of the scenarios' ratios; None from zero.
        low: lower end of the ratio's interval, one-sided at 5 %, or at what the correction left if
            it is called worse; None where there is none. ``high``: likewise, if called better.
    """

    word: Word
    scenarios: int
    before: float
    after: float
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


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
    """

    metric: str
    differing: int
    q: float | None = None
    newly: tuple[str, ...] = ()
    decided_by: int | None = None
    strata: tuple[StratumDifference, ...] = ()
    year_before: Year | None = None
    year_after: Year | None = None


class AgainstReference(_Record):
    """A configuration against the reference.

    Attributes:
        name, config_id: of the configuration.
        weaker: keys by which it keeps acknowledged records less surely than the reference; none if
            it does not.
        problem: why it could not be compared; empty if it was.
        repair_before: partition-minutes a year without produce after the scenarios' ends, until
            somebody has repaired what they leave broken; of the reference, None where nobody counts
            incidents. ``repair_after``: of the configuration.
        differences: of each metric; none where it could not be compared. Time under min ISR is left
            out where min.insync.replicas is another: the bar was moved.
        night: in which this very comparison was made, and kept; empty: tonight.
    """

    name: str
    config_id: str
    weaker: tuple[str, ...]
    problem: str = ""
    repair_before: Year | None = None
    repair_after: Year | None = None
    differences: tuple[Difference, ...] = ()
    night: str = ""

    @property
    def is_open(self) -> bool:
        """Whether a metric is undecided."""
        return any(one.word is Word.UNDECIDED for one in self.differences)

    def difference(self, metric: str) -> Difference | None:
        """The difference in one metric; None if it was not compared."""
        return next((one for one in self.differences if one.metric == metric), None)
