"""A night validated again: what it holds as it lies."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow.parquet as pq
import pytest

from isr_pipeline.base.home import Home
from isr_pipeline.night.validate import Validated, validate
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.schemas import SCHEMAS
from isr_pipeline.tables.validation.data_docs import CRITICAL, FILES, WARNING
from isr_pipeline.tables.validation.results import result_file
from isr_pipeline.tables.validation.run import broken_of
from tests.validation import tables
from tests.validation.tables import tiny_plan

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from tests.approved import Approved


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a sound night, all five."""
    root = tmp_path_factory.mktemp("sound")
    plan = tiny_plan(str(root))
    tables.write_sound(plan)
    for name in ("events", "verdicts"):
        rows = pd.DataFrame({"panel": ["regression"], "config_id": ["id-faster"]})
        store.write_table(name, plan.experiment, plan.night, rows, root=plan.root)
    return root


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sound: Path) -> Plan:
    """Return the plan of a sound night in a home of the test's own."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    monkeypatch.delenv("ISR_PIPELINE_ROOT", raising=False)
    root = Home.from_environment().root
    shutil.copytree(sound, root)
    return tiny_plan(root)


def file_of(night: Plan, table: str) -> Path:
    """The one file of a table."""
    folder = store.table_path(table, night.experiment, night.night, night.root)
    assert isinstance(folder, Path)
    (file,) = folder.glob("*.parquet")
    return file


def said(found: Validated, night: Plan) -> list[str]:
    """The lines that the command prints, without what differs from run to run."""
    lines = "\n".join(found.lines())
    return re.sub(r"[0-9a-f]{64}", "DIGEST", lines).replace(night.root, "ROOT").splitlines()[:-1]


class TestSoundNight:
    """A night that nobody touched."""

    def test_holds(self, night: Plan, approved: Approved) -> None:
        """Every suite holds; what Great Expectations found lies beside the plan, as JSON."""
        found = validate(night)
        assert not found.refused
        approved(said(found, night))
        result = json.loads(result_file(night, "outcomes").read_text())
        assert result["success"]
        assert result["statistics"]["evaluated_expectations"] == found.held["outcomes"][1]


class TestChangedFiles:
    """A file that is not what was published."""

    def test_a_byte(self, night: Plan) -> None:
        """One changed byte is found in the file of every table."""
        for table in store.TABLES:
            file = file_of(night, table)
            content = bytearray(file.read_bytes())
            content[40] ^= 1
            file.write_bytes(content)
        (changed,), _ = broken_of(FILES, night)
        assert (changed.name, changed.severity) == ("bytes_changed", CRITICAL)
        assert [one["table"] for one in changed.offenders] == list(store.TABLES)

    def test_is_said(self, night: Plan, approved: Approved) -> None:
        """A file that is gone, one that was added, and a table that is not there."""
        file_of(night, "events").unlink()
        verdicts = file_of(night, "verdicts")
        shutil.copy(verdicts, verdicts.with_name("part-00001.parquet"))
        shutil.rmtree(file_of(night, "summary").parent)
        found = validate(night)
        assert found.refused
        approved(said(found, night))

    def test_a_value(self, night: Plan) -> None:
        """Rows that were replaced in order, with their digest, break what they contradict."""
        found = tables.outcomes(night)
        found.loc[7, "records_lost"] = 5000
        tables.write("outcomes", found, night)
        broken = {suite: broken_of(suite, night)[0] for suite in (FILES, "summary")}
        assert broken[FILES] == []
        assert "total_unlike_outcomes" in [one.name for one in broken["summary"]]


class TestDigests:
    """What is noted beside a table's files."""

    def test_of_an_older_night(self, night: Plan) -> None:
        """A night without digests is warned of, and not refused."""
        for name in store.TABLES:
            (file_of(night, name).parent / "_SHA256SUMS").unlink()
        (unknown,), _ = broken_of(FILES, night)
        assert (unknown.name, unknown.severity) == ("digest_not_noted", WARNING)
        assert unknown.count == len(store.TABLES)

    def test_of_a_file_that_is_taken_over(self, night: Plan) -> None:
        """A file that was changed before another panel came beside it is found afterwards."""
        kept = file_of(night, "outcomes").rename(
            file_of(night, "outcomes").with_name("regression.all.parquet")
        )
        store.write_sums(kept.parent)
        changed = pq.read_table(kept, partitioning=None)
        pq.write_table(changed.slice(1), kept)
        part = parts.part_path(night, "confirm", parts.WHOLE)
        assert isinstance(part, Path)
        for name in ("outcomes", "events"):
            (part / name).mkdir(parents=True)
            none = SCHEMAS[name].empty_table()
            pq.write_table(none, part / name / "part.parquet")
        store.write_lineage(part, parts.part_lineage(night, "confirm", ["id-faster"]))
        parts.assemble(night, "confirm", [parts.WHOLE])
        (found,), _ = broken_of(FILES, night)
        assert [one["file"] for one in found.offenders] == [kept.name]
