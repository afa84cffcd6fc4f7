"""What the failure of a log dir does to its broker (KIP-112, KIP-858)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Controller, Rules

METADATA_DIR: Final = 0
"""metadata.log.dir is by default the first of log.dirs."""


class DirFailure(IntEnum):
    """What becomes of the broker."""

    HALTS = 0
    """The process ends and tells nobody: its session runs on."""
    TOLD = 1
    """The controller hears of it: replicas in that dir leave their ISRs, leads move."""
    SILENT = 2
    """The controller hears nothing: who led there still does, and answers KAFKA_STORAGE_ERROR."""


@rule
def holds_metadata(rules: Rules, log_dir: int) -> bool:
    """Whether the broker writes KRaft's metadata log to that dir, and halts without it (3.7)."""
    return (
        rules.controller == Controller.KRAFT and rules.log_dirs_reported and log_dir == METADATA_DIR
    )


@rule
def on_dir_failure(rules: Rules, log_dir: int, dirs_left: int) -> DirFailure:
    """What the failure of a log dir does.

    To 0.11 any I/O error of an append halts (ReplicaManager.scala @ 0.10.2.2,
    ReplicaFetcherThread.scala @ 0.11.0.2). From 1.0 on the last dir does
    (LogManager.handleLogDirFailure @ 1.1.0, 4.3.1), under KRaft from 3.7 on also that of the
    metadata log. KRaft to 3.6 has no way to tell of another
    (ReplicaManager.handleLogDirFailure @ 3.6.0, 3.7.0, 4.3.1).

    Args:
        rules: the switches.
        log_dir: number of the dir, from 0.
        dirs_left: how many others still work.
    """
    if rules.io_error_halts or dirs_left <= 0 or holds_metadata(rules, log_dir):
        return DirFailure.HALTS
    if rules.controller == Controller.KRAFT and not rules.log_dirs_reported:
        return DirFailure.SILENT
    return DirFailure.TOLD
