"""What the statistics ask of a pair of samples, however it is known: the protocol `Evidence`."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from nammd.engines.sums import KernelSums
from nammd.errors.advice import Caution
from nammd.statistics.moments import Moments
from nammd.statistics.skewness import HigherOrder
from nammd.statistics.spread import Spread
from nammd.statistics.standing import SampleTerms, SeenFromX

Terms: TypeAlias = tuple[SampleTerms, SampleTerms, float, SeenFromX]
"""The terms of x and of y, how they meet, and what is kept of the rows of x."""


class Measured(Protocol):
    """What the tests ask of two samples: moments, and how the rows take part."""

    @property
    def moments(self) -> Moments:
        """The first and second moments."""

    @property
    def higher_order(self) -> HigherOrder:
        """What is of higher order than the variance."""

    @property
    def spread(self) -> Spread | None:
        """How the distance varies over random frequencies, where the kernel is approximated by some."""

    @property
    def alike(self) -> tuple[bool, bool]:
        """Whether all rows of x are equal, and all rows of y."""

    @property
    def obstacle(self) -> Caution | None:
        """Why there is nothing to test with, whatever the numbers; None where there is."""

    def terms(self, slope: float, scale: float, normed: bool) -> Terms:
        """Return how the rows take part in a distance of that slope and scale; see `Standing`."""


class Evidence(Measured, Protocol):
    """What a pair of samples is known from: sums of kernel values over their rows, or two sketches."""

    @property
    def x(self) -> Any:
        """The first sample."""

    @property
    def y(self) -> Any:
        """The second sample."""

    @property
    def sums(self) -> KernelSums:
        """The sums for every row; a ValueError where no rows are known."""

    @property
    def computed_by(self) -> str:
        """Which engine computed it."""

    @property
    def approximation(self) -> str:
        """What the kernel was approximated by, in words; empty where it is exact."""

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know before relying on it."""
