"""The few things this package must know about where arrays live.

Everything else is written against the array API standard. NumPy arrays are recognised first and
served by NumPy itself, so that the common case does not import the compatibility layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.digest import digest_of_array
from nammd.data.pieces import is_dask, is_mapped
from nammd.data.threads import beside

T = TypeVar("T")

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


def is_spread(value: Any) -> bool:
    """Tell whether an array is elsewhere: in blocks on a Dask cluster, or rows of a table in pieces."""
    return is_dask(value) or is_mapped(value)


def beside_device(function: Callable[[], T], array: Array | None) -> Callable[[], T]:
    """Begin with a function in a thread of its own, if an array is on a device that sums in the meantime.

    What is returned waits for it. Of an array that is summed here, or on a cluster, it is called only then:
    more threads would be in the way of those that sum. What the thread asks of a GPU comes after all that the
    caller has asked already.
    """
    if array is None or isinstance(array, np.ndarray) or is_spread(array):
        return beside(function, 0)
    if not (is_torch(array) and array.device.type == "cuda"):
        return beside(function, math.prod(array.shape))
    import torch

    stream = torch.cuda.current_stream(array.device)

    def in_the_same_stream() -> T:
        with torch.cuda.stream(stream):
            return function()

    return beside(in_the_same_stream, math.prod(array.shape))


def is_torch(value: Any) -> bool:
    """Tell whether an array is a tensor of torch."""
    return library_of(value) == "torch"


def library_of(array: Array) -> str:
    """Return the name of the library that an array belongs to."""
    return type(array).__module__.partition(".")[0]


def to_numpy(array: Array) -> FloatArray:
    """Bring an array, wherever it lives, to NumPy in float64."""
    return at_home(array).astype(np.float64, copy=False)


def at_home(array: Array) -> NDArray[Any]:
    """Bring an array, wherever it lives, to NumPy in its own type."""
    if hasattr(array, "detach"):  # torch: leave the autograd graph and the device
        array = array.detach().cpu()
    return np.asarray(array)


def bits_of(array: Array) -> Array:
    """Return the bits of numbers in float64 as whole numbers of 64 bits, in a new array where they live.

    The same numbers have the same bits, minus zero and zero too. Arrays of libraries or devices that cannot
    do that come to NumPy.
    """
    if is_torch(array) and array.device.type != "mps":  # which has no float64
        return (array.detach().double() + 0.0).view(namespace(array).int64)
    return (to_numpy(array) + 0.0).view(np.int64)


def in_float64(array: Array) -> Array:
    """Return an array in float64, where it lives."""
    if isinstance(array, np.ndarray):
        return array.astype(np.float64, copy=False)
    if is_dask(array):
        from nammd.data.blocks import with_type

        return with_type(array, np.float64)
    if is_mapped(array):
        return array
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def as_columns(data: Array) -> Array:
    """Make one-dimensional data one column; leave the rest alone."""
    if not hasattr(data, "ndim"):
        data = np.asarray(data)
    return data[:, None] if data.ndim == 1 else data


def take_rows(sample: Array, rows: NDArray[Any]) -> Array:
    """Return a copy of some rows of an array, where it lives; those of spread ones come to NumPy."""
    if isinstance(sample, np.ndarray):
        return sample[rows]
    if is_spread(sample):
        from nammd.data.blocks import some_rows

        return some_rows(sample, rows)
    from array_api_compat import array_namespace, device

    xp = array_namespace(sample)
    return xp.take(sample, xp.asarray(rows, device=device(sample)), axis=0)


def rows_at(
    samples: Sequence[Array], positions: Sequence[NDArray[Any]], names: Sequence[str] = ()
) -> FloatArray:
    """Return rows of several samples together, in NumPy; a cluster is asked once for all of them.

    What is learned of them on the way is not kept back: with `names`, rows that are not finite are refused.
    """
    spread = [k for k, sample in enumerate(samples) if is_spread(sample)]
    if spread:
        from nammd.data.blocks import look, require_finite_blocks

        look([samples[k] for k in spread], [positions[k] for k in spread])
        for k in spread if names else ():
            require_finite_blocks(samples[k], names[k])
    return np.concatenate(
        [to_numpy(take_rows(sample, rows)) for sample, rows in zip(samples, positions, strict=True)]
    )


def aligned(samples: Sequence[Array], names: Sequence[str]) -> list[Array]:
    """Bring samples to one floating-point type; refuse to mix libraries.

    But a sample in memory may meet one on a Dask cluster: it is handed to the workers. And it may meet rows
    of a table in pieces, which are never handed out.
    """
    found = list(samples)
    if any(map(is_mapped, found)) and all(is_mapped(s) or isinstance(s, np.ndarray) for s in found):
        return found
    if any(map(is_dask, found)):
        from nammd.data.blocks import in_blocks

        found = [in_blocks(sample) if isinstance(sample, np.ndarray) else sample for sample in found]
    if len(set(map(library_of, found))) > 1:
        kinds = " and ".join(f"{n} is {type(s).__module__}" for n, s in zip(names, found, strict=True))
        raise TypeError(f"the datasets live in different array libraries ({kinds}); convert one")
    return found if len({sample.dtype for sample in found}) == 1 else list(map(in_float64, found))


def first_rows(sample: Array, count: int) -> Array:
    """Return the first rows of an array, where it lives; of a spread one, some rows as a NumPy array."""
    if is_spread(sample):
        from nammd.data.sampling import representatives

        # Those that are at home anyway: a look at the very first ones would be a pass over a block.
        return take_rows(sample, representatives(int(sample.shape[0]))[:count])
    return sample[: min(count, sample.shape[0]), :]


def is_constant(sample: Array) -> bool:
    """Tell whether all rows of a two-dimensional array are the same."""
    if is_spread(sample):
        from nammd.data.blocks import known, look

        look([sample])
        return known(sample).constant
    every, first = namespace(sample).all, sample[:1, :]
    # Of nearly all data the first rows tell, at no cost.
    few = sample[: min(100, sample.shape[0]), :]
    return bool(every(few == first)) and bool(every(sample == first))


def digest_of(sample: Array) -> str:
    """Return a digest of a sample: its shape and its numbers, in their order."""
    if is_spread(sample):
        from nammd.data.blocks import known, look

        look([sample], digest=True)
        return known(sample).digest
    return digest_of_array(at_home(sample))


def pooled_sample(x: Array, y: Array) -> Array:
    """Return the rows of both samples, those of x first."""
    return joined([x, y])


def joined(arrays: Sequence[Array], axis: int = 0) -> Array:
    """Return arrays of one library end to end."""
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays, axis=axis)
    return namespace(*arrays).concat(arrays, axis=axis)


def run_sums(values: Array, lengths: NDArray[np.intp]) -> Array:
    """Add up neighbouring rows of an array, as many as each length says, where they live.

    >>> import numpy as np
    >>> run_sums(np.array([[1.0], [2.0], [4.0]]), np.array([1, 2]))
    array([[1.],
           [6.]])
    """
    if len(lengths) == values.shape[0]:
        return values
    ends = np.cumsum(lengths)
    if isinstance(values, np.ndarray):
        return np.add.reduceat(values, ends - lengths)
    xp = namespace(values)
    if is_torch(values):
        each = like(np.ascontiguousarray(lengths), values, xp.int64)
        return xp.segment_reduce(values.contiguous(), "sum", lengths=each, axis=0, unsafe=True)
    so_far = xp.cumulative_sum(values, axis=0, include_initial=True)
    return take_rows(so_far, ends) - take_rows(so_far, ends - lengths)


def in_one_place(*arrays: Array) -> tuple[Array, ...]:
    """Return arrays as they are where all live in one place, and all in NumPy where not."""
    return arrays if len(set(map(place, arrays))) == 1 else tuple(map(at_home, arrays))


def like(values: NDArray[Any], array: Array, dtype: Any = None) -> Array:
    """Bring NumPy `values` to the namespace and device of `array`; to NumPy beside a table in pieces."""
    xp = np if is_mapped(array) else namespace(array)
    if xp is np:
        return values.astype(dtype or array.dtype, copy=False)
    from array_api_compat import device

    return xp.asarray(values, dtype=dtype or array.dtype, device=device(array))


def place(array: Array) -> str:
    """Name the library of an array and its device, such as "torch, cuda:0"."""
    from array_api_compat import device

    return f"{library_of(array)}, {device(array)}"
