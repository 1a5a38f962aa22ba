"""Quadratic forms of many kernels, for one sample or for many of one size, on a GPU.

What the programs of `nammd.engines.cuda.stacked` are given, and how their parts become sums in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nammd.data.arrays import to_numpy
from nammd.engines.cuda.launch import FUSED, VECTORS, Shape, first_that_fits
from nammd.engines.protocol import FamilyForms, FormTask, PairedForms
from nammd.kernels.base import Kernel
from nammd.kernels.family import families
from nammd.kernels.operations import scaled_distance

_BLOCK = 128
"""Rows are filled up to a multiple of this."""

_STACK_BYTES = 1 << 31
"""For the distances and the vectors of the samples that are computed together."""

_SHARE = 0.4
"""Of the free memory of a device, what the distances of one sample may take."""


def can_stack(task: FormTask) -> bool:
    """Tell whether the programs do for a task: its vectors are exact in half precision, and there is room."""
    import torch

    place = task.samples[0].device
    if not _exact(task.vectors):
        return False
    if place.type != "cuda":
        return True  # the interpreter
    free, _ = torch.cuda.mem_get_info(place)
    return _bytes(task) <= _SHARE * free


def _exact(vectors: Any) -> bool:
    """Tell whether half precision holds some vectors exactly; it holds any whole number of 8 bits."""
    if str(vectors.dtype).removeprefix("torch.") in ("int8", "uint8", "bool", "float16"):
        return True
    return bool((vectors.half() == vectors).all())


def forms_of_many(tasks: Sequence[FormTask]) -> list[Any]:
    """Return `FamilyForms` or `PairedForms` for every task; those of one shape are computed together."""
    alike: dict[Any, list[int]] = {}
    for position, task in enumerate(tasks):
        groups = families(task.kernels)
        key = (
            *(tuple(sample.shape) for sample in task.samples),
            int(task.vectors.shape[1]),
            tuple((scaled_distance(task.kernels[g[0]]).metric, tuple(g)) for g in groups),
        )
        alike.setdefault(key, []).append(position)
    found: list[Any] = [None] * len(tasks)
    for positions in alike.values():
        at_once = max(1, _STACK_BYTES // _bytes(tasks[positions[0]]))
        for start in range(0, len(positions), at_once):
            some = positions[start : start + at_once]
            for position, sums in zip(some, _together([tasks[p] for p in some]), strict=True):
                found[position] = sums
    return found


def _bytes(task: FormTask) -> int:
    rows = sum(_padded(sample.shape[0]) for sample in task.samples)
    return 4 * rows * rows + 2 * rows * int(task.vectors.shape[1])


def _padded(rows: int) -> int:
    return -(-int(rows) // _BLOCK) * _BLOCK


def _together(tasks: list[FormTask]) -> list[Any]:
    """Return the sums of tasks of one shape."""
    vectors = _vectors(tasks)
    data, groups = _stack(tasks), families(tasks[0].kernels)
    paired = len(tasks[0].samples) == 2
    rows = int(tasks[0].samples[0].shape[0])
    parts = [_kind([[t.kernels[k] for k in g] for t in tasks], data, vectors, rows, paired) for g in groups]
    count = int(tasks[0].vectors.shape[1])
    if paired:
        return [
            PairedForms.ordered([PairedForms(p[0][t, :, :count], p[1][t]) for p in parts], groups)
            for t in range(len(tasks))
        ]
    return [
        FamilyForms.ordered(
            [FamilyForms(p[0][t, :, :count], p[2][t, :, :rows], p[3][t]) for p in parts], groups
        )
        for t in range(len(tasks))
    ]


def _stack(tasks: list[FormTask]) -> Any:
    """Return the samples column by column, of shape (tasks, columns, padded rows), centred."""
    import torch

    first = tasks[0].samples
    height, columns = _padded(first[0].shape[0]), int(first[0].shape[1])
    data = torch.zeros(
        (len(tasks), columns, height * len(first)), dtype=torch.float32, device=first[0].device
    )
    for position, task in enumerate(tasks):
        centre = task.samples[0].double().mean(0)
        for side, sample in enumerate(task.samples):
            at = slice(side * height, side * height + sample.shape[0])
            data[position, :, at] = (sample.double() - centre).T.float()
    return data


def _vectors(tasks: list[FormTask]) -> Any:
    """Return the vectors in half precision, filled up with zeros."""
    import torch

    rows, count = tasks[0].vectors.shape
    place = tasks[0].samples[0].device
    shape = (len(tasks), _padded(rows), -(-int(count) // VECTORS) * VECTORS)
    made = torch.zeros(shape, dtype=torch.float16, device=place)
    for position, task in enumerate(tasks):
        made[position, :rows, :count] = torch.asarray(task.vectors, device=place)
    return made


def _kind(
    kernels: list[list[Kernel]], data: Any, vectors: Any, rows: int, paired: bool
) -> tuple[Any, Any, Any, Any]:
    """Return forms, mean kernel values, row sums and squares of the kernels of one kind, for every task."""
    import torch

    tasks, number, padded = len(kernels), len(kernels[0]), int(data.shape[2])
    each = [[scaled_distance(kernel) for kernel in some] for some in kernels]
    factors = torch.tensor(
        [[one.factor * math.log2(math.e) for one in some] for some in each],
        dtype=torch.float32,
        device=data.device,
    )
    distances = _distances(data, rows, padded // 2 if paired else padded, each[0][0].metric == "sqeuclidean")
    row_sums, squares = _sums(distances, factors)
    there = rows * (2 if paired else 1)
    means = row_sums.sum(2) / (there * (there - 1))
    # What is taken off, so that half precision has digits to spare; differences are about zero already.
    shifts = torch.zeros_like(means, dtype=torch.float32) if paired else means.float()
    parts = first_that_fits(
        [Shape(128, 64, 8, 3), Shape(64, 64, 4, 2), Shape(64, 64, 4, 1)],
        lambda shape: _forms(shape, distances, factors, shifts, vectors, paired),
    )
    forms = 2 * parts.sum(2, dtype=torch.float64)
    if not paired:
        total = vectors.sum(1, dtype=torch.float64)
        own = (vectors * vectors).sum(1, dtype=torch.float64)
        forms += shifts.double()[:, :, None] * (total**2 - own)[:, None, :]
    assert forms.shape[:2] == (tasks, number)
    return to_numpy(forms), to_numpy(means), to_numpy(row_sums), to_numpy(squares)


def _distances(data: Any, rows: int, half: int, squared: bool) -> Any:
    import torch

    from nammd.engines.cuda.stacked import FAR, stacked_distances

    tasks, columns, padded = data.shape
    out = torch.empty((tasks, padded, padded), dtype=torch.float32, device=data.device)
    stacked_distances[(padded // 64, padded // 64, tasks)](
        data, out, columns, padded, half, rows,
        SQUARED=squared, BM=64, BN=64, FAR=FAR, num_warps=4, **FUSED,
    )  # fmt: skip
    return out


def _sums(distances: Any, factors: Any) -> tuple[Any, Any]:
    """Return the row sums and the squares of every task and kernel, in float64."""
    import torch

    from nammd.engines.cuda.stacked import stacked_sums

    (tasks, kernels), padded = factors.shape, distances.shape[1]
    options = {"dtype": torch.float32, "device": distances.device}
    rows = torch.empty((tasks, kernels, padded), **options)
    squares = torch.empty((tasks, kernels, padded // 32), **options)
    stacked_sums[(padded // 32, tasks * kernels)](
        distances, factors, rows, squares, padded, kernels, padded // 128,
        BM=32, BN=128, num_warps=4, **FUSED,
    )  # fmt: skip
    return rows.double(), squares.sum(2, dtype=torch.float64)


def _forms(shape: Shape, distances: Any, factors: Any, shifts: Any, vectors: Any, paired: bool) -> Any:
    """Return, for every task, kernel, tile of rows and vector, the sum over pairs above the diagonal."""
    import torch

    from nammd.engines.cuda.stacked import stacked_forms

    (tasks, kernels), (_, height, count) = factors.shape, vectors.shape
    tiles = height // shape.rows
    forms = torch.empty((tasks, kernels, tiles, count), dtype=torch.float32, device=distances.device)
    stacked_forms[(tiles, count // VECTORS, tasks * kernels)](
        distances, factors, shifts, vectors, forms, distances.shape[1], height, count, kernels,
        height // shape.columns,
        PAIRED=paired, BM=shape.rows, BN=shape.columns, BV=VECTORS,
        num_warps=shape.warps, num_stages=shape.stages, **FUSED,
    )  # fmt: skip
    return forms
