"""Records within records, as columns: ``{"user": {"age": 3}}`` is the column ``user.age``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nammd.errors.naming import quoted, require_unique

DEEPEST = 100
"""Values within values within values: so deep at most."""


def flat_columns(schema: Any, owner: str) -> dict[str, tuple[str, ...]]:
    """Return the columns that a schema of Arrow's has once its records are columns: where each is found.

    Raises
    ------
    ValueError
        Where two of them have the same name, or one is nested too deep.
    """
    paths: dict[str, tuple[str, ...]] = {}
    for field in schema:
        for path in _paths(field, ()):
            name = ".".join(path)
            if len(path) > DEEPEST:
                raise ValueError(
                    f"{owner} nests values more than {DEEPEST} deep in the column {quoted(path[0])}; columns "
                    "hold plain values, so write it without nesting"
                )
            if paths.get(name) == path:
                require_unique([name, name], owner)
            if name in paths:
                one, other = _described(paths[name]), _described(path)
                raise ValueError(
                    f"{owner} has two columns that would be called {quoted(name)}: {one}, and {other}; "
                    "rename one of them"
                )
            paths[name] = path
    return paths


def flat(table: Any, owner: str) -> Any:
    """Return an Arrow table, or a batch of one, whose records are columns.

    Where a record is missing, so is everything in it.

    >>> import pyarrow as pa
    >>> flat(pa.table({"user": [{"age": 3}, None]}), "x").to_pydict()
    {'user.age': [3, None]}
    """
    if not any(map(is_record, table.schema.types)):
        return table
    names = list(flat_columns(table.schema, owner))
    columns = [leaf for column in table.columns for leaf in _leaves(column)]
    return type(table).from_arrays(columns, names=names)


def is_record(kind: Any) -> bool:
    """Tell whether a type of Arrow's is one of records that have anything in them."""
    import pyarrow as pa

    return bool(pa.types.is_struct(kind)) and kind.num_fields > 0


def _paths(field: Any, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    path = (*above, field.name)
    if not is_record(field.type) or len(above) == DEEPEST:
        yield path
        return
    for place in range(field.type.num_fields):
        yield from _paths(field.type.field(place), path)


def _leaves(column: Any) -> Iterator[Any]:
    import pyarrow.compute as pc

    if not is_record(column.type):
        yield column
        return
    for place in range(column.type.num_fields):
        yield from _leaves(pc.struct_field(column, [place]))


def _described(path: tuple[str, ...]) -> str:
    if len(path) == 1:
        return f"the column {quoted(path[0])}"
    return f"{quoted(path[-1])} in the record {quoted('.'.join(path[:-1]))}"
