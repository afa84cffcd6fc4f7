"""A scenario and its configuration as the flat array that the kernel runs on.

Layout and meaning of every cell are `simulation.layout`'s; this module only fills them in. All
randomness that healthy parts need (phases) is spent here, by hashing the scenario's seed with what
it is for, so that another configuration never shifts the draws of another entity.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isr_pipeline.kafka.preferred import waits_for_imbalance
from isr_pipeline.kafka.record import N_FIELDS
from isr_pipeline.scenarios.faults import ClientSurge, Window
from isr_pipeline.scenarios.model import us
from isr_pipeline.simulation.shortcuts.motions import rows_of
from isr_pipeline.simulation.world import layout as at
from isr_pipeline.simulation.world.start import begin_world
from isr_pipeline.worlds.choices import choices_for, first_flags, flags_of
from isr_pipeline.worlds.entities import entities_of
from isr_pipeline.worlds.fault_rows import ENCODINGS, SURGE_CONNECTIONS_MAX
from isr_pipeline.worlds.load import client_period_ns, common_period_us
from isr_pipeline.worlds.size import (
    LEDGER_MAX,
    LEDGERS_MAX,
    batches_of,
    check_size,
    event_budget,
    shape_of,
)
from isr_pipeline.worlds.template import Places, fill, template_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.entities import Entities, PartitionNames
    from isr_pipeline.worlds.template import Shape

Array = npt.NDArray[np.int64]

EVENTS_LISTED = 20_000
_FIRST_OWN = min(at.OF_BROKER)
NO_MOTIONS = np.zeros(1, dtype=np.int64)
LEDGER_LEAST = 256  # batches that a partition's ledger has room for, however many partitions
LEDGER_BURST_MAX = 1 << 20  # a burst's batches are all open at once: none may be given up


@dataclass(frozen=True, slots=True)
class World:
    """A world ready to run, and the names of what is in it.

    Attributes:
        w: the flat array.
        rec: view of the leaders' records in it.
        rules: the switches.
        partitions: by kernel index, in (topic, partition) order.
        brokers: broker ids by kernel index.
        motions: how each cell may move while the world repeats (`shortcuts.motions`); none where
            it never does.
    """

    w: Array
    rec: Array
    rules: Array
    partitions: tuple[PartitionNames, ...]
    brokers: tuple[int, ...]
    motions: Array


def hashed(seed: int, purpose: str, names: tuple[str, ...], below: int | Array) -> Array:
    """A number in [0, below) for each entity; it depends on nothing but seed, purpose and name.

    Args:
        seed: the scenario's.
        purpose: what the numbers are for.
        names: of the entities.
        below: at least 1; one limit for all, or one each.
    """
    limits = np.asarray(below, dtype=np.uint64)
    return (_digests(seed, purpose, names) % limits).astype(np.int64)


@lru_cache(maxsize=16)
def _digests(seed: int, purpose: str, names: tuple[str, ...]) -> npt.NDArray[np.uint64]:
    """What `hashed` cuts to size: configurations of a scenario differ in nothing but the limits."""
    digests = [
        hashlib.blake2b(f"{seed}|{purpose}|{name}".encode(), digest_size=8).digest()
        for name in names
    ]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def first_ticks(scenario: Scenario, entities: Entities, periods_us: Array) -> Array:
    """First tick of each broker's isr-expiration task in microseconds, in the kernel's order.

    Args:
        scenario: with its configuration laid over it.
        entities: those that stand in it.
        periods_us: of each broker's ticks.
    """
    ticks = hashed(scenario.seed, "isr-expiration", entities.broker_names, periods_us)
    given = scenario.cluster.isr_expiration_phase_ms
    if not given:
        return ticks
    firsts = [us(given[b]) if b in given else ticks[i] for i, b in enumerate(entities.brokers)]
    return np.array(firsts, dtype=np.int64)


LEDGER_CELLS_LARGE = 1 << 26
"""Cells of ledgers, half a gigabyte, up to which they are on large pages as well."""
HUGE = 1 << 21
"""Bytes of a large page: a world spread over small ones waits as long for the places of its pages
as for what is on them."""


def _new_cells(size: int, large: int) -> Array:
    """So many cells of zeros; the first ``large`` of them on large pages, if the system has any.

    What lies behind is written here and there: large pages would take memory for all of it.
    """
    if 8 * size < HUGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(size, dtype=np.int64)
    memory = mmap.mmap(-1, 8 * size + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system without them
        memory.madvise(mmap.MADV_HUGEPAGE, 0, 8 * large // HUGE * HUGE + HUGE)
    cells = np.frombuffer(memory, dtype=np.int64)
    first = -(cells.ctypes.data // cells.itemsize) % (HUGE // cells.itemsize)
    return cells[first : first + size]


def _array(size: int, large: int, used: Array | None) -> Array:
    """An array for a world: new, or the first cells of one that is no longer used.

    It begins at a cache line, which numpy does not promise.

    Of the tables from the ledgers on, nine tenths of the array, only what has been written is ever
    read: a used array serves as well as one that the system has to clear.
    """
    if used is None or used.size < size:
        cells = _new_cells(size + at.LINE - 1, large)
        first = -(cells.ctypes.data // cells.itemsize) % at.LINE
        return cells[first : first + size]
    return used[:size]


@dataclass(frozen=True, slots=True)
class Settings:
    """What distinguishes the worlds of a scenario's configurations.

    Attributes:
        same, equal: all else. If two worlds agree here (by identity, by value), they have the
            same layout and the same initial cells, except for `keys`, `rules` and cells derived
            from them.
        keys: the header up to CONFIG_END, of which its cells from CONFIG_FIRST on are filled in.
        rules: the switches.
        own_min_isr: the largest min.insync.replicas that a topic sets for itself, 0 if none does.
    """

    same: tuple[Any, ...]
    equal: tuple[Any, ...]
    keys: Array
    rules: Array
    own_min_isr: int

    def alike(self, other: Settings) -> bool:
        """Whether both worlds have the same structure.

        Scenarios of a panel under several configurations share the very objects.
        """
        pairs = zip(self.same, other.same, strict=True)
        return all(mine is its for mine, its in pairs) and self.equal == other.equal


_batches_of = lru_cache(maxsize=8)(batches_of)


# ---------------------------------------------------------------- what a scenario has of its own


class _Structure:
    """What the worlds of a scenario have in common: all but keys, rules, and what they decide.

    Attributes:
        w: the array up to H_LEDGER, copied by each world.
        due: when each slot fires first, in microseconds, by its number; likewise.
        size: cells of a whole array; ``large``: of the part that is on large pages.
        settings: those of the first of the worlds.
        template: what it has in common with other scenarios.
    """

    def __init__(
        self, scenario: Scenario, shape: Shape, settings: Settings, sample_us: int, events: int
    ) -> None:
        self.s = scenario
        self.entities = shape.entities
        self.settings = settings
        self.template = template_of(shape)
        self.w = self.template.w.copy()
        self.due = self.template.due.copy()
        self._places(sample_us, events)
        self._weights()
        self._clients()
        self._logs()
        self._streams()
        self._faults()

    def _weights(self) -> None:
        """What partitions stand for others; scenarios of a panel may differ in it."""
        rows = self._table(at.H_PART, len(self.entities.partitions), at.P_SIZE)
        for topic in self.s.topics:
            for number, weight in topic.weights.items():
                rows[self.entities.p_index[topic.name, number], at.P_WEIGHT] = weight

    def _places(self, sample_us: int, events: int) -> None:
        """Tables that are written before they are read, and the brokers' queues in them.

        Args:
            sample_us: period of the samples, 0 for none.
            events: how many are listed at most.
        """
        w, template = self.w, self.template
        nb, npart = len(self.entities.brokers), len(self.entities.partitions)
        ledgers = self._ledger_sizes()
        surge = max(
            [
                min(f.connections, SURGE_CONNECTIONS_MAX)
                for f in self.s.faults
                if isinstance(f, ClientSurge)
            ],
            default=0,
        )
        # neighbours of the other client requests share a cell, the rest takes one each
        queue_cap = 2 * (template.n_requests + surge) + 16
        send_cap = template.n_requests + surge + 4096
        samples = us(self.s.horizon_ms) // sample_us + 2 if sample_us else 0
        brokers = self._table(at.H_BRK, nb, at.B_SIZE)
        tables = Places(int(w[at.H_LEDGER]))
        tables.place(int(ledgers.sum()) * at.L_SIZE)
        cells = {
            at.H_QUEUE: tables.place(nb * queue_cap * 2),
            at.H_SENDQ: tables.place(nb * send_cap),
            at.H_MD: tables.place(int(brokers[:, at.B_MDCAP].sum()) * at.M_SIZE),
            at.H_EVENTS: tables.place(events * at.V_SIZE),
            at.H_SAMPLE: tables.place(samples * (1 + 2 * npart + nb)),
            at.C_SCRATCH: tables.place(16),
            at.C_EVENTS_MAX: events,
            at.C_SAMPLE: sample_us,
            at.C_SAMPLES_MAX: samples,
        }
        self.size = tables.size
        few = self.size - self.w.size < LEDGER_CELLS_LARGE
        self.large = self.size if few else self.w.size
        for cell, value in cells.items():
            w[cell] = value
        if sample_us:
            self.due[template.slot0[at.SK_SAMPLE]] = 0
        numbers = np.arange(nb)
        columns: dict[int, Any] = {
            at.B_QBASE: numbers * queue_cap,
            at.B_QCAP: queue_cap,
            at.B_SBASE: numbers * send_cap,
            at.B_SCAP: send_cap,
        }
        fill(brokers, columns)
        partitions = self._table(at.H_PART, npart, at.P_SIZE)
        fill(partitions, {at.P_LED_BASE: np.cumsum(ledgers) - ledgers, at.P_LED_CAP: ledgers})

    def _ledger_sizes(self) -> Array:
        """Batches each partition can see at most, within reason."""
        entities = self.entities
        sizes = _batches_of(entities, self.s.horizon_ms).copy()
        bursts = np.zeros(len(sizes))
        for fault in self.s.faults:
            more = ENCODINGS[fault.kind].batches
            if more is not None:
                more(sizes, bursts, fault, entities)
        kept = np.minimum(sizes, LEDGER_MAX)
        share = min(1.0, LEDGERS_MAX / at.L_SIZE / kept.sum())
        within = np.maximum(kept * share, np.minimum(kept, LEDGER_LEAST))
        within += np.minimum(bursts, LEDGER_BURST_MAX)
        found: Array = within.astype(np.int64)
        return found

    def _table(self, place: int, count: int, width: int) -> Array:
        """A table of the array, as rows."""
        return rows_of(self.w, place, count, width)

    def _first_due(self, kind: int, times: Sequence[int] | Array) -> None:
        """When the slots of a kind fire first, if nothing else comes."""
        first = self.template.slot0[kind]
        self.due[first : first + len(times)] = times

    def _clients(self) -> None:
        """The brokers' client requests."""
        periods = np.array([client_period_ns(rate) for rate in choices_for(self.s).clients_per_s])
        below = np.maximum(1, periods // 1000)
        phases = hashed(self.s.seed, "client", self.entities.broker_names, below)
        rows = self._table(at.H_BRK, len(periods), at.B_SIZE)
        columns = {
            at.B_CLIENT_PERIOD: periods,
            at.B_CLIENT_PERIOD_US: periods // 1000,
            at.B_CLIENT_PERIOD_REST_NS: periods % 1000,
            at.B_CLIENT_NEXT: np.where(periods > 0, phases, 0),
        }
        fill(rows, columns)
        self._first_due(at.SK_CLIENT, np.where(periods > 0, phases, at.INF))

    def _logs(self) -> None:
        """Where logs end that are not empty: followers that bootstrap have a way to go."""
        w = self.w
        fault: Any
        for fault in self.s.faults:
            if ENCODINGS[fault.kind].fills_log:
                number = self.entities.p_index[fault.topic, fault.partition]
                p = int(w[at.H_PART]) + number * at.P_SIZE
                w[p + at.P_LED_OFF0] += fault.records
                first = int(w[p + at.P_ROW0])
                rows = w[first : first + int(w[p + at.P_RF]) * at.R_SIZE].reshape(-1, at.R_SIZE)
                rows[:, [at.R_LEO, at.R_HW, at.R_EPOCH_START]] += fault.records

    def _streams(self) -> None:
        """First batches of the produce streams."""
        rows = self._table(at.H_STR, len(self.entities.streams), at.S_SIZE)
        below = rows[:, at.S_PERIOD] // 1000
        phases = hashed(self.s.seed, "produce", self.entities.stream_names, below)
        begins = rows[:, at.S_BASE] + phases
        following = np.where(begins < rows[:, at.S_STOP], begins, at.INF)
        fill(rows, {at.S_BASE: begins, at.S_NEXT: following})
        self._first_due(at.SK_STREAM, following)

    # ---------------------------------------------------------------- faults

    def _faults(self) -> None:
        w, nb = self.w, len(self.entities.brokers)
        by_broker: list[list[int]] = [[] for _ in self.entities.brokers]
        table = self._table(at.H_FLT, len(self.s.faults), at.X_SIZE)
        due = []
        for n, fault in enumerate(self.s.faults):
            row = table[n].tolist()
            fields = vars(fault)  # asking a model for a field that it has not takes microseconds
            encoding = ENCODINGS[fault.kind]
            row[at.X_KIND], row[at.X_TOUCHES] = encoding.number, encoding.touches
            row[at.X_START] = us(fault.start_ms)
            duration = fields.get("duration_ms")
            row[at.X_END] = row[at.X_START] + us(duration or 0)
            broker = fields.get("broker")
            if broker is not None:
                i = self.entities.index[broker]
                row[at.X_BROKER] = int(w[at.H_BRK]) + i * at.B_SIZE
                if encoding.on_disk:
                    by_broker[i].append(n)
            self._touched_partitions(n, row, fields)
            encoding.values(row, fault, self.entities)
            empty = isinstance(fault, Window) and us(fault.duration_ms) == 0
            due.append(at.INF if empty else row[at.X_START])
            table[n] = row
        self._first_due(at.SK_FAULT, due)
        numbers = [n for those in by_broker for n in those]
        counts = np.array([len(those) for those in by_broker])
        first = int(w[at.H_BFLIST])
        w[first : first + len(numbers)] = numbers
        brokers = self._table(at.H_BRK, nb, at.B_SIZE)
        begins = first + np.cumsum(counts) - counts
        fill(brokers, {at.B_FAULT0: begins, at.B_FAULTS: counts})

    def _touched_partitions(self, n: int, row: list[int], fields: Mapping[str, Any]) -> None:
        """Which partitions the fault concerns: all, those named, or its own one."""
        entities = self.entities
        touched = self._table(at.H_FPART, len(self.s.faults), len(entities.partitions))[n]
        named, topic = fields.get("partitions"), fields.get("topic")
        if named == "all" or ("broker" in fields and named is None and topic is None):
            row[at.X_ALL_PARTS] = 1
        elif named is not None:
            for text in named:
                name, _, number = text.rpartition("-")
                touched[entities.p_index[name, int(number)]] = 1
        elif topic is not None and fields["partition"] == "all":
            touched[[i for i, name in enumerate(entities.partitions) if name.topic == topic]] = 1
        elif topic is not None:
            row[at.X_PART] = entities.p_index[topic, fields["partition"]]
            touched[row[at.X_PART]] = 1

    # ---------------------------------------------------------------- the period

    def period_us(self) -> int:
        """Time after which batches and client requests come as before: 0 if that is long."""
        streams = self._table(at.H_STR, len(self.entities.streams), at.S_SIZE)
        brokers = self._table(at.H_BRK, len(self.entities.brokers), at.B_SIZE)
        return common_period_us(
            [*streams[:, at.S_PERIOD].tolist(), *brokers[:, at.B_CLIENT_PERIOD].tolist()]
        )


# ---------------------------------------------------------------- a world


class _Encoder:
    """Lays one world out."""

    def __init__(
        self, scenario: Scenario, *, events: bool, sample_ms: float, budget: int | None, jumps: bool
    ) -> None:
        self.s = scenario
        self.jumps = jumps
        self.events = events
        self.sample_us = us(sample_ms)
        self.choices = choices_for(scenario)
        self.entities = entities_of(scenario)
        self.settings = self._read_settings(budget)

    def _read_settings(self, budget: int | None) -> Settings:
        """What this world differs in from those of other configurations."""
        scenario, cluster, choices = self.s, self.s.cluster, self.choices
        same = (scenario.faults, scenario.topics)
        equal = (
            (
                cluster.brokers,
                tuple(self.entities.log_dirs.tolist()),
                cluster.isr_expiration_phase_ms,
            ),
            choices.clients_per_s,
            (cluster.broker_settings, cluster.broker_service),
            (scenario.seed, scenario.horizon_ms, scenario.load_factor),
            (cluster.racks, cluster.rack_rtt_ms) if cluster.rack_rtt_ms else (),
            (choices.fetchers, choices.io, choices.net),
            (self.sample_us, self.events, self.jumps),
        )
        keys = choices.keys.copy()
        keys[at.C_HORIZON] = us(scenario.horizon_ms)
        keys[at.C_WARMUP] = us(scenario.warmup_ms)
        keys[at.C_SEED] = scenario.seed
        keys[at.C_BUDGET] = event_budget(self.entities) if budget is None else budget
        own_min_isr = int(self.entities.min_isr.max())
        return Settings(same, equal, keys, choices.rules.copy(), own_min_isr)

    def encode(self, used: Array | None) -> World:
        """Fill an array.

        Args:
            used: the array of a world that is no longer used.
        """
        structure, entities = self._structure(), self.entities
        w = _array(structure.size, structure.large, used)
        due = structure.due.copy()
        w[: structure.w.size] = structure.w
        w[at.CONFIG_FIRST : at.CONFIG_END] = self.settings.keys[at.CONFIG_FIRST :]
        self._begins(w, due, structure.template.slot0)
        rec = rows_of(w, at.H_REC, entities.n_rows * entities.max_rf, N_FIELDS)
        rules = self.settings.rules
        begin_world(w, rec, rules, due)
        motions = structure.template.motions if w[at.C_PERIOD] > 0 else NO_MOTIONS
        return World(w, rec, rules, entities.partitions, entities.brokers, motions)

    def _structure(self) -> _Structure:
        """The structure of a world like this one, or a new one."""
        for known in _latest:
            if known.settings.alike(self.settings):
                return known
        structure = self._new_structure()
        few = structure.w.size <= _LATEST_CELLS
        _latest[:] = [structure, *_latest][: _LATEST_MAX if few else 1]
        return structure

    def _new_structure(self) -> _Structure:
        scenario = self.s
        check_size(scenario, f"scenario {scenario.scenario_id}")
        shape = shape_of(scenario, self.choices)
        events = EVENTS_LISTED if self.events else 0
        structure = _Structure(scenario, shape, self.settings, self.sample_us, events)
        if self.jumps and not self.sample_us:
            structure.w[at.C_PERIOD] = structure.period_us()
        return structure

    def _begins(self, w: Array, due: Array, slot0: Mapping[int, int]) -> None:
        """What depends on the configuration: first ticks and heartbeats, conditions at 0.

        Args:
            w: the array.
            due: when each slot fires first, by its number.
            slot0: number of the first slot of each kind.
        """
        seed, brokers = self.s.seed, self.entities.brokers
        rows = rows_of(w, at.H_BRK, len(brokers), at.B_SIZE)
        rows[:, _FIRST_OWN : _FIRST_OWN + len(at.OF_BROKER)] = self.choices.own
        heartbeat = rows[:, at.B_HEARTBEAT]
        ticks = first_ticks(self.s, self.entities, rows[:, at.B_TICK])
        # the session began before the scenario
        heartbeats = hashed(seed, "heartbeat", self.entities.broker_names, heartbeat) - heartbeat
        fill(rows, {at.B_HB_PHASE: heartbeats, at.B_TICK_DUE: ticks})
        due[slot0[at.SK_TICK] : slot0[at.SK_TICK] + len(brokers)] = ticks
        self._distances(w)
        partitions = rows_of(w, at.H_PART, len(self.entities.partitions), at.P_SIZE)
        imbalanced = bool((partitions[:, at.P_LEADER] != partitions[:, at.P_PREFERRED]).any())
        if imbalanced or not waits_for_imbalance(self.settings.rules):
            due[slot0[at.SK_CONTROLLER]] = w[at.C_REBALANCE]
        partitions[:, at.P_FLAGS] = self.choices.flags[partitions[:, at.P_RF]]
        for own in set(self.entities.min_isr.tolist()) - {0}:
            flags = first_flags(self.settings.rules, own)
            those = partitions[:, at.P_MIN_ISR] == own
            partitions[those, at.P_FLAGS] = flags[partitions[those, at.P_RF]]
        rules, entities = self.settings.rules, self.entities
        for i in np.flatnonzero(entities.members < entities.rfs).tolist():
            fewest = int(entities.min_isr[i]) or int(w[at.C_MIN_ISR])
            members, rf = int(entities.members[i]), int(entities.rfs[i])
            under = at.FLAG_UNDER_REPLICATED | flags_of(rules, fewest, rf, members)
            partitions[i, at.P_FLAGS] = under

    def _distances(self, w: Array) -> None:
        """What the brokers' racks add to each way between two of them, before any fault."""
        cluster = self.s.cluster
        if not cluster.rack_rtt_ms:
            return
        half = int(w[at.C_HALF_RTT])
        ways = {}
        for pair in cluster.rack_rtt_ms:
            ways[tuple(sorted(pair.between))] = us(pair.rtt_ms) // 2 - half
        racks = [cluster.racks.get(broker, "") for broker in self.entities.brokers]
        nodes = len(racks) + 1
        links = rows_of(w, at.H_LINK, nodes * nodes, 2).reshape(nodes, nodes, 2)
        table = rows_of(w, at.H_DISTANCE, nodes, nodes)
        for i, one in enumerate(racks):
            table[i, :-1] = [ways.get(tuple(sorted((one, other))), 0) for other in racks]
        links[:, :, 0] = table


_LATEST_MAX = 2
_LATEST_CELLS = 1 << 23
_latest: list[_Structure] = []
"""The last structures that were laid out: a panel's configurations come scenario by scenario, and
few of them (another num.replica.fetchers) need a structure of their own."""


def encode(
    scenario: Scenario,
    *,
    events: bool = False,
    sample_ms: float = 0,
    budget: int | None = None,
    jumps: bool = True,
) -> World:
    """Lay a checked scenario out for the kernel.

    Args:
        scenario: the scenario with its configuration laid over it.
        events: list the events.
        sample_ms: period of the samples of LEO, HW and queues for a trace; 0 for none.
        budget: events after which the kernel gives up; `size.event_budget` if not said.
        jumps: let the kernel jump over stretches that repeat (same result, much less work).

    Raises:
        InputError: the world does not fit (`size.check_size`).
    """
    _, lay_out = prepare(scenario, events=events, sample_ms=sample_ms, budget=budget, jumps=jumps)
    return lay_out(None)


def prepare(
    scenario: Scenario,
    *,
    events: bool = False,
    sample_ms: float = 0,
    budget: int | None = None,
    jumps: bool = True,
) -> tuple[Settings, Callable[[Array | None], World]]:
    """As `encode`, in two steps: the settings, and what lays the world out if that is needed.

    What lays it out is given the array of a world that is no longer used, if there is one.
    """
    encoder = _Encoder(scenario, events=events, sample_ms=sample_ms, budget=budget, jumps=jumps)
    return encoder.settings, encoder.encode
