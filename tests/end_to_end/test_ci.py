"""The workflow of examples/ci: its scripts, in order, for a push and for a pull request."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from isr_pipeline.base.home import REPOSITORY
from tests.end_to_end.conftest import Site

RED = ("seed: 501", "seed: 502")
"""Another panel than the baseline's is `no-data`. Eight scenarios prove no regression."""

WORKFLOW = REPOSITORY / "examples" / "ci" / "github-actions.yml"


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    """The steps of its job."""
    loaded: dict[str, Any] = YAML(typ="safe").load(WORKFLOW)
    assert loaded["permissions"] == {"contents": "read"}
    found: list[dict[str, Any]] = loaded["jobs"]["night"]["steps"]
    return found


class TestWorkflow:
    """What can be read from it."""

    def test_every_action_is_pinned(self) -> None:
        """A commit, which nobody can move, with its release beside it."""
        for use in re.findall(r"uses: (.+)", WORKFLOW.read_text()):
            assert re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)

    def test_baseline_is_kept_where_it_is_looked_for(self, steps: list[dict[str, Any]]) -> None:
        """The same folders, under a key that the next run asks for."""
        caches = [step["with"] for step in steps if "cache" in step.get("uses", "")]
        assert len(caches) == 2
        assert caches[0]["path"] == caches[1]["path"]
        assert caches[0]["key"] == caches[1]["key"]
        assert caches[0]["key"].startswith(caches[0]["restore-keys"])

    def test_a_pull_request_needs_a_baseline(self, steps: list[dict[str, Any]]) -> None:
        """It is asked for before the night runs: a verdict `baseline` would pass."""
        names = [step.get("name") for step in steps]
        asked = names.index("Ask for the baseline")
        assert asked < names.index("Run the night")
        assert steps[asked]["if"] == "github.event_name == 'pull_request'"

    def test_only_main_is_accepted(self, steps: list[dict[str, Any]]) -> None:
        """A pull request cannot become what it is compared with."""
        for step in steps:
            if "accept" in step.get("run", "") or "cache/save" in step.get("uses", ""):
                assert (
                    step["if"]
                    == "github.event_name != 'pull_request' && github.ref == 'refs/heads/main'"
                )


@dataclass
class Runner:
    """Runs the scripts of steps as the service would.

    Attributes:
        site: where nights go.
        folder: for the files that scripts write to.
        values: what `${{ … }}` stands for.
    """

    site: Site
    folder: Path
    steps: list[dict[str, Any]]
    values: dict[str, str] = field(default_factory=dict)

    def step(self, name: str, **variables: str) -> int:
        """Run a step's script; its exit status."""
        step = next(one for one in self.steps if one.get("name") == name)
        given = {key: self.filled(str(value)) for key, value in step.get("env", {}).items()}
        output, summary = self.folder / "output", self.folder / "summary"
        output.touch()
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", self.filled(step["run"])],
            env=self.site.variables
            | given
            | variables
            | {
                "EXPERIMENT": "smoke",
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                "GITHUB_ACTOR": "somebody",
                "GITHUB_SHA": "0123abc",
            },
            cwd=REPOSITORY,
            check=False,
        )
        for line in output.read_text().splitlines():
            key, _, value = line.partition("=")
            self.values[f"steps.{step.get('id')}.outputs.{key}"] = value
        output.unlink()
        return done.returncode

    def baseline(self) -> dict[str, Any]:
        """What the home has as its baseline."""
        shown = self.site.run("baseline", "show", "--experiment", "smoke", "--json")
        found: dict[str, Any] = json.loads(shown)
        return found

    def after(self, home: Path) -> Runner:
        """Another runner, which has of this one's home what the workflow caches."""
        (kept,) = {one["with"]["path"] for one in self.steps if "cache" in one.get("uses", "")}
        for name in (Path(line).name for line in kept.split()):
            if (self.site.home / name).is_dir():
                shutil.copytree(self.site.home / name, home / name)
        variables = self.site.variables | {"ISR_PIPELINE_HOME": str(home)}
        site = replace(self.site, home=home, variables=variables)
        return replace(self, site=site, values=dict(self.values))

    def filled(self, text: str) -> str:
        """Put values in."""
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: self.values[found[1]], text)


@pytest.fixture
def runner(site: Site, tmp_path: Path, steps: list[dict[str, Any]]) -> Runner:
    """A runner whose home is the tests' one."""
    link = {"steps.report.outputs.artifact-url": "https://example.org/report"}
    return Runner(site, tmp_path, steps, link)


@pytest.mark.slow
def test_a_push_and_a_pull_request_that_is_red(runner: Runner, tmp_path: Path) -> None:
    """The push becomes the baseline; the request is red and its summary links the report.

    A request that has nothing to be compared with is red as well, and says what to do. Once merged
    it is the baseline all the same.
    """
    assert runner.step("Ask for the baseline") == 1
    assert runner.step("Run the night") == 0
    assert runner.step("Accept main") == 0
    runner = runner.after(tmp_path / "next")
    assert runner.step("Ask for the baseline") == 0
    config = runner.folder / "config"
    shutil.copytree(REPOSITORY / "config", config)
    file = config / "experiments" / "smoke.yaml"
    file.write_text(file.read_text().replace(*RED))
    assert runner.step("Run the night", ISR_PIPELINE_CONFIG=str(config)) == 1
    assert runner.step("Link the report", ISR_PIPELINE_CONFIG=str(config)) == 0
    headline, _, link = (runner.folder / "summary").read_text().strip().split("\n")
    assert "without data" in headline
    assert link == "[report](https://example.org/report)"
    before = runner.baseline()
    assert before["accepted_by"] == "somebody"
    assert runner.step("Accept main", ISR_PIPELINE_CONFIG=str(config)) == 0
    assert runner.baseline()["panel_digest"] != before["panel_digest"]
