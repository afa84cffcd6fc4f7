"""Tables as folders of Parquet files: read, replaced as a whole, identified by a digest.

A table of one night is the folder ``<root>/<table>/experiment=E/night=YYYY-MM-DD``, on this machine
or in an object store. It is either absent or complete (:mod:`isr_pipeline.base.storage.published`).

This module needs Arrow alone: reading a night starts no Java.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from isr_pipeline.base.errors import TableMissing
from isr_pipeline.base.places import root_path
from isr_pipeline.base.storage.places import Place, remove_tree
from isr_pipeline.base.storage.published import (
    Stored,
    content_of,
    is_published,
    put_file,
    read_tables,
    remove,
    remove_debris,
    replacing,
)
from isr_pipeline.base.storage.remote import RemotePath, StoreError, at_once

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

TABLES: dict[str, tuple[str, ...]] = {
    "scenarios": ("panel", "scenario_id"),
    "outcomes": ("panel", "config_id", "scenario_id"),
    "events": ("panel", "config_id", "scenario_id", "seq"),
    "summary": ("panel", "config_id", "metric", "stratum"),
    "verdicts": ("config_id", "metric"),
}
"""Every table and its key, which is also the order of its rows."""

LATER_TABLES: tuple[str, ...] = ("outcomes", "events", "summary", "verdicts")
"""Tables made from the scenarios table: out of date once that is drawn anew."""

_NIGHT = re.compile(r"^night=(\d{4}-\d{2}-\d{2})$")
_LINEAGE = "_lineage.json"
_SUMS = "_SHA256SUMS"


def table_path(name: str, experiment: str, night: str, root: str | None = None) -> Place:
    """Folder of one table of one night (which need not exist)."""
    if name not in TABLES:
        msg = f"unknown table {name!r}; tables are {', '.join(TABLES)}"
        raise ValueError(msg)
    return root_path(root) / name / f"experiment={experiment}" / f"night={night}"


def has_table(name: str, experiment: str, night: str, root: str | None = None) -> bool:
    """Tell whether a table of a night is there, whole."""
    return is_published(table_path(name, experiment, night, root))


def write_table(
    name: str,
    experiment: str,
    night: str,
    rows: pd.DataFrame | pa.Table,
    *,
    schema: pa.Schema | None = None,
    root: str | None = None,
    lineage: dict[str, Any] | None = None,
) -> Place:
    """Replace a table of a night by ``rows``, in order of its key, as one file.

    Args:
        name: one of `TABLES`.
        experiment: experiment name.
        night: YYYY-MM-DD.
        rows: data without the columns ``experiment`` and ``night``, which the path says.
            A NaN in a data frame is written as null.
        schema: Arrow schema to cast to; of the rows themselves if None.
        root: table root; the home's if None.
        lineage: what it was made from, kept beside the files (see `read_lineage`).

    Returns:
        The table's folder.
    """
    if isinstance(rows, pa.Table):
        table = rows.cast(schema) if schema else rows
    else:
        table = pa.Table.from_pandas(rows, schema=schema, preserve_index=False)
    table = _sorted(table.replace_schema_metadata(), TABLES[name])
    folder = table_path(name, experiment, night, root)
    with replacing(folder) as writing:
        pq.write_table(table, writing / "part-00000.parquet", compression="zstd")
        if lineage is not None:
            write_lineage(writing, lineage)
        write_sums(writing)
    return folder


@dataclass(slots=True)
class Writing:
    """A Parquet file that is being written.

    Attributes:
        writer: takes its rows.
        stored: the file, once it is there.
    """

    writer: pq.ParquetWriter
    stored: Stored | None = None

    def write_table(self, rows: pa.Table) -> None:
        """Add rows."""
        self.writer.write_table(rows)


@contextmanager
def writing_file(folder: Place, name: str, schema: pa.Schema) -> Iterator[Writing]:
    """Give a writer of one Parquet file, which is there at the end, whole, or not at all.

    Written by several at once, as by a task that Spark believes lost and the one that takes its
    place: on this machine the last one's stands; in a store each has a file of its own, and the
    one counts that is named when the folder is published. What a killed process leaves on this
    machine has a name that no reader sees.

    Args:
        folder: that is being drafted; one of this machine exists.
        name: of the file, below the folder.
        schema: of the rows to come.
    """
    file = folder / name
    token = uuid.uuid4().hex[:8]
    if isinstance(file, RemotePath):
        content = pa.BufferOutputStream()
        with pq.ParquetWriter(content, schema, compression="zstd") as writer:
            writing = Writing(writer)
            yield writing
        own = file.with_name(f"{file.stem}-{token}{file.suffix}")
        writing.stored = put_file(own, content.getvalue(), name)
        return
    draft = file.with_name(f"_{file.stem}-{token}{file.suffix}")
    try:
        with pq.ParquetWriter(draft, schema, compression="zstd") as writer:
            writing = Writing(writer)
            yield writing
        draft.replace(file)
        writing.stored = Stored(file, name)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_lineage(folder: Path, lineage: dict[str, Any]) -> None:
    """Note beside a table's files what they were made from."""
    (folder / _LINEAGE).write_text(json.dumps(lineage, sort_keys=True, indent=1) + "\n")


def read_lineage(folder: Place) -> dict[str, Any]:
    """What a table (or a shard's part) was made from; empty if nothing was noted."""
    noted = content_of(folder, _LINEAGE)
    return {} if noted is None else dict(json.loads(noted))


def write_sums(folder: Path, taken: Mapping[str, str] | None = None) -> None:
    """Note the digests of a table's files beside them, as ``sha256sum --check`` reads them.

    Args:
        folder: that is being drafted, with all its files but those that a store copies.
        taken: digests that files had which are taken over: what was changed since is found.
    """
    sums = {}
    for file in sorted(folder.glob("*.parquet")):
        with file.open("rb") as content:
            sums[file.name] = hashlib.file_digest(content, "sha256").hexdigest()
    lines = [f"{sha256}  {name}\n" for name, sha256 in sorted((sums | dict(taken or {})).items())]
    (folder / _SUMS).write_text("".join(lines))


def read_sums(folder: Place) -> dict[str, str]:
    """Digests of a table's files by their names; empty if nothing was noted, as before 0.3.0."""
    noted = content_of(folder, _SUMS)
    lines = [] if noted is None else noted.decode(errors="replace").splitlines()
    return {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}


def read_arrow(
    name: str,
    experiment: str,
    night: str,
    *,
    columns: Sequence[str] | None = None,
    where: pc.Expression | None = None,
    root: str | None = None,
) -> pa.Table:
    """Read a table of a night as Arrow, in order of its key.

    Args:
        name: one of `TABLES`.
        experiment: experiment name.
        night: YYYY-MM-DD.
        columns: columns to read; all if None.
        where: filter, such as ``pyarrow.compute.field("panel") == "regression"``.
        root: table root; the home's if None.

    Raises:
        TableMissing: if it is not there.
    """
    dataset = _dataset(name, experiment, night, root)
    held = dataset.schema.names
    keys = [key for key in TABLES[name] if key in held]
    wanted = None if columns is None else list(dict.fromkeys([*keys, *columns]))
    table = _sorted(dataset.to_table(columns=wanted, filter=where), keys)
    return table if columns is None else table.select(list(columns))


def read_table(
    name: str,
    experiment: str,
    night: str,
    *,
    columns: Sequence[str] | None = None,
    where: pc.Expression | None = None,
    root: str | None = None,
) -> pd.DataFrame:
    """Read a table of a night as a data frame, in order of its key; see `read_arrow`.

    A null number is NaN (so a column of whole numbers with a null is one of floats).
    """
    table = read_arrow(name, experiment, night, columns=columns, where=where, root=root)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def count_rows(name: str, experiment: str, night: str, *, root: str | None = None) -> int:
    """Rows of a table of a night, from the files' footers.

    Raises:
        TableMissing: if it is not there.
    """
    return int(_dataset(name, experiment, night, root).count_rows())


def _dataset(name: str, experiment: str, night: str, root: str | None) -> ds.Dataset:
    """The files of a table, from wherever they are.

    Raises:
        TableMissing: it is not there.
    """
    folder = table_path(name, experiment, night, root)
    if isinstance(folder, Path):
        if not folder.is_dir():
            raise TableMissing(name, experiment, night)
        return ds.dataset(folder, format="parquet", partitioning=None)
    parquet = ds.ParquetFileFormat()

    def read(held: list[Stored]) -> list[Any]:
        return [parquet.make_fragment(content) for content in at_once(Stored.open, held)]

    fragments = read_tables(folder, read)
    if not fragments:
        if not is_published(folder):
            raise TableMissing(name, experiment, night)
        raise StoreError(f"{folder}: has no files")
    return ds.FileSystemDataset(fragments, fragments[0].physical_schema, parquet)


def table_digest(name: str, experiment: str, night: str, *, root: str | None = None) -> str:
    """Digest of a table's content, whatever its files, row groups and row order; see `digest`.

    Raises:
        TableMissing: if it is not there.
    """
    return digest(read_arrow(name, experiment, night, root=root), TABLES[name])


def digest(rows: pd.DataFrame | pa.Table, key: Sequence[str] = ()) -> str:
    """Digest of rows: equal if and only if the same values stand under the same column names.

    Rows are taken in order of the key, columns in order of their names. Numbers count bit by bit
    (so 0.0 and -0.0 differ), null is no value of its own type, and neither the width of an
    integer nor the kind of a string column matters.

    Returns:
        SHA-256, 64 hexadecimal digits.
    """
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pandas(rows, preserve_index=False)
    table = _sorted(table, key)
    content = hashlib.sha256(str(table.num_rows).encode())
    for name in sorted(table.column_names):
        kind, buffers = _canonical(table.column(name))
        content.update(f"\n{name}:{kind}\n".encode())
        for buffer in buffers:
            content.update(buffer)
    return content.hexdigest()


def _canonical(column: pa.ChunkedArray) -> tuple[str, list[bytes]]:
    """Kind of a column and its bytes: which are null, then the values."""
    valid = pc.is_valid(column).to_numpy().tobytes()
    if pa.types.is_floating(column.type):
        values = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy()
        return "float", [valid, values.astype(">f8").tobytes()]
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        values = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
        return "int", [valid, values.astype(">i8").tobytes()]
    if pa.types.is_null(column.type):
        return "null", [valid]
    texts = pc.fill_null(column.cast(pa.large_string()), "")
    lengths = pc.binary_length(texts).to_numpy().astype(">i8").tobytes()
    return "text", [valid, lengths, "".join(texts.to_pylist()).encode()]


def _sorted(table: pa.Table, key: Sequence[str]) -> pa.Table:
    """Rows in order of the key; equal keys (a fault) in order of the other columns."""
    names = [name for name in key if name in table.column_names]
    names += sorted(name for name in table.column_names if name not in names)
    sortable = [name for name in names if not pa.types.is_null(table.schema.field(name).type)]
    return table.sort_by([(name, "ascending") for name in sortable]) if sortable else table


def list_nights(experiment: str, *, table: str = "outcomes", root: str | None = None) -> list[str]:
    """Nights of an experiment that have the table, oldest first."""
    folder = root_path(root) / table / f"experiment={experiment}"
    entries = folder.glob("night=*")
    return sorted(m.group(1) for e in entries if (m := _NIGHT.match(e.name)) and is_published(e))


def parts_path(
    experiment: str, night: str, panel: str | None = None, root: str | None = None
) -> Place:
    """Folder of the shards' parts of a night's outcomes, not yet put together."""
    folder = root_path(root) / "_parts" / f"experiment={experiment}" / f"night={night}"
    return folder / f"panel={panel}" if panel else folder


def delete_night(
    experiment: str,
    night: str,
    *,
    tables: Sequence[str] = tuple(TABLES),
    root: str | None = None,
) -> list[str]:
    """Delete a night's tables, its shards' parts and debris.

    Returns:
        Names of the tables that were there.
    """
    deleted = []
    for name in tables:
        folder = table_path(name, experiment, night, root)
        there = is_published(folder)
        remove_debris(folder)
        remove(folder)
        if there:
            deleted.append(name)
    remove_tree(parts_path(experiment, night, root=root))
    return deleted
