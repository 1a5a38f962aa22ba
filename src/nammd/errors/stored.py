"""What stands in a file of nammd's own, each value checked against what it can be when it is read: `Stored`.

A checksum tells that nobody changed a byte by accident. It does not tell that the numbers are possible: files
can be edited and sealed anew. So nothing of a file is used before it has been read by one of these methods,
and every refusal has the place of the field, such as ``accepted.datasets[0].rows``.
"""

from __future__ import annotations

import base64
import binascii
import math
import sys
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

LARGEST = 1e300
"""Numbers beyond this are in no file: sums of them are no numbers."""

MOST = 2**53
"""Counts beyond this are none: not all whole numbers above have a number of 64 bits."""

_LONGEST = 1 << 28
"""So many bytes at most a text unfolds to: some hundred times the largest that is written."""


class Stored:
    """A value that was read from a file, and where it stands there.

    Parameters
    ----------
    value : object
        What JSON makes of it.
    path : str
        Where it stands.
    said : str
        What messages begin with.

    Examples
    --------
    >>> stored = Stored({"rows": 12, "share": 1.5})
    >>> stored["rows"].whole(least=1)
    12
    >>> stored["share"].number(0, 1)
    Traceback (most recent call last):
    ...
    ValueError: share must be a number from 0 to 1, not 1.5
    """

    __slots__ = ("_inside", "_place", "said", "value")

    def __init__(
        self, value: Any, path: str | int = "", said: str = "", inside: Stored | None = None
    ) -> None:
        self.value, self.said, self._place, self._inside = value, said, path, inside

    @property
    def path(self) -> str:
        """Where it stands; put together when somebody asks, since a file has very many values."""
        outer = "" if self._inside is None else self._inside.path
        if isinstance(self._place, int):
            return f"{outer}[{self._place}]"
        return f"{outer}.{self._place}" if outer else self._place

    @classmethod
    def of(cls, value: Any, said: str = "") -> Stored:
        """Return a value as it stands in a file; one that is known to do so already, as it is."""
        return value if isinstance(value, Stored) else cls(value, "", said)

    def wrong(self, expected: str) -> ValueError:
        """Return the refusal that says what the value should be."""
        shown = repr(self.value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        return ValueError(f"{self.said}{self.path or 'it'} must be {expected}, not {shown}")

    # Parts of it.

    def __getitem__(self, key: str) -> Stored:
        value = self.value
        quick = type(value) is dict and key in value  # as it should be, and mostly is
        if not quick and key not in self._mapping():
            raise ValueError(f"{self.said}{self.get(key).path!r} is missing")
        return Stored(value[key], key, self.said, self)

    def __contains__(self, key: str) -> bool:
        return key in self._mapping()

    def get(self, key: str) -> Stored:
        """Return a field that need not be there: then it is None."""
        return Stored(self._mapping().get(key), key, self.said, self)

    @property
    def there(self) -> bool:
        """Whether there is anything."""
        return self.value is not None

    def each(self) -> list[Stored]:
        """Return the entries of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        return [Stored(value, k, self.said, self) for k, value in enumerate(self.value)]

    def pair(self) -> tuple[Stored, Stored]:
        """Return the two entries of a list."""
        found = self.each()
        if len(found) != 2:
            raise self.wrong("a list of two")
        return found[0], found[1]

    def fields(self) -> dict[str, Stored]:
        """Return the entries of a mapping by their names."""
        return {str(key): self[key] for key in self._mapping()}

    def only(self, *names: str) -> Stored:
        """Refuse fields that nobody knows."""
        unknown = [key for key in self._mapping() if key not in names]
        if unknown:
            raise ValueError(f"{self.said}{self.get(unknown[0]).path!r} is no field of such a file")
        return self

    def _mapping(self) -> Mapping[str, Any]:
        if not isinstance(self.value, Mapping):
            raise self.wrong("a dictionary")
        return self.value

    # What it is.

    def number(self, least: float = -LARGEST, most: float = LARGEST, *, above: float | None = None) -> float:
        """Return a number in a range; greater than `above`, where that is given."""
        value = self.value
        known = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not known or not (least <= value <= most) or not (above is None or value > above):
            raise self.wrong(_range("a number", least, most, above))
        return float(value)

    def whole(self, least: int = 0, most: int = MOST) -> int:
        """Return a whole number in a range."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.wrong(_range("a whole number", least, most, None))
        return value

    def text(self) -> str:
        """Return a text, which can be written."""
        if not isinstance(self.value, str) or not _can_be_written(self.value):
            raise self.wrong("text")
        return self.value

    def truth(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def one_of(self, *options: str) -> Any:
        """Return one of some texts."""
        if not isinstance(self.value, str) or self.value not in options:
            raise self.wrong(" or ".join(map(repr, options)))
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(each.text() for each in self.each())

    def numbers(self, *shape: int, least: float = -LARGEST, most: float = LARGEST) -> Numbers:
        """Return lists of numbers as an array; of a shape, where that is given."""
        found = self._nested(max(len(shape), 1), least, most)
        array = np.array(found, dtype=np.float64)
        if shape and array.shape != shape:
            raise self.wrong(f"{' by '.join(map(str, shape))} numbers")
        return array

    def _nested(self, depth: int, least: float, most: float) -> Any:
        if depth == 0:
            return self.number(least, most)
        value = self.value
        quick = depth == 1 and type(value) is list and set(map(type, value)) <= {int, float}
        # What is no number makes no sum; else the wrong one is named.
        if quick and (
            not value or (min(value) >= least and max(value) <= most and math.isfinite(sum(value)))
        ):
            return value
        found = [each._nested(depth - 1, least, most) for each in self.each()]
        if depth > 1 and len({len(each) for each in found}) > 1:
            raise self.wrong("lists of one length")
        return found

    def unpacked(
        self,
        size: int | None = None,
        kind: str = "<f8",
        *,
        folded: bool = False,
        gaps: bool = False,
        least: float = -LARGEST,
        most: float = LARGEST,
    ) -> Numbers:
        """Return the numbers that a text in base 64 stands for.

        Parameters
        ----------
        size : int, optional
            How many there must be.
        kind : str
            Of what type they are.
        folded : bool
            Whether they are compressed.
        gaps : bool
            Whether some may be missing, which are NaN.
        least, most : float
            What they can be.
        """
        width = np.dtype(kind).itemsize
        try:
            content = base64.b64decode(self.text(), validate=True)
            if folded:
                longest = max(_LONGEST, ((size or 0) + 1) * width)
                content = zlib.decompressobj().decompress(content, longest)
        except (binascii.Error, zlib.error, ValueError):
            content = b"?"
        if len(content) % width:
            raise self.wrong("the bytes of numbers")
        found = np.frombuffer(content, kind).astype(np.float64)
        if size is not None and len(found) != size:
            raise ValueError(f"{self.said}{self.path} must hold {size} numbers, not {len(found)}")
        known = found[~np.isnan(found)] if gaps else found
        if len(known) and not (known.min() >= least and known.max() <= most):  # NaN is neither
            raise ValueError(f"{self.said}{self.path} must hold {_range('numbers', least, most, None)} only")
        return found


def _range(what: str, least: float, most: float, above: float | None) -> str:
    """Say what numbers can be, such as "a finite number above 0" or "a whole number from 0 to 9"."""
    bounded, start = most not in (LARGEST, MOST, sys.float_info.max), least if above is None else above
    if not bounded and start <= -LARGEST:
        return what.replace("number", "finite number", 1)
    if not bounded:
        kind = what if "whole" in what else what.replace("number", "finite number", 1)
        return f"{kind} {'of at least' if above is None else 'above'} {start:g}"
    return (
        f"{what} from {start:g} to {most:g}"
        if above is None
        else f"{what} above {start:g} and up to {most:g}"
    )


def _can_be_written(text: str) -> bool:
    """Tell whether a text has no half of a pair of codes, which JSON can hold and no file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
