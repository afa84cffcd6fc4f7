"""What the failure of a log dir does to its broker."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.log_dirs import DirFailure, holds_metadata, on_dir_failure
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.kafka.releases import RULE_SETS, switches

FIRST, SECOND = 0, 1


def failure(number: str, log_dir: int, dirs_left: int, controller: str) -> DirFailure:
    """What happens to a broker of a release of Kafka."""
    rules = switches(rule_set_of(str(rule_set_text(number))), controller=controller)
    return on_dir_failure(rules, log_dir, dirs_left)


@pytest.mark.parametrize("number", ["0.8.2.2", "0.10.2.2", "0.11.0.2"])
def test_to_0_11_any_io_error_halts(number: str) -> None:
    """KIP-112 came with 1.0."""
    assert failure(number, SECOND, 3, "zookeeper") is DirFailure.HALTS


@pytest.mark.parametrize(
    ("number", "controller"),
    [("1.0.0", "zookeeper"), ("2.4.1", "zookeeper"), ("3.6.2", "kraft"), ("4.3.1", "kraft")],
)
def test_the_last_dir_halts(number: str, controller: str) -> None:
    """LogManager.handleLogDirFailure, in every release since."""
    assert failure(number, SECOND, 0, controller) is DirFailure.HALTS


@pytest.mark.parametrize(
    ("number", "controller"),
    [("1.0.0", "zookeeper"), ("3.6.2", "zookeeper"), ("3.7.0", "kraft"), ("4.3.1", "kraft")],
)
def test_another_dir_is_told(number: str, controller: str) -> None:
    """By ZooKeeper from 1.0 on, by AssignReplicasToDirs and heartbeats from 3.7 on (KIP-858)."""
    assert failure(number, SECOND, 1, controller) is DirFailure.TOLD


@pytest.mark.parametrize("log_dir", [FIRST, SECOND])
@pytest.mark.parametrize("number", ["2.8.2", "3.6.2"])
def test_kraft_to_3_6_tells_nobody(number: str, log_dir: int) -> None:
    """Its log says that it cannot, and no leader moves [R 3.6.2]."""
    assert failure(number, log_dir, 1, "kraft") is DirFailure.SILENT


@pytest.mark.parametrize("number", ["3.7.0", "3.9.1", "4.3.1"])
def test_the_dir_of_the_metadata_log_halts_from_3_7_on(number: str) -> None:
    """Whatever other dirs there are."""
    assert failure(number, FIRST, 3, "kraft") is DirFailure.HALTS


def test_under_zookeeper_no_dir_holds_metadata() -> None:
    """The first is one of several."""
    assert failure("3.9.1", FIRST, 1, "zookeeper") is DirFailure.TOLD
    assert not holds_metadata(switches(RULE_SETS["3.7-3.9"], controller="zookeeper"), FIRST)
