"""The debug build: nothing is written that the cell's declaration excludes."""

from __future__ import annotations

import re
from collections.abc import Callable

import numba
import pytest

from isr_pipeline.kafka.compiling import Rule, rule
from isr_pipeline.kafka.fetcher import Error
from isr_pipeline.kafka.rows import Array, nothing_like, place_of
from isr_pipeline.simulation.world.states import Standing
from isr_pipeline.simulation.world.tables import (
    INF,
    World,
    request_at,
    stream_at,
    world_in,
)
from tests.simulation.assertions import AssertionBroken, asserted_world_in
from tests.simulation.test_invariants import world_at_rest
from tests.worlds.checks import InvariantBroken, run_checked

Act = Rule[[World], None]

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="assertions are compiled in")


@rule
def _flag(world: World) -> None:
    world.budget_spent = 2


@rule
def _state(world: World) -> None:
    world.handlers.state = 16


@rule
def _bits(world: World) -> None:
    world.partitions.flags = 1 << 10


@rule
def _mask(world: World) -> None:
    world.partitions.isr = 0b1111


@rule
def _offset(world: World) -> None:
    world.replicas.high_watermark = -1


@rule
def _total(world: World) -> None:
    world.acknowledged_records += 5
    world.acknowledged_records -= 1


@rule
def _counter(world: World) -> None:
    world.streams.batch_number += 5
    world.streams.batch_number -= 1


@rule
def _gathered(world: World) -> None:
    world.streams.gathered = -1


@rule
def _time(world: World) -> None:
    world.brokers.fence_at = INF + 1


@rule
def _until(world: World) -> None:
    world.brokers.paused_until = INF + 1


@rule
def _maybe(world: World) -> None:
    world.handlers.request = request_at(world, place_of(world.requests) + 1)


@rule
def _current(world: World) -> None:
    world.requests.broker = nothing_like(world.brokers)


@rule
def _hint(world: World) -> None:
    world.streams.after = stream_at(world, place_of(world.streams) - 1)


@rule
def _row_far_behind_the_last(world: World) -> None:
    world.brokers[4].epoch = 7


@rule
def _row_before_the_first(world: World) -> None:
    world.brokers[-1].epoch = 7


WRONG: dict[Act, str] = {
    _flag: r"World\.budget_spent is 0 or 1: held 0, was to hold 2",
    _state: r"Handler\.state is of HandlerState: held 0, was to hold 16",
    _bits: r"Partition\.flags has bits of Standing: held 0, was to hold 1024",
    _mask: r"Partition\.isr has bits of replicas: held 7, was to hold 15",
    _offset: r"Replica\.high_watermark is at least 0: held 0, was to hold -1",
    _total: r"World\.acknowledged_records never falls: held 5, was to hold 4",
    _counter: r"Stream\.batch_number never falls but to 0: held 5, was to hold 4",
    _gathered: r"Stream\.gathered is not negative: held 0, was to hold -1",
    _time: rf"Broker\.fence_at is not later than never: held \d+, was to hold {INF + 1}",
    _until: rf"Broker\.paused_until is not later than never: held 0, was to hold {INF + 1}",
    _maybe: r"Handler\.request is a row of Request, or none: held 0, was to hold \d+",
    _current: r"Request\.broker is a row of Broker: held 0, was to hold 0",
    _hint: r"Stream\.after is a row of Stream: held \d+, was to hold \d+",
    _row_far_behind_the_last: r"a row of Broker lies in its table: place \d+",
    _row_before_the_first: r"a row of Broker lies in its table: place \d+",
}
"""What may not be written, one for each kind of cell -> what the debug build says of it."""


@rule
def _allowed(world: World) -> None:
    world.budget_spent = 1
    world.replicas.injected_error = -1  # as declared: none
    world.replicas.injected_error = Error.CORRUPT_RECORD
    world.partitions.flags = Standing.OFFLINE | Standing.UNAVAILABLE
    world.partitions.isr = 0
    world.partitions.isr = 0b111
    world.requests.entries.offset = -1  # as declared: not part of the request
    world.acknowledged_records += 0
    world.streams.batch_number += 5
    world.streams.batch_number = 0
    world.streams.gathered = 0
    world.brokers.fence_at = INF
    world.handlers.request = world.requests[1]
    world.handlers.request = None
    world.requests.broker = world.brokers[2]
    world.streams.after = world.streams[1]


def named(act: Act) -> str:
    """The name of what is done."""
    return act.plain.__name__.strip("_")


@rule
def _loop(world: World) -> None:
    broker = world.brokers
    for _ in range(world.broker_count):
        broker.epoch += 1
        broker = broker[1]


def in_build(act: Act, world_of: Callable[[Array], World]) -> Callable[[Array], None]:
    """Compile what is done to a world.

    Args:
        act: what is done.
        world_of: `asserted_world_in` for the debug build.
    """

    @rule
    def done(w: Array) -> None:
        act(world_of(w))

    compiled: Callable[[Array], None] = done.compiled
    return compiled


class TestWrites:
    """What a cell may hold follows from its kind."""

    @pytest.mark.parametrize("act", WRONG, ids=named)
    def test_a_wrong_one_is_refused(self, act: Act) -> None:
        """The debug build says which cell, what it held, and what it was to hold."""
        world = world_at_rest()
        with pytest.raises(AssertionBroken) as caught:
            in_build(act, asserted_world_in)(world.w)
        assert re.fullmatch(WRONG[act], caught.value.told(world.w))

    @pytest.mark.parametrize("act", WRONG, ids=named)
    def test_any_other_build_asserts_nothing(self, act: Act) -> None:
        """The same function, compiled for a world as nights have it, has no assertion in it."""
        in_build(act, world_in)(world_at_rest().w)

    def test_others_are_not(self) -> None:
        """The least and the most that each kind allows."""
        in_build(_allowed, asserted_world_in)(world_at_rest().w)

    def test_a_loop_ends_behind_the_last_row(self) -> None:
        """The row just behind is reached there, and not looked at."""
        in_build(_loop, asserted_world_in)(world_at_rest().w)

    def test_a_run_ends_there(self) -> None:
        """The error names the scenario and the time."""
        world = world_at_rest()
        world.header.streams.gathered = world.header.streams.batch_number = -10
        with pytest.raises(InvariantBroken) as caught:
            run_checked("simple", world)
        assert "Stream.gathered is not negative: held -10, was to hold -9" in str(caught.value)
