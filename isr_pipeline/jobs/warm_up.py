"""A small Spark job that does once what the others do: Java notes which classes they need.

    warm_up.py FOLDER

Run by set-up, with Java told to write a class archive when it ends; see
:mod:`isr_pipeline.host.java`. The folder is written to and is the caller's to remove.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from isr_pipeline.host.spark_session import spark_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa


def same(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """Give every batch back, from a Python worker."""
    yield from batches


def main() -> int:
    """Write, read, join and sum a few rows."""
    folder = sys.argv[1]
    spark = spark_session("warm-up")
    numbers = spark.range(0, 1000, 1, 4).selectExpr("id", "id % 7 as part", "cast(id as double) x")
    numbers.mapInArrow(same, numbers.schema).write.mode("overwrite").parquet(folder)
    stored = spark.read.schema(numbers.schema).parquet(folder)
    sums = stored.groupBy("part").agg({"x": "sum", "id": "count"})
    joined = stored.join(sums, "part").where("x > 10").orderBy("id").selectExpr(
        "*", "array(x) as a", "row_number() over (partition by part order by id) as place"
    )  # fmt: skip
    joined.coalesce(1).sortWithinPartitions("id").write.mode("overwrite").parquet(folder + "/sums")
    spark.read.parquet(folder + "/sums").toPandas()
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
