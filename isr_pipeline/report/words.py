"""What a page says of zeros, what it calls configurations, and the words that it explains.

docs/glossary.md has all words; those that are here it has in the same sentence.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from isr_pipeline.base.files.words import shown
from isr_pipeline.experiment.configurations import RELEASE

if TYPE_CHECKING:
    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.verdicts.statistics import Floats

NONE_P = 0.05
"""Probability of seeing none at all, at the upper limit that a zero is given."""


def share_at_most(weights: Floats) -> float:
    """Upper 95 % limit of the share of scenarios with something that none of the panel has.

    The rule of three for weighted scenarios. If the strata have shares W and n scenarios each, none
    is seen with probability prod (1 - p)^n. Where that is at least 0.05, the share sum W p is at
    most -ln(0.05) times the largest W / n: 3 / n if all weigh the same.

    Args:
        weights: of the scenarios, in any scale.
    """
    if not len(weights):
        return 1.0
    return float(min(1.0, -math.log(NONE_P) * np.max(weights) / np.sum(weights)))


def short_name(one: Configuration) -> str:
    """A configuration's name below its heading: a grid's point without the grid."""
    return one.name.partition("@")[2].replace(",", ", ") or one.name if one.is_grid else one.name


def heading(one: Configuration) -> str:
    """What a configuration stands below: its group, and its grid if it is a point of one."""
    grid = one.name.partition("@")[0] if one.is_grid and "@" in one.name else ""
    return f"{one.group}: {grid}" if grid and grid != one.group else one.group


def differing(one: Configuration, reference: Configuration) -> dict[str, Any]:
    """Keys of a configuration whose values are not the reference's, with its own values.

    A key that only the reference sets has the configuration's resolved value; a release is called
    as it was asked for.
    """
    mine, theirs = one.overrides, reference.overrides
    found = {
        key: mine.get(key, one.params.get(key, "its default"))
        for key in {**mine, **theirs}
        if mine.get(key) != theirs.get(key)
    }
    return found | ({RELEASE: one.release} if one.release and RELEASE in found else {})


def settings(one: Configuration, reference: Configuration) -> str:
    """The same as Kafka's configuration files have it: ``replica.lag.time.max.ms=20000``."""
    return ", ".join(f"{key}={shown(value)}" for key, value in differing(one, reference).items())


WORDS = {
    "scenario": "a cluster, its load and its faults over a horizon, drawn from a seed",
    "configuration": "Kafka keys and rule switches laid over every scenario; a candidate or a "
    "point of a grid",
    "reference": "the configuration that the others of the same night are compared with",
    "baseline": "an accepted night that later nights are compared with",
    "standing panel": "the same scenarios every night, compared with the baseline; files and "
    "scenarios call it regression, and a name such as regression-00138 does not mean that "
    "something got worse",
    "further scenarios": "what is simulated beyond the standing panel for configurations with "
    "something open: the confirm panel first, then other stages",
    "stratum": "a class of scenarios with a known share of the population",
    "population": "all incidents that a fault profile describes, beside a share for the ordinary "
    "day; a weighted value is one of the population",
    "flap": "a replica removed by its leader and back within 60 s",
    "matters": "of a rise: the ratio is at least ratio_min, and the difference is not below the "
    "floor",
    "better": "the tests find a fall that matters",
    "worse": "the tests find a rise that matters",
    "interval": "the ratios that the scenarios do not rule out; a verdict's ends are one-sided, a "
    "finding's interval is one of 95 %",
    "undecided": "a rise that matters is neither found nor ruled out",
}
"""Word -> what it means."""
