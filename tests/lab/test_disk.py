"""The disk of known speed, built and measured beside a plain file."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import pytest
from kafka import KafkaProducer

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.scenarios.hardware import Hardware
from tests.lab.conftest import Laboratory
from tools.lab import disk, nodes
from tools.lab.brokers import up
from tools.lab.settings import Plan

compiled = pytest.mark.skipif(
    not any(map(shutil.which, disk.COMPILERS)), reason="needs a C compiler"
)

MEASURE = """
import json, os, sys, time
def take(call, name, bytes_):
    with open(name, "r+b", buffering=0) as file:
        begin = time.monotonic()
        for _ in range(bytes_ // 65536):
            call(file)
        return time.monotonic() - begin
def write(name): return take(lambda file: file.write(bytes(65536)), name, 6_000_000)
def read(name): return take(lambda file: file.read(65536), name, 6_000_000)
slow, plain = "data-1/0.log", "plain.log"
"""
"""Six megabytes, written to a file on the disk or to one beside it, and read from them."""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node's folder beside a disk that was compiled without a warning."""
    disk.build(tmp_path, "-Wall", "-Wextra", "-Werror")
    folder = tmp_path / "broker-1"
    (folder / "data-1").mkdir(parents=True)
    for name in ("data-1/0.log", "plain.log"):
        (folder / name).touch()
    return folder


def measured(node: Path, given: str, *expressions: str) -> list[float]:
    """Seconds that some expressions say, in one process over a disk."""
    disk.put_under(node, disk.read_disk([given]))
    script = f"{MEASURE}print(json.dumps([{','.join(expressions)}]))"
    assert nodes.start(node, [sys.executable, "-I", "-c", script]).wait(60) == 0
    found: list[float] = json.loads((node / nodes.OUTPUT).read_text())
    return found


@compiled
class TestSpeed:
    """What a process meets."""

    def test_writes_wait_above_the_dirty_limit(self, node: Path) -> None:
        """Five of six megabytes at 10 MB/s are half a second; a file elsewhere waits for none."""
        slow, plain = measured(node, "write=10MB,dirty=1MB", "write(slow)", "write(plain)")
        assert 0.45 < slow < 2
        assert plain < slow / 2

    def test_reads_wait_for_what_the_cache_lost(self, node: Path) -> None:
        """At 20 MB/s: 0.3 s; all else is in the cache."""
        said = ("write(slow)", "read(slow)", "write(plain)", "read(plain)")
        written, slow, _, plain = measured(node, "read=20MB,cache=1MB", *said)
        assert 0.27 < slow < 2
        assert max(written, plain) < slow / 2

    def test_another_speed_counts_while_it_runs(self, node: Path) -> None:
        """After its file was replaced."""
        other = node.parent / "other"
        other.mkdir()
        disk.put_under(other, Hardware(disk_write_bytes_per_s=10**9))
        change = f"os.replace({str(other / disk.SETTINGS)!r}, {disk.SETTINGS!r})"
        said = ("write(slow)", change, "time.sleep(0.2)", "write(slow)")
        slow, *_, fast = measured(node, "write=10MB,dirty=1MB", *said)
        assert fast < slow / 2

    def test_waits_are_listed(self, node: Path) -> None:
        """Each with its call and file; together they are the half second."""
        slow, _ = measured(node, "write=10MB,dirty=1MB", "write(slow)", "write(plain)")
        rows = [line.split("\t") for line in (node / "disk.tsv").read_text().splitlines()]
        waits = [row for row in rows if row[2] == "write"]
        assert {row[4] for row in waits} == {"data-1/0.log"}
        assert 0.4 < sum(int(row[1]) for row in waits) / 1e6 <= slow


class TestOption:
    """``--disk``."""

    def test_amounts(self) -> None:
        """As ``--hardware`` has them, but for the cache, which is small if nothing is said."""
        assert disk.read_disk(["write=2MB,seek=2ms"]).known == {
            "disk_write_bytes_per_s": 2_000_000,
            "disk_seek_us": 2000,
            "cache_bytes": 64_000_000,
        }

    @pytest.mark.parametrize(
        "given", ["write=2", "disk-write=2MB", "nic=1GB", "write=2MB,dirty=1GB"]
    )
    def test_others_are_refused(self, given: str) -> None:
        """In a line that names the option."""
        with pytest.raises(InputError, match=r"^--disk: .*allowed: (NAME=VALUE of write|at most)"):
            disk.read_disk([given])

    def test_without_a_compiler(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Says what to install."""
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(Refused, match=r"^--disk: no C compiler .* install gcc$"):
            disk.build(tmp_path)


@compiled
@pytest.mark.slow
def test_a_broker_runs_over_it(laboratory: Laboratory) -> None:
    """Twelve megabytes at 2 MB/s, of which two may be dirty, take five seconds."""
    home, release = laboratory("3.9.2")
    cluster = up(home, release, Plan(({},), disk=disk.read_disk(["write=2MB,dirty=2MB"])))
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")
    producer.send("t", b"first").get(30)
    begin = time.monotonic()
    sent = [producer.send("t", bytes(100_000)) for _ in range(120)]
    for one in sent:
        one.get(60)
    assert 4 < time.monotonic() - begin < 30
    producer.close()
    assert "\twrite\t" in (cluster.folder / "broker-1" / "disk.tsv").read_text()
