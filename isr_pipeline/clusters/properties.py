"""A broker's ``server.properties``: what it was started with."""

from __future__ import annotations

import re

from isr_pipeline.clusters.facts import (
    PLATFORM,
    Facts,
    Source,
    TopicFacts,
    broker_id,
    of_a_broker,
    of_a_topic,
)
from isr_pipeline.clusters.lines import refuse_line
from isr_pipeline.clusters.listeners import LISTENER_KEYS
from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.kafka.release_numbers import version_of

KIND = "server.properties"
_ALLOWED = "lines of server.properties, KEY=VALUE or a comment"
_PAIR = re.compile(r"\s*([A-Za-z][\w.-]*)(?:\s*[=:]\s*|\s+|$)(.*)$")
_SIGN = re.compile(r"\s*[A-Za-z][\w.-]*\s*[=:]")
_PAIR_WITHIN = re.compile(r"\s[a-z]\w*(?:\.\w+)+\s*=")
"""Another pair in a value: a paste has lost the ends of its lines."""
_LIKE_A_PAIR = re.compile(r"\w\.\w+\s*=")
_ID_OR_PLACE = r"broker\.id|node\.id|process\.roles|zookeeper\.connect|log\.dirs?|listeners"
_TELLING = re.compile(
    rf"^[^\S\n]*({_ID_OR_PLACE}|controller\.quorum\.[a-z.]+|"
    rf"{'|'.join(re.escape(key) for key in KEYS)})\s*[=:]",
    re.MULTILINE,
)
_NOTHING = ("", "null", "[]")
"""How a key without a value is written, in a file and in a broker's own log."""
_ROLES = {"broker", "controller"}
_IDS = ("node.id", "broker.id")
_NO_ID = ("", "-1")
_LOG_DIRS = ("log.dirs", "log.dir")
_PROTOCOL = re.compile(r"(\d+\.\d+(?:\.\d+)?)(?:-IV\d+)?$")
_END_OF_LINE = re.compile(r"\r\n|\r|\n")
"""Java's; Python ends lines at more, which comments in other encodings have as bytes."""
_NO_END = re.compile(r"(?<!\\)(?:\\\\)*\\[^\S\n]+$")
_REST = re.compile(r"\s*(?:[\d,/]|\w+/)\S*\s*$")
"""Behind the last pair, what a terminal may have cut off it."""
_BEGINS_IN_A_LOG = re.compile(r"\bKafkaConfig values:")
_VALUES = re.compile(r"\b\w+ values:")
_IN_A_LOG = re.compile(r"\s*[a-z][\w.-]* = ?")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WHOLE = (re.compile(r"[+-]?[0-9]+"), "a whole number")
_KINDS = {
    "int": _WHOLE,
    "long": _WHOLE,
    "bool": (re.compile("true|false", re.IGNORECASE), "true or false"),
}
"""What Kafka's ConfigDef reads, by the type of a key."""
_PLACEHOLDER = re.compile(
    r"[$#%{]\{|\{%|\{\w[\w.]*\}|<[^<>]+>|%\(|\$[\w(]|%\w+%|@\w[\w.-]*@|__\w+?__"
)
"""What a template has where a value belongs: ``{{ a }}``, ``$A``, ``<%= a %>``, ``@A@``."""

_OF_KRAFT = ("process.roles", "controller.quorum.voters", "controller.quorum.bootstrap.servers")
_MIGRATION = (
    "a migration to KRaft (zookeeper.metadata.migration.enable=true): here KRaft's controllers "
    "elect, as they do once every broker takes part; "
    "`controller` in the cluster file says otherwise"
)

OF_CONTROLLERS = frozenset(
    {
        "unclean.leader.election.enable",
        "broker.session.timeout.ms",
        "auto.leader.rebalance.enable",
        "leader.imbalance.check.interval.seconds",
        "leader.imbalance.per.broker.percentage",
    }
)
"""What KRaft's controllers decide by their own value: the file of a controller that is no broker
says nothing of a broker's threads, fetchers or limits."""


def recognises(text: str) -> bool:
    """Whether a text is of this kind."""
    return _TELLING.search(text) is not None


def read(source: Source) -> Facts:
    """Read the file of one broker, or of a controller.

    Raises:
        InputError: a line of something else, a value that Kafka cannot read, or no role.
    """
    facts = Facts(source.name, KIND, PLATFORM)
    pairs: dict[str, str] = {}
    for number, line in _without_a_shells(source, _of_a_log(source, property_lines(source))):
        found = _pair(line)
        if found is None:
            refuse_line(source, number, line, _ALLOWED)
        if _is_kept(found[1]) and _PAIR_WITHIN.search(found[2]):
            has_addresses = found[1] in LISTENER_KEYS
            given = f"{found[1]} and more" if has_addresses else line.strip()
            source.refuse(number, given, "one KEY=VALUE a line")
        _check_id(source, number, pairs, found)
        facts.put(pairs, found[1], unescaped(found[2].strip()))
        _check_kind(source, number, found[1], pairs[found[1]])
        source.take(number)
    roles = _roles(pairs.get("process.roles", ""))
    if not roles <= _ROLES:
        allowed = "broker, controller, both, or nothing"
        source.refuse("process.roles", pairs["process.roles"], allowed)
    ids = [pairs[key] for key in _IDS if pairs.get(key, "") not in _NO_ID]
    if "broker" in roles and (not ids or _PLACEHOLDER.search(ids[0])):
        # something else gives each broker its id: every one has this file
        for key, value in pairs.items():
            started_with(facts, key, value)
        return facts
    broker = broker_id(source, "node.id", ids[0]) if "broker" in roles else None
    if broker is not None:
        facts.broker(broker).settings_whole = True
    for key, value in pairs.items():
        if broker is not None:
            broker_setting(facts, broker, key, value)
        else:
            controller_setting(facts, key, value)
    return facts


def is_a_broker(process_roles: str) -> bool:
    """Whether a node with these roles is a broker, perhaps a controller, too."""
    return "broker" in _roles(process_roles)


def _roles(process_roles: str) -> set[str]:
    """Roles as a file or a broker's own log lists them; under ZooKeeper there are none."""
    listed = re.sub(r"\s", "", process_roles).removeprefix("[").removesuffix("]")
    return {"broker"} if listed in _NOTHING else set(listed.split(","))


def _pair(line: str) -> re.Match[str] | None:
    """A key and its value; a word alone is the rest of a line, or a shell's."""
    found = _PAIR.match(line)
    word = line.strip()
    alone = found is not None and found[1] == word
    return None if alone and ("." not in word or _begins_a_key(word)) else found


def _is_surely_a_pair(line: str) -> bool:
    """Whether a line is more than a word with blanks behind, which may be anybody's sentence."""
    found = _pair(line)
    return found is not None and ("." in found[1] or _SIGN.match(line) is not None)


def _begins_a_key(text: str) -> bool:
    """Whether a text is the beginning of a key that a terminal may have cut."""
    keys = (*KEYS, *_LOG_DIRS, "broker.rack")
    return "." in text and text not in keys and any(key.startswith(text) for key in keys)


def _check_id(source: Source, line: int, before: dict[str, str], pair: re.Match[str]) -> None:
    """Refuse the files of two brokers in one.

    Raises:
        InputError: another id than the one before.
    """
    key, value = pair[1], pair[2].strip()
    if key not in _IDS or value in _NO_ID:
        return
    for other in _IDS:
        if before.get(other, value) not in (value, *_NO_ID):
            given = f"{key}={value} behind {other}={before[other]}"
            source.refuse(line, given, "the file of one broker")


def _check_kind(source: Source, line: int, key: str, value: str) -> None:
    """Refuse a value that keeps a broker from starting; a template's placeholder is none.

    Raises:
        InputError: a text where Kafka takes a whole number, or true or false.
    """
    kind = KEYS[key].type if key in KEYS else ""
    if kind not in _KINDS or _PLACEHOLDER.search(value):
        return
    pattern, allowed = _KINDS[kind]
    if not pattern.fullmatch(value):
        source.refuse(line, f"{key}={value}", f"{key} with {allowed}")


def unescaped(value: str) -> str:
    """Undo the escapes of a properties file, as java.util.Properties reads them."""
    return _ESCAPE.sub(
        lambda found: (
            chr(int(found[1][1:], 16)) if len(found[1]) > 1 else _ESCAPED.get(found[1], found[1])
        ),
        value,
    )


def property_lines(source: Source) -> list[tuple[int, str]]:
    """Lines that say something, those that a backslash continues as one."""
    found: list[tuple[int, str]] = []
    open_line: tuple[int, str] | None = None
    for number, raw in enumerate(_END_OF_LINE.split(source.text(_ALLOWED, "latin-1")), 1):
        begin, line = open_line or (number, "")
        line += raw.lstrip() if open_line else raw
        if not open_line and (not raw.strip() or raw.lstrip()[0] in "#!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            open_line = (begin, line[:-1])
            continue
        if _NO_END.search(raw):
            given = "a backslash before blanks, behind which Java does not go on"
            source.refuse(number, given, "a backslash at the very end of its line, or none")
        open_line = None
        found.append((begin, line))
    if open_line:
        found.append(open_line)
    source.has(*(begin for begin, _ in found))
    return found


def _of_a_log(source: Source, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Of a broker's whole log, what it was started with; all lines of another text.

    Raises:
        InputError: something else among these values.
    """
    if not any(_BEGINS_IN_A_LOG.search(line) for _, line in lines):
        return lines
    kept: list[tuple[int, str]] = []
    below = False
    behind: tuple[int, str] | None = None
    for number, line in lines:
        if _VALUES.search(line):
            below, behind = _BEGINS_IN_A_LOG.search(line) is not None, None
        elif below and not _IN_A_LOG.match(line):
            behind = behind or (number, line)
        elif below and behind:
            refuse_line(source, *behind, _ALLOWED)
        elif below:
            kept.append((number, line))
    return kept


def _without_a_shells(source: Source, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Skip and count what a shell puts before the first pair and behind the last one.

    Raises:
        InputError: there is a line with something like a pair among it.
    """
    pairs = [i for i, (_, line) in enumerate(lines) if _is_surely_a_pair(line)]
    kept = lines[pairs[0] : pairs[-1] + 1] if pairs else lines
    for number, line in lines:
        like_one = _LIKE_A_PAIR.search(line) or _begins_a_key(line.strip())
        if like_one and not _pair(line):
            refuse_line(source, number, line, _ALLOWED)
    behind = lines[pairs[-1] + 1 :] if pairs else []
    if behind and _REST.match(behind[0][1]):
        refuse_line(source, *behind[0], _ALLOWED)
    return kept


def started_with(facts: Facts, key: str, value: str) -> None:
    """Keep what some broker was started with, and probably every other one.

    Args:
        facts: to be filled in.
        key: Kafka's.
        value: its value.
    """
    usable = value not in _NOTHING and not _PLACEHOLDER.search(value)
    if usable and key in _LOG_DIRS:
        facts.log_dirs = facts.log_dirs or _dirs(value)
    elif usable and of_a_broker(key):
        facts.start_with(key, value)
    elif usable and key == "broker.rack":
        facts.left_out.append(
            f"broker.rack={value} ({facts.source}): whose rack it is, is not said"
        )
    else:
        broker_setting(facts, None, key, value)


def broker_setting(
    facts: Facts, broker: int | None, key: str, value: str, *, default: bool = False
) -> None:
    """Keep what a broker's (or, with None, every broker's) setting says of the cluster.

    Args:
        facts: to be filled in.
        broker: its id.
        key: Kafka's.
        value: its value.
        default: the value is Kafka's default, which need not be kept.
    """
    has_names = key in LISTENER_KEYS and "://" in value  # beside a host that may be a placeholder
    if _PLACEHOLDER.search(value) and _is_kept(key) and not has_names:
        facts.left_out.append(f"{key}={value[:60]} ({facts.source}): a placeholder, no value")
    elif value in _NOTHING:
        pass
    elif key in LISTENER_KEYS:
        (facts if broker is None else facts.broker(broker)).listeners[key] = value
    elif key == "inter.broker.protocol.version":
        _protocol(facts, value, default=default)
    elif key == "zookeeper.connect":
        facts.controller = facts.controller or "zookeeper"
    elif key in _OF_KRAFT:
        facts.controller = "kraft"
    elif key == "zookeeper.metadata.migration.enable":
        if value.lower() == "true":
            facts.controller = "kraft"
            facts.left_out.append(_MIGRATION)
    elif broker is not None and key == "broker.rack":
        facts.broker(broker).rack = value
    elif broker is not None and key == "log.dirs":
        facts.broker(broker).log_dirs = _dirs(value)
    elif broker is not None and key == "log.dir":
        facts.broker(broker).log_dirs = facts.broker(broker).log_dirs or _dirs(value)
    elif not of_a_broker(key):
        if key not in _IDS:
            facts.unread.add(key)
    elif not default:
        facts.put(facts.settings if broker is None else facts.broker(broker).settings, key, value)


def controller_setting(facts: Facts, key: str, value: str, *, default: bool = False) -> None:
    """Keep what a controller that is no broker says: what it decides by, even by default."""
    if key in OF_CONTROLLERS:
        broker_setting(facts, None, key, value)
    elif of_a_broker(key) or key in LISTENER_KEYS:
        facts.unread.add(key)
    else:
        broker_setting(facts, None, key, value, default=default)


def topic_setting(facts: Facts, topic: TopicFacts, key: str, value: str) -> None:
    """Keep a topic's own setting, unless it may be a secret."""
    if of_a_topic(key):
        facts.put(topic.settings, key, value)
    else:
        facts.unread.add(key)


def _is_kept(key: str) -> bool:
    """Whether a cluster file has something of this key."""
    return of_a_broker(key) or key in ("broker.rack", *_LOG_DIRS, *LISTENER_KEYS)


def _dirs(value: str) -> tuple[str, ...]:
    """Log dirs, written as Kafka's own tools write them: no slash twice, none at the end."""
    given = (re.sub(r"/+", "/", one.strip()) for one in value.split(","))
    return tuple(dict.fromkeys(one.rstrip("/") or "/" for one in given if one))


def _protocol(facts: Facts, value: str, *, default: bool) -> None:
    """Brokers speak the protocol of their own release unless somebody holds it back."""
    found = _PROTOCOL.match(value)
    if found is None or version_of(found[1]) is None:
        facts.unread.add("inter.broker.protocol.version")
        return
    if default:
        facts.run_by_a_broker(found[1])
    elif facts.protocol not in (None, found[1]):
        facts.left_out.append(
            f"inter.broker.protocol.version={found[1]} ({facts.source}), "
            f"where another broker has {facts.protocol}"
        )
    else:
        why = "inter.broker.protocol.version is set to it, though the release may be newer"
        facts.release_hint = (found[1], why)
        facts.protocol = found[1]
