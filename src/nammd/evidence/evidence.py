"""What a pair of samples is known from: `Evidence`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nammd.data.arrays import FloatArray
from nammd.engines.sums import KernelSums
from nammd.errors.advice import Caution
from nammd.kernels import Kernel
from nammd.statistics.pair import Meeting, Pair, Statistic
from nammd.statistics.spread import Spread

if TYPE_CHECKING:
    from nammd.evidence.rows import Known


class Evidence(ABC):
    """What two samples are known from: sums over their rows, or totals that were kept.

    Attributes
    ----------
    x, y : samples
        The samples.
    computed_by : str
        Which engine computed it.
    approximation : str
        What the kernel was approximated by, in words; empty where it is exact.
    spread : Spread or None
        How the distance varies over random frequencies, where the kernel is approximated by some.
    """

    x: Any
    y: Any
    computed_by: str
    approximation: str = ""
    spread: Spread | None = None

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        kernel: Kernel = self.x.space.kernel
        return kernel

    @property
    @abstractmethod
    def meeting(self) -> Meeting:
        """The two samples, as the statistics see them."""

    @property
    @abstractmethod
    def obstacle(self) -> Caution | None:
        """Why there is nothing to test with, whatever the numbers; None where there is."""

    @property
    @abstractmethod
    def cautions(self) -> tuple[Caution, ...]:
        """What to know before relying on it."""

    @property
    @abstractmethod
    def units_used(self) -> tuple[int, int]:
        """How many units of each sample the terms of higher order are averaged over."""

    @property
    def known_x(self) -> Known | None:
        """What is within x, for further pairs with it; None where no rows are known."""
        return None

    @property
    def sums(self) -> KernelSums:
        """The sums for every row; a ValueError where no rows are known."""
        raise ValueError(
            "this distance was made from sketches, which keep no rows: there are no values for single rows, "
            "no data and no report; compare the data themselves for those"
        )

    def pair(self, statistic: Statistic = "nammd") -> Pair:
        """Return the pair, read as one of the two statistics; always the same one."""
        if statistic not in self._pairs:
            alike = self.x.constant, self.y.constant
            void = self.obstacle is not None
            self._pairs[statistic] = Pair(self.meeting, statistic, alike, self.spread, void)
        return self._pairs[statistic]

    @cached_property
    def _pairs(self) -> dict[Statistic, Pair]:
        return {}

    @property
    def mean_features(self) -> tuple[FloatArray, FloatArray] | None:
        """The mean features of both samples, where the kernel has some; of each frequency cosine and sine."""
        return None

    def row_influences(self, side: int, slope: float, scale: float) -> FloatArray:
        """Return how far each row of a sample moves a distance; those of a group add up to the group's."""
        raise ValueError("there are no rows: " + str(self.sums))

    def unit_influences(self, side: int, slope: float, scale: float) -> FloatArray:
        """Return how far each unit of a sample moves a distance."""
        return self.row_influences(side, slope, scale)

    # Which rows belong together; nothing where none do.

    def described(self) -> list[tuple[str, str]]:
        """Return the rows of a printed table that say what the groups and weights are."""
        return []

    def options_as_code(self) -> list[str]:
        """Return what was said of the rows, as options of a question in Python."""
        return []

    def summary(self) -> dict[str, Any] | None:
        """Return the same for programs; None where no rows belong together."""
        return None
