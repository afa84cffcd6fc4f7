"""Why an expectation is critical, or only a warning: ``meta.why`` of each names one of these."""

from __future__ import annotations

from typing import NamedTuple

from isr_pipeline.tables.validation.data_docs import CRITICAL, WARNING


class Reason(NamedTuple):
    """What a broken expectation means.

    Attributes:
        severity: that follows from it.
        means: in a sentence.
    """

    severity: str
    means: str


REASONS = {
    "incomplete": Reason(
        CRITICAL,
        "Rows or values are missing, or there twice: figures would be of other scenarios than "
        "those planned.",
    ),
    "foreign": Reason(
        CRITICAL,
        "Rows are not those of the plan, or of the table that they were made from: they would be "
        "compared with what they are not.",
    ),
    "impossible": Reason(
        CRITICAL,
        "Values of a row cannot all be true: the simulator or a job has a defect.",
    ),
    "changed": Reason(CRITICAL, "A file is not the one that was checked and judged."),
    "judged": Reason(
        WARNING,
        "The verdict says it itself: a configuration with such a pair is `no-data`.",
    ),
    "unknown": Reason(
        WARNING,
        "Nothing is known to be wrong: nights of before 0.3.0 noted no digests.",
    ),
}
"""In the order of the list in docs/checks.md."""
