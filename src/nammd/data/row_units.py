"""Which rows of a dataset belong together, and how much each of them counts: `RowUnits`.

Rows of one customer, patient or sensor are not independent of each other. A dataset that is told so
carries the number of each row's group, and the names of the groups, by which another dataset's are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class RowUnits:
    """The groups and the weights of a dataset's rows.

    Attributes
    ----------
    codes : array of int of shape (rows,)
        The number of each row's group.
    names : tuple of str, or None
        The names of the groups, sorted; None for blocks of time, which have none.
    weights : array of shape (rows,), or None
        How much each row counts; None where all count alike.
    reach : int
        1 where neighbouring groups depend on each other too, as blocks of time do; else 0.
    by : str
        What the groups are: the name of a column, or how blocks of time were chosen.
    weights_by : str
        Where the weights came from; empty where all rows count alike.
    length : int
        The rows of a block of time; 0 where groups are no blocks.
    period : int
        The rows of a season, of which a block has whole ones; 0 where there is none.
    too_long : bool
        Whether the memory of the data is too long for blocks of time.
    unlabelled, missing : int, str
        How many rows had no label, and what was done with them: each is a group of its own ("own"), or they
        are left out ("drop").
    weight_unit : float
        The mean of the weights as they were given; `weights` are scaled to a mean of one.
    """

    codes: NDArray[np.intp] = field(repr=False)
    names: tuple[str, ...] | None = field(repr=False)
    weights: FloatArray | None = field(default=None, repr=False)
    reach: int = 0
    by: str = "group"
    weights_by: str = ""
    length: int = 0
    period: int = 0
    too_long: bool = False
    weight_unit: float = 1.0
    unlabelled: int = 0
    missing: str = "error"

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(np.unique(self.codes)) if self.names is None else len(self.names)

    @cached_property
    def order(self) -> NDArray[np.intp] | None:
        """The order that puts the rows of a group together; None where they are so already."""
        if bool((np.diff(self.codes) >= 0).all()):
            return None
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """How many rows each group has."""
        return np.bincount(self.codes)

    @cached_property
    def sizes(self) -> FloatArray:
        """The sum of the weights of each group's rows."""
        return np.bincount(self.codes, weights=self.weights).astype(np.float64)

    @property
    def singles(self) -> bool:
        """Whether every row is a group of its own."""
        return self.count == len(self.codes)

    @property
    def all_alike(self) -> bool:
        """Whether every row is a group of its own, and all count alike: as if nothing had been said."""
        return self.singles and (self.weights is None or bool((self.weights == self.weights[0]).all()))

    def take(self, rows: NDArray[np.intp]) -> RowUnits:
        """Return the units of some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        if self.names is None:  # numbers with gaps, where neighbours in time are not there
            return replace(self, codes=self.codes[rows], weights=weights)
        kept, codes = np.unique(self.codes[rows], return_inverse=True)
        names = tuple(self.names[code] for code in kept)
        return replace(self, codes=codes.reshape(-1).astype(np.intp), names=names, weights=weights)

    @classmethod
    def alone(cls, rows: int) -> RowUnits:
        """Return units of one row each, which no other dataset has."""
        return cls(np.arange(rows), None, by="row")


def numbered(units: Sequence[RowUnits]) -> list[NDArray[np.intp]]:
    """Return, for each of several datasets, a number for every group: the same for the same name.

    The numbers of one dataset ascend with its own. Groups without a name are nobody else's.

    >>> import numpy as np
    >>> one = RowUnits(np.array([0, 1]), ("ann", "bob"))
    >>> two = RowUnits(np.array([0, 1]), ("bob", "eve"))
    >>> [numbers.tolist() for numbers in numbered([one, two])]
    [[0, 1], [1, 2]]
    """
    every = sorted({name for each in units if each.names is not None for name in each.names})
    places = {name: place for place, name in enumerate(every)}
    found: dict[int, NDArray[np.intp]] = {}
    free = len(every)
    for each in units:
        if id(each) in found:
            continue  # the very same: a copy of the dataset
        if each.names is not None:
            found[id(each)] = np.array([places[name] for name in each.names], dtype=np.intp)
            continue
        count = int(each.codes.max()) + 1
        found[id(each)] = np.arange(free, free + count)
        free += count + each.reach + 1  # the last block of one dataset is no neighbour of another's
    return [found[id(each)] for each in units]
