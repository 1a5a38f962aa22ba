"""The GPU engine: torch tensors on a CUDA device, and programs that never write a tile to memory.

What the programs do is in `nammd.engines.cuda.programs`, what they are fed in `nammd.engines.cuda.operands`.
Here stands what goes on around them: which tiles, how much at once, and adding up the parts in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, to_numpy
from nammd.engines.cuda import unit_sums, weighted_rows
from nammd.engines.cuda.families import can_stack, forms_of_many
from nammd.engines.cuda.fetching import UnderWay, all_done
from nammd.engines.cuda.launch import (
    VECTORS,
    Ladder,
    Shape,
    add_up,
    first_that_fits,
    launch_diagonal,
    launch_forms,
    launch_sums,
    shapes_of_forms,
    shapes_of_sums,
    turns,
)
from nammd.engines.cuda.operands import Operands, padded_rows, prepare
from nammd.engines.cuda.unit_sums import arranged
from nammd.engines.cuda.weighted_rows import only_weights
from nammd.engines.features import by_features
from nammd.engines.protocol import Engine, FamilyForms, FormTask, PairedForms, Split, Summed
from nammd.engines.sums import CrossSums, PairMeans, WithinSums
from nammd.engines.tiles.engine import Tiles
from nammd.engines.tiles.jobs import typical_value
from nammd.engines.units import Units
from nammd.kernels.base import Kernel, Precision
from nammd.kernels.family import powers_of

PRECISIONS = ("high", "fast")

_BUFFER_BYTES = 1 << 29
"""For the row sums of tiles that are not added up yet."""


@dataclass(frozen=True)
class Cuda(Engine):
    """Compute on an NVIDIA GPU, with torch CUDA tensors and Triton.

    Tiles of the Gram matrix are made and reduced within the processor; memory grows with the number of
    rows only. Gaussian, Mahalanobis, Laplace and `Deep` kernels, their multiples, and sums of those that
    are not Laplace have programs of their own. Any other kernel, and data too widely spread for
    float32, are computed by `Tiles` on the same device.

    Parameters
    ----------
    precision : {"high", "fast"}
        ``"high"``: the accuracy of float32. ``"fast"``: data rounded once, to 11 significant bits; the
        result is that of data moved by at most one part in 4000. Sums over tiles are accumulated in
        float64 in any case.

    Examples
    --------
    >>> import nammd
    >>> nammd.Cuda(precision="fast")
    Cuda(precision='fast')

    With two torch tensors on a GPU, ``nammd.distance(x, y)`` uses it by itself.
    """

    precision: str = "high"

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be 'high' or 'fast', not {self.precision!r}")

    def sums(self, kernel: Kernel, *parts: tuple[Array, ...]) -> Summed:
        """Return `WithinSums` for every part ``(x,)`` and `CrossSums` for every part ``(x, y)``."""
        return self.many_sums([kernel], *parts)[0]

    def many_sums(self, kernels: Sequence[Kernel], *parts: tuple[Array, ...]) -> list[Summed]:
        """Return the same for every one of some kernels; powers of one another's values cost little more."""
        samples = list({id(sample): sample for part in parts for sample in part}.values())
        self._require_device(samples[0])
        if by_features(kernels, parts):
            return Tiles().many_sums(kernels, *parts)
        ladder = Ladder.of(powers_of(kernels))
        if ladder is None:
            return super().many_sums(kernels, *parts)
        ready = self._operands(kernels[0], samples)
        if ready is None:
            return Tiles().many_sums(kernels, *parts)
        operands = {id(sample): one for sample, one in zip(samples, ready, strict=True)}
        given = [tuple(operands[id(sample)] for sample in part) for part in parts]
        found = self._found(given, kernels[0].exponentials()[0].power, ladder)
        by = self.described(samples[0])
        return [Summed(tuple(each[k] for each in found), by) for k in range(ladder.count)]

    def pair_means(
        self, kernels: Sequence[Kernel], x: Array, copies: Sequence[Array]
    ) -> list[list[PairMeans]]:
        """Return `PairMeans` of a sample and copies of it, computed on the device."""
        if any(map(self.can_compute, kernels)):
            return super().pair_means(kernels, x, copies)
        return Tiles().pair_means(kernels, x, copies)

    def split_sums(self, kernel: Kernel, sample: Array, splits: Sequence[Split]) -> Iterator[Summed]:
        """Yield the sums of divisions of a sample; those of kernels with features share their walks."""
        self._require_device(sample)
        if by_features([kernel], [(sample,)]):
            return Tiles().split_sums(kernel, sample, splits)
        return super().split_sums(kernel, sample, splits)

    def many_unit_sums(
        self, kernels: Sequence[Kernel], *parts: tuple[tuple[Array, Units], ...]
    ) -> list[Summed]:
        """Return `UnitWithin` for every part ``((x, units),)`` and `UnitCross` for the others."""
        if by_features(kernels, parts):
            return Tiles().many_unit_sums(kernels, *parts)
        return [self._unit_sums(kernel, *parts) for kernel in kernels]

    def _unit_sums(self, kernel: Kernel, *parts: tuple[tuple[Array, Units], ...]) -> Summed:
        samples = {(id(sample), id(units)): (sample, units) for part in parts for sample, units in part}
        first = parts[0][0][0]
        self._require_device(first)
        ready: Sequence[Any] | None = None
        rows_alone = only_weights(parts)
        if self.can_compute(kernel):
            from nammd.engines.cuda.programs import EXTRA

            make = weighted_rows.weighted if rows_alone else arranged
            ready = make(list(samples.values()), kernel.exponentials(), EXTRA, self._two)
        if ready is None or not all(one.operands.in_reach for one in ready):
            return Tiles().unit_sums(kernel, *parts)
        there, power = dict(zip(samples, ready, strict=True)), kernel.exponentials()[0].power
        given = [tuple(there[id(sample), id(units)] for sample, units in part) for part in parts]
        if not rows_alone:
            return Summed(tuple(unit_sums.summed(given, power, self._two)), self.described(first))

        def begun(part: tuple[Any, ...]) -> UnderWay:
            one, other, alone = part[0], part[-1], len(part) == 1
            sums = self._sums(one.operands, other.operands, power, alone, weighted_rows.SIZED)
            return weighted_rows.within(one, *sums) if alone else weighted_rows.cross(one, other, *sums)

        return Summed(tuple(all_done(begun, given)), self.described(first))

    def can_compute(self, kernel: Kernel) -> bool:
        """Tell whether there are programs for a kernel; any other is left to `Tiles` on the same device."""
        terms = kernel.exponentials()
        return bool(terms) and (len(terms) == 1 or all(term.power == 2 for term in terms))

    def precision_for(self, *samples: Array) -> Precision:
        """Return the precision of its results."""
        return "float32"

    def described(self, *samples: Array, kernel: Kernel | None = None) -> str:
        """Say which engine computes a kernel: this one, or the one that it leaves the kernel to."""
        mine = kernel is None or self.can_compute(kernel)
        return super().described(*samples) if mine else Tiles().described(*samples)

    def quadratic_forms(self, kernel: Kernel, z: Array, vectors: NDArray[Any]) -> FloatArray:
        """Return ``v' K v`` for every column v, K the Gram matrix of z less its diagonal."""
        import torch

        self._require_device(z)
        bound = float(kernel.bound)
        # Values between -1 and 1, whatever the weights of the kernel: they are split into half precision.
        ready = self._operands(kernel, [z], bound)
        given = torch.asarray(vectors, device=z.device)
        count = given.shape[1]
        signs = torch.zeros(
            (padded_rows(z.shape[0]), -(-count // VECTORS) * VECTORS), dtype=torch.float16, device=z.device
        )
        signs[: z.shape[0], :count] = given
        exact = bool((signs[: z.shape[0], :count] == given).all())
        if ready is None or not exact:
            return Tiles().quadratic_forms(kernel, z, vectors)
        [one], power = ready, kernel.exponentials()[0].power
        some = z[:: max(1, z.shape[0] // 64)]
        shift = typical_value(kernel.bind(some, some), some.shape[0]) / bound
        parts = first_that_fits(
            shapes_of_forms(), lambda shape: launch_forms(shape, one, signs, shift, power, self._two)
        )
        total, squares = signs.sum(0, dtype=torch.float64), (signs * signs).sum(0, dtype=torch.float64)
        forms = 2 * parts.sum(0, dtype=torch.float64) + shift * (total**2 - squares)
        return bound * to_numpy(forms)[:count]

    def family_forms(self, kernels: Sequence[Kernel], z: Array, vectors: NDArray[Any]) -> FamilyForms:
        """Return quadratic forms, row sums and squares for many kernels, which share their distances."""
        task = self._task(kernels, (z,), vectors)
        if not can_stack(task):
            return super().family_forms(kernels, z, to_numpy(vectors))
        [found] = forms_of_many([task])
        return cast(FamilyForms, found)

    def paired_forms(
        self, kernels: Sequence[Kernel], x: Array, y: Array, vectors: NDArray[Any]
    ) -> PairedForms:
        """Return the forms of the differences of paired rows."""
        task = self._task(kernels, (x, y), vectors)
        if not can_stack(task):
            return super().paired_forms(kernels, x, y, to_numpy(vectors))
        [found] = forms_of_many([task])
        return cast(PairedForms, found)

    def many_forms(self, tasks: Sequence[FormTask]) -> list[Any]:
        """Return the same for many tasks; those of one shape in one launch."""
        moved = [self._task(task.kernels, task.samples, task.vectors) for task in tasks]
        ready = all(can_stack(task) for task in moved)
        return forms_of_many(moved) if ready else super().many_forms(tasks)

    def _task(self, kernels: Sequence[Kernel], samples: tuple[Array, ...], vectors: Any) -> FormTask:
        """Return a task with its vectors where the samples are."""
        import torch

        self._require_device(samples[0])
        return FormTask(kernels, samples, torch.asarray(vectors, device=samples[0].device))

    def _operands(self, kernel: Kernel, samples: list[Array], scale: float = 1.0) -> list[Operands] | None:
        """Return operands for the programs, or None where they would not do."""
        if not self.can_compute(kernel):
            return None
        from nammd.engines.cuda.programs import EXTRA

        ready = prepare(samples, kernel.exponentials(), EXTRA, self._two, scale)
        return ready if all(one.in_reach for one in ready) else None

    def _found(
        self, parts: Sequence[tuple[Operands, ...]], power: int, ladder: Ladder
    ) -> list[Sequence[WithinSums | CrossSums]]:
        """Return the sums of every kernel, for every part."""

        def begun(part: tuple[Operands, ...]) -> UnderWay:
            one, other = part[0], part[-1]
            rows, columns, squares = self._sums(one, other, power, len(part) == 1, ladder)
            if len(part) == 1:
                return UnderWay(_within, (rows + columns)[:, : one.rows], squares)
            paired = _diagonals(one, other, power, ladder)
            return UnderWay(_cross, rows[:, : one.rows], columns[:, : other.rows], squares, *paired)

        return all_done(begun, parts)

    def _sums(
        self, one: Operands, other: Operands, power: int, within: bool, ladder: Ladder
    ) -> tuple[Any, Any, Any]:
        """Begin with row sums, column sums and squares of every kernel, in float64, on the device."""
        shapes = shapes_of_sums(one, power, self._two, ladder)
        found: tuple[Any, Any, Any] = first_that_fits(
            shapes, lambda shape: self._sums_in(shape, one, other, power, within, ladder)
        )
        return found

    def _sums_in(
        self, shape: Shape, one: Operands, other: Operands, power: int, within: bool, ladder: Ladder
    ) -> tuple[Any, Any, Any]:
        """Return the same in tiles of a given shape."""
        import torch

        kernels, place = ladder.outputs, one.high.device
        rows = torch.zeros((kernels, one.padded), dtype=torch.float64, device=place)
        columns = torch.zeros((kernels, other.padded), dtype=torch.float64, device=place)
        squares = torch.zeros(kernels, dtype=torch.float64, device=place)
        for turn in turns(shape, one.padded, other.padded, within, _BUFFER_BYTES // (4 * kernels)):
            row_sums, column_sums, part = (
                torch.empty((kernels, *size), dtype=torch.float32, device=place) for size in turn.sizes
            )
            if within:
                row_sums[:, :, turn.columns.start :].zero_()  # some tiles there are below the diagonal
            results = row_sums, column_sums, part
            launch_sums(shape, (one, other), results, turn, power, self._two, within, ladder)
            add_up(row_sums, rows)
            columns[:, turn.columns] = column_sums.sum(1, dtype=torch.float64)
            squares += part.sum((1, 2), dtype=torch.float64)
            del row_sums, results  # before the next ones are made
        if within:
            tiles = one.padded // shape.rows
            part = torch.empty((kernels, tiles), dtype=torch.float32, device=place)
            own = torch.empty((kernels, one.padded), dtype=torch.float32, device=place)
            launch_diagonal(shape, one, (own, part), power, self._two, ladder)
            rows += own
            squares = 2 * squares + part.sum(1, dtype=torch.float64)
        return rows, columns, squares

    @property
    def _two(self) -> bool:
        """Whether numbers are split into two halves."""
        return self.precision == "high"

    def _require_device(self, sample: Array) -> None:
        device = getattr(getattr(sample, "device", None), "type", None)
        if device != "cuda" and not (device == "cpu" and _interpreting()):
            raise TypeError(
                "the Cuda engine needs torch tensors on a CUDA device, such as torch.asarray(x, "
                f"device='cuda'); got {type(sample).__name__}" + (f" on {device}" if device else "")
            )


def _interpreting() -> bool:
    """Tell whether Triton runs its programs on the CPU, step by step, as tests do."""
    import triton

    return bool(triton.knobs.runtime.interpret)


def _within(rows: FloatArray, squares: FloatArray) -> list[WithinSums]:
    return list(map(WithinSums, rows, squares.tolist()))


def _cross(
    rows: FloatArray, columns: FloatArray, squares: FloatArray, *paired: FloatArray
) -> list[CrossSums]:
    diagonals = paired[0].tolist() if paired else [None] * len(rows)
    return list(map(CrossSums, rows, columns, squares.tolist(), diagonals))


def _diagonals(one: Operands, other: Operands, power: int, ladder: Ladder) -> list[Any]:
    """Begin with the sum of ``k(x_i, y_i)`` for every kernel, from the same rounded rows, if in pairs."""
    import torch

    if one.rows != other.rows:
        return []
    if power == 1:
        distance = (one.high - other.high).abs().double().sum(0)
        exponents = ((one.left + other.right).double() - distance)[: one.rows]
        return [torch.stack([torch.exp2(raised * exponents).sum() for raised in ladder.powers()])]
    found: Any = 0.0
    for at in range(0, one.padded, 1 << 16):
        rows = slice(at, at + (1 << 16))
        a, b, c, d = (t[:, rows].double() for t in (one.high, one.low, other.high, other.low))
        product = a * c if one.low is one.high else a * c + a * d + b * c
        norms = (one.left[:, rows].double() * other.right[:, rows].double()).sum(2)
        values = torch.exp2(product.sum(2) + norms).sum(0)
        found = found + torch.stack([(values**raised).sum() for raised in ladder.powers()])
    return [found]
