"""Incidents a year: what a profile counts, what follows for the weights, and what is refused."""

import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import REPOSITORY, config_dir
from isr_pipeline.clusters.show import as_json
from isr_pipeline.experiment.file import Experiment, healthy_scenario, load_experiment
from isr_pipeline.scenarios.cluster_file import load_cluster_file, read_cluster
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.incidents import counts_of, units_of
from isr_pipeline.scenarios.profile import counted, load_profile
from tests.saying import refused
from tests.tables import from_table

OPERATORS = load_experiment("operators")
HEALTHY = healthy_scenario(OPERATORS)


def profile(**changes: Any) -> dict[str, Any]:
    """Two kinds of incidents in two strata beside a quiet one, with some things changed."""
    return {
        "strata": {
            "quiet": {"population": 0.5, "sample": 1, "patterns": {"quiet": 1}},
            "deaths": {"sample": 1, "patterns": {"log_dir_failure": 3, "stop_replica": 1}},
            "moves": {"sample": 1, "patterns": {"preferred_election": 1}},
        },
        "incidents": {
            "dead_disk": {
                "per_year": 0.5,
                "of": "disk",
                "scenarios": {"deaths.log_dir_failure": 1},
            },
            "move": {
                "per_year": 9,
                "of": "cluster",
                "scenarios": {"moves.preferred_election": 2, "deaths.stop_replica": 1},
            },
        },
        "parameters": {},
        **changes,
    }


class TestCounts:
    """Numbers a year, populations and weights."""

    def test_a_cluster_has_its_own_number_of_each(self) -> None:
        """Half a dead disk a year in each of twelve are six of the cluster."""
        assert units_of(HEALTHY) == {"broker": 6, "disk": 12, "rack": 6, "cluster": 1}
        found = counted(load_profile(profile(), "F"), HEALTHY, {})
        assert {kind: one.per_year for kind, one in found.incidents.items()} == {
            "dead_disk": 6,
            "move": 9,
        }

    def test_populations_follow(self) -> None:
        """What no stratum has written is shared out by how many incidents each stands for."""
        found = counted(load_profile(profile(), "F"), HEALTHY, {})
        shares = {name: one.share for name, one in found.strata.items()}
        assert shares == pytest.approx({"quiet": 0.5, "deaths": 0.3, "moves": 0.2})

    def test_shares(self) -> None:
        """Six of fifteen incidents are dead disks, however often they are drawn."""
        found = counted(load_profile(profile(), "F"), HEALTHY, {})
        assert found.shares == pytest.approx(
            {
                ("quiet", "quiet"): 0.5,
                ("deaths", "log_dir_failure"): 6 / 15 / 2,
                ("deaths", "stop_replica"): 3 / 15 / 2,
                ("moves", "preferred_election"): 6 / 15 / 2,
            }
        )

    def test_shares_where_nobody_counts(self) -> None:
        """A stratum whose population is written divides it as it is drawn."""
        raw = profile(incidents={})
        for name, population in (("deaths", 4), ("moves", 1)):
            raw["strata"][name]["population"] = population
        raw["strata"]["quiet"]["population"] = 5
        assert load_profile(raw, "F").shares == pytest.approx(
            {
                ("quiet", "quiet"): 5,
                ("deaths", "log_dir_failure"): 3,
                ("deaths", "stop_replica"): 1,
                ("moves", "preferred_election"): 1,
            }
        )

    def test_own_counts_replace(self) -> None:
        """A count is of the whole cluster, and leaves the other kinds as they are."""
        found = counted(load_profile(profile(), "F"), HEALTHY, {"dead_disk": 2})
        assert {kind: one.per_year for kind, one in found.incidents.items()} == {
            "dead_disk": 2,
            "move": 9,
        }

    def test_counts_change_weights_only(self) -> None:
        """The same scenarios, and every pattern weighs as often as it is counted."""
        crash = counted(OPERATORS.profile, HEALTHY, {"crash": 30})
        others = OPERATORS.model_copy(update={"profile": crash})
        before, after = (list(draw_panel(one.source, "confirm")) for one in (OPERATORS, others))
        assert [row.scenario_json for row in before] == [row.scenario_json for row in after]
        assert sum(row.weight for row in after) == pytest.approx(len(after))

        def crash_to_disk(experiment: Experiment) -> float:
            weights: dict[str, float] = defaultdict(float)
            for row in draw_panel(experiment.source, "confirm"):
                if row.stratum == "failures":
                    weights[row.pattern] += row.weight
            return weights["crash"] / weights["log_dir_failure"]

        assert crash_to_disk(others) == pytest.approx(10 * crash_to_disk(OPERATORS))

    def test_a_shipped_profile_counts_all_but_the_quiet(self) -> None:
        """Whatever happens in a scenario of the shipped experiments is some incident."""
        for name in ("operators", "smoke"):
            found = load_experiment(name).profile
            drawn = {
                (stratum, pattern)
                for stratum, one in found.strata.items()
                for pattern in one.patterns
            }
            assert drawn - set(found.kinds) == {("quiet", "quiet")}


def kind(**changes: Any) -> dict[str, Any]:
    """One kind of incident, with some things changed."""
    one = {"per_year": 1, "of": "disk", "scenarios": {"deaths.stop_replica": 1}, **changes}
    return {"incidents": {"a": one}}


class TestRefusals:
    """One line for what cannot be used."""

    @from_table
    def test_wrong(self, changes: dict[str, Any], line: str) -> None:
        """The field, what stands there and what may."""
        assert refused(lambda: load_profile(profile(**changes), "F")) == f"F: {line}"

    def test_counted_twice(self) -> None:
        """A scenario stands for one kind of incident."""
        incidents = profile()["incidents"]
        incidents["again"] = incidents["dead_disk"]
        with pytest.raises(InputError, match="counted as dead_disk too; allowed: one kind of each"):
            load_profile(profile(incidents=incidents), "F")

    def test_no_room_for_incidents(self) -> None:
        """Populations that are written leave something for what is counted."""
        strata = profile()["strata"]
        strata["quiet"]["population"] = 1
        with pytest.raises(InputError, match="populations that sum to 1; allowed: less than 1"):
            load_profile(profile(strata=strata), "F")

    @from_table
    def test_an_option(self, option: str, line: str) -> None:
        """What the command line refuses."""
        assert refused(lambda: counts_of([option], "--incidents")) == f"--incidents: {line}"

    def test_options(self) -> None:
        """Several options are one list."""
        found = counts_of(["crash=4, pause=0.5", "lost_link=6"], "--incidents")
        assert found == {"crash": 4, "pause": 0.5, "lost_link": 6}


class TestFiles:
    """Counts in the files of a cluster and of an experiment."""

    @pytest.fixture(autouse=True)
    def _config(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "config"
        shutil.copytree(REPOSITORY / "config", folder)
        monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
        monkeypatch.chdir(tmp_path)

    @staticmethod
    def _append(file: str, line: str) -> None:
        with (config_dir() / file).open("a") as opened:
            opened.write(f"\n{line}\n")

    def test_the_experiment_counts_before_the_cluster(self) -> None:
        """Both replace the profile's numbers; what an experiment says goes first."""
        self._append("clusters/tiny.yaml", "incidents: {pause: 3, lost_link: 5}")
        self._append("experiments/smoke.yaml", "incidents: {pause: 7}")
        found = load_experiment("smoke").profile.incidents
        assert {kind: one.per_year for kind, one in found.items()} == {
            "pause": 7,
            "failed_partition": 10,
            "stalled_reads": 11,
            "lost_link": 5,
        }

    @pytest.mark.parametrize("file", ["clusters/tiny.yaml", "experiments/smoke.yaml"])
    def test_an_unknown_kind(self, file: str) -> None:
        """The line names the file and the kinds that there are."""
        self._append(file, "incidents: {paus: 3}")
        with pytest.raises(InputError) as caught:
            load_experiment("smoke")
        assert str(caught.value.at_line(0)) == (
            f"config/{file}: incidents.paus: unknown kind of incident; allowed: pause"
        )

    def test_no_number(self) -> None:
        """A count is above 0."""
        self._append("clusters/tiny.yaml", "incidents: {pause: 0}")
        with pytest.raises(InputError) as caught:
            load_experiment("smoke")
        assert str(caught.value.at_line(0)) == (
            "config/clusters/tiny.yaml: incidents.pause: 0; allowed: a number > 0 "
            "(0.001: once in a thousand years)"
        )

    def test_a_cluster_that_is_shown_keeps_its_counts(self) -> None:
        """Both forms of a cluster file, read and printed."""
        self._append("clusters/tiny.yaml", "incidents: {pause: 3}")
        file = config_dir() / "clusters" / "tiny.yaml"
        shown = as_json(load_cluster_file(file, "F"))
        again = config_dir() / "clusters" / "again.json"
        again.write_text(json.dumps(shown))
        assert shown["incidents"] == {"pause": 3}
        assert read_cluster(again, "F")["incidents"] == {"pause": 3}
