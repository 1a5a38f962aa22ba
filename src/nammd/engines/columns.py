"""All columns of an array on a device at once: their order, how many rows are in cells, and in cells of two.

Column by column this is many small steps, each of which waits for the one before. Here a step is done for all
columns, where the array is, and only counts come back. What is counted, and why, others say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, at_home, is_torch, to_numpy

_ROWS = 1 << 15
"""Rows at once of which it is counted in which cells of two columns they are."""

ELSEWHERE = ("cpu", "mps")
"""Devices where NumPy is quicker, or that have no float64."""

_WHOLE_BITS = 62


@dataclass(frozen=True, eq=False)
class DeviceColumns:
    """Some columns of an array on a device.

    Attributes
    ----------
    values : tensor of shape (columns, rows)
        The columns, in their own type.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> columns = DeviceColumns(torch.tensor([[1.0, 3.0, 2.0], [5.0, 5.0, 6.0]]))
    >>> columns.at_ranks(np.array([0, 2]))
    array([[1., 3.],
           [5., 6.]])
    >>> columns.different.tolist()
    [3, 2]
    """

    values: Any = field(repr=False)

    @classmethod
    def of(cls, array: Array, columns: Sequence[int]) -> DeviceColumns | None:
        """Return columns of an array by their numbers; None where this is not for its library or device."""
        if not is_torch(array) or array.device.type in ELSEWHERE or not len(array):
            return None
        return cls(array.detach()[:, list(columns)].T.contiguous())

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.values.shape[1])

    @cached_property
    def exact(self) -> Any:
        """The values in float64, where they are."""
        return self.values.double()

    @cached_property
    def ordered(self) -> Any:
        """The values of every column in ascending order."""
        return self.values.sort(dim=1).values

    def chosen(self, which: NDArray[np.bool_]) -> DeviceColumns:
        """Return some of them."""
        if which.all():
            return self
        import torch

        there = torch.asarray(np.flatnonzero(which), device=self.values.device)
        found = DeviceColumns(self.values[there])
        if "ordered" in self.__dict__:
            found.__dict__["ordered"] = self.ordered[there]
        return found

    def every(self, step: int) -> DeviceColumns:
        """Return every so many rows of them."""
        return DeviceColumns(self.values[:, ::step].contiguous())

    def at_ranks(self, ranks: NDArray[np.intp]) -> FloatArray:
        """Return the values that have some ranks, counted from 0, in every column."""
        import torch

        return to_numpy(self.ordered[:, torch.asarray(ranks, device=self.values.device)])

    @cached_property
    def different(self) -> NDArray[np.intp]:
        """How many different values there are in every column."""
        return at_home((self.ordered[:, 1:] != self.ordered[:, :-1]).sum(1)) + 1

    @cached_property
    def negative(self) -> NDArray[np.intp]:
        """How many values are below zero in every column."""
        return at_home((self.values < 0).sum(1))

    def has_more_than(self, rows: int) -> NDArray[np.bool_]:
        """Tell of every column whether more than so many rows have one and the same value."""
        if rows >= self.rows:
            return np.zeros(len(self.values), dtype=bool)
        return at_home((self.ordered[:, rows:] == self.ordered[:, : self.rows - rows]).any(1))

    def classes(self, edges: Sequence[FloatArray]) -> Any:
        """Return in which class every value is, where they are: as many edges are at most as large."""
        import torch

        filled = np.full((len(edges), max(map(len, edges), default=0)), np.inf)
        for row, own in zip(filled, edges, strict=True):
            row[: len(own)] = own
        there = torch.asarray(filled, device=self.values.device)
        return torch.searchsorted(there, self.exact, right=True, out_int32=True).to(torch.uint8)


def counted_in_cells(cells: Any, shares: Any) -> tuple[FloatArray, FloatArray]:
    """Return how many rows are in each cell of every column, and the sums of their shares.

    Parameters
    ----------
    cells : tensor of shape (columns, rows)
        The cell of every row, a whole number from 0 on.
    shares : tensor of shape (columns, rows)
        Numbers from 0 to 1.

    Returns
    -------
    tuple of array of shape (columns, cells)
    """
    import torch

    columns, rows = cells.shape
    size = int(cells.max()) + 1
    flat = (cells + size * torch.arange(columns, device=cells.device)[:, None]).ravel()
    # Sums of whole numbers are the same in any order, and nobody knows in which order a device adds.
    unit = 2.0 ** min(_WHOLE_BITS - rows.bit_length(), 52)
    found = []
    for each in (torch.ones_like(flat), (shares * unit).round().long().ravel()):
        total = torch.zeros(columns * size, dtype=torch.int64, device=cells.device)
        found.append(to_numpy(total.index_add_(0, flat, each).reshape(columns, size)))
    return found[0], found[1] / unit


def counted_in_classes(classes: Any, size: int) -> NDArray[np.intp]:
    """Return how many rows of every column are in each of so many classes."""
    import torch

    return at_home(torch.stack([(classes == number).sum(1) for number in range(size)], dim=1))


def counted_in_pairs(classes: Any, size: int) -> FloatArray:
    """Return how many rows are in each cell of every two columns.

    Parameters
    ----------
    classes : tensor of shape (columns, rows)
        The class of every row in every column, a whole number from 0 to `size` - 1.
    size : int
        The number of classes.

    Returns
    -------
    array of shape (columns, size, columns, size)
    """
    import torch

    columns, rows = classes.shape
    total = torch.zeros((columns * size,) * 2, dtype=torch.float64, device=classes.device)
    numbers = torch.arange(size, dtype=classes.dtype, device=classes.device)
    for start in range(0, rows, _ROWS):
        some = classes[:, start : start + _ROWS]
        # Ones where a row is in a class: products of these count, exactly so up to 2 ** 24 rows.
        there = (some[:, None, :] == numbers[:, None]).reshape(columns * size, -1).float()
        total += there @ there.T
    return to_numpy(total).reshape(columns, size, columns, size)
