"""How a live cluster is reached: its address, and a file of properties as Kafka's tools take it.

A password is read from a file or from the environment, never from the command line, which other
users of a machine can see; and it is never part of an error line.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.clusters.facts import Source
from isr_pipeline.clusters.properties import property_lines

SCHEME = "kafka://"
CONFIG_VARIABLE = "ISR_PIPELINE_KAFKA_CONFIG"
"""Names a file of properties where ``--command-config`` does not."""
USERNAME_VARIABLE = "ISR_PIPELINE_KAFKA_USERNAME"
PASSWORD_VARIABLE = "ISR_PIPELINE_KAFKA_PASSWORD"  # noqa: S105 - the name of a variable

ADDRESS = "kafka://HOST:PORT (several brokers: HOST:PORT,HOST:PORT)"
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_SERVER = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*):(\d{1,5})")
_IN_JAAS = r'\b{}\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))'
_FILE_BYTES_MAX = 2**20


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a cluster.

    Attributes:
        name: as error lines and ``values_from`` call it: the address, which holds no secret.
        servers: ``HOST:PORT`` of brokers to begin with.
        client: settings of kafka-python's clients, passwords among them.
    """

    name: str
    servers: tuple[str, ...]
    client: dict[str, Any]

    def __repr__(self) -> str:
        """Without the client's settings."""
        return f"Connection({self.name!r})"


def connection(address: str, config: Path | None = None) -> Connection:
    """Read how a cluster is reached.

    Args:
        address: ``kafka://HOST:PORT``.
        config: file of client properties (Kafka's tools call it ``--command-config``); None for
            the one that the environment names, if it does.

    Raises:
        InputError: what cannot be used, without any secret.
    """
    servers = _servers(address)
    named = config or os.environ.get(CONFIG_VARIABLE)
    where = str(named) if named else address
    pairs = _pairs(Path(named)) if named else {}
    protocol = pairs.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise InputError(where, "security.protocol", protocol, ", ".join(PROTOCOLS))
    client: dict[str, Any] = {"security_protocol": protocol}
    if protocol.startswith("SASL"):
        client |= _login(pairs, where)
    if protocol.endswith("SSL"):
        client["ssl_context"] = _tls(pairs, where)
    return Connection(SCHEME + ",".join(servers), servers, client)


def _servers(address: str) -> tuple[str, ...]:
    """Read the brokers to begin with.

    Raises:
        InputError: no address; one with a login is not shown.
    """
    text = address[len(SCHEME) :].rstrip("/")
    if "@" in text:
        allowed = f"{ADDRESS}; logins are read from --command-config FILE or the environment"
        raise InputError("SOURCE", "", "an address with a login (not shown)", allowed)
    servers = tuple(text.split(","))
    for one in servers:
        found = _SERVER.fullmatch(one)
        if found is None or not 0 < int(found[1]) < 65536:
            raise InputError("SOURCE", "", _harmless(servers), ADDRESS)
    return servers


def _harmless(servers: tuple[str, ...]) -> str:
    """An address that is none, as far as it cannot hold a login: hosts, and ports of digits."""
    shown = []
    for one in servers:
        host, colon, port = one.partition(":")
        known = re.fullmatch(r"[A-Za-z0-9._-]*", host) is not None
        shown.append(
            f"{host if known else '…'}{colon}{port if port.isdecimal() else colon and '…'}"
        )
    text = SCHEME + ",".join(shown)
    return text if text == SCHEME + ",".join(servers) else f"{text} (the rest is not shown)"


def _pairs(file: Path) -> dict[str, str]:
    """Read a file of properties.

    Raises:
        InputError: it cannot be read, or a line of it is no property (which is not shown).
    """
    allowed = "a file of client properties, KEY=VALUE"
    try:
        with file.open("rb") as opened:
            content = opened.read(_FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(str(file), "", reason, allowed) from None
    if len(content) > _FILE_BYTES_MAX:
        raise InputError(str(file), "", f"more than {_FILE_BYTES_MAX} bytes", allowed)
    pairs = {}
    for number, line in property_lines(Source(str(file), content)):
        key, equals, value = line.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z][\w.-]*", key.strip()):
            raise InputError(str(file), f"line {number}", "no KEY=VALUE (not shown)", allowed)
        pairs[key.strip()] = re.sub(r"\\(.)", r"\1", value.strip())
    return pairs


def _login(pairs: Mapping[str, str], where: str) -> dict[str, Any]:
    """User and password: of the environment if it has them, else of ``sasl.jaas.config``.

    Raises:
        InputError: a mechanism that is not spoken here, or no login.
    """
    mechanism = pairs.get("sasl.mechanism", "")
    if mechanism not in MECHANISMS:
        raise InputError(where, "sasl.mechanism", mechanism or "missing", ", ".join(MECHANISMS))
    jaas = pairs.get("sasl.jaas.config", "")
    username = os.environ.get(USERNAME_VARIABLE) or _in_jaas(jaas, "username")
    password = os.environ.get(PASSWORD_VARIABLE) or _in_jaas(jaas, "password")
    if not username or not password:
        missing = "no password" if username else "no username"
        allowed = (
            f'...LoginModule required username="..." password="..."; or {USERNAME_VARIABLE} and '
            f"{PASSWORD_VARIABLE} in the environment"
        )
        raise InputError(where, "sasl.jaas.config", missing, allowed)
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": username,
        "sasl_plain_password": password,
    }


def _in_jaas(jaas: str, name: str) -> str:
    found = re.search(_IN_JAAS.format(name), jaas)
    if found is None:
        return ""
    return re.sub(r"\\(.)", r"\1", found[1]) if found[1] is not None else found[2]


def _tls(pairs: Mapping[str, str], where: str) -> ssl.SSLContext:
    """Which certificates are believed, and which one is shown to the broker.

    Raises:
        InputError: a store that is no PEM, or cannot be read.
    """
    for key in ("ssl.truststore", "ssl.keystore"):
        kind = pairs.get(f"{key}.type", "JKS").upper()
        if f"{key}.location" in pairs and kind != "PEM":
            allowed = "PEM (keytool -importkeystore to PKCS12, then openssl pkcs12, writes one)"
            raise InputError(where, f"{key}.type", kind, allowed)
    try:
        context = ssl.create_default_context(
            cafile=pairs.get("ssl.truststore.location"),
            cadata=pairs.get("ssl.truststore.certificates"),
        )
        if "ssl.keystore.location" in pairs:
            # without a callable OpenSSL would ask the terminal for the password
            password = pairs.get("ssl.key.password", "")
            context.load_cert_chain(pairs["ssl.keystore.location"], password=lambda: password)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "no certificate in it").lower()
        given = pairs.get("ssl.keystore.location") or pairs.get("ssl.truststore.location", "")
        raise InputError(
            where, "ssl", f"{given} ({reason})", "PEM files that can be read"
        ) from None
    # Kafka's own way to say that a certificate may be of another host (KIP-294)
    if pairs.get("ssl.endpoint.identification.algorithm", "https") == "":
        context.check_hostname = False
    return context


def describe_cluster(client: Any) -> dict[str, Any]:
    """Ask for the cluster's id and its brokers, whatever the release.

    kafka-python 3.0.12 fails on version 0 of DescribeCluster's answer, all that Kafka 2.8 to 3.6
    have: a field is missing that version 1 added (KIP-919). A client that takes them for 2.7, which
    has no DescribeCluster, asks Metadata, and is told all but fenced brokers.

    Args:
        client: kafka-python's KafkaAdminClient.
    """
    try:
        answer: dict[str, Any] = client.describe_cluster()
    except KeyError:
        with type(client)(**client.config | {"api_version": (2, 7)}) as older:
            answer = older.describe_cluster()
    return answer
