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
from nammd.kernels import Gaussian, Laplace, named_kernel
from nammd.results import Result, number
from nammd.selecting.closeness import NEGLIGIBLE, Excess, named_accepted, require_apart
from nammd.spaces import Space
from nammd.statistics.atom_pair import AtomPair, pair_of_rows
from nammd.statistics.difference import ROUNDING
from nammd.statistics.moments import Moments, combined

GRID = tuple(np.geomspace(0.1, 10.0, 25).tolist())
"""The default grid, as multiples of the median bandwidth."""

FINE_GRID = tuple((2.0 ** np.arange(2.0, -5.5, -0.5)).tolist())
"""The same where there are accepted data: these drifted as a whole, and faults are often fine.

In half octaves from the coarsest on, so that of a Gaussian each is the square of the one before.
"""


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
        The criterion at each bandwidth: in how many standard errors the samples are apart, or, with
        accepted data, y is beyond them.
    m, n : int
        The numbers of rows of x and y that it was chosen on, and must not be tested on.
    accepted : tuple of int
        The same of every accepted dataset; empty where there are none.
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
    accepted: tuple[int, ...] = ()
    cautions = ()

    @property
    def bandwidth(self) -> float:
        """The chosen bandwidth."""
        return self.kernel.bandwidth

    def headline(self) -> str:
        """Return the choice in one sentence."""
        best = number(self.bandwidth)
        if not self.accepted:
            return f"The bandwidth {best} tells the two datasets apart best."
        if max(self.scores) > 0:
            return f"The bandwidth {best} tells the far data from the accepted ones best."
        return f"At no bandwidth are the far data beyond the accepted ones; at {best} they come nearest."

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        return [
            ("kernel", str(self.kernel)),
            ("score", f"{number(max(self.scores))} standard errors"),
            ("grid", f"{len(self.bandwidths)} bandwidths, {number(min(self.bandwidths))} to "
             f"{number(max(self.bandwidths))}"),
            ("chosen on", self._rows()),
        ]  # fmt: skip

    def _rows(self) -> str:
        if not self.accepted:
            return f"{self.m} and {self.n} rows; do not test on the same rows"
        accepted = " and ".join(map(str, self.accepted))
        return f"{self.m} reference, {accepted} accepted, {self.n} far rows; do not test on the same rows"


def select_bandwidth(
    x: Any,
    y: Any,
    kernel: type[Gaussian] | type[Laplace] | str = Gaussian,
    grid: Sequence[float] | None = None,
    *,
    accepted: Any = None,
    negligible: float = NEGLIGIBLE,
    engine: Engine | None = None,
) -> BandwidthSelection:
    """Choose the bandwidth at which two samples are most standard errors apart, or beyond accepted ones.

    The criterion is NAMMD divided by its standard error under the paper's variance, which is the same as MMD²
    divided by its own: the denominator cancels. It governs the power of tests against large samples.

    With `accepted` data, the bandwidth is for a closeness test: is something like `y` farther from `x` than
    what was accepted? The criterion is then by how many standard errors it is, ``(N_2 - max(N_1, floor)) /
    se(N_2 - N_1)``, where ``N_1`` is the distance of x and the accepted data and ``N_2`` that of x and y.

    Parameters
    ----------
    x, y : dataset
        Samples to choose on, at least four rows each; not those that will be tested. See `distance`. With
        accepted data, x is the reference and y is of the kind to be found.
    kernel : {Gaussian, Laplace, "gaussian", "rbf", "laplace", "laplacian"}
        The kind of kernel.
    grid : sequence of float, optional
        The bandwidths to try; by default 25 multiples of the median bandwidth, from 0.1 to 10; with accepted
        data 15 of them, from 1/32 to 4.
    accepted : dataset or mapping of str to dataset, optional
        What was accepted; likewise rows that will not be tested. Of several, the smallest criterion counts.
    negligible : float
        The share of rows that may move elsewhere without mattering; it sets the floor. Only with accepted
        data.
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

    A shift was accepted. Values on a grid are something else, and are seen from near by only:

    >>> import nammd
    >>> from nammd.selection import train_test_split
    >>> good, rounded = rng.normal(0.3, size=(400, 1)), np.round(rng.normal(0.3, size=(400, 1)))
    >>> choose, (x, rounded, good) = train_test_split(x, rounded, good, rng=0)
    >>> chosen = select_bandwidth(choose[0], choose[1], accepted=choose[2])
    >>> chosen.bandwidth < 0.5 * nammd.Gaussian.median(x, good).bandwidth
    True
    >>> nammd.compare_pairs((x, good), (x, rounded), kernel=chosen.kernel).rejected
    True
    """
    kernel = named_kernel(kernel)
    if kernel not in (Gaussian, Laplace):
        raise TypeError(f"kernel must be the class Gaussian or Laplace, not {kernel!r}")
    bandwidths: tuple[float, ...] | None = None
    if grid is not None:
        bandwidths = tuple(positive(b, "a bandwidth of the grid") for b in grid)
        if not bandwidths:
            raise ValueError("the grid is empty; give at least one bandwidth")
    named, share = named_accepted(accepted, negligible)
    start = kernel if bandwidths is None else kernel(bandwidths[0])
    samples = prepare({"x": x, "y": y, **named}, kernel=start, engine=engine)
    require_apart(samples)
    one, other, *good = samples
    if bandwidths is None:
        bandwidths = tuple(one.space.kernel.bandwidth * factor for factor in (FINE_GRID if good else GRID))
    kernels = [kernel(b) for b in bandwidths]
    engine = choose_engine(engine, *(sample.points for sample in samples))
    pairs = _grid_pairs(engine, kernels, one, (other, *good))
    if good:
        scores = [_beyond(far, accepted, share) for far, *accepted in pairs]
        if max(scores) == -math.inf:
            raise ValueError(
                "at no bandwidth does anything vary: all rows are alike, or no two are near each other; give "
                "other rows, or a grid of other bandwidths"
            )
    else:
        scores = [studentized(pair.moments) for [pair] in pairs]
    best = int(np.argmax(scores))
    return BandwidthSelection(
        kernel=kernels[best],
        bandwidths=bandwidths,
        scores=tuple(scores),
        m=one.size,
        n=other.size,
        engine=engine.described(one.points),
        space=Space(one.space.encoding, kernels[best]),
        accepted=tuple(sample.size for sample in good),
    )


def _grid_pairs(
    engine: Engine, kernels: Sequence[Any], one: Any, others: Sequence[Any]
) -> list[list[AtomPair]]:
    """Return, for every kernel, the pairs of one sample and each of the others; all are summed in one run."""
    parts: list[tuple[Any, ...]] = [(one.points,)]
    for other in others:
        parts += [(other.points,), (one.points, other.points)]
    with about(one.name, *(other.name for other in others)):
        found = engine.many_sums(kernels, *parts)
    return [
        [pair_of_rows(KernelSums(within, y, xy, 1.0)) for y, xy in zip(rest[::2], rest[1::2], strict=True)]
        for within, *rest in found
    ]


def studentized(moments: Moments) -> float:
    """Return MMD² in standard errors; minus infinity where there is no variance to divide by."""
    variance, _ = combined(moments.linear_variance(1.0), moments.variance(1.0))
    return moments.mmd2 / math.sqrt(variance) if variance > 0 else -math.inf


def _beyond(far: AtomPair, accepted: Sequence[AtomPair], share: float) -> float:
    """Return by how many standard errors far data are beyond the accepted ones, of several the least."""
    return min(_beyond_one(far, each, share) for each in accepted)


def _beyond_one(far: AtomPair, accepted: AtomPair, share: float) -> float:
    q = [pair.atoms[0].influences[:, 1] for pair in (accepted, far)]
    excess = Excess(accepted.moments, far.moments, float(q[0] @ q[1]) / (len(q[0]) - 1))
    variance = excess.variance()
    return excess.beyond(share) / math.sqrt(variance) if variance > ROUNDING**2 else -math.inf
