"""Configurations: names, identities, parameters, twins."""

import pytest

from isr_pipeline.experiment.file import Experiment, Group, load_experiment
from isr_pipeline.experiment.grid import MAIN_PARAMS, Configuration, configurations


@pytest.fixture(scope="module")
def nightly() -> tuple[Configuration, ...]:
    """The configurations of the default experiment."""
    return configurations(load_experiment("nightly"))


def only(**group: object) -> tuple[Configuration, ...]:
    """Give the configurations of the smoke experiment with one group of one's own."""
    experiment: Experiment = load_experiment("smoke")
    mine = Group.model_validate({"name": "mine", **group})
    return configurations(experiment.model_copy(update={"groups": (*experiment.groups, mine)}))


class TestNightly:
    """What the default experiment asks."""

    def test_size(self, nightly: tuple[Configuration, ...]) -> None:
        """About forty configurations, all of different identity."""
        assert len(nightly) == 41
        assert len({one.config_id for one in nightly}) == 41

    def test_solution_2(self, nightly: tuple[Configuration, ...]) -> None:
        """Solution 2 over five limits, and no other configuration varies them."""
        key = "follower.fetch.process.time.max.ms"
        limits = {one.params[key] for one in nightly if one.params["rules.kip501"] == "s2"}
        others = {one.params[key] for one in nightly if one.params["rules.kip501"] != "s2"}
        assert limits == {100, 250, 500, 1000, 5000}
        assert others == {500}

    @pytest.mark.parametrize(
        ("key", "values"),
        [
            ("rules.kip501", {"none", "s1-doc", "s1-pr", "s2", "li-transfer"}),
            ("rules.fetcher", {"legacy", "kip-461"}),
            ("rules.isr_lock", {"none", "completion", "rw_always", "rw_precheck"}),
            ("min.insync.replicas", {1, 2}),
            ("replica.lag.time.max.ms", {10000, 30000}),
            ("num.replica.fetchers", {1, 4}),
            (
                "cluster.release",
                {
                    "0.8.2",
                    "0.9-0.10.1",
                    "4485-doc",
                    "0.10.2-2.0",
                    "2.1-2.6",
                    "2.7-3.2",
                    "3.3-3.6",
                    "3.7+",
                },
            ),
        ],
    )
    def test_axes(self, nightly: tuple[Configuration, ...], key: str, values: set[object]) -> None:
        """Every value that the questions are about is there."""
        assert {one.params[key] for one in nightly} == values

    def test_reference(self, nightly: tuple[Configuration, ...]) -> None:
        """The reference is today's Kafka with its defaults."""
        reference = next(one for one in nightly if one.name == "today")
        assert reference.overrides == {}
        assert reference.params["replica.lag.time.max.ms"] == 30000

    def test_params_are_filled(self, nightly: tuple[Configuration, ...]) -> None:
        """All configurations have the same parameters, the main ones first."""
        keys = {tuple(one.params) for one in nightly}
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
