"""`isr-pipeline doctor`: what is wrong with an installation, and its exit status."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.night.doctor import examine, overwritten
from isr_pipeline.verdicts import baseline
from isr_pipeline.verdicts.quantities import load_settings
from tests.saying import finished
from tests.tables import from_table

if TYPE_CHECKING:
    from pathlib import Path

PARTS = [
    *("Python", "home", "config", "baselines", "Spark", "Java", "Spark master", "Spark workers"),
    *("MLflow", "Airflow", "make ui"),
]


def doctor(home: Path, **variables: str) -> tuple[int, dict[str, tuple[bool, str]]]:
    """Run the command; its exit status, and part -> whether it is good, and why not."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AIRFLOW", "MLFLOW", "ISR_PIPELINE", "SPARK", "PYSPARK"))
    }
    done = finished(
        [sys.executable, "-m", "isr_pipeline.cli", "doctor", "--json"],
        env=kept | {"ISR_PIPELINE_HOME": str(home)} | variables,
    )
    found = json.loads(done.stdout)
    return done.returncode, {one["part"]: (one["good"], one["text"]) for one in found}


class TestDoctor:
    """Each part is asked."""

    def test_this_environment_is_good(self, tmp_path: Path) -> None:
        """The locked one: nothing is wrong, and the exit status says so."""
        status, found = doctor(tmp_path)
        assert {part: why for part, (good, why) in found.items() if not good} == {}
        assert list(found) == PARTS
        assert status == 0

    @pytest.mark.slow
    @from_table
    def test_what_is_wrong_is_named(
        self, tmp_path: Path, part: str, variable: str, value: str, text: str
    ) -> None:
        """One line with variable, value and what is allowed; the others are asked all the same."""
        status, found = doctor(tmp_path, **{variable: value})
        assert status == 1
        assert list(found) == PARTS
        good, said = found[part]
        assert not good
        assert text in said
        assert "secret" not in said

    def test_settings_of_the_verdicts(self, tmp_path: Path) -> None:
        """What a night is judged by is read, too."""
        config = tmp_path / "config"
        shutil.copytree(REPOSITORY / "config", config)
        (config / "verdicts.yaml").write_text("ratio_min: abc\n")
        _, found = doctor(tmp_path, ISR_PIPELINE_CONFIG=str(config))
        file = config / "verdicts.yaml"
        both = [
            f"{file}: metrics: missing; allowed: a mapping",
            f"{file}:1: ratio_min: abc; allowed: a number > 1",
        ]
        assert found["config"] == (False, "\n".join(both))

    def test_a_damaged_baseline(self, tmp_path: Path) -> None:
        """It is found before the night that would have no verdict, with what to do."""
        (tmp_path / "home" / "baselines" / "smoke").mkdir(parents=True)
        _, found = doctor(tmp_path / "home")
        assert found["baselines"] == (
            False,
            (
                "smoke: baseline is damaged: baseline.json is missing; accept a night again: "
                "isr-pipeline baseline accept NIGHT --experiment smoke --why 'REASON'"
            ),
        )

    def test_password_of_mlflow_is_not_shown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither where the store is good."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "databricks://user:secret@profile")
        assert all("secret" not in one.text for one in examine(load_settings, baseline.examined))


class TestOverwritten:
    """pyspark-client puts its files over pyspark's: whichever is written last breaks the other."""

    def installed(self, folder: Path) -> metadata.Distribution:
        """Return a package of two files, as an installer leaves it."""
        content = {"spark/__init__.py": b"jars = True\n", "spark/core.py": b"\n"}
        lines = []
        for name, text in content.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(text)}")
        info = folder / "spark-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: spark\nVersion: 1.0\n")
        (info / "RECORD").write_text("\n".join([*lines, "spark-1.0.dist-info/RECORD,,"]))
        return metadata.Distribution.at(info)

    def test_as_installed(self, tmp_path: Path) -> None:
        """Nothing to say."""
        assert overwritten(self.installed(tmp_path)) == []

    def test_overwritten_and_gone(self, tmp_path: Path) -> None:
        """Every file that another package wrote, or took away when it was removed."""
        package = self.installed(tmp_path)
        (tmp_path / "spark" / "__init__.py").write_text("jars = False\n")
        (tmp_path / "spark" / "core.py").unlink()
        assert overwritten(package) == ["spark/__init__.py", "spark/core.py"]
