"""Real brokers: started, known, killed, ended (`make test-slow`)."""

from __future__ import annotations

import psutil
import pytest

from isr_pipeline.base.errors import Refused
from tests.lab.conftest import Laboratory
from tools.lab import nodes
from tools.lab.brokers import clusters, down, up
from tools.lab.listing import listing
from tools.lab.release import EXAMPLES
from tools.lab.settings import Plan
from tools.lab.tools import release_java, run_tool

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_cluster_lives_and_ends(laboratory: Laboratory, name: str) -> None:
    """Two brokers come up with a setting; a killed one is seen; the next start cleans up."""
    home, release = laboratory(name)
    plan = Plan(({}, {}), {"replica.lag.time.max.ms": "5000"})
    first = up(home, release, plan)
    assert [row["state"] for row in listing(home) if row["release"] == name] == ["up"]
    with pytest.raises(Refused, match=f"Kafka {name} is up already at 127"):
        up(home, release, plan)
    where = ("--bootstrap-server", first.bootstrap, "--describe", "--entity-type", "brokers")
    said = run_tool(release_java(home, release), "configs", *where, "--entity-name", "2", "--all")
    assert "replica.lag.time.max.ms=5000 sensitive=false" in said
    pids = {node.name: nodes.recorded(first.folder / node.name) for node in first.nodes}
    broker = pids["broker-2"]
    assert broker is not None
    psutil.Process(broker.pid).kill()
    psutil.wait_procs([psutil.Process(broker.pid)], timeout=10)
    assert [one.state for one in clusters(home)] == ["partly"]
    second = up(home, release, plan)
    assert second.state == "up"
    assert all(one is not None and one.found() is None for one in pids.values())
    assert down(home) == [name]
    assert clusters(home) == []
    assert not second.folder.exists()
