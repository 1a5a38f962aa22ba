"""Kernels that are the exponential of a squared Euclidean distance: Gaussian and Mahalanobis."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nammd.data.arrays import Array, FloatArray, as_columns, like
from nammd.data.magnitudes import unit_of
from nammd.errors.checks import positive
from nammd.kernels.bandwidth import MEDIAN_ROWS, SAFE, median_distance, pooled_rows
from nammd.kernels.base import BoundKernel, Exponential, Kernel, Precision
from nammd.kernels.exponential import bind_squared

_EVERYTHING = slice(None)


class SquaredExponential(Kernel):
    """A kernel ``exp(-|f(x) - f(y)|^2 / 2)`` for some linear map f."""

    bound = 1.0

    @abstractmethod
    def embed(self, x: Array) -> Array:
        """Map rows linearly to the space in which half the squared distance is the exponent."""

    def __call__(self, x: Array, y: Array, /) -> Array:
        """Return the ``(len(x), len(y))`` array of kernel values."""
        return self.bind(as_columns(x), as_columns(y)).tile(_EVERYTHING, _EVERYTHING, None)

    def bind(
        self, x: Array, y: Array, precision: Precision | None = None, weight: float = 1.0
    ) -> BoundKernel:
        """Embed both samples once, then serve tiles by matrix products."""
        return bind_squared(x, y, self.embed, precision, weight)

    def exponentials(self) -> tuple[Exponential, ...]:
        """Return the kernel itself, as one term."""
        return (Exponential(1.0, 2, self.embed),)


@dataclass(frozen=True)
class Gaussian(SquaredExponential):
    """The Gaussian kernel ``exp(-|x - y|^2 / (2 bandwidth^2))``.

    Parameters
    ----------
    bandwidth : float
        The distance at which two rows count as different; `median` takes it from data.

    Attributes
    ----------
    bound : float
        The largest value of the kernel, 1.

    Examples
    --------
    >>> import numpy as np
    >>> from nammd import Gaussian
    >>> kernel = Gaussian(2.0)
    >>> kernel(np.array([[0.0], [2.0]]), np.array([[0.0]])).round(4)
    array([[1.    ],
           [0.6065]])
    """

    bandwidth: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", positive(self.bandwidth, "bandwidth"))

    @classmethod
    def median(cls, x: Any, y: Any = None, *, max_rows: int = MEDIAN_ROWS, rng: Any = 0) -> Gaussian:
        """Take the bandwidth from data: the median distance between two of the pooled rows.

        Parameters
        ----------
        x, y : array or table
            One or two samples.
        max_rows : int
            If the samples together have more rows than this, so many are drawn at random, without
            replacement; the result is then a close approximation.
        rng : int, numpy.random.Generator or None
            Generator for that draw. The default is fixed: the same data give the same bandwidth.

        Returns
        -------
        Gaussian

        Examples
        --------
        >>> import numpy as np
        >>> from nammd import Gaussian
        >>> Gaussian.median(np.array([0.0, 1.0, 3.0]))
        Gaussian(bandwidth=2.0)
        """
        rows = pooled_rows(x, y, max_rows=max_rows, rng=rng)
        return cls(median_distance(rows, "euclidean"))

    def embed(self, x: Array) -> Array:
        """Divide by the bandwidth."""
        return x / self.bandwidth

    def __str__(self) -> str:
        return f"Gaussian, bandwidth {self.bandwidth:.4g}"


@dataclass(frozen=True, eq=False)
class Mahalanobis(SquaredExponential):
    """The kernel ``exp(-(x - y)' M (x - y) / (2 bandwidth^2))`` for a matrix M.

    Parameters
    ----------
    matrix : array of shape (d, d)
        Symmetric and positive semi-definite: which directions count, and how much.
    bandwidth : float
        As for `Gaussian`, in the distance that the matrix defines.

    Attributes
    ----------
    bound : float
        The largest value of the kernel, 1.

    Examples
    --------
    Count the second column only:

    >>> import numpy as np
    >>> from nammd import Mahalanobis
    >>> kernel = Mahalanobis([[0, 0], [0, 1]])
    >>> float(kernel(np.array([[0.0, 3.0]]), np.array([[9.0, 3.0]]))[0, 0])
    1.0
    """

    matrix: FloatArray
    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
            raise ValueError(
                f"matrix must be square, one row per column of the data; got shape {matrix.shape}"
            )
        if not np.isfinite(matrix).all():
            raise ValueError("matrix contains NaN or infinity")
        scale = np.abs(matrix).max()
        if np.abs(matrix - matrix.T).max() > 1e-10 * scale:
            raise ValueError("matrix must be symmetric; pass (A + A.T) / 2 if rounding is the cause")
        # In units of the columns: eigenvalues of very different scales would cost the small ones digits.
        units = np.sqrt(np.abs(np.diagonal(matrix)))
        units[units == 0] = 1.0
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2 / np.outer(units, units))
        if values.min() < -1e-10 * np.abs(values).max() or scale == 0:
            raise ValueError(
                "matrix must be positive semi-definite and not zero; its smallest eigenvalue is "
                f"{values.min():.3g}"
            )
        factor = units[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "bandwidth", positive(self.bandwidth, "bandwidth"))
        object.__setattr__(self, "_factor", factor)

    @classmethod
    def median(
        cls,
        x: Any,
        y: Any = None,
        *,
        matrix: ArrayLike | None = None,
        max_rows: int = MEDIAN_ROWS,
        rng: Any = 0,
    ) -> Mahalanobis:
        """Take the bandwidth from data, and by default the matrix too.

        Parameters
        ----------
        x, y : array or table
            One or two samples.
        matrix : array of shape (d, d), optional
            By default the (pseudo-)inverse of the covariance of the pooled rows, which makes the
            kernel blind to the scale and the correlation of the columns.
        max_rows, rng
            As for `Gaussian.median`.

        Returns
        -------
        Mahalanobis

        Examples
        --------
        >>> import numpy as np
        >>> from nammd import Mahalanobis
        >>> x = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 1000.0]
        >>> round(Mahalanobis.median(x).bandwidth, 1)
        1.7
        """
        rows = pooled_rows(x, y, max_rows=max_rows, rng=rng)
        if matrix is None:
            if len(rows) < 2:
                median_distance(rows, "euclidean")
            powers = unit_of(rows, axis=0)  # so that squares are numbers
            covariance = np.atleast_2d(np.cov(rows / powers, rowvar=False))
            if not covariance.any():
                median_distance(rows, "euclidean")  # raises: the data is constant
            units = np.sqrt(np.diagonal(covariance))
            units = np.where(units > 0, units, 1.0)
            matrix = np.linalg.pinv(covariance / np.outer(units, units), hermitian=True)
            units = units * powers
            _require_inverse(rows, units)
            matrix = matrix / np.outer(units, units)
        unscaled = cls(np.asarray(matrix))
        return cls(unscaled.matrix, median_distance(unscaled.embed(rows), "euclidean"))

    def embed(self, x: Array) -> Array:
        """Multiply by a square root of the matrix and divide by the bandwidth."""
        factor: FloatArray = self._factor  # type: ignore[attr-defined]
        if x.shape[1] != factor.shape[0]:
            raise ValueError(
                f"the Mahalanobis kernel has a matrix for {factor.shape[0]} columns, "
                f"but the data has {x.shape[1]}"
            )
        return x @ like(factor / self.bandwidth, x)

    def symmetric_root(self, n_columns: int) -> FloatArray:
        """Return R with ``R'R`` the matrix, for data of so many columns.

        In units of the columns it is symmetric, and so the only one: eigenvectors have signs, and
        those of equal eigenvalues are any, so another library would make other frequencies of them.
        """
        matrix = self.matrix
        if len(matrix) != n_columns:
            raise ValueError(
                f"the Mahalanobis kernel has a matrix for {len(matrix)} columns, but the data has {n_columns}"
            )
        units = np.sqrt(np.abs(np.diagonal(matrix)))
        units[units == 0] = 1.0
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2 / np.outer(units, units))
        root: FloatArray = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T * units
        return root

    def __repr__(self) -> str:
        d = self.matrix.shape[0]
        return f"Mahalanobis({d}x{d} matrix, bandwidth={self.bandwidth!r})"

    def __str__(self) -> str:
        return f"Mahalanobis, {len(self.matrix)} columns, bandwidth {self.bandwidth:.4g}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mahalanobis):
            return NotImplemented
        return self.bandwidth == other.bandwidth and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.bandwidth, self.matrix.tobytes()))


def _require_inverse(rows: FloatArray, units: FloatArray) -> None:
    """Refuse columns whose variance, or one over it, is beyond all numbers."""
    for column in np.flatnonzero((units < SAFE[0]) | (units > SAFE[1])):
        farthest = rows[np.abs(rows[:, column]).argmax(), column]
        raise ValueError(
            f"column {column} has a standard deviation of {units[column]:.3g}, by values of up to "
            f"{farthest:.3g}: a covariance matrix has no numbers for that; divide it by a power of ten "
            "in all datasets, or leave out rows that are far out"
        )
