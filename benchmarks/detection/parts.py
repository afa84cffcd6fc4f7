"""Parts of the verdicts, each switched off by replacing one function with its simplest absence.

The product has no such switch: it is done here, around one night after another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.detection import again
from benchmarks.detection.arms import verdicts_of
from benchmarks.detection.contest import NOTHING
from benchmarks.detection.draw import Night
from benchmarks.detection.pool import Floats, Ints
from isr_pipeline.verdicts import comparison, looks, statistics
from isr_pipeline.verdicts.quantities import VerdictSettings
from isr_pipeline.verdicts.record import MetricVerdict, Redraw, Status
from isr_pipeline.verdicts.stages import Kernels
from isr_pipeline.verdicts.statistics import Rejectable, Tails, discordant_needed

Function = Callable[..., Any]

ALL = "everything on"


def _pooled(sign_flip: Function) -> Function:
    def without(statistics: list[Floats], groups: Ints, **given: Any) -> Tails:
        tails = sign_flip(statistics, None, **given)
        none = np.ones((int(groups.max()) + 1, len(tails.worse)))
        return Tails(tails.worse, tails.better, none, none)

    return without


def _keeping(*which: int) -> Callable[[Function], Function]:
    def of(sign_flip: Function) -> Function:
        def without(statistics: list[Floats], groups: Ints, **given: Any) -> Any:
            return sign_flip([statistics[one] for one in which], groups, **given)

        return without

    return of


def _all_counted(_: Function) -> Function:
    def without(discordant: Ints, level: float) -> Rejectable:
        tests = discordant > 0
        return Rejectable(tests, discordant_needed(int(tests.sum()), level))

    return without


def _saying(what: Any) -> Callable[[Function], Function]:
    return lambda _: lambda *_, **__: what


def _itself(function: Function) -> Function:
    return function


@dataclass(frozen=True)
class Part:
    """A part of the verdicts.

    Attributes:
        owner, name: the function that is replaced.
        without: makes of it what is there instead.
    """

    owner: Any
    name: str
    without: Callable[[Function], Function]


PARTS: dict[str, Part] = {
    # the sums of all scenarios alone are tested
    "tests per stratum": Part(comparison, "sign_flip", _pooled),
    # what newly happens stays `suspect`
    "redraws": Part(again, "again", lambda _: lambda metric, *_: metric),
    # 20 phases decide
    "60 phases after a hint": Part(Redraw, "leans", _saying(False)),
    # no ranks (and no flags)
    "the second statistic": Part(comparison, "sign_flip", _keeping(0, 2)),
    # the first sum alone, of all and of each stratum
    "second and third statistic": Part(comparison, "sign_flip", _keeping(0)),
    # every test with a difference is counted
    "Tarone's choice": Part(looks, "rejectable", _all_counted),
    # random signs alone, up to `flips_max`
    "bounded p-values": Part(statistics._Column, "bounded", _saying(False)),
}
"""What is switched off, one at a time."""


@contextmanager
def replaced(part: Part, without: Callable[[Function], Function]) -> Iterator[list[int]]:
    """Put something in a part's place; gives a list that gets one entry for each call of it."""
    real = vars(part.owner)[part.name]
    calls: list[int] = []
    instead = without(getattr(real, "fget", real))  # a property's is its function

    def counted(*args: Any, **given: Any) -> Any:
        calls.append(1)
        return instead(*args, **given)

    put = property(counted) if isinstance(real, property) else counted
    with patch.object(part.owner, part.name, put):
        yield calls


@dataclass(frozen=True)
class Judged:
    """What was said of one night with everything on, or with a part off.

    Attributes:
        plant: metric -> status, of the planted configuration; nothing of a null night.
        alarms: (metric, configuration) without a plant that are `regressed`.
        undecided: configurations without a plant that end undecided.
        spent: pairs of the stages beyond the standing panel, of one side.
        calls: of what was in the part's place.
        seconds: of processor time.
    """

    plant: dict[str, str]
    alarms: int
    undecided: int
    spent: int
    calls: int
    seconds: float


def judged(night: Night, settings: VerdictSettings) -> dict[str, Judged]:
    """A night as it is judged with everything on, and with each part off.

    A part that the night does not call changes nothing of it, and is not judged again.
    """
    with ExitStack() as whole:
        kernels = Kernels(whole)  # one for all: they draw the same phases again
        whole.enter_context(patch.object(again, "Kernels", lambda *_, **__: kernels))
        with ExitStack() as stack:
            called = {
                name: stack.enter_context(replaced(part, _itself)) for name, part in PARTS.items()
            }
            everything = _judged(night, settings)
        found = {ALL: everything}
        for name, part in PARTS.items():
            found[name] = everything
            if called[name]:
                with replaced(part, part.without) as calls:
                    found[name] = replace(_judged(night, settings), calls=len(calls))
    return found


def _judged(night: Night, settings: VerdictSettings) -> Judged:
    began, spent = time.process_time(), []

    def counted(called: list[Any], *sides: Any, look: looks.Look, **given: Any) -> Any:
        spent.append(len(called) * night.stages[len(look.panels) - 1].scenarios)
        return call_open(called, *sides, look=look, **given)

    call_open = looks.call_open
    with patch.object(looks, "call_open", counted):
        called, _ = verdicts_of(night, settings)
    planted = night.arms[0].plant != NOTHING
    plant = _of_plant(night, called[0], settings) if planted else {}
    others = called[1:] if planted else called
    return Judged(
        plant=plant,
        alarms=sum(one.status is Status.REGRESSED for metrics in others for one in metrics),
        undecided=sum(any(one.status is Status.UNDECIDED for one in metrics) for metrics in others),
        spent=sum(spent),
        calls=0,
        seconds=round(time.process_time() - began, 2),
    )


def _of_plant(
    night: Night, called: tuple[MetricVerdict, ...], settings: VerdictSettings
) -> dict[str, str]:
    """Statuses of the planted configuration once what newly happens was drawn again.

    Outside a plant's stratum nothing but phases is between the sides: nothing is drawn again.
    """
    stratum = night.arms[0].stratum
    drawn = [
        one.model_copy(
            update={"newly": tuple(at for at in one.newly if stratum in ("", at.split("/")[1]))}
        )
        for one in called
    ]
    sure = again.confirmed(night, 0, drawn, settings)
    return {
        one.metric: str(Status.REGRESSED if one.metric in sure else one.status) for one in called
    }
