"""Whether followers fetch over a listener of their own, by the listeners of brokers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from isr_pipeline.clusters.facts import BrokerFacts, Facts

_LISTENERS = "listeners"
_ADVERTISED = "advertised.listeners"
_INTER_BROKER = "inter.broker.listener.name"
_PROTOCOL = "security.inter.broker.protocol"
_OF_CONTROLLERS = "controller.listener.names"
_CONTROL_PLANE = "control.plane.listener.name"
LISTENER_KEYS = frozenset(
    {_LISTENERS, _ADVERTISED, _INTER_BROKER, _PROTOCOL, _OF_CONTROLLERS, _CONTROL_PLANE}
)
"""`listener.security.protocol.map` is not among them: without a name, inter-broker traffic takes
the listener that is called as its protocol (KafkaConfig.scala @ 2.4.1, 3.8.0)."""

_DEFAULT_PROTOCOL = "PLAINTEXT"
_LISTENER = re.compile(r"([\w.-]+)://.*:.+")


def replication_listeners(facts: Facts) -> Iterator[bool]:
    """What a source says: once each for brokers that have such a listener, and that have none."""
    if facts.replication_listener is not None:
        yield facts.replication_listener
        return
    said = {_of_a_broker(facts, broker) for broker in facts.brokers.values() or [BrokerFacts()]}
    yield from (own for own in (False, True) if own in said)


def _of_a_broker(facts: Facts, broker: BrokerFacts) -> bool | None:
    if broker.replication_listener is not None:
        return broker.replication_listener
    listeners = {**facts.listeners, **broker.listeners}
    return _is_of_its_own(listeners, kraft=facts.controller == "kraft")


def _is_of_its_own(listeners: Mapping[str, str], *, kraft: bool) -> bool | None:
    """Whether clients have a listener beside that of inter-broker traffic; None: not said.

    No client uses a listener that is not advertised, a controller's, or the control plane's.
    With some listeners no broker would start (KafkaConfig.scala @ 3.8.0): what they say is not all.
    """
    bound = _names(listeners.get(_LISTENERS, ""))
    exposed = _names(listeners[_ADVERTISED]) if _ADVERTISED in listeners else bound
    advertised = exposed - _listed(listeners.get(_OF_CONTROLLERS, ""))
    ours = listeners.get(_INTER_BROKER) or listeners.get(_PROTOCOL) or _DEFAULT_PROTOCOL
    starts = advertised <= bound and _listed(ours) <= advertised
    if not starts or (kraft and _OF_CONTROLLERS not in listeners):
        return None
    return bool(advertised - _listed(ours) - _listed(listeners.get(_CONTROL_PLANE, "")))


def _names(listeners: str) -> set[str]:
    """Names of listeners; none where one of them cannot be read."""
    found = [_LISTENER.fullmatch(listener) for listener in _listed(listeners)]
    return {one[1] for one in found if one} if all(found) else set()


def _listed(text: str) -> set[str]:
    """Entries of a list, as Kafka compares names; a broker's own log has it in brackets."""
    entries = text.strip().removeprefix("[").removesuffix("]").split(",")
    return {entry.strip().upper() for entry in entries}
