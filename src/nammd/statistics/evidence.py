"""What the statistics ask of a pair of samples, however it is known: the protocol `Evidence`."""

from __future__ import annotations

from typing import Any, Protocol

from nammd.data.advice import Caution
from nammd.engines.sums import KernelSums
from nammd.statistics.moments import Moments
from nammd.statistics.skewness import HigherOrder
from nammd.statistics.spread import Spread


class CrossMeans(Protocol):
    """How similar every row of x is to the rows of y, on average; its numbers, or how they vary."""

    def covariance(self, other: Any) -> float:
        """Return the covariance, over the rows of x, with the means to another y."""


class Evidence(Protocol):
    """What a pair of samples is known from: sums of kernel values over their rows, or two sketches."""

    @property
    def x(self) -> Any:
        """The first sample."""

    @property
    def y(self) -> Any:
        """The second sample."""

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
    def constant(self) -> bool:
        """Whether each sample is one row repeated."""

    @property
    def cross_means(self) -> CrossMeans:
        """How x sees y, row by row: what another pair on the same x varies together with."""

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
