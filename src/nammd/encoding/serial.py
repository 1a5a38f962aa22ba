"""An encoding as plain data and back, with every field checked on the way in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nammd.encoding.columns import (
    ArrayColumn,
    CategoricalColumn,
    CodedColumn,
    Column,
    LeftOut,
    NumericColumn,
    VectorColumn,
)
from nammd.encoding.hashed_text import HashedTextColumn
from nammd.errors.stored import LARGEST, Stored
from nammd.reading.text_formats import Reading, form_from_dict

MAX = sys.float_info.max
"""Numbers of tables may be as large as numbers get."""

MOST_SLOTS = 4096
"""A file that asks for more slots for the words of a text is damaged."""


def encoding_to_dict(
    columns: tuple[Column, ...], left_out: tuple[LeftOut, ...], array_columns: int | None, reading: Reading
) -> dict[str, Any]:
    """Return the parts of an encoding as plain data."""
    return {
        "array_columns": array_columns,
        "columns": [_column_to_dict(column) for column in columns],
        "left_out": [{"column": e.column, "reason": e.reason, "holds": e.holds} for e in left_out],
        "reading": reading.given(),
    }


def _column_to_dict(column: Column) -> dict[str, Any]:
    data: dict[str, Any] = {"name": column.name, "kind": column.kind, "weight": column.weight}
    if isinstance(column, NumericColumn):
        data |= {"center": column.center, "scale": column.scale}
        if column.clock:
            data["clock"] = column.clock
    elif isinstance(column, ArrayColumn) and column.scale != 1:
        data["scale"] = column.scale
    elif isinstance(column, VectorColumn):
        data |= {"center": list(column.center), "scale": column.scale}
    elif isinstance(column, CategoricalColumn):
        data["categories"] = list(column.categories)
    elif isinstance(column, CodedColumn):
        data["categories"] = None  # too many to be listed
    elif isinstance(column, HashedTextColumn):
        data["hashed_slots"] = column.hashed_slots
    form = getattr(column, "form", None)
    return data if form is None else data | {"form": form.to_dict()}


def encoding_from_dict(data: Any) -> tuple[tuple[Column, ...], tuple[LeftOut, ...], int | None, Reading]:
    """Return the parts of an encoding from plain data, or raise a ValueError that names the field."""
    stored = Stored.of(data, "the encoding is damaged: ")
    array_columns = stored["array_columns"].whole(1) if stored["array_columns"].there else None
    columns = tuple(_column_from_dict(each, array_columns) for each in stored["columns"].each())
    left_out = tuple(_read_left_out(each) for each in stored["left_out"].each())
    if not columns:
        raise stored["columns"].wrong("a list of at least one column")
    names = [column.name for column in columns] + [entry.column for entry in left_out]
    if len(set(names)) < len(names):
        raise ValueError(f"{stored.said}columns and left_out name a column twice")
    # Those that were written before anybody could say it have none.
    reading = _checked(stored.get("reading"), Reading.from_dict) if stored.get("reading").there else Reading()
    return columns, left_out, array_columns, reading


def _read_left_out(stored: Stored) -> LeftOut:
    holds = stored["holds"].text() if "holds" in stored else ""
    return LeftOut(stored["column"].text(), stored["reason"].text(), holds=holds)


def _column_from_dict(stored: Stored, array_columns: int | None) -> Column:
    name, kind = stored["name"].text(), stored["kind"]
    weight = stored["weight"].number(1e-100, 1e100)
    if array_columns is not None:
        kind.one_of("numeric")
        if not name.isdecimal() or name != str(int(name)) or int(name) >= array_columns:
            raise stored["name"].wrong(f"the number of a column below {array_columns}")
        scale = stored["scale"].number(1 / LARGEST) if "scale" in stored else 1.0
        return ArrayColumn(name, "numeric", weight, scale)
    held = kind.one_of("numeric", "categorical", "boolean", "datetime", "vector", "text")
    form = _checked(stored.get("form"), form_from_dict) if stored.get("form").there else None
    if held in ("numeric", "datetime"):
        center, scale = stored["center"].number(-MAX, MAX), stored["scale"].number(0, MAX, above=0)
        clock: Any = ""
        if held == "datetime":
            clock = stored["clock"].one_of("local", "zoned", "duration", "time of day")
        return NumericColumn(name, held, weight, center, scale, clock, form)
    if held == "vector":
        middle = tuple(stored["center"].numbers(least=-MAX, most=MAX).tolist())
        if not middle:
            raise stored["center"].wrong("a list of numbers")
        return VectorColumn(name, "vector", weight, middle, stored["scale"].number(0, MAX, above=0))
    if held == "text":
        return HashedTextColumn(name, "text", weight, stored["hashed_slots"].whole(2, MOST_SLOTS))
    categories = stored["categories"].texts() if stored["categories"].there else None
    if held == "boolean" and categories != ("False", "True"):
        raise stored["categories"].wrong("['False', 'True'] in a boolean column")
    if categories is None:
        return CodedColumn(name, "categorical", weight)
    if len(set(categories)) < len(categories):
        raise stored["categories"].wrong("texts that differ from one another")
    return CategoricalColumn(name, held, weight, categories, form)


def _checked(stored: Stored, read: Callable[[Any], Any]) -> Any:
    try:
        return read(stored.value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{stored.said}{stored.path}: {error}") from None
