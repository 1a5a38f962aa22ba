"""Programs in Triton for many kernels and many small samples at once.

Kernels that differ in their bandwidth share their distances. These are computed once, written to memory, and
read again for every kernel: an exponential costs less than a distance. Samples of one size lie in a stack,
and the last dimension of every launch is the sample, or the sample and the kernel, so that a hundred small
tests are three launches. Rows that fill up a tile are infinitely far from all others.

In a paired stack the rows of x fill the first half and those of y the second, and the matrix is
``H[i, j] = k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) - k(y_i, x_j)``.
"""

from __future__ import annotations

import triton
import triton.language as tl

FAR = 1e30
"""The distance of rows that are not there."""


@triton.jit
def stacked_distances(
    data, out, columns, padded, half, rows_there,
    SQUARED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, FAR: tl.constexpr,
):  # fmt: skip
    """Write the distances between all rows of each sample; the data are stored column by column."""
    sample = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    base = data + sample * columns * padded
    mine, theirs = base + rows, base + cols
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(columns):
        apart = tl.load(mine)[:, None] - tl.load(theirs)[None, :]
        if SQUARED:
            total += apart * apart
        else:
            total += tl.abs(apart)
        mine += padded
        theirs += padded
    there = (rows % half < rows_there)[:, None] & (cols % half < rows_there)[None, :]
    place = out + (sample * padded + rows)[:, None] * padded + cols[None, :]
    tl.store(place, tl.where(there, total, FAR))


@triton.jit
def stacked_sums(
    distances, factors, row_sums, squares, padded, kernels, tiles, BM: tl.constexpr, BN: tl.constexpr
):
    """Sum the kernel values of some rows and their squares, without the diagonal, for one kernel."""
    here, which = tl.program_id(0), tl.program_id(1)
    sample = (which // kernels).to(tl.int64)
    factor = tl.load(factors + which)
    rows = here * BM + tl.arange(0, BM)
    total, square = tl.zeros((BM,), tl.float32), tl.zeros((BM,), tl.float32)
    line = distances + (sample * padded + rows)[:, None] * padded
    for tile in range(tiles):
        cols = tile * BN + tl.arange(0, BN)
        values = tl.exp2(factor * tl.load(line + cols[None, :]))
        values = tl.where(rows[:, None] == cols[None, :], 0.0, values)
        total += tl.sum(values, axis=1)
        square += tl.sum(values * values, axis=1)
    tl.store(row_sums + which.to(tl.int64) * padded + rows, total)
    tl.store(squares + which * tl.num_programs(0) + here, tl.sum(square))


@triton.jit
def stacked_forms(
    distances, factors, shifts, vectors, forms, padded, height, count, kernels, tiles,
    PAIRED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    """Sum ``v_i (k(i, j) - shift) v_j`` over the rows i of a tile and all j > i, for a block of vectors v.

    The values are split into two half-precision numbers for the product, so they keep 22 bits.
    """
    here, chunk, which = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    sample = (which // kernels).to(tl.int64)
    factor, shift = tl.load(factors + which), tl.load(shifts + which)
    rows = here * BM + tl.arange(0, BM)
    v = chunk * BV + tl.arange(0, BV)
    line = distances + (sample * padded + rows)[:, None] * padded
    below = distances + (sample * padded + rows + height)[:, None] * padded
    signs = vectors + sample * height * count
    product = tl.zeros((BM, BV), tl.float32)
    for tile in range(here * BM // BN, tiles):
        cols = tile * BN + tl.arange(0, BN)
        values = tl.exp2(factor * tl.load(line + cols[None, :]))
        if PAIRED:
            values += tl.exp2(factor * tl.load(below + (cols + height)[None, :]))
            values -= tl.exp2(factor * tl.load(line + (cols + height)[None, :]))
            values -= tl.exp2(factor * tl.load(below + cols[None, :]))
        values -= shift
        if tile * BN < (here + 1) * BM:
            values = tl.where(rows[:, None] < cols[None, :], values, 0.0)
        coarse = values.to(tl.float16)
        fine = (values - coarse.to(tl.float32)).to(tl.float16)
        theirs = tl.load(signs + cols.to(tl.int64)[:, None] * count + v[None, :])
        product = tl.dot(coarse, theirs, product)
        product = tl.dot(fine, theirs, product)
    own = tl.load(signs + rows.to(tl.int64)[:, None] * count + v[None, :])
    place = forms + (which.to(tl.int64) * tl.num_programs(0) + here) * count + v
    tl.store(place, tl.sum(product * own.to(tl.float32), axis=0))
