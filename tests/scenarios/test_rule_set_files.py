"""Rule-set files: found by name or path, read into what names them, refused in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from isr_pipeline.base.errors import InputError
from isr_pipeline.experiment.combinations import read_release
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.scenarios.cluster_file import checked_cluster
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import canonical_json, scenario_from_json
from isr_pipeline.scenarios.rule_set_files import read_rule_set, with_rule_sets
from tests.tables import from_table

JOINS = "joins-in-time (4.1+ with expand_needs_lag=under_min_isr)"
SCENARIO = {
    "scenario_id": "s",
    "horizon_ms": 1000,
    "cluster": {"release": "3.7-3.9", "controller": "kraft", "brokers": [1]},
    "topics": [{"name": "t", "assignment": {0: [1]}}],
}


def written(folder: Path, name: str, content: object) -> Path:
    """A YAML file with that content."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def scenario_of(release: str) -> dict[str, object]:
    """A scenario with that release."""
    return {**SCENARIO, "cluster": {**SCENARIO["cluster"], "release": release}}  # type: ignore[dict-item]


class TestFound:
    """Where a name leads."""

    def test_shipped_by_name(self, tmp_path: Path) -> None:
        """A name finds the file in config/rule-sets."""
        path = written(tmp_path, "s.yaml", scenario_of("joins-in-time"))
        assert load_scenario(path).cluster.release == JOINS

    def test_path_beside_the_scenario(self, tmp_path: Path) -> None:
        """A value that ends in .yaml is a path, relative to the file that names it."""
        written(tmp_path, "rules/mine.yaml", {"base": "3.7-3.9", "switches": {"tick_divisor": 4}})
        path = written(tmp_path, "s.yaml", scenario_of("rules/mine.yaml"))
        assert load_scenario(path).cluster.release == "mine (3.7-3.9 with tick_divisor=4)"

    def test_setting(self, tmp_path: Path) -> None:
        """A setting on the command line may name one as well."""
        path = written(tmp_path, "s.yaml", scenario_of("3.7-3.9"))
        found = load_scenario(path, ["cluster.release=joins-in-time"])
        assert found.cluster.release == JOINS

    def test_travels_in_json(self, tmp_path: Path) -> None:
        """A scenario's line of JSON holds the rule set: no file is needed to read it."""
        path = written(tmp_path, "s.yaml", scenario_of("joins-in-time"))
        line = canonical_json(load_scenario(path))
        assert scenario_from_json(line).cluster.release == JOINS

    def test_experiment(self, tmp_path: Path) -> None:
        """A candidate's and a grid's release may name files; the digest follows their content."""
        raw = {
            "seed": 1,
            "cluster": "tiny",
            "faults": "smoke",
            "horizon_ms": 30000,
            "panels": {"regression": 8, "confirm": 8},
            "reference": "today",
            "groups": [
                {
                    "name": "g",
                    "candidates": [
                        {"name": "today"},
                        {"name": "joins", "set": {"cluster.release": "joins-in-time"}},
                    ],
                    "grids": [
                        {
                            "name": "ticks",
                            "axes": {"cluster.release": {"label": "r", "values": ["mine.yaml"]}},
                        }
                    ],
                }
            ],
        }
        path = written(tmp_path, "mine-experiment.yaml", raw)
        digests = []
        for divisor in (4, 5):
            switches = {"tick_divisor": divisor}
            written(tmp_path, "mine.yaml", {"base": "3.7-3.9", "switches": switches})
            experiment = load_experiment(path)
            digests.append(experiment.digest)
            releases = [one.params["cluster.release"] for one in configurations(experiment)]
            assert releases == ["4.1+", JOINS, f"mine (3.7-3.9 with tick_divisor={divisor})"]
        assert digests[0] != digests[1]

    def test_other_values_stay(self) -> None:
        """What names no file, and is no release of Kafka, is left to the checks."""
        raw = {"cluster": {"release": 7}, "x": [{"cluster.release": "x"}], "y": "joins-in-time"}
        assert with_rule_sets(raw, Path()) == raw


class TestRefusals:
    """One line: file, field, value, what is allowed."""

    @from_table
    def test_says_where(self, tmp_path: Path, content: object, error: str) -> None:
        """The line names the rule-set file, also when a scenario names that file."""
        path = written(tmp_path, "mine.yaml", content)
        with pytest.raises(InputError) as caught:
            read_rule_set(path, str(path))
        assert str(caught.value).startswith(f"{path}: {error}".replace(": : ", ": "))
        assert "\n" not in str(caught.value)
        scenario = written(tmp_path, "s.yaml", scenario_of("mine.yaml"))
        with pytest.raises(InputError) as again:
            load_scenario(scenario)
        assert str(again.value.at_line(0)) == str(caught.value)

    @pytest.mark.parametrize("name", ["4.1", "3.9.2", "4.0", "3.7-3.9", "4.1-own"])
    def test_named_as_a_release(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        """A file in config/rule-sets that has a release's name is refused, not left aside."""
        monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(tmp_path))
        rules = {"base": "4.1+", "switches": {"expand_needs_lag": "always"}}
        path = written(tmp_path / "rule-sets", f"{name}.yaml", rules)
        refused = rf"^{re.escape(str(path))}: name: {re.escape(name)}; allowed: a name "
        with pytest.raises(InputError, match=refused):
            load_scenario(written(tmp_path, "s.yaml", scenario_of(name)))
        with pytest.raises(InputError, match=refused):
            read_release(name, "--ask", "release")
        cluster = {"release": name, "controller": "kraft", "brokers": [{"id": 1}], "topics": []}
        with pytest.raises(InputError, match=refused):
            checked_cluster(cluster, "mine.yaml")

    def test_a_path_to_one_named_as_a_release(self, tmp_path: Path) -> None:
        """Nor may a file elsewhere pass for a release in tables and reports."""
        written(tmp_path, "4.1.yaml", {"base": "4.1+", "switches": {"tick_divisor": 4}})
        with pytest.raises(InputError, match=r"4\.1\.yaml: name: 4\.1; "):
            load_scenario(written(tmp_path, "s.yaml", scenario_of("4.1.yaml")))

    def test_no_such_file(self, tmp_path: Path) -> None:
        """A path that leads nowhere is said with the path."""
        scenario = written(tmp_path, "s.yaml", scenario_of("none.yaml"))
        with pytest.raises(InputError, match=r"none\.yaml: no such file"):
            load_scenario(scenario)

    def test_unknown_name(self, tmp_path: Path) -> None:
        """A name that nobody has is refused with close ones, rule sets of one's own included."""
        scenario = written(tmp_path, "s.yaml", scenario_of("joins-in-tim"))
        with pytest.raises(InputError) as caught:
            load_scenario(scenario)
        expected = f"{scenario}: cluster.release: joins-in-tim; allowed: joins-in-time"
        assert str(caught.value.at_line(0)) == expected
        assert caught.value.line > 0
