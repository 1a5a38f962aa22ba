"""Which engine computes: the one that is given, or the one where the data is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, first_rows, is_spread, namespace
from nammd.data.opening import open_all, refuse_summaries
from nammd.data.pieces import is_mapped
from nammd.engines.protocol import Engine, Summed
from nammd.engines.sums import KernelSums
from nammd.kernels import Kernel, as_kernel
from nammd.kernels.operations import check
from nammd.spaces.sample import together
from nammd.spaces.space import fit_space, sample_of


def given_engine(engine: Any) -> Engine | None:
    """Return an engine that was given, with all that engines can do; None where none was given."""
    if engine is None or isinstance(engine, Engine):
        return engine
    if isinstance(engine, type) or not all(hasattr(engine, name) for name in ("sums", "quadratic_forms")):
        raise TypeError(f"engine must be an engine object such as nammd.Tiles(), not {engine!r}")
    return UserEngine(engine)


def workers_read_files(engine: Any) -> bool:
    """Tell whether an engine was given whose workers read files by themselves."""
    given = given_engine(engine)
    return given is not None and given.reads_files


def choose_engine(engine: Any, *samples: Array) -> Engine:
    """Return the engine that was given, or else the one where the samples are.

    The rule, in this order: an engine that is given is used; many rows of Spark DataFrames and of tables
    that are read in batches are computed by `Mapped`, Dask collections by `Cluster`;
    float32 torch tensors on a CUDA device by `Cuda`, if Triton is installed; all else by `Tiles`, which
    computes with NumPy in threads, and with any other library where its arrays are.
    """
    given = given_engine(engine)
    if given is not None:
        if any(map(is_mapped, samples)):
            raise TypeError(
                f"{given!r} computes with rows in memory or on its own cluster, and these are too many to be "
                "brought there; leave engine out"
            )
        return given
    foreign = [sample for sample in samples if not isinstance(sample, np.ndarray)]
    if any(map(is_mapped, foreign)):
        from nammd.engines.mapped import Mapped

        return Mapped()
    if any(map(is_spread, foreign)):
        from nammd.engines.cluster import Cluster

        return Cluster()
    if foreign and all(map(_is_single_on_cuda, foreign)) and find_spec("triton") is not None:
        from nammd.engines.cuda import Cuda

        return Cuda()
    from nammd.engines.tiles import Tiles

    return Tiles()


@dataclass(frozen=True, repr=False)
class UserEngine(Engine):
    """An object with the two computations of an engine, given the defaults of `Engine`."""

    engine: Any

    def sums(self, kernel: Kernel, *parts: tuple[Array, ...]) -> Summed:
        """Return what the object sums."""
        found = self.engine.sums(kernel, *parts)
        return found if isinstance(found, Summed) else Summed(tuple(found), self.described(parts[0][0]))

    def quadratic_forms(self, kernel: Kernel, z: Array, vectors: NDArray[Any]) -> FloatArray:
        """Return the quadratic forms of the object."""
        forms: FloatArray = self.engine.quadratic_forms(kernel, z, vectors)
        return forms

    def __repr__(self) -> str:
        return repr(self.engine)


def _is_single_on_cuda(sample: Any) -> bool:
    """Tell whether a sample is one for `Cuda`. Who has float64 on a GPU is given float64."""
    from array_api_compat import is_torch_array

    if not is_torch_array(sample) or sample.device.type != "cuda":
        return False
    return bool(sample.dtype == namespace(sample).float32)


def kernel_sums(x: Any, y: Any, kernel: Any, engine: Engine | None = None) -> KernelSums:
    """Return the sums of the kernel over two samples that all statistics are made of.

    They take memory in proportion to the number of rows, whatever the engine; the Gram matrix is
    never stored.

    Parameters
    ----------
    x, y : dataset
        The datasets; see `distance`. At least two rows each.
    kernel : Kernel
        A kernel such as ``nammd.Gaussian(1.0)``.
    engine : Engine, optional
        Which engine computes; by default the one where the data is.

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
    kernel = as_kernel(kernel)
    given_engine(engine)  # what is none is refused before the data are read
    datasets = open_all({"x": x, "y": y}, min_rows=2)
    refuse_summaries(*datasets)
    space = fit_space(datasets, kernel=kernel)
    one, other = (s.points for s in together([sample_of(dataset, space) for dataset in datasets]))
    check(kernel, first_rows(one, 7), first_rows(other, 5))
    return choose_engine(engine, one, other).pair_sums(kernel, one, other)
