"""A live cluster, asked through its brokers: reads only, all of it or nothing.

Asked are Metadata, DescribeCluster, DescribeConfigs, DescribeLogDirs, ListOffsets and ApiVersions,
which need the rights Describe and DescribeConfigs on the cluster and on topics. An answer that
lacks something is refused: half a cluster would look like a whole one.
"""

from __future__ import annotations

import base64
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.words import one_line
from isr_pipeline.clusters.connection import Connection, describe_cluster
from isr_pipeline.clusters.facts import LIVE, Facts, Source, of_a_topic, topic_name
from isr_pipeline.clusters.metadata import METADATA_VERSION, release_of
from isr_pipeline.clusters.properties import broker_setting
from isr_pipeline.kafka.release_numbers import version_of

KIND = "live cluster"

ANSWER_S_MAX = 30.0
"""After this time without an answer a broker counts for silent."""

CONNECT_S_MAX = 10.0
"""After this time without a connection nobody is there, or nobody who takes this login."""

RATE_S = 10.0
"""Time between the two moments at which offsets are asked for."""
RATE_S_MAX = 3600.0

_TOPICS_AT_ONCE = 200
"""Topics whose settings are asked for in one request: a topic has some thirty."""

_OWN = "DYNAMIC_TOPIC_CONFIG"
_DEFAULT = "DEFAULT_CONFIG"
_OF_ALL = "DYNAMIC_DEFAULT_BROKER_CONFIG"

_RIGHTS = "Describe and DescribeConfigs on the cluster and on all topics"


def read_live(
    where: Connection,
    *,
    rate_s: float = RATE_S,
    answer_s_max: float = ANSWER_S_MAX,
    wait: Callable[[float], None] = time.sleep,
) -> Facts:
    """Ask a cluster for all that an import needs.

    Args:
        where: how it is reached.
        rate_s: time between two readings of every partition's end offset; 0 leaves rates out.
        answer_s_max: how long each answer may take.
        wait: lets time pass between the two.

    Raises:
        Refused: no answer, not every answer, or no right to ask.
    """
    with _client(where, answer_s_max) as (client, ask):
        live = _Live(where.name, client, ask)
        live.brokers()
        live.releases()
        live.topics()
        live.broker_settings()
        live.topic_settings()
        live.log_dirs()
        if rate_s > 0:
            live.rates(rate_s, wait)
        return live.facts


class _Live:
    """One reading.

    Args:
        name: of the cluster, for error lines.
        client: kafka-python's.
        ask: runs a question, and says in one line why it was not answered.
    """

    def __init__(self, name: str, client: Any, ask: Callable[..., Any]) -> None:
        self.name = name
        self.client = client
        self.ask = ask
        self.source = Source(name, b"")
        self.facts = Facts(name, KIND, LIVE, names_all_brokers=True)
        self.up: list[int] = []

    def refuse(self, text: str) -> Refused:
        """Give the refusal of an answer."""
        return Refused(f"{self.name}: {text}; nothing was imported")

    # ------------------------------------------------------------------ brokers

    def brokers(self) -> None:
        """Who is there, in which rack."""
        answer = self.ask("the cluster", describe_cluster, self.client)
        self.facts.cluster_id = answer["cluster_id"]
        for one in answer["brokers"]:
            broker = self.facts.broker(one["broker_id"])
            broker.rack = one["rack"]
            broker.fenced = bool(one.get("is_fenced"))
            if not broker.fenced:
                self.up.append(one["broker_id"])
        if not self.up:
            raise self.refuse("it names no broker that is up")

    def broker_settings(self) -> None:
        """Every setting of each broker that is up, asked of that broker itself."""
        for number in self.up:
            settings = self._settings("BROKER", [str(number)], f"settings of broker {number}")
            broker = self.facts.broker(number)
            broker.settings_whole = True
            for key, entry in settings[str(number)].items():
                if entry["is_sensitive"] or entry["value"] is None:
                    continue
                source = entry["config_source"]
                holder = None if source == _OF_ALL else number
                default = source == _DEFAULT
                broker_setting(self.facts, holder, key, entry["value"], default=default)

    def releases(self) -> None:
        """Release of the brokers, which nobody says: told by the requests that they understand."""
        found = {}
        for number in self.up:
            about = f"the API versions of broker {number}"
            data = self.ask(about, self.client.get_broker_version_data, number)
            found[number] = tuple(data.broker_version)
        oldest = min(found.values())
        self.facts.release = ".".join(str(part) for part in oldest)
        newer = sorted(number for number, version in found.items() if version > oldest)
        if newer:
            self.facts.left_out.append(
                f"broker {', '.join(map(str, newer))} runs a newer release than others; "
                "here all run the oldest"
            )
        features = self.ask("features", self.client.describe_features)
        for name, levels in features.items():
            if "finalized" in levels:
                self.facts.features[name] = levels["finalized"][1]
        # the client takes a release that is newer than itself for the newest that it knows
        level = self.facts.features.get(METADATA_VERSION, 0)
        least = release_of(level) if level else ""
        if (version_of(least) or ()) > oldest:
            self.facts.release = least

    # ------------------------------------------------------------------ topics

    def topics(self) -> None:
        """Replicas, leader and ISR of every partition."""
        unread = []
        for topic in self._metadata():
            if topic["error_code"]:
                unread.append(topic["name"])
                continue
            facts = self.facts.topic(topic_name(self.source, "topics", topic["name"]))
            facts.topic_id = _topic_id(topic.get("topic_id"))
            for one in topic["partitions"]:
                partition = facts.partition(one["partition_index"])
                partition.replicas = tuple(one["replica_nodes"])
                partition.leader = one["leader_id"]
                partition.isr = tuple(one["isr_nodes"])
        if unread:
            raise self.refuse(f"no answer about topic {_few(unread)} ({_RIGHTS} are needed)")
        if not self.facts.topics:
            raise self.refuse(f"it shows no topic ({_RIGHTS} are needed)")

    def topic_settings(self) -> None:
        """What topics set for themselves."""
        for names in _parts(sorted(self.facts.topics), _TOPICS_AT_ONCE):
            settings = self._settings("TOPIC", names, f"settings of topic {_few(names)}")
            for name in names:
                topic = self.facts.topic(name)
                topic.settings_whole = True
                for key, entry in settings[name].items():
                    if entry["config_source"] == _OWN and of_a_topic(key):
                        topic.settings[key] = entry["value"]

    def log_dirs(self) -> None:
        """Log dir of every replica on each broker that is up."""
        every = {name: sorted(topic.partitions) for name, topic in self.facts.topics.items()}
        for number in self.up:
            about = f"log dirs of broker {number}"
            answers = self.ask(about, self.client.describe_log_dirs, every, [number])
            dirs = answers[0]["log_dirs"] if answers else []
            if not dirs:
                raise self.refuse(f"no answer about {about} ({_RIGHTS} are needed)")
            for one in dirs:
                self._log_dir(number, one)

    def _log_dir(self, number: int, answer: dict[str, Any]) -> None:
        name = answer["log_dir"]
        broker = self.facts.broker(number)
        broker.log_dirs = (*broker.log_dirs, *(() if name in broker.log_dirs else (name,)))
        if answer["error_code"]:
            self.facts.left_out.append(
                f"broker {number}'s log dir {name} is offline; here it is healthy"
            )
        for topic in answer["topics"]:
            if topic["name"] not in self.facts.topics:
                continue  # made since, or a copy that is being deleted
            partitions = self.facts.topics[topic["name"]].partitions
            for one in topic["partitions"]:
                index = one["partition_index"]
                if one["is_future_key"]:
                    where = f"{topic['name']}-{index} to {name} on broker {number}"
                    self.facts.left_out.append(f"the move of {where}")
                elif index in partitions:
                    partitions[index].log_dirs[number] = name
                    partitions[index].holds(one.get("partition_size"))

    # ------------------------------------------------------------------ rates

    def rates(self, seconds: float, wait: Callable[[float], None]) -> None:
        """Records a second of each partition that has a leader: its end offset, twice."""
        first_s, first = self._end_offsets()
        wait(seconds)
        second_s, second = self._end_offsets()
        unknown = []
        for (topic, index), before in first.items():
            after = second.get((topic, index))
            if after is None or after < before:
                unknown.append(f"{topic}-{index}")
                continue
            partition = self.facts.topics[topic].partitions[index]
            partition.records_per_s = round((after - before) / (second_s - first_s), 3)
        leaderless = [
            f"{name}-{index}"
            for name, topic in sorted(self.facts.topics.items())
            for index in topic.partitions
            if (name, index) not in first
        ]
        if not any(
            p.records_per_s for t in self.facts.topics.values() for p in t.partitions.values()
        ):
            self.facts.left_out.append(
                f"rates: no partition received a record in the {seconds:g} s between two readings"
            )
        if leaderless:
            self.facts.left_out.append(f"rates of {_few(leaderless)}: no leader to ask")
        if unknown:
            self.facts.left_out.append(f"rates of {_few(unknown)}: changed while being read")

    def _end_offsets(self) -> tuple[float, dict[tuple[str, int], int]]:
        """Moment (monotonic, s) and end offset of each partition that has a leader."""
        from kafka import TopicPartition  # noqa: PLC0415 - see _client
        from kafka.admin import OffsetSpec  # noqa: PLC0415

        wanted = {
            TopicPartition(topic["name"], one["partition_index"]): OffsetSpec.LATEST
            for topic in self._metadata()
            for one in topic["partitions"]
            if one["leader_id"] >= 0 and topic["name"] in self.facts.topics
        }
        begin_s = time.monotonic()
        found = self.ask("end offsets", self.client.list_partition_offsets, wanted)
        middle_s = (begin_s + time.monotonic()) / 2
        return middle_s, {(at.topic, at.partition): one.offset for at, one in found.items()}

    # ------------------------------------------------------------------ questions

    def _metadata(self) -> list[dict[str, Any]]:
        answer: list[dict[str, Any]] = self.ask("topics", self.client.describe_topics)
        return answer

    def _settings(
        self, kind: str, names: list[str], about: str
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """All settings of some entities, by entity and key.

        Raises:
            Refused: an entity without settings, which is how the client shows one that it may not
                describe.
        """
        from kafka.admin import ConfigResource, ConfigResourceType  # noqa: PLC0415 - see _client

        answers = self.ask(
            about,
            self.client.describe_configs,
            [ConfigResource(ConfigResourceType[kind], name) for name in names],
            include_synonyms=True,
            config_filter="all",
        )
        found: dict[str, dict[str, dict[str, Any]]] = answers.get(kind.lower(), {})
        silent = [name for name in names if not found.get(name)]
        if silent:
            raise self.refuse(
                f"no answer about settings of {kind.lower()} {_few(silent)} ({_RIGHTS} are needed)"
            )
        return found


def _ran_out(error: Exception) -> bool:
    """Whether an error says no more than that time ran out."""
    return any(word in type(error).__name__ for word in ("Timeout", "TimedOut"))


class _Reasons(logging.Handler):
    """Keeps the last error that the client met and tried again after: it only logs them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the error among a line's arguments; that time ran out is never the reason."""
        for one in record.args if isinstance(record.args, tuple) else ():
            if isinstance(one, Exception) and not _ran_out(one):
                self.last = one


@contextmanager
def _reasons() -> Iterator[_Reasons]:
    """Listen to the client's log instead of showing it: what matters of it is said in one line."""
    log = logging.getLogger("kafka")
    level, propagate, reasons = log.level, log.propagate, _Reasons()
    log.setLevel(logging.WARNING)
    log.propagate = False
    log.addHandler(reasons)
    try:
        yield reasons
    finally:
        log.removeHandler(reasons)
        log.setLevel(level)
        log.propagate = propagate


@contextmanager
def _client(where: Connection, answer_s_max: float) -> Iterator[tuple[Any, Callable[..., Any]]]:
    """Connect; give the client, and a function that asks it.

    Raises:
        Refused: no broker answers, or none takes the login.
    """
    # kafka-python takes a third of a second to import, and most imports are of files
    from kafka import KafkaAdminClient  # noqa: PLC0415

    connect_s_max = min(CONNECT_S_MAX, answer_s_max)
    with _reasons() as reasons:
        try:
            client = KafkaAdminClient(
                bootstrap_servers=list(where.servers),
                client_id="isr-pipeline",
                bootstrap_timeout_ms=int(connect_s_max * 1000),
                request_timeout_ms=int(answer_s_max * 1000),
                **where.client,
            )
        except Exception as error:  # whatever a library meets, its user reads one line
            raise _not_reached(where, reasons.last or error, connect_s_max) from None

        def ask(about: str, question: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            try:
                return question(*arguments, **named)
            except Exception as error:  # as above
                raise _unanswered(where, about, error, answer_s_max) from None

        try:
            yield client, ask
        finally:
            client.close()


def _not_reached(where: Connection, error: Exception, connect_s_max: float) -> Refused:
    """Say in one line why there is no connection; the client's errors hold no secret."""
    kind, text = type(error).__name__, one_line(str(error))
    login = "sasl_mechanism" in where.client
    # A broker that refuses a login answers and hangs up; kafka-python 3.0.12 may lose the answer.
    if "Authentication" in kind or "SaslMechanism" in kind or (login and "disconnected" in text):
        reason = "the login is refused (user, password, sasl.mechanism or security.protocol)"
    elif "Handshake failed" in text:
        reason = f"no TLS connection: {text.partition('Handshake failed: ')[2]}"
    else:
        said = "no word" if _ran_out(error) else text
        reason = f"no broker answers within {connect_s_max:g} s ({said})"
        if "REFUSED" in text or "DNS" in text:
            reason += "; right host and port?"
        else:
            reason += "; right security.protocol?"
    return Refused(f"{where.name}: {reason}; nothing was imported")


def _unanswered(where: Connection, about: str, error: Exception, answer_s_max: float) -> Refused:
    """Say in one line why a question was not answered."""
    kind = type(error).__name__
    if "Authorization" in kind:
        reason = f"not allowed to ask ({_RIGHTS} are needed)"
    elif "Timeout" in kind or "TimedOut" in kind:
        reason = f"no answer within {answer_s_max:g} s"
    else:
        reason = f"{kind}: {one_line(str(error))}"
    return Refused(f"{where.name}: {about}: {reason}; nothing was imported")


def _topic_id(text: str | None) -> str | None:
    """Topic id as Kafka writes it, URL-safe base64 of 16 bytes; None if the release has none."""
    number = uuid.UUID(text or str(uuid.UUID(int=0)))
    return base64.urlsafe_b64encode(number.bytes).decode().rstrip("=") if number.int else None


def _parts(names: list[str], size: int) -> Iterable[list[str]]:
    return (names[i : i + size] for i in range(0, len(names), size))


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
