"""All that an engine can do: `Engine`.

An engine computes sums of Gram matrices. It knows arrays and kernels, and nothing of statistics. Two
computations every engine must have; the others are made of these unless it has a faster way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, place, pooled_sample, take_rows
from nammd.engines.progress import passes
from nammd.engines.sums import CrossSums, KernelSums, PairMeans, WithinSums
from nammd.engines.units import Units
from nammd.kernels import Kernel
from nammd.kernels.base import Precision, precision_of
from nammd.kernels.family import paired_values
from nammd.kernels.operations import row_by_row

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The positions of the rows of two parts of a sample."""


@dataclass(frozen=True)
class Summed:
    """The sums of several Gram matrices, in the order asked for.

    Attributes
    ----------
    parts : tuple of WithinSums and CrossSums
        The sums.
    by : str
        Which engine computed them, and where.
    """

    parts: tuple[Any, ...]
    by: str

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __getitem__(self, number: int) -> Any:
        return self.parts[number]


@dataclass(frozen=True)
class FamilyForms:
    """Sums of the Gram matrices of several kernels, less their diagonals.

    Attributes
    ----------
    forms : array of shape (kernels, vectors)
        ``v' K v`` for every kernel and vector.
    rows : array of shape (kernels, rows)
        The row sums of every K.
    squares : array of shape (kernels,)
        The sums of squares of every K.
    """

    forms: FloatArray
    rows: FloatArray
    squares: FloatArray

    @classmethod
    def ordered(cls, parts: Sequence[FamilyForms], groups: Sequence[Sequence[int]]) -> FamilyForms:
        """Put the sums of groups of kernels together, in the order of the kernels."""
        return cls(*_in_order(parts, groups))


@dataclass(frozen=True)
class PairedForms:
    """Quadratic forms of the differences of paired rows, for several kernels.

    Attributes
    ----------
    forms : array of shape (kernels, vectors)
        ``v' H v`` for every kernel and vector, where
        ``H[i, j] = k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) - k(y_i, x_j)`` and H[i, i] counts as zero.
    means : array of shape (kernels,)
        About the mean of the kernel values that H is made of: what rounding is measured by.
    """

    forms: FloatArray
    means: FloatArray

    @classmethod
    def ordered(cls, parts: Sequence[PairedForms], groups: Sequence[Sequence[int]]) -> PairedForms:
        """Put the sums of groups of kernels together, in the order of the kernels."""
        return cls(*_in_order(parts, groups))


def _in_order(parts: Sequence[Any], groups: Sequence[Sequence[int]]) -> list[FloatArray]:
    """Return every field of some sums, for all kernels in their order."""
    order = np.argsort(np.concatenate(groups))
    names = [field.name for field in fields(parts[0])]
    return [np.concatenate([getattr(part, name) for part in parts])[order] for name in names]


@dataclass(frozen=True, eq=False)
class FormTask:
    """What `Engine.many_forms` is asked for: `FamilyForms` of one sample, or `PairedForms` of two.

    Attributes
    ----------
    kernels : sequence of Kernel
        The kernels; Gaussian or Laplace.
    samples : tuple of arrays
        ``(z,)``, or ``(x, y)`` with as many rows.
    vectors : array of shape (rows, vectors)
        The vectors, a NumPy array or where the samples are.
    """

    kernels: Sequence[Kernel]
    samples: tuple[Array, ...]
    vectors: Any


class Engine(ABC):
    """Computes sums of Gram matrices.

    Subclass it, giving `sums` and `quadratic_forms`, and the engine works in every function of nammd.
    """

    reads_files: ClassVar[bool] = False
    """Whether the workers of this engine read files by themselves, as far as they can."""

    @abstractmethod
    def sums(self, kernel: Kernel, *parts: tuple[Array, ...]) -> Summed:
        """Return the sums of several Gram matrices, and which engine computed them.

        A part ``(x,)`` asks for the `WithinSums` of x, a part ``(x, y)`` for the `CrossSums` of x
        and y. All of them at once, so that an engine can schedule them together.
        """

    @abstractmethod
    def quadratic_forms(self, kernel: Kernel, z: Array, vectors: NDArray[Any]) -> FloatArray:
        """Return ``v' K v`` for every column v, K the Gram matrix of z less its diagonal."""

    def can_compute(self, kernel: Kernel) -> bool:
        """Tell whether this engine computes a kernel itself, or leaves it to another one.

        It is a promise on the kernel alone; widely spread data may still have to be left to another engine.
        """
        return True

    def precision_for(self, *samples: Array) -> Precision:
        """Return the floating-point type of the kernel values."""
        return precision_of(samples[0], samples[-1])

    def many_sums(self, kernels: Sequence[Kernel], *parts: tuple[Array, ...]) -> list[Summed]:
        """Return `sums` for every one of some kernels, that of the largest bandwidth first.

        One after the other, unless an engine shares work between them.
        """
        with passes(*[1.0] * len(kernels)):
            return [self.sums(kernel, *parts) for kernel in kernels]

    def pair_sums(self, kernel: Kernel, x: Array, y: Array) -> KernelSums:
        """Return the sums of a pair of samples."""
        within_x, within_y, cross = self.sums(kernel, (x,), (y,), (x, y))
        return KernelSums(within_x, within_y, cross, float(kernel.bound))

    def pair_means(
        self, kernels: Sequence[Kernel], x: Array, copies: Sequence[Array]
    ) -> list[list[PairMeans]]:
        """Return `PairMeans` of a sample with each of some copies of it, for every kernel.

        From their sums, unless an engine knows means without them. The kernel of the largest bandwidth is
        the first.
        """
        every = self.many_sums(kernels, (x,), *((copy,) for copy in copies), *((x, copy) for copy in copies))
        found, count = [], len(copies)
        for kernel, (own, *parts) in zip(kernels, every, strict=True):
            means = []
            for copy, within, cross in zip(copies, parts[:count], parts[count:], strict=True):
                if cross.diagonal is None:  # not known where it costs more
                    cross = replace(cross, diagonal=float(row_by_row(kernel, x, copy).sum()))
                means.append(PairMeans(own.mean, within.mean, cross.off_diagonal_mean))
            found.append(means)
        return found

    def split_sums(self, kernel: Kernel, sample: Array, splits: Sequence[Split]) -> Iterator[Summed]:
        """Yield the sums within the parts of each division of a sample into two, and between them.

        A division is the positions of the rows of both parts, which together are all rows. One after the
        other, unless an engine shares work between them.
        """
        for positions in splits:
            x, y = (take_rows(sample, part) for part in positions)
            yield self.sums(kernel, (x,), (y,), (x, y))

    def unit_sums(self, kernel: Kernel, *parts: tuple[tuple[Array, Units], ...]) -> Summed:
        """Return the sums of several Gram matrices over pairs of units, of rows that belong together.

        A part ``((x, units),)`` asks for the `UnitWithin` of x, a part ``((x, units), (y, units))`` for the
        `UnitCross` of x and y. By default `Tiles` computes, where the arrays are.
        """
        return self.many_unit_sums([kernel], *parts)[0]

    def many_unit_sums(
        self, kernels: Sequence[Kernel], *parts: tuple[tuple[Array, Units], ...]
    ) -> list[Summed]:
        """Return `unit_sums` for every one of some kernels."""
        from nammd.engines.tiles import Tiles

        return Tiles().many_unit_sums(kernels, *parts)

    def family_forms(self, kernels: Sequence[Kernel], z: Array, vectors: NDArray[Any]) -> FamilyForms:
        """Return quadratic forms, row sums and squares for many kernels."""
        within = [next(iter(self.sums(kernel, (z,)))) for kernel in kernels]
        return FamilyForms(
            np.array([self.quadratic_forms(kernel, z, vectors) for kernel in kernels]),
            np.array([w.rows for w in within]),
            np.array([w.squares for w in within]),
        )

    def paired_forms(
        self, kernels: Sequence[Kernel], x: Array, y: Array, vectors: NDArray[Any]
    ) -> PairedForms:
        """Return ``v' H v`` for samples of as many rows; see `PairedForms`.

        It is the form of the pooled sample with the vectors (v, -v), less the pairs of one row number.
        """
        vectors, n = np.asarray(vectors), int(x.shape[0])
        sums = self.family_forms(kernels, pooled_sample(x, y), np.concatenate([vectors, -vectors]))
        forms = sums.forms + 2 * paired_values(kernels, x, y) @ np.square(vectors, dtype=np.float64)
        return PairedForms(forms, sums.rows.sum(axis=1) / (2 * n * (2 * n - 1)))

    def many_forms(self, tasks: Sequence[FormTask]) -> list[Any]:
        """Return `FamilyForms` or `PairedForms` for every task.

        One after the other, unless an engine can do many small ones at once.
        """
        return [
            self.family_forms(task.kernels, task.samples[0], task.vectors)
            if len(task.samples) == 1
            else self.paired_forms(task.kernels, task.samples[0], task.samples[1], task.vectors)
            for task in tasks
        ]

    def family_work(self, kernels: Sequence[Kernel], z: Array, vectors: int) -> list[float]:
        """Return the shares of the work of the runs that `family_forms` takes for so many vectors."""
        return [1.0] * len(kernels) + [form_work(vectors)] * len(kernels)

    def described(self, *samples: Array, kernel: Kernel | None = None) -> str:
        """Say which engine computes with samples: its settings, and where, if that is not NumPy."""
        if isinstance(samples[0], np.ndarray):
            return repr(self)
        return f"{self!r} on {place(samples[0])}"


def form_work(vectors: int) -> float:
    """Return about how many times the work of plain sums it is to multiply by so many vectors."""
    return 1 + vectors / 20


def repr_of_what_is_set(engine: Any) -> str:
    """Return the repr of a dataclass with those fields only that differ from their defaults."""
    chosen = [
        f"{field.name}={getattr(engine, field.name)!r}"
        for field in fields(engine)
        if field.repr and getattr(engine, field.name) != field.default
    ]
    return f"{type(engine).__name__}({', '.join(chosen)})"


__all__ = [
    "CrossSums",
    "Engine",
    "FamilyForms",
    "FormTask",
    "KernelSums",
    "PairMeans",
    "PairedForms",
    "Summed",
    "WithinSums",
]
