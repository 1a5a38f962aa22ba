"""Triples of laws for closeness: a reference, data that were accepted though they drifted, and far data.

Fine faults show between neighbouring rows only: values on a grid, waves, heaps, clusters that are split. Coarse
ones move the rows as a whole. Each far law has some of the accepted drift, too. The drifts and the faults were
set once and not changed after any result; of the paper's data there are those that are made by formulas.
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
    kind : str
        ``"fine"``, ``"coarse"``, ``"paper"``, ``"fails"`` or ``"level"``; the latter's far data are not
        beyond the accepted ones under any kernel that is asked for.
    words : str
        What it is, in a few words.
    reference, accepted, far : callable
        ``draw(rows, rng)``: a sample of each.
    """

    kind: str
    words: str
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
        found = np.empty((0, 0))
        while len(found) < rows:
            tried = law(4 * rows, rng)
            along = tried.sum(axis=1) / math.sqrt(tried.shape[1])
            kept = rng.random(len(tried)) * (1 + depth) < 1 + depth * np.cos(2 * math.pi * along / period)
            found = np.concatenate([found, tried[kept]]) if len(found) else tried[kept]
        return found[:rows]

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


def clusters(count: int, spread: float, gap: float = 0.0, shift: float = 0.0) -> Draw:
    """Return clusters on a circle of radius 2; each in two, so far apart, where there is a gap."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        angles = 2 * math.pi * rng.integers(count, size=rows) / count
        values = 2 * np.column_stack([np.cos(angles), np.sin(angles)])
        values += spread * rng.standard_normal((rows, 2))
        values[:, 1] += gap / 2 * rng.choice([-1.0, 1.0], size=rows)
        values[:, 0] += shift
        return values

    return draw


def checkered(cells: int, depth: float) -> Draw:
    """Return a square of side 4, so much denser on the black fields of a checkerboard than on the white."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        tried = rng.uniform(-2, 2, (8 * rows, 2))
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


_P, _Q, _BP, _BQ = (published(make, which) for make in (hdgm, blob) for which in (0, 1))
_SQUARE = checkered(1, 0.0)
_UNIFORM = _SQUARE

FAULTS: Mapping[str, Fault] = {
    "grid": Fault(
        "fine", "values on a grid of 0.5", normal(1), normal(1, 0.35), on_grid(normal(1, 0.2), 0.5)
    ),
    "grid of 3 columns": Fault(
        "fine", "3 columns on a grid of 0.8", normal(3), normal(3, 0.5), on_grid(normal(3, 0.25), 0.8)
    ),
    "waves": Fault("fine", "waves of 0.6", normal(1), normal(1, 0.35), waving(normal(1, 0.2), 0.6, 1.0)),
    "waves of 2 columns": Fault(
        "fine", "waves of 1.2 across 2 columns", normal(2), normal(2, 0.0, 1.2), waving(normal(2, 0.0, 1.1), 1.2, 1.0)
    ),
    "heaps": Fault(
        "fine", "20 % of the rows on 5 values", normal(2), normal(2, 0.4), heaped(normal(2, 0.2), 0.2, 5)
    ),
    "split clusters": Fault(
        "fine", "clusters in two", clusters(5, 0.25), clusters(5, 0.25, shift=0.15), clusters(5, 0.25, 1.0, 0.1)
    ),
    "checkerboard": Fault(
        "fine", "a checkerboard", _UNIFORM, moved(_UNIFORM, 0.5, 0.0), moved(checkered(5, 1.0), 0.25, 0.0)
    ),
    "shift": Fault("coarse", "twice the shift", normal(2), normal(2, 0.3), normal(2, 0.6)),
    "shift of 10 columns": Fault(
        "coarse", "1.8 times the shift, 10 columns", normal(10), normal(10, 0.5), normal(10, 0.9)
    ),
    "scale": Fault("coarse", "scale 1.6 beyond 1.25", normal(2), normal(2, 0.0, 1.25), normal(2, 0.0, 1.6)),
    "strays": Fault(
        "coarse", "15 % strays, a shift accepted", normal(2), normal(2, 0.3), mixed(normal(2, 0.15), normal(2, 4.0), 0.15)
    ),
    "correlation": Fault(
        "coarse", "a correlation of 0.8, a shift accepted", normal(2), normal(2, 0.4), correlated(0.8, 0.2)
    ),
    "tails": Fault("coarse", "heavy tails, a shift accepted", normal(2), normal(2, 0.15), heavy(2, 0.1)),
    "blob, shifted": Fault("paper", "blob, a shift of a tenth accepted", _BP, moved(_BP, 0.1, 0.0), _BQ),
    "blob, mixed": Fault("paper", "blob, 40 % of Q accepted", _BP, mixed(_BP, _BQ, 0.4), _BQ),
    "hdgm, shifted": Fault("paper", "hdgm, a shift accepted", _P, moved(_P, *[0.1] * 10), _Q),
    "hdgm, mixed": Fault("paper", "hdgm, 40 % of Q accepted", _P, mixed(_P, _Q, 0.4), _Q),
    "tight clusters": Fault(
        "fails", "tight clusters in two, a shift accepted", clusters(5, 0.06), clusters(5, 0.06, shift=0.3),
        clusters(5, 0.06, 0.2, 0.15),
    ),
    "grid of 20 columns": Fault(
        "fails", "20 columns on a grid of 0.8", normal(20), normal(20, 0.5), on_grid(normal(20, 0.25), 0.8)
    ),
    "the accepted law": Fault("level", "the accepted shift", normal(2), normal(2, 0.4), normal(2, 0.4)),
    "the other way": Fault("level", "as far the other way", normal(2), normal(2, 0.4), normal(2, -0.4)),
    "no drift": Fault("level", "no drift at all", normal(2), normal(2), normal(2)),
    "heavy tails": Fault(
        "level", "heavy tails, the accepted shift", heavy(3, 0.0), heavy(3, 0.4), heavy(3, 0.4)
    ),
    "accepted grid": Fault(
        "level", "an accepted grid", normal(1), on_grid(normal(1), 0.5), on_grid(normal(1), 0.5)
    ),
    "blob at the margin": Fault("level", "blob, Q accepted", _BP, _BQ, _BQ),
}  # fmt: skip
"""Every triple by its name."""
