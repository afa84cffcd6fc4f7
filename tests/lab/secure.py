"""What a cluster with TLS, logins and rights needs: certificates of its own, settings, rules."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
)

from tools.lab.settings import Plan

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Write a certificate of 127.0.0.1 that signs itself, and one file with its key before it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = made.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    alone, both = folder / f"{name}.pem", folder / f"{name}-with-key.pem"
    alone.write_bytes(public)
    both.write_bytes(secret + public)
    return alone, both


def plan(store: Path) -> Plan:
    """One broker whose clients need TLS, a SCRAM login and rights; its own listener needs none."""
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.client.scram-sha-512.sasl.jaas.config": _SCRAM,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    return Plan(({},), settings, client_protocol="SASL_SSL")


def allow(client: KafkaAdminClient, user: str) -> None:
    """Give a user the rights that docs/project/lab.md names, and no other."""
    cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
    topics = ResourcePattern(ResourceType.TOPIC, "*")
    rules = [
        ACL(f"User:{user}", "*", operation, ACLPermissionType.ALLOW, resource)
        for resource in (cluster, topics)
        for operation in (ACLOperation.DESCRIBE, ACLOperation.DESCRIBE_CONFIGS)
    ]
    client.create_acls(rules)


def properties(folder: Path, believed: Path, password: str, user: str = "reader") -> Path:
    """Write the file that Kafka's own tools take as ``--command-config``."""
    file = folder / "client.properties"
    file.write_text(
        "security.protocol=SASL_SSL\n"
        "sasl.mechanism=SCRAM-SHA-512\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        f'  username="{user}" password="{password}";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={believed}\n"
    )
    return file
