"""Which row and column are meant, where some row is too far out for the arithmetic of a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from nammd.data.arrays import Array
from nammd.data.magnitudes import OutOfReach, farthest
from nammd.encoding.encoding import Encoding


@contextmanager
def naming_the_farthest(points: Mapping[str, Array], encoding: Encoding | None) -> Iterator[None]:
    """Let no refusal of rows that are too far out pass without the row and the column.

    Parameters
    ----------
    points : mapping of str to array
        The points of each dataset, by its name.
    encoding : Encoding or None
        How columns became points; None where they are those of an array.
    """
    try:
        yield
    except OutOfReach as error:
        (_, row, slot, value), name = max((farthest(each), name) for name, each in points.items())
        columns = {} if encoding is None else {c.name: encoding.slots(c.name) for c in encoding.columns}
        column = next((each for each, at in columns.items() if at.start <= slot < at.stop), str(slot))
        raise ValueError(
            f"{' and '.join(points)}: {error}; farthest out is row {row} (counted from 0) of {name}, with "
            f"{value:.4g} in column {column!r}"
        ) from error
