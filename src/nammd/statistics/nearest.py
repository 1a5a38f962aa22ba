"""The nearest of all mixtures: its weights, what fitting them costs, and the tests with it, `Nearest`.

See `nammd.statistics.hull` for what the corners of a mixture are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.atoms import Places
from nammd.statistics.margin import Margin, boundary, doubt_at, margin
from nammd.statistics.pair import Alternative, Pair
from nammd.statistics.solving import nonnegative_least_squares
from nammd.statistics.totals import UnitTotals

_NOTHING = 1e-6
"""A smaller weight is none."""


def nearest_weights(inner: FloatArray, across: FloatArray) -> FloatArray:
    """Return the weights, at least zero and of sum one, that minimise ``w'Gw - 2 b'w``.

    Parameters
    ----------
    inner : array of shape (corners, corners)
        G, the inner products of the mean embeddings of corners; as estimates they may be slightly indefinite.
    across : array of shape (corners,)
        b, their inner products with the mean embedding of a candidate.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_weights(np.array([[0.6, 0.2], [0.2, 0.6]]), np.array([0.3, 0.5])).round(3)
    array([0.25, 0.75])
    """
    if len(across) == 1:
        return np.ones(1)
    values, vectors = np.linalg.eigh(inner)
    top = max(float(values[-1]), np.finfo(float).tiny)
    roots = np.sqrt(np.maximum(values, 1e-10 * top))
    matrix, target = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T @ across
    heavy = 1e4 * math.sqrt(top)  # the sum is one: a row of the least squares that outweighs the others
    rows = np.vstack([matrix, np.full(len(across), heavy)])
    found = nonnegative_least_squares(rows, np.append(target, heavy))
    found[found < _NOTHING * found.sum()] = 0.0
    weights: FloatArray = found / found.sum()
    return weights


def fitted_bias(weights: FloatArray, inner: FloatArray, covariance: FloatArray) -> float:
    """Return by how much the squared distance of fitted weights is too small, on average.

    Parameters
    ----------
    weights : array of shape (corners,)
        The weights.
    inner : array of shape (corners, corners)
        The inner products of corners; see `nearest_weights`.
    covariance : array of shape (corners, corners)
        The covariance of ``G w - b``, which is half of the gradient over the weights.
    """
    used = np.flatnonzero(weights)
    if len(used) < 2:
        return 0.0
    directions = np.linalg.svd(np.ones((1, len(used))))[2][1:]  # those that keep the sum
    curvature = directions @ inner[np.ix_(used, used)] @ directions.T
    spread = directions @ covariance[np.ix_(used, used)] @ directions.T
    values, vectors = np.linalg.eigh(curvature)
    noise = np.maximum(np.einsum("ij,ik,kj->j", vectors, spread, vectors), 0.0)
    # Weights are between zero and one: along a direction that hardly curves, that is the end of it.
    limits = np.sqrt(noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(values > 0, np.minimum(noise / values, limits), limits)
    return float(each.sum())


def nearest_totals(
    corners: Sequence[UnitTotals], candidate: UnitTotals
) -> tuple[FloatArray, UnitTotals, float]:
    """Return the mixture that is nearest to a candidate, where units are known by their totals.

    Returns
    -------
    weights : array of shape (corners,)
        How much of each corner there is.
    mixture : UnitTotals
        The totals of the mixture: the corners' own, each scaled.
    bias : float
        By how much the squared distance is too small, on average.
    """
    means = np.column_stack([each.features / each.size for each in corners])
    inner = means.T @ means
    np.fill_diagonal(inner, [each.mean for each in corners])
    other = candidate.features / candidate.size
    weights = nearest_weights(inner, means.T @ other)
    used = np.flatnonzero(weights).tolist()
    every = sum(corners[v].size for v in used)
    parts = [corners[v].scaled(weights[v] * every / corners[v].size) for v in used]
    mixture = parts[0]
    for part in parts[1:]:
        mixture = mixture + part
    covariance = candidate.covariance(means)
    for v in used:
        directions = weights[v] * means
        directions[:, v] += means @ weights - other
        covariance = covariance + corners[v].covariance(directions)
    return weights, mixture, fitted_bias(weights, inner, covariance)


@dataclass(frozen=True, eq=False)
class Nearest:
    """A candidate and the mixture that is nearest to it.

    Attributes
    ----------
    weights : array of shape (corners,)
        How much of each corner there is.
    pair : Pair
        The mixture and the candidate.
    bias : float
        By how much the distance of the fitted mixture is too small, on average; NaN where it is not known,
        and nothing is proven to be within.
    places : array of int, slice or None
        The places of the mixture's units among those of all that was accepted; None where these are told
        apart at no place, or the mixture is the reference alone.
    every : int
        How many units all that was accepted has.
    """

    weights: FloatArray
    pair: Pair
    bias: float = 0.0
    places: Places | slice | None = None
    every: int = 0

    @property
    def value(self) -> float:
        """The distance."""
        return self.pair.value

    def margin_test(self, eps: float, alternative: Alternative) -> Margin:
        """Return the test of a margin."""
        asked = eps - self.bias if alternative == "less" else eps, alternative
        if asked not in self._margins:
            self._margins[asked] = margin(self.pair, asked[0], "corrected", alternative)
        return self._margins[asked]

    def pvalue(self, eps: float, alternative: Alternative) -> float:
        """Return the p-value of "farther than eps" or of "closer"."""
        if alternative == "less" and not eps > self.bias:
            return math.nan if self.pair.void else 1.0
        return self.margin_test(eps, alternative).pvalue(alternative)

    @cached_property
    def _margins(self) -> dict[tuple[float, Alternative], Margin]:
        """The tests that were asked for: what decides of a check is also told and kept of it."""
        return {}

    def interval(self, beyond: float, within: float) -> tuple[float, float]:
        """Return the distances that neither test rejects, "farther" and "closer" at a level each."""
        pair = self.pair
        start = min(max(pair.value, 0.0), pair.largest)

        def doubt(alternative: Alternative, level: float, eps: float) -> float:
            return doubt_at(self.pvalue(eps, alternative), level)

        lower = boundary(partial(doubt, "greater", beyond), start, 0.0, pair.deviation / 2)
        return lower, boundary(partial(doubt, "less", within), start, pair.largest, pair.deviation / 2)
