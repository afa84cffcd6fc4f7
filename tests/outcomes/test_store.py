"""Tables: whole or not there, and the same digest however they are cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from isr_pipeline.base.errors import TableMissing
from isr_pipeline.base.storage.published import files, replacing
from isr_pipeline.tables import store

NIGHT = "2026-11-19"
ROWS = pd.DataFrame(
    {
        "config_id": ["b", "a", "a"],
        "metric": ["m", "n", "m"],
        "p": [0.1, np.nan, 0.3],
        "count": [1, 2, 3],
        "note": ["x", None, "ü"],
    }
)


@pytest.fixture
def root(tmp_path: Path) -> str:
    """Return an empty table root."""
    return str(tmp_path / "tables")


def put(root: str, night: str = NIGHT, rows: pd.DataFrame = ROWS) -> Path:
    """Write a verdicts table."""
    folder = store.write_table("verdicts", "smoke", night, rows, root=root)
    assert isinstance(folder, Path)
    return folder


class TestReadTable:
    """Reading a night's table."""

    def test_in_order_of_its_key(self, root: str) -> None:
        """Rows come in order of the key, whatever order they were written in."""
        put(root)
        read = store.read_table("verdicts", "smoke", NIGHT, root=root)
        assert list(read["count"]) == [3, 2, 1]

    def test_columns_and_filter(self, root: str) -> None:
        """Columns and rows can be chosen; a filter's column need not be among them."""
        put(root)
        where = pc.field("config_id") == "a"
        read = store.read_table(
            "verdicts", "smoke", NIGHT, columns=["count"], where=where, root=root
        )
        assert read.to_dict("list") == {"count": [3, 2]}

    def test_missing(self, root: str) -> None:
        """A table that is not there is named with its night."""
        with pytest.raises(TableMissing) as missing:
            store.read_table("summary", "smoke", NIGHT, root=root)
        assert str(missing.value) == "no summary table of experiment smoke, night 2026-11-19"

    def test_unknown(self, root: str) -> None:
        """A name that is no table's is refused with those that are."""
        with pytest.raises(ValueError, match=r"^unknown table 'x'; tables are scenarios, outcomes"):
            store.read_table("x", "smoke", NIGHT, root=root)

    def test_file_uri(self, root: str) -> None:
        """The root may be a file: URI, as Spark writes it."""
        put(root)
        assert len(store.read_table("verdicts", "smoke", NIGHT, root=f"file://{root}")) == 3


class TestReplacing:
    """Replacing a folder as a whole."""

    def test_replaces(self, root: str) -> None:
        """The second write leaves nothing of the first."""
        put(root)
        put(root, rows=ROWS.head(1))
        assert store.count_rows("verdicts", "smoke", NIGHT, root=root) == 1

    def test_failed_attempt(self, root: str) -> None:
        """An attempt that raises leaves the table as it was, and nothing beside it."""
        folder = put(root)
        before = store.table_digest("verdicts", "smoke", NIGHT, root=root)

        def attempt() -> None:
            with replacing(folder) as writing:
                (writing / "part.parquet").write_bytes(b"half")
                raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match=r"^stop$"):
            attempt()
        assert store.table_digest("verdicts", "smoke", NIGHT, root=root) == before
        assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]

    def test_debris_is_unseen_and_goes(self, root: str) -> None:
        """What a killed attempt left is no night, and the next attempt removes it."""
        folder = put(root)
        debris = folder.with_name(f"_writing-{folder.name}-0")
        debris.mkdir()
        (debris / "part.parquet").write_bytes(b"half")
        assert store.list_nights("smoke", table="verdicts", root=root) == [NIGHT]
        put(root)
        assert not debris.exists()

    def test_other_night_stays(self, root: str) -> None:
        """Debris of another night is left to that night's writer."""
        folder = put(root)
        other = folder.with_name("_writing-night=2026-11-20-0")
        other.mkdir()
        put(root)
        assert other.exists()


class TestWritingFile:
    """A file is whole or not there."""

    SCHEMA = pa.schema([("n", pa.int64())])

    def write(self, file: Path, numbers: list[int]) -> None:
        """Write a file in two strokes; a number below 0 breaks the second."""
        with store.writing_file(file.parent, file.name, self.SCHEMA) as writer:
            writer.write_table(pa.table({"n": numbers[:1]}, self.SCHEMA))
            if min(numbers) < 0:
                raise OSError(28, "No space left on device")
            writer.write_table(pa.table({"n": numbers[1:]}, self.SCHEMA))

    def test_the_last_of_two_stands(self, tmp_path: Path) -> None:
        """A task that is run twice leaves one file."""
        file = tmp_path / "part-0.parquet"
        self.write(file, [1, 2])
        self.write(file, [3, 4])
        assert pq.read_table(tmp_path)["n"].to_pylist() == [3, 4]

    def test_broken_off(self, tmp_path: Path) -> None:
        """An error in the middle leaves nothing, and what was there before."""
        with pytest.raises(OSError, match="No space left"):
            self.write(tmp_path / "part-0.parquet", [1, -1])
        assert list(tmp_path.iterdir()) == []

    def test_unseen_until_whole(self, tmp_path: Path) -> None:
        """While it is written, or left so by a killed process, no reader sees the file."""
        with store.writing_file(tmp_path, "part-0.parquet", self.SCHEMA) as writer:
            writer.write_table(pa.table({"n": [1]}, self.SCHEMA))
            assert len(list(tmp_path.iterdir())) == 1
            assert pq.read_table(tmp_path, schema=self.SCHEMA).num_rows == 0
            assert files(tmp_path) == []


class TestDigest:
    """The digest of a table's content."""

    def test_layout_does_not_matter(self, root: str) -> None:
        """Files, row groups, row order, column order and widths of types do not count."""
        folder = put(root)
        digest = store.table_digest("verdicts", "smoke", NIGHT, root=root)
        table = pa.Table.from_pandas(ROWS, preserve_index=False)
        types = {"count": pa.int32(), "config_id": pa.large_string()}
        columns = ["note", "count", "p", "metric", "config_id"]
        table = table.select(columns).cast(
            pa.schema([(c, types.get(c, table.schema.field(c).type)) for c in columns])
        )
        for file in folder.glob("*.parquet"):
            file.unlink()
        pq.write_table(table.slice(0, 1), folder / "z.parquet")
        pq.write_table(table.slice(1), folder / "a.parquet", row_group_size=1)
        assert store.table_digest("verdicts", "smoke", NIGHT, root=root) == digest

    @pytest.mark.parametrize(
        ("column", "value"),
        [
            ("p", np.nextafter(0.1, 1.0)),
            ("p", np.nan),
            ("count", 7),
            ("note", "y"),
            ("note", ""),
            ("config_id", "c"),
        ],
    )
    def test_values_matter(self, column: str, value: Any) -> None:
        """One bit of one value counts."""
        changed = ROWS.copy()
        changed.loc[0, column] = value
        assert store.digest(changed) != store.digest(ROWS)

    def test_zero_sign_null_and_name(self) -> None:
        """0.0 is not -0.0, null is not 0 nor an empty text, and names count."""
        columns = [
            {"x": pa.array([0.0])},
            {"x": pa.array([-0.0])},
            {"x": pa.array([None], pa.float64())},
            {"x": pa.array([0])},
            {"x": pa.array([""])},
            {"x": pa.array([None], pa.string())},
            {"y": pa.array([0.0])},
        ]
        digests = {store.digest(pa.table(one)) for one in columns}
        assert len(digests) == len(columns)

    def test_text_boundaries(self) -> None:
        """Where one text ends and the next begins counts."""
        one, other = pa.table({"x": ["ab", "c"]}), pa.table({"x": ["a", "bc"]})
        assert store.digest(one) != store.digest(other)


class TestNights:
    """What nights there are."""

    def test_list(self, root: str) -> None:
        """Nights come oldest first, by experiment."""
        for night in ("2026-11-20", NIGHT):
            put(root, night)
        assert store.list_nights("smoke", table="verdicts", root=root) == [NIGHT, "2026-11-20"]
        assert store.list_nights("smoke", root=root) == []
        assert store.list_nights("other", table="verdicts", root=root) == []

    def test_delete(self, root: str) -> None:
        """A night goes with its parts; other nights stay."""
        for night in ("2026-11-20", NIGHT):
            put(root, night)
        part = store.parts_path("smoke", NIGHT, "regression", root)
        part.mkdir(parents=True)
        assert store.delete_night("smoke", NIGHT, root=root) == ["verdicts"]
        assert store.list_nights("smoke", table="verdicts", root=root) == ["2026-11-20"]
        assert not part.exists()
