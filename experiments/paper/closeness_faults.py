"""Triples of laws for closeness: a reference, data that were accepted though they drifted, and far data.

Fine faults show between neighbouring rows only: values on a grid, waves, heaps, clusters that are split.
Coarse ones move the rows as a whole. Each far law has some of the accepted drift, too. How large they are was
set on other draws, and so was the finest bandwidth. Of the paper's data there are those that are made by
formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from nammd.datasets import blob, hdgm

Draw = Callable[[int, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Fault:
    """A reference, what was accepted, and what is to be found.

    Attributes
    ----------
    kind : {"fine", "coarse", "paper", "fails", "level"}
        What it is an example of; of ``"level"``, the far data are exactly as far as the accepted ones, under
        every kernel that is asked for.
    reference, accepted, far : callable
        ``draw(rows, rng)``: a sample of each.
    """

    kind: str
    reference: Draw
    accepted: Draw
    far: Draw


def normal(columns: int, shift: float = 0.0, scale: float = 1.0) -> Draw:
    """Return independent normal columns; the first is shifted, all are scaled."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        values = scale * rng.standard_normal((rows, columns))
        values[:, 0] += shift
        return values

    return draw


def moved(law: Draw, *by: float) -> Draw:
    """Return a law shifted by the same for all rows."""
    return lambda rows, rng: law(rows, rng) + np.array(by)


def on_grid(law: Draw, step: float) -> Draw:
    """Return a law with all values rounded to a step."""
    return lambda rows, rng: step * np.round(law(rows, rng) / step)


def waving(law: Draw, period: float, depth: float) -> Draw:
    """Return a law whose density has waves along the sum of its columns."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        tried = law(8 * rows + 100, rng)  # about half of them are kept
        along = tried.sum(axis=1) / math.sqrt(tried.shape[1])
        height = 1 + depth * np.cos(2 * math.pi * along / period)
        kept: np.ndarray = tried[rng.random(len(tried)) * (1 + depth) < height]
        return kept[:rows]

    return draw


def heaped(law: Draw, share: float, places: int) -> Draw:
    """Return a law of which a share of rows repeats a few values, always the same ones."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        values = law(rows, rng)
        heaps = law(places, np.random.default_rng(5))
        hit = rng.random(rows) < share
        values[hit] = heaps[rng.integers(places, size=int(hit.sum()))]
        return values

    return draw


def clusters(count: int, width: float, gap: float = 0.0, shift: float = 0.0) -> Draw:
    """Return clusters on a circle of radius 2; each in two, so far apart, where there is a gap."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        angles = 2 * math.pi * rng.integers(count, size=rows) / count
        values = 2 * np.column_stack([np.cos(angles), np.sin(angles)])
        values += width * rng.standard_normal((rows, 2))
        values[:, 1] += gap / 2 * rng.choice([-1.0, 1.0], size=rows)
        values[:, 0] += shift
        return values

    return draw


def checkered(cells: int, depth: float) -> Draw:
    """Return a square of side 4, so much denser on the black fields of a checkerboard than on the white."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        tried = rng.uniform(-2, 2, (8 * rows + 100, 2))  # at least half of them are kept
        black = np.floor((tried + 2) / 4 * cells).sum(axis=1) % 2 == 0
        kept = tried[rng.random(len(tried)) < np.where(black, 1.0, 1 - depth)]
        return kept[:rows]

    return draw


def mixed(first: Draw, second: Draw, share: float) -> Draw:
    """Return a law of which a share of rows is another law's."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        one, two = first(rows, rng), second(rows, rng)
        return np.where(rng.random((rows, 1)) < share, two, one)

    return draw


def correlated(correlation: float, shift: float = 0.0) -> Draw:
    """Return two normal columns with a correlation."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        z = rng.standard_normal((rows, 2))
        second = correlation * z[:, 0] + math.sqrt(1 - correlation**2) * z[:, 1]
        return np.column_stack([z[:, 0] + shift, second])

    return draw


def heavy(columns: int, shift: float) -> Draw:
    """Return columns of Student's law with three degrees of freedom, of variance one."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        values = rng.standard_t(3, (rows, columns)) / math.sqrt(3)
        values[:, 0] += shift
        return values

    return draw


def published(make: Callable[..., tuple[np.ndarray, np.ndarray]], which: int) -> Draw:
    """Return P or Q of a pair of the paper."""
    return lambda rows, rng: make(rows, rng=rng)[which]


def spread(columns: int, shift: float, scale: float) -> Draw:
    """Return normal columns of which the first is shifted and the second is scaled."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        values = rng.standard_normal((rows, columns))
        values[:, 0] += shift
        values[:, 1] *= scale
        return values

    return draw


_BLOB_P, _BLOB_Q, _HDGM_P, _HDGM_Q = (published(make, which) for make in (blob, hdgm) for which in (0, 1))
_SQUARE = checkered(1, 0.0)
_SPLIT, _TIGHT = (clusters(5, width) for width in (0.25, 0.06))

FAULTS: Mapping[str, Fault] = {
    "values on a grid": Fault("fine", normal(1), normal(1, 0.35), on_grid(normal(1, 0.2), 0.5)),
    "the same, a large drift": Fault("fine", normal(1), normal(1, 1.0), on_grid(normal(1, 0.9), 0.6)),
    "3 columns on a grid": Fault("fine", normal(3), normal(3, 0.5), on_grid(normal(3, 0.25), 0.8)),
    "waves": Fault("fine", normal(1), normal(1, 0.35), waving(normal(1, 0.2), 0.6, 1.0)),
    "waves, a large drift": Fault("fine", normal(1), normal(1, 0.8), waving(normal(1, 0.7), 0.8, 1.0)),
    "waves across 2 columns": Fault(
        "fine", normal(2), normal(2, 0.0, 1.2), waving(normal(2, 0.0, 1.1), 1.2, 1.0)
    ),
    "heaps": Fault("fine", normal(2), normal(2, 0.4), heaped(normal(2, 0.2), 0.2, 5)),
    "clusters in two": Fault("fine", _SPLIT, moved(_SPLIT, 0.15, 0.0), clusters(5, 0.25, 1.0, 0.1)),
    "a checkerboard": Fault("fine", _SQUARE, moved(_SQUARE, 0.5, 0.0), moved(checkered(5, 1.0), 0.25, 0.0)),
    "twice the shift": Fault("coarse", normal(2), normal(2, 0.3), normal(2, 0.6)),
    "more shift, 10 columns": Fault("coarse", normal(10), normal(10, 0.5), normal(10, 0.9)),
    "more scale": Fault("coarse", normal(2), normal(2, 0.0, 1.25), normal(2, 0.0, 1.6)),
    "strays": Fault("coarse", normal(2), normal(2, 0.3), mixed(normal(2, 0.15), normal(2, 4.0), 0.15)),
    "a correlation": Fault("coarse", normal(2), normal(2, 0.4), correlated(0.8, 0.2)),
    "heavy tails": Fault("coarse", normal(2), normal(2, 0.15), heavy(2, 0.1)),
    "another column": Fault("coarse", normal(5), normal(5, 0.8), spread(5, 0.7, 2.0)),
    "blob, a shift accepted": Fault("paper", _BLOB_P, moved(_BLOB_P, 0.1, 0.0), _BLOB_Q),
    "blob, 40 % of Q accepted": Fault("paper", _BLOB_P, mixed(_BLOB_P, _BLOB_Q, 0.4), _BLOB_Q),
    "hdgm, a shift accepted": Fault("paper", _HDGM_P, moved(_HDGM_P, *[0.05] * 10), _HDGM_Q),
    "tight clusters in two": Fault("fails", _TIGHT, moved(_TIGHT, 0.3, 0.0), clusters(5, 0.06, 0.2, 0.15)),
    "20 columns on a grid": Fault("fails", normal(20), normal(20, 0.5), on_grid(normal(20, 0.25), 0.8)),
    "the accepted shift": Fault("level", normal(2), normal(2, 0.4), normal(2, 0.4)),
    "as far the other way": Fault("level", normal(2), normal(2, 0.4), normal(2, -0.4)),
    "no drift at all": Fault("level", normal(2), normal(2), normal(2)),
    "tails and a shift": Fault("level", heavy(3, 0.0), heavy(3, 0.4), heavy(3, 0.4)),
    "an accepted grid": Fault("level", normal(1), on_grid(normal(1), 0.5), on_grid(normal(1), 0.5)),
    "blob, Q accepted": Fault("level", _BLOB_P, _BLOB_Q, _BLOB_Q),
}
"""Every triple by what is to be found."""
