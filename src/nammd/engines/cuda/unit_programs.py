"""The program for rows in units, in Triton: tiles of a Gram matrix, added up to sums between units.

Rows lie in planes (see `nammd.engines.cuda.arrangement`), so a tile of sums between pieces of units is the
sum of the tiles of kernel values of all pairs of planes. It stays in registers. What is left behind:

- the sums of every tile of kernel values along its rows, and of those of one plane of columns along these;
- the sums between pieces weighted by the sizes of their units, along both sides;
- the sum of squares, or, where units are in several pieces, the sums between pieces themselves.

Operands are those of `nammd.engines.cuda.programs`; the weights of rows are in their exponents. Nothing is
added by atomic operations, so the same data give the same bits.
"""

from __future__ import annotations

import triton
import triton.language as tl

from nammd.engines.cuda.programs import _cityblock, _exponents, _own_rows, _products

RUNTIME = ["start", "other_start", "planes", "other_planes", "first", "panel", "tiles", "reach", "triangle"]
"""Numbers that programs are not compiled for: they differ from launch to launch."""


@triton.jit
def _kept(values, out, number, their_number, reach, MASKED: tl.constexpr):
    """Return a tile without pairs of units that are near each other, and write the sums of its rows."""
    if MASKED:
        values = tl.where(tl.abs(number[:, None] - their_number[None, :]) > reach, values, 0.0)
    tl.store(out, tl.sum(values, axis=1))
    return values


@triton.jit(do_not_specialize=RUNTIME)
def unit_sums(
    high, low, extra, other_high, other_low, other_extra, numbers, other_numbers, sizes, other_sizes,
    row_sums, column_sums, sized_rows, pairs, padded, other_padded, count, other_count,
    start, other_start, planes, other_planes, first, panel, tiles, reach, triangle,
    D: tl.constexpr, K: tl.constexpr, TERMS: tl.constexpr, TWO: tl.constexpr, E: tl.constexpr,
    CITYBLOCK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, RESIDENT: tl.constexpr, CUT: tl.constexpr,
    MASKED: tl.constexpr, WARPS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Sum a tile of pieces over a panel of pieces.

    Pairs of units whose numbers differ by at most `reach` are left out. Tiles that have some are done where
    MASKED, and all others where not: a mask takes registers, and few tiles need one.

    Of a triangle, what is above the blocks on the diagonal counts for both sides; the blocks themselves,
    which hold both (g, h) and (h, g), for their rows alone.
    """
    here, down, width = tl.program_id(0), tl.program_id(1), tl.num_programs(0) * BN
    r, j, left = tl.arange(0, BM), tl.arange(0, BN), (first + here) * BN
    their_number = tl.load(other_numbers + left + j)
    lowest, highest = tl.min(their_number, axis=0) - reach, tl.max(their_number, axis=0) + reach
    begin = down * panel
    end = tl.minimum(begin + panel, tiles)
    if triangle != 0:
        end = tl.minimum(end, (first + here + 1) * BN // BM)
    if RESIDENT:
        k, e = tl.arange(0, D), tl.arange(0, E)
    by_square = tl.zeros((BM,), tl.float32)
    for tile in range(begin, end):
        top = tile * BM
        number = tl.load(numbers + top + r)
        near = (tl.min(number, axis=0) <= highest) & (lowest <= tl.max(number, axis=0))
        if near == MASKED:
            once = (triangle != 0) & (top >= left)
            both = tl.where(once, 0.0, 1.0)
            line = column_sums + tl.full((), tile * (other_planes + 1), tl.int64) * width + here * BN
            summed = tl.zeros((BM, BN), tl.float32)
            for q in range(other_planes):
                plane = other_start + q * other_count + left
                out = row_sums + (here * other_planes + q).to(tl.int64) * planes * count + top
                if RESIDENT:
                    there = plane.to(tl.int64)
                    b = tl.load(other_high + there * D + (j[None, :] * D + k[:, None]))
                    b_extra = tl.load(other_extra + there * E + (j[None, :] * E + e[:, None]))
                    b_low = b
                    if TWO:
                        b_low = tl.load(other_low + there * D + (j[None, :] * D + k[:, None]))
                    # A whole tile of the plane's own sums would leave registers for one program less.
                    by_column = tl.zeros((WARPS, 8, BN), tl.float32)
                    for p in tl.range(planes, num_stages=STAGES):
                        at = start + p * count + top
                        values = tl.exp2(_exponents(high, low, extra, b, b_low, b_extra, at, D, TWO, E, BM))
                        values = _kept(values, out + p * count + r, number, their_number, reach, MASKED)
                        by_column += _own_rows(values, BM, BN, WARPS)
                        summed += values
                    along = tl.sum(tl.sum(by_column, axis=1), axis=0)
                else:
                    along = tl.zeros((BN,), tl.float32)
                    for p in range(planes):
                        rows = start + p * count + top + r
                        if CITYBLOCK:
                            values = _cityblock(
                                high, extra, other_high, other_extra, rows, plane + j,
                                padded, other_padded, D, BM, BN,
                            )  # fmt: skip
                        else:
                            values = _products(
                                high, low, extra, other_high, other_low, other_extra, rows, plane + j,
                                padded, other_padded, D, K, TERMS, TWO, E, BM, BN,
                            )  # fmt: skip
                        values = _kept(values, out + p * count + r, number, their_number, reach, MASKED)
                        along += tl.sum(values, axis=0)
                        summed += values
                tl.store(line + tl.full((), q, tl.int64) * width + j, both * along)
            if CUT:
                tl.store(
                    pairs + top.to(tl.int64) * width + here * BN + (r[:, None] * width + j[None, :]), summed
                )
            else:
                times = tl.where((triangle != 0) & (both > 0), 2.0, 1.0)
                by_square += times * tl.sum(summed * summed, axis=1)
            weighted = tl.sum(summed * tl.load(other_sizes + left + j)[None, :], axis=1)
            tl.store(sized_rows + here.to(tl.int64) * count + top + r, weighted)
            weighted = both * tl.sum(summed * tl.load(sizes + top + r)[:, None], axis=0)
            tl.store(line + other_planes.to(tl.int64) * width + j, weighted)
    if not CUT:
        square = pairs + down * tl.num_programs(0) + here
        tl.store(square, tl.load(square) + tl.sum(by_square))  # masked tiles come second
