"""Faults for the study of scales: coarse ones, and fine ones that a median bandwidth hardly sees.

None of them was used to choose the rule, nor its margins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.calibration.scale_laws import Generator, centres, drawn
from nammd.data.arrays import FloatArray


@dataclass(frozen=True)
class Fault:
    """What spoils a candidate.

    Attributes
    ----------
    about : str
        What it is.
    kind : str
        ``"none"``, ``"coarse"`` or ``"fine"``.
    spoil : callable
        ``spoil(rng, rows)``: the rows with the fault.
    """

    about: str
    kind: str
    spoil: Callable[[Generator, FloatArray], FloatArray]


@dataclass(frozen=True)
class Scene:
    """A reference with a drift that is accepted, and faults of candidates.

    Attributes
    ----------
    about : str
        What the data are.
    draw : callable
        ``draw(rng, rows, columns, drift)``: rows; a drift of one is what is accepted.
    faults : tuple of str
        The faults that are tried.
    drift : float
        The drift of candidates where one is accepted.
    """

    about: str
    draw: Callable[[Generator, int, int, float], FloatArray]
    faults: tuple[str, ...]
    drift: float = 0.5


def _shifted(by: float) -> Callable[[Generator, FloatArray], FloatArray]:
    def spoil(rng: Generator, rows: FloatArray) -> FloatArray:
        return np.column_stack([rows[:, 0] + by, rows[:, 1:]])

    return spoil


def _strays(rng: Generator, rows: FloatArray) -> FloatArray:
    stray = rng.random(len(rows)) < 0.12
    return np.where(stray[:, None], 3 + 0.5 * rng.standard_normal(rows.shape), rows)


def rounded(rows: FloatArray, step: float) -> FloatArray:
    """Return rows with all values at multiples of a step."""
    found: FloatArray = step * np.round(rows / step)
    return found


def _waves(rng: Generator, rows: FloatArray) -> FloatArray:
    # Values are drawn together around the multiples of a half, ever more so near them; their order stays.
    period, strength = 0.5, 0.9
    found: FloatArray = rows - strength * period / (2 * np.pi) * np.sin(2 * np.pi * rows / period)
    return found


def _repeated(share: float) -> Callable[[Generator, FloatArray], FloatArray]:
    def spoil(rng: Generator, rows: FloatArray) -> FloatArray:
        again = rng.random(len(rows)) < share
        return np.where(again[:, None], rows[0], rows)

    return spoil


def _decimals(rng: Generator, rows: FloatArray) -> FloatArray:
    found = rows.copy()
    found[:, ::3] = rounded(rows[:, ::3], 0.5)
    return found


def _heaped(rng: Generator, rows: FloatArray) -> FloatArray:
    return np.where(rng.random(len(rows))[:, None] < 0.5, rounded(rows, 0.8), rows)


_SHARES = np.array([[0.25, 0.25, 0.25, 0.25], [0.4, 0.1, 0.3, 0.2]])


def _groups(rng: Generator, rows: int, columns: int, drift: float, spread: float = 0.25) -> FloatArray:
    which = rng.choice(4, rows, p=(1 - drift) * _SHARES[0] + drift * _SHARES[1])
    found: FloatArray = centres(columns)[which] + spread * rng.standard_normal((rows, columns))
    return found


def _tight(rng: Generator, rows: int, columns: int, drift: float) -> FloatArray:
    return _shifted(0.4 * drift)(rng, _groups(rng, rows, columns, 0.0, 0.08))


def _split(half: float) -> Callable[[Generator, FloatArray], FloatArray]:
    def spoil(rng: Generator, rows: FloatArray) -> FloatArray:
        side = half * np.where(rng.random(len(rows)) < 0.5, -1.0, 1.0)
        found: FloatArray = rows + side[:, None] / np.sqrt(rows.shape[1])
        return found

    return spoil


def _lost(rng: Generator, rows: FloatArray) -> FloatArray:
    apart = ((rows[:, None] - centres(rows.shape[1])) ** 2).sum(axis=2)
    left = rows[apart.argmin(axis=1) != 3]
    found: FloatArray = rng.permutation(np.vstack([left, left]))[: len(rows)]
    return found


FAULTS = {
    "none": Fault("nothing", "none", lambda rng, rows: rows),
    "shift": Fault("the first column shifted by 0.9 standard deviations", "coarse", _shifted(0.9)),
    "wider": Fault("all columns 1.4 times as wide", "coarse", lambda rng, rows: 1.4 * rows),
    "strays": Fault("12 % of rows elsewhere", "coarse", _strays),
    "lost": Fault("one of four clusters gone", "coarse", _lost),
    "lattice": Fault("all values rounded to 0.4", "fine", lambda rng, rows: rounded(rows, 0.4)),
    "waves": Fault("values drawn together around multiples of 0.5", "fine", _waves),
    "repeated": Fault("10 % of rows are the same row", "fine", _repeated(0.1)),
    "decimals": Fault("one column of three rounded to 0.5", "fine", _decimals),
    "heaped": Fault("half of the rows rounded to 0.8", "fine", _heaped),
    "split": Fault("every cluster split into two", "fine", _split(0.4)),
    "few repeated": Fault("5 % of rows are the same row", "fine", _repeated(0.05)),
    "tight split": Fault("every cluster split into two", "fine", _split(0.15)),
    "half-way": Fault("shifted half as far as the accepted data", "none", _shifted(-0.2)),
}


def _normal(rng: Generator, rows: int, columns: int, drift: float) -> FloatArray:
    return drawn(rng, "normal", rows, columns, drift)


SCENES = {
    "normal": Scene(
        "normal values, accepted with the first column shifted by 0.4",
        _normal,
        ("none", "shift", "wider", "strays", "lattice", "waves", "repeated", "decimals", "heaped"),
    ),
    "clusters": Scene(
        "four clusters of a width of 0.25, accepted in other shares", _groups, ("none", "lost", "split")
    ),
    "spikes": Scene("normal values", _normal, ("few repeated", "repeated")),
    "wide": Scene("normal values", _normal, ("lattice",)),
    "tight": Scene(
        "four clusters of a width of 0.08, accepted shifted by 0.4",
        _tight,
        ("none", "tight split", "half-way"),
        drift=1.0,
    ),
}
