"""Pairs of distributions at a given distance: `pair_with_nammd`, the paper's second algorithm."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray, to_numpy
from nammd.data.opening import numeric_arrays
from nammd.errors.checks import between, choice, positive, whole
from nammd.kernels import Kernel, as_kernel

Move: TypeAlias = Literal["second", "both"]

_JITTER = 0.1
"""The noise that moves the second support off the first, where the distance has no gradient."""

_SPREAD = (0.25, 4.0)
"""How much narrower or wider than the first support later attempts start."""


@dataclass(frozen=True, eq=False)
class NammdPair:
    """The uniform distributions P and Q over two sets of points, and their exact distance.

    Attributes
    ----------
    x, y : array of shape (m, d) and (n, d)
        The points of P and of Q.
    nammd : float
        The NAMMD of P and Q.
    mmd2 : float
        Their squared MMD.
    norms : tuple of float
        The squared norms of the mean embeddings of P and of Q. The larger they are, the more
        concentrated the distributions, and the larger NAMMD is for the same MMD.
    steps : int
        How many steps the optimiser took.
    """

    x: FloatArray
    y: FloatArray
    nammd: float
    mmd2: float
    norms: tuple[float, float]
    steps: int

    def sample(self, m: int, n: int | None = None, *, rng: Any = None) -> tuple[FloatArray, FloatArray]:
        """Draw from both distributions, with replacement.

        Parameters
        ----------
        m, n : int
            The numbers of rows from P and from Q; n is m by default.
        rng : int, numpy.random.Generator or None
            Generator.

        Returns
        -------
        x, y : array of shape (m, d) and (n, d)
        """
        m, n = whole(m, "m"), whole(m if n is None else n, "n")
        generator = np.random.default_rng(rng)
        return generator.choice(self.x, m), generator.choice(self.y, n)


def pair_with_nammd(
    x: Any,
    target: float,
    kernel: Any,
    *,
    start: Any = None,
    move: Move = "second",
    condition: Callable[[NammdPair], bool] | None = None,
    attempts: int = 20,
    learning_rate: float = 0.05,
    tolerance: float = 1e-7,
    max_steps: int = 2000,
    rng: Any = None,
) -> NammdPair:
    """Move points until the uniform distribution over them is at a given NAMMD from another.

    The points of Q start near those of P and are moved by Adam, minimising
    (NAMMD(P, Q) - target)^2, until a step passes the target; then the step is shortened.

    Parameters
    ----------
    x : array or table
        The points of P.
    target : float
        The NAMMD wanted, strictly between 0 and 1.
    kernel : Kernel
        The kernel; it must compute on torch tensors, as all kernels of nammd do.
    start : array or table, optional
        Where the points of Q start. By default they are the points of P, slightly disturbed.
    move : {"second", "both"}
        Which points to move: those of Q, so that P remains what it was and several Q can be made for
        it, or those of both, which reaches larger distances.
    condition : callable, optional
        Called with the `NammdPair` found; if it returns False, the search is repeated from another
        random start, which is up to four times narrower or wider than x. So pairs of the same NAMMD
        and different norms are found: ``condition=lambda pair: sum(pair.norms) > 0.8``.
    attempts : int
        How many starts to try for the condition.
    learning_rate : float
        The step size of Adam, in units of the standard deviation of x.
    tolerance : float
        How close to the target is close enough.
    max_steps : int
        When to give up.
    rng : int, numpy.random.Generator or None
        Generator for the starts.

    Returns
    -------
    NammdPair

    Raises
    ------
    RuntimeError
        If the target is not reached, or no pair found meets the condition.
    ImportError
        If torch is not installed.

    Notes
    -----
    This is the second algorithm of the paper [1]_, which moves both sets of points. The distance is
    that of the distributions, so it includes the pairs of a point with itself; the estimate of
    `nammd.distance` from samples of the pair is unbiased for it in its parts.

    References
    ----------
    .. [1] The NAMMD paper, appendix "Details of Experiments with Distributions over different Domains".

    Examples
    --------
    >>> import nammd
    >>> from nammd.datasets import blob, pair_with_nammd
    >>> points, _ = blob(50, rng=0)
    >>> pair = pair_with_nammd(points, 0.1, nammd.Gaussian(0.5), rng=0)
    >>> round(pair.nammd, 6)
    0.1
    >>> estimate = nammd.distance(*pair.sample(2000, rng=0), kernel=nammd.Gaussian(0.5))
    >>> round(estimate.value, 2)
    0.1
    """
    target = between(target, "target")
    learning_rate, tolerance = positive(learning_rate, "learning_rate"), positive(tolerance, "tolerance")
    attempts, max_steps = whole(attempts, "attempts"), whole(max_steps, "max_steps")
    choice(move, "move", ("second", "both"))
    checked = as_kernel(kernel)
    if start is not None:
        fixed, begin = numeric_arrays(2, x=x, start=start)
        attempts = 1  # nothing is random, so another attempt would find the same
    else:
        fixed, begin = numeric_arrays(x=x)[0], None
    unit = float(np.sqrt(fixed.var(axis=0).mean())) or 1.0
    generator = np.random.default_rng(rng)
    failure = ""
    for attempt in range(attempts):
        first = _start(fixed, unit, attempt, generator) if begin is None else begin
        try:
            pair = _optimise(fixed, first, target, checked, learning_rate * unit, tolerance, max_steps, move)
        except RuntimeError as error:
            if condition is None:  # other starts are there to vary the norms; the first is the best
                raise
            failure = str(error)
            continue
        if condition is None or condition(pair):
            return pair
        failure = f"the squared norms were {pair.norms[0]:.4g} and {pair.norms[1]:.4g}"
    raise RuntimeError(
        f"none of {attempts} attempts found a pair with NAMMD {target:g} that meets the condition; relax it, "
        f"try more attempts, or give a start. In the last one: {failure}"
    )


def _start(x: FloatArray, unit: float, attempt: int, rng: np.random.Generator) -> FloatArray:
    """Return the points of x, disturbed; after the first attempt also narrower or wider."""
    centre = x.mean(axis=0)
    spread = 1.0 if attempt == 0 else float(np.exp(rng.uniform(*np.log(_SPREAD))))
    begin: FloatArray = centre + spread * (x - centre) + _JITTER * unit * rng.normal(size=x.shape)
    return begin


def _optimise(
    x: FloatArray,
    begin: FloatArray,
    target: float,
    kernel: Kernel,
    learning_rate: float,
    tolerance: float,
    max_steps: int,
    move: Move,
) -> NammdPair:
    torch = _torch()
    points = [torch.asarray(x).clone(), torch.asarray(begin).clone()]
    moving = points if move == "both" else points[1:]
    for sample in moving:
        sample.requires_grad_(True)
    optimiser = torch.optim.Adam(moving, lr=learning_rate)

    def at(share: float, step: int) -> NammdPair:
        """Return the pair at a share of the way from the last points to the present ones."""
        one, other = (a + share * (b.detach() - a) for a, b in zip(last, points, strict=True))
        nammd, mmd2, norms = _distance(one, other, kernel)
        known = float(nammd), float(mmd2), (float(norms[0]), float(norms[1]))
        return NammdPair(to_numpy(one), to_numpy(other), *known, step)

    last = [sample.detach().clone() for sample in points]
    gap = math.nan
    with warnings.catch_warnings():
        # Kernels look at how large the rows are, to choose their precision; no gradient is meant there.
        warnings.filterwarnings("ignore", "Converting a tensor with requires_grad=True")
        for step in range(max_steps + 1):
            nammd, _, _ = _distance(points[0], points[1], kernel)
            before, gap = gap, float(nammd.detach()) - target
            if abs(gap) <= tolerance:
                return at(1.0, step)
            if before * gap < 0:
                # The step went past the target, which is therefore on the way: Adam would swing
                # around it for hundreds of steps more.
                return _bisect(partial(at, step=step), before, target, tolerance)
            last = [sample.detach().clone() for sample in points]
            optimiser.zero_grad()
            ((nammd - target) ** 2).backward()
            optimiser.step()
    raise RuntimeError(
        f"NAMMD {target:g} was not reached in {max_steps} steps, only {gap + target:g}. Points that are "
        "not similar to any other have no direction to move in: try a wider kernel, move='both', a start "
        "farther away or more concentrated, or more steps; or ask for less"
    )


def _distance(x: Any, y: Any, kernel: Kernel) -> tuple[Any, Any, tuple[Any, Any]]:
    """Return NAMMD, squared MMD and squared norms of the uniform distributions over two tensors."""
    norms = kernel(x, x).mean(), kernel(y, y).mean()
    mmd2 = norms[0] + norms[1] - 2 * kernel(x, y).mean()
    return mmd2 / (4 * kernel.bound - norms[0] - norms[1]), mmd2, norms


def _bisect(at: Callable[[float], NammdPair], before: float, target: float, tolerance: float) -> NammdPair:
    """Return the pair at the target, on a way that starts with the gap `before` and ends beyond."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        pair = at(middle)
        gap = pair.nammd - target
        if abs(gap) <= tolerance or not low < middle < high:
            return pair
        low, high = (middle, high) if gap * before > 0 else (low, middle)


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError(
            'pair_with_nammd optimises with torch, which is not installed: pip install "nammd[torch]"'
        ) from None
    return torch
