"""How the work is cut for the GPU: the shapes of tiles and panels, and the launches themselves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from nammd.engines.cuda.operands import Operands

_RESIDENT_WIDTH = 128
"""The widest rows of which a tile of columns stays in shared memory."""

_PROGRAMS = 4096
"""As many keep every part of the largest devices busy, up to the last of them."""

_PANEL_ROWS = 16384
"""Column sums of so many rows are held in float32, not more."""

_MOST_SCALES = 5
"""Sums of so many kernels are left behind by one program."""

_OF_THREE = 168
"""Three programs of four warps are at work on a multiprocessor if no thread takes more registers."""

FUSED = {"enable_fp_fusion": True}
"""Multiply and add in one step, whatever a version of Triton does by itself: digits must not depend on it."""

_WIDTH = 512
"""So many columns are added up by one program."""

VECTORS = 128
"""How many vectors a program multiplies with the same kernel values."""


@dataclass(frozen=True)
class Shape:
    """The size of a tile and how many warps share it.

    Attributes
    ----------
    rows, columns : int
        The size; `rows` divides `columns`, and `columns` divides the filled-up number of rows.
    warps, stages : int
        Warps per program, and how many tiles are under way at once.
    piece : int
        Of wide rows, so many columns are multiplied at a time.
    registers : int or None
        The most that a thread may take, where the assembler would take more than it has to.
    """

    rows: int
    columns: int
    warps: int
    stages: int
    piece: int = 64
    registers: int | None = None

    def panel(self, tiles: int) -> int:
        """Return how many tiles of rows a program walks down, given the number of tiles in all."""
        square = self.columns // self.rows  # tiles of rows that make up a block on the diagonal
        wanted = min(_PANEL_ROWS // self.rows, tiles // _PROGRAMS)
        return max(1, wanted // square) * square


@dataclass(frozen=True)
class Turn:
    """The tiles of one launch: some neighbouring tiles of columns, with all rows that they meet.

    Attributes
    ----------
    shape : Shape
        The shape of the tiles.
    first, count : int
        The first tile of columns, and how many there are.
    reach : int
        How many rows they meet.
    """

    shape: Shape
    first: int
    count: int
    reach: int

    @property
    def columns(self) -> slice:
        """The columns."""
        return slice(self.first * self.shape.columns, (self.first + self.count) * self.shape.columns)

    @property
    def tiles(self) -> int:
        """The tiles of rows."""
        return self.reach // self.shape.rows

    @property
    def panel(self) -> int:
        """How many of these a program walks down."""
        return self.shape.panel(self.tiles * self.count)

    @property
    def panels(self) -> int:
        """How many programs walk down a tile of columns, one after the other."""
        return -(-self.tiles // self.panel)

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """The sizes of what is left behind: row sums of tiles, column sums of panels, and squares."""
        width = self.count * self.shape.columns
        return (self.count, self.reach), (self.panels, width), (self.panels, self.count)


def turns(shape: Shape, rows: int, columns: int, within: bool, most: int) -> Iterator[Turn]:
    """Cut the tiles of a matrix into launches, each of which leaves at most so many row sums of tiles behind.

    Of a symmetric matrix columns meet the rows above them alone: so there are more of them at first.
    """
    first, every = 0, columns // shape.columns
    while first < every:
        count = most // rows
        if within:
            count = int(math.sqrt(first * first / 4 + most / shape.columns) - first / 2)
        count = min(max(count, 1), every - first)
        yield Turn(shape, first, count, (first + count) * shape.columns if within else rows)
        first += count


def is_resident(one: Operands, power: int) -> bool:
    """Tell whether the program for one term and few columns can be used."""
    return power == 2 and one.high.shape[0] == 1 and one.width <= _RESIDENT_WIDTH


@dataclass(frozen=True)
class Ladder:
    """How many kernels there are, and how often a tile is squared from each to the next.

    Attributes
    ----------
    count, squarings : int
        These.
    sized : bool
        Whether sums weighted by the sizes of rows are wanted too, of one kernel.
    """

    count: int = 1
    squarings: int = 0
    sized: bool = False

    @classmethod
    def of(cls, powers: tuple[int, ...] | None) -> Ladder | None:
        """Return it for kernels of some powers; None where the programs do not know such steps."""
        if powers is None or len(powers) > _MOST_SCALES:
            return None
        steps = {high // low for low, high in itertools.pairwise(powers)}
        return cls(len(powers), steps.pop().bit_length() - 1 if steps else 0) if len(steps) <= 1 else None

    @property
    def outputs(self) -> int:
        """How many sums there are for every row."""
        return self.count + self.sized

    @property
    def constants(self) -> dict[str, Any]:
        """What programs are compiled for."""
        return {"S": self.count, "Q": self.squarings, "SIZED": self.sized}

    def powers(self) -> list[int]:
        """Return the powers."""
        return [1 << (self.squarings * k) for k in range(self.count)]


ONE_KERNEL = Ladder()


def shapes_of_sums(one: Operands, power: int, two: bool, ladder: Ladder = ONE_KERNEL) -> list[Shape]:
    """Return shapes for sums, the fastest on Hopper chips first; the later ones need less of a chip."""
    if ladder.outputs > 2 and power == 2:  # sums of several kernels take more registers
        if is_resident(one, power):
            return [Shape(64, 64, 4, stages, registers=_OF_THREE) for stages in (3, 1)]
        return [Shape(64, 64, 4, 2), Shape(64, 64, 4, 1), Shape(64, 64, 4, 1, 16)]
    if power == 1:
        return [Shape(16, 128, 1, 1), Shape(32, 64, 4, 1)]
    if is_resident(one, power):
        # Programs small enough for several on a multiprocessor: one exponentiates while another multiplies.
        # Where there is room for a third tile under way, or there are few programs, that is better still.
        stages = 2 if two and not ladder.sized else 3
        return [Shape(64, 128, 4, stages), Shape(64, 64, 4, 2), Shape(64, 64, 4, 1)]
    if one.high.shape[0] == 1:
        # Three stages are no faster, and the assembler takes seven seconds over them.
        return [Shape(128, 128, 8, 2), Shape(64, 128, 4, 2), Shape(64, 64, 4, 1)]
    return [Shape(64, 128, 4, 3, 32), Shape(64, 64, 4, 2, 32), Shape(64, 64, 4, 1, 16)]


def first_that_fits(shapes: list[Shape], run: Callable[[Shape], Any]) -> Any:
    """Run with the first shape for which the chip has enough shared memory."""
    from triton.runtime.errors import OutOfResources

    for shape in shapes[:-1]:
        try:
            return run(shape)
        except OutOfResources:
            continue
    return run(shapes[-1])


def launch_sums(
    shape: Shape,
    operands: tuple[Operands, Operands],
    results: tuple[Any, Any, Any],
    turn: Turn,
    power: int,
    two: bool,
    within: bool,
    ladder: Ladder = ONE_KERNEL,
) -> None:
    """Compute some tiles of columns over all panels of rows.

    Parameters
    ----------
    shape : Shape
        The shape of the tiles.
    operands : tuple of Operands
        The samples whose rows are the rows and the columns of the matrix.
    results : tuple of torch.Tensor
        Where to write row sums (outputs, tiles of columns, rows), column sums (outputs, panels, columns), and
        squares (outputs, panels, tiles of columns).
    turn : Turn
        Which tiles.
    power : {1, 2}
        Which distance.
    two : bool
        Whether numbers are split into two.
    within : bool
        Whether the matrix is symmetric, and its diagonal is left out.
    ladder : Ladder
        Of which powers of the kernel values.
    """
    from nammd.engines.cuda import programs

    one, other = operands
    arguments = (
        one.high, one.low, one.left, other.high, other.low, other.right, one.sizes, other.sizes, *results,
        turn.first, turn.panel, turn.tiles, results[0].stride(0), turn.reach, int(within),
    )  # fmt: skip
    if is_resident(one, power):
        programs.sums_resident[(turn.count, turn.panels)](
            *arguments,
            BM=shape.rows,
            BN=shape.columns,
            num_warps=shape.warps,
            D=one.width,
            TWO=two,
            E=programs.EXTRA,
            WARPS=shape.warps,
            STAGES=shape.stages,
            maxnreg=shape.registers,
            **ladder.constants,
            **FUSED,
        )
        return
    programs.sums_streamed[(turn.count, turn.panels)](
        *arguments,
        one.padded,
        other.padded,
        **constants(shape, one, power, two),
        **ladder.constants,
        num_stages=shape.stages,
    )


def add_up(parts: Any, totals: Any) -> None:
    """Add to totals of each kernel, in float64, the sum of all its rows of parts; these may be shorter.

    PyTorch takes several times as long for it.
    """
    from nammd.engines.cuda.programs import added_up

    kernels, count, width = parts.shape
    added_up[(-(-width // _WIDTH), kernels)](
        parts, totals, count, width, totals.shape[1], LINES=8, WIDTH=_WIDTH, num_warps=4
    )


def launch_diagonal(
    shape: Shape,
    one: Operands,
    results: tuple[Any, Any],
    power: int,
    two: bool,
    ladder: Ladder = ONE_KERNEL,
) -> None:
    """Compute the blocks on the diagonal of a symmetric matrix: row sums, and squares by tiles of rows."""
    from nammd.engines.cuda import programs

    programs.sums_of_diagonal[(one.padded // shape.rows,)](
        one.high, one.low, one.left, one.right, one.sizes, *results, one.padded,
        **constants(shape, one, power, two), **ladder.constants, num_stages=1,
    )  # fmt: skip


def shapes_of_unit_sums(one: Operands, power: int, two: bool) -> list[Shape]:
    """Return shapes for sums over pairs of units; all have the rows of a stack and the columns of bundles."""
    if power == 1:
        return [Shape(64, 128, 4, 1)]
    if is_resident(one, power):
        return [Shape(64, 128, 4, stages, registers=_OF_THREE) for stages in ((2, 1) if two else (3, 2, 1))]
    return [Shape(64, 128, 4, 2), Shape(64, 128, 4, 2, 32), Shape(64, 128, 4, 1, 16)]


def shapes_of_forms() -> list[Shape]:
    """Return shapes for quadratic forms, the fastest on Hopper chips first."""
    return [Shape(128, 128, 8, 2), Shape(64, 64, 4, 2, 32), Shape(64, 64, 4, 1, 16)]


def launch_forms(shape: Shape, one: Operands, vectors: Any, shift: float, power: int, two: bool) -> Any:
    """Return, for every tile of rows and every vector, the sum over pairs above the diagonal.

    The number of vectors must be a multiple of `VECTORS`.
    """
    import torch

    from nammd.engines.cuda import programs

    count, tiles = vectors.shape[1], one.padded // shape.rows
    forms = torch.zeros((tiles, count), dtype=torch.float32, device=vectors.device)
    programs.quadratic_forms[(tiles, count // VECTORS)](
        one.high, one.low, one.left, one.right, vectors, forms, one.padded, count, shift,
        one.padded // shape.columns,
        **constants(shape, one, power, two), BV=VECTORS, num_stages=shape.stages,
    )  # fmt: skip
    return forms


def constants(shape: Shape, one: Operands, power: int, two: bool) -> dict[str, Any]:
    """Return what the programs for any kernel are compiled for."""
    from nammd.engines.cuda.programs import EXTRA

    terms = one.high.shape[0] if power == 2 else 1
    return {
        "BM": shape.rows,
        "BN": shape.columns,
        "num_warps": shape.warps,
        "D": one.width,
        "K": min(one.width, shape.piece),
        "TERMS": terms,
        "TWO": two,
        "E": EXTRA,
        "CITYBLOCK": power == 1,
        **FUSED,
    }
