"""The programs that run on the GPU, in Triton: tiles of a Gram matrix that are reduced where they are made.

One program owns a tile of columns and walks down a panel of rows. A tile of kernel values lives in registers
only. What it leaves behind:

- column sums, kept in registers over the whole panel: each thread adds up the rows that are its own, and the
  threads are brought together once at the end;
- row sums of every tile, written out (they cost few exchanges between threads, columns would cost many);
- the sum of squares.

Of several kernels whose values are powers of one another's, these are left behind for each: a tile is raised
in its registers. S is their number, five at most, and Q how often a tile is squared from each to the next.

Of one kernel and rows that have sizes (SIZED), the sums weighted by the sizes of the other side are left
behind in the place of a second kernel.

Of a symmetric matrix these programs do what is above the blocks on the diagonal; the blocks themselves, which
need a mask, have a program of their own. No other needs one: rows that fill up the last tile carry an
exponent so low that their kernel values are zero. Nothing is added by atomic operations, so the same data
give the same bits.

Operands (see `nammd.engines.cuda.operands`): the exponent of a squared-exponential term, in units of log 2,
is the product of a row of ``[u, e]`` of the left sample with one of ``[v, f]`` of the right sample, where the
products of e and f are minus half the squared norms. u is held as one half-precision number, or as the sum of
two, ``high + low``, of which the product low·low is dropped. Capitals are constants that a program is
compiled for.
"""

from __future__ import annotations

import triton
import triton.language as tl

EXTRA = 16
"""Columns beside the data that carry the norms."""


@triton.jit
def _products(
    high, low, extra, other_high, other_low, other_extra, rows, cols, padded, other_padded,
    D: tl.constexpr, K: tl.constexpr, TERMS: tl.constexpr, TWO: tl.constexpr, E: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Return a tile of the sum of squared-exponential terms; operands are read as the loop goes."""
    k, e = tl.arange(0, K), tl.arange(0, E)
    values = tl.zeros((BM, BN), tl.float32)
    for term in tl.static_range(TERMS):
        # Offsets in 64 bits: a million rows of a thousand columns are more than 32 bits count.
        mine = (rows + term * padded).to(tl.int64)
        theirs = (cols + term * other_padded).to(tl.int64)
        left = tl.load(extra + mine[:, None] * E + e[None, :])
        right = tl.load(other_extra + theirs[None, :] * E + e[:, None])
        exponent = tl.dot(left, right)
        for at in range(0, D, K):
            a = tl.load(high + mine[:, None] * D + (at + k)[None, :])
            b = tl.load(other_high + theirs[None, :] * D + (at + k)[:, None])
            exponent = tl.dot(a, b, exponent)
            if TWO:
                a_low = tl.load(low + mine[:, None] * D + (at + k)[None, :])
                b_low = tl.load(other_low + theirs[None, :] * D + (at + k)[:, None])
                exponent = tl.dot(a, b_low, exponent)
                exponent = tl.dot(a_low, b, exponent)
        values += tl.exp2(exponent)
    return values


@triton.jit
def _cityblock(
    data, extra, other, other_extra, rows, cols, padded, other_padded,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Return a tile of exp(-city-block distance); the data are stored column by column."""
    exponent = tl.load(extra + rows)[:, None] + tl.load(other_extra + cols)[None, :]
    mine, theirs = data + rows, other + cols
    for _ in range(D):
        exponent -= tl.abs(tl.load(mine)[:, None] - tl.load(theirs)[None, :])
        mine += padded
        theirs += other_padded
    return tl.exp2(exponent)


@triton.jit
def _own_rows(values, BM: tl.constexpr, BN: tl.constexpr, WARPS: tl.constexpr):
    """Add up, per column, the rows that belong to one thread; no thread needs another's values.

    A tile that comes from a matrix product gives warp w the rows 16 w to 16 w + 15 of every 16 WARPS, and its
    threads those that are equal modulo 8.
    """
    split = tl.reshape(values, (BM // (16 * WARPS), WARPS, 2, 8, BN))
    return tl.sum(tl.sum(split, axis=2), axis=0)


@triton.jit
def _raised(values, Q: tl.constexpr):
    """Square a tile some times."""
    for _ in tl.static_range(Q):
        values = values * values
    return values


@triton.jit
def _own_columns(values, BM: tl.constexpr, BN: tl.constexpr):
    """Add up, per row, the columns that belong to one thread: of every eight, two to each of four."""
    every = tl.sum(tl.reshape(values, (BM, BN // 8, 8)), axis=1)
    return tl.sum(tl.reshape(every, (BM, 4, 2)), axis=2)


@triton.jit
def _reduced(
    values, by_square, by_column, RESIDENT: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """Add a tile's squares and columns to those before."""
    if RESIDENT:
        by_square += _own_columns(values * values, BM, BN)
        by_column += _own_rows(values, BM, BN, WARPS)
    else:
        by_square += tl.sum(values * values, axis=1)
        by_column += tl.sum(values, axis=0)
    return by_square, by_column


@triton.jit
def _left_behind(
    column_sums, squares, by_column, by_square, scale: tl.constexpr, BN: tl.constexpr, RESIDENT: tl.constexpr
):
    """Write the column sums and squares of one of the kernels."""
    here, down, panels = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    if RESIDENT:
        by_column = tl.sum(tl.sum(by_column, axis=1), axis=0)
        by_square = tl.sum(by_square, axis=1)
    place = (scale * panels + down) * tl.num_programs(0) + here
    tl.store(column_sums + place.to(tl.int64) * BN + tl.arange(0, BN), by_column)
    tl.store(squares + place, tl.sum(by_square))


@triton.jit
def _added(
    values, out, rows, stride, sizes, their_sizes, s0, c0, s1, c1, s2, c2, s3, c3, s4, c4,
    RESIDENT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, WARPS: tl.constexpr,
    S: tl.constexpr, Q: tl.constexpr, SIZED: tl.constexpr,
):  # fmt: skip
    """Add what a tile leaves behind, for every kernel, to what was there: squares and columns of each.

    Row sums of four kernels are written at once: on their way each time all threads wait for each other.
    """
    r0 = tl.sum(values, axis=1)
    if S == 1:
        tl.store(out + rows, r0)  # before the others: they go on while these are on their way
    s0, c0 = _reduced(values, s0, c0, RESIDENT, BM, BN, WARPS)
    if SIZED:
        tl.store(out + stride + rows, tl.sum(values * their_sizes[None, :], axis=1))
        weighted = values * tl.load(sizes + rows)[:, None]
        if RESIDENT:
            c1 += _own_rows(weighted, BM, BN, WARPS)
        else:
            c1 += tl.sum(weighted, axis=0)
    r1, r2, r3 = r0, r0, r0
    if S > 1:
        values = _raised(values, Q)
        r1 = tl.sum(values, axis=1)
        s1, c1 = _reduced(values, s1, c1, RESIDENT, BM, BN, WARPS)
    if S > 2:
        values = _raised(values, Q)
        r2 = tl.sum(values, axis=1)
        s2, c2 = _reduced(values, s2, c2, RESIDENT, BM, BN, WARPS)
    if S > 3:
        values = _raised(values, Q)
        r3 = tl.sum(values, axis=1)
        s3, c3 = _reduced(values, s3, c3, RESIDENT, BM, BN, WARPS)
    if S == 2:
        which = tl.arange(0, 2)[None, :]
        tl.store(out + rows[:, None] + which * stride, tl.join(r0, r1))
    if S > 2:
        odd, high = tl.arange(0, 2)[None, None, :], tl.arange(0, 2)[None, :, None]
        which = odd * 2 + high
        tl.store(
            out + rows[:, None, None] + which * stride,
            tl.join(tl.join(r0, r1), tl.join(r2, r3)),
            mask=which < S,
        )
    if S > 4:
        values = _raised(values, Q)
        tl.store(out + 4 * stride + rows, tl.sum(values, axis=1))
        s4, c4 = _reduced(values, s4, c4, RESIDENT, BM, BN, WARPS)
    return s0, c0, s1, c1, s2, c2, s3, c3, s4, c4


@triton.jit
def _all_left_behind(
    column_sums, squares, s0, c0, s1, c1, s2, c2, s3, c3, s4, c4,
    BN: tl.constexpr, RESIDENT: tl.constexpr, S: tl.constexpr, SIZED: tl.constexpr,
):  # fmt: skip
    """Write the column sums and squares of every kernel."""
    _left_behind(column_sums, squares, c0, s0, 0, BN, RESIDENT)
    if S > 1 or SIZED:
        _left_behind(column_sums, squares, c1, s1, 1, BN, RESIDENT)
    if S > 2:
        _left_behind(column_sums, squares, c2, s2, 2, BN, RESIDENT)
    if S > 3:
        _left_behind(column_sums, squares, c3, s3, 3, BN, RESIDENT)
    if S > 4:
        _left_behind(column_sums, squares, c4, s4, 4, BN, RESIDENT)


@triton.jit
def _exponents(
    high, low, extra, b, b_low, b_extra, at,
    D: tl.constexpr, TWO: tl.constexpr, E: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """Return the exponents of a tile of rows, from a row on, against columns that are there already.

    Where the tile begins is one number in 64 bits. With one for every row, programs would need a sixth more
    registers, and fewer of them would be at work on a multiprocessor.
    """
    r, at = tl.arange(0, BM)[:, None], tl.full((), at, tl.int64)
    k, e = tl.arange(0, D)[None, :], tl.arange(0, E)[None, :]
    norms = tl.load(extra + at * E + (r * E + e))
    a = tl.load(high + at * D + (r * D + k))
    found = tl.dot(a, b, tl.dot(norms, b_extra))
    if TWO:
        found = tl.dot(a, b_low, found)
        found = tl.dot(tl.load(low + at * D + (r * D + k)), b, found)
    return found


@triton.jit(do_not_specialize=["first", "panel", "tiles", "within"])
def sums_resident(
    high, low, extra, other_high, other_low, other_extra, sizes, other_sizes, row_sums, column_sums, squares,
    first, panel, tiles, stride, pitch, within,
    D: tl.constexpr, TWO: tl.constexpr, E: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, WARPS: tl.constexpr, STAGES: tl.constexpr,
    S: tl.constexpr, Q: tl.constexpr, SIZED: tl.constexpr,
):  # fmt: skip
    """Sum a tile of columns over a panel of rows; the columns stay in shared memory. One term, small D.

    Several programs are at work on a multiprocessor, and one exponentiates while another multiplies.

    Whether the matrix is symmetric, and where a launch begins, is told at run time: so programs are few.
    """
    here, down = tl.program_id(0), tl.program_id(1)
    cols = (first + here) * BN + tl.arange(0, BN)
    k, e = tl.arange(0, D), tl.arange(0, E)
    j, there = tl.arange(0, BN)[None, :], ((first + here) * BN).to(tl.int64)
    b = tl.load(other_high + there * D + (j * D + k[:, None]))
    b_extra = tl.load(other_extra + there * E + (j * E + e[:, None]))
    b_low, their_sizes = b, b_extra
    if TWO:
        b_low = tl.load(other_low + there * D + (j * D + k[:, None]))
    if SIZED:
        their_sizes = tl.load(other_sizes + cols)
    start = down * panel
    stop = tl.minimum(start + panel, tiles)
    if within:
        stop = tl.minimum(stop, (first + here) * BN // BM)
    c0 = tl.zeros((WARPS, 8, BN), tl.float32)
    s0 = tl.zeros((BM, 4), tl.float32)
    s1, c1, s2, c2, s3, c3, s4, c4 = s0, c0, s0, c0, s0, c0, s0, c0
    out = row_sums + here.to(tl.int64) * pitch
    stride = stride.to(tl.int64)
    r = tl.arange(0, BM)
    for tile in tl.range(start, stop, num_stages=STAGES):
        rows = tile * BM + r
        exponent = _exponents(high, low, extra, b, b_low, b_extra, tile * BM, D, TWO, E, BM)
        s0, c0, s1, c1, s2, c2, s3, c3, s4, c4 = _added(
            tl.exp2(exponent), out, rows, stride, sizes, their_sizes,
            s0, c0, s1, c1, s2, c2, s3, c3, s4, c4, True, BM, BN, WARPS, S, Q, SIZED,
        )  # fmt: skip
    _all_left_behind(column_sums, squares, s0, c0, s1, c1, s2, c2, s3, c3, s4, c4, BN, True, S, SIZED)


@triton.jit(do_not_specialize=["first", "panel", "tiles", "within"])
def sums_streamed(
    high, low, extra, other_high, other_low, other_extra, sizes, other_sizes, row_sums, column_sums, squares,
    first, panel, tiles, stride, pitch, within, padded, other_padded,
    D: tl.constexpr, K: tl.constexpr, TERMS: tl.constexpr, TWO: tl.constexpr, E: tl.constexpr,
    CITYBLOCK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, S: tl.constexpr, Q: tl.constexpr,
    SIZED: tl.constexpr,
):  # fmt: skip
    """Do the same for any number of columns and terms, and for city-block distances."""
    here, down = tl.program_id(0), tl.program_id(1)
    cols = (first + here) * BN + tl.arange(0, BN)
    start = down * panel
    stop = tl.minimum(start + panel, tiles)
    if within:
        stop = tl.minimum(stop, (first + here) * BN // BM)
    c0 = tl.zeros((BN,), tl.float32)
    s0 = tl.zeros((BM,), tl.float32)
    s1, c1, s2, c2, s3, c3, s4, c4 = s0, c0, s0, c0, s0, c0, s0, c0
    their_sizes = c0
    if SIZED:
        their_sizes = tl.load(other_sizes + cols)
    out = row_sums + here.to(tl.int64) * pitch
    stride = stride.to(tl.int64)
    for tile in range(start, stop):
        rows = tile * BM + tl.arange(0, BM)
        if CITYBLOCK:
            values = _cityblock(
                high, extra, other_high, other_extra, rows, cols, padded, other_padded, D, BM, BN
            )
        else:
            values = _products(
                high, low, extra, other_high, other_low, other_extra, rows, cols, padded, other_padded,
                D, K, TERMS, TWO, E, BM, BN,
            )  # fmt: skip
        s0, c0, s1, c1, s2, c2, s3, c3, s4, c4 = _added(
            values, out, rows, stride, sizes, their_sizes, s0, c0, s1, c1, s2, c2, s3, c3, s4, c4,
            False, BM, BN, 1, S, Q, SIZED,
        )  # fmt: skip
    _all_left_behind(column_sums, squares, s0, c0, s1, c1, s2, c2, s3, c3, s4, c4, BN, False, S, SIZED)


@triton.jit
def sums_of_diagonal(
    high, low, extra, other_extra, sizes, row_sums, squares, padded,
    D: tl.constexpr, K: tl.constexpr, TERMS: tl.constexpr, TWO: tl.constexpr, E: tl.constexpr,
    CITYBLOCK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, S: tl.constexpr, Q: tl.constexpr,
    SIZED: tl.constexpr,
):  # fmt: skip
    """Sum some rows of a block on the diagonal, which holds both (i, j) and (j, i), without (i, i)."""
    here = tl.program_id(0)
    rows = here * BM + tl.arange(0, BM)
    cols = (here * BM // BN) * BN + tl.arange(0, BN)
    if CITYBLOCK:
        values = _cityblock(high, extra, high, other_extra, rows, cols, padded, padded, D, BM, BN)
    else:
        values = _products(
            high, low, extra, high, low, other_extra, rows, cols, padded, padded,
            D, K, TERMS, TWO, E, BM, BN,
        )  # fmt: skip
    values = tl.where(rows[:, None] == cols[None, :], 0.0, values)
    if SIZED:
        weighted = tl.sum(values * tl.load(sizes + cols)[None, :], axis=1)
        tl.store(row_sums + padded.to(tl.int64) + rows, weighted)
    for scale in tl.static_range(S):
        tl.store(row_sums + scale * padded.to(tl.int64) + rows, tl.sum(values, axis=1))
        tl.store(squares + scale * tl.num_programs(0) + here, tl.sum(tl.sum(values * values, axis=1)))
        values = _raised(values, Q)


@triton.jit
def added_up(parts, totals, count, width, padded, LINES: tl.constexpr, WIDTH: tl.constexpr):
    """Add rows of numbers, of the several of each kernel, to the totals in double precision.

    A thread has its columns of some rows under way at a time, and needs no other thread's.
    """
    kernel = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    total = tl.load(totals + kernel * padded + at, mask=at < width, other=0.0)
    line = parts + kernel * count * width + at
    for first in range(0, count, LINES):
        for k in tl.static_range(LINES):
            there = at < tl.where(first + k < count, width, 0)
            total += tl.load(line + k * width.to(tl.int64), mask=there, other=0.0).to(tl.float64)
        line += LINES * width.to(tl.int64)
    tl.store(totals + kernel * padded + at, total, mask=at < width)


@triton.jit
def quadratic_forms(
    high, low, extra, other_extra, vectors, forms, padded, count, shift, tiles,
    D: tl.constexpr, K: tl.constexpr, TERMS: tl.constexpr, TWO: tl.constexpr, E: tl.constexpr,
    CITYBLOCK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    """Sum ``v_i (k(i, j) - shift) v_j`` over the rows i of a tile and all j > i, for a block of vectors v.

    The kernel values are split into two half-precision numbers for the product with the vectors, so
    they keep 22 bits.
    """
    here, chunk = tl.program_id(0), tl.program_id(1)
    rows = here * BM + tl.arange(0, BM)
    v = chunk * BV + tl.arange(0, BV)
    product = tl.zeros((BM, BV), tl.float32)
    for tile in range(here * BM // BN, tiles):
        cols = tile * BN + tl.arange(0, BN)
        if CITYBLOCK:
            values = _cityblock(high, extra, high, other_extra, rows, cols, padded, padded, D, BM, BN)
        else:
            values = _products(
                high, low, extra, high, low, other_extra, rows, cols, padded, padded,
                D, K, TERMS, TWO, E, BM, BN,
            )  # fmt: skip
        values -= shift
        if tile * BN < (here + 1) * BM:
            values = tl.where(rows[:, None] < cols[None, :], values, 0.0)
        coarse = values.to(tl.float16)
        fine = (values - coarse.to(tl.float32)).to(tl.float16)
        theirs = tl.load(vectors + cols.to(tl.int64)[:, None] * count + v[None, :])
        product = tl.dot(coarse, theirs, product)
        product = tl.dot(fine, theirs, product)
    own = tl.load(vectors + rows.to(tl.int64)[:, None] * count + v[None, :])
    tl.store(forms + here.to(tl.int64) * count + v, tl.sum(product * own.to(tl.float32), axis=0))
