"""What a sketch is asked to be made by: features, an encoding, scales, groups; checked, and settled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nammd.data.blocks_in_time import TimeBlocks
from nammd.data.dataset import Dataset
from nammd.data.row_grouping import RowGrouping
from nammd.encoding import Encoding
from nammd.errors.advice import Advice, refusal
from nammd.errors.checks import choice, whole
from nammd.kernels import Gaussian, RandomFeatures
from nammd.kernels.operations import at_scale
from nammd.spaces.space import Space, fitted_kernel
from nammd.statistics.scales import SCALES, Scales


@dataclass(frozen=True, eq=False)
class Settings:
    """By what a sketch is made.

    Attributes
    ----------
    features : tuple of RandomFeatures
        The features at each scale, the main one first; none where they are fitted on the data.
    encoding : Encoding or None
        How the columns of a table become numbers.
    scales : {"median", "all"}
        Which scales are kept.
    """

    features: tuple[RandomFeatures, ...]
    encoding: Encoding | None
    scales: Scales

    @classmethod
    def of(cls, features: Any, space: Space | None, threads: int | None, scales: Scales) -> Settings:
        """Check what was asked for, and settle it."""
        if threads is not None:
            whole(threads, "threads")
        choice(scales, "scales", ("median", "all"))
        if space is not None and features is None:
            kernel = space.kernel
            features = kernel if isinstance(kernel, RandomFeatures) else RandomFeatures(kernel)
        found = cls((), None if space is None else space.encoding, scales)
        return found if features is None else found.given(features)

    def given(self, features: Any) -> Settings:
        """Return the same with features that must be random ones."""
        if not isinstance(features, RandomFeatures):
            raise TypeError(
                "features must be random features such as nammd.RandomFeatures(nammd.Gaussian(1.0), 1024), "
                f"not {features!r}"
            )
        return replace(self, features=features_at(features, self.scales))

    def fitted(self, dataset: Dataset) -> Settings:
        """Return the same with the features that were given, or else those of the median bandwidth."""
        if self.features:
            return self
        encoding = encoding_for(dataset, self.encoding)
        return self.given(RandomFeatures(fitted_kernel(encoding, [dataset], Gaussian)))

    def settled(self) -> Settings:
        """Return the same, if features were given: the data come in parts, which nothing can be fitted on."""
        return self if self.features else self.given(None)

    @property
    def digest(self) -> str:
        """A digest of how columns become numbers; empty where there is nothing to do."""
        return "" if self.encoding is None else self.encoding.digest


def features_at(features: RandomFeatures, scales: Scales) -> tuple[RandomFeatures, ...]:
    """Return the features at each scale, the main one first."""
    if scales == "median":
        return (features,)
    found = [features, *(at_scale(features, scale) for scale in SCALES[1:])]
    known = tuple(each for each in found if isinstance(each, RandomFeatures))
    if len(known) < len(SCALES):
        raise refusal(
            ValueError,
            f"the kernel {features.kernel!r} has no bandwidth, and so no scales",
            Advice("leave scales out", "leave out --scales"),
        )
    return known


def encoding_for(dataset: Dataset, encoding: Encoding | None) -> Encoding:
    """Return how a dataset becomes numbers: as was said, or as they are if it is an array."""
    if encoding is not None:
        return encoding
    if dataset.is_table:
        raise refusal(
            TypeError,
            f"{dataset.name} is a table, and sketches of tables can be compared only if their columns became "
            "numbers in the same way",
            Advice(
                "give the space of the reference: Sketch.of(x, space=nammd.Space.fit(reference))",
                "give --tolerance FILE",
            ),
        )
    return Encoding.identity(dataset.width)


def features_in(kernel: Any) -> RandomFeatures | None:
    """Return the random features that a kernel is made of; None where it is an exact one."""
    return kernel if isinstance(kernel, RandomFeatures) else None


def sketchable(grouping: RowGrouping) -> RowGrouping:
    """Return what was said of rows, if a sketch can keep it: blocks of time need the order of rows."""
    if isinstance(grouping.groups, TimeBlocks):
        raise refusal(
            TypeError,
            "a sketch does not keep the order of rows, which blocks of time need",
            Advice("compare the data themselves, or give groups=", "compare the files themselves"),
        )
    return grouping


def columns_alone(grouping: RowGrouping) -> RowGrouping:
    """Return what was said of rows that come in batches: by columns, since labels would not follow them."""
    chosen = sketchable(grouping)
    for option, value in (("groups", chosen.groups), ("sample_weight", chosen.sample_weight)):
        if value is not None and not isinstance(value, str):
            raise TypeError(
                f"{option} of batches must be the name of a column, not {type(value).__name__}; for batches "
                "of arrays make a sketch of each with Sketch.of, and add them"
            )
    return grouping


def again(by: str, given: Any) -> Any:
    """Return what is said of more rows of a sketch: the same column, unless something is given."""
    return by if given is None and by not in ("", "group", "row weights") else given
