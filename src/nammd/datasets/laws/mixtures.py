"""Mixtures of normal laws and of points, whose NAMMD has a closed form, and how to put it at a given value.

For a Gaussian kernel of bandwidth g and a difference x - y that is normal with mean d and covariance
S, ``E k(x, y) = det(I + S/g^2)^(-1/2) exp(-d' (g^2 I + S)^(-1) d / 2)``. Mixtures of normals, and of
points (S = 0), therefore have closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Mixture:
    """A mixture of normal distributions; a zero covariance makes a component a point."""

    weights: tuple[float, ...]
    means: tuple[tuple[float, ...], ...]
    covariances: tuple[np.ndarray, ...]

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Draw rows."""
        which = rng.choice(len(self.weights), size=size, p=self.weights)
        noise = rng.standard_normal((size, len(self.means[0])))
        return np.array(self.means)[which] + np.einsum("nij,nj->ni", self._roots[which], noise)

    @cached_property
    def _roots(self) -> Any:
        return np.array([_root(c) for c in self.covariances])


def _root(covariance: np.ndarray) -> Any:
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0))


def inner(p: Mixture, q: Mixture, bandwidth: float) -> float:
    """Return the mean kernel value of a draw from p and a draw from q."""
    total = 0.0
    for wp, mp, cp in zip(p.weights, p.means, p.covariances, strict=True):
        for wq, mq, cq in zip(q.weights, q.means, q.covariances, strict=True):
            shift, spread = np.subtract(mp, mq), cp + cq
            identity = np.eye(len(shift))
            scale = np.linalg.det(identity + spread / bandwidth**2) ** -0.5
            exponent = shift @ np.linalg.solve(bandwidth**2 * identity + spread, shift)
            total += wp * wq * scale * np.exp(-exponent / 2)
    return float(total)


def mmd2_of(p: Mixture, q: Mixture, bandwidth: float = 1.0) -> float:
    """Return the exact squared MMD under a Gaussian kernel."""
    return inner(p, p, bandwidth) + inner(q, q, bandwidth) - 2 * inner(p, q, bandwidth)


def nammd_of(p: Mixture, q: Mixture, bandwidth: float = 1.0) -> float:
    """Return the exact NAMMD under a Gaussian kernel."""
    norms = inner(p, p, bandwidth) + inner(q, q, bandwidth)
    return (norms - 2 * inner(p, q, bandwidth)) / (4 - norms)


def normal(mean: Any, variance: float) -> Mixture:
    """Return a normal law with the same variance in every column."""
    mean = np.atleast_1d(mean).astype(float)
    return Mixture((1.0,), (tuple(mean),), (np.eye(len(mean)) * variance,))


def points(*weighted: tuple[float, float]) -> Mixture:
    """Return a law on points, each given by its weight and its place."""
    return Mixture(
        tuple(w for w, _ in weighted),
        tuple((v,) for _, v in weighted),
        tuple(np.zeros((1, 1)) for _ in weighted),
    )


def contaminated(shift: float) -> Mixture:
    """Return a law with a tenth of its mass far out: strongly skewed influences."""
    one = np.eye(1) * 0.05
    return Mixture((0.9, 0.1), ((shift,), (shift + 3.0,)), (one, one))


def correlated(r: float) -> Mixture:
    """Return a normal law in the plane with a given correlation."""
    return Mixture((1.0,), ((0.0, 0.0),), (np.array([[1.0, r], [r, 1.0]]),))


# Families of pairs: a parameter in (low, high) moves the distance from zero upwards.
FAMILIES: dict[str, tuple[Callable[[float], tuple[Mixture, Mixture]], float, float]] = {
    "shifted normal": (lambda t: (normal(0, 1), normal(t, 1)), 0.0, 20.0),
    "concentrated normal": (lambda t: (normal(0, 0.05), normal(t, 0.05)), 0.0, 20.0),
    "scaled normal": (lambda t: (normal(0, 0.3), normal(0, 0.3 * (1 + t))), 0.0, 1e4),
    "five columns": (lambda t: (normal([0] * 5, 0.2), normal([t] * 5, 0.1)), 0.0, 20.0),
    "contaminated": (lambda t: (contaminated(0), normal(t, 0.1)), 0.0, 20.0),
    "two points": (
        lambda t: (points((0.5, 0), (0.5, 3)), points((0.5 - t, 0), (0.5 + t, 3))),
        0.0,
        0.5,
    ),
    "correlated": (lambda t: (correlated(0), correlated(t)), 0.0, 0.999999),
    "uneven spread": (lambda t: (normal(0, 0.02), normal(t, 0.2)), 0.0, 20.0),
    "rare stray": (
        lambda t: (points((0.95, 0), (0.05, 2)), points((0.9, t), (0.1, t - 2))),
        0.0,
        20.0,
    ),
}


def pair_at(family: str, value: float) -> tuple[Mixture, Mixture]:
    """Return the pair of a family whose NAMMD under the unit bandwidth is `value`."""
    from scipy.optimize import brentq

    make, low, high = FAMILIES[family]
    return make(brentq(lambda t: nammd_of(*make(t)) - value, low, high, xtol=1e-14))
