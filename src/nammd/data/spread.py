"""Tables that are spread over a Dask cluster: partitions of dataframes, and row groups of Parquet files.

Every piece is encoded where it is read. What comes back are counts, a sample of rows to fit an encoding on,
and the few values of columns that should have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.frames import as_frame
from nammd.data.naming import chosen_columns, require_unique
from nammd.data.pieces import Key, Parts, fresh_name, is_dask_table, spread, within_pieces
from nammd.data.readers.columnar import file_dataset, folder_dataset
from nammd.data.readers.formats import explained
from nammd.data.sampling import sample_positions

FIT_ROWS = 100_000
"""Medians, ranges and categories of so many rows are those of all, for any purpose here."""

PIECE_ROWS = 131_072
"""Row groups are read together up to this many rows."""

_MANY = 100


def parts_of(data: Any, name: str) -> Parts | None:
    """Return the pieces of a table that is spread over a cluster; None where `data` is no such table."""
    if not isinstance(data, Parts) and not is_dask_table(data):
        return None
    parts = Parts.of(data)
    require_unique(parts.names, name)
    if not parts.names:
        raise ValueError(f"{name} is empty: it has no columns")
    return parts


def scan_parquet(path: Path, columns: Sequence[str] | None = None) -> Parts:
    """Return a Parquet file or folder in pieces that the workers will read, in the order of the rows.

    Only the footers of the files are read here. The workers must see the files under the same names.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    path = path.expanduser().resolve()
    dataset = folder_dataset(path) if path.is_dir() else file_dataset(path)
    names = dataset.schema.names
    chosen = list(names) if columns is None else chosen_columns(columns, names, str(path))
    name, tasks, sizes = fresh_name("read"), dict[Key, Any](), list[int]()
    with explained(path, "Parquet"):
        for fragment in dataset.get_fragments():
            for piece, rows in _pieces(fragment):
                reader = partial(_read, piece, schema=dataset.schema, columns=chosen, path=path)
                tasks[(name, len(sizes))] = (reader,)
                sizes.append(rows)
    if not sum(sizes):
        raise ValueError(f"{path} has columns but no rows")
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[])
    return Parts(tuple(tasks), (Delayed((name, 0), graph, layer=name),), tuple(chosen), tuple(sizes))


def _pieces(fragment: Any) -> list[tuple[Any, int]]:
    """Cut a Parquet file into runs of row groups."""
    runs: list[list[Any]] = []
    for group in fragment.row_groups:
        if runs and sum(g.num_rows for g in runs[-1]) + group.num_rows <= PIECE_ROWS:
            runs[-1].append(group)
        else:
            runs.append([group])
    return [
        (fragment.subset(row_group_ids=[g.id for g in run]), sum(g.num_rows for g in run))
        for run in runs
        if sum(g.num_rows for g in run)
    ]


def _read(piece: Any, *, schema: Any, columns: list[str], path: Path) -> Any:
    with explained(path, "Parquet"):
        return piece.to_table(schema=schema, columns=columns)


def encoded(parts: Parts, transform: Callable[..., NDArray[Any]], name: str, width: int) -> Any:
    """Return a spread table as a Dask array of numbers, after one pass over it."""
    array = spread(parts, partial(transform, name=name), width, np.float64)
    if not array.shape[0]:
        raise ValueError(f"{name} is empty: it has no rows")
    return array


def drawn(parts: Parts, rows: int = FIT_ROWS, rng: Any = 0) -> Any:
    """Return a table of rows drawn at random, in their order; all of them where there are no more."""
    import narwhals as nw

    sizes = parts.counted()
    chosen = within_pieces(sample_positions(sum(sizes), rows, rng), sizes) if sum(sizes) else {}
    if not chosen:
        return parts.each(_nothing)[0]
    found = parts.each(_rows, chosen)
    if type(found[0]).__module__.startswith("pyarrow"):  # files may differ in their types
        import pyarrow as pa

        return pa.concat_tables([part.select(parts.names) for part in found], promote_options="permissive")
    return nw.concat([nw.from_native(part) for part in found]).to_native()


def _rows(part: Any, positions: NDArray[np.intp]) -> Any:
    import narwhals as nw

    table: Any = nw.from_native(part, allow_series=True)
    table = table.to_frame() if isinstance(table, nw.Series) else table
    return table[positions.tolist()].to_native()


def _nothing(part: Any) -> Any:
    return _rows(part, np.arange(0))


def distinct_values(
    parts: Parts, names: Sequence[str], look: Callable[[Any, str], set[Any]]
) -> list[set[Any]]:
    """Return the different values of some columns, as far as they are few."""
    found = parts.each(partial(_distinct_of_part, names=list(names), look=look))
    return [set[Any]().union(*(part[k] for part in found)) for k in range(len(names))]


def _distinct_of_part(part: Any, names: list[str], look: Callable[[Any, str], set[Any]]) -> list[set[Any]]:
    if not len(part):
        return [set() for _ in names]
    frame = as_frame(part, "the data")
    assert frame is not None
    return [set(list(look(frame, name))[:_MANY]) for name in names]
