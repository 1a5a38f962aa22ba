"""A reference dataset made ready: encoded, with its kernel, and summed once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nammd.data.arrays import FloatArray
from nammd.data.encoding import Encoding
from nammd.data.pieces import Parts, is_dask
from nammd.data.samples import require_rows
from nammd.engines import Engine, check_kernel, choose_engine, pair_sums
from nammd.engines.progress import comparing, passes
from nammd.engines.sums import KernelSums, WithinSums
from nammd.kernels import Gaussian, Kernel, as_kernel
from nammd.questions.distance import MIN_ROWS, Estimate, estimate_from_sums
from nammd.statistics.moments import Cross
from nammd.tolerances.provenance import digest_of


@dataclass(frozen=True, eq=False)
class EncodedReference:
    """A reference as numbers, with all that is needed to measure distances to it.

    Attributes
    ----------
    raw : array or table
        The reference as it was given.
    x : array of shape (rows, width)
        The encoded reference.
    encoding : Encoding
        How columns become numbers.
    kernel : Kernel
        The kernel of all distances.
    engine : Engine or None
        Who computes; None leaves it to where the data are.
    """

    raw: Any = field(repr=False)
    x: FloatArray = field(repr=False)
    encoding: Encoding
    kernel: Kernel
    engine: Engine | None

    @classmethod
    def of(cls, raw: Any, encoding: Encoding, kernel: Any, engine: Engine | None) -> EncodedReference:
        """Encode a reference; without a kernel, take the Gaussian with its median bandwidth."""
        require_rows(raw, "the reference")
        x = _enough_rows(encoding.transform(raw, "the reference"), "the reference")
        kernel = Gaussian.median(x) if kernel is None else as_kernel(kernel)
        check_kernel(kernel, x, x)
        choose_engine(engine, x)  # a wrong one is noticed now
        return cls(raw, x, encoding, kernel, engine)

    @classmethod
    def fit(
        cls, raw: Any, kernel: Any, weights: Mapping[str, float] | None, engine: Engine | None
    ) -> EncodedReference:
        """Fit an encoding to a reference, and encode it."""
        return cls.of(raw, Encoding.fit(raw, weights=weights), kernel, engine)

    @cached_property
    def digest(self) -> str:
        """A digest of the encoded reference."""
        return digest_of(self.x)

    @cached_property
    def within(self) -> WithinSums:
        """The sums within the reference, computed once."""
        [within] = choose_engine(self.engine, self.x).sums(self.kernel, (self.x,))
        return within  # type: ignore[no-any-return]

    def encode(self, data: Any, name: str) -> FloatArray:
        """Encode other data like the reference."""
        require_rows(data, name)
        return _enough_rows(self.encoding.transform(data, name), name)

    def distance(self, y: FloatArray) -> Estimate:
        """Estimate the distance of encoded data to the reference."""
        within, engine = self.within, choose_engine(self.engine, self.x, y)
        within_y, cross = engine.sums(self.kernel, (y,), (self.x, y))
        sums = KernelSums(within, within_y, cross, float(self.kernel.bound))
        return estimate_from_sums(self.x, y, sums, self.kernel, "nammd", "full", engine)

    def distance_between(self, one: FloatArray, other: FloatArray, cross: Cross = "full") -> Estimate:
        """Estimate the distance of two encoded datasets to one another."""
        engine = choose_engine(self.engine, one, other)
        sums = pair_sums(one, other, self.kernel, engine)
        return estimate_from_sums(one, other, sums, self.kernel, "nammd", cross, engine)

    def paired_distance(self, one: FloatArray, other: FloatArray) -> Estimate:
        """Estimate the distance of data to copies of them: no row is compared with its own copy."""
        return self.distance_between(one, other, "off-diagonal")


def _enough_rows(encoded: FloatArray, name: str) -> FloatArray:
    if len(encoded) < MIN_ROWS:
        raise ValueError(f"{name} has {len(encoded)} rows; at least {MIN_ROWS} are needed")
    return encoded


def in_memory(x: Any, constructor: str) -> Any:
    """Refuse a reference on a cluster where one in memory is needed."""
    if is_dask(x) or isinstance(x, Parts):
        raise TypeError(
            f"Tolerance.{constructor} perturbs or divides the reference in memory, and this one is spread "
            "over a Dask cluster; give a sample of its rows, such as x.sample(frac=0.01).compute(), or use "
            "Tolerance.from_reference"
        )
    return x


def distances_in_passes(x: Any, *others: Any) -> AbstractContextManager[None]:
    """Announce the runs of an engine that distances of other data to a new reference take, as one work."""
    # To count the rows of a Dask dataframe is to read them.
    uncounted = (isinstance(d, Mapping) or is_dask(d) or not hasattr(d, "__len__") for d in (x, *others))
    if not others or any(uncounted):
        return passes()
    m, rows = len(x), [len(data) for data in others]
    what = comparing(m, rows[0]) if len(rows) == 1 else f"comparing {m:,} rows with {len(rows)} datasets"
    return passes(m * m / 2, *(n * (n / 2 + m) for n in rows), what=what)
