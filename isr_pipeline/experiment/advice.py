"""Published advice on settings that decide the ISR, and what of it a cluster can follow."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.experiment.combinations import split
from isr_pipeline.experiment.configurations import Effects
from isr_pipeline.experiment.file import Candidate
from isr_pipeline.experiment.keys import all_have_own, why_not
from isr_pipeline.scenarios.model import TOPICS, Scenario

_FILE = Path(__file__).with_name("advice.yaml")


class _AdviceFile(Strict):
    advice: tuple[Candidate, ...]


@functools.cache
def published() -> tuple[Candidate, ...]:
    """All advice that names values.

    Raises:
        InputError: of ``advice.yaml``, which is part of the package.
    """
    return validated(_AdviceFile, read_mapping(_FILE), str(_FILE)).advice


@dataclass(frozen=True, slots=True)
class Followed:
    """Advice as a cluster can follow it: what of it does nothing there is left out.

    Attributes:
        advised: what this cluster can follow, and what does the same as nothing else.
        in_part: name of each -> which of its keys do nothing here and are left out, a line each.
        left_out: advice that is dropped, and why, one line each.
    """

    advised: list[Candidate]
    in_part: Mapping[str, list[str]]
    left_out: tuple[str, ...]


def followed(
    advice: Sequence[Candidate],
    today: Scenario,
    overridden: Collection[str],
    effects: dict[Effects, str],
) -> Followed:
    """Tell which advice a cluster can follow.

    Args:
        advice: all of it.
        today: the cluster as it stands.
        overridden: keys that the question also asks of topics that set them; so does the advice.
        effects: of today and of what is asked -> its name; those of the advice are added.
    """
    possible, in_part, left_out = [], {}, []
    for one in advice:
        idle = {key: why for key in one.set if (why := _idle(key, today, overridden))}
        kept = {key: value for key, value in one.set.items() if key not in idle}
        if not kept:
            key, why = next(iter(idle.items()))
            left_out.append(f"{one.name}: {key} is {why}")
            continue
        both = {f"{TOPICS}.{key}": value for key, value in kept.items() if key in overridden}
        possible.append(one.model_copy(update={"set": kept | both}))
        in_part[one.name] = [f"{one.name}: without {key}, {why}" for key, why in idle.items()]
    advised, same = split(possible, effects, today)
    repeated = (f"{one.name}: does the same as {name}" for one, name in same)
    return Followed(advised, in_part, (*repeated, *left_out))


def _idle(key: str, today: Scenario, overridden: Collection[str]) -> str:
    """Why a key of the advice does nothing in this cluster, if so."""
    reason = why_not(key, today)
    who = "" if reason or key in overridden else all_have_own(key, today)
    return f"a key of which every {who} has its own value" if who else reason
