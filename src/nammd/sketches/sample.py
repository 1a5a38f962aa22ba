"""A sketch as a sample of a space, and which sketches can be compared.

`SketchSample` is the counterpart of `nammd.spaces.Sample`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nammd.data.dataset import Dataset
from nammd.errors.advice import Advice, refusal
from nammd.errors.checks import counted
from nammd.kernels import RandomFeatures, as_kernel
from nammd.kernels.operations import at_scale
from nammd.sketches.group_totals import difference_in_units
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
    drawn_from: ClassVar[int | None] = None
    positions: ClassVar[None] = None
    digest: ClassVar[None] = None
    """There is no digest of rows that are not there."""

    @classmethod
    def of(cls, sketch: Sketch, space: Space, dataset: Dataset) -> SketchSample:
        """Return a sketch as a sample of a space, if it was made in it."""
        if sketch.encoding != space.encoding.digest:
            raise refusal(
                ValueError,
                f"{dataset.name} was not sketched in this space, with its encoding",
                Advice(
                    "make it with Sketch.of(data, features, space=tolerance.space)",
                    "make it with 'nammd sketch' and the same --tolerance",
                ),
            )
        if sketch.n_columns != space.encoding.width:
            has = counted(sketch.n_columns, "column")
            raise ValueError(f"{dataset.name} has {has}, the tolerance {space.encoding.width}")
        sketch.means_exact(space.kernel)
        return cls(dataset, space, sketch.snapshot())

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

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales that it can be compared at."""
        return self.sketch.scales

    def at(self, scale: float) -> SketchSample:
        """Return it at one of its scales, where the kernel has so many times the bandwidth."""
        if scale == 1:
            return self
        kernel = at_scale(self.space.kernel, scale)
        assert kernel is not None  # or there would be no features of that scale
        return SketchSample(self.dataset, replace(self.space, kernel=kernel), self.sketch.at(scale))

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


def means_exact(sketch: Sketch, kernel: Any) -> bool:
    """Tell whether a distance is meant under the kernel that the features approximate, or under theirs.

    A kernel of other frequencies, or another kernel, is refused.
    """
    if kernel == sketch.features.kernel:
        return True
    if isinstance(kernel, RandomFeatures):
        difference = sketch.features.difference(kernel)
        if not difference:
            return False
        raise refusal(
            ValueError,
            f"the sketches do not have the random features asked for: {difference}",
            Advice(
                "an epsilon from other frequencies does not fit these sketches, so take it from the same "
                "frequencies, or from the exact kernel",
                "make them with 'nammd sketch' and this --tolerance, which fixes the features",
            ),
        )
    raise refusal(
        ValueError,
        f"the sketches were made for the kernel {sketch.features.kernel}, not for {as_kernel(kernel)}",
        Advice(
            "a sketch fixes its kernel when it is made",
            "a sketch fixes its kernel when it is made, with 'nammd sketch' and --tolerance",
        ),
    )


def require_alike(a: Sketch, b: Sketch, verb: str = "compared") -> None:
    """Refuse sketches whose sums do not belong together, and say in what they differ."""
    difference = a.features.difference(b.features)
    if difference:
        raise refusal(
            ValueError,
            f"these sketches cannot be {verb}: {difference}",
            Advice(
                "make both with the same RandomFeatures, for example Sketch.of(y, first.features)",
                "make both with the same --tolerance, --n-features and --seed",
            ),
        )
    if a.n_columns != b.n_columns:
        raise ValueError(
            f"these sketches cannot be {verb}: their data have {a.n_columns} and "
            f"{counted(b.n_columns, 'column')}"
        )
    if a.encoding != b.encoding:
        raise ValueError(
            f"these sketches cannot be {verb}: their tables were turned into numbers by different "
            "encodings; make both with the same tolerance file or the same Space"
        )
    by = difference_in_units(a.units, b.units)
    if by:
        raise refusal(
            ValueError,
            f"these sketches cannot be {verb}: {by}",
            Advice("make both with the same groups= and sample_weight=", "make both with the same --group"),
        )
