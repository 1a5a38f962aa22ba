"""All forms together: what they have in common, and how they come back from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.reading.text_formats.numbers import NumberForm
from nammd.reading.text_formats.times import ORDERS, DateForm, TimeForm


@dataclass(frozen=True)
class BooleanForm:
    """True and false, in whatever case."""

    def read(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_], bool]:
        """Return 1 for true and 0 for false, and which of the texts are one of them."""
        values = np.array([_TRUTH.get(text.strip().lower(), np.nan) for text in texts], dtype=np.float64)
        return values, ~np.isnan(values), False

    def words(self) -> str:
        """Say what they are."""
        return "true and false"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": "boolean"}


_TRUTH = {"true": 1.0, "false": 0.0}

Form: TypeAlias = NumberForm | DateForm | TimeForm | BooleanForm


def form_from_dict(data: Any) -> Form:
    """Return the form that `to_dict` wrote; a ValueError names the field that is wrong."""
    if not isinstance(data, Mapping):
        raise ValueError(f"a form must be a dictionary, not {type(data).__name__}")
    kind = data.get("kind")
    if kind == "time":
        return TimeForm()
    if kind == "boolean":
        return BooleanForm()
    if kind == "number":
        decimal, thousands, unit = data.get("decimal"), data.get("thousands"), data.get("unit")
        if decimal not in ("", ".", ","):
            raise ValueError(f"decimal must be '', '.' or ',', not {decimal!r}")
        if not isinstance(unit, str) or not (thousands is None or isinstance(thousands, str)):
            raise ValueError("thousands and unit must be text")
        return NumberForm(decimal, thousands, unit)
    if kind == "date":
        order, pattern, zoned = data.get("order"), data.get("pattern"), data.get("zoned")
        if order not in ("", *ORDERS):
            raise ValueError(f"order must be '', 'dmy', 'mdy' or 'ymd', not {order!r}")
        if not isinstance(pattern, str) or not isinstance(zoned, bool):
            raise ValueError("pattern must be text, and zoned true or false")
        return DateForm(order, pattern, zoned)
    raise ValueError(f"kind must be 'number', 'date', 'time' or 'boolean', not {kind!r}")
