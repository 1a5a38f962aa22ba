"""Two distributions over the same finitely many points: `DiscretePair` and `discrete_pair`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray, to_numpy
from nammd.data.opening import numeric_arrays
from nammd.errors.checks import whole
from nammd.kernels import as_kernel

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class DiscretePair:
    """Two distributions over one finite support.

    Parameters
    ----------
    support : array of shape (k, d)
        The points, all different.
    p, q : array of shape (k,)
        The probability of each point under P and under Q.

    Examples
    --------
    >>> from nammd.datasets import DiscretePair
    >>> pair = DiscretePair([[0.0], [1.0], [2.0]], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5])
    >>> pair.total_variation
    0.5
    >>> x, y = pair.sample(100, rng=0)
    >>> x.shape, bool((x == 2).any())
    ((100, 1), False)
    """

    support: FloatArray
    p: FloatArray
    q: FloatArray

    def __post_init__(self) -> None:
        points = support_points(self.support)
        object.__setattr__(self, "support", points)
        for name in ("p", "q"):
            object.__setattr__(self, name, _probabilities(getattr(self, name), name, len(points)))

    @property
    def total_variation(self) -> float:
        """The total variation of P and Q: half the sum of the absolute differences."""
        return float(np.abs(self.p - self.q).sum() / 2)

    def nammd(self, kernel: Any) -> float:
        """Return the exact NAMMD of P and Q.

        Parameters
        ----------
        kernel : Kernel
            The kernel.

        Returns
        -------
        float

        Examples
        --------
        >>> import nammd
        >>> from nammd.datasets import discrete_pair
        >>> pair = discrete_pair(10, 0.2, rng=0)
        >>> round(pair.nammd(nammd.Gaussian(0.1)), 4)  # no two points are similar: only weights count
        0.0042
        """
        checked = as_kernel(kernel)
        gram = to_numpy(checked(self.support, self.support))
        px, qy = gram @ self.p, gram @ self.q
        p_norm, q_norm, cross = float(self.p @ px), float(self.q @ qy), float(self.p @ qy)
        return (p_norm + q_norm - 2 * cross) / (4 * checked.bound - p_norm - q_norm)

    def sample(self, m: int, n: int | None = None, *, rng: Any = None) -> tuple[FloatArray, FloatArray]:
        """Draw from both distributions, with replacement.

        Parameters
        ----------
        m, n : int
            The numbers of rows from P and from Q; n is m by default.
        rng : int, numpy.random.Generator or None
            Generator.

        Returns
        -------
        x, y : array of shape (m, d) and (n, d)
            Rows of the support.
        """
        m, n = whole(m, "m"), whole(m if n is None else n, "n")
        generator = np.random.default_rng(rng)
        points = len(self.support)
        x = generator.choice(points, m, p=self.p)
        y = generator.choice(points, n, p=self.q)
        return self.support[x], self.support[y]


def discrete_pair(support: Any, total_variation: float, *, rng: Any = None) -> DiscretePair:
    """Make the uniform distribution over points, and another at a given total variation from it.

    The points are split at random into two halves. Q gives more than 1/k to every point of one half
    and less than 1/k to every point of the other, by equal amounts within a half.

    Parameters
    ----------
    support : int or array of shape (k, d)
        The points, or their number: then they are 0, 1, ..., k - 1.
    total_variation : float
        The total variation of the two distributions, from 0 to 1 - 1/k. Above 1/2 (for even k) a
        half does not hold enough probability to take away; then as many points as it needs are
        lowered.
    rng : int, numpy.random.Generator or None
        Generator for the split.

    Returns
    -------
    DiscretePair
        With P uniform.

    Notes
    -----
    This is the construction of the paper [1]_ with one difference in what the number means. There,
    every probability moves by e'/k and e' is called the total variation, but half of the sum of the
    absolute differences is then e'/2. Here the number given is the total variation itself: for the
    pairs of the paper's tables at e', give ``e' / 2``.

    References
    ----------
    .. [1] The NAMMD paper, appendix "Details of Experiments with Distributions over Identical Domain".

    Examples
    --------
    >>> from nammd.datasets import discrete_pair
    >>> pair = discrete_pair(4, 0.25, rng=0)
    >>> sorted(pair.q.tolist())
    [0.125, 0.125, 0.375, 0.375]
    >>> pair.total_variation
    0.25
    """
    points = support_points(support)
    k = len(points)
    moved = float(total_variation)
    largest = 1 - 1 / k
    if not 0 <= moved <= largest + 1e-12:
        raise ValueError(
            f"total_variation must be between 0 and {largest:g}, not {moved:g}: from the uniform "
            f"distribution over {k} points nothing is farther away"
        )
    # A point can lose no more than 1/k; the small number keeps a rounded product from costing a point.
    fewest = math.ceil(moved * k - 1e-9)
    lowered = min(max(k // 2, fewest), k - 1)
    change = np.full(k, moved / (k - lowered))
    change[:lowered] = -moved / lowered
    uniform = np.full(k, 1 / k)
    q = np.maximum(uniform + np.random.default_rng(rng).permutation(change), 0.0)
    return DiscretePair(points, uniform, q)


def support_points(support: Any) -> FloatArray:
    """Return a support as different points, one per row; a whole number k stands for 0 to k - 1."""
    if isinstance(support, (int, np.integer)):
        return np.arange(whole(support, "support", 2), dtype=np.float64)[:, None]
    [points] = numeric_arrays(support=support)
    if len(points) < 2:
        raise ValueError("support has one point; at least 2 are needed")
    if len(np.unique(points, axis=0)) < len(points):
        raise ValueError("support has equal points; give every point once, for example by numpy.unique")
    return points


def _probabilities(values: Any, name: str, points: int) -> FloatArray:
    weights = np.array(values, dtype=np.float64)
    if weights.shape != (points,):
        raise ValueError(f"{name} has shape {weights.shape}; the support has {points} points")
    if not (weights >= 0).all() or not abs(weights.sum() - 1) <= _SUM_TOLERANCE:
        raise ValueError(f"{name} must be probabilities: not negative, and 1 in sum")
    normalised: FloatArray = weights / weights.sum()
    return normalised
