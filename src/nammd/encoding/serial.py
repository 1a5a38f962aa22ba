"""An encoding as plain data and back, with every field checked on the way in."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
from nammd.reading.text_formats import Form, Reading, form_from_dict


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
    form = getattr(column, "form", None)
    return data if form is None else data | {"form": form.to_dict()}


def encoding_from_dict(data: Any) -> tuple[tuple[Column, ...], tuple[LeftOut, ...], int | None, Reading]:
    """Return the parts of an encoding from plain data, or raise a ValueError that names the field."""
    fields = _Fields(data, "")
    array_columns = fields.whole_or_none("array_columns")
    columns = tuple(
        _column_from_dict(_Fields(entry, f"columns[{i}]"), array_columns)
        for i, entry in enumerate(fields.items("columns"))
    )
    left_out = tuple(
        LeftOut(entry.text("column"), entry.text("reason"), holds=entry.text("holds", ""))
        for entry in (_Fields(e, f"left_out[{i}]") for i, e in enumerate(fields.items("left_out")))
    )
    if not columns:
        raise ValueError("the encoding is damaged: columns is empty")
    names = [column.name for column in columns] + [entry.column for entry in left_out]
    if len(set(names)) < len(names):
        raise ValueError("the encoding is damaged: columns and left_out name a column twice")
    # Those that were written before anybody could say it have none.
    return columns, left_out, array_columns, Reading.from_dict(data.get("reading", {}))


def _column_from_dict(fields: _Fields, array_columns: int | None) -> Column:
    name, kind = fields.text("name"), fields.text("kind")
    weight = fields.number("weight", above=0)
    if array_columns is not None:
        if kind != "numeric":
            raise fields.wrong("kind", "'numeric' in an encoding of arrays")
        if not name.isdecimal() or name != str(int(name)) or int(name) >= array_columns:
            raise fields.wrong("name", f"the number of a column below {array_columns}")
        return ArrayColumn(name, "numeric", weight, fields.number("scale", above=0, default=1.0))
    if kind in ("numeric", "datetime"):
        center, scale = fields.number("center"), fields.number("scale", above=0)
        clock = fields.text("clock") if kind == "datetime" else ""
        if clock not in ("local", "zoned", "duration", "time of day") and kind == "datetime":
            raise fields.wrong("clock", "'local', 'zoned', 'duration' or 'time of day'")
        return NumericColumn(name, kind, weight, center, scale, clock, fields.form())  # type: ignore[arg-type]
    if kind == "vector":
        return VectorColumn(name, "vector", weight, fields.numbers("center"), fields.number("scale", above=0))
    if kind in ("categorical", "boolean"):
        categories = fields.texts_or_none("categories")
        if kind == "boolean" and categories != ("False", "True"):
            raise fields.wrong("categories", "['False', 'True'] in a boolean column")
        if categories is None:
            return CodedColumn(name, "categorical", weight)
        if len(set(categories)) < len(categories):
            raise fields.wrong("categories", "different from one another")
        return CategoricalColumn(name, kind, weight, categories, fields.form())  # type: ignore[arg-type]
    raise fields.wrong("kind", "'numeric', 'categorical', 'boolean', 'datetime' or 'vector'")


class _Fields:
    """A dictionary that may have been damaged, and where it was found."""

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise ValueError(
                f"the encoding is damaged: {where or 'it'} must be a dictionary, not {type(data).__name__}"
            )
        self._data = data
        self._where = f"{where}." if where else ""

    def wrong(self, key: str, expected: str) -> ValueError:
        """Return the error that says what a field should have been."""
        found = self._data.get(key)
        return ValueError(
            f"the encoding is damaged: {self._where}{key} must be {expected}, not {str(found)[:50]!r}"
        )

    def _get(self, key: str) -> Any:
        if key not in self._data:
            raise ValueError(f"the encoding is damaged: {self._where}{key} is not there")
        return self._data[key]

    def form(self) -> Form | None:
        if self._data.get("form") is None:
            return None
        try:
            return form_from_dict(self._data["form"])
        except ValueError as error:
            raise ValueError(f"the encoding is damaged: {self._where}form: {error}") from None

    def text(self, key: str, default: str | None = None) -> str:
        value = self._get(key) if default is None else self._data.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "text")
        return value

    def number(self, key: str, above: float = -math.inf, default: float | None = None) -> float:
        value = self._get(key) if default is None else self._data.get(key, default)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (is_number and math.isfinite(value) and value > above):
            raise self.wrong(key, "a finite number" + (f" above {above:g}" if above > -math.inf else ""))
        return float(value)

    def numbers(self, key: str) -> tuple[float, ...]:
        values = self.items(key)
        is_number = (isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
        if not values or not all(is_number) or not all(map(math.isfinite, values)):
            raise self.wrong(key, "a list of finite numbers")
        return tuple(map(float, values))

    def whole_or_none(self, key: str) -> int | None:
        value = self._get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise self.wrong(key, "a whole number of at least 1, or null")
        return value

    def items(self, key: str) -> list[Any]:
        value = self._get(key)
        if not isinstance(value, (list, tuple)):
            raise self.wrong(key, "a list")
        return list(value)

    def texts_or_none(self, key: str) -> tuple[str, ...] | None:
        if self._get(key) is None:
            return None
        values = self.items(key)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(key, "a list of texts, or null")
        return tuple(values)
