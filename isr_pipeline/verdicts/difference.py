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
    """

    metric: str
    differing: int
    q: float | None = None
    newly: tuple[str, ...] = ()
    decided_by: int | None = None
    strata: tuple[StratumDifference, ...] = ()


class AgainstReference(_Record):
    """A configuration against the reference.

    Attributes:
        name, config_id: of the configuration.
        weaker: keys by which it keeps acknowledged records less surely than the reference; none if
            it does not.
        problem: why it could not be compared; empty if it was.
        differences: of each metric; none where it could not be compared. Time under min ISR is left
            out where min.insync.replicas is another: the bar was moved.
    """

    name: str
    config_id: str
    weaker: tuple[str, ...]
    problem: str = ""
    differences: tuple[Difference, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether a metric is undecided."""
        return any(one.word is Word.UNDECIDED for one in self.differences)

    def difference(self, metric: str) -> Difference | None:
        """The difference in one metric; None if it was not compared."""
        return next((one for one in self.differences if one.metric == metric), None)
