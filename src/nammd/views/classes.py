"""How a column is cut into a few classes, for looking at two columns together: `Classes`.

Numbers are cut into classes of equally many rows of *each sample*, so that no monotone change of a column
alone changes how it goes together with others. Where single values have many rows, no cut could do that, and
the cuts are those of the reference. Of labels the commonest are classes. Missing values are a class of their
own, the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.values import Values
from nammd.encoding.columns import row_blocks
from nammd.statistics.tails import normal_scores
from nammd.views.measure import Measure
from nammd.views.support import APART

Codes: TypeAlias = NDArray[np.uint8]
"""The class of every row."""

MOST = 16
"""So many classes has a column at most, beside that of missing values."""

_WIDTH = 1.5
"""The bandwidth of numbers, in normal scores."""

_KEPT = 1e-3
"""Eigenvalues of a centred kernel below this share of the largest are left out."""

_HEAVY = 1.5
"""A value with so many times the rows of a class is too heavy for classes of equally many rows."""

_AT_ONCE = 1 << 18
"""So many numbers of columns with equally many are put into order together."""

_SOME = 20_000
_FEW = 1000
LEVELS = np.arange(1, 2 * MOST) / (2 * MOST)


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one column, from the reference.

    Attributes
    ----------
    measure : Measure
        The column.
    edges : array
        Of numbers: where one class ends and the next begins, in the reference.
    labels : tuple of str
        Of labels: those that are classes; all others are one more.
    ranked : bool
        Whether numbers are cut by their ranks within each sample.
    shares : array
        The share of the reference in every class, missing values last.
    """

    measure: Measure
    edges: FloatArray = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    ranked: bool
    shares: FloatArray = field(repr=False)

    @classmethod
    def of(cls, columns: Sequence[tuple[Measure, Values]]) -> list[tuple[Classes, Codes, FloatArray]]:
        """Cut columns of the reference; return also what `cut` does of each."""
        numbers = [k for k, (measure, _) in enumerate(columns) if measure.counted == "numbers"]
        edges_of = dict(zip(numbers, _edges([_present(columns[k][1]) for k in numbers]), strict=True))
        found = []
        for k, (measure, values) in enumerate(columns):
            edges, quantiles = edges_of.get(k, (np.empty(0), np.empty(0)))
            labels = () if k in edges_of else _commonest(values)
            made = cls(measure, edges, labels, len(quantiles) > 0, np.empty(0))
            codes = made._between(values, edges) if made.ordered else made._labelled(values)
            rows = np.bincount(codes, minlength=made.count + 1)
            found.append((made.with_rows(rows), codes, quantiles))
        return found

    @classmethod
    def between(cls, measure: Measure, edges: FloatArray, quantiles: FloatArray) -> Classes:
        """Return the classes of numbers between some edges, of which no rows are known yet."""
        return cls(measure, edges, (), len(quantiles) > 0, np.empty(0))

    def with_rows(self, rows: NDArray[Any]) -> Classes:
        """Return the same, given how many rows of the reference are in every class."""
        return replace(self, shares=rows / max(rows.sum(), 1))

    @property
    def ordered(self) -> bool:
        """Whether the classes have an order: of numbers."""
        return self.measure.counted == "numbers"

    @cached_property
    def count(self) -> int:
        """The number of classes, without that of missing values."""
        return 1 + (len(self.edges) if self.ordered else len(self.labels))

    @cached_property
    def shape(self) -> tuple[int, int, bool]:
        """For how many classes and features there is room, and whether the classes are ranks.

        With a few rooms more columns are of one shape, and classes without rows and features that are zero
        add nothing.
        """
        classes, features = self.own_features.shape
        return _room(classes - 1) + 1, _room(features), self.ranked

    @staticmethod
    def cut(columns: Sequence[tuple[Classes, Values]]) -> list[tuple[Codes, FloatArray]]:
        """Return the class of every row of columns of a sample, and quantiles where ranks are the classes."""
        ranked = [k for k, (made, _) in enumerate(columns) if made.ranked]
        quantiles_of = dict(zip(ranked, _quantiles([_present(columns[k][1]) for k in ranked]), strict=True))
        found = []
        for k, (made, values) in enumerate(columns):
            quantiles = quantiles_of.get(k, np.empty(0))
            edges = quantiles[1::2] if made.ranked else made.edges
            codes = made._between(values, edges) if made.ordered else made._labelled(values)
            found.append((codes, quantiles))
        return found

    def _labelled(self, values: Values) -> Codes:
        place = {label: k for k, label in enumerate(self.labels)}
        other = self.count - 1
        places = [*(place.get(label, other) for label in values.categories), self.count]
        codes = np.full(len(values.missing), -1) if values.codes is None else values.codes
        return np.array(places, dtype=np.uint8)[codes]

    def _between(self, values: Values, edges: FloatArray) -> Codes:
        numbers = np.full(len(values.missing), np.nan) if values.numbers is None else values.numbers
        found = np.empty(len(numbers), dtype=np.uint8)
        for rows in row_blocks(len(numbers)):
            found[rows] = np.searchsorted(edges, numbers[rows], side="right")
        found[values.missing] = self.count
        return found

    @cached_property
    def _features(self) -> _Features:
        return _features_of(self.ordered, self.shares.tobytes())

    @property
    def own_features(self) -> FloatArray:
        """The features of all classes."""
        return self._features.own

    @property
    def spread(self) -> float:
        """The size of the covariance of the column with itself: the unit of relations."""
        return self._features.spread

    def mixed_features(self, quantiles: FloatArray, others: list[tuple[float, FloatArray]]) -> FloatArray:
        """Return the features of a sample's ranks at those within a mixture of samples.

        Parameters
        ----------
        quantiles : array
            Those of the sample.
        others : list of (float, array)
            The share of every sample of the mixture, and its quantiles.
        """
        middles = quantiles[::2]
        ranks = np.zeros(len(middles))
        half = LEVELS[0] / 2
        for share, theirs in others:
            ranks += share * np.interp(middles, theirs, LEVELS, left=half, right=1 - half)
        return self._features.at(normal_scores(ranks))


@dataclass(frozen=True, eq=False)
class _Features:
    """The features of classes, given the share of the reference in each, missing values last."""

    ordered: bool
    shares: FloatArray

    @cached_property
    def _scores(self) -> FloatArray:
        """The normal scores of the middle ranks of the classes."""
        shares = self.shares[:-1] + 1e-9
        found: FloatArray = normal_scores((np.cumsum(shares) - shares / 2) / shares.sum())
        return found

    def _kernel(self, scores: FloatArray | None = None) -> FloatArray:
        """Return the kernel of some classes, by default all of them, with all of them."""
        if not self.ordered:
            alike: FloatArray = APART + (1 - APART) * np.eye(len(self.shares))
            return alike
        own = np.append(self._scores, 0.0)  # a missing value is at the median, and one unit apart from it
        places = own if scores is None else np.append(scores, 0.0)
        apart = (places[:, None] - own) ** 2
        apart[:-1, -1] += 1.0
        apart[-1, :-1] += 1.0
        found: FloatArray = np.exp(-apart / (2 * _WIDTH**2))
        return found

    @cached_property
    def _projection(self) -> tuple[FloatArray, FloatArray, float]:
        """What centres a kernel, and turns it into features."""
        kernel, shares = self._kernel(), self.shares
        mean = shares @ kernel
        centred = kernel - mean - (kernel @ shares)[:, None] + float(mean @ shares)
        root = np.sqrt(shares + 1e-6)
        values, vectors = np.linalg.eigh(np.outer(root, root) * centred)
        kept = values > _KEPT * values[-1]
        return mean, vectors[:, kept] * root[:, None] / np.sqrt(values[kept]), float(mean @ shares)

    def at(self, scores: FloatArray | None = None) -> FloatArray:
        """Return the features of all classes, or of classes that are at other scores."""
        kernel = self._kernel(scores)
        mean, projection, middle = self._projection
        found: FloatArray = (kernel - mean - (kernel @ self.shares)[:, None] + middle) @ projection
        return found

    @cached_property
    def own(self) -> FloatArray:
        """The features of all classes."""
        return self.at()

    @cached_property
    def spread(self) -> float:
        """The size of the covariance of the column with itself."""
        mean = self.shares @ self.own
        covariance = (self.own.T * self.shares) @ self.own - np.outer(mean, mean)
        return float(np.sqrt((covariance**2).sum()))


@lru_cache(maxsize=4096)  # very many columns have classes of equally many rows
def _features_of(ordered: bool, shares: bytes) -> _Features:
    return _Features(ordered, np.frombuffer(shares))


def _room(count: int) -> int:
    return min(room for room in (4, 8, MOST) if room >= count)


def _present(values: Values) -> FloatArray:
    if values.numbers is None:
        return np.empty(0)
    found: FloatArray = values.numbers[~values.missing] if values.missing.any() else values.numbers
    return found


def _alike(columns: Sequence[FloatArray]) -> Iterator[tuple[list[int], FloatArray]]:
    """Yield columns with equally many numbers as the rows of matrices, some at a time: which, and these."""
    alike: dict[int, list[int]] = {}
    for k, column in enumerate(columns):
        alike.setdefault(len(column), []).append(k)
    for size, which in alike.items():
        step = max(_AT_ONCE // max(size, 1), 1)
        for start in range(0, len(which), step):
            some = which[start : start + step]
            yield some, np.stack([columns[k] for k in some]) if len(some) > 1 else columns[some[0]][None]


def _edges(columns: Sequence[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
    """Return where columns of numbers are cut, and their quantiles where classes can be ranks."""
    found = [(np.empty(0), np.empty(0))] * len(columns)
    many = list[tuple[int, bool]]()
    for which, numbers in _alike([column[:: looked_at_every(len(column))] for column in columns]):
        if not numbers.size:
            continue
        ordered = np.sort(numbers, axis=1)
        place, new = np.arange(numbers.shape[1]), np.ones(numbers.shape, dtype=bool)
        new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        most = (place - np.maximum.accumulate(np.where(new, place, 0), axis=1)).max(axis=1) + 1
        with_heavy, different = most > heavy(numbers.shape[1]), np.count_nonzero(new, axis=1)
        for row, k in enumerate(which):
            points = ordered[row, new[row]] if different[row] <= MOST else None
            if points is not None and len(columns[k]) > numbers.shape[1]:
                points = np.unique(columns[k])
            if points is not None and len(points) <= MOST:
                found[k] = (points[1:] + points[:-1]) / 2, np.empty(0)
            else:
                many.append((k, bool(with_heavy[row])))
    quantiles = _quantiles([columns[k] for k, _ in many])
    for (k, one), own in zip(many, quantiles, strict=True):
        found[k] = edges_at(own, one)
    return found


def looked_at_every(rows: int) -> int:
    """Return that of so many rows every which one is looked at for values that many rows have."""
    return max(rows // _SOME, 1)


def heavy(rows: int) -> float:
    """Return with how many of so many rows a value is too heavy for classes of equally many rows."""
    return _HEAVY * rows / MOST


def edges_at(quantiles: FloatArray, with_heavy: bool) -> tuple[FloatArray, FloatArray]:
    """Return where numbers with some quantiles are cut, and these where classes can be ranks."""
    if not with_heavy:
        return quantiles[1::2], quantiles
    return np.unique(quantiles[1::2]), np.empty(0)


def quantile_ranks(rows: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the ranks of the values that quantiles follow, and how far beyond them these are."""
    place = LEVELS * (rows - 1)
    left = place.astype(np.intp)
    return left, place - left


def quantiles_between(low: FloatArray, high: FloatArray, part: FloatArray) -> FloatArray:
    """Return quantiles between values of neighbouring ranks."""
    # From the nearer end, so that the result is never beyond the other.
    return np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))


def _quantiles(columns: Sequence[FloatArray]) -> list[FloatArray]:
    """Return what ``numpy.quantile(column, LEVELS)`` does; zeros where there are no numbers."""
    found = [np.zeros(len(LEVELS))] * len(columns)
    for which, numbers in _alike(columns):
        rows = numbers.shape[1]
        if rows > _FEW:  # it need not put all of them into order
            own = np.quantile(numbers, LEVELS, axis=1).T
        elif rows:
            ordered, (left, part) = np.sort(numbers, axis=1), quantile_ranks(rows)
            own = quantiles_between(ordered[:, left], ordered[:, np.minimum(left + 1, rows - 1)], part)
        else:
            continue
        for k, each in zip(which, own, strict=True):
            found[k] = each
    return found


def _commonest(values: Values) -> tuple[str, ...]:
    if values.codes is None:
        return ()
    rows = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
    order = sorted(range(len(rows)), key=lambda k: (-rows[k], values.categories[k]))
    return tuple(values.categories[k] for k in order[: MOST - 1] if rows[k])
