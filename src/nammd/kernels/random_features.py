"""Random Fourier features: a kernel that is the inner product of short vectors.

A shift-invariant kernel is the mean of ``cos(w'(x - y))`` over frequencies w of a law of its own. With J
of them drawn, ``bound * mean_j cos(w_j'(x - y))`` is a kernel by itself, and the inner product of the
features ``sqrt(bound / J) [cos(Wx), sin(Wx)]``. The features of a dataset can be summed; its rows cannot.

Frequencies are made again from a seed whenever they are needed, so they must be the same for years. They
come from the raw words of NumPy's PCG64, whose stream is guaranteed, through an inverse distribution
function; a `Generator` may change how it makes normal numbers.
"""

from __future__ import annotations

import hashlib
import math
import numbers
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nammd.data.arrays import Array, FloatArray, as_columns, like, namespace, to_numpy
from nammd.data.magnitudes import OutOfReach, unit_of
from nammd.kernels.base import BoundKernel, Kernel, Precision, precision_of

_EVERYTHING = slice(None)

STREAM = "pcg64-1"
"""The name of the way from a seed to frequencies; another way must have another name."""

FLOAT32_PHASE = 64.0
"""Largest phase w'x to be computed in float32, where it is then off by 4e-6 (measured); longer ones, from
an offset of the data or the heavy tails of Laplace frequencies, go through float64."""

FLOAT32_FREQUENCIES = 1e-30, 1e30
"""Longest frequencies between these are used in float32, which has few numbers beyond."""

_SQUARES_ARE_SAFE = 1e-30, 1e37
"""Sums of squares between these have their digits in float32 too."""

FLOAT64_PHASE = 1e13
"""Largest phase at all: in float64 it is off by 1e-3."""

BLOCK_ROWS = 4096
"""Rows whose features are made at once: some megabytes, and long enough for a matrix product."""


@dataclass(frozen=True, init=False)
class RandomFeatures(Kernel):
    """A kernel approximated by random Fourier features, and a kernel in its own right.

    Parameters
    ----------
    kernel : Kernel
        The kernel to approximate: `Gaussian`, `Laplace`, `Mahalanobis`, their multiples and sums.
    n_features : int
        The length of the feature vectors, an even number: a cosine and a sine for each frequency. The
        error of a kernel value falls like ``1 / sqrt(n_features)``.
    rng : int or numpy.random.Generator
        Seed of the frequencies. The same kernel, number and seed give the same frequencies, this year and
        in ten years; only distances under the same frequencies belong together.
    orthogonal : bool
        Whether the frequencies of Gaussian and Mahalanobis kernels are at right angles to each other, with
        lengths from equal strata, and not independent. Distances are then several times nearer to those
        of `kernel`; of sketches, whose error is told by independent frequencies, it is overestimated.

    Attributes
    ----------
    bound : float
        The largest value of the kernel, that of `kernel`. Values may be negative.
    seed : int
        The seed.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> kernel = nammd.RandomFeatures(nammd.Gaussian(1.0), n_features=4096, rng=0)
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> bool(abs(kernel(x, x) - nammd.Gaussian(1.0)(x, x)).max() < 0.02)
    True
    >>> kernel.features(x).shape
    (2, 4096)
    """

    kernel: Kernel
    n_features: int
    seed: int
    orthogonal: bool = False

    def __init__(self, kernel: Any, n_features: int = 1024, rng: Any = 0, orthogonal: bool = False) -> None:
        spectrum(kernel)  # refuses what has no frequencies
        whole = isinstance(n_features, numbers.Integral) and not isinstance(n_features, bool)
        if not whole or n_features < 4 or n_features % 2:
            raise ValueError(
                "n_features must be an even number of at least 4, a cosine and a sine for each frequency, "
                f"not {n_features!r}"
            )
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "n_features", int(n_features))
        object.__setattr__(self, "seed", _seed(rng))
        object.__setattr__(self, "orthogonal", bool(orthogonal))

    @property
    def bound(self) -> float:  # type: ignore[override]
        """The bound of the kernel that is approximated."""
        return float(self.kernel.bound)

    @property
    def scale(self) -> float:
        """What cosines and sines are multiplied by: ``sqrt(bound / J)``."""
        return math.sqrt(2 * self.bound / self.n_features)

    @property
    def digest(self) -> str:
        """A digest of the random numbers behind the frequencies, the same on every machine."""
        stream = f"{STREAM} orthogonal" if self.orthogonal else STREAM
        content = hashlib.sha256(f"{stream} {self.seed} {self.n_features}".encode())
        content.update(_words(self.seed, 1024).astype("<u8").tobytes())
        return content.hexdigest()

    def frequencies(self, n_columns: int) -> FloatArray:
        """Return the frequencies for data of so many columns.

        Parameters
        ----------
        n_columns : int
            The number of columns of the data.

        Returns
        -------
        array of shape (n_features / 2, n_columns)
            One frequency in each row.

        Examples
        --------
        >>> import nammd
        >>> nammd.RandomFeatures(nammd.Gaussian(2.0), 8, rng=0).frequencies(3).shape
        (4, 3)
        """
        return _remembered(self, n_columns).copy() if n_columns <= _FEW_COLUMNS else _drawn(self, n_columns)

    def at_bandwidth(self, kernel: Kernel) -> RandomFeatures:
        """Return features of another kernel, made of the same random numbers."""
        return RandomFeatures(kernel, self.n_features, self.seed, self.orthogonal)

    def features(self, x: Array, precision: Precision | None = None) -> Array:
        """Return the features of every row, in the namespace and on the device of `x`.

        Parameters
        ----------
        x : array of shape (m, d)
            The rows.
        precision : {"float32", "float64"}, optional
            That of the features; by default that of `x`.

        Returns
        -------
        array of shape (m, n_features)
            Inner products of these are the values of the kernel.
        """
        x = as_columns(x)
        waves = Waves(self.frequencies(int(x.shape[1])), precision or precision_of(x, x))
        return waves.of(x) * self.scale

    def __call__(self, x: Array, y: Array, /) -> Array:
        """Return the ``(len(x), len(y))`` array of kernel values."""
        return self.bind(as_columns(x), as_columns(y)).tile(_EVERYTHING, _EVERYTHING, None)

    def bind(
        self, x: Array, y: Array, precision: Precision | None = None, weight: float = 1.0
    ) -> BoundKernel:
        """Compute the features of both samples once, then serve tiles by matrix products."""
        precision = precision or precision_of(x, y)
        right = self.features(y, precision)
        left = right if x is y else self.features(x, precision)
        if weight != 1.0:
            left = left * weight

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return left[rows, :] @ right[columns, :].T

        def numpy_tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return np.matmul(left[rows], right[columns].T, out=out)

        return BoundKernel(numpy_tile if namespace(x, y) is np else tile, precision)

    def difference(self, other: RandomFeatures) -> str:
        """Say in words in what the frequencies differ from others; empty where they are the same."""
        if self.kernel != other.kernel:
            return f"their kernels differ ({self.kernel}; {other.kernel})"
        if self.n_features != other.n_features:
            return f"they have {self.n_features} and {other.n_features} features"
        if self.seed != other.seed:
            return f"their frequencies were drawn with different seeds ({self.seed} and {other.seed})"
        if self.orthogonal != other.orthogonal:
            return "only one of them has orthogonal frequencies"
        return ""

    def __repr__(self) -> str:
        more = ", orthogonal=True" if self.orthogonal else ""
        return f"RandomFeatures({self.kernel!r}, {self.n_features}, rng={self.seed}{more})"

    def __str__(self) -> str:
        kind = "orthogonal" if self.orthogonal else "random"
        return f"{self.n_features} {kind} features (seed {self.seed}) of {self.kernel}"


class Waves:
    """Cosines and sines of the phases of rows, not yet scaled.

    Parameters
    ----------
    frequencies : array of shape (J, d)
        The frequencies.
    precision : {"float32", "float64"}
        Of the result.
    """

    def __init__(self, frequencies: FloatArray, precision: Precision) -> None:
        self.frequencies = frequencies
        self.precision = precision
        self.size = 2 * len(frequencies)
        self._longest = longest_row(frequencies)
        with np.errstate(over="ignore"):  # such frequencies are never used in float32
            self._single = frequencies.astype(np.float32)

    def fill(self, x: Array, out: Array) -> None:
        """Write the waves of some NumPy rows to an array of shape (rows, 2 J)."""
        half = len(self.frequencies)
        phases, sines = out[:, :half], out[:, half:]
        if self._short(x, out.dtype == np.float32):
            np.matmul(x.astype(out.dtype, copy=False), self._single.T, out=phases)
        elif out.dtype == np.float64:
            np.matmul(x.astype(np.float64, copy=False), self.frequencies.T, out=phases)
        else:
            phases[...] = _reduced(x.astype(np.float64) @ self.frequencies.T, np)
        np.sin(phases, out=sines)
        np.cos(phases, out=phases)

    def of(self, x: Array) -> Array:
        """Return the waves of rows of any namespace, where they are."""
        xp = namespace(x)
        if xp is np:
            waves = np.empty((x.shape[0], self.size), self.precision)
            for start in range(0, x.shape[0], BLOCK_ROWS):
                self.fill(x[start : start + BLOCK_ROWS], waves[start : start + BLOCK_ROWS])
            return waves
        dtype = getattr(xp, self.precision)
        if self._short(x, self.precision == "float32"):
            phases = xp.astype(x, dtype) @ like(self._single, x, dtype).T
        else:
            exact = xp.astype(x, xp.float64) @ like(self.frequencies, x, xp.float64).T
            phases = xp.astype(_reduced(exact, xp), dtype)
        return xp.concat([xp.cos(phases), xp.sin(phases)], axis=1)

    def _short(self, x: Array, single: bool) -> bool:
        """Tell whether float32 holds the phases of these rows, by the Cauchy-Schwarz inequality."""
        longest = longest_row(x) * self._longest
        require_phases(longest)
        short = longest <= FLOAT32_PHASE and FLOAT32_FREQUENCIES[0] < self._longest < FLOAT32_FREQUENCIES[1]
        return single and str(x.dtype).rpartition(".")[2] == "float32" and short


def longest_row(rows: Array) -> float:
    """Return the Euclidean length of the longest row, of numbers of any magnitude."""
    if isinstance(rows, np.ndarray):
        with np.errstate(over="ignore"):
            squared = float(np.einsum("ij,ij->i", rows, rows).max(initial=0.0))
    else:
        xp = namespace(rows)
        squared = float(xp.max(xp.sum(rows * rows, axis=1)))
    if _SQUARES_ARE_SAFE[0] < squared < _SQUARES_ARE_SAFE[1]:
        return math.sqrt(squared)
    moderate = to_numpy(rows)
    unit = float(unit_of(moderate))
    moderate = moderate / unit
    return math.sqrt(float(np.square(moderate).sum(axis=1).max(initial=0.0))) * unit


def require_phases(longest: float) -> None:
    """Refuse phases that are too long for float64."""
    if not longest <= FLOAT64_PHASE:
        raise OutOfReach(
            "some rows are so far from the origin, compared with the bandwidth, that their features "
            "would be noise; subtract the same typical row from all datasets, or scale them"
        )


def spectrum(kernel: Any) -> Any:
    """Return the frequencies of a kernel; loaded when asked, since they are defined for this kernel too."""
    from nammd.kernels.operations import spectrum as frequencies_of

    return frequencies_of(kernel)


def _reduced(phases: Array, xp: Any) -> Array:
    """Return phases between -pi and pi."""
    return phases - (2 * math.pi) * xp.round(phases / (2 * math.pi))


def _drawn(kernel: RandomFeatures, columns: int) -> FloatArray:
    """Return the frequencies of a kernel, made anew."""
    count = kernel.n_features // 2
    words = _words(kernel.seed, count * (columns + 1)).reshape(count, columns + 1)
    # The middle of each of 2^53 cells, so never 0 or 1.
    uniforms = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    terms = spectrum(kernel.kernel)
    edges = np.cumsum([term.weight for term in terms]) / kernel.bound
    which = np.minimum(np.searchsorted(edges, uniforms[:, -1], side="right"), len(terms) - 1)
    drawn = np.empty((count, columns))
    for number, term in enumerate(terms):
        drawn[which == number] = term.draw(uniforms[which == number, :-1], kernel.orthogonal)
    if not np.isfinite(drawn).all():
        raise ValueError(
            f"the bandwidth of {kernel.kernel} is so small that frequencies are beyond all numbers; "
            "multiply the data and the bandwidth by a number such as 1e100"
        )
    return drawn


_remembered = lru_cache(maxsize=8)(_drawn)
"""The same, of a kernel and its finer scales remembered: a check asks for them some fifty times."""

_FEW_COLUMNS = 512
"""Of more columns, frequencies are too large to be kept."""


def _words(seed: int, count: int) -> Any:
    return np.random.PCG64(np.random.SeedSequence(seed)).random_raw(count)


def _seed(rng: Any) -> int:
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if isinstance(rng, numbers.Integral) and not isinstance(rng, bool) and int(rng) >= 0:
        return int(rng)
    raise TypeError(
        "rng must be a whole number of at least 0 or a numpy.random.Generator, so that the frequencies can "
        f"be made again; not {rng!r}"
    )
