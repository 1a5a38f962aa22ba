"""How a column is counted, from the encoding of the reference: `Measure`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from nammd.data.arrays import Array, FloatArray, is_spread, take_rows, to_numpy
from nammd.data.dataset import Dataset
from nammd.data.sampling import sample_positions
from nammd.data.values import Values
from nammd.encoding import Encoding
from nammd.encoding.choosing import quartile_ranks, quartiles_of, robust_scale, scale_between
from nammd.encoding.columns import CategoricalColumn, CodedColumn, NumericColumn, in_units
from nammd.encoding.hashed_text import HashedTextColumn, drawn_word
from nammd.engines.columns import DeviceColumns
from nammd.views.counts import Counts, LabelCounts, NumberCounts
from nammd.views.lattice import BEND, bent, straight
from nammd.views.marks import Marks

Counted: TypeAlias = Literal["numbers", "labels", "cells", "words"]

MOST_OF_ARRAYS = 100
"""Arrays of more columns are coordinates (pixels, embeddings); single ones of them mean nothing to people."""

_CELLS = 4096
_UNIT_ROWS = 100_000


@dataclass(frozen=True)
class Measure:
    """How one column is counted.

    Attributes
    ----------
    name : str
        The column.
    kind : str
        What it holds.
    counted : {"numbers", "labels", "cells", "words"}
        By the places of its numbers, by its labels, or, where these are very many, by cells of labels; of
        free text, by cells of words, one drawn from each text.
    center, scale : float
        Of numbers: what is at zero, and the unit.
    clock : str
        Of times: what their seconds count from.
    of_array : bool
        Whether it is a column of an array, which has a number for a name.
    """

    name: str
    kind: str
    counted: Counted
    center: float = 0.0
    scale: float = 1.0
    clock: str = ""
    of_array: bool = False

    @property
    def title(self) -> str:
        """What people call the column."""
        return f"column {self.name}" if self.of_array else self.name

    def count(self, values: Values) -> Counts:
        """Count the values of the column in one dataset, or in a part of one."""
        missing = int(np.count_nonzero(values.missing))
        if self.counted == "numbers":
            if values.numbers is None:  # nothing but missing values
                return self.count_numbers(np.empty(0), missing)
            present = values.numbers[~values.missing] if missing else values.numbers
            return self.count_numbers(present, missing, values.unit)
        if values.codes is None:
            return LabelCounts({}, float(missing))
        found = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
        rows: dict[str, float] = {}
        for label, number in zip(values.categories, found.tolist(), strict=True):
            if number:
                key = self.key_of(label)
                rows[key] = rows.get(key, 0.0) + float(number)
        return LabelCounts(rows, float(missing))

    @property
    def in_cells(self) -> bool:
        """Whether labels are counted in cells, whose names say nothing to people."""
        return self.counted in ("cells", "words")

    def key_of(self, label: str) -> str:
        """Return what a label is counted as."""
        if self.counted == "words":
            return cell_of(drawn_word(label))
        return cell_of(label) if self.counted == "cells" else label

    def count_numbers(self, present: FloatArray, missing: int = 0, unit: str = "") -> NumberCounts:
        """Count numbers, and note what else there is to them."""
        if not present.size:
            return NumberCounts.of(np.empty(0), missing)
        return NumberCounts.of(self.places(present), missing, Marks.of(present, self.clock, unit))

    def places(self, numbers: FloatArray) -> FloatArray:
        """Return where numbers are on the scale of the column."""
        placed: FloatArray = bent(in_units(numbers, self.center, self.scale))
        return placed

    def values(self, places: FloatArray) -> FloatArray:
        """Return the numbers at some places."""
        with np.errstate(over="ignore"):  # a little beyond the largest number, by rounding
            found: FloatArray = straight(places) * self.scale + self.center
        return found if np.isfinite(found).all() else np.nan_to_num(found)

    def value(self, place: float) -> float:
        """Return the number at a place."""
        if abs(place) <= BEND and math.isfinite(found := place * self.scale + self.center):
            return found  # a check of very many columns asks for very many
        return float(self.values(np.array([place]))[0])

    def place(self, number: float) -> float:
        """Return where a number is."""
        if abs(found := (number - self.center) / self.scale) <= BEND:
            return found
        return float(self.places(np.array([number]))[0])


@lru_cache(maxsize=65_536)
def cell_of(label: str) -> str:
    """Return the cell of a label: one of 4096, by a hash of its name."""
    digest = hashlib.blake2b(label.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return f"{int.from_bytes(digest, 'little') % _CELLS:03x}"


def measures_of(encoding: Encoding, reference: Dataset) -> tuple[Measure, ...]:
    """Return how the columns of a reference are counted; columns of vectors have no measure of their own.

    The units of tables are those of the encoding; those of arrays, which are taken as they are in all other
    respects, are read off the reference.
    """
    if encoding.array_columns is not None:
        return _of_arrays(encoding, reference)
    found = []
    for column in encoding.columns:
        if isinstance(column, NumericColumn):
            unit = column.center, column.scale
            found.append(Measure(column.name, column.kind, "numbers", *unit, column.clock))
        elif isinstance(column, CodedColumn):
            found.append(Measure(column.name, column.kind, "cells"))
        elif isinstance(column, HashedTextColumn):
            found.append(Measure(column.name, column.kind, "words"))
        elif isinstance(column, CategoricalColumn):
            found.append(Measure(column.name, column.kind, "labels"))
    return tuple(found)


def _of_arrays(encoding: Encoding, reference: Dataset) -> tuple[Measure, ...]:
    if reference.array is None or len(encoding.columns) > MOST_OF_ARRAYS:
        return ()
    array, count = reference.array, int(reference.array.shape[0])
    every = count <= _UNIT_ROWS and not is_spread(array)
    rows = array if every else take_rows(array, sample_positions(count, _UNIT_ROWS, 0))
    names = [column.name for column in encoding.columns]
    return tuple(
        Measure(name, "numeric", "numbers", center, scale, of_array=True)
        for name, (center, scale) in zip(names, _units_of(rows, list(map(int, names))), strict=True)
        if scale > 0
    )


def _units_of(rows: Array, columns: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Yield the median and the robust scale of columns of an array; on a device all are ordered at once."""
    there = DeviceColumns.of(rows, columns)
    if there is not None:
        ranks = quartile_ranks(there.rows)
        ordered = there.at_ranks(np.array(ranks))
    for place, column in enumerate(columns):
        scale = 0.0
        if there is not None:
            known = dict(zip(ranks, ordered[place].tolist(), strict=True))
            low, center, high = quartiles_of(known, there.rows)
            scale = scale_between(low, high)
        if not scale:
            numbers = to_numpy(rows[:, column])
            center, scale = float(np.median(numbers)), robust_scale(numbers)
        yield center, scale
