"""How a stream of tests spends what may go wrong: their levels, and the alarm line of their evidence.

Three ways. A `Budget` of false alarms per time gives every test the same level. `Ever` bounds the
probability that there is ever a false alarm, and `Discoveries` the expected share of false ones among all
alarms. None of them asks how the tests depend on each other: all batches share the error of one reference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np

from nammd.data.arrays import FloatArray


class Rate(Protocol):
    """What may go wrong in a stream of tests."""

    @property
    def line(self) -> float:
        """How large the evidence of the stream has to be for an alarm."""

    def levels(self, pvalues: Sequence[float]) -> list[float]:
        """Return the level of every test, in the order in which they were made; NaN is no rejection."""

    def fresh(self, test: int) -> float:
        """Return the logarithm of the evidence that a change which begins at this test starts with."""

    def entry(self, evidence: FloatArray, test: int) -> FloatArray:
        """Return the logarithm of what the factor of a test multiplies, from that of the evidence so far."""


@dataclass(frozen=True)
class Budget:
    """At most so many false alarms are expected for each test, whatever the number of tests.

    Attributes
    ----------
    level : float
        The level of every test: the false alarms a year that are acceptable, over the tests a year.
    """

    level: float

    @property
    def line(self) -> float:
        """The evidence of an alarm: so many tests pass on average until a false one."""
        return 1 / self.level

    def levels(self, pvalues: Sequence[float]) -> list[float]:
        """Return the level of every test, which is always the same."""
        return [self.level] * len(pvalues)

    def fresh(self, test: int) -> float:
        """Return the logarithm of one."""
        return 0.0

    def entry(self, evidence: FloatArray, test: int) -> FloatArray:
        """Return the evidence, or one where it has fallen below: a change may begin at any test."""
        return np.maximum(evidence, 0.0)


@dataclass(frozen=True)
class Ever:
    """There is ever a false alarm with at most this probability: the level is spent over all tests to come.

    Attributes
    ----------
    level : float
        The probability.
    """

    level: float

    @property
    def line(self) -> float:
        """The evidence of an alarm, by Ville's inequality."""
        return 1 / self.level

    def levels(self, pvalues: Sequence[float]) -> list[float]:
        """Return the level of every test: its share, by Bonferroni's inequality."""
        return [self.level * share(test) for test in range(1, len(pvalues) + 1)]

    def fresh(self, test: int) -> float:
        """Return the logarithm of the share of the changes that begin at this test."""
        return math.log(share(test))

    def entry(self, evidence: FloatArray, test: int) -> FloatArray:
        """Return the evidence and the share of the changes that begin at this test."""
        added: FloatArray = np.logaddexp(evidence, self.fresh(test))
        return added


@dataclass(frozen=True)
class Discoveries(Ever):
    """Of all alarms at most this share is expected to be false: LOND, for tests that depend in any way.

    Test t has the level ``level * share(t) / (1 + 1/2 + ... + 1/t)`` times one more than the alarms before it
    (Javanmard and Montanari, Online rules for control of false discovery rate and false discovery exceedance,
    Annals of Statistics 46, 2018). The evidence of the stream is spent as `Ever` does it.
    """

    def levels(self, pvalues: Sequence[float]) -> list[float]:
        """Return the level of every test: the larger, the more of those before it have been rejected."""
        harmonic = accumulate(1 / test for test in range(1, len(pvalues) + 1))
        found: list[float] = []
        rejected = 0
        for test, (pvalue, correction) in enumerate(zip(pvalues, harmonic, strict=True), start=1):
            found.append(self.level * share(test) / correction * (rejected + 1))
            rejected += pvalue <= found[-1]
        return found


def share(test: int) -> float:
    """Return the share of a level that a test gets, so that those of all tests to come add up to one.

    >>> round(sum(share(test) for test in range(1, 1000)) + 1 / math.log2(1001), 12)
    1.0
    """
    # log2((t + 2) / (t + 1)) / (log2(t + 1) log2(t + 2)): the difference of two neighbours, without
    # cancellation.
    return math.log1p(1 / (test + 1)) / math.log(2) / (math.log2(test + 1) * math.log2(test + 2))
