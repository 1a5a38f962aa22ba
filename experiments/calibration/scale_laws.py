"""Laws for the study of scales, each with a drift that is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray

Generator: TypeAlias = np.random.Generator

FAR_AWAY = 60.0
"""How far rows move that are moved elsewhere: no kernel of the study reaches so far."""

_SHIFT = 0.4


@dataclass(frozen=True)
class Law:
    """A law of rows that drifts.

    Attributes
    ----------
    about : str
        What it is.
    draw : callable
        ``draw(rng, rows, columns, drift)``: rows, with the drift of each column; one is what is accepted.
    even : bool
        Whether a drift of minus one is exactly as far as one of one, at every scale: the laws are images of
        each other, or the differences of their rows are.
    """

    about: str
    draw: Callable[[Generator, int, int, FloatArray], FloatArray]
    even: bool = False


def _normal(rng: Generator, rows: int, columns: int, drift: FloatArray) -> FloatArray:
    return rng.standard_normal((rows, columns)) + _SHIFT * drift


def _student(rng: Generator, rows: int, columns: int, drift: FloatArray) -> FloatArray:
    found: FloatArray = rng.standard_t(3, (rows, columns)) + _SHIFT * drift
    return found


def _lognormal(rng: Generator, rows: int, columns: int, drift: FloatArray) -> FloatArray:
    return rng.lognormal(0.0, 0.5, (rows, columns)) + _SHIFT / 2 * drift


def centres(columns: int) -> FloatArray:
    """Return the centres of four clusters, always the same."""
    return 2.5 * np.random.default_rng(columns).standard_normal((4, columns))


def _clusters(rng: Generator, rows: int, columns: int, drift: FloatArray) -> FloatArray:
    found: FloatArray = centres(columns)[rng.integers(0, 4, rows)] + _SHIFT * drift
    return found + 0.7 * rng.standard_normal((rows, columns))


def _whole(rng: Generator, rows: int, columns: int, drift: FloatArray) -> FloatArray:
    return rng.poisson(4 + 2 * _SHIFT * drift, (rows, columns)).astype(np.float64)


def _zeros(rng: Generator, rows: int, columns: int, drift: FloatArray) -> FloatArray:
    there = rng.random((rows, columns)) < 0.5 + _SHIFT / 2 * drift
    return np.where(there, rng.exponential(1.0, (rows, columns)), 0.0)


def _circle(rng: Generator, rows: int, columns: int, drift: FloatArray) -> FloatArray:
    angle = rng.uniform(0, 2 * np.pi, rows)
    # Some go over to the other side, so that the angles have a density like 1 + 0.4 drift cos(angle).
    over = rng.random(rows) < np.maximum(-_SHIFT * drift[0] * np.cos(angle), 0.0)
    angle = np.where(over, angle + np.pi, angle)
    turns = np.arange(columns) // 2 + 1
    quarter = np.pi / 2 * (np.arange(columns) % 2)
    return np.cos(angle[:, None] * turns - quarter) + 0.02 * rng.standard_normal((rows, columns))


def _two_values(rng: Generator, rows: int, columns: int, drift: FloatArray) -> FloatArray:
    return (rng.random((rows, columns)) < 0.5 + _SHIFT / 2 * drift).astype(np.float64)


LAWS = {
    "normal": Law("shifted by 0.4", _normal, even=True),
    "Student": Law("3 degrees of freedom, shifted by 0.4", _student, even=True),
    "lognormal": Law("shifted by 0.2", _lognormal, even=True),
    "clusters": Law("four, shifted by 0.4", _clusters, even=True),
    "whole numbers": Law("Poisson, of a mean of 4 or 4.8", _whole),
    "zeros": Law("half of the values zero, or 30 % of them, the others exponential", _zeros),
    "closed curve": Law("a thin closed curve, more rows on one side", _circle, even=True),
    "two values": Law("a label in every column, 50 % or 70 % of one kind", _two_values, even=True),
}


def drawn(rng: Generator, law: str, rows: int, columns: int, drift: float, wide: bool = False) -> FloatArray:
    """Draw rows of a law; the drift is that of the first column, or of all where it is `wide`."""
    each = np.zeros(columns)
    each[: columns if wide else 1] = drift
    return LAWS[law].draw(rng, rows, columns, each)
