"""One law and two others that are equally far from it, each in its own way: `known_triple`.

Comparing distances is harder where the two differ in kind: a shift sees other rows of the reference than a
few stray rows do. Here such triples have exactly the same distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.datasets.laws import characteristic as line
from nammd.datasets.laws import mixtures
from nammd.datasets.laws.characteristic import Columns
from nammd.datasets.laws.mixtures import Mixture
from nammd.errors.checks import choice
from nammd.kernels import Gaussian, Laplace

_GAUSSIAN, _LAPLACE = Gaussian(1.0), Laplace(1.0)

Move = Callable[[Any, float], Any]
"""A law that is moved away from another by a parameter."""


@dataclass(frozen=True)
class KnownTriple:
    """A law, and two others at the same NAMMD from it.

    Attributes
    ----------
    p, first, second : law
        The laws; each has ``sample(rng, rows)``.
    kernel : Gaussian or Laplace
        The kernel.
    nammd : float
        The exact distance of both from p under that kernel.
    """

    p: Any
    first: Any
    second: Any
    kernel: Gaussian | Laplace
    nammd: float


@dataclass(frozen=True)
class _Family:
    start: Any
    moves: tuple[Move, Move]
    kernel: Gaussian | Laplace = _GAUSSIAN


def _up(law: Columns, t: float) -> Columns:
    return Columns(lambda w: law.phi(w) * np.exp(1j * w * t), lambda r, s: law.draw(r, s) + t, law.columns)


def _down(law: Columns, t: float) -> Columns:
    return _up(law, -t)


def _wider(law: Columns, t: float) -> Columns:
    factor = 1 + t
    return Columns(lambda w: law.phi(w * factor), lambda r, s: law.draw(r, s) * factor, law.columns)


def _narrower(law: Columns, t: float) -> Columns:
    return _wider(law, 1 / (1 + t) - 1)


def _blend(other: Columns) -> Move:
    """Move a share of the rows to another law."""

    def moved(law: Columns, t: float) -> Columns:
        share = t / (1 + t)

        def draw(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
            values: FloatArray = np.where(
                rng.random(shape) < share, other.draw(rng, shape), law.draw(rng, shape)
            )
            return values

        return Columns(lambda w: (1 - share) * law.phi(w) + share * other.phi(w), draw, law.columns)

    return moved


def _value(place: float) -> Columns:
    return Columns(lambda w: np.exp(1j * w * place), lambda rng, shape: np.full(shape, place))


def _values(*weighted: tuple[float, float]) -> Columns:
    weights, places = np.array(weighted).T
    return Columns(
        lambda w: np.exp(1j * np.multiply.outer(w, places)) @ weights,
        lambda rng, shape: rng.choice(places, shape, p=weights),
    )


def _shifted(*direction: float) -> Move:
    def moved(law: Mixture, t: float) -> Mixture:
        means = tuple(tuple(np.add(mean, t * np.array(direction))) for mean in law.means)
        return Mixture(law.weights, means, law.covariances)

    return moved


def _spread(*diagonal: float) -> Move:
    def moved(law: Mixture, t: float) -> Mixture:
        covariances = tuple(c + t * np.diag(diagonal) for c in law.covariances)
        return Mixture(law.weights, law.means, covariances)

    return moved


def _mixed(other: Mixture) -> Move:
    def moved(law: Mixture, t: float) -> Mixture:
        share = t / (1 + t)
        weights = (*((1 - share) * w for w in law.weights), *(share * w for w in other.weights))
        return Mixture(weights, law.means + other.means, law.covariances + other.covariances)

    return moved


def _squares() -> Mixture:
    centres = ((0.0, 0.0), (0.0, 2.0), (2.0, 0.0), (2.0, 2.0))
    return Mixture((0.25,) * 4, centres, (np.eye(2) * 0.1,) * 4)


def _half(*centres: tuple[float, float]) -> Mixture:
    return Mixture((0.5, 0.5), centres, (np.eye(2) * 0.1,) * 2)


_FAR = line.normal(4.0, 0.1)
_NORMAL, _NARROW = line.normal(0.0, 1.0), line.normal(0.0, 0.3)
_FIVE = mixtures.normal([0.0] * 5, 0.2)
_SQUARES = _squares()
_SKEWED = line.exponential(0.3)

TRIPLES: dict[str, _Family] = {
    "normal: up or down": _Family(_NORMAL, (_up, _down)),
    "normal: up or wider": _Family(_NORMAL, (_up, _wider)),
    "normal: wider or narrower": _Family(_NORMAL, (_wider, _narrower)),
    "normal: up or stray rows": _Family(_NORMAL, (_up, _blend(_FAR))),
    "normal: wider or a heap": _Family(_NORMAL, (_wider, _blend(_value(0.0)))),
    "narrow normal: up or stray rows": _Family(_NARROW, (_up, _blend(_FAR))),
    "narrow normal: down or wider": _Family(_NARROW, (_down, _wider)),
    "exponential: longer or up": _Family(_SKEWED, (_wider, _up)),
    "exponential: longer or stray rows": _Family(_SKEWED, (_wider, _blend(_FAR))),
    "exponential: longer or shorter": _Family(_SKEWED, (_wider, _narrower)),
    "uniform: up or wider": _Family(line.uniform(0.0), (_up, _wider)),
    "uniform: wider or stray rows": _Family(line.uniform(0.0), (_wider, _blend(_FAR))),
    "Poisson: more or zeros": _Family(line.poisson(1.0), (_blend(line.poisson(4.0)), _blend(_value(0.0)))),
    "Poisson: one more or wider": _Family(line.poisson(1.0), (_up, _wider)),
    "Student: up or wider": _Family(line.student(0.0, 0.3), (_up, _wider)),
    "Student: stray rows or up": _Family(line.student(0.0, 0.3), (_blend(_FAR), _up)),
    "two values: the other or a third": _Family(
        _values((0.5, 0.0), (0.5, 3.0)), (_blend(_value(3.0)), _blend(_value(6.0)))
    ),
    "rare value: more often or up": _Family(_values((0.95, 0.0), (0.05, 2.0)), (_blend(_value(2.0)), _up)),
    "Laplace: up or wider": _Family(line.laplace(0.0, 0.1), (_up, _wider), _LAPLACE),
    "Cauchy: up or stray rows": _Family(line.cauchy(0.0, 0.3), (_up, _blend(_FAR)), _LAPLACE),
    "four clusters: right or top": _Family(
        _SQUARES, (_mixed(_half((2.0, 0.0), (2.0, 2.0))), _mixed(_half((0.0, 2.0), (2.0, 2.0))))
    ),
    "four clusters: one cluster or wider": _Family(
        _SQUARES, (_mixed(_half((2.0, 2.0), (2.0, 2.0))), _spread(1.0, 1.0))
    ),
    "five columns: all or one": _Family(_FIVE, (_shifted(1, 1, 1, 1, 1), _shifted(1, 0, 0, 0, 0))),
    "five columns: one or wider": _Family(_FIVE, (_shifted(1, 0, 0, 0, 0), _spread(1, 1, 1, 1, 1))),
}


def known_triple(name: str, nammd: float) -> KnownTriple | None:
    """Return a law and two others that are so far from it, each in its own way.

    Parameters
    ----------
    name : str
        One of `TRIPLES`: the law, and how each of the others differs from it.
    nammd : float
        The distance, between 0 and 1.

    Returns
    -------
    KnownTriple or None
        None where one of them does not reach that distance.

    Examples
    --------
    >>> from nammd.datasets.laws.different import known_triple
    >>> triple = known_triple("normal: up or wider", 0.05)
    >>> round(triple.nammd, 4)
    0.05
    """
    choice(name, "name", tuple(TRIPLES))
    return _triple_at(name, float(nammd))


@cache
def _triple_at(name: str, nammd: float) -> KnownTriple | None:
    family = TRIPLES[name]
    found = [_moved_to(name, which, nammd) for which in range(len(family.moves))]
    if any(law is None for law in found):
        return None
    exact = _distance(family, found[0])
    return KnownTriple(family.start, found[0], found[1], family.kernel, exact)


def _moved_to(name: str, which: int, nammd: float) -> Any:
    """Return the law moved until it is so far away, the first time that it is."""
    from scipy.optimize import brentq

    family = TRIPLES[name]
    move = family.moves[which]

    def excess(t: float) -> float:
        return _distance(family, move(family.start, t)) - nammd

    for (low, below), (high, above) in pairwise(_on_the_way(name, which)):
        if below <= nammd < above:
            return move(family.start, brentq(excess, low, high, xtol=1e-14))
    return None


@cache
def _on_the_way(name: str, which: int) -> tuple[tuple[float, float], ...]:
    """Return how far a law is from the first one when it was moved by so much; the same for all distances."""
    family = TRIPLES[name]
    grid = np.concatenate([[0.0], np.geomspace(1e-4, 1e3, 41)])
    return tuple((t, _distance(family, family.moves[which](family.start, t))) for t in grid)


def _distance(family: _Family, law: Any) -> float:
    if isinstance(law, Mixture):
        return mixtures.nammd_of(family.start, law)
    return line.nammd_of(family.start, law, family.kernel)
