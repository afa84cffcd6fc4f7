"""How a live cluster is reached: what is read, what is refused, and that secrets stay secret."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from isr_pipeline.base.errors import LINE_MAX, InputError, Refused
from isr_pipeline.clusters.connection import (
    CONFIG_VARIABLE,
    PASSWORD_VARIABLE,
    USERNAME_VARIABLE,
    connection,
)
from isr_pipeline.clusters.live import read_live
from tests.lab import secure

HERE = "kafka://127.0.0.1:9092"
SECRET = "SECRET-of-a-test"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No login in the environment but the test's own."""
    for name in (CONFIG_VARIABLE, USERNAME_VARIABLE, PASSWORD_VARIABLE):
        monkeypatch.delenv(name, raising=False)


def properties(folder: Path, *lines: str) -> Path:
    """Write a file of client properties."""
    file = folder / "client.properties"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def scram(folder: Path, jaas: str) -> Path:
    """Write a file of properties with a SCRAM login."""
    return properties(
        folder,
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=SCRAM-SHA-256",
        f"sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule {jaas}",
    )


class TestAddress:
    """``kafka://HOST:PORT``."""

    @pytest.mark.parametrize(
        ("text", "servers"),
        [
            ("kafka://b1.example:9092", ("b1.example:9092",)),
            ("kafka://b1:9092,10.0.0.2:9093/", ("b1:9092", "10.0.0.2:9093")),
            ("kafka://[::1]:9092", ("[::1]:9092",)),
        ],
    )
    def test_one_broker_or_several(self, text: str, servers: tuple[str, ...]) -> None:
        """With commas between them."""
        assert connection(text).servers == servers

    @pytest.mark.parametrize(
        "text",
        ["kafka://", "kafka://b1", "kafka://b1:0", "kafka://b1:9092/t", "kafka://b1:9,x y:9"],
    )
    def test_others_are_refused(self, text: str) -> None:
        """A port belongs to it, a path does not."""
        with pytest.raises(InputError, match=r"SOURCE: kafka://.*; allowed: kafka://HOST:PORT"):
            connection(text)

    def test_a_login_in_it_is_refused_and_not_shown(self) -> None:
        """Other users of the machine could see it in the list of processes."""
        with pytest.raises(InputError, match="not shown") as refused:
            connection(f"kafka://me:{SECRET}@b1:9092")
        assert SECRET not in str(refused.value)


class TestProperties:
    """The file that Kafka's own tools take."""

    def test_without_one_nothing_is_encrypted(self) -> None:
        """As with Kafka's tools."""
        assert connection(HERE).client == {"security_protocol": "PLAINTEXT"}

    @pytest.mark.parametrize(
        "jaas",
        [
            f'required username="me" password="{SECRET}";',
            f"required username=me password={SECRET};",
            f'required \\\n    username="me" \\\n    password="{SECRET}" ;',
        ],
    )
    def test_a_login(self, tmp_path: Path, jaas: str) -> None:
        """Quoted or not, on one line or several."""
        client = connection(HERE, scram(tmp_path, jaas)).client
        assert client["sasl_plain_username"] == "me"
        assert client["sasl_plain_password"] == SECRET
        assert client["sasl_mechanism"] == "SCRAM-SHA-256"

    def test_a_password_may_hold_anything(self, tmp_path: Path) -> None:
        """Escaped twice, as Java reads it: in a file of properties, and in JAAS."""
        jaas = r'required username="me" password="a\\\\\\"b;=c";'
        client = connection(HERE, scram(tmp_path, jaas)).client
        assert client["sasl_plain_password"] == r"a\"b;=c"

    def test_the_environment_wins(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """And may name the file."""
        file = scram(tmp_path, 'required username="me" password="x";')
        monkeypatch.setenv(CONFIG_VARIABLE, str(file))
        monkeypatch.setenv(PASSWORD_VARIABLE, SECRET)
        client = connection(HERE).client
        assert (client["sasl_plain_username"], client["sasl_plain_password"]) == ("me", SECRET)

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            (["security.protocol=TLS"], "security.protocol: TLS; allowed: PLAINTEXT, SSL"),
            (
                ["security.protocol=SASL_SSL", "sasl.mechanism=GSSAPI"],
                "sasl.mechanism: GSSAPI; allowed: PLAIN",
            ),
            (["security.protocol=SASL_SSL"], "sasl.mechanism: missing"),
            (
                ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"],
                "sasl.jaas.config: no username",
            ),
            (
                ["security.protocol=SSL", "ssl.truststore.location=/a.jks"],
                "ssl.truststore.type: JKS; allowed: PEM",
            ),
            (
                [
                    "security.protocol=SSL",
                    "ssl.truststore.type=PEM",
                    "ssl.truststore.location=/nowhere.pem",
                ],
                "ssl: /nowhere.pem (no such file or directory)",
            ),
            ([f"password {SECRET}"], "line 1: no KEY=VALUE (not shown)"),
            (["a=b", f'"{SECRET}"=x'], "line 2: no KEY=VALUE (not shown)"),
        ],
    )
    def test_what_cannot_be_used(self, tmp_path: Path, lines: list[str], said: str) -> None:
        """One line with the file, the key and what is allowed; no secret."""
        with pytest.raises(InputError) as refused:
            connection(HERE, properties(tmp_path, *lines))
        line = str(refused.value)
        assert said in line
        assert "client.properties" in line
        assert SECRET not in line
        assert len(line) <= LINE_MAX

    def test_no_such_file(self, tmp_path: Path) -> None:
        """Says so."""
        with pytest.raises(InputError, match="no such file"):
            connection(HERE, tmp_path / "none")

    def test_a_key_with_a_password_needs_it(self, tmp_path: Path) -> None:
        """A file of certificates without a key is refused, and nobody is asked for a password."""
        public, both = secure.certificate(tmp_path, "me")
        base = ("security.protocol=SSL", "ssl.keystore.type=PEM")
        good = properties(tmp_path, *base, f"ssl.keystore.location={both}")
        assert connection(HERE, good).client["ssl_context"].check_hostname
        bad = properties(tmp_path, *base, f"ssl.keystore.location={public}")
        with pytest.raises(InputError, match=r"ssl: .*me\.pem \(.*PEM files that can be read"):
            connection(HERE, bad)

    def test_nothing_secret_in_what_is_shown_of_it(self, tmp_path: Path) -> None:
        """Neither its name nor its representation holds a login."""
        made = connection(HERE, scram(tmp_path, f'required username="me" password="{SECRET}";'))
        assert SECRET not in f"{made!r} {made} {made.name}"


class TestNobodyThere:
    """No answer is no cluster."""

    @pytest.fixture
    def silent(self) -> Iterator[int]:
        """Port on which somebody listens and never answers."""
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            yield listener.getsockname()[1]

    def test_a_port_that_never_answers(self, silent: int) -> None:
        """Refused after the time given, in one line."""
        begin = time.monotonic()
        with pytest.raises(Refused, match=r"no broker answers.*nothing was imported") as refused:
            read_live(connection(f"kafka://127.0.0.1:{silent}"), answer_s_max=1)
        assert time.monotonic() - begin < 5
        assert len(str(refused.value).splitlines()) == 1

    def test_a_port_where_nobody_listens(self, silent: int) -> None:
        """Refused too, and a login is not part of the line."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with pytest.raises(Refused, match=r"no broker answers"):
            read_live(connection(f"kafka://127.0.0.1:{port}"), answer_s_max=1)
