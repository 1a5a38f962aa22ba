"""Pairs of laws whose NAMMD is known exactly, at margins of one's choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.datasets.discrete import discrete_pair
from nammd.datasets.laws import characteristic as line
from nammd.datasets.laws import mixtures as laws
from nammd.errors.checks import choice
from nammd.kernels import Gaussian, Laplace

_GAUSSIAN, _LAPLACE = Gaussian(1.0), Laplace(1.0)


class _Law(Protocol):
    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Draw rows."""


@dataclass(frozen=True)
class _Weighted:
    """A law on finitely many points."""

    support: FloatArray
    weights: FloatArray

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw rows."""
        drawn: FloatArray = self.support[rng.choice(len(self.support), size, p=self.weights)]
        return drawn


@dataclass(frozen=True)
class KnownPair:
    """Two laws, a kernel, and the NAMMD of the laws under it.

    Attributes
    ----------
    p, q : law
        The laws; each has ``sample(rng, rows)``.
    kernel : Gaussian or Laplace
        The kernel.
    nammd : float
        Their exact distance under that kernel.
    """

    p: _Law
    q: _Law
    kernel: Gaussian | Laplace
    nammd: float

    def sample(self, rng: Any, m: int, n: int) -> tuple[FloatArray, FloatArray]:
        """Draw m rows from the first and n from the second."""
        generator = np.random.default_rng(rng)
        return self.p.sample(generator, m), self.q.sample(generator, n)


_Make = Callable[[float], tuple[Any, Any, float]]


@dataclass(frozen=True)
class Family:
    """Pairs of laws by a parameter, from 0 to `high`, that moves them apart.

    Attributes
    ----------
    about : str
        What the two laws are, in a few words.
    make : callable
        ``make(t)``: both laws and their NAMMD.
    high : float
        The largest parameter.
    kernel : Kernel
        The kernel.
    """

    about: str
    make: _Make
    high: float
    kernel: Gaussian | Laplace = _GAUSSIAN


def _mixtures(make: Callable[[float], tuple[laws.Mixture, laws.Mixture]]) -> _Make:
    """Take the exact distance of mixtures of normal laws and points under the Gaussian kernel."""

    def made(t: float) -> tuple[Any, Any, float]:
        p, q = make(t)
        return p, q, laws.nammd_of(p, q)

    return made


def _lines(
    make: Callable[[float], tuple[line.Columns, line.Columns]],
    kernel: Gaussian | Laplace = _GAUSSIAN,
) -> _Make:
    """Take the exact distance from characteristic functions."""

    def made(t: float) -> tuple[Any, Any, float]:
        p, q = make(t)
        return p, q, line.nammd_of(p, q, kernel)

    return made


def _four_values(t: float) -> tuple[Any, Any, float]:
    pair = discrete_pair(np.arange(4.0)[:, None] * 2, t, rng=0)
    return _Weighted(pair.support, pair.p), _Weighted(pair.support, pair.q), pair.nammd(_GAUSSIAN)


def _clusters(moved: float) -> laws.Mixture:
    """Four clusters in the plane; weight goes from the left ones to the right ones."""
    weights = (0.25 - moved, 0.25 - moved, 0.25 + moved, 0.25 + moved)
    centres = ((0.0, 0.0), (0.0, 2.0), (2.0, 0.0), (2.0, 2.0))
    return laws.Mixture(weights, centres, (np.eye(2) * 0.1,) * 4)


_ABOUT = {
    "shifted normal": "normal, means apart",
    "concentrated normal": "normal with a small variance, means apart",
    "scaled normal": "normal, different variances",
    "five columns": "normal in 5 dimensions, different means and variances",
    "contaminated": "a tenth of one sample far away, against a normal law",
    "two points": "two values, different weights",
    "correlated": "normal in the plane, different correlations",
    "uneven spread": "normal, variances 1 to 10, means apart",
    "rare stray": "two values each, one of them rare",
}

FAMILIES: dict[str, Family] = {
    **{name: Family(_ABOUT[name], _mixtures(make), high) for name, (make, _, high) in laws.FAMILIES.items()},
    "ten columns": Family(
        "normal in 10 dimensions, means apart",
        _mixtures(lambda t: (laws.normal([0] * 10, 0.1), laws.normal([t] * 10, 0.1))),
        5.0,
    ),
    "four clusters": Family(
        "mixture in the plane, different weights", _mixtures(lambda t: (_clusters(0.0), _clusters(t))), 0.25
    ),
    "normal and point": Family(
        "a normal law, against one value",
        _mixtures(lambda t: (laws.normal(t, 0.05), laws.points((1.0, 0.0)))),
        20.0,
    ),
    "uniform": Family(
        "uniform on intervals apart", _lines(lambda t: (line.uniform(0.0), line.uniform(t))), 20.0
    ),
    "Student": Family(
        "Student's law with 3 degrees of freedom, shifted",
        _lines(lambda t: (line.student(0.0, 0.3), line.student(t, 0.3))),
        20.0,
    ),
    "exponential": Family(
        "exponential, different means",
        _lines(lambda t: (line.exponential(0.3), line.exponential(0.3 * (1 + t)))),
        1e3,
    ),
    "Poisson": Family(
        "Poisson counts, different means", _lines(lambda t: (line.poisson(1.0), line.poisson(1.0 + t))), 50.0
    ),
    "four values": Family("four values, different weights", _four_values, 0.5),
    "Laplace": Family(
        "Laplace law, shifted; Laplace kernel",
        _lines(lambda t: (line.laplace(0.0, 0.1), line.laplace(t, 0.1)), _LAPLACE),
        20.0,
        _LAPLACE,
    ),
    "Cauchy": Family(
        "Cauchy law, shifted; Laplace kernel",
        _lines(lambda t: (line.cauchy(0.0, 0.3), line.cauchy(t, 0.3)), _LAPLACE),
        50.0,
        _LAPLACE,
    ),
    "three columns": Family(
        "normal in 3 dimensions, means apart; Laplace kernel",
        _lines(lambda t: (line.normal(0.0, 0.1, 3), line.normal(t, 0.1, 3)), _LAPLACE),
        20.0,
        _LAPLACE,
    ),
}


LAWS = tuple(FAMILIES)
"""The names of the families."""


def known_pair(law: str, nammd: float) -> KnownPair | None:
    """Return a pair of laws at a known distance.

    Parameters
    ----------
    law : str
        One of ``nammd.datasets.LAWS``.
    nammd : float
        The distance, between 0 and 1. At 0 both laws are the same.

    Returns
    -------
    KnownPair or None
        None where the family does not reach that distance.

    Examples
    --------
    >>> import nammd
    >>> from nammd.datasets import known_pair
    >>> pair = known_pair("exponential", 0.05)
    >>> x, y = pair.sample(0, 2000, 2000)
    >>> low, high = nammd.distance(x, y, kernel=pair.kernel).confidence_interval()
    >>> low < pair.nammd < high
    True
    """
    choice(law, "law", LAWS)
    return _pair_at(law, float(nammd))


@cache
def _pair_at(name: str, margin: float) -> KnownPair | None:
    from scipy.optimize import brentq

    family = FAMILIES[name]
    if margin == 0:
        p = family.make(0.0)[0]
        return KnownPair(p, p, family.kernel, 0.0)
    # Not all families rise all the way, or start at zero: take the first time the margin is crossed.
    for (low, below), (high, above) in pairwise(_on_the_way(name)):
        if below <= margin < above:
            t = brentq(lambda t: family.make(t)[2] - margin, low, high, xtol=1e-14)
            p, q, exact = family.make(t)
            return KnownPair(p, q, family.kernel, exact)
    return None


@cache
def _on_the_way(name: str) -> tuple[tuple[float, float], ...]:
    """Return the distances of a family at some of its parameters; they serve every margin."""
    family = FAMILIES[name]
    grid = np.concatenate([[0.0], family.high * np.geomspace(1e-4, 1.0, 41)])
    return tuple((t, family.make(t)[2]) for t in grid)
