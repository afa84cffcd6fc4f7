"""Configurations: names, identities, parameters, twins."""

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.experiment.configurations import MAIN_PARAMS, Configuration, configurations
from isr_pipeline.experiment.file import Experiment, Group, load_experiment
from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.kafka.releases import RELEASES

PROPOSED = {"follower.fetch.pending.reads.insync.enable", "follower.fetch.process.time.max.ms"}
"""Keys that no released broker has (KIP-501)."""


@pytest.fixture(scope="module")
def shipped() -> dict[str, tuple[Configuration, ...]]:
    """The configurations of the shipped experiments."""
    names = ("operators", "proposals", "history")
    return {name: configurations(load_experiment(name)) for name in names}


Shipped = dict[str, tuple[Configuration, ...]]


def only(**group: object) -> tuple[Configuration, ...]:
    """Give the configurations of the smoke experiment with one group of one's own."""
    experiment: Experiment = load_experiment("smoke")
    mine = Group.model_validate({"name": "mine", **group})
    return configurations(experiment.model_copy(update={"groups": (*experiment.groups, mine)}))


def test_what_does_not_fit_is_refused() -> None:
    """Before a night begins: the line says which configuration, and the formula."""
    experiment = load_experiment("smoke")
    wide = {"brokers": [*range(1100)], "release": "3.7-3.9", "controller": "kraft"}
    topics = [{"name": "t", "partitions": 3, "replication_factor": 3}]
    cluster = experiment.cluster.model_copy(update={"cluster": wide, "topics": topics})
    mine = Group.model_validate(
        {"name": "mine", "candidates": [{"name": "wide", "set": {"num.io.threads": 1024}}]}
    )
    changed = {"cluster": cluster, "groups": (mine,), "reference": "wide"}
    with pytest.raises(InputError) as refused:
        configurations(experiment.model_copy(update=changed))
    assert str(refused.value.at_line(0)) == (
        f"{experiment.where}: groups[0].candidates[0]: topics: 1137458 entities = 4 x 14 fetcher "
        "threads + 3 x 0 streams + 1034 x 1100 brokers + 2; allowed: at most 1048575"
    )


@pytest.mark.parametrize("kind", ["candidates", "grids"])
def test_what_no_broker_starts_with_is_refused(kind: str) -> None:
    """A fetch wait above the lag limit, which is the experiment's base here."""
    setting = {"replica.fetch.wait.max.ms": 4001}
    of_kind = {
        "candidates": {"name": "c", "set": setting},
        "grids": {
            "name": "g",
            "axes": {"num.io.threads": {"label": "io", "values": [4]}},
            "set": setting,
        },
    }
    with pytest.raises(InputError) as refused:
        only(**{kind: [of_kind[kind]]})
    assert str(refused.value.at_line(0)) == (
        f"{load_experiment('smoke').where}: groups[2].{kind}[0].set.replica.fetch.wait.max.ms: "
        "4001; allowed: at most replica.lag.time.max.ms (4000): no broker from 0.8.1 on "
        "(here 4.1+) starts with more"
    )


def test_a_value_of_the_base_is_named_there() -> None:
    """All configurations have it: the line names no place in the first of them."""
    experiment = load_experiment("smoke")
    lag = "replica.lag.time.max.ms"
    with pytest.raises(InputError) as refused:
        configurations(experiment.model_copy(update={"base": {lag: 400}}))
    said = str(refused.value.at_line(0))
    assert said.startswith(f"{experiment.where}: base.{lag}: 400; allowed: at least ")


class TestShipped:
    """What the shipped experiments ask."""

    @pytest.mark.parametrize(
        ("name", "size"), [("operators", 22), ("proposals", 26), ("history", 13)]
    )
    def test_size(self, shipped: Shipped, name: str, size: int) -> None:
        """So many configurations, all of different identity."""
        assert len(shipped[name]) == size
        assert len({one.config_id for one in shipped[name]}) == size

    def test_operators_change_keys_alone(self, shipped: Shipped) -> None:
        """A broker of today's release can be given every configuration: Kafka's own keys only."""
        for one in shipped["operators"]:
            assert set(one.overrides) <= set(KEYS) - PROPOSED

    def test_one_panel(self) -> None:
        """All three draw the same scenarios: figures of one can be read beside another's."""
        sources = {
            (one.seed, one.horizon_ms, one.panels, one.profile.model_dump_json())
            for one in map(load_experiment, ("operators", "proposals", "history"))
        }
        assert len(sources) == 1

    def test_solution_2(self, shipped: Shipped) -> None:
        """Solution 2 over five limits, and no other configuration varies them."""
        key, every = "follower.fetch.process.time.max.ms", shipped["proposals"]
        limits = {one.params[key] for one in every if one.params["rules.kip501"] == "s2"}
        others = {one.params[key] for one in every if one.params["rules.kip501"] != "s2"}
        assert limits == {100, 250, 500, 1000, 5000}
        assert others == {500}

    @pytest.mark.parametrize(
        ("name", "key", "values"),
        [
            ("operators", "replica.lag.time.max.ms", {10000, 15000, 20000, 26000, 30000, 60000}),
            ("operators", "min.insync.replicas", {1, 2, 3}),
            ("operators", "num.replica.fetchers", {1, 2, 4}),
            ("operators", "broker.session.timeout.ms", {6000, 9000, 12000, 18000}),
            ("operators", "eligible.leader.replicas.version", {0, 1}),
            ("operators", "unclean.leader.election.enable", {False, True}),
            ("operators", "cluster.release", {"4.1+"}),
            ("proposals", "rules.kip501", {"none", "s1-doc", "s1-pr", "s2", "li-transfer"}),
            ("proposals", "rules.isr_lock", {"none", "rw_precheck"}),
            ("history", "rules.fetcher", {"legacy", "kip-461"}),
            ("history", "rules.isr_lock", {"none", "completion", "rw_always", "rw_precheck"}),
            ("history", "cluster.release", {*RELEASES, rule_set_text("2.5")}),
        ],
    )
    def test_axes(self, shipped: Shipped, name: str, key: str, values: set[object]) -> None:
        """Every value that the questions are about is there."""
        assert {one.params[key] for one in shipped[name]} == values

    @pytest.mark.parametrize("name", ["operators", "proposals", "history"])
    def test_reference(self, shipped: Shipped, name: str) -> None:
        """The reference is the cluster as it stands: today's Kafka, and min ISR 2."""
        reference = next(one for one in shipped[name] if one.name == "today")
        assert reference.overrides == {}
        assert reference.params["replica.lag.time.max.ms"] == 30000
        assert reference.params["min.insync.replicas"] == 2

    def test_params_are_filled(self, shipped: Shipped) -> None:
        """All configurations have the same parameters, the main ones first."""
        keys = {tuple(one.params) for one in shipped["operators"]}
        assert len(keys) == 1
        assert next(iter(keys))[: len(MAIN_PARAMS)] == MAIN_PARAMS


class TestIdentity:
    """Names and ids."""

    def test_grid_points_are_named_by_their_values(self) -> None:
        """In the order of the axes, the last one fastest."""
        axes = {
            "num.io.threads": {"label": "io", "values": [4, 6]},
            "rules.kip501": {"label": "k", "values": ["li-transfer"]},
        }
        points = [one for one in only(grids=[{"name": "g", "axes": axes}]) if one.is_grid]
        assert [one.name for one in points] == ["g@io=4,k=li-transfer", "g@io=6,k=li-transfer"]
        assert points[0].overrides == {
            "replica.lag.time.max.ms": 4000,
            "eligible.leader.replicas.version": 0,
            "num.io.threads": 4,
            "rules.kip501": "li-transfer",
        }

    def test_id_does_not_depend_on_the_name(self) -> None:
        """The id is that of the values."""
        one = only(candidates=[{"name": "a", "set": {"num.io.threads": 5}}])[-1]
        other = only(candidates=[{"name": "b", "set": {"num.io.threads": 5.0}}])[-1]
        assert one.config_id == other.config_id

    def test_default_written_out_is_the_same_value(self) -> None:
        """A default written out makes a twin."""
        with pytest.raises(ValueError, match="copy does the same as today"):
            only(candidates=[{"name": "copy", "set": {"num.io.threads": 8}}])

    @pytest.mark.parametrize(
        "overrides",
        [
            {"follower.fetch.process.time.max.ms": 100},
            {"rules.kip501": "s1-doc"},
            {"follower.fetch.pending.reads.insync.enable": True},
            {"zookeeper.session.timeout.ms": 7000},
            {"replica.lag.max.messages": 3},
            {"rules.s2_cooldown_ms": 3},
            {"background.threads": 3},
            {"service.isr_zk_write_ms": 3},
        ],
    )
    def test_twins(self, overrides: dict[str, object]) -> None:
        """A key that nothing reads under the rules chosen makes no other configuration."""
        with pytest.raises(ValueError, match="twin does the same as today"):
            only(candidates=[{"name": "twin", "set": overrides}])
