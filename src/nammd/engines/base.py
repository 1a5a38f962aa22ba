"""What an engine is: the two computations that everything else is built on."""

from __future__ import annotations

from dataclasses import fields
from importlib.util import find_spec
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, first_rows, namespace, place
from nammd.data.pieces import is_dask
from nammd.data.samples import as_samples
from nammd.engines.sums import KernelSums
from nammd.kernels import Kernel, as_kernel


@runtime_checkable
class Engine(Protocol):
    """Computes sums of a Gram matrix. It knows arrays and kernels, and nothing of statistics."""

    def sums(self, kernel: Kernel, *parts: tuple[Array, ...]) -> list[Any]:
        """Return the sums of several Gram matrices, in the order asked for.

        A part ``(x,)`` asks for the `WithinSums` of x, a part ``(x, y)`` for the `CrossSums` of x
        and y. All of them at once, so that an engine can schedule them together.
        """

    def quadratic_forms(self, kernel: Kernel, z: Array, vectors: NDArray[Any]) -> FloatArray:
        """Return ``v' K v`` for every column v, K the Gram matrix of z less its diagonal."""


def choose_engine(engine: Any, *samples: Array) -> Engine:
    """Return the engine that was asked for, or the one that suits where the samples are.

    This is the one rule, in this order: an engine that is given is used; Dask collections are computed by
    `Cluster`; float32 torch tensors on a CUDA device by `Cuda`, if Triton is installed; all else by
    `Tiles`, which computes with NumPy in threads, and with any other library where its arrays are.
    """
    if engine is not None:
        if isinstance(engine, type) or not isinstance(engine, Engine):
            raise TypeError(f"engine must be an engine object such as nammd.Tiles(), not {engine!r}")
        return engine
    foreign = [sample for sample in samples if not isinstance(sample, np.ndarray)]
    if any(is_dask(sample) for sample in foreign):
        from nammd.engines.cluster.engine import Cluster

        return Cluster()
    if foreign and all(_is_single_on_cuda(sample) for sample in foreign) and find_spec("triton") is not None:
        from nammd.engines.cuda.engine import Cuda

        return Cuda()
    from nammd.engines.tiles.engine import Tiles

    return Tiles()


def _is_single_on_cuda(sample: Any) -> bool:
    """Tell whether a sample is one for `Cuda`. Who has float64 on a GPU is given float64."""
    from array_api_compat import is_torch_array

    if not is_torch_array(sample) or sample.device.type != "cuda":
        return False
    return bool(sample.dtype == namespace(sample).float32)


def engine_words(engine: Engine, *samples: Array, kernel: Kernel | None = None) -> str:
    """Describe the engine that computes with samples: its settings, and where, if that is not NumPy.

    An engine that leaves some kernels or data to another one has a method `engine_for`, which tells.
    """
    stand_in = getattr(engine, "engine_for", None)
    if stand_in is not None and kernel is not None:
        engine = stand_in(kernel, *samples)
    if isinstance(samples[0], np.ndarray) or is_dask(samples[0]):
        return repr(engine)
    return f"{engine!r} on {place(samples[0])}"


def repr_of_what_is_set(engine: Any) -> str:
    """Return the repr of a dataclass with those fields only that differ from their defaults."""
    chosen = [
        f"{field.name}={getattr(engine, field.name)!r}"
        for field in fields(engine)
        if field.repr and getattr(engine, field.name) != field.default
    ]
    return f"{type(engine).__name__}({', '.join(chosen)})"


def pair_sums(x: Array, y: Array, kernel: Kernel, engine: Engine) -> KernelSums:
    """Return the sums of a pair of samples that has been checked already."""
    within_x, within_y, cross = engine.sums(kernel, (x,), (y,), (x, y))
    return KernelSums(within_x, within_y, cross, float(kernel.bound))


def kernel_sums(x: Any, y: Any, kernel: Any, engine: Engine | None = None) -> KernelSums:
    """Return the sums of the kernel over two samples that all statistics are made of.

    They take memory in proportion to the number of rows, whatever the engine; the Gram matrix is
    never stored.

    Parameters
    ----------
    x, y : array or table
        The samples, one row per observation; at least two rows each.
    kernel : Kernel
        A kernel such as ``nammd.Gaussian(1.0)``.
    engine : Engine, optional
        Who computes; by default the one that suits where the data is.

    Returns
    -------
    KernelSums

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> x, y = np.random.default_rng(0).normal(size=(2, 1000, 4))
    >>> sums = nammd.kernel_sums(x, y, nammd.Gaussian(2.0))
    >>> sums.xx_rows.shape, sums.xy_cols.shape
    ((1000,), (1000,))
    >>> mean = sums.cross.mean            # the mean of k(x_i, y_j)
    """
    x, y = as_samples(min_rows=2, x=x, y=y)
    kernel = as_kernel(kernel)
    check_kernel(kernel, x, y)
    return pair_sums(x, y, kernel, choose_engine(engine, x, y))


def check_kernel(kernel: Kernel, x: Array, y: Array) -> None:
    """Evaluate a user's kernel on a few rows and refuse it where it breaks its promise."""
    from nammd.data.arrays import to_numpy
    from nammd.kernels.base import Scaled, Sum
    from nammd.kernels.gaussian import SquaredExponential
    from nammd.kernels.laplace import Laplace

    if isinstance(kernel, Scaled):
        return check_kernel(kernel.kernel, x, y)
    if isinstance(kernel, Sum):
        for term in kernel.terms:
            check_kernel(term, x, y)
        return None
    if isinstance(kernel, (SquaredExponential, Laplace)):
        return None
    a, b = first_rows(x, 7), first_rows(y, 5)
    values, mirrored, own = (to_numpy(kernel(*pair)) for pair in ((a, b), (b, a), (a, a)))
    if values.shape != (a.shape[0], b.shape[0]):
        raise ValueError(
            f"the kernel {kernel!r} returned an array of shape {values.shape} for samples of "
            f"{a.shape[0]} and {b.shape[0]} rows; it must return one value per pair of rows"
        )
    slack = 1e-5 * kernel.bound
    if not all(abs(v).max() <= kernel.bound + slack for v in (values, own)):  # NaN fails as well
        raise ValueError(
            f"the kernel {kernel!r} takes values beyond its bound of {kernel.bound:g} (or NaN); "
            "state a larger `bound`, or use a bounded kernel"
        )
    if abs(values - mirrored.T).max() > slack:
        raise ValueError(f"the kernel {kernel!r} is not symmetric: k(x, y) must equal k(y, x)")
    return None
