"""All mistakes of an experiment file are told at once, each with its line."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.lines import located
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.verdicts.quantities import load_settings
from tests.approved import Approved

if TYPE_CHECKING:
    from pathlib import Path

Spoil = Callable[[dict[str, str]], "Path"]

SESSION = "rules.kip501: s2\n"
"""Ends the last configuration's first line."""


@pytest.fixture
def spoil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spoil:
    """Give a way to replace texts of a copy of the smoke experiment."""
    shutil.copytree(REPOSITORY / "config", tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def replace(changes: dict[str, str]) -> Path:
        file = tmp_path / "experiments" / "smoke.yaml"
        content = file.read_text()
        for old, new in changes.items():
            assert content.count(old) >= 1
            content = content.replace(old, new, 1)
        file.write_text(content)
        return file

    return replace


def refused() -> InputError:
    """What is wrong with the experiment."""
    with pytest.raises(InputError) as caught:
        configurations(load_experiment("smoke"))
    return caught.value


class TestAtOnce:
    """One look at the answer is enough to correct the file."""

    def test_of_every_kind(self, spoil: Spoil, approved: Approved) -> None:
        """Keys, values, sizes, names and settings that do not agree, in order of the lines."""
        spoil(
            {
                "seed: 501": "seed: true",
                "horizon_ms: 30000": "horizn_ms: 30000",
                "faults: smoke": "faults: smoke\nshares: {quite: 1}",
                "regression: 8": "regression: 3",
                "reference: today": "reference: todays",
                "replica.lag.time.max.ms": "replica.lag.time.max",
                "rules.isr_lock: none}": "rules.isr_lock: no}",
                "name: solution-1-locked": "name: solution-1",
                SESSION: f"{SESSION}          broker.session.timeout.ms: 500\n",
            }
        )
        approved(str(refused()))

    def test_in_the_files_that_it_names(self, spoil: Spoil) -> None:
        """A cluster file has its own lines."""
        file = spoil({"seed: 501": "seed: true"}).parent.parent / "clusters" / "tiny.yaml"
        file.write_text(file.read_text().replace("release:", "relese:", 1))
        found = [(one.where, one.field, one.line > 0) for one in refused().each]
        assert found == [
            ("clusters/tiny.yaml", "relese", True),
            ("experiments/smoke.yaml", "seed", True),
        ]

    def test_configurations_that_only_a_cluster_can_refuse(self, spoil: Spoil) -> None:
        """Where nothing else is wrong, all of these are told together too."""
        session = "          broker.session.timeout.ms: 500\n"
        lock = "          rules.isr_lock: none\n"
        spoil({SESSION: SESSION + session, lock: lock + session})
        fields = [one.field for one in refused().each]
        ending = "set.broker.session.timeout.ms"
        assert fields == [f"groups[1].candidates[{n}].{ending}" for n in (0, 2)]

    def test_what_a_mistyped_key_may_allow_is_not_refused(self, spoil: Spoil) -> None:
        """A fetch wait above the default of the lag limit, which the base means to raise."""
        lag = "replica.lag.time.max.ms: 4000"
        wait = "          replica.fetch.wait.max.ms: 30001\n"
        spoil({lag: "replica.lag.time.max: 40000", SESSION: SESSION + wait})
        assert [one.field for one in refused().each] == ["base.replica.lag.time.max"]

    def test_a_mistyped_key_is_not_missing_as_well(self, spoil: Spoil) -> None:
        """Its correction is one."""
        spoil({"horizon_ms: 30000": "horizn_ms: 30000"})
        assert [one.field for one in refused().each] == ["horizn_ms"]

    def test_survives_the_way_to_another_process(self, spoil: Spoil) -> None:
        """A task's error is pickled."""
        spoil({"seed: 501": "seed: true", "horizon_ms: 30000": "horizon_ms: no"})
        error = refused()
        assert str(pickle.loads(pickle.dumps(error))) == str(error)

    def test_none_is_lost_where_lines_do_not_count(self, spoil: Spoil) -> None:
        """A reader that leaves out the lines has all of them still."""
        spoil({"seed: 501": "seed: true", "horizon_ms: 30000": "horizon_ms: no"})
        bare = refused().at_line(0).each
        assert [(one.field, one.line) for one in bare] == [("seed", 0), ("horizon_ms", 0)]


class TestSession:
    """A broker is not heard more often than it sends heartbeats."""

    @pytest.mark.parametrize(
        "own", ["broker.session.timeout.ms: 1999", "broker.heartbeat.interval.ms: 9001"]
    )
    def test_below_the_heartbeat(self, spoil: Spoil, own: str) -> None:
        """Whichever of the two is set is named, with what the other one allows."""
        spoil({SESSION: f"{SESSION}          {own}\n"})
        key = own.partition(":")[0]
        assert refused().field == f"groups[1].candidates[2].set.{key}"
        bounds = {"session": "at least broker.heartbeat.interval.ms (2000)"}
        bounds["heartbeat"] = "at most broker.session.timeout.ms (9000)"
        assert refused().allowed.startswith(bounds[key.split(".")[1]])

    def test_zookeeper_does_not_read_it(self, spoil: Spoil) -> None:
        """So it may say anything there."""
        zookeeper = '          cluster.release: "2.7"\n          cluster.controller: zookeeper\n'
        session = "          broker.session.timeout.ms: 500\n"
        spoil({SESSION: f"{SESSION}{zookeeper}{session}"})
        configurations(load_experiment("smoke"))


class TestLines:
    """On which line a field stands."""

    @pytest.mark.parametrize(
        ("field", "line"),
        [("a", 2), ("a.b[1]", 4), ("a.b[1].c.d", 5), ("a.b[1].absent", 4), ("a: the whole", 2)],
    )
    def test_of_a_field(self, tmp_path: Path, field: str, line: int) -> None:
        """Its key's, its item's, or that of the nearest that holds it."""
        file = tmp_path / "x.yaml"
        file.write_text("# first\na:\n  b: [0,\n    {e: 1,\n    c.d: 2}]\n")
        assert located(InputError(str(file), field, "", "")).line == line

    def test_of_json(self, tmp_path: Path) -> None:
        """A scenario may be JSON."""
        file = tmp_path / "x.json"
        file.write_text(json.dumps({"a": {"b": [1, 2]}}, indent=1))
        assert located(InputError(str(file), "a.b[1]", "", "")).line == 5

    def test_of_a_key_given_twice(self, tmp_path: Path) -> None:
        """The second is one too many."""
        file = tmp_path / "x.yaml"
        file.write_text("a: 1\nb: 1\na: 2\n")
        assert located(InputError(str(file), "a", "given twice", "")).line == 3

    @pytest.mark.parametrize("where", ["--option", "missing.yaml", "broken.yaml"])
    def test_of_no_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
        """What is no file, or none that can be read, has none."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "broken.yaml").write_text("{\n")
        assert str(located(InputError(where, "a", "b", "c"))) == f"{where}: a: b; allowed: c"

    def test_of_other_files(self, tmp_path: Path) -> None:
        """Every file that is read strictly has them."""
        text = (REPOSITORY / "config" / "verdicts.yaml").read_text()
        file = tmp_path / "verdicts.yaml"
        file.write_text(f"{text}\nunheard_of: 1\n")
        with pytest.raises(InputError) as caught:
            load_settings(file)
        assert caught.value.line == text.count("\n") + 2
