"""Sums over rows of tables that stay where they are, on Spark or in batches: `Mapped`.

Kernels with features need two walks over the rows, each of which is one pass: what comes home of the first
are sums, and of the second a few numbers for every row. Pairs of rows of such tables are never compared one
by one: who wants that is told to take a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, take_rows
from nammd.data.pieces import is_mapped
from nammd.engines.features import Walks, by_features, feature_sums
from nammd.engines.features.walks import Positions
from nammd.engines.features.waves import Waves
from nammd.engines.protocol import Engine, Summed
from nammd.engines.tiles.engine import Tiles
from nammd.kernels.base import Kernel, Precision


@dataclass(frozen=True)
class Mapped(Engine):
    """Compute by passes over rows that stay where they are: on Spark, or read in batches.

    It is chosen for such rows where they are too many to be compared in pairs.
    """

    def precision_for(self, *samples: Array) -> Precision:
        """Return the floating-point type of the features; tables are float64."""
        return "float64"

    def described(self, *samples: Array, kernel: Kernel | None = None) -> str:
        """Say which engine computes."""
        return repr(self)

    def sums(self, kernel: Kernel, *parts: tuple[Array, ...]) -> Summed:
        """Return `WithinSums` for every part ``(x,)`` and `CrossSums` for every part ``(x, y)``."""
        return self.many_sums([kernel], *parts)[0]

    def many_sums(self, kernels: Sequence[Kernel], *parts: tuple[Array, ...]) -> list[Summed]:
        """Return the same for every one of some kernels, in the same two walks."""
        if not by_features(kernels, parts):
            return Tiles().many_sums(kernels, *(tuple(np.asarray(each) for each in part) for part in parts))
        found = feature_sums(kernels, parts, MappedWalks, self.precision_for())
        return [Summed(tuple(each), repr(self)) for each in found]

    def quadratic_forms(self, kernel: Kernel, z: Array, vectors: NDArray[Any]) -> FloatArray:
        """Return ``v' K v`` for every column v; of rows that are at home only."""
        return Tiles().quadratic_forms(kernel, np.asarray(z), vectors)


@dataclass(frozen=True, eq=False)
class MappedWalks:
    """What `Walks` do, for rows that stay where they are.

    Attributes
    ----------
    waves : Waves
        Makes the features.
    """

    waves: Waves

    def totals(self, samples: Sequence[Any], weights: Sequence[Sequence[None]]) -> list[FloatArray]:
        """Return, for each sample, the sums of features."""
        walk = partial(_totals, Walks(self.waves, 1, False))
        return [
            sample.total(walk, partial(reduce, add))
            if is_mapped(sample)
            else Walks(self.waves).totals([sample], [[None]])[0]
            for sample in samples
        ]

    def products(self, samples: Sequence[Any], vectors: Sequence[FloatArray]) -> list[Any]:
        """Return the inner products of every row's features with some vectors, for each sample."""
        walks = Walks(self.waves, 1, False)
        return [
            np.concatenate(sample.each(partial(_products, walks, each)), axis=2)
            if is_mapped(sample)
            else Walks(self.waves).products([sample], [each])[0]
            for sample, each in zip(samples, vectors, strict=True)
        ]

    def second_order(
        self, samples: Sequence[Any], rows: Sequence[Positions], scale: int, means: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return, for each sample, the sum of outer products of features over some rows, which are here."""
        here = [take_rows(sample, some) for sample, some in zip(samples, rows, strict=True)]
        return Walks(self.waves).second_order(here, [np.arange(len(some)) for some in rows], scale, means)


def _totals(walks: Walks, points: FloatArray) -> Any:
    return walks.totals([points], [[None]])[0]


def _products(walks: Walks, vectors: FloatArray, points: FloatArray) -> FloatArray:
    return np.array(walks.products([points], [vectors])[0])
