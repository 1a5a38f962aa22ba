"""The nearest row of a reference, for many rows: all that are very near, or how far some of them are.

Rows that are nearer than a small radius are found by a k-d tree, in about linear time: nearly every branch is
farther away than that. Of many columns the tree has a projection. How far the nearest row is, wherever it may
be, takes all pairs; that is done for some rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.repeats import row_keys
from nammd.data.sampling import sample_positions

WORK = 1 << 33
"""So many products are taken at most to find the nearest rows of some."""

MOST = 2000
"""And of so many rows at most."""

USUAL, TENTH = 400, 10
"""So many rows tell how far the tenth nearest is: rows may have a few copies in the reference itself."""

_BLOCK = 1 << 24
_SMALLEST = 1e-150
_MOST_COLUMNS, _PROJECTED = 32, 16


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The rows of a reference that others are near to.

    Attributes
    ----------
    rows : array of shape (rows, columns)
        The different ones of them.
    first : array of int
        Where each is in the reference; of rows that are there several times, the first.
    repeated : array of bool
        Whether it is there several times.
    which : array of int
        Which of them each row of the reference is.
    """

    rows: FloatArray
    first: NDArray[np.intp]
    repeated: NDArray[np.bool_]
    which: NDArray[np.intp]

    @classmethod
    def of(cls, points: FloatArray) -> Neighbourhood:
        """Take the rows of a reference."""
        keys = row_keys(points)
        assert keys is not None
        _, first, which, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        rows = np.ascontiguousarray(points[first], dtype=np.float64)
        return cls(rows, first, counts > 1, which.reshape(-1))

    def within(self, points: FloatArray, radius: float) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return how far the nearest row is and where, for each point; infinity and -1 beyond a radius.

        >>> import numpy as np
        >>> known = Neighbourhood.of(np.array([[0.0, 0.0], [3.0, 4.0]]))
        >>> known.within(np.array([[3.0, 4.1], [1.0, 1.0]]), 0.2)[1]
        array([ 1, -1])
        """
        from scipy.spatial import cKDTree

        if self.rows.shape[1] > _MOST_COLUMNS:
            return self._within_of_many_columns(np.asarray(points, np.float64), radius)
        tree = cKDTree(self.rows, balanced_tree=False, compact_nodes=False)
        # A row at the radius itself is within; a radius of zero is one whose square is a number.
        reach = max(np.nextafter(radius, np.inf), _SMALLEST)
        far, where = tree.query(np.asarray(points, np.float64), distance_upper_bound=reach)
        places = np.append(self.first, -1)
        return np.asarray(far, np.float64), places[where]

    def _within_of_many_columns(
        self, points: FloatArray, radius: float
    ) -> tuple[FloatArray, NDArray[np.intp]]:
        """Look in a projection, in which nothing is farther apart, and then at what was found there."""
        from scipy.spatial import cKDTree

        columns = self.rows.shape[1]
        axes, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((columns, _PROJECTED)))
        known, asked = self.rows @ axes, points @ axes
        rounding = 1e-12 * float(np.abs(self.rows).max(initial=0.0)) * columns
        tree = cKDTree(known, balanced_tree=False, compact_nodes=False)
        lists = tree.query_ball_point(asked, radius * (1 + 1e-9) + rounding)
        far, where = np.full(len(points), np.inf), np.full(len(points), -1, np.intp)
        for row in np.flatnonzero([len(each) > 0 for each in lists]):
            apart = np.sqrt(np.sum((self.rows[lists[row]] - points[row]) ** 2, axis=1))
            nearest = int(apart.argmin())
            if apart[nearest] <= radius:
                far[row], where[row] = apart[nearest], self.first[lists[row][nearest]]
        return far, where

    def nearest(self, points: FloatArray, itself: NDArray[np.intp] | None = None) -> FloatArray:
        """Return how far the nearest row is from each point, `itself` apart where it is one of them."""
        centre = self.rows.mean(axis=0)
        known = self.rows - centre
        squares = np.einsum("ij,ij->i", known, known)
        asked = np.asarray(points, np.float64) - centre
        found = np.empty(len(asked))
        step = max(_BLOCK // len(known), 1)
        for start in range(0, len(asked), step):
            rows = slice(start, min(start + step, len(asked)))
            apart = squares - 2.0 * (asked[rows] @ known.T)
            if itself is not None:
                apart[np.arange(len(apart)), itself[rows]] = np.inf
            # Squares of small differences are lost in such sums, so the nearest row is looked at once more.
            near = known[apart.argmin(axis=1)]
            found[rows] = np.sqrt(np.sum((asked[rows] - near) ** 2, axis=1))
        if itself is not None:
            found[self.repeated[itself]] = 0.0
        return found

    def usual(self, rng: np.random.Generator) -> float:
        """Return how far different rows are from the tenth nearest of them, at the median; 0 for one row."""
        if len(self.rows) < 2:
            return 0.0
        from scipy.spatial.distance import cdist

        some = self.rows[self.some(len(self.rows), rng, USUAL)]
        step = max(_BLOCK // len(self.rows), 1)
        tenth = min(TENTH, len(self.rows) - 1)  # the nearest of all is the row itself
        blocks = (cdist(some[start : start + step], self.rows) for start in range(0, len(some), step))
        return float(np.median(np.concatenate([np.partition(far, tenth)[:, tenth] for far in blocks])))

    def twins(self, radius: float, rng: np.random.Generator) -> float:
        """Return the share of the rows of the reference with another one within a radius, by some of them."""
        some = self.which[self.some(len(self.which), rng)]
        return float(np.mean(self.nearest(self.rows[some], itself=some) <= radius))

    def some(self, count: int, rng: np.random.Generator, most: int = MOST) -> NDArray[np.intp]:
        """Return the positions of as many of so many points as may be looked at, drawn at random."""
        allowed = max(min(most, WORK // max(self.rows.size, 1)), 20)
        return sample_positions(count, allowed, int(rng.integers(1 << 31)))
