"""Every wrong scenario file is refused in one line that names field, value and what is allowed."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files import reading
from isr_pipeline.base.files.reading import parse_mapping
from isr_pipeline.base.files.words import with_list
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.scenarios import faults, patterns
from isr_pipeline.scenarios.faults import KINDS
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import (
    canonical_json,
    parse_scenario,
    scenario_from_json,
    with_settings,
)
from isr_pipeline.scenarios.profile import load_profile
from tests.approved import Approved
from tests.saying import refused
from tests.tables import from_table, table_of

GOOD = """
scenario_id: x
horizon_ms: 60000
cluster: {release: "3.7-3.9", controller: kraft, brokers: [1001, 1002, 1003]}
topics: [{name: t, partitions: 2, replication_factor: 2}]
faults: [{kind: crash, broker: 1001, start_ms: 10}]
"""
LAG, WAIT = "replica.lag.time.max.ms", "replica.fetch.wait.max.ms"
ALL_KINDS = ", ".join(KINDS)


def good(**changes: Any) -> dict[str, Any]:
    """Give a scenario that is right but for the changes."""
    return {**copy.deepcopy(parse_mapping(GOOD, "F")), **changes}


def refusal(raw: dict[str, Any]) -> str:
    """Give the error line of a scenario."""
    with pytest.raises(InputError) as caught:
        parse_scenario(raw, "F")
    return str(caught.value)


def at_of(raw: dict[str, Any]) -> str:
    """Give the key at which a scenario is refused; empty if it is not."""
    try:
        parse_scenario(raw, "F")
    except InputError as error:
        return error.field.removeprefix("config.")
    return ""


def test_success() -> None:
    """The scenario that the others vary is accepted."""
    assert parse_scenario(good(), "F").topics[0].assignment == {0: (1001, 1002), 1: (1002, 1003)}


@from_table
def test_top_level(change: str, line: str) -> None:
    """Fields of the file itself, rules and service."""
    assert refusal(good(**parse_mapping(change, "F"))) == f"F: {line}"


@pytest.mark.parametrize("field", ["scenario_id", "horizon_ms", "cluster", "topics"])
def test_required(field: str) -> None:
    """Each required field is missed by name."""
    raw = good()
    del raw[field]
    assert refusal(raw).startswith(f"F: {field}: missing; allowed: ")


@from_table
def test_cluster(change: str, line: str) -> None:
    """Fields of the cluster."""
    raw = good()
    raw["cluster"] |= parse_mapping(change, "F")
    assert refusal(raw) == f"F: cluster.{line}"


@from_table
def test_topic(topic: str, line: str) -> None:
    """Fields of a topic and its load."""
    raw = good(topics=[parse_mapping(topic, "F")], faults=[])
    assert refusal(raw) == f"F: topics[0].{line}"


def test_topic_twice() -> None:
    """A topic's name is its own."""
    topic = {"name": "t", "assignment": {"0": [1001]}}
    assert refusal(good(topics=[topic, topic])) == "F: topics[1].name: t; allowed: each topic once"


@from_table
def test_fault(fault: str, line: str) -> None:
    """Fields of the faults; the second of two is named by its place."""
    raw = good()
    raw["faults"].append(parse_mapping(fault, "F"))
    assert refusal(raw) == f"F: faults[1].{line.replace('EVERY KIND', ALL_KINDS)}"


class TestFormer:
    """What a scenario or a fault profile of an older release names and there is no more."""

    PROFILE = """
    incidents: {disk: {per_year: 1, of: disk, scenarios: {a.pause: 1}}}
    strata: {a: {sample: 1, patterns: {pause: 1}}}
    parameters: {pause.duration_ms: {uniform: [1, 2]}}
    """

    def profile(self, old: str, new: str) -> None:
        """Read the profile with another text in one place."""
        load_profile(parse_mapping(self.PROFILE.replace(old, new, 1), "F"), "F")

    def test_none_is_there(self) -> None:
        """Nothing has a former name, and what to write instead is there."""
        assert not {*faults.FORMER} & {*KINDS}
        assert not {*patterns.FORMER} & {*patterns.PATTERNS}
        assert {*patterns.FORMER.values()} <= {*patterns.PATTERNS}

    def test_a_kind(self, approved: Approved) -> None:
        """The line has the kinds that take its place."""
        slow = {"kind": "slow_read", "broker": 1001, "start_ms": 1, "duration_ms": 1, "read_ms": 1}
        with approved.refusal(InputError):
            parse_scenario(good(faults=[slow]), "F")

    def test_a_kind_that_was_drawn(self, approved: Approved) -> None:
        """A panel of an older release has it."""
        line = canonical_json(parse_scenario(good(), "F")).replace("crash", "slow_read")
        with approved.refusal(InputError):
            scenario_from_json(line)

    def test_a_pattern(self, approved: Approved) -> None:
        """In a stratum."""
        with approved.refusal(InputError):
            self.profile("patterns: {pause", "patterns: {slow_read")

    def test_a_pattern_among_incidents(self, approved: Approved) -> None:
        """As what stands for an incident."""
        with approved.refusal(InputError):
            self.profile("a.pause: 1", "a.pause: 1, a.slow_read: 1")

    def test_a_parameter(self, approved: Approved) -> None:
        """Nothing draws it, nor one of the like."""
        with approved.refusal(InputError):
            self.profile(
                "{pause.duration_ms", "{slow_read.read_ms: {uniform: [1, 2]}, pause.duration_ms"
            )


@from_table
def test_config(config: str, line: str) -> None:
    """Kafka's keys, their types and ranges."""
    assert refusal(good(config=parse_mapping(config, "F"))) == f"F: config.{line}"


class TestBounds:
    """Keys that KafkaConfig checks together."""

    @from_table
    def test_of_the_cluster(self, config: dict[str, int], line: str) -> None:
        """The line stands at a key that was given, and names the other with its value."""
        assert refusal(good(config=config)) == f"F: {line}"

    @from_table
    def test_by_release(self, release: str, config: dict[str, int], at: str) -> None:
        """A release whose broker starts with it takes it, another refuses it at a key given."""
        raw = good(config=config)
        raw["cluster"] |= {"release": rule_set_text(release), "controller": "zookeeper"}
        assert at_of(raw) == at

    def test_the_default_of_the_release(self) -> None:
        """A wait that 4.1's lag limit of 30 s allows is above that of 2.2, which is 10 s."""
        raw = good(config={WAIT: 20000})
        parse_scenario(raw, "F")
        raw["cluster"] |= {"release": "2.1-2.6", "controller": "zookeeper"}
        assert refusal(raw).startswith(f"F: config.{WAIT}: 20000; allowed: at most {LAG} (10000)")

    def test_of_one_broker(self) -> None:
        """A broker's own lag limit has to fit the cluster's wait."""
        raw = good(config={WAIT: 1000})
        raw["cluster"]["broker_settings"] = {1002: {LAG: 999}}
        assert refusal(raw).startswith(
            f"F: cluster.broker_settings.1002.{LAG}: 999; allowed: at least {WAIT} (1000)"
        )

    def test_what_every_broker_has_of_its_own(self) -> None:
        """What no broker takes from the cluster keeps none from starting."""
        raw = good(config={WAIT: 1000, LAG: 999})
        raw["cluster"]["broker_settings"] = {
            broker: {LAG: 1000} for broker in raw["cluster"]["brokers"]
        }
        assert parse_scenario(raw, "F").config == {WAIT: 1000, LAG: 999}


@from_table
def test_file(tmp_path: Path, content: str, line: str) -> None:
    """Files that are no single mapping without tags, duplicates and dangling aliases."""
    path = tmp_path / "f.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    colon = " " if line[0].isupper() else ": "
    assert str(caught.value.at_line(0)) == f"{path}{colon}{line}"


def test_alias_bomb(tmp_path: Path) -> None:
    """Aliases that multiply are refused before they unfold."""
    lines = ["a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"the alias \*a3 multiplies; allowed: aliases that"):
        load_scenario(path)


HURTING = [
    ("[" * 20_000, "line 1: nested too deeply; allowed: at most 50 levels"),
    ("- " * 20_000 + "1", "line 1: nested too deeply; allowed: at most 50 levels"),
    ('{"a":' * 20_000, "nested too deeply; allowed: at most 50 levels"),
    ("- 1\n" * 100_001, "100001 lines and commas; allowed: at most 100000"),
    ("\x00a: 1", "no YAML (unacceptable character #x0000"),
    ("a" * 2_200_000, "more than 2097152 bytes; allowed: a smaller file, or several"),
]


@pytest.mark.parametrize(("content", "line"), HURTING, ids=range(len(HURTING)))
def test_made_to_hurt(tmp_path: Path, content: str, line: str) -> None:
    """Depth, length and number of values have limits that end the reading at once."""
    path = tmp_path / "f.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert line in str(caught.value)


def test_values_are_counted_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line may hold a key and a value."""
    monkeypatch.setattr(reading, "NODES_MAX", 100)
    path = tmp_path / "f.yaml"
    path.write_text("".join(f"k{i}: 1\n" for i in range(60)))
    assert refused(lambda: load_scenario(path)) == (
        f"{path}: line 50: more than 100 keys and values; allowed: fewer, or several files"
    )


class TestLength:
    """A refusal is one line that fits a terminal."""

    def test_nearest_words(self) -> None:
        """Of a long list of allowed words the nearest five, and how many more there are."""
        words = ", ".join(f"release-{n:03}" for n in range(90))
        line = str(InputError("f.yaml", "cluster.release", "release-042", words))
        assert line == (
            "f.yaml: cluster.release: release-042; allowed: release-042, release-002, "
            "release-004, release-012, release-014 and 85 more "
            "(docs/scenario-format.md lists them)"
        )

    def test_the_command_stays(self) -> None:
        """Which command lists all keys is said behind the nearest few, too."""
        keys = ", ".join(f"some.long.kafka.key.{n:02}" for n in range(40))
        line = str(InputError("f.yaml", "config.x", "unknown key", with_list(keys, "isr keys")))
        assert line.endswith(" and 35 more (isr keys lists all keys)")

    def test_short_lists_are_whole(self) -> None:
        """Nothing is left out that fits."""
        words = ", ".join(f"w{n}" for n in range(60))
        assert str(InputError("f", "", "x", words)).endswith(words)

    @pytest.mark.parametrize("allowed", ["word " * 200, ", ".join(["w" * 300] * 30), "x" * 5000])
    def test_at_most_400(self, allowed: str) -> None:
        """Whatever is long: place, field, value or what is allowed; the file's name stays."""
        line = str(InputError("folder/" * 80 + "mine.yaml", "a." * 300, "v" * 900, allowed))
        assert len(line) <= 400
        assert "mine.yaml: a." in line
        assert "; allowed: " in line


def test_not_utf8(tmp_path: Path) -> None:
    """Bytes that are no text."""
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    said = refused(lambda: load_scenario(path))
    assert said == f"{path}: not UTF-8 at byte 0; allowed: one YAML or JSON mapping"


def test_missing_file() -> None:
    """A file that is not there."""
    assert refused(lambda: load_scenario("/nowhere/x.yaml")) == (
        "/nowhere/x.yaml: no such file or directory; allowed: a readable YAML or JSON file"
    )


def test_broken_json(tmp_path: Path) -> None:
    """A .json file is read as JSON and nothing else."""
    path = tmp_path / "f.json"
    path.write_text('{"a": 1,}')
    with pytest.raises(InputError, match=r"line 1, column \d+: no JSON"):
        load_scenario(path)


@from_table
def test_setting(setting: str, line: str) -> None:
    """Settings are refused like the file itself."""
    assert refused(lambda: parse_scenario(with_settings(good(), [setting], "F"), "F")).startswith(
        f"F: {line}"
    )


def test_one_line() -> None:
    """Whatever stands in a file, the refusal has one line."""
    line = refusal(good(scenario_id="a\nb\x1b[31m" + "c" * 500))
    assert "\n" not in line
    assert line.isprintable()


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["all", "none", "t-0", "controller", 0, 1001, 1e300, "0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
LIBRARY = REPOSITORY / "isr_pipeline" / "scenarios" / "library"

RICH = parse_mapping((LIBRARY / "w13.yaml").read_text(), "F") | {
    "faults": [{"kind": "crash", "broker": 1, "start_ms": 1}]
    + [
        parse_mapping(row["fault"], "F")
        for row in table_of(__file__, "test_fault")
        if "1001" not in row["fault"]
    ]
}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the path of every node."""
    inner: Any = ()
    if isinstance(value, (dict, list)):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
    below = [one for key, item in inner for one in _paths(item, (*path, key))]
    return [path, *below] if path else below


def _said(read: Callable[[], object]) -> list[str]:
    """Give the line of each error; none if there is none."""
    try:
        read()
    except InputError as error:
        return [str(one) for one in error.each]
    return []


@settings(max_examples=300)
@given(data=st.data())
def test_nothing_else_is_raised(data: st.DataObject) -> None:
    """Whatever stands in whatever place, a file is accepted or refused in printable lines."""
    raw = good() if data.draw(st.booleans()) else copy.deepcopy(RICH)
    path = data.draw(st.sampled_from(_paths(raw)))
    here: Any = raw
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = data.draw(ANYTHING)
    for line in _said(lambda: scenario_from_json(canonical_json(parse_scenario(raw, "F")))):
        assert line.isprintable()
        assert line.startswith("F: ")


@settings(max_examples=200)
@given(st.text(alphabet="{}[]:,-&*!|>?'\"%@`# \n\tab01.~", max_size=40))
@example("!%00")
def test_no_text_is_too_odd(content: str) -> None:
    """Whatever the text, it is read or refused in one printable line."""
    assert all(line.isprintable() for line in _said(lambda: parse_mapping(content, "F")))
