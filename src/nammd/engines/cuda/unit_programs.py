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

from nammd.engines.cuda.programs import _cityblock, _exponents, _products

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
    MASKED: tl.constexpr,
):  # fmt: skip
    """Sum a tile of pieces over a panel of pieces.

    Pairs of units whose numbers differ by at most `reach` are left out. Tiles that have some are done where
    MASKED, and all others where not: a mask takes registers, and few tiles need one.

    Of a triangle, what is above the blocks on the diagonal counts for both sides; the blocks themselves,
    which hold both (g, h) and (h, g), for their rows alone.
    """
    here, down, width = tl.program_id(0), tl.program_id(1), tl.num_programs(0) * BN
    inside = here * BN + tl.arange(0, BN)
    cols = first * BN + inside
    their_number = tl.load(other_numbers + cols)
    lowest, highest = tl.min(their_number, axis=0) - reach, tl.max(their_number, axis=0) + reach
    begin = down * panel
    end = tl.minimum(begin + panel, tiles)
    if triangle != 0:
        end = tl.minimum(end, (first + here + 1) * BN // BM)
    if RESIDENT:
        k, e = tl.arange(0, D), tl.arange(0, E)
    by_square = tl.zeros((BM,), tl.float32)
    for tile in range(begin, end):
        mine = tile * BM + tl.arange(0, BM)
        number = tl.load(numbers + mine)
        near = (tl.min(number, axis=0) <= highest) & (lowest <= tl.max(number, axis=0))
        if near == MASKED:
            once = (triangle != 0) & (tile * BM >= (first + here) * BN)
            both = tl.where(once, 0.0, 1.0)
            line = tile * (other_planes + 1)
            summed = tl.zeros((BM, BN), tl.float32)
            for q in range(other_planes):
                theirs = other_start + q * other_count + cols
                if RESIDENT:
                    there = theirs.to(tl.int64)
                    b = tl.load(other_high + there[None, :] * D + k[:, None])
                    b_extra = tl.load(other_extra + there[None, :] * E + e[:, None])
                    b_low = b
                    if TWO:
                        b_low = tl.load(other_low + there[None, :] * D + k[:, None])
                plane = tl.zeros((BM, BN), tl.float32)
                to = (here * other_planes + q).to(tl.int64) * planes * count
                if RESIDENT:
                    # As in `sums_resident`: two tiles take turns, one multiplied and one exponentiated.
                    one = _exponents(high, low, extra, b, b_low, b_extra, start + mine, D, TWO, E, True)
                    for p in range(0, planes - 1, 2):
                        at = start + (p + 1) * count + mine
                        two = _exponents(high, low, extra, b, b_low, b_extra, at, D, TWO, E, False)
                        out = row_sums + to + p * count + mine
                        plane += _kept(tl.exp2(one), out, number, their_number, reach, MASKED)
                        at = start + tl.minimum(p + 2, planes - 1) * count + mine
                        one = _exponents(high, low, extra, b, b_low, b_extra, at, D, TWO, E, False)
                        out = row_sums + to + (p + 1) * count + mine
                        plane += _kept(tl.exp2(two), out, number, their_number, reach, MASKED)
                    if planes % 2 == 1:
                        out = row_sums + to + (planes - 1) * count + mine
                        plane += _kept(tl.exp2(one), out, number, their_number, reach, MASKED)
                else:
                    for p in range(planes):
                        rows = start + p * count + mine
                        if CITYBLOCK:
                            values = _cityblock(
                                high, extra, other_high, other_extra, rows, theirs,
                                padded, other_padded, D, BM, BN,
                            )  # fmt: skip
                        else:
                            values = _products(
                                high, low, extra, other_high, other_low, other_extra, rows, theirs,
                                padded, other_padded, D, K, TERMS, TWO, E, BM, BN,
                            )  # fmt: skip
                        out = row_sums + to + p * count + mine
                        plane += _kept(values, out, number, their_number, reach, MASKED)
                summed += plane
                out = column_sums + (line + q).to(tl.int64) * width
                tl.store(out + inside, both * tl.sum(plane, axis=0))
            if CUT:
                tl.store(pairs + mine.to(tl.int64)[:, None] * width + inside[None, :], summed)
            else:
                times = tl.where((triangle != 0) & (both > 0), 2.0, 1.0)
                by_square += times * tl.sum(summed * summed, axis=1)
            weighted = tl.sum(summed * tl.load(other_sizes + cols)[None, :], axis=1)
            tl.store(sized_rows + here.to(tl.int64) * count + mine, weighted)
            weighted = both * tl.sum(summed * tl.load(sizes + mine)[:, None], axis=0)
            tl.store(column_sums + (line + other_planes).to(tl.int64) * width + inside, weighted)
    if not CUT:
        square = pairs + down * tl.num_programs(0) + here
        tl.store(square, tl.load(square) + tl.sum(by_square))  # masked tiles come second
