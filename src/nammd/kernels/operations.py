"""What is done *to* kernels: one dispatched function for each operation.

==================  ==================================================================================
`to_dict`           a kernel as a dictionary for files; `from_dict` makes it again
`for_columns`       the same kernel for some of the columns, its bandwidth scaled to them
`spectrum`          the frequencies of a shift-invariant kernel
`check`             whether a kernel keeps its promises, on a few rows
`as_code`           the Python expression that makes a kernel
`scaled_distance`   which distance a kernel is the exponential of
`at_scale`          the same kernel with a multiple of its bandwidth
`alike_in_columns`  whether a kernel takes a unit of one column for one of any other
`features_of`       the features that a kernel is given by
`row_by_row`        the values between rows of two samples that belong to each other
==================  ==================================================================================

A new kernel registers what it can do; what is not registered is refused, or done without, as each says.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, to_numpy
from nammd.errors.stored import Stored
from nammd.kernels.bandwidth import SAFE, Metric, median_distance
from nammd.kernels.base import Kernel, Scaled, Sum
from nammd.kernels.deep import Deep
from nammd.kernels.gaussian import Gaussian, Mahalanobis, SquaredExponential
from nammd.kernels.laplace import Laplace
from nammd.kernels.orthogonal import normal_frequencies
from nammd.kernels.random_features import FLOAT32_PHASE, RandomFeatures

# Storing -------------------------------------------------------------------------------------------------


@singledispatch
def to_dict(kernel: Any) -> dict[str, Any]:
    """Return a kernel as a dictionary ready for JSON; only built-in ones can be written."""
    raise TypeError(
        f"the kernel {kernel!r} cannot be written to a file; only the built-in kernels, scaled and "
        "summed, can"
    )


@to_dict.register
def _(kernel: Gaussian) -> dict[str, Any]:
    return {"kind": "gaussian", "bandwidth": kernel.bandwidth}


@to_dict.register
def _(kernel: Laplace) -> dict[str, Any]:
    return {"kind": "laplace", "bandwidth": kernel.bandwidth}


@to_dict.register
def _(kernel: Mahalanobis) -> dict[str, Any]:
    return {"kind": "mahalanobis", "bandwidth": kernel.bandwidth, "matrix": kernel.matrix.tolist()}


@to_dict.register
def _(kernel: Scaled) -> dict[str, Any]:
    return {"kind": "scaled", "factor": float(kernel.factor), "kernel": to_dict(kernel.kernel)}


@to_dict.register
def _(kernel: Sum) -> dict[str, Any]:
    return {"kind": "sum", "terms": [to_dict(term) for term in kernel.terms]}


@to_dict.register
def _(kernel: Deep) -> dict[str, Any]:
    return kernel.to_dict()


@to_dict.register
def _(kernel: RandomFeatures) -> dict[str, Any]:
    return {
        "kind": "random-features",
        "n_features": kernel.n_features,
        "seed": kernel.seed,
        "orthogonal": kernel.orthogonal,
        "digest": kernel.digest,
        "kernel": to_dict(kernel.kernel),
    }


def from_dict(stored: Any) -> Kernel:
    """Return the kernel that a dictionary describes; a ValueError says what is wrong with it."""
    stored = Stored.of(stored, "the description of the kernel is damaged: ")
    try:
        return _MAKERS[stored["kind"].one_of(*_MAKERS)](stored)
    except RecursionError:
        raise stored["kind"].wrong("a kernel that is made of fewer others") from None


def _bandwidth(stored: Stored) -> float:
    return stored["bandwidth"].number(sys.float_info.min, sys.float_info.max)


def _mahalanobis(stored: Stored) -> Mahalanobis:
    size = len(stored["matrix"].each())
    matrix = stored["matrix"].numbers(size, size)
    try:
        return Mahalanobis(matrix, _bandwidth(stored))
    except ValueError as error:
        raise ValueError(f"{stored.said}{stored['matrix'].path}: {error}") from None


def _sum(stored: Stored) -> Sum:
    terms = tuple(from_dict(term) for term in stored["terms"].each())
    if not terms:
        raise stored["terms"].wrong("a list of at least one kernel")
    return Sum(terms)


def _deep(stored: Stored) -> Deep:
    try:
        return Deep.from_dict(stored.value)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{stored.said}{stored.path or 'kernel'}: {error}") from None


def _features_from_dict(stored: Stored) -> RandomFeatures:
    orthogonal = stored["orthogonal"].truth() if "orthogonal" in stored else False
    count, seed = stored["n_features"].whole(4, MOST_FEATURES), stored["seed"].whole(0, 2**128)
    if count % 2:
        raise stored["n_features"].wrong("an even number")
    features = RandomFeatures(from_dict(stored["kernel"]), count, seed, orthogonal)
    if features.digest != stored["digest"].text():
        raise ValueError(
            f"{stored['digest'].path}: the random features of the file are not those that this version of "
            "nammd and NumPy makes of their seed"
        )
    return features


MOST_FEATURES = 1 << 20
"""So many features a file has at most: a thousand times the default."""

_MAKERS: dict[str, Callable[[Stored], Kernel]] = {
    "gaussian": lambda stored: Gaussian(_bandwidth(stored)),
    "laplace": lambda stored: Laplace(_bandwidth(stored)),
    "mahalanobis": _mahalanobis,
    "scaled": lambda s: Scaled(from_dict(s["kernel"]), s["factor"].number(1e-60, 1e60)),
    "sum": _sum,
    "deep": _deep,
    "random-features": _features_from_dict,
}


# Some of the columns -------------------------------------------------------------------------------------


@singledispatch
def for_columns(kernel: Any, rows: FloatArray, keep: NDArray[np.intp]) -> Kernel | None:
    """Return a kernel for the columns `keep`, its bandwidth scaled to the distances between rows there.

    None where the kernel has no bandwidth that could be scaled. Raises a ValueError where nothing
    varies in those columns.
    """
    return None


@for_columns.register
def _(kernel: Gaussian, rows: FloatArray, keep: NDArray[np.intp]) -> Kernel | None:
    return Gaussian(kernel.bandwidth * _ratio(rows[:, keep], rows, "euclidean"))


@for_columns.register
def _(kernel: Laplace, rows: FloatArray, keep: NDArray[np.intp]) -> Kernel | None:
    return Laplace(kernel.bandwidth * _ratio(rows[:, keep], rows, "cityblock"))


@for_columns.register
def _(kernel: Mahalanobis, rows: FloatArray, keep: NDArray[np.intp]) -> Kernel | None:
    part, whole = Mahalanobis(kernel.matrix[np.ix_(keep, keep)]), Mahalanobis(kernel.matrix)
    ratio = _ratio(part.embed(rows[:, keep]), whole.embed(rows), "euclidean")
    return Mahalanobis(part.matrix, kernel.bandwidth * ratio)


@for_columns.register
def _(kernel: Scaled, rows: FloatArray, keep: NDArray[np.intp]) -> Kernel | None:
    inner = for_columns(kernel.kernel, rows, keep)
    return None if inner is None else Scaled(inner, kernel.factor)


@for_columns.register
def _(kernel: Sum, rows: FloatArray, keep: NDArray[np.intp]) -> Kernel | None:
    terms = [for_columns(term, rows, keep) for term in kernel.terms]
    known = tuple(term for term in terms if term is not None)
    return Sum(known) if len(known) == len(terms) else None


@for_columns.register
def _(kernel: RandomFeatures, rows: FloatArray, keep: NDArray[np.intp]) -> Kernel | None:
    inner = for_columns(kernel.kernel, rows, keep)
    return None if inner is None else kernel.at_bandwidth(inner)


def _ratio(part: FloatArray, whole: FloatArray, metric: Metric) -> float:
    return median_distance(part, metric) / median_distance(whole, metric)


# Frequencies ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frequencies:
    """A term of a kernel whose law of frequencies is known.

    Attributes
    ----------
    weight : float
        The weight of the term.
    draw : callable
        Makes frequencies, one in each row, of numbers between 0 and 1, one for each column; and told whether
        they are to be orthogonal, as far as that can be.
    """

    weight: float
    draw: Callable[[FloatArray, bool], FloatArray]


@singledispatch
def spectrum(kernel: Any) -> list[Frequencies]:
    """Return a kernel as a sum of weighted terms whose frequencies are known, or refuse it."""
    raise TypeError(
        f"there are no random features for the kernel {kernel!r}; use Gaussian, Laplace or Mahalanobis, or "
        "multiples and sums of them"
    )


@spectrum.register
def _(kernel: Gaussian) -> list[Frequencies]:
    return [Frequencies(1.0, lambda uniforms, apart: _normal(uniforms, apart) / kernel.bandwidth)]


@spectrum.register
def _(kernel: Laplace) -> list[Frequencies]:
    # A product over columns, each with a Cauchy law.
    return [Frequencies(1.0, lambda uniforms, apart: np.tan(np.pi * (uniforms - 0.5)) / kernel.bandwidth)]


@spectrum.register
def _(kernel: Mahalanobis) -> list[Frequencies]:
    def draw(uniforms: FloatArray, apart: bool) -> FloatArray:
        return _normal(uniforms, apart) @ kernel.symmetric_root(uniforms.shape[1]) / kernel.bandwidth

    return [Frequencies(1.0, draw)]


@spectrum.register
def _(kernel: Scaled) -> list[Frequencies]:
    return [Frequencies(kernel.factor * term.weight, term.draw) for term in spectrum(kernel.kernel)]


@spectrum.register
def _(kernel: Sum) -> list[Frequencies]:
    return [part for term in kernel.terms for part in spectrum(term)]


def _normal(uniforms: FloatArray, orthogonal: bool) -> FloatArray:
    """Return normal frequencies, independent or orthogonal."""
    from scipy.special import ndtri

    normal: FloatArray = ndtri(uniforms)
    return normal_frequencies(normal) if orthogonal else normal


# Promises ------------------------------------------------------------------------------------------------


@singledispatch
def check(kernel: Any, a: Array, b: Array) -> None:
    """Evaluate a kernel on two handfuls of rows, and refuse it where it breaks its promise."""
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


@check.register(SquaredExponential)
@check.register(Laplace)
def _(kernel: Any, a: Array, b: Array) -> None:
    """Trust the built-in ones."""


@check.register
def _(kernel: Scaled, a: Array, b: Array) -> None:
    check(kernel.kernel, a, b)


@check.register
def _(kernel: Sum, a: Array, b: Array) -> None:
    for term in kernel.terms:
        check(term, a, b)


# Words ---------------------------------------------------------------------------------------------------


@singledispatch
def as_code(kernel: Any) -> str | None:
    """Return the Python expression that makes a kernel; None where it would not fit on a line."""
    return None


@as_code.register(Gaussian)
@as_code.register(Laplace)
def _(kernel: Any) -> str | None:
    return f"nammd.{kernel!r}"


@as_code.register
def _(kernel: RandomFeatures) -> str | None:
    inner = as_code(kernel.kernel)
    return None if inner is None else f"nammd.{kernel!r}".replace(repr(kernel.kernel), inner)


@as_code.register
def _(kernel: Scaled) -> str | None:
    inner = as_code(kernel.kernel)
    if inner is None:
        return None
    return f"{kernel.factor!r} * {f'({inner})' if ' ' in inner else inner}"


@as_code.register
def _(kernel: Sum) -> str | None:
    terms = [as_code(term) for term in kernel.terms]
    return None if None in terms else " + ".join(map(str, terms))


# Families ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScaledDistance:
    """A kernel as ``exp(factor * distance)``: those of one metric share their distances.

    Attributes
    ----------
    metric : {"sqeuclidean", "cityblock"}
        The distance of two rows.
    factor : float
        What it is multiplied by, a negative number.
    """

    metric: Literal["sqeuclidean", "cityblock"]
    factor: float


@singledispatch
def scaled_distance(kernel: Any) -> ScaledDistance:
    """Return which distance a kernel is the exponential of, or refuse it."""
    raise TypeError(f"only Gaussian and Laplace kernels form families, not {kernel!r}")


@scaled_distance.register
def _(kernel: Gaussian) -> ScaledDistance:
    if not SAFE[0] / 100 <= kernel.bandwidth <= SAFE[1] * 100:
        raise ValueError(
            f"the bandwidth {kernel.bandwidth:.3g} is too far from 1: squares of such numbers are none any "
            "more; multiply the data and the bandwidth by a power of ten"
        )
    return ScaledDistance("sqeuclidean", -0.5 / kernel.bandwidth**2)


@scaled_distance.register
def _(kernel: Laplace) -> ScaledDistance:
    return ScaledDistance("cityblock", -1 / kernel.bandwidth)


# Scales --------------------------------------------------------------------------------------------------


@singledispatch
def at_scale(kernel: Any, scale: float) -> Kernel | None:
    """Return a kernel with `scale` times its bandwidth; None where it has none."""
    return None


@at_scale.register
def _(kernel: Gaussian, scale: float) -> Kernel | None:
    return Gaussian(kernel.bandwidth * scale)


@at_scale.register
def _(kernel: Laplace, scale: float) -> Kernel | None:
    return Laplace(kernel.bandwidth * scale)


@at_scale.register
def _(kernel: Mahalanobis, scale: float) -> Kernel | None:
    return Mahalanobis(kernel.matrix, kernel.bandwidth * scale)


@at_scale.register
def _(kernel: RandomFeatures, scale: float) -> Kernel | None:
    approximated = at_scale(kernel.kernel, scale)
    return None if approximated is None else kernel.at_bandwidth(approximated)


# Features ------------------------------------------------------------------------------------------------


@singledispatch
def features_of(kernel: Any) -> RandomFeatures | None:
    """Return the features that a kernel is given by; None where it has none."""
    return None


@features_of.register
def _(kernel: RandomFeatures) -> RandomFeatures | None:
    return kernel


# Rows that belong to each other --------------------------------------------------------------------------

_PAIRED, _SINGLE_PAIRS = 256, 512
"""So many rows are compared with their partners at once; and with more in all, waves are float32."""


@singledispatch
def row_by_row(kernel: Any, x: Array, y: Array) -> FloatArray:
    """Return ``k(x_i, y_i)`` for every i."""
    parts = _slices(x, _PAIRED)
    found = [to_numpy(kernel(x[some, :], y[some, :])) for some in parts]
    return np.concatenate([np.diagonal(values) for values in found]) if found else np.empty(0)


@row_by_row.register(Gaussian)
@row_by_row.register(Laplace)
def _(kernel: Any, x: Array, y: Array) -> FloatArray:
    distance, apart = scaled_distance(kernel), to_numpy(x).astype(np.float64, copy=False) - to_numpy(y)
    lengths = np.einsum("ij,ij->i", apart, apart)
    if distance.metric == "cityblock":
        lengths = np.abs(apart).sum(axis=1)
    values: FloatArray = np.exp(distance.factor * lengths)
    return values


@row_by_row.register
def _(kernel: RandomFeatures, x: Array, y: Array) -> FloatArray:
    waves = kernel.frequencies(int(x.shape[1])).T
    single = x.shape[0] > _SINGLE_PAIRS  # an error of one in ten million averages out
    apart = (to_numpy(x[some, :]) - to_numpy(y[some, :]) for some in _slices(x, 4 * _PAIRED))
    found = [
        kernel.bound * np.cos(_phases(each, waves, single)).mean(axis=1, dtype=np.float64) for each in apart
    ]
    return np.concatenate(found) if found else np.empty(0)


def _phases(apart: FloatArray, waves: FloatArray, single: bool) -> Any:
    """Return the phases of differences, in float32 where that will do."""
    if single and np.abs(apart).sum(axis=1).max() * np.abs(waves).max() <= FLOAT32_PHASE:
        return apart.astype(np.float32) @ waves.astype(np.float32)
    return apart @ waves


def _slices(x: Array, rows: int) -> list[slice]:
    """Return slices of so many rows; the last one ends with the array, as the array standard asks for."""
    size = int(x.shape[0])
    return [slice(at, min(at + rows, size)) for at in range(0, size, rows)]


# Columns -------------------------------------------------------------------------------------------------


@singledispatch
def alike_in_columns(kernel: Any) -> bool:
    """Tell whether a unit of one column counts like a unit of any other; not so where that is not known."""
    return False


@alike_in_columns.register(Gaussian)
@alike_in_columns.register(Laplace)
def _(kernel: Any) -> bool:
    return True


@alike_in_columns.register(RandomFeatures)
@alike_in_columns.register(Scaled)
def _(kernel: Any) -> bool:
    return alike_in_columns(kernel.kernel)


@alike_in_columns.register
def _(kernel: Sum) -> bool:
    return all(map(alike_in_columns, kernel.terms))
