"""Bets on the rows of a batch: evidence of "beyond" that is exact for a fixed reference.

With the reference fixed, and ``a = 1 + eps``, a law Q is within the tolerance just where its mean embedding
lies in a ball:

    |mu_Q - mu_X / a| <= R,      R² = 4 K eps / a - xx + |mu_X|² / a².

So for every function w of norm one that was chosen before, ``E w(y) <= <mu_X, w> / a + R`` over rows y of Q.
Since ``|w(y)| <= sqrt(K)``, the bet ``1 + l (w(y) - <mu_X, w> / a - R)`` is never negative for a small l, and
has a mean of at most one: whatever the law, however few rows there are, without a variance. Its product
over independent rows is evidence against "within" (Shekhar and Ramdas, Nonparametric two-sample testing by
betting, IEEE Transactions on Information Theory 70, 2024, bet so on equality).

Where several laws were accepted, the ball around each of their mixtures is within the tolerance, and the
largest bound of all of them counts. Half of a batch chooses w, the direction from the nearest mixture to
these rows, and the bets are on the other half; then the other way round. The mean of both is evidence too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.nearest import nearest_weights
from nammd.statistics.stream import BETS

MOST = 0.9
"""No bet risks more than this share of what was won."""

_LEAST_SPREAD = 1e-3


class Half(NamedTuple):
    """Half of the rows of a batch, by their mean kernel values.

    Attributes
    ----------
    own : array of shape (rows,)
        With the rows of the half, itself among them.
    met : array of shape (rows,)
        With those of the other half.
    seen : array of shape (rows, corners)
        With each of the samples that were accepted.
    """

    own: FloatArray
    met: FloatArray
    seen: FloatArray


@dataclass(frozen=True, eq=False)
class FixedHull:
    """Samples that were accepted, taken as they are.

    Attributes
    ----------
    inner, full : array of shape (corners, corners)
        The mean kernel values between the rows of two samples: of different units, and of all of them.
    bound : float
        The bound of the kernel.
    """

    inner: FloatArray = field(repr=False)
    full: FloatArray = field(repr=False)
    bound: float

    @cached_property
    def _smallest(self) -> float:
        """The smallest squared norm of a mixture."""
        weights = nearest_weights(self.inner, np.zeros(len(self.inner)))
        return float(weights @ self.inner @ weights)

    def radius(self, eps: float) -> float:
        """Return the radius of the largest ball of a mixture.

        The norm of all pairs is that of different units and what units with themselves add, which is most
        at a corner.
        """
        a = 1.0 + eps
        alone = float((self.full - self.inner).max()) / a**2
        squared = 4 * self.bound * eps / a - (1 - 1 / a**2) * self._smallest + alone
        return math.sqrt(max(squared, 0.0))

    def evidence(self, one: Half, two: Half, eps: float) -> FloatArray:
        """Return the logarithm of the evidence of a batch against "within eps", for every one of `BETS`."""
        both = np.stack([self.bets(one, two, eps), self.bets(two, one, eps)])
        found: FloatArray = np.logaddexp.reduce(both, axis=0) - math.log(2)
        return found

    def bets(self, chosen: Half, rows: Half, eps: float) -> FloatArray:
        """Return the logarithm of what each bet on some rows makes of one; the others choose the function."""
        a, across = 1.0 + eps, chosen.seen.mean(axis=0)
        weights = nearest_weights(self.inner, across)
        mixed = self.full @ weights
        norm = math.sqrt(
            max(float(chosen.own.mean() - 2 / a * across @ weights + weights @ mixed / a**2), 0.0)
        )
        if not norm > 0:
            return np.zeros(len(BETS))
        limit = float((across - mixed / a).max()) / a / norm + self.radius(eps)
        seen, told = ((own - half.seen @ weights / a) / norm for own, half in _pairs(chosen, rows))
        # As large as suits the rows that chose, so that it does not depend on those it is made on.
        sizes = BETS / (math.sqrt(len(told)) * max(float(seen.std()), _LEAST_SPREAD))
        sizes = np.minimum(sizes, MOST / (math.sqrt(self.bound) + abs(limit)))
        found: FloatArray = np.log1p(sizes[:, None] * (told - limit)).sum(axis=1)
        return found


def _pairs(chosen: Half, rows: Half) -> tuple[tuple[FloatArray, Half], tuple[FloatArray, Half]]:
    """Return the mean kernel values with the rows that choose: of these themselves, and of the others."""
    return (chosen.own, chosen), (rows.met, rows)
