"""The lock of a partition: who has to wait for whom."""

from __future__ import annotations

from isr_pipeline.kafka.compiling import rule


@rule
def write_waits(readers: int, held: bool) -> bool:
    """Whether a change of a partition's role or ISR has to wait.

    New metadata (Partition.makeLeader, makeFollower, every release) and the answer to an
    AlterPartition (Partition.handleAlterIsrResponse @ 2.8.2, submitAlterPartition @ 3.9) take the
    write lock of leaderIsrUpdateLock, as a shrink does.

    Args:
        readers: reads in progress that hold the lock: which do is `RuleSet.isr_lock`.
        held: whether a synchronous ISR write holds it.
    """
    return readers > 0 or held
