"""What right scenario files mean."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.reading import parse_mapping, parse_value
from isr_pipeline.kafka.releases import RELEASES
from isr_pipeline.scenarios.faults import Pause, ReadStall
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import (
    apply,
    canonical_json,
    check_overrides,
    parse_scenario,
    scenario_from_json,
    with_settings,
)
from tests.saying import refused
from tests.scenarios.test_refusals import LIBRARY, good
from tests.tables import from_table

LIBRARY_FILES = sorted(LIBRARY.glob("*.yaml"))


class TestDefaults:
    """What is not written."""

    def test_service_follows_the_controller(self) -> None:
        """AlterPartition takes 30 ms under KRaft, 8 ms under ZooKeeper, or what is given."""
        raw = good()
        assert parse_scenario(raw, "F").service.alter_partition_ms == 30
        raw["cluster"]["controller"] = "zookeeper"
        assert parse_scenario(raw, "F").service.alter_partition_ms == 8
        raw["service"] = {"alter_partition_ms": 20}
        assert parse_scenario(raw, "F").service.alter_partition_ms == 20

    def test_rules_are_the_releases(self) -> None:
        """A switch that is not given is null: the release decides."""
        assert set(dict(parse_scenario(good(), "F").rules).values()) == {None}

    def test_warmup(self) -> None:
        """Five seconds, or none where the horizon is no longer than that."""
        assert parse_scenario(good(), "F").warmup_ms == 5000
        raw = good(horizon_ms=5000)
        assert parse_scenario(raw, "F").warmup_ms == 0

    def test_fault_defaults(self) -> None:
        """A read stall meets the handler's reads of all partitions."""
        fault = {"kind": "read_stall", "broker": 1001, "start_ms": 1, "duration_ms": 2}
        stall = parse_scenario(good(faults=[fault]), "F").faults[0]
        assert isinstance(stall, ReadStall)
        assert (stall.stage, stall.partitions, stall.reads) == ("handler", "all", ("all",))


class TestForms:
    """Several ways to write the same."""

    def test_numbers(self) -> None:
        """20000.0 is a whole number, and the same scenario."""
        one = parse_scenario(good(horizon_ms=20000.0), "F")
        assert canonical_json(one) == canonical_json(parse_scenario(good(horizon_ms=20000), "F"))

    def test_keys_as_text(self) -> None:
        """Broker and partition keys may be texts; the order in the file does not matter."""
        topics = [{"name": "t", "assignment": {"1": [1001], 0: [1002]}}]
        scenario = parse_scenario(good(topics=topics, faults=[]), "F")
        assert list(scenario.topics[0].assignment) == [0, 1]

    def test_one_stream(self) -> None:
        """A single stream may stand without a list."""
        topic = {"name": "t", "assignment": {"0": [1001]}, "produce": {"records_per_s": 5}}
        scenario = parse_scenario(good(topics=[topic], faults=[]), "F")
        assert [stream.records_per_s for stream in scenario.topics[0].produce] == [5]

    def test_json_is_yaml(self, tmp_path: Path) -> None:
        """A JSON file says the same as a YAML file, tabs and surrogate pairs included."""
        raw = good(scenario_id="\U0001f9ea")
        path = tmp_path / "f.json"
        path.write_text(json.dumps(raw, indent="\t"))
        assert load_scenario(path) == parse_scenario(raw, "F")

    def test_plain_alias(self) -> None:
        """An alias that does not multiply is an ordinary way to write."""
        mapping = parse_mapping("a: &x {b: [1, 2]}\nc: *x\n", "F")
        assert mapping == {"a": {"b": [1, 2]}, "c": {"b": [1, 2]}}

    @from_table
    def test_scalars(self, text: str, value: object) -> None:
        """Scalars are YAML 1.2's core schema: no dates, no yes and no."""
        assert parse_value(text, "F") == value

    def test_window_at_the_horizon(self) -> None:
        """A window may end exactly at the horizon, also where floats do not add up."""
        fault = {"kind": "pause", "broker": 1001, "start_ms": 0.1, "duration_ms": 0.2}
        scenario = parse_scenario(good(horizon_ms=0.3, faults=[fault]), "F")
        (pause,) = scenario.faults
        assert isinstance(pause, Pause)
        assert pause.duration_ms == 0.2

    def test_key_of_another_release(self) -> None:
        """A key of another release or controller is accepted and unused."""
        config = {"zookeeper.session.timeout.ms": 5, "replica.lag.max.messages": 7}
        assert parse_scenario(good(config=config), "F").config == config


class TestSettings:
    """``--set KEY=VALUE``."""

    def test_kafka_key(self) -> None:
        """A Kafka key goes under config."""
        raw = with_settings(good(), ["replica.lag.time.max.ms=4000"], "F")
        assert parse_scenario(raw, "F").config == {"replica.lag.time.max.ms": 4000}

    def test_paths(self) -> None:
        """A dotted path goes into the file, into lists too, making mappings where there is none."""
        settings = ["rules.kip501=s2", "faults[0].start_ms=77", "service.metadata_ms=[1, 2]"]
        scenario = parse_scenario(with_settings(good(), settings, "F"), "F")
        assert scenario.rules.kip501 == "s2"
        assert scenario.faults[0].start_ms == 77
        assert scenario.service.metadata_ms == (1, 2)

    def test_the_file_is_left_alone(self) -> None:
        """What was read is not changed."""
        raw = good()
        with_settings(raw, ["cluster.release=3.3-3.6"], "F")
        assert raw == good()


class TestApply:
    """A configuration laid over a scenario."""

    def test_is_the_same_as_a_file_written_so(self) -> None:
        """Overrides and settings lead to the same scenario."""
        overrides = {
            "replica.lag.time.max.ms": 4000,
            "cluster.release": "0.10.2-2.0",
            "cluster.controller": "zookeeper",
            "rules.isr_lock": "none",
            "service.send_us": 10,
        }
        settings = [f"{key}={value}" for key, value in overrides.items()]
        written = parse_scenario(with_settings(good(), settings, "F"), "F")
        assert apply(parse_scenario(good(), "F"), overrides) == written

    def test_dependent_defaults_follow(self) -> None:
        """The default of AlterPartition's time follows the controller, a given value stays."""
        given_value = parse_scenario(good(service={"alter_partition_ms": 30}), "F")
        moved = {"cluster.controller": "zookeeper"}
        assert apply(parse_scenario(good(), "F"), moved).service.alter_partition_ms == 8
        assert apply(given_value, moved).service.alter_partition_ms == 30

    @from_table
    def test_wrong_overrides(self, overrides: dict[str, object], line: str) -> None:
        """An override is refused with its path."""
        assert refused(lambda: check_overrides(overrides, "F", "base")).startswith(f"F: {line}")


class TestJson:
    """The canonical line of a scenario."""

    @pytest.mark.parametrize("path", LIBRARY_FILES, ids=lambda path: path.stem)
    def test_round_trip(self, path: Path) -> None:
        """Reading the line gives the scenario, and writing that the line."""
        scenario = load_scenario(path)
        line = canonical_json(scenario)
        assert scenario_from_json(line) == scenario
        assert canonical_json(scenario_from_json(line)) == line


class TestLibrary:
    """The scenario files that come with the project."""

    @pytest.mark.parametrize("path", LIBRARY_FILES, ids=lambda path: path.stem)
    def test_named_and_explained(self, path: Path) -> None:
        """Each is called as its file, and headed by what must emerge."""
        assert load_scenario(path).scenario_id == path.stem
        assert "# What must emerge: " in path.read_text()

    @pytest.mark.parametrize("path", LIBRARY_FILES, ids=lambda path: path.stem)
    def test_settings_in_the_header(self, path: Path) -> None:
        """Every ``--set`` that a header proposes can be set."""
        words = " ".join(path.read_text().replace("\n#", " ").split())
        settings = [part.split(" ")[0].rstrip(".,;:)") for part in words.split("--set ")[1:]]
        for setting in settings:
            load_scenario(path, [setting])

    def test_all_there(self) -> None:
        """The proposals' own examples, one for each phenomenon, and operators' situations."""
        rows = [*range(1, 18), "3a", "3b", "3c", "10b"]
        wanted = {"kip-501-example", "blog-burst", "kafka-4485", "kip-461"}
        of_operators = {"broker-pauses", "leader-dies", "rolling-restart", "zone-cut-off"}
        phenomena = {f"w{row}" for row in rows}
        assert {path.stem for path in LIBRARY_FILES} == wanted | phenomena | of_operators


@given(st.sampled_from(RELEASES), st.integers(2, 10**6))
def test_phase_below_the_period(release: str, lag: int) -> None:
    """The first tick may lie anywhere below the period, and not at it."""
    period = lag if release in ("0.8.2", "0.9-0.10.1") else lag // 2
    raw = good(config={"replica.lag.time.max.ms": lag, "replica.fetch.wait.max.ms": 0})
    raw["cluster"] |= {"release": release, "controller": "zookeeper"}
    raw["cluster"]["isr_expiration_phase_ms"] = {"1001": period - 0.001}
    assert parse_scenario(raw, "F").cluster.isr_expiration_phase_ms == {1001: period - 0.001}
    raw["cluster"]["isr_expiration_phase_ms"] = {"1001": period}
    with pytest.raises(InputError):
        parse_scenario(raw, "F")
