"""A sketch as a sample of a space: `SketchSample`, the counterpart of `nammd.spaces.Sample`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from nammd.data.dataset import Dataset
from nammd.spaces import Space

if TYPE_CHECKING:
    from nammd.sketches.group_totals import SketchUnits
    from nammd.sketches.sketch import Sketch

CONSTANT = 1e-10
"""Share of the features' squared length below which their variance is rounding."""

ROUNDING = 1e-6
"""How far the squared length of single-precision features may be from what it should be."""


@dataclass(frozen=True, eq=False)
class SketchSample:
    """The rows of a dataset as points of a space, of which only a sketch is left.

    Attributes
    ----------
    dataset : Dataset
        Where it came from.
    space : Space
        The space that the rows were points of; its kernel is the one that distances are meant under.
    sketch : Sketch
        The sketch, as it was when it was made a sample.
    """

    dataset: Dataset
    space: Space
    sketch: Sketch = field(repr=False)
    keeps_rows: ClassVar[bool] = False
    digest: ClassVar[None] = None
    """There is no digest of rows that are not there."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.dataset.name

    @property
    def size(self) -> int:
        """The number of rows that were sketched."""
        return self.sketch.n

    @property
    def sketched_units(self) -> SketchUnits | None:
        """The groups that were sketched; None where every row stands for itself."""
        return self.sketch.units

    @cached_property
    def constant(self) -> bool:
        """Whether all rows were the same."""
        z = self.sketch
        bound = z.features.bound
        if z.units is None:
            left = np.trace(z.products) / z.n - float(z.total @ z.total) / z.n**2
            return bool(left <= CONSTANT * bound)
        sums = z.units.totals
        mean = float(z.total @ z.total) / sums.size**2
        # Groups of the same rows have features in proportion to their sizes.
        left = abs(np.trace(z.products) / sums.squares - mean)
        return bool(left <= CONSTANT * bound and bound - mean <= ROUNDING * bound)

    def same_rows(self, other: SketchSample) -> bool:
        """Tell whether another one is of the same rows, as far as their sums tell."""
        return self.sketch.same_rows(other.sketch)
