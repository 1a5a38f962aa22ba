"""What is noted of the numbers of a column beside how many are where: `Marks`. Marks of parts add up.

They cost next to nothing, and tell of faults that hardly move a distribution: values where there were none,
other decimals, another unit.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nammd.data.arrays import Array, FloatArray, at_home, like, namespace, to_numpy
from nammd.errors.stored import Stored

NUMBER_STEPS = (1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""What numbers may be multiples of, the coarsest first."""

TIME_STEPS = (86_400.0, 3_600.0, 60.0, 1.0, 1e-3, 1e-6)
"""What times may be multiples of, in seconds."""

GRAINS = (0, len(NUMBER_STEPS) + 1, len(TIME_STEPS) + 1)
"""How many numbers tell of them: nobody looked, numbers, times."""

_MAX = sys.float_info.max

_LOOKED_AT = 4096
"""Of about so many rows it is noted what they are multiples of."""

_AT_ONCE = 1024
"""Of a few rows several steps are tried at once, so many ratios: a table may have ten thousand columns."""

_DIGITS, _FEW_DIGITS = (1e-8, 0.01), (1e-7, 0.5)
"""How near to a multiple a number is one: a part of itself, but at most so much of the step. Computing leaves
traces in the last digits, and numbers of 32 bits have few."""


@dataclass(frozen=True, eq=False)
class Marks:
    """What is noted of the numbers of a column.

    Attributes
    ----------
    low, high : float
        The smallest and the largest value, in the unit of the column; NaN where there are none.
    below_zero : float
        How many rows have a value below zero.
    grain : tuple of float
        How many of the rows that were looked at are multiples of which step, and of none that is coarser;
        last, of none at all. Empty where nobody looked.
    units : tuple of str
        The units that are written with the numbers, such as €; empty text for none.
    """

    low: float = math.nan
    high: float = math.nan
    below_zero: float = 0.0
    grain: tuple[float, ...] = field(default=(), repr=False)
    units: tuple[str, ...] = ()

    @classmethod
    def of(cls, present: FloatArray, clock: str = "", unit: str = "") -> Marks:
        """Look at the numbers of a column, those that are there."""
        if not present.size:
            return cls()
        low = float(present.min())
        negative = float(np.count_nonzero(present < 0)) if low < 0 else 0.0
        some = present[:: looked_at_every(len(present))]
        return cls(low, float(present.max()), negative, grain_of(some, steps_of(clock)), (unit,))

    def __add__(self, other: Marks) -> Marks:
        grain = self.grain or other.grain
        if self.grain and other.grain:
            grain = tuple(one + two for one, two in zip(self.grain, other.grain, strict=True))
        return Marks(
            float(np.fmin(self.low, other.low)),
            float(np.fmax(self.high, other.high)),
            self.below_zero + other.below_zero,
            grain,
            tuple(dict.fromkeys((*self.units, *other.units))),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain values."""
        ends = {"low": self.low, "high": self.high}
        return {
            **{name: value if math.isfinite(value) else None for name, value in ends.items()},
            "below_zero": self.below_zero,
            "grain": list(self.grain),
            "units": list(self.units),
        }

    @classmethod
    def read(cls, stored: Stored) -> Marks:
        """Return the marks that a file describes."""
        low, high = (
            stored[name].number(-_MAX, _MAX) if stored[name].there else math.nan for name in ("low", "high")
        )
        if low > high:
            raise stored["low"].wrong(f"at most {high:g}, which is {stored['high'].path}")
        grain = tuple(stored["grain"].numbers(least=0).tolist())
        if len(grain) not in GRAINS:
            raise stored["grain"].wrong(f"{GRAINS[1]} or {GRAINS[2]} numbers")
        return cls(low, high, stored["below_zero"].number(0), grain, stored["units"].texts())


def looked_at_every(rows: int) -> int:
    """Return that of so many rows every which one is looked at for what it is a multiple of."""
    return max(1, rows // _LOOKED_AT)


def steps_of(clock: str) -> tuple[float, ...]:
    """Return what the values of a column may be multiples of."""
    return TIME_STEPS if clock else NUMBER_STEPS


def grain_of(numbers: FloatArray, steps: tuple[float, ...]) -> tuple[float, ...]:
    """Return how many numbers are multiples of each step and of no coarser one; last, those of none.

    Examples
    --------
    >>> import numpy as np
    >>> grain_of(np.array([3000.0, 20.0, 0.5, 0.25, 1 / 3]), NUMBER_STEPS)
    (1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    """
    numbers = np.asarray(numbers, dtype=np.float64)
    ordered = np.sort(np.abs(numbers))
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    with np.errstate(over="ignore", invalid="ignore"):
        short = bool((numbers.astype(np.float32) == numbers).all())
        part, most = _FEW_DIGITS if short else _DIGITS
        usual, found, left = float(middle.sum()) / len(middle), list[int](), numbers
        while len(found) < len(steps) and len(left):
            each = np.array(steps[len(found) : len(found) + max(_AT_ONCE // len(left), 1)])[:, None]
            whole = _multiples(left, each, usual, (part, most))
            some = whole[0] if len(each) == 1 else whole.any(axis=0)
            count = int(np.count_nonzero(some))
            if len(each) == 1 or not count:
                found += [count] + [0] * (len(each) - 1)
            else:
                found += np.bincount(whole.argmax(axis=0)[some], minlength=len(each)).tolist()
            if count:
                left = left[~some]
    return (*map(float, found), *[0.0] * (len(steps) - len(found)), float(len(left)))


def grains_of(numbers: Array, steps: tuple[float, ...]) -> list[tuple[float, ...]]:
    """Return the same of many columns, one in each row, wherever they are."""
    xp, size = namespace(numbers), numbers.shape[1]
    ordered = xp.sort(xp.abs(numbers), axis=1)
    middle = ordered[:, (size - 1) // 2 : size // 2 + 1]
    with np.errstate(over="ignore", invalid="ignore"):
        short = xp.all(xp.astype(numbers, xp.float32) == numbers, axis=1)
        near = np.where(at_home(short)[:, None], _FEW_DIGITS, _DIGITS)
        part, most = (like(each[:, None], numbers) for each in near.T)
        usual = (xp.sum(middle, axis=1) / middle.shape[1])[:, None]
        left, found = xp.ones_like(numbers, dtype=xp.bool), []
        for step in steps:
            some = left & _multiples(numbers, step, usual, (part, most))
            found.append(xp.sum(some, axis=1))
            left = left & ~some
    counts = to_numpy(xp.stack([*found, xp.sum(left, axis=1)], axis=1))
    return list(map(tuple, counts.tolist()))


def _multiples(numbers: Array, steps: Any, usual: Any, near: tuple[Any, Any]) -> Array:
    """Tell which numbers are multiples of which steps, given a usual one."""
    xp, (part, most), ratio = namespace(numbers), near, numbers / steps
    reach = xp.clip(part * xp.maximum(xp.abs(ratio), usual / steps), part, most)
    return xp.abs(ratio - xp.round(ratio)) <= reach
