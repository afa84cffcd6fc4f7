"""Each gate lets a sound table pass and names what a corrupted one breaks."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

from isr_pipeline.base.errors import LINE_MAX
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.stages import BASELINE_SIDE
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.schemas import SCHEMAS
from isr_pipeline.tables.validation import results
from isr_pipeline.tables.validation.data_docs import CHECKED_TABLES, CRITICAL, SUITES
from isr_pipeline.tables.validation.reasons import REASONS
from isr_pipeline.tables.validation.run import DataRefused, broken_of, check, load_suite, told
from isr_pipeline.worlds.columns import ADDED
from tests.tables import from_table, table_of
from tests.validation import tables
from tests.validation.tables import NIGHT, SCENARIOS, tiny_plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isr_pipeline.experiment.plan import Plan

Corruption = dict[str, Any]

SECOND = 1_000_000
"""In microseconds."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Return a state folder of the test's own."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    monkeypatch.delenv("ISR_PIPELINE_ROOT", raising=False)
    return Home.from_environment()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a sound night."""
    root = tmp_path_factory.mktemp("sound")
    plan = tiny_plan(str(root))
    tables.write_sound(plan)
    return root


@pytest.fixture
def night(home: Home, sound: Path) -> Plan:
    """Return the plan of a sound night whose three tables are there."""
    shutil.copytree(sound, home.root)
    return tiny_plan(home.root)


def broken(table: str, plan: Plan) -> set[str]:
    """Names of the expectations that a table breaks."""
    return {one.name for one in broken_of(table, plan)[0]}


def put(rows: pd.DataFrame, place: int, corruption: Corruption) -> None:
    """Write other values into one row."""
    for column, value in corruption.items():
        if isinstance(value, float) and rows[column].dtype.kind == "i":
            rows[column] = rows[column].astype(float)
        rows.loc[place, column] = value


class TestSoundNight:
    """A night as the jobs make it."""

    def test_passes(self, night: Plan) -> None:
        """All three tables pass, and the site of the experiment leads to a page of each."""
        for table in CHECKED_TABLES:
            check(table, night)
        docs = Home.from_environment().data_docs(night.experiment)
        pages = re.findall(r'href="(validations/[^"]+)"', (docs / "index.html").read_text())
        assert len(pages) == len(CHECKED_TABLES)
        assert all((docs / page).is_file() for page in pages)

    def test_failed_pair_passes(self, night: Plan) -> None:
        """A pair that spent its event budget is data: told, and the verdict deals with it."""
        found = tables.outcomes(night)
        given = {"panel", "scenario_id", "config_id", "config_name", "stratum", "weight"}
        kept = given | {"simulated_ms", "kernel_events", "failed"}
        for column in found.columns.difference(list(kept)):
            put(found, 4, {column: None})
        put(found, 4, {"failed": 1})
        tables.write("outcomes", found, night)
        tables.write("summary", tables.summary(found), night)
        (spent,) = check("outcomes", night)
        assert told(spent) == (
            "warning: event_budget_spent: 1 row: panel=regression config_id=id-today "
            "configuration=today scenario_id=regression-00004 failed=1"
        )
        (warned,) = results.warnings(night)
        assert (warned.suite, warned.name, warned.count) == ("outcomes", "event_budget_spent", 1)
        assert broken("summary", night) == set()


class TestOlderBaseline:
    """Rows of a baseline whose kernel did not measure what is measured today."""

    def with_its_rows(self, night: Plan, null: Sequence[str]) -> Plan:
        """The night with the baseline's side of its panel, in which some columns are null."""
        found = tables.outcomes(night)
        its = found.assign(panel=f"regression{BASELINE_SIDE}", **dict.fromkeys(null))
        tables.write("outcomes", pd.concat([found, its], ignore_index=True), night)
        return night

    def test_passes(self, night: Plan) -> None:
        """What both releases measure is checked; the rest is null."""
        assert broken("outcomes", self.with_its_rows(night, ADDED)) == set()

    def test_lacks_nothing_else(self, night: Plan) -> None:
        """A column that its release did have is missed."""
        null = (*ADDED, "records_lost")
        assert broken("outcomes", self.with_its_rows(night, null)) == {"values_missing"}


class TestCorruptedRows:
    """One wrong row: it breaks what it should and nothing else."""

    @from_table
    def test_outcomes(self, night: Plan, corruption: Corruption, expected: list[str]) -> None:
        """Every rule about outcomes catches its corruption."""
        found = tables.outcomes(night)
        # The fourth scenario is a calm one: nothing else is above zero.
        put(found, 9, corruption)
        tables.write("outcomes", found, night)
        assert broken("outcomes", night) == set(expected)

    @from_table
    def test_summary(
        self, night: Plan, metric: str, corruption: Corruption, expected: list[str]
    ) -> None:
        """Every rule about the summary catches its corruption."""
        rows = tables.summary(tables.outcomes(night))
        inside = (rows["config_name"] == "faster") & (rows["metric"] == metric)
        put(rows, int(rows.index[inside & (rows["stratum"] == "all")][0]), corruption)
        tables.write("summary", rows, night)
        assert broken("summary", night) == set(expected)

    @from_table
    def test_scenarios(self, night: Plan, corruption: Corruption, expected: list[str]) -> None:
        """Every rule about scenarios catches its corruption; all change the panel's digest."""
        drawn = tables.scenarios()
        put(drawn, 4, corruption)
        tables.write("scenarios", drawn, night)
        assert broken("scenarios", night) - {"digest"} == set(expected)

    def test_every_rule_is_broken_by_some(self) -> None:
        """No rule of a suite is without a corruption, or a test below, that breaks it."""
        below = {"rows", "digest", "number_not_finite"}
        tests = [f"TestCorruptedRows.test_{checked}" for checked in CHECKED_TABLES]
        corrupted = [row for test in tests for row in table_of(__file__, test)]
        caught = below.union(*(row["expected"] for row in corrupted))
        rules = {one["meta"]["name"] for checked in CHECKED_TABLES for one in load_suite(checked)}
        assert {name for name in rules - caught if not name.endswith("_null")} == set()

    @pytest.mark.parametrize("table", CHECKED_TABLES)
    def test_null(self, night: Plan, table: str) -> None:
        """A null is refused in every column that has none."""
        given = [field.name for field in SCHEMAS[table] if not field.nullable]
        damaged = _with(night, table, dict.fromkeys(given))
        assert {f"{column}_null" for column in given} <= broken(table, damaged)

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
    @pytest.mark.parametrize("table", CHECKED_TABLES)
    def test_not_finite(self, night: Plan, table: str, value: float) -> None:
        """A NaN, which is no null, and an infinite number are refused in every column of them."""
        column = {"scenarios": "weight", "outcomes": "detection_delay_ms", "summary": "high"}[table]
        assert "number_not_finite" in broken(table, _with(night, table, {column: value}))


def _with(night: Plan, table: str, values: dict[str, float | None]) -> Plan:
    """The night with other values in the first row of a table, whatever pandas makes of them."""
    rows = store.read_arrow(table, night.experiment, night.night, root=night.root)
    for column, value in values.items():
        place = rows.schema.get_field_index(column)
        type_ = rows.schema.field(column).type
        changed = pa.array([value, *rows.column(column).to_pylist()[1:]], type_)
        rows = rows.set_column(place, pa.field(column, type_), changed)
    held = {"regression": [c.config_id for c in night.configurations]}
    lineage = {"plan": parts.plan_key(night), "panels": held}
    root = night.root
    store.write_table(table, night.experiment, night.night, rows, root=root, lineage=lineage)
    return night


class TestRefusal:
    """What a refused table says."""

    def test_names_expectation_and_row(self, night: Plan) -> None:
        """One line: the table, the expectation, the row's key and values, where to look."""
        found = tables.outcomes(night)
        put(found, 7, {"records_lost": 5000})
        tables.write("outcomes", found, night)
        with pytest.raises(DataRefused) as refused:
            check("outcomes", night)
        docs = refused.value.docs
        assert str(refused.value) == (
            f"outcomes of night {NIGHT} refused: more_lost_than_acked: 1 row: panel=regression "
            "config_id=id-faster configuration=faster scenario_id=regression-00001 "
            f"records_acked=1000 records_lost=5000; Data Docs: {docs}"
        )
        assert docs.is_file()

    def test_a_rule_of_many_parts(self, night: Plan) -> None:
        """Of its columns the values that break it are said, and those that they are compared with.

        The whole line fits where it is shown: nothing is left out of its middle.
        """
        found = tables.outcomes(night)
        found.loc[found["config_name"] == "faster", "produce_unavailable_us"] = 5_400 * SECOND
        tables.write("outcomes", found, night)
        with pytest.raises(DataRefused) as refused:
            check("outcomes", night)
        assert refused.value.expectations[0] == "share_outside_0_1"
        assert refused.value.offenders[1] == {
            "panel": "regression",
            "config_id": "id-faster",
            "configuration": "faster",
            "scenario_id": "regression-00001",
            "failed": 0,
            "produce_unavailable_us": 5_400 * SECOND,
            "exposure_us": 3_600 * SECOND,
        }
        line = str(refused.value).removesuffix(str(refused.value.docs))
        assert "scenario_id=regression-00000 " in line
        assert len(line) < LINE_MAX

    def test_missing_pair(self, night: Plan) -> None:
        """A pair that is not there is named; that the rows are too few is said beside it."""
        tables.write("outcomes", tables.outcomes(night).drop(index=2), night)
        with pytest.raises(DataRefused) as refused:
            check("outcomes", night)
        assert refused.value.expectations == ["rows"]
        assert refused.value.offenders == [
            {
                "panel": "regression",
                "config_id": "id-today",
                "configuration": "today",
                "scenario_id": "regression-00002",
            }
        ]

    def test_missing_configuration(self, night: Plan) -> None:
        """A configuration of the plan without any row is missed."""
        found = tables.outcomes(night)
        tables.write("outcomes", found[found["config_name"] != "safer"], night)
        with pytest.raises(DataRefused) as refused:
            check("outcomes", night)
        assert refused.value.expectations == ["rows"]

    def test_other_panel(self, night: Plan) -> None:
        """A panel in which one byte of one scenario differs from the plan's has another digest."""
        drawn = tables.scenarios()
        scenario = json.loads(str(drawn.loc[1, "scenario_json"]))
        drawn.loc[1, "scenario_json"] = json.dumps({**scenario, "seed": 2})
        tables.write("scenarios", drawn, night)
        with pytest.raises(DataRefused) as refused:
            check("scenarios", night)
        assert refused.value.expectations == ["digest"]
        assert refused.value.offenders == [
            {
                "panel": "regression",
                "digest": tables.digest_of(drawn),
                "digest_planned": night.panel_digest,
            }
        ]

    def test_columns(self, night: Plan) -> None:
        """A column of another type is named; nothing is said of its rows."""
        found = tables.outcomes(night)
        found["records_lost"] = found["records_lost"].astype(str)
        schema = SCHEMAS["outcomes"]
        tables.write("outcomes", found[schema.names].assign(more=1), night)
        with pytest.raises(DataRefused) as refused:
            check("outcomes", night)
        assert refused.value.expectations == ["columns_amiss"]
        amiss = {row["column"]: row["planned"] for row in refused.value.offenders}
        assert amiss["more"] == "absent"
        assert amiss["records_lost"] == "int64"

    @pytest.mark.parametrize("damage", ["cut", "overwritten", "gone"])
    def test_unreadable(
        self,
        night: Plan,
        damage: str,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> None:
        """A file that is cut, overwritten in its middle, or gone is refused as unreadable."""
        folder = store.table_path("outcomes", night.experiment, night.night, night.root)
        (file,) = folder.glob("*.parquet")
        content = file.read_bytes()
        damages: dict[str, Callable[[], Any]] = {
            "cut": lambda: file.write_bytes(content[: len(content) // 2]),
            "overwritten": lambda: file.write_bytes(b"PAR1" + bytes(6000) + content[6004:]),
            "gone": file.unlink,
        }
        damages[damage]()
        with pytest.raises(DataRefused) as refused:
            check("outcomes", night)
        assert refused.value.expectations == ["unreadable"]


class TestSuites:
    """The JSON files."""

    def test_severities(self) -> None:
        """An expectation is critical unless the list says that something else takes care of it."""
        listed = [(table, one) for table in SUITES for one in load_suite(table)]
        assert {one["meta"]["name"] for _, one in listed if one["severity"] != CRITICAL} == {
            "event_budget_spent",
            "digest_not_noted",
        }
        for table, one in listed:
            assert one["severity"] == REASONS[one["meta"]["why"]].severity, (table, one)

    @pytest.mark.parametrize("table", SUITES)
    def test_sentences(self, table: str) -> None:
        """Every expectation has a name of its own and says in a sentence what it expects."""
        suite = load_suite(table)
        names = [expectation["meta"]["name"] for expectation in suite]
        assert len(set(names)) == len(names)
        assert all(expectation["description"].endswith(".") for expectation in suite)

    def test_panel_size(self) -> None:
        """The tiny panel's weights sum to its size, as a real one's."""
        assert tables.scenarios()["weight"].sum() == SCENARIOS
