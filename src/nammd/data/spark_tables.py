"""Spark DataFrames: who maps over their rows are the Python workers of Spark's executors.

One pass is one job: `DataFrame.mapInArrow` hands every partition to a worker as Arrow batches, and what comes
back are a few bytes for every piece, or one total. Only methods of DataFrames are used, so Spark Connect will
do. pyspark is never imported here: somebody who has a DataFrame has imported it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nammd.data.mapped import Made, MappedPieces, Mapper, Merge, Number, cut, in_order, merged
from nammd.data.nested import DEEPEST
from nammd.data.pieces import Whereabouts

_SCHEMA = "partition int, piece int, merger int, failed boolean, result binary"
_MERGERS = 8
"""Totals of partitions are merged by so many tasks at most before they come home, where they are large."""


def is_spark(value: Any) -> bool:
    """Tell whether a value is a DataFrame of Spark, or of pandas on Spark, without importing pyspark."""
    return type(value).__module__.startswith("pyspark.") and (
        hasattr(type(value), "mapInArrow") or hasattr(type(value), "to_spark")
    )


def spark_pieces(data: Any, name: str) -> MappedPieces:
    """Return the pieces of a Spark DataFrame; nothing is computed."""
    frame = data.to_spark() if hasattr(type(data), "to_spark") else data
    if getattr(frame, "isStreaming", False):
        raise TypeError(
            f"{name} is a stream of Spark's, which has no end; give one batch of it at a time, from "
            "writeStream.foreachBatch"
        )
    return MappedPieces(SparkMapper(frame, name), tuple(_names(frame.schema, ())))


@dataclass(frozen=True, eq=False)
class SparkMapper(Mapper):
    """Maps over a Spark DataFrame: a piece is a part of a partition.

    Attributes
    ----------
    frame : DataFrame
        The table.
    owner : str
        What messages call it.
    """

    frame: Any
    owner: str

    whereabouts = Whereabouts(
        "on Spark",
        "x.sample(0.01, seed=0)",
        "x.repartition({!r})",
        "x.cache(), or x.localCheckpoint(), and give what that returns",
    )

    def each(self, function: Made) -> list[tuple[Number, Any]]:
        """Return what a function makes of every piece, in one job."""
        return in_order(self._computed(self.frame.mapInArrow(_Each(function, self.owner), _SCHEMA)))

    def total(self, function: Made, merge: Merge, *, whole: bool = False, small: bool = False) -> Any:
        """Return the same merged: within partitions, then, unless it is small, by a few tasks, then here."""
        totals = self.frame.mapInArrow(_Total(function, merge, self.owner, whole), _SCHEMA)
        if not small:  # without a number of partitions, so that Spark takes fewer where there is little
            totals = totals.repartition("merger").mapInArrow(_Merged(merge), _SCHEMA)
        return merged(merge, (value for _, value in in_order(self._computed(totals))))

    def _computed(self, results: Any) -> list[tuple[Number, Any]]:
        """Return what tasks found, or raise what one of them refused."""
        try:
            rows = results.collect()
        except Exception as error:
            if "No module named 'nammd" in str(error) or "No module named 'pyarrow'" in str(error):
                raise ImportError(
                    "the workers of Spark cannot import nammd and pyarrow; install 'nammd[spark]' for their "
                    "Python, or say which Python they take: PYSPARK_PYTHON, or spark.archives for one that "
                    "travels to them"
                ) from error
            raise
        found = [((row.partition, row.piece), row.failed, pickle.loads(bytes(row.result))) for row in rows]
        failed = sorted((number, place) for place, (number, wrong, _) in enumerate(found) if wrong)
        if failed:
            raise found[failed[0][1]][2]
        return [(number, value) for number, _, value in found]


@dataclass(frozen=True)
class _Each:
    """A task: a function of every piece of a partition, each by itself."""

    function: Made
    owner: str

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        partition, place = _partition(), 0
        try:
            for place, piece in enumerate(cut(batches, self.owner)):
                number = partition, place
                yield _row(number, self.function(piece, number))
        except Exception as error:
            yield _row((partition, place), error, failed=True)


@dataclass(frozen=True)
class _Total:
    """A task: a function of every piece of a partition, all of them merged."""

    function: Made
    merge: Merge
    owner: str
    whole: bool

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        partition = _partition()
        try:
            pieces = enumerate(cut(batches, self.owner, self.whole))
            whole = merged(self.merge, (self.function(piece, (partition, k)) for k, piece in pieces))
        except Exception as error:
            yield _row((partition, 0), error, failed=True)
            return
        if whole is not None:
            yield _row((partition, 0), whole)


@dataclass(frozen=True)
class _Merged:
    """A task: totals of some partitions, merged in their order."""

    merge: Merge

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        rows.sort(key=lambda row: row["partition"])
        wrong = [row for row in rows if row["failed"]]
        if wrong or not rows:
            yield from (_row((row["partition"], 0), pickle.loads(row["result"]), True) for row in wrong[:1])
            return
        number = (rows[0]["partition"], 0)
        try:
            yield _row(number, merged(self.merge, (pickle.loads(row["result"]) for row in rows)))
        except Exception as error:
            yield _row(number, error, failed=True)


def _row(number: Number, result: Any, failed: bool = False) -> Any:
    """Return one row of what a task gives, as an Arrow batch."""
    import pyarrow as pa
    from pyspark import cloudpickle  # which knows more than pickle: views of mappings, for example

    try:
        content = cloudpickle.dumps(result)
    except Exception:
        if not failed:
            raise
        content = pickle.dumps(RuntimeError(f"{type(result).__name__}: {result}"))
    columns = [
        pa.array([number[0]], pa.int32()),
        pa.array([number[1]], pa.int32()),
        pa.array([number[0] % _MERGERS], pa.int32()),
        pa.array([failed], pa.bool_()),
        pa.array([content], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["partition", "piece", "merger", "failed", "result"])


def _partition() -> int:
    """Return the number of the partition that this worker has."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _names(schema: Any, above: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of columns; those of records as `nammd.data.nested` has them."""
    for each in schema.fields:
        path = (*above, each.name)
        if getattr(each.dataType, "fields", None) and len(above) < DEEPEST:
            yield from _names(each.dataType, path)
        else:
            yield ".".join(path)
