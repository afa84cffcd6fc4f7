"""What is not modelled: one list, and the lines of it that touch a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.experiment.file import Experiment, load_experiment
from isr_pipeline.experiment.keys import entries
from isr_pipeline.experiment.not_modelled import left_out, limits, not_modelled
from isr_pipeline.scenarios.cluster_file import read_cluster
from isr_pipeline.scenarios.profile import load_profile
from tests.approved import Approved

CONFIG = Path(__file__).resolve().parents[2] / "config"
FETCH = "replica.fetch.max.bytes"


def asked(folder: Path, cluster: str, *lines: str) -> Experiment:
    """An experiment that asks for a fetch size, beside advice on a session."""
    file = folder / "asked.yaml"
    file.write_text(
        f"seed: 1\ncluster: {cluster}\nfaults: nightly\nhorizon_ms: 60000\nwarmup_ms: 5000\n"
        "panels: {regression: 20, confirm: 20}\nreference: today\n"
        + "".join(f"{line}\n" for line in lines)
        + "groups:\n  - name: asked\n    asked: true\n    candidates:\n      - {name: today}\n"
        f"      - {{name: ten, set: {{{FETCH}: 10485760}}}}\n"
        "  - name: advice\n    candidates:\n"
        "      - {name: long, set: {broker.session.timeout.ms: 18000}}\n"
    )
    return load_experiment(file)


class TestList:
    """The rows of the file."""

    def test_what_is_said_has_a_question(self) -> None:
        """A line without a key and a kind of incident would never be said."""
        for one in not_modelled():
            assert bool(one.said) == bool(one.keys or one.incidents), one.left_out

    def test_keys_and_incidents_are_known(self) -> None:
        """A row that names none of ours touches nothing."""
        nightly = load_profile(read_mapping(CONFIG / "faults" / "nightly.yaml"), "nightly")
        every = {key for one in not_modelled() for key in one.keys}
        assert every <= {one.name for one in entries()}
        assert {kind for one in not_modelled() for kind in one.incidents} <= {*nightly.incidents}


class TestQuestion:
    """What a question's answer leaves out."""

    def test_of_what_is_asked(self, tmp_path: Path, approved: Approved) -> None:
        """The fetch size touches disks and links; what the advice sets is nobody's question."""
        approved("\n".join(left_out(asked(tmp_path, "default"))))

    def test_what_hardware_says_is_modelled(self, tmp_path: Path) -> None:
        """Where disks have a speed, only links' bandwidth is left out of a fetch size."""
        said = "\n".join(left_out(asked(tmp_path, "cloud-volume")))
        assert "disks' bandwidth" not in said
        assert "bandwidth of links" in said

    def test_of_what_was_counted(self, tmp_path: Path) -> None:
        """Who counts pauses asks about them."""
        before = set(left_out(asked(tmp_path, "default")))
        counted = set(left_out(asked(tmp_path, "default", "incidents: {pause: 300}")))
        (more,) = counted - before
        assert "pauses" in more

    @pytest.mark.parametrize(("cluster", "rate"), [("default", None), ("demo", 10.0)])
    def test_rates_that_nobody_gave(self, tmp_path: Path, cluster: str, rate: float | None) -> None:
        """An import names them as assumed; a cluster written by hand has its own."""
        found = asked(tmp_path, cluster)
        assert found.cluster.assumed_records_per_s == rate
        assert len(limits(found)) - len([*left_out(found)]) == (rate is not None)

    def test_rates_given_after_an_import(self, tmp_path: Path) -> None:
        """Who writes rates into an imported file has given them, whatever `assumed` still says."""
        imported = (CONFIG / "clusters" / "demo.yaml").read_text(encoding="utf-8")
        edited = imported.replace("records_per_s: 10}", "records_per_s: 80}")
        assert edited != imported
        file = tmp_path / "edited.yaml"
        file.write_text(edited, encoding="utf-8")
        assert "assumed_records_per_s" not in read_cluster(file, "edited.yaml")
