"""The few things this package must know about where arrays live.

Everything else is written against the array API standard. NumPy arrays are recognised first and
served by NumPy itself, so that the common case does not import the compatibility layer.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.pieces import facts_of, is_dask, some_rows

Array: TypeAlias = Any
"""An array of any namespace that array-api-compat knows (NumPy, torch, CuPy, JAX, ...)."""

FloatArray: TypeAlias = NDArray[np.float64]


def namespace(*arrays: Array) -> Any:
    """Return the array namespace shared by the given arrays."""
    if all(isinstance(a, np.ndarray) for a in arrays):
        return np
    from array_api_compat import array_namespace

    return array_namespace(*arrays)


def is_foreign_array(value: Any) -> bool:
    """Tell whether `value` is an array of a namespace other than NumPy's."""
    from array_api_compat import is_array_api_obj

    return not isinstance(value, (np.ndarray, np.generic)) and bool(is_array_api_obj(value))


def to_numpy(array: Array) -> FloatArray:
    """Bring an array, wherever it lives, to NumPy in float64."""
    if isinstance(array, np.ndarray):
        return array.astype(np.float64, copy=False)
    if hasattr(array, "detach"):  # torch: leave the autograd graph and the device
        array = array.detach().cpu()
    return np.asarray(array).astype(np.float64, copy=False)


def take_rows(sample: Array, rows: NDArray[Any]) -> Array:
    """Return a copy of some rows of an array, where it lives; those of a Dask array come to NumPy."""
    if isinstance(sample, np.ndarray):
        return sample[rows]
    if is_dask(sample):
        return some_rows(sample, rows)
    from array_api_compat import array_namespace, device

    xp = array_namespace(sample)
    return xp.take(sample, xp.asarray(rows, device=device(sample)), axis=0)


def first_rows(sample: Array, count: int) -> Array:
    """Return the first rows of an array, where it lives; those of a Dask array come to NumPy."""
    if is_dask(sample):
        return some_rows(sample, np.arange(min(count, sample.shape[0])))
    return sample[:count, :]


def is_constant(sample: Array) -> bool:
    """Tell whether all rows of a two-dimensional array are the same."""
    if is_dask(sample):
        facts = facts_of(sample)
        return facts.constant if facts else bool((sample == first_rows(sample, 1)).all().compute())
    return bool(namespace(sample).all(sample == sample[:1, :]))


def like(values: NDArray[Any], array: Array, dtype: Any = None) -> Array:
    """Bring NumPy `values` to the namespace and device of `array`."""
    xp = namespace(array)
    if xp is np:
        return values.astype(dtype or array.dtype, copy=False)
    from array_api_compat import device

    return xp.asarray(values, dtype=dtype or array.dtype, device=device(array))


def place(array: Array) -> str:
    """Name the library of an array and its device, such as "torch, cuda:0"."""
    from array_api_compat import device

    return f"{type(array).__module__.partition('.')[0]}, {device(array)}"
