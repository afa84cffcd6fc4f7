"""`cluster history`: what was planted in real clusters is counted, and nothing else.

tests/recordings/history holds logs of real brokers; `truth.json` says what was done to them
(tools/lab/record_history.py).
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isr_pipeline import cli
from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.clusters.history.counts import History, Rate
from isr_pipeline.clusters.history.events import CRASH, DISK, RESTART, SESSION, SHRINK
from isr_pipeline.clusters.history.fault_profile import per_year, write
from isr_pipeline.clusters.history.reading import read
from isr_pipeline.scenarios.profile import load_profile
from tests.approved import Approved

RECORDINGS = Path(__file__).resolve().parent.parent / "recordings" / "history"
KRAFT = ("3.9.2", "4.3.1")
LOG, DUMP = "00000000000000000000.log.gz", "metadata-log.txt.gz"
BEGIN = datetime(2026, 10, 30, tzinfo=UTC)
UP = (
    "[KafkaServer id=1] starting (kafka.server.KafkaServer)",
    "[KafkaServer id=1] started (kafka.server.KafkaServer)",
)
DOWN = "[KafkaServer id=1] shutting down (kafka.server.KafkaServer)"
QUIET = "[GroupMetadataManager brokerId=1] Removed 0 expired offsets (kafka.GroupMetadataManager)"
Found = Counter[tuple[str, int]]


def planted(release: str, *kinds: str) -> Found:
    """What was done to a recorded cluster."""
    truth = json.loads((RECORDINGS / release / "truth.json").read_text())
    return Counter((one["kind"], one["broker"]) for one in truth if one["kind"] in kinds)


def happened(history: History, *kinds: str) -> Found:
    """What was counted."""
    return Counter((one.kind, one.broker) for one in history.events if one.kind in kinds)


def of(release: str, *patterns: str) -> History:
    """Read some files of a recording."""
    files = [file for one in patterns for file in sorted((RECORDINGS / release).glob(one))]
    return read([str(file) for file in files], "UTC")


def log(*messages: str, begin: datetime = BEGIN, minutes: float = 10) -> str:
    """Write lines as Kafka does, some minutes apart."""
    times = (begin + timedelta(minutes=minutes * i) for i in range(len(messages)))
    return "".join(
        f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03d}] INFO {message}\n"
        for time, message in zip(times, messages, strict=True)
    )


def kept(folder: Path, **files: str) -> list[str]:
    """Write files; return their names."""
    for name, text in files.items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in files]


def counts(folder: Path, *messages: str) -> dict[str, int]:
    """Count what the lines of one broker's log say."""
    found = read(kept(folder, a=log(*messages)), "UTC")
    return dict(Counter(one.kind for one in found.events))


class TestRecorded:
    """Two crashes, three restarts, a lost session, two log dirs; pauses that are no crash."""

    @pytest.mark.parametrize("release", ["2.7.2", *KRAFT])
    def test_brokers(self, release: str) -> None:
        """server.log of each broker has every crash, restart and dead log dir."""
        kinds = (CRASH, RESTART, DISK)
        assert happened(of(release, "server-*"), *kinds) == planted(release, *kinds)

    @pytest.mark.parametrize("release", KRAFT)
    @pytest.mark.parametrize("name", [LOG, DUMP, "controller.log.gz"])
    def test_controller(self, release: str, name: str) -> None:
        """What the controller saw: the last log dir's end is a death to it, as a crash is."""
        found = happened(of(release, name), CRASH, RESTART, DISK)
        truth = planted(release, CRASH, RESTART, DISK)
        truth.subtract({(DISK, 1): 1, (CRASH, 1): -1})
        assert found == truth

    @pytest.mark.parametrize("release", KRAFT)
    @pytest.mark.parametrize("name", [LOG, DUMP, "controller.log.gz"])
    def test_sessions(self, release: str, name: str) -> None:
        """A long pause loses the session; the short one did where the machine was busy."""
        found = happened(of(release, name), SESSION)
        short = Counter({(SESSION, broker): 1 for _, broker in planted(release, "pause")})
        assert planted(release, SESSION) <= found <= planted(release, SESSION) + short

    @pytest.mark.parametrize("release", KRAFT)
    def test_together(self, release: str) -> None:
        """All sources of a cluster count everything once."""
        kinds = (CRASH, RESTART, DISK)
        history = of(release, "server-*", LOG, "controller.log.gz")
        assert happened(history, *kinds) == planted(release, *kinds)

    @pytest.mark.parametrize("release", KRAFT)
    def test_shrinks(self, release: str) -> None:
        """The metadata log has what leaders decided, but for one that was deposed meanwhile."""
        by_log, by_records = of(release, "server-*"), of(release, LOG)
        assert by_records.partitions
        assert by_records.partitions <= by_log.partitions

    def test_two_clusters(self) -> None:
        """Logs that name two clusters are refused."""
        files = [RECORDINGS / one / "server-1.log.gz" for one in KRAFT]
        with pytest.raises(InputError, match="sources of one cluster"):
            read([str(one) for one in files], "UTC")

    def test_a_log_of_another_cluster(self) -> None:
        """A metadata log that knows no process of a broker's log is of another cluster."""
        files = [RECORDINGS / "3.9.2" / LOG, RECORDINGS / "4.3.1" / LOG]
        with pytest.raises(InputError, match="logs of one cluster"):
            read([str(one) for one in files], "UTC")

    def test_zone(self) -> None:
        """Times of another zone are told by a moment in UTC that a line has."""
        with pytest.raises(InputError, match=r"\+?-1 h from those expected.*--zone"):
            read([str(RECORDINGS / "4.3.1" / "server-2.log.gz")], "Europe/Berlin")

    def test_printed(self, approved: Approved) -> None:
        """A table by month and broker, rates with intervals, and what cannot be seen."""
        names = [str(file) for file in sorted((RECORDINGS / "4.3.1").glob("server-*"))]
        approved(CliRunner().invoke(cli.app, ["cluster", "history", *names]).stdout)


class TestBrokerLog:
    """`server.log` of every release."""

    @pytest.mark.parametrize(
        ("up", "down"),
        [
            (("Verifying properties (kafka.utils.VerifiableProperties)",
              "[Kafka Server 1], starting (kafka.server.KafkaServer)",
              "[Kafka Server 1], started (kafka.server.KafkaServer)"),
             "[Kafka Server 1], shutting down (kafka.server.KafkaServer)"),
            (UP, DOWN),
            (("Registered signal handlers for TERM, INT, HUP (a.B)",
              "[BrokerServer id=1] Transition from SHUTDOWN to STARTING (kafka)",
              "[BrokerServer id=1] Transition from STARTING to STARTED (kafka)"),
             "Terminating process due to signal SIGTERM (a.B)"),
        ],
        ids=["0.8", "1.0", "KRaft"],
    )  # fmt: skip
    def test_starts(self, tmp_path: Path, up: tuple[str, ...], down: str) -> None:
        """A start behind a shutdown is a restart; behind anything else, a crash."""
        assert counts(tmp_path, *up, down, *up, *up, QUIET) == {RESTART: 1, CRASH: 1}

    @pytest.mark.parametrize(
        "text",
        [
            "Partition [t,0] on broker 1: Shrinking ISR for partition [t,0] from 1,2,3 to 1",
            "[Partition t-0 broker=1] Shrinking ISR from 1,2 to 1. Leader: (highWatermark: 0)",
        ],
    )
    def test_shrinks(self, tmp_path: Path, text: str) -> None:
        """Those within a minute of each other are one occasion."""
        lines = log(text, text, minutes=0.5) + log(text, QUIET, begin=BEGIN + timedelta(hours=1))
        history = read(kept(tmp_path, a=lines + log(*UP, begin=BEGIN + timedelta(hours=2))), "UTC")
        assert [one.kind for one in history.events][:2] == [SHRINK, SHRINK]
        assert history.partitions.total() == 3

    def test_begins_in_the_middle(self, tmp_path: Path) -> None:
        """The process that wrote the first lines had started before."""
        assert counts(tmp_path, QUIET, *UP) == {CRASH: 1}
        assert counts(tmp_path, DOWN, *UP) == {RESTART: 1}
        assert counts(tmp_path, *UP, QUIET) == {}

    def test_start_that_fails(self, tmp_path: Path) -> None:
        """A broker that dies while it starts is one outage, however often it tries."""
        assert counts(tmp_path, *UP, DOWN, UP[0], UP[0], DOWN, *UP) == {RESTART: 1}

    def test_missing_files(self, tmp_path: Path) -> None:
        """What happened in days of which no line is left is not counted, nor are the days."""
        later = log(*UP, QUIET, begin=BEGIN + timedelta(days=9))
        history = read(kept(tmp_path, a=log(*UP, QUIET), b=later), "UTC")
        assert not history.events
        assert history.days(CRASH, 1) == pytest.approx(40 / 1440)

    def test_rotated(self, tmp_path: Path) -> None:
        """Pieces of a set count as one log; a piece that names no broker is of the set's."""
        text = log(*UP, DOWN, *UP, *["Rolled new log segment (kafka.log.Log)"] * 9, *UP)
        lines = text.splitlines(keepends=True)
        names = kept(tmp_path, **{"server.log.1": "".join(lines[5:14])})
        (tmp_path / "server.log.2.gz").write_bytes(gzip.compress("".join(lines[:5]).encode()))
        names += [
            str(tmp_path / "server.log.2.gz"),
            *kept(tmp_path, **{"server.log": "".join(lines[14:])}),
        ]
        found = Counter(one.kind for one in read(names, "UTC").events)
        assert found == {RESTART: 1, CRASH: 1}

    def test_copies(self, tmp_path: Path) -> None:
        """What two files both have counts once."""
        text = log(*UP, DOWN, *UP, QUIET)
        assert len(read(kept(tmp_path, a=text, b=text), "UTC").events) == 1

    def test_contradiction(self, tmp_path: Path) -> None:
        """Two logs of one broker that differ are of two clusters."""
        names = kept(tmp_path, a=log(*UP, DOWN, *UP, QUIET), b=log(*UP, QUIET, QUIET, *UP, QUIET))
        with pytest.raises(InputError, match="another log of broker 1"):
            read(names, "UTC")

    def test_containers(self, tmp_path: Path) -> None:
        """Lines without brackets, with a prefix of docker's, in UTC."""
        text = log(*UP, DOWN, *UP).replace("[2026", "broker-1  | 2026").replace("] INFO", " INFO")
        assert len(read(kept(tmp_path, a=text), "UTC").events) == 1


class TestControllerLog:
    """`controller.log`, with and without ZooKeeper."""

    def test_begins_in_the_middle(self, tmp_path: Path) -> None:
        """A broker that registered before the first line has a past, too."""
        change = "Replayed BrokerRegistrationChangeRecord(brokerId=2, brokerEpoch=7, "
        register = "Replayed a new incarnation RegisterBrokerRecord(brokerId=2, incarnationId={}"
        fields = ", brokerEpoch=9, fenced=true, inControlledShutdown=false, logDirs=[a])"
        own = "[QuorumController id=100] "
        text = log(
            own + change + "fenced=1, inControlledShutdown=0, logDirs=[])",
            own + register.format("A") + fields,
            own + register.format("B") + fields,
        )
        found = read(kept(tmp_path, a=text), "UTC")
        assert happened(found, CRASH, SESSION) == {(CRASH, 2): 2}

    def test_zookeeper(self, tmp_path: Path) -> None:
        """Who asked for a shutdown restarts; who is gone without has lost its session."""
        live = "all live brokers: 1,2"
        text = log(
            "[Controller id=1] Shutting down broker 2 (kafka.controller.KafkaController)",
            f"[Controller id=1] Newly added brokers: , deleted brokers: 2, {live}",
            f"[Controller id=1] Newly added brokers: 2, deleted brokers: , {live}",
            f"[Controller id=1] Newly added brokers: , deleted brokers: 2, {live}",
            minutes=1,
        )
        found = read(kept(tmp_path, a=text), "UTC")
        assert happened(found, RESTART, SESSION) == {(RESTART, 2): 1, (SESSION, 2): 1}


class TestHowOften:
    """Rates, and the fault profile that has them."""

    def test_nothing_happened(self, tmp_path: Path) -> None:
        """Days without an event are a count of zero, with its interval."""
        text = log(*UP, *[QUIET] * 30, minutes=60 * 12)
        rate = read(kept(tmp_path, a=text), "UTC").rates()[CRASH]
        assert (rate.count, rate.per_year) == (0, 0)
        assert rate.interval == pytest.approx((0, 59.2), rel=0.01)

    def test_interval(self) -> None:
        """Jeffreys' interval of four events in two years."""
        assert Rate(CRASH, 4, 2.0, "broker").interval == pytest.approx((0.675, 4.756), rel=0.001)

    @pytest.mark.parametrize(
        ("count", "years", "written"), [(3, 2.0, 1.5), (0, 0.1, 0.5), (0, 100.0, 0.0251)]
    )
    def test_written(self, count: int, years: float, written: float) -> None:
        """What was counted; where it is nothing the estimate, as far as the interval has it."""
        file = REPOSITORY / "config" / "faults" / "nightly.yaml"
        profile = load_profile(read_mapping(file), str(file))
        assert per_year(profile, Rate(CRASH, count, years, "broker"))[0] == written

    def test_profile(self, tmp_path: Path) -> None:
        """The file is the nightly profile with other numbers a year."""
        history = of("4.3.1", "server-*")
        written = write(history, tmp_path / "mine.yaml", 3)
        assert set(written) == {CRASH, RESTART, DISK}
