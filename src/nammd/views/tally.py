"""What one reading of the columns of a dataset tells: `Tally`.

It is all that a check, a tolerance or a sketch needs of their values, and small: the values are let go of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nammd.encoding.constants import Constant
from nammd.views.counts import Counts
from nammd.views.grouped import ColumnUnits
from nammd.views.relations import SampleRelations


@dataclass(frozen=True, eq=False)
class ColumnTally:
    """What the values of one column tell.

    Attributes
    ----------
    counts : Counts
        How many rows have which value.
    units : ColumnUnits or None
        What is kept of the groups, where rows belong together or have weights.
    negligible : mapping of str to float
        What is negligible in each aspect by groups, where somebody asked for it and rows belong together.
    blocks : mapping of str to float
        How far a block of rows is from the rest in each aspect at most, where somebody asked for it.
    """

    counts: Counts
    units: ColumnUnits | None = field(default=None, repr=False)
    negligible: Mapping[str, float] = field(default_factory=dict)
    blocks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Tally:
    """What the columns of a dataset tell, each read once.

    Attributes
    ----------
    columns : mapping of str to ColumnTally
        Those that are compared.
    constants : mapping of str to Constant
        Those that are left out because the reference has one value there.
    relations : SampleRelations or None
        How the columns go together, two by two, where somebody asked for it; not on a Dask cluster.
    parts : tuple of SampleRelations
        The same of every block of rows.
    """

    columns: Mapping[str, ColumnTally] = field(default_factory=dict)
    constants: Mapping[str, Constant] = field(default_factory=dict)
    relations: SampleRelations | None = field(default=None, repr=False)
    parts: tuple[SampleRelations, ...] = field(default=(), repr=False)

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts by column."""
        return {name: column.counts for name, column in self.columns.items()}
