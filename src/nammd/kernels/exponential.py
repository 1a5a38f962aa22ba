"""Tiles of exp(-distance): the two forms that the built-in kernels share.

``exp(-|u - v|^2 / 2)`` is one matrix product and one exponential. With ``h = |u|^2 / 2`` the exponent
is ``u.v - h_u - h_v``, and two more columns fold the norms into the product::

    [u, -h_u, 1] . [v, 1, -h_v]

so that a tile is touched exactly twice before it is reduced. The price is cancellation: the
exponent is a difference of terms of size h, so its error is about h times the machine epsilon.
Centring keeps h small, and where it is not, tiles are computed in float64, or from differences.

With AVX-512, NumPy's `exp2` of float32 takes half as long as `exp`; the exponents are then in units of
log 2, which the packed numbers are scaled to.

``exp(-|u - v|_1)`` has no such shortcut.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable

import numpy as np
from numpy.lib.introspect import opt_func_info

from nammd.data.arrays import Array, FloatArray, like, namespace
from nammd.data.magnitudes import OutOfReach
from nammd.kernels.base import BoundKernel, Precision, precision_of

# Largest h at which the exponent's rounding error leaves the distance of two near-identical samples
# good to 1e-6 in float32 (measured), and the sums good to 1e-12 in float64 (h * 2^-53).
FLOAT32_LIMIT = 30.0
FLOAT64_LIMIT = 1e4

# Below this h all kernel values are so near 1 that float32 would round away how they differ.
FLOAT32_LEAST = 0.01

PACKED_ROWS, _PACKED_CELLS = 4096, 1 << 17
"""So many rows are packed at once, or fewer of very many columns: what is made on the way stays near."""

_SMALL_PRODUCT = 1_000_000
"""A matrix product of no more multiplications than this is computed by OpenBLAS for AVX-512 in one pass.

The result of a larger one is filled with zeros, and then added to.
"""

_LEAST_STEP = 24
"""Blocks of fewer rows than this gain nothing."""


def _has_avx512() -> bool:
    """Tell whether NumPy computes `exp2` with AVX-512; it may on Linux only."""
    found = opt_func_info("^exp2$", "float32").get("exp2", {}).get("ff", {})
    return sys.platform == "linux" and found.get("current") in ("AVX512_SKX", "X86_V4")


_AVX512 = _has_avx512()

_TOO_NARROW = (
    "the bandwidth is so far from the scale of the data that their ratio is beyond all numbers; take one of "
    "the size of the distances between rows, or leave out rows that are this far out"
)


def bind_squared(
    x: Array,
    y: Array,
    embed: Callable[[Array], Array],
    precision: Precision | None = None,
    weight: float = 1.0,
    plain: bool = False,
) -> BoundKernel:
    """Bind ``weight * exp(-|u_i - v_j|^2 / 2)``, where u and v are `embed` of the rows of x and y.

    `embed` must be linear: it is applied to rows that have been centred. `plain`: by `exp` in any case.
    """
    xp = namespace(x, y)
    precision = precision or precision_of(x, y)
    centre, alike = _centre(x, y), xp is np and x is y and weight == 1
    in_twos = xp is np and _AVX512 and precision == "float32" and not plain
    unit = math.log(2) if in_twos else 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        right, largest = _pack(y, centre, embed, precision, 0.0, unit, ones_last=False)
        left = right
        if not alike:
            left, largest_x = _pack(x, centre, embed, precision, math.log(weight), unit, ones_last=True)
            largest = max(largest_x, largest)
    if not largest <= FLOAT64_LIMIT:
        with np.errstate(over="ignore", invalid="ignore"):
            u, v = (embed(_float64(z)) for z in (x, y))
        if not all(bool(xp.all(xp.isfinite(z))) for z in (u, v)):
            raise OutOfReach(_TOO_NARROW)
        return _bind_differences(u, v, 2, weight, -0.5)
    if precision == "float32" and not FLOAT32_LEAST <= largest <= FLOAT32_LIMIT:
        return bind_squared(x, y, embed, "float64", weight)
    if in_twos and math.log(weight) - 4 * largest < math.log(np.finfo(precision).tiny):
        # |u - v|^2 / 2 is up to 4 h; where values may underflow, `exp2` takes fifty times as long.
        return bind_squared(x, y, embed, precision, weight, plain=True)
    if xp is not np:

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return xp.exp(left[rows, :] @ right[columns, :].T)

        return BoundKernel(tile, precision)
    # Where no row has anything, as a flag of missing values, there is nothing to multiply.
    some = left.any(axis=1) & right.any(axis=1)
    some[-2:] = True
    if not some.all():
        right = right[some]
        left = right if alike else left[some]
    exponential, local = np.exp2 if in_twos else np.exp, threading.local()

    def side(rows: slice) -> Array:
        if not alike:
            return left[:, rows]
        kept: tuple[slice, FloatArray] | None = getattr(local, "kept", None)
        if kept is None or kept[0] != rows:  # most tiles have the rows of the one before
            kept = local.kept = rows, _mirrored(right[:, rows])
        return kept[1]

    def numpy_tile(rows: slice, columns: slice, out: Array | None) -> Array:
        out = _product(side(rows), right[:, columns], out)
        return exponential(out, out=out)

    return BoundKernel(numpy_tile, precision)


def bind_cityblock(
    x: Array, y: Array, bandwidth: float, precision: Precision | None = None, weight: float = 1.0
) -> BoundKernel:
    """Bind ``weight * exp(-|x_i - y_j|_1 / bandwidth)``."""
    u, v = (_float64(z) for z in (x, y))
    if not math.isfinite(1 / bandwidth):
        raise ValueError(_TOO_NARROW)
    return _bind_differences(u, v, 1, weight, -1 / bandwidth, precision or precision_of(x, y))


def _float64(values: Array) -> Array:
    xp = namespace(values)
    if xp is np:
        return values.astype(np.float64, copy=False)
    return xp.astype(values, xp.float64, copy=False)


def _centre(x: Array, y: Array) -> Array:
    """Return the midpoint of the two sample means, the same for (x, y) and (y, x).

    In float64, and subtracted before anything is rounded or scaled: an offset of the data must not
    cost digits.
    """
    xp = namespace(x, y)
    if xp is np:
        own = np.add.reduce(x, axis=0, dtype=np.float64) / len(x)  # `mean` asks more
        return own if x is y else (own + np.add.reduce(y, axis=0, dtype=np.float64) / len(y)) / 2
    return (xp.mean(_float64(x), axis=0) + xp.mean(_float64(y), axis=0)) / 2


def _pack(
    sample: Array,
    centre: Array,
    embed: Callable[[Array], Array],
    precision: Precision,
    log_weight: float,
    unit: float,
    ones_last: bool,
) -> tuple[Array, float]:
    """Return ``[u, log_weight - h, 1]`` or ``[u, 1, log_weight - h]`` and the largest h.

    NumPy samples are packed some rows at a time, so that the float64 intermediates of a float32 sample
    never exist whole; each becomes a column, and exponents will be in the given unit.
    """
    xp = namespace(sample)
    if xp is not np:
        u = embed(_float64(sample) - centre)
        h = xp.sum(u * u, axis=1) / 2
        columns = (log_weight - h, xp.ones_like(h))
        extended = xp.concat([u, xp.stack(columns if ones_last else columns[::-1], axis=1)], axis=1)
        return xp.astype(extended, getattr(xp, precision), copy=False), float(xp.max(h))
    packed, largest, (norms, ones) = None, 0.0, (-2, -1) if ones_last else (-1, -2)
    step = max(min(PACKED_ROWS, _PACKED_CELLS // max(sample.shape[1], 1)), 2)
    for start in range(0, sample.shape[0], step):
        rows = slice(start, start + step)
        u = embed(_float64(sample[rows]) - centre)
        h = np.einsum("ij,ij->i", u, u) / 2
        if packed is None:
            packed = _empty(u.shape[1] + 2, sample.shape[0], precision)
            packed[ones] = 1.0
        packed[:-2, rows] = (u * unit**-0.5).astype(precision, copy=False).T
        packed[norms, rows] = (log_weight - h) / unit
        largest = max(largest, float(h.max()))
    return packed, largest


def _empty(height: int, width: int, precision: Precision) -> FloatArray:
    """Return an array of rows that are not a power of two apart, which would share few lines of the cache."""
    return np.empty((height, width // 32 * 32 + 48), precision)[:, :width]


def _mirrored(packed: FloatArray) -> FloatArray:
    """Return the same columns, packed without a weight, as the other side of the product has them."""
    found = _empty(len(packed), packed.shape[1], packed.dtype.name)
    found[:-2], found[-2], found[-1] = packed[:-2], packed[-1], packed[-2]
    return found


def _product(left: FloatArray, right: FloatArray, out: Array | None) -> Array:
    """Return ``left.T @ right``, in blocks of so many rows that each is a small product."""
    (depth, height), width = left.shape, right.shape[1]
    step = _SMALL_PRODUCT // max(right.size, 1)
    if not (_AVX512 and _LEAST_STEP <= step < height):
        return np.matmul(left.T, right, out=out)
    if out is None:
        out = np.empty((height, width), left.dtype)
    even = height // step * step
    blocks = left[:, :even].reshape(depth, -1, step).transpose(1, 2, 0)
    np.matmul(blocks, right, out=out[:even].reshape(-1, step, width))
    if even < height:
        np.matmul(left[:, even:].T, right, out=out[even:])
    return out


def _bind_differences(
    u: Array, v: Array, power: int, weight: float, factor: float, precision: Precision = "float64"
) -> BoundKernel:
    """Bind the exponential of a distance computed from differences, coordinate by coordinate."""
    xp = namespace(u, v)
    dtype = getattr(xp, precision)
    shift = math.log(weight)
    if xp is np:
        from scipy.spatial.distance import cdist

        metric = "cityblock" if power == 1 else "sqeuclidean"

        def numpy_tile(rows: slice, columns: slice, out: Array | None) -> Array:
            a, b = u[rows], v[columns]
            if out is None:
                out = np.empty((len(a), len(b)), dtype)
            # cdist works in float64, and there is no need of more memory then; the exponential costs half as
            # much in float32.
            whole = out.dtype == np.float64 and out.flags.c_contiguous
            distances = cdist(a, b, metric, out=out if whole else None)
            with np.errstate(over="ignore"):  # beyond all numbers: the exponential is zero
                np.multiply(distances, factor, out=out, casting="same_kind")
            if shift:
                out += dtype(shift)
            return np.exp(out, out=out)

        return BoundKernel(numpy_tile, precision)

    def tile(rows: slice, columns: slice, out: Array | None) -> Array:
        a, b = u[rows, :], v[columns, :]
        total = like(np.zeros((a.shape[0], b.shape[0])), a)
        for k in range(a.shape[1]):
            difference = xp.abs(a[:, k][:, None] - b[:, k][None, :])
            total = total + (difference if power == 1 else difference * difference)
        return xp.exp(xp.astype(total * factor + shift, dtype, copy=False))

    return BoundKernel(tile, precision)


def numpy_product(
    first: BoundKernel, second: BoundKernel, offset: float
) -> Callable[[slice, slice, Array | None], Array]:
    """Return tiles of ``first * (second + offset)``, in place; each thread keeps a buffer for the second."""
    local, dtype = threading.local(), np.dtype(first.precision)

    def buffer(shape: tuple[int, ...]) -> Array:
        size = shape[0] * shape[1]
        if getattr(local, "values", None) is None or local.values.size < size:
            local.values = np.empty(size, dtype)
        return local.values[:size].reshape(shape)

    def tile(rows: slice, columns: slice, out: Array | None) -> Array:
        values = first.tile(rows, columns, out)
        similar = second.tile(rows, columns, buffer(values.shape))
        similar += dtype.type(offset)
        values *= similar
        return values

    return tile
