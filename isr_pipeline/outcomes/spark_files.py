"""Files of tables, read and written by Spark's tasks, wherever the tables lie.

On this machine Spark reads Parquet itself. In an object store the tasks read the files that the
manifest names, and check them: Spark needs no connector of its own. Rows are written by the tasks
in both cases; the driver is told which files there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql.pandas.types import to_arrow_schema

from isr_pipeline.outcomes.store import writing_file
from isr_pipeline.storage.places import place_of
from isr_pipeline.storage.published import Stored
from isr_pipeline.storage.remote import RemotePath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType

    from isr_pipeline.storage.places import Place
    from isr_pipeline.storage.published import Draft

WRITTEN = "rows long, name string, place string, size long, sha256 string"
"""What a task says of a file that it wrote."""


def read(spark: SparkSession, schema: StructType, files: Sequence[Stored]) -> DataFrame:
    """Rows of some files of one table.

    Args:
        spark: the session.
        schema: of the table.
        files: of one published folder or draft; at least one.
    """
    if not any(isinstance(file.place, RemotePath) for file in files):
        return spark.read.schema(schema).parquet(*(str(file.place) for file in files))
    numbers = spark.range(0, len(files), 1, len(files))
    return numbers.mapInArrow(_reader(to_arrow_schema(schema), tuple(files)), schema)


def _reader(
    schema: pa.Schema, files: tuple[Stored, ...]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark runs in a worker: places in `files` in, their rows out."""

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                table = pq.read_table(files[number].open(), schema=schema)
                yield from table.cast(schema).to_batches()

    return rows


def write(rows: DataFrame, schema: StructType, draft: Draft, name: str, below: str = "") -> int:
    """Write rows into a draft, a file for each task; returns how many.

    Args:
        rows: of one table.
        schema: of the table.
        draft: what they become part of.
        name: that the files' names begin with.
        below: folder in the draft; one of this machine exists.
    """
    worker = _writer(to_arrow_schema(schema), draft.shared, f"{below}/{name}" if below else name)
    written = rows.mapInArrow(worker, WRITTEN).collect()
    draft.add(stored(row) for row in written)
    return sum(int(row.rows) for row in written)


def stored(row: Row) -> Stored:
    """A file, as the task that wrote it told of it."""
    return Stored(place_of(row.place), row.name, row.size, row.sha256)


def _writer(
    schema: pa.Schema, folder: Place, prefix: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark runs in a worker: rows in, the file that has them out."""

    def write_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        count = 0
        with writing_file(folder, f"{prefix}-{number:05d}.parquet", schema) as file:
            for batch in batches:
                file.write_table(pa.Table.from_batches([batch]).cast(schema))
                count += batch.num_rows
        yield told(count, file.stored)

    return write_all


def told(rows: int, file: Stored | None) -> pa.RecordBatch:
    """What a task says of a file that it wrote; see `WRITTEN`."""
    assert file is not None, "the file is there"
    return pa.RecordBatch.from_pydict(
        {
            "rows": [rows],
            "name": [file.name],
            "place": [str(file.place)],
            "size": [file.size],
            "sha256": [file.sha256],
        }
    )
