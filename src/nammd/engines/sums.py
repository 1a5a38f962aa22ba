"""The sums of a Gram matrix that every statistic here is made of.

A closeness test never needs the Gram matrix, only its row sums, column sums and sums of squares:
m + n numbers and a few more. They add up over tiles, so an engine can stream them, and nothing that
comes after this module knows how they were computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nammd.data.arrays import Array, FloatArray, namespace


@dataclass(frozen=True, eq=False)
class WithinSums:
    """Sums over the pairs of distinct rows of one sample.

    Attributes
    ----------
    rows : array of shape (m,)
        ``sum over j != i of k(x_i, x_j)`` for every i.
    squares : float
        ``sum over i != j of k(x_i, x_j)^2``.
    features : array or None
        The sum of the features of all rows, where the kernel has some.
    """

    rows: FloatArray
    squares: float
    features: FloatArray | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """The number of rows of the sample."""
        return len(self.rows)

    @cached_property
    def total(self) -> float:
        """The sum over all ordered pairs of distinct rows."""
        return float(self.rows.sum())

    @property
    def mean(self) -> float:
        """The mean kernel value of two distinct rows."""
        return self.total / (self.size * (self.size - 1))


@dataclass(frozen=True, eq=False)
class CrossSums:
    """Sums over the pairs of a row of x and a row of y.

    Attributes
    ----------
    rows : array of shape (m,)
        ``sum over j of k(x_i, y_j)`` for every i.
    cols : array of shape (n,)
        ``sum over i of k(x_i, y_j)`` for every j.
    squares : float
        ``sum over i, j of k(x_i, y_j)^2``.
    diagonal : float or None
        ``sum over i of k(x_i, y_i)`` where both samples have the same size.
    """

    rows: FloatArray
    cols: FloatArray
    squares: float
    diagonal: float | None

    @cached_property
    def total(self) -> float:
        """The sum over all pairs."""
        return float(self.rows.sum())

    @property
    def mean(self) -> float:
        """The mean kernel value of a row of x and a row of y."""
        return self.total / (len(self.rows) * len(self.cols))

    @property
    def off_diagonal_mean(self) -> float:
        """The same over the pairs with i != j only; the sizes must be equal."""
        m = len(self.rows)
        if self.diagonal is None:
            raise ValueError("off-diagonal cross pairs need samples of equal size")
        return (self.total - self.diagonal) / (m * (m - 1))

    @property
    def swapped(self) -> CrossSums:
        """The sums with the roles of x and y exchanged."""
        return CrossSums(self.cols, self.rows, self.squares, self.diagonal)


@dataclass(frozen=True)
class PairMeans:
    """Mean kernel values of two samples whose rows belong to each other: row i of x and row i of y.

    Attributes
    ----------
    x, y : float
        Of two distinct rows within each sample.
    cross : float
        Of a row of x and one of y that does not belong to it.
    """

    x: float
    y: float
    cross: float


@dataclass(frozen=True, eq=False)
class KernelSums:
    """All that is kept of the three Gram matrices of two samples.

    Attributes
    ----------
    x, y : WithinSums
        Sums over pairs of distinct rows within each sample.
    cross : CrossSums
        Sums over pairs of a row of x and a row of y.
    bound : float
        The bound of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 4.0])
    >>> sums = nammd.kernel_sums(x, y, nammd.Gaussian(1.0))
    >>> sums.m, sums.n
    (3, 2)
    >>> sums.xx_rows.round(3)
    array([0.742, 1.213, 0.742])
    """

    x: WithinSums
    y: WithinSums
    cross: CrossSums
    bound: float

    def __post_init__(self) -> None:
        parts = (
            self.x.rows,
            self.y.rows,
            self.cross.rows,
            self.x.squares,
            self.y.squares,
            self.cross.squares,
        )
        if not all(np.isfinite(np.sum(part)) for part in parts):
            raise ValueError(
                "the kernel gives values that are not finite numbers on these data; is its bandwidth far "
                "from the scale of the data?"
            )

    @property
    def m(self) -> int:
        """The number of rows of x."""
        return self.x.size

    @property
    def n(self) -> int:
        """The number of rows of y."""
        return self.y.size

    @property
    def xx_rows(self) -> FloatArray:
        """``sum over j != i of k(x_i, x_j)``, for every row of x."""
        return self.x.rows

    @property
    def yy_rows(self) -> FloatArray:
        """``sum over j != i of k(y_i, y_j)``, for every row of y."""
        return self.y.rows

    @property
    def xy_rows(self) -> FloatArray:
        """``sum over j of k(x_i, y_j)``, for every row of x."""
        return self.cross.rows

    @property
    def xy_cols(self) -> FloatArray:
        """``sum over i of k(x_i, y_j)``, for every row of y."""
        return self.cross.cols

    @property
    def xx_squares(self) -> float:
        """``sum over i != j of k(x_i, x_j)^2``."""
        return self.x.squares

    @property
    def yy_squares(self) -> float:
        """``sum over i != j of k(y_i, y_j)^2``."""
        return self.y.squares

    @property
    def xy_squares(self) -> float:
        """``sum over i, j of k(x_i, y_j)^2``."""
        return self.cross.squares

    @property
    def xy_diagonal(self) -> float | None:
        """``sum over i of k(x_i, y_i)``, where the sizes are equal."""
        return self.cross.diagonal


def reduce_tile(tile: Array, ones: Array) -> tuple[Array, Array, Any]:
    """Return the row sums, the column sums and the sum of squares of one tile.

    The first two as products with `ones`, a vector of at least the tile's length and width: that
    reads a tile several times faster than a reduction along an axis does.
    """
    rows, columns = tile.shape
    flat = tile.ravel() if isinstance(tile, np.ndarray) else namespace(tile).reshape(tile, (-1,))
    return tile @ ones[:columns], ones[:rows] @ tile, flat @ flat


def raised(tile: Array, powers: Sequence[int]) -> Iterator[Array]:
    """Yield a tile raised to some powers of two, in ascending order; each uses up the one before.

    Squaring costs far less than another exponential. Before it every value is lifted by the root of the
    smallest normal number, 1e-19 in float32, which no sum would show: with smaller squares than that
    processors are slow. A maximum would take six times as long.
    """
    at, plain = 1, isinstance(tile, np.ndarray)
    least = tile.dtype.type(math.sqrt(np.finfo(tile.dtype).tiny)) if plain else 0.0
    for power in powers:
        while at < power:
            if plain:
                tile += least
                tile = np.multiply(tile, tile, out=tile)
            else:
                tile = tile * tile
            at *= 2
        yield tile


def power_work(count: int) -> float:
    """Return about how many times the work of plain sums it is to sum so many powers."""
    return 1 + (count - 1) / 3


def without_diagonal(tile: Array) -> Array:
    """Return a square tile with zeros on its diagonal, in place where NumPy allows it."""
    xp = namespace(tile)
    if xp is np:
        np.fill_diagonal(tile, 0.0)
        return tile
    size = tile.shape[0]
    from array_api_compat import device

    return xp.where(xp.eye(size, dtype=xp.int8, device=device(tile)) > 0, xp.zeros_like(tile), tile)


def diagonal_of_tile(tile: Array, offset: int) -> float:
    """Return the sum of the entries ``tile[i, i + offset]``."""
    xp = namespace(tile)
    if xp is np:
        return float(np.diagonal(tile, offset).sum(dtype=np.float64))
    return float(xp.linalg.trace(tile, offset=offset))
