"""Robust summaries of one column in one dataset, of all rows: `NumberSummary` and `LabelSummary`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.sampling import sample_positions
from nammd.data.values import Values
from nammd.encoding.hashed_text import words_of
from nammd.views.counts import Counts, NumberCounts
from nammd.views.measure import Measure

_ALMOST_ALL = 0.995

MOST_TEXTS = 20_000
"""Of so many texts the words are counted."""


@dataclass(frozen=True, eq=False)
class NumberSummary:
    """A column of numbers or times.

    Attributes
    ----------
    points, rows : array
        The values that occur, in ascending order, and how many rows have each.
    missing : float
        The share of the rows without a value.
    exact : bool
        Whether the values are those of the data; else they are points of a fine lattice.
    clock : str
        Of times: what their seconds count from.
    """

    points: FloatArray = field(repr=False)
    rows: FloatArray = field(repr=False)
    missing: float
    exact: bool = True
    clock: str = ""

    @cached_property
    def present(self) -> float:
        """The number of rows with a value."""
        return float(self.rows.sum())

    @cached_property
    def _reached(self) -> FloatArray:
        reached: FloatArray = np.cumsum(self.rows)
        return reached

    def quantile(self, share: float) -> float:
        """Return a quantile: half-way between two values where it lies between them."""
        target = share * self.present
        low = int(self._reached.searchsorted(target * (1 - 1e-12)))
        high = int(self._reached.searchsorted(target * (1 + 1e-12), side="right"))
        last = len(self.points) - 1
        return float(self.points[min(low, last)] / 2 + self.points[min(high, last)] / 2)

    @cached_property
    def median(self) -> float:
        """The median."""
        return self.quantile(0.5)

    @cached_property
    def middle(self) -> tuple[float, float]:
        """Where the middle half of the values lies."""
        return self.quantile(0.25), self.quantile(0.75)

    @property
    def low(self) -> float:
        """The smallest value."""
        return float(self.points[0])

    @property
    def high(self) -> float:
        """The largest value."""
        return float(self.points[-1])

    def share_of(self, value: float) -> float:
        """Return the share of the values that are equal to one."""
        at = int(np.searchsorted(self.points, value))
        return (
            float(self.rows[at]) / self.present if at < len(self.points) and self.points[at] == value else 0.0
        )

    def share_above(self, value: float) -> float:
        """Return the share of the values that are larger than one."""
        at = int(np.searchsorted(self.points, value, side="right"))
        return float(self.rows[at:].sum()) / self.present

    def share_below(self, value: float) -> float:
        """Return the share of the values that are smaller than one."""
        at = int(np.searchsorted(self.points, value))
        return float(self.rows[:at].sum()) / self.present

    @cached_property
    def commonest(self) -> tuple[float, float]:
        """The commonest value, and its share."""
        at = int(np.argmax(self.rows))
        return float(self.points[at]), float(self.rows[at]) / self.present

    def share_of_multiples(self, step: float) -> float:
        """Return the share of the values that are multiples of a step."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond all numbers is no multiple
            steps = self.points / step
            near = np.abs(steps - np.rint(steps)) <= 1e-6
        return float(self.rows[near].sum()) / self.present

    def only_multiples(self, step: float) -> bool:
        """Tell whether nearly all values are multiples of a step."""
        return self.exact and self.share_of_multiples(step) >= _ALMOST_ALL


@dataclass(frozen=True, eq=False)
class LabelSummary:
    """A column of labels.

    Attributes
    ----------
    shares : mapping of str to float
        The share of the rows that each label has.
    missing : float
        The share of the rows without one.
    """

    shares: Mapping[str, float] = field(repr=False)
    missing: float


@dataclass(frozen=True, eq=False)
class WordSummary(LabelSummary):
    """A column of free text: which share of the texts has each word; they do not add up to 1.

    Attributes
    ----------
    texts : int
        The number of texts that were looked at.
    """

    texts: int = 0


Summary: TypeAlias = NumberSummary | LabelSummary


def summary_of_values(values: Values, labels: bool = False) -> Summary:
    """Summarise the values of a column, all rows; `labels`: of labels, also where all are missing."""
    total = max(len(values.missing), 1)
    missing = float(np.count_nonzero(values.missing)) / total
    if values.codes is None and labels:
        return LabelSummary({}, missing)
    if values.codes is not None:
        counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
        shares = {n: c / total for n, c in zip(values.categories, counts.tolist(), strict=True) if c}
        return LabelSummary(shares, missing)
    numbers = np.empty(0) if values.numbers is None else values.numbers[~values.missing]
    points, rows = np.unique(numbers, return_counts=True)
    return NumberSummary(points, rows.astype(np.float64), missing, clock=values.clock)


def summary_of_words(values: Values) -> WordSummary:
    """Count in how many texts each word is; of very many texts, in some that are drawn."""
    missing = float(np.count_nonzero(values.missing)) / max(len(values.missing), 1)
    if values.codes is None:
        return WordSummary({}, missing)
    there = np.flatnonzero(values.codes >= 0)
    codes = values.codes[there[sample_positions(len(there), MOST_TEXTS, 0)]]
    different, times = np.unique(codes, return_counts=True)
    rows = Counter[str]()
    for code, count in zip(different.tolist(), times.tolist(), strict=True):
        for word in set(words_of(values.categories[code])):
            rows[word] += count
    return WordSummary({word: n / len(codes) for word, n in rows.items()}, missing, len(codes))


def summary_of_counts(counts: Counts, measure: Measure) -> Summary:
    """Summarise a column whose rows are not at hand: by its counts, to a small part of its spread."""
    if isinstance(counts, NumberCounts):
        return summary_of_numbers(counts, measure)
    total = max(counts.size, 1)
    shares = {label: rows / total for label, rows in counts.rows.items()}
    return LabelSummary(shares, counts.missing / total)


def summary_of_numbers(counts: NumberCounts, measure: Measure) -> NumberSummary:
    """Return the same of a column of numbers."""
    points, missing = measure.values(counts.places), counts.missing / max(counts.size, 1)
    return NumberSummary(points, counts.rows, missing, counts.exact, measure.clock)
