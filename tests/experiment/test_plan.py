"""The plan of a night."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.base.compiling import KERNEL_ROOMS
from isr_pipeline.base.errors import InputError
from isr_pipeline.experiment.plan import (
    Plan,
    _filled,
    _named,
    _runs,
    code_version,
    make_plan,
)
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.panels import panel_digest
from tests.approved import Approved
from tests.saying import refused

NIGHT = "2026-11-19"


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The plan of a smoke night."""
    return make_plan("smoke", NIGHT)


def test_round_trip(plan: Plan, tmp_path: Path) -> None:
    """A saved plan is read back as it was, and draws the same panels."""
    read = Plan.load(plan.save(tmp_path / "a" / "plan.json"))
    assert read == plan
    drawn = draw_panel(read.definition.source, "regression")
    assert panel_digest(drawn) == plan.panel_digest
    assert read.definition.digest == plan.experiment_digest
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["plan.json"]


def test_same_again(plan: Plan) -> None:
    """Planning a night again gives the same plan."""
    assert make_plan("smoke", NIGHT) == plan


def test_shards(plan: Plan) -> None:
    """Every configuration is in exactly one shard, in order, and shards are named as groups."""
    assert [shard.name for shard in plan.shards] == ["base-rules", "kip-501"]
    ids = [config_id for shard in plan.shards for config_id in shard.config_ids]
    assert ids == [one.config_id for one in plan.configurations]


def test_many_groups_share_shards() -> None:
    """Seven groups are three shards of neighbours, about as large as one another."""
    plan = make_plan("operators", NIGHT, 20)
    assert [shard.name for shard in plan.shards] == [
        "reference+published-advice+lag-limit",
        "min-isr+upgraded+unclean",
        "session+fetchers",
    ]
    assert [len(shard.config_ids) for shard in plan.shards] == [8, 7, 7]
    ids = [config_id for shard in plan.shards for config_id in shard.config_ids]
    assert ids == [one.config_id for one in plan.configurations]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(1, 6))
def test_runs_of_groups(sizes: list[int], most: int) -> None:
    """Every group once, in order, in few runs, and no smaller largest run would do."""
    named = {f"g{index}": size for index, size in enumerate(sizes)}
    runs = _runs(named, most)
    assert [name for run in runs for name in run] == list(named)
    assert len(runs) <= most
    largest = max(sum(named[name] for name in run) for run in runs)
    if largest > max(sizes):
        assert len(_filled(named, largest - 1)) > most


def test_a_shard_of_many_long_names() -> None:
    """Its name is that of a folder: the first group and how many more."""
    assert _named(["min-isr", "unclean"]) == "min-isr+unclean"
    assert _named(["a" * 60, "b" * 60, "c"]) == f"{'a' * 60}+2-more"


def test_panel_size() -> None:
    """Another panel size changes both panels."""
    small, large = make_plan("smoke", NIGHT, 6), make_plan("smoke", NIGHT, 20)
    assert small.panels == {"regression": 6, "confirm": 6}
    assert large.panels == {"regression": 20, "confirm": 20}
    assert small.panel_digest != large.panel_digest
    assert len(list(draw_panel(large.definition.source, "regression"))) == 20


def test_wrong_panel_size() -> None:
    """A panel has room for every stratum."""
    assert refused(lambda: make_plan("smoke", NIGHT, 2)).endswith(
        "smoke.yaml: panel size: 2; allowed: at least 4 (one scenario of every stratum)"
    )


def test_nights_share_their_panels(plan: Plan) -> None:
    """Two nights have the same regression and confirm panels."""
    other = make_plan("smoke", "2026-11-20")
    assert (other.panel_digest, other.confirm_digest) == (plan.panel_digest, plan.confirm_digest)


def test_load_missing(tmp_path: Path) -> None:
    """A plan that is not there is said so."""
    assert refused(lambda: Plan.load(tmp_path / "plan.json")) == (
        f"{tmp_path}/plan.json: no such file or directory; allowed: a plan written by this program"
    )


def test_of_a_profile_that_cannot_be_drawn_from_any_more(
    plan: Plan, tmp_path: Path, approved: Approved
) -> None:
    """An older release planned it: the line says what to do."""
    file = Path(str(plan.save(tmp_path / "plan.json")))
    raw = json.loads(file.read_text())
    raw["definition"]["profile"]["strata"]["follower"]["patterns"] = {"slow_read": 1}
    file.write_text(json.dumps(raw))
    with approved.refusal(InputError, FOLDER=tmp_path):
        Plan.load(file)


def test_code_version_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git the package's version stands in; the kernel's digest is there in any case."""
    assert re.fullmatch(r"\S+\+kernel\.[0-9a-f]{12}", code_version())
    monkeypatch.setenv("PATH", "")
    code_version.cache_clear()
    assert re.fullmatch(r"[0-9][0-9a-z.]*\+kernel\.[0-9a-f]{12}", code_version())
    code_version.cache_clear()
    assert KERNEL_ROOMS == ("kafka", "simulation", "scenarios", "worlds")
