"""What a finding asks, and in which words it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import close_or_all
from isr_pipeline.experiment.file import load_experiment

if TYPE_CHECKING:
    from isr_pipeline.experiment.file import Experiment

FOLDER = Path(__file__).resolve().parent

SHOWN: dict[str, str] = {
    "produce_unavailable_rate": "produce unavailable",
    "offline_partition_rate": "offline",
    "isr_flaps_per_partition_hour": "ISR flaps",
    "commit_latency_p99_ms": "commit p99",
}
"""Metric -> its heading; docs/findings.md says what each means."""


@dataclass(frozen=True, slots=True)
class Question:
    """One finding.

    Attributes:
        name: of the experiment file beside this one and of its part in ``docs/findings.md``.
        asks: the question, one sentence.
        labels: configuration -> what an operator would call it.
        panel: scenarios of the page's table; `make finding` takes the experiment's own number.
        of: strata of the fault profile that it is about; empty: all.
    """

    name: str
    asks: str
    labels: dict[str, str]
    panel: int
    of: tuple[str, ...] = ()

    @property
    def experiment(self) -> Experiment:
        """The experiment file, read."""
        found = load_experiment(FOLDER / f"{self.name}.yaml")
        if not self.of:
            return found
        strata = {name: found.profile.strata[name] for name in self.of}
        return found.model_copy(
            update={"profile": found.profile.model_copy(update={"strata": strata})}
        )


QUESTIONS: dict[str, Question] = {
    one.name: one
    for one in (
        Question(
            name="lag-limit",
            asks="Should replica.lag.time.max.ms be 10 s, 20 s, 30 s or 60 s?",
            labels={
                "lag-10s": "10 s",
                "lag-20s": "20 s",
                "lag-30s": "30 s (default)",
                "lag-60s": "60 s",
            },
            panel=4000,
        ),
        Question(
            name="stuck-read",
            asks="A leader's read hangs: what helps the partitions of that broker?",
            labels={
                "without-elr": "3.7 to 4.0, or upgraded",
                "solution-1": "KIP-501, Solution 1",
                "lag-60s": "lag limit 60 s",
                "elr": "ELR",
            },
            panel=4000,
        ),
        Question(
            name="return",
            asks="A broker is back after minutes or hours: what spares the others?",
            labels={
                "today": "defaults",
                "throttled-120m": "throttled to 120 MB/s (KIP-73)",
                "throttled-70m": "throttled to 70 MB/s",
                "response-bytes-1m": "replica.fetch.response.max.bytes 1 MiB",
                "fetchers-4": "num.replica.fetchers 4",
                "own-listener": "a listener of the followers' own",
                "own-listener-115m": "the same, throttled to 115 MB/s",
                "lag-60s": "lag limit 60 s",
            },
            panel=100,
            of=("return",),
        ),
        Question(
            name="replay",
            asks="Clients read old data at full speed: what spares the followers?",
            labels={
                "today": "defaults",
                "network-threads-8": "num.network.threads 8",
                "own-listener": "a listener of the followers' own",
                "consumers-20m": "consumer_byte_rate 20 MB/s (KIP-13)",
                "lag-60s": "lag limit 60 s",
            },
            panel=1000,
            of=("replay",),
        ),
        Question(
            name="slow-disk",
            asks="A disk slows down: which lag limit flaps?",
            labels={
                "lag-10s": "10 s",
                "lag-20s": "20 s",
                "lag-30s": "30 s (default)",
                "lag-60s": "60 s",
            },
            panel=1000,
            of=("slow-disk",),
        ),
        Question(
            name="disk-then-death",
            asks="A leader's disk slows down, and the leader dies: what keeps partitions online?",
            labels={
                "without-elr": "3.7 to 4.0, or upgraded",
                "elr": "ELR",
                "solution-1": "KIP-501, Solution 1",
                "solution-2": "KIP-501, Solution 2",
                "lag-60s": "lag limit 60 s",
            },
            panel=1000,
            of=("slow-then-dead",),
        ),
        Question(
            name="two-log-dirs",
            asks="A slow disk, then death, where brokers have a second volume: what helps?",
            labels={
                "without-elr": "3.7 to 4.0, or upgraded",
                "elr": "ELR",
                "solution-1": "KIP-501, Solution 1",
                "lag-60s": "lag limit 60 s",
            },
            panel=1000,
            of=("slow-then-dead",),
        ),
    )
}
"""Every finding by its name; the first is what `make finding` shows."""


def question(name: str) -> Question:
    """Give a finding by its name.

    Raises:
        InputError: there is none of that name.
    """
    if name not in QUESTIONS:
        raise InputError("finding", "", name, close_or_all(name, QUESTIONS))
    return QUESTIONS[name]
