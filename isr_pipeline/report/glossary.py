"""Words of a night's page that somebody who knows Kafka does not know from it.

docs/glossary.md has all words; those that are here it has in the same sentence.
"""

from __future__ import annotations

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
    "undecided": "a rise that matters is neither found nor ruled out",
}
"""Word -> what it means."""
