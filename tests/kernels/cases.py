"""One table of kernels, each with its formula for a single pair of rows, for the contract tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

import nammd

MATRIX = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.7]])
SINGULAR = np.diag([1.0, 0.0, 3.0])


class RationalQuadratic(nammd.Kernel):
    """A user's kernel: a subclass with a bound and a call, for any array library."""

    bound = 1.0

    def __call__(self, x, y, /):
        xp = array_namespace(x, y)
        difference = x[:, None, :] - y[None, :, :]
        return 1 / (1 + xp.sum(difference * difference, axis=-1))

    def __repr__(self):
        return "RationalQuadratic()"


class Inverse:
    """A user's kernel that inherits nothing: x.y for rows brought into the ball of radius one half.

    It is not invariant under shifts, and never attains its bound.
    """

    bound = 0.25

    def __call__(self, x, y, /):
        xp = array_namespace(x, y)
        u, v = (z / (1 + xp.sum(z * z, axis=-1))[:, None] for z in (x, y))
        return u @ v.T

    def __repr__(self):
        return "Inverse()"


def differences(a, b):
    return [s - t for s, t in zip(a, b, strict=True)]


def gaussian(bandwidth):
    return lambda a, b: math.exp(-sum(d * d for d in differences(a, b)) / (2 * bandwidth**2))


def laplace(bandwidth):
    return lambda a, b: math.exp(-sum(map(abs, differences(a, b))) / bandwidth)


def mahalanobis(matrix, bandwidth):
    def value(a, b):
        d = differences(a, b)
        form = sum(d[i] * matrix[i][j] * d[j] for i in range(len(d)) for j in range(len(d)))
        return math.exp(-form / (2 * bandwidth**2))

    return value


def rational(a, b):
    return 1 / (1 + sum(d * d for d in differences(a, b)))


def inverse(a, b):
    norms = (1 + sum(s * s for s in a)) * (1 + sum(t * t for t in b))
    return sum(s * t for s, t in zip(a, b, strict=True)) / norms


def weighted(*terms):
    """Return the sum of weight * formula over pairs (weight, formula)."""
    return lambda a, b: sum(weight * formula(a, b) for weight, formula in terms)


def waves(kernel, n_features, seed):
    """Return the mean of cosines over the frequencies of random features, for rows of any length."""

    def value(a, b):
        frequencies = nammd.RandomFeatures(kernel, n_features, seed).frequencies(len(a)).tolist()
        phases = (sum(w * d for w, d in zip(f, differences(a, b), strict=True)) for f in frequencies)
        return kernel.bound * sum(map(math.cos, phases)) / len(frequencies)

    return value


@dataclass(frozen=True)
class Case:
    """A kernel, how to write it, and what must be true of it."""

    name: str
    make: Callable[[], Any]
    pair: Callable[[Any, Any], float]
    bound: float
    built_in: bool = True
    shift_invariant: bool = True

    def matrix(self, x, y):
        """Return the kernel values by an explicit double loop over Python floats."""
        return np.array([[self.pair(a, b) for b in y.tolist()] for a in x.tolist()])


CASES = [
    Case("gaussian", lambda: nammd.Gaussian(1.3), gaussian(1.3), 1.0),
    Case("laplace", lambda: nammd.Laplace(2.1), laplace(2.1), 1.0),
    Case("mahalanobis", lambda: nammd.Mahalanobis(MATRIX, 1.5), mahalanobis(MATRIX, 1.5), 1.0),
    Case("singular", lambda: nammd.Mahalanobis(SINGULAR), mahalanobis(SINGULAR, 1.0), 1.0),
    Case("scaled", lambda: 2.5 * nammd.Gaussian(0.8), weighted((2.5, gaussian(0.8))), 2.5),
    Case("scaled twice", lambda: 4 * (0.1 * nammd.Laplace(1)), weighted((0.4, laplace(1))), 0.4),
    Case(
        "sum",
        lambda: nammd.Gaussian(1.0) + nammd.Laplace(3.0),
        weighted((1, gaussian(1.0)), (1, laplace(3.0))),
        2.0,
    ),
    Case(
        "scaled sum",
        lambda: 0.25 * (nammd.Gaussian(0.5) + nammd.Laplace(1.5)),
        weighted((0.25, gaussian(0.5)), (0.25, laplace(1.5))),
        0.5,
    ),
    Case(
        "nested sums",
        lambda: (
            0.5 * (nammd.Gaussian(0.6) + 2 * nammd.Laplace(1.0))
            + (nammd.Mahalanobis(MATRIX) + nammd.Gaussian(4.0))
        ),
        weighted((0.5, gaussian(0.6)), (1, laplace(1)), (1, mahalanobis(MATRIX, 1)), (1, gaussian(4))),
        3.5,
    ),
    Case(
        "random features",
        lambda: nammd.RandomFeatures(nammd.Gaussian(1.3), 40, rng=5),
        waves(nammd.Gaussian(1.3), 40, 5),
        1.0,
    ),
    Case(
        "random features of a sum",
        lambda: 2.0 * nammd.RandomFeatures(0.5 * nammd.Gaussian(1.3) + nammd.Gaussian(3.0), 24),
        weighted((2.0, waves(0.5 * nammd.Gaussian(1.3) + nammd.Gaussian(3.0), 24, 0))),
        3.0,
    ),
    Case("user subclass", RationalQuadratic, rational, 1.0, built_in=False),
    Case("user duck type", Inverse, inverse, 0.25, built_in=False, shift_invariant=False),
    Case(
        "user kernels in a sum",
        lambda: 3 * (RationalQuadratic() + nammd.Gaussian(2.0)) + Inverse(),
        weighted((3, rational), (3, gaussian(2.0)), (1, inverse)),
        6.25,
        built_in=False,
        shift_invariant=False,
    ),
]
