"""Choosing a bandwidth from a grid: `select_bandwidth`.

A kernel that was chosen by looking at two samples must not be tested on the same rows: it was chosen to tell
them apart. Split the data first (`train_test_split`), choose on one part and test on the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nammd.engines import Engine, choose_engine
from nammd.engines.sums import KernelSums
from nammd.errors.advice import about
from nammd.errors.checks import positive
from nammd.evidence import prepare
from nammd.kernels import Gaussian, Laplace
from nammd.results import Result, number
from nammd.spaces import Space
from nammd.statistics.atom_pair import pair_of_rows
from nammd.statistics.moments import Moments, combined

GRID = tuple(np.geomspace(0.1, 10.0, 25).tolist())
"""The default grid, as multiples of the median bandwidth."""


@dataclass(frozen=True)
class BandwidthSelection(Result):
    """A bandwidth chosen from a grid.

    Attributes
    ----------
    kernel : Gaussian or Laplace
        The kernel with the chosen bandwidth.
    bandwidths : tuple of float
        The grid.
    scores : tuple of float
        The studentized distance at each bandwidth: in how many standard errors the samples are apart.
    m, n : int
        The numbers of rows that it was chosen on, and must not be tested on.
    engine : str
        Which engine computed it.
    space : Space
        The space with that kernel; what tables have to be tested in.
    """

    kernel: Gaussian | Laplace
    bandwidths: tuple[float, ...]
    scores: tuple[float, ...]
    m: int
    n: int
    engine: str
    space: Space = field(repr=False)

    @property
    def bandwidth(self) -> float:
        """The chosen bandwidth."""
        return self.kernel.bandwidth

    def headline(self) -> str:
        """Return the choice in one sentence."""
        return f"The bandwidth {number(self.bandwidth)} tells the two datasets apart best."

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        return [
            ("kernel", str(self.kernel)),
            ("score", f"{number(max(self.scores))} standard errors"),
            ("grid", f"{len(self.bandwidths)} bandwidths, {number(min(self.bandwidths))} to "
             f"{number(max(self.bandwidths))}"),
            ("chosen on", f"{self.m} and {self.n} rows; do not test on the same rows"),
        ]  # fmt: skip


def select_bandwidth(
    x: Any,
    y: Any,
    kernel: type[Gaussian] | type[Laplace] = Gaussian,
    grid: Sequence[float] | None = None,
    *,
    engine: Engine | None = None,
) -> BandwidthSelection:
    """Choose the bandwidth at which two samples are most standard errors apart.

    The criterion is NAMMD divided by its standard error under the paper's variance, which is the same as MMD²
    divided by its own: the denominator cancels. It governs the power of tests against large samples.

    Parameters
    ----------
    x, y : dataset
        Samples to choose on, at least four rows each; not those that will be tested. See `distance`.
    kernel : {Gaussian, Laplace}
        The kind of kernel.
    grid : sequence of float, optional
        The bandwidths to try; by default 25 multiples of the median bandwidth, from 0.1 to 10.
    engine : Engine, optional
        Which engine computes; by default the one where the data is.

    Returns
    -------
    BandwidthSelection

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.selection import select_bandwidth
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 1))
    >>> y = rng.normal(size=(400, 1)) + 0.3 * rng.choice([-1, 1], size=(400, 1))
    >>> selection = select_bandwidth(x[:200], y[:200])
    >>> nammd_test_rows = x[200:], y[200:]          # choose on one half, test on the other
    >>> selection.kernel.bandwidth == selection.bandwidth
    True
    """
    if kernel not in (Gaussian, Laplace):
        raise TypeError(f"kernel must be the class Gaussian or Laplace, not {kernel!r}")
    bandwidths: tuple[float, ...] | None = None
    if grid is not None:
        bandwidths = tuple(positive(b, "a bandwidth of the grid") for b in grid)
        if not bandwidths:
            raise ValueError("the grid is empty; give at least one bandwidth")
    start = kernel if bandwidths is None else kernel(bandwidths[0])
    one, other = prepare({"x": x, "y": y}, kernel=start, engine=engine)
    if bandwidths is None:
        bandwidths = tuple(one.space.kernel.bandwidth * factor for factor in GRID)
    kernels = [kernel(b) for b in bandwidths]
    engine = choose_engine(engine, one.points, other.points)
    with about(one.name, other.name):
        parts = (one.points,), (other.points,), (one.points, other.points)
        found = [KernelSums(x, y, xy, 1.0) for x, y, xy in engine.many_sums(kernels, *parts)]
    scores = [studentized(pair_of_rows(each).moments) for each in found]
    best = int(np.argmax(scores))
    return BandwidthSelection(
        kernel=kernels[best],
        bandwidths=bandwidths,
        scores=tuple(scores),
        m=one.size,
        n=other.size,
        engine=engine.described(one.points),
        space=Space(one.space.encoding, kernels[best]),
    )


def studentized(moments: Moments) -> float:
    """Return MMD² in standard errors; minus infinity where there is no variance to divide by."""
    variance, _ = combined(moments.linear_variance(1.0), moments.variance(1.0))
    return moments.mmd2 / math.sqrt(variance) if variance > 0 else -math.inf
