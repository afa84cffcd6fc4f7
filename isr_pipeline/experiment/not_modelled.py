"""What the simulator leaves out, and which of it touches a question.

The one list is ``not_modelled.yaml``, where every field is explained.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.experiment.file import Experiment
from isr_pipeline.scenarios.lengths import lengths_told

_FILE = Path(__file__).with_name("not_modelled.yaml")


class NotModelled(Strict):
    """A row of the list."""

    left_out: str
    hides: str
    said: str = ""
    keys: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()
    unless: str = ""


class _File(Strict):
    not_modelled: tuple[NotModelled, ...]


@functools.cache
def not_modelled() -> tuple[NotModelled, ...]:
    """Every row, in the order of the page.

    Raises:
        InputError: of ``not_modelled.yaml``, which is part of the package.
    """
    return validated(_File, read_mapping(_FILE), str(_FILE)).not_modelled


def touching(
    keys: Iterable[str], incidents: Collection[str], speeds: Collection[str]
) -> Iterator[str]:
    """``not modelled: quotas (no replica is throttled while it catches up)``, a line each.

    Args:
        keys: that the question sets.
        incidents: kinds that it counts.
        speeds: fields of `hardware` that are known.
    """
    asked = {key.removeprefix("topics.") for key in keys}
    for one in not_modelled():
        touched = asked & {*one.keys} or set(incidents) & {*one.incidents}
        if touched and one.unless not in speeds:
            yield f"not modelled: {one.said}"


def limits(experiment: Experiment) -> list[str]:
    """What a reader of an answer has to know: lengths and rates of its own, what is left out."""
    rate = experiment.cluster.assumed_records_per_s
    given = [] if rate is None else [f"nobody gave rates: each partition has {rate:g} records/s"]
    return [*lengths_told(experiment.lengths_ms), *given, *left_out(experiment)]


def left_out(experiment: Experiment) -> Iterator[str]:
    """What of the list touches the question: what is asked, or all, if nothing is called so."""
    asked = [group for group in experiment.groups if group.asked] or experiment.groups
    keys = {key for group in asked for one in group.candidates for key in one.set}
    keys |= {key for group in asked for one in group.grids for key in one.axes}
    speeds = experiment.cluster.cluster.get("hardware", {})
    yield from touching(keys, experiment.cluster.incidents, speeds)
