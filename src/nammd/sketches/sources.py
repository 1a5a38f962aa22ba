"""Sketches of rows that come in pieces: batches, files, Dask collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nammd.kernels import RandomFeatures
from nammd.sketches.summary import Sketch

if TYPE_CHECKING:
    from nammd.tables import Encoding


def of_batches(
    batches: Iterable[Any],
    features: RandomFeatures,
    encoding: Encoding | None,
    threads: int | None,
    progress: Callable[[int], None] | None = None,
) -> Sketch:
    """Return the sketch of all rows of some batches."""
    sketch: Sketch | None = None
    for batch in batches:
        if _rows(batch) == 0:
            continue
        part = Sketch.of(batch, features, encoding=encoding, threads=threads)
        if sketch is None:
            sketch = part
        else:
            if part.columns != sketch.columns:
                raise ValueError(
                    f"the batches differ: one has {sketch.columns} columns, a later one {part.columns}"
                )
            sketch.n += part.n
            sketch.total += part.total  # in place: nobody else has seen these arrays
            sketch.products += part.products
        if progress is not None:
            progress(sketch.n)
    if sketch is None:
        raise ValueError("there are no rows to sketch: every batch is empty, or there are none")
    return sketch


def of_file(
    path: str | Path,
    features: RandomFeatures,
    encoding: Encoding | None,
    threads: int | None,
    progress: Callable[[int], None] | None,
    reading: dict[str, Any],
) -> Sketch:
    """Return the sketch of a file, reading it batch by batch."""
    from nammd.tables import batches

    tables = (_as_table(batch) for batch in batches(path, **reading))
    try:
        return of_batches(tables, features, encoding, threads, progress)
    except (TypeError, ValueError) as error:
        raise type(error)(f"cannot sketch {path}: {error}") from error


def of_dask(x: Any, features: RandomFeatures, encoding: Encoding | None) -> Sketch:
    """Return the sketch of a Dask array or data frame; workers sum, and only sums travel."""
    from dask.delayed import delayed

    if hasattr(x, "rechunk"):
        if x.ndim == 1:
            x = x[:, None]
        if x.ndim != 2:
            raise ValueError(f"x has {x.ndim} dimensions; give one row per observation")
        x = x.rechunk({1: -1})  # whole rows
        blocks = list(x.to_delayed().ravel())
    else:
        blocks = list(x.to_delayed())
    one = delayed(partial(_part, features=features, encoding=encoding))
    add = delayed(_added)
    parts = [one(block) for block in blocks]
    while len(parts) > 1:  # a tree: no worker ever holds more than two
        whole = len(parts) // 2 * 2
        parts = [add(*parts[k : k + 2]) for k in range(0, whole, 2)] + parts[whole:]
    sketch: Sketch | None = parts[0].compute()
    if sketch is None:
        raise ValueError("there are no rows to sketch: every partition is empty")
    return sketch


def _part(block: Any, features: RandomFeatures, encoding: Encoding | None) -> Sketch | None:
    # The scheduler runs partitions side by side, so each has one thread.
    return Sketch.of(block, features, encoding=encoding, threads=1) if _rows(block) else None


def _added(one: Sketch | None, other: Sketch | None) -> Sketch | None:
    if one is None or other is None:
        return one or other
    return one + other


def _rows(batch: Any) -> int:
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape else len(batch)


def _as_table(batch: Any) -> Any:
    if type(batch).__module__.startswith("pyarrow"):
        import pyarrow as pa

        return pa.Table.from_batches([batch])
    return batch
