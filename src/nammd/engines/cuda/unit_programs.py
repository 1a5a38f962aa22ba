"""The program for rows in units, in Triton: tiles of a Gram matrix, added up to sums between units.

Rows lie in stacks and columns in bundles (see `nammd.engines.cuda.arrangement`): the values of a line of a
tile that belong to one bundle are in the registers of one thread, and the tiles of a stack have the same
units at the same lines. So a sum between two pieces of units never leaves its thread. What is left behind:

- row sums of every tile, and column sums of a panel of them;
- the sums between pieces weighted by the sizes of their units, along both sides;
- the sum of squares, or, where units are in several pieces, the sums between pieces themselves.

Operands are those of `nammd.engines.cuda.programs`; the weights of rows are in their exponents. Nothing is
added by atomic operations, so the same data give the same bits.
"""

from __future__ import annotations

import triton
import triton.language as tl

from nammd.engines.cuda.programs import _cityblock, _exponents, _own_rows, _products

RUNTIME = ["start", "other_start", "first", "reach", "back"]
"""Numbers that programs are not compiled for: they differ from launch to launch."""


@triton.jit
def _of_plane(plan, chunk, start, BM: tl.constexpr):
    """Return where a plane begins, and what the plan says of it.

    That is its stack, the lowest and the highest number in it, and whether it is the last plane of it.
    """
    line = plan + 4 * chunk
    return start + chunk * BM, tl.load(line), tl.load(line + 1), tl.load(line + 2), tl.load(line + 3)


@triton.jit
def _bundled(values, P: tl.constexpr, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Add up the columns of each bundle; nothing leaves its thread.

    A thread has all slots of eight columns each, so which of them belong to a bundle is known when the
    program is compiled. Adding -0 changes no number at all, and the compiler leaves it out.
    """
    slots = tl.reshape(values, (BM, BN // 8, 8))
    slot, group = tl.arange(0, BN // 8)[None, :, None], tl.arange(0, G)[None, :, None]
    found = tl.full((BM, G, 8), -0.0, tl.float32)
    for g in tl.static_range(BN // 8 // P):
        one = tl.sum(tl.where(slot // P == g, slots, -0.0), axis=1)
        found += tl.where(group == g, one[:, None, :], -0.0)
    return tl.reshape(found, (BM, 8 * G))


@triton.jit
def _taken_up(
    values, near, number, their_numbers, out, by_column, summed, reach, back,
    BM: tl.constexpr, BN: tl.constexpr, P: tl.constexpr, G: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """Add up a tile, without pairs of units that are near each other, and write its row sums."""
    r, j = tl.arange(0, BM), tl.arange(0, BN)
    if near:
        bundle = tl.minimum(j // 8 // P, G - 1) * 8 + j % 8
        apart = tl.load(their_numbers + bundle)[None, :] - tl.load(number + r)[:, None]
        values = tl.where((apart > reach) | (-apart > back), values, 0.0)
    by_bundle = _bundled(values, P, G, BM, BN)
    tl.store(out + r, tl.sum(by_bundle, axis=1))
    return by_column + _own_rows(values, BM, BN, WARPS), summed + by_bundle


@triton.jit
def _ended(
    summed, stack, count, sizes, their_sizes, sized_rows, pairs, by_square, by_size,
    BM: tl.constexpr, BUNDLES: tl.constexpr, WARPS: tl.constexpr, CUT: tl.constexpr,
):  # fmt: skip
    """Take what is left behind of the sums between a stack and bundles."""
    here, places = tl.program_id(0), stack * BM + tl.arange(0, BM)
    bundle = tl.arange(0, BUNDLES)
    weighted = tl.sum(summed * tl.load(their_sizes + bundle)[None, :], axis=1)
    tl.store(sized_rows + here.to(tl.int64) * count + places, weighted)
    by_size += _own_rows(summed * tl.load(sizes + places)[:, None], BM, BUNDLES, WARPS)
    if CUT:
        # Four bundles at a time: all would take shared memory that leaves room for one program less.
        parts = tl.reshape(summed, (BM, BUNDLES // 8, 4, 2))
        group, half = tl.arange(0, BUNDLES // 8)[None, :, None, None], tl.arange(0, 2)[None, None, None, :]
        for part in tl.static_range(BUNDLES // 4):
            some = tl.where((group == part // 2) & (half == part % 2), parts, -0.0)
            there = here * BUNDLES + part // 2 * 8 + part % 2 + 2 * tl.arange(0, 4)
            line = pairs + there.to(tl.int64)[None, :] * count
            tl.store(line + places[:, None], tl.sum(tl.sum(some, axis=3), axis=1))
    else:
        by_square += tl.sum(tl.reshape(summed * summed, (BM, BUNDLES // 8, 8)), axis=1)
    return by_square, by_size


@triton.jit(do_not_specialize=RUNTIME)
def unit_sums(
    high, low, extra, other_high, other_low, other_extra, numbers, other_numbers, sizes, other_sizes,
    plan, borders, limits, row_sums, sized_rows, column_sums, sized_columns, pairs,
    padded, other_padded, rows, count, start, other_start, first, reach, back,
    D: tl.constexpr, K: tl.constexpr, TERMS: tl.constexpr, TWO: tl.constexpr, E: tl.constexpr,
    CITYBLOCK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, P: tl.constexpr, G: tl.constexpr,
    RESIDENT: tl.constexpr, CUT: tl.constexpr, WARPS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Sum a tile of bundles, of P columns each and 8 G in all, over a panel of stacks.

    A pair of units counts where the number of the column's is larger by more than `reach`, or that of the
    row's by more than `back`. What of the panel is at or behind the limit of the columns does not count.
    """
    here, down = tl.program_id(0), tl.program_id(1)
    BUNDLES: tl.constexpr = 8 * G
    left = first + here
    begin = tl.load(borders + down)
    end = tl.minimum(tl.load(borders + down + 1), tl.load(limits + left))
    their_numbers, their_sizes = other_numbers + left * BUNDLES, other_sizes + left * BUNDLES
    lowest, highest = tl.load(their_numbers), tl.load(their_numbers + BUNDLES - 1)
    out = row_sums + here.to(tl.int64) * rows
    by_column, by_size = tl.zeros((WARPS, 8, BN), tl.float32), tl.zeros((WARPS, 8, BUNDLES), tl.float32)
    by_square, summed = tl.zeros((BM, 8), tl.float32), tl.zeros((BM, BUNDLES), tl.float32)
    j = tl.arange(0, BN)
    if RESIDENT:
        k, e, there = tl.arange(0, D), tl.arange(0, E), (other_start + left * BN).to(tl.int64)
        b = tl.load(other_high + there * D + (j[None, :] * D + k[:, None]))
        b_extra = tl.load(other_extra + there * E + (j[None, :] * E + e[:, None]))
        b_low = b
        if TWO:
            b_low = tl.load(other_low + there * D + (j[None, :] * D + k[:, None]))
        for chunk in tl.range(begin, end, num_stages=STAGES):
            at, stack, least, most, last = _of_plane(plan, chunk, start, BM)
            near = (lowest - most <= reach) & (least - highest <= back)
            values = tl.exp2(_exponents(high, low, extra, b, b_low, b_extra, at, D, TWO, E, BM))
            by_column, summed = _taken_up(
                values, near, numbers + stack * BM, their_numbers, out + chunk * BM, by_column, summed,
                reach, back, BM, BN, P, G, WARPS,
            )  # fmt: skip
            if last != 0:
                by_square, by_size = _ended(
                    summed, stack, count, sizes, their_sizes, sized_rows, pairs, by_square, by_size,
                    BM, BUNDLES, WARPS, CUT,
                )  # fmt: skip
                summed = tl.zeros((BM, BUNDLES), tl.float32)
    else:
        for chunk in range(begin, end):
            at, stack, least, most, last = _of_plane(plan, chunk, start, BM)
            near = (lowest - most <= reach) & (least - highest <= back)
            mine, theirs = at + tl.arange(0, BM), other_start + left * BN + j
            if CITYBLOCK:
                values = _cityblock(
                    high, extra, other_high, other_extra, mine, theirs, padded, other_padded, D, BM, BN
                )
            else:
                values = _products(
                    high, low, extra, other_high, other_low, other_extra, mine, theirs,
                    padded, other_padded, D, K, TERMS, TWO, E, BM, BN,
                )  # fmt: skip
            by_column, summed = _taken_up(
                values, near, numbers + stack * BM, their_numbers, out + chunk * BM, by_column, summed,
                reach, back, BM, BN, P, G, WARPS,
            )  # fmt: skip
            if last != 0:
                by_square, by_size = _ended(
                    summed, stack, count, sizes, their_sizes, sized_rows, pairs, by_square, by_size,
                    BM, BUNDLES, WARPS, CUT,
                )  # fmt: skip
                summed = tl.zeros((BM, BUNDLES), tl.float32)
    place = down.to(tl.int64) * tl.num_programs(0) + here
    tl.store(column_sums + place * BN + j, tl.sum(tl.sum(by_column, axis=1), axis=0))
    by_size = tl.sum(tl.sum(by_size, axis=1), axis=0)
    tl.store(sized_columns + place * BUNDLES + tl.arange(0, BUNDLES), by_size)
    if not CUT:
        tl.store(pairs + place, tl.sum(tl.sum(by_square, axis=1)))
