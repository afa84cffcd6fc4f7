"""Since when the batches of a producer wait, and how long each of them has waited in the end.

A batch waits from the moment at which it comes, which is KafkaProducer.send, to the acknowledgement
of its request. So what gathers behind a slow request counts with its own waiting time, and not with
that of the fast request that it gets in the end. Batches of a request that was refused or timed out
wait until the producer's next acknowledgement, as if they were sent again with it; the model drops
them, which moves no other measure.
"""

from __future__ import annotations

from isr_pipeline.simulation.measures import note_produce_latency
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.tables import Stream, World


@compiled
def _unanswered(stream: Stream) -> int:
    """Records of ``stream`` that have come and of which it has heard nothing."""
    records = stream.gathered
    if stream.request:
        records += stream.request.records
    return records


@compiled
def waiting(stream: Stream) -> int:
    """Records of ``stream`` that have come and are not acknowledged."""
    return _unanswered(stream) + stream.unacknowledged


@compiled
def _came_at(stream: Stream, k: int) -> int:
    """When batch ``k`` came; those before the last change of rate have numbers below 0."""
    if k >= 0:
        return stream.counted_from + k * stream.period_ns // 1000
    return stream.last_before + (k + 1) * stream.period_before_ns // 1000


@compiled
def backlog_reaches_back(stream: Stream, time: int) -> bool:
    """Whether requests that are answered at present may be of batches that came before ``time``.

    Where nothing has gathered, the request that is out took all that came since the one before.
    """
    if stream.gathered == 0 or stream.partition.leader < 0:
        return False
    oldest = stream.batch_number - _unanswered(stream) // stream.batch_records
    return _came_at(stream, oldest) < time


@compiled
def remember_pace(stream: Stream) -> None:
    """The rate of ``stream`` changes: its next batch has the number 0."""
    if stream.batch_number > 0:
        stream.last_before = _came_at(stream, stream.batch_number - 1)
        stream.period_before_ns = stream.period_ns
        stream.batch_number = 0


@compiled
def _batches_of(stream: Stream, records: int) -> int:
    """How many batches of ``stream`` so many records are: none or one mostly, undivided."""
    size = stream.batch_records
    if records < size:
        return 0
    return 1 if records < 2 * size else records // size


@compiled
def note_answered(world: World, stream: Stream, records: int, behind: int) -> None:
    """The oldest ``records`` that waited do so no longer; ``behind`` them others still wait."""
    end = stream.batch_number - _batches_of(stream, behind)
    for k in range(end - _batches_of(stream, records), end):
        came = _came_at(stream, k)
        if world.warmup <= came < world.now:
            note_produce_latency(world, stream, world.now - came)
