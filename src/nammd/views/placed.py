"""Two samples of one column as a pair, from counts: `pair_of_counts`.

The rows of a sample are not told apart but by their places, so every average over rows is one over places,
weighted by the rows that are there. A row is not compared with itself: its own kernel value, 1, is taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.atom_pair import AtomPair
from nammd.statistics.atoms import Atoms
from nammd.statistics.elementwise import choose, number, of_matrices
from nammd.statistics.pair import Pair
from nammd.views.counts import Counts
from nammd.views.support import Support, support_of

_ACCURACY = 1e-3
"""Of the largest eigenvalue, which only sets how the law near zero is spread."""


_SMALL = 100
"""Up to so many places the operator is a matrix: an iteration would take longer to set up."""


@dataclass(frozen=True, eq=False)
class Beside:
    """Several samples on one support, one in each column of `rows`; see `PlacedSample`.

    Of many columns of a table there is a matrix of rows for each, one after another.
    """

    support: Support
    rows: FloatArray = field(repr=False)

    @cached_property
    def seen(self) -> FloatArray:
        """The sums of the kernel values between each place and all rows of each sample."""
        return _by_samples(self.support.apply(self.rows))

    @cached_property
    def seen_squared(self) -> FloatArray:
        """The same of squared kernel values."""
        return _by_samples(self.support.apply(self.rows, squared=True))


@dataclass(frozen=True, eq=False)
class PlacedSample:
    """One sample on a support, with what belongs to it alone.

    Attributes
    ----------
    support : Support
        The places.
    rows : array
        How many rows are at each.
    among : tuple of Beside and int, optional
        The samples that it was placed with, and its number there: their products are worked out together.
    """

    support: Support
    rows: FloatArray = field(repr=False)
    among: tuple[Beside, int] | None = field(default=None, repr=False)

    @cached_property
    def size(self) -> float:
        """The number of rows."""
        total = self.rows.sum(axis=-1)
        return number(np.rint(total)) if total.ndim else round(float(total))

    @cached_property
    def seen(self) -> FloatArray:
        """The sum of the kernel values between each place and all rows."""
        every, own = self._among
        return every.seen[..., own]

    @cached_property
    def seen_squared(self) -> FloatArray:
        """The same of squared kernel values."""
        every, own = self._among
        return every.seen_squared[..., own]

    @property
    def _among(self) -> tuple[Beside, int]:
        return self.among or (Beside(self.support, self.rows[..., None]), 0)

    @cached_property
    def constant(self) -> bool:
        """Whether all rows are at one place."""
        return choose(np.count_nonzero(self.rows, axis=-1) <= 1, True, False)

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator."""
        if self.constant:
            return 0.0
        support, rows = self.support.around(self.rows)
        shares = rows / self.size
        root = np.sqrt(shares)

        def product(vector: FloatArray) -> FloatArray:
            spread = root * vector.ravel()
            moved = support.apply((spread - shares * spread.sum())[:, None])[:, 0]
            out: FloatArray = root * (moved - float(shares @ moved))
            return out

        size = support.size
        if size <= _SMALL:
            matrix = support.apply(np.eye(size))
            matrix = matrix - (matrix @ shares)[:, None]
            matrix = root[:, None] * (matrix - shares @ matrix) * root
            return max(float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1]), 0.0)
        from scipy.sparse.linalg import LinearOperator, eigsh

        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        start = root * np.random.default_rng(0).standard_normal(size)
        [value] = eigsh(operator, k=1, which="LA", v0=start, tol=_ACCURACY, return_eigenvectors=False)
        return max(float(value), 0.0)


@dataclass(frozen=True, eq=False)
class PlacedOrder:
    """How influences of rows at places meet through the kernel, by all rows; a `SecondOrder`."""

    x: PlacedSample
    y: PlacedSample

    def apart(self) -> PlacedOrder:
        """Return the same: of counts nobody knows which rows are in both samples."""
        return self

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""
        return self.x.eigenvalue, self.y.eigenvalue

    def form(self, side: int, g: FloatArray) -> FloatArray:
        """Return the means of ``g_i k(i, j) g_j`` over pairs of distinct rows of a sample."""
        sample = (self.x, self.y)[side]
        weighted = sample.rows[..., None] * g
        # A row has the kernel value 1 with itself.
        found: FloatArray = weighted.swapaxes(-1, -2) @ (sample.support.apply(weighted) - g)
        return found / of_matrices(sample.size * (sample.size - 1))

    def felt(self, g: FloatArray) -> FloatArray:
        """Return, for every place, the means of ``k(i, j) g_j`` over the rows of y."""
        found: FloatArray = self.y.support.apply(self.y.rows[..., None] * g) / of_matrices(self.y.size)
        return found

    def mean(self, g: FloatArray, felt: FloatArray) -> FloatArray:
        """Return the means over the rows of x of influences times what is felt."""
        weighted = self.x.rows[..., None] * g
        found: FloatArray = weighted.swapaxes(-1, -2) @ felt / of_matrices(self.x.size)
        return found


def pair_of_placed(x: PlacedSample, y: PlacedSample) -> Pair:
    """Return the pair of two samples on one support: places are units that are there several times."""
    atoms = [_atoms(one, other) for one, other in ((x, y), (y, x))]
    squares = number(np.vecdot(x.rows, y.seen_squared))
    meeting = AtomPair((atoms[0], atoms[1]), squares, 1.0, PlacedOrder(x, y))
    return Pair(meeting, alike=(x.constant, y.constant))


def _atoms(sample: PlacedSample, other: PlacedSample) -> Atoms:
    own = sample.seen - 1.0
    return Atoms(
        sizes=1.0,
        own=own,
        other=other.seen,
        own_sized=own,
        other_sized=other.seen,
        squares=number(np.vecdot(sample.rows, sample.seen_squared - 1.0)),
        partners=number(other.size),
        rows=sample.size,
        counts=sample.rows,
    )


def placed(samples: Sequence[Counts]) -> list[PlacedSample]:
    """Return samples of one column on a common support."""
    support = support_of(samples)
    return on_support(support, np.array([support.weights(sample) for sample in samples]).T)


def on_support(support: Support, rows: FloatArray) -> list[PlacedSample]:
    """Return samples whose rows are known for every place of a support, one in each column."""
    every = Beside(support, rows)
    return [PlacedSample(support, rows[..., k], (every, k)) for k in range(rows.shape[-1])]


def _by_samples(seen: FloatArray) -> FloatArray:
    """Return sums so that those of one sample are beside each other in memory."""
    return np.asfortranarray(seen) if seen.ndim == 2 else seen


def pair_of_counts(x: Counts, y: Counts) -> Pair:
    """Return the pair of two samples of one column."""
    return pair_of_placed(*placed([x, y]))
