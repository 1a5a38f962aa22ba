"""The Laplace kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nammd.data.arrays import Array, as_columns
from nammd.errors.checks import positive
from nammd.kernels.bandwidth import MEDIAN_ROWS, median_distance, pooled_rows
from nammd.kernels.base import BoundKernel, Exponential, Kernel, Precision
from nammd.kernels.exponential import bind_cityblock

_EVERYTHING = slice(None)


@dataclass(frozen=True)
class Laplace(Kernel):
    """The Laplace kernel ``exp(-|x - y|_1 / bandwidth)``.

    Its tails are heavier than the Gaussian's, so it keeps an eye on large and on small differences
    at once; it costs more, since a city-block distance is not a matrix product.

    Parameters
    ----------
    bandwidth : float
        The city-block distance at which the kernel falls to 1/e.

    Attributes
    ----------
    bound : float
        The largest value of the kernel, 1.

    Examples
    --------
    >>> import numpy as np
    >>> from nammd import Laplace
    >>> Laplace(2.0)(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])).round(4)
    array([[0.3679]])
    """

    bandwidth: float
    bound = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", positive(self.bandwidth, "bandwidth"))

    @classmethod
    def median(cls, x: Any, y: Any = None, *, max_rows: int = MEDIAN_ROWS, rng: Any = 0) -> Laplace:
        """Take the bandwidth from data: the median city-block distance between pooled rows.

        Parameters
        ----------
        x, y, max_rows, rng
            As for `Gaussian.median`.

        Returns
        -------
        Laplace

        Examples
        --------
        >>> import numpy as np
        >>> from nammd import Laplace
        >>> Laplace.median(np.array([[0.0, 0.0], [1.0, 1.0]]))
        Laplace(bandwidth=2.0)
        """
        rows = pooled_rows(x, y, max_rows=max_rows, rng=rng)
        return cls(median_distance(rows, "cityblock"))

    def __call__(self, x: Array, y: Array, /) -> Array:
        """Return the ``(len(x), len(y))`` array of kernel values."""
        return self.bind(as_columns(x), as_columns(y)).tile(_EVERYTHING, _EVERYTHING, None)

    def bind(
        self, x: Array, y: Array, precision: Precision | None = None, weight: float = 1.0
    ) -> BoundKernel:
        """Scale both samples once, then serve tiles of city-block distances."""
        return bind_cityblock(x, y, self.bandwidth, precision, weight)

    def exponentials(self) -> tuple[Exponential, ...]:
        """Return the kernel itself, as one term."""
        return (Exponential(1.0, 1, lambda rows: rows / self.bandwidth),)

    def __str__(self) -> str:
        return f"Laplace, bandwidth {self.bandwidth:.4g}"
