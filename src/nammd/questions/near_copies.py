"""Rows of a dataset that are rows of another one, or nearly: `near_copies`.

What counts as near is read off the reference. How many near rows chance makes is counted in rows that are
known not to be copies: a held-out dataset, or a random half of the reference beside the other half. Given
the rows that both are compared with, the candidate and the held-out rows are two independent samples; if
both were drawn from one distribution, Fisher's test of their shares is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, is_spread, to_numpy
from nammd.data.neighbours import Neighbourhood
from nammd.data.opening import refuse_summaries
from nammd.errors.checks import between, counted
from nammd.evidence.preparing import MIN_ROWS, opened, prepared
from nammd.explaining.row_facts import NEAR
from nammd.explaining.writing import percent
from nammd.kernels import Gaussian
from nammd.results import Result, number, p_value
from nammd.spaces import Space
from nammd.statistics.shares import larger_share, smaller_numbers

LEAST_ROWS = 40
"""With fewer rows, half of a reference does not tell what is near in it."""


@dataclass(frozen=True)
class NearCopies(Result):
    """How many rows of a candidate are near-copies of rows of a reference.

    Attributes
    ----------
    share : float
        The share of the candidate's rows that are near-copies; exact copies count too.
    exact : float
        The share that are exact copies.
    expected : float
        The share that independent rows have: of the held-out rows that are near to the reference, or, where
        half of the reference is held out, of its rows that are near to others of them.
    pvalue : float
        The probability of so many near-copies if the candidate's rows were drawn independently from the
        distribution of the held-out rows (Fisher's exact test).
    found : bool
        Whether there are more near-copies than chance makes, at level `alpha`.
    nearer : float
        How often a row of the candidate is nearer to the reference than a held-out row is; 0.5 for
        independent rows of the same distribution, more where the candidate keeps close to the reference.
    nearer_pvalue : float
        The p-value of that (test of Mann and Whitney, one-sided).
    alpha : float
        The level of the test.
    radius : float
        The distance up to which a row counts as near.
    m, n, held_out : int
        The numbers of rows of the reference, the candidate and the held-out rows.
    split : bool
        Whether the held-out rows are a random half of the reference.
    space : Space
        Where distances were measured.
    pairs : array of shape (near-copies, 2)
        The positions of the near-copies in the candidate, and of the rows in the reference that they are
        copies of.
    """

    share: float
    exact: float
    expected: float
    pvalue: float
    found: bool
    nearer: float
    nearer_pvalue: float
    alpha: float
    radius: float
    m: int
    n: int
    held_out: int
    split: bool
    space: Space = field(repr=False, compare=False)
    pairs: NDArray[np.intp] = field(repr=False, compare=False)

    cautions = ()

    def headline(self) -> str:
        """Return the answer in one sentence."""
        copies = f"{percent(self.share)} of the candidate's rows are near-copies of rows of the reference"
        if self.found:
            return f"{copies}, more than chance makes ({p_value(self.pvalue)})."
        if not self.share:
            return "No row of the candidate is a near-copy of a row of the reference."
        others = "rows of the reference are of each other" if self.split else "held-out rows are"
        return f"{copies}, about as many as {others} ({p_value(self.pvalue)})."

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        nearer = p_value(self.nearer_pvalue)
        known = "the reference itself" if self.split else counted(self.held_out, "held-out row")
        return [
            ("near-copies", f"{len(self.pairs)} of {counted(self.n, 'row')}, {percent(self.exact)} exact"),
            ("to expect", f"{percent(self.expected)}, as in {known}"),
            ("nearer", f"than a held-out row in {percent(self.nearer)} of comparisons, {nearer}"),
            ("near", f"within {number(self.radius)} of a row of the reference"),
            ("rows", f"{self.m} reference, {self.n} candidate"),
        ]


def near_copies(
    reference: Any,
    candidate: Any,
    held_out: Any = None,
    *,
    space: Space | None = None,
    near: float = NEAR,
    alpha: float = 0.05,
    rng: Any = 0,
) -> NearCopies:
    """Count the rows of a candidate that are copies of rows of a reference, or nearly.

    For leakage from a training set into a test set, and for synthetic data that repeat the rows that a model
    was trained on. `distance` and `Tolerance.check` say whether the candidate is distributed like the
    reference; copies are, and that is the trouble.

    Parameters
    ----------
    reference : dataset
        The rows that may have been copied, such as the training set; see `distance`. In memory, and at least
        40 rows.
    candidate : dataset
        The rows that may be copies.
    held_out : dataset, optional
        Rows like those of the reference that are known not to be copies, such as real data that a generator
        was not trained on. By default half of the reference, drawn at random, is held out, and copies are
        counted beside the other half.
    space : Space, optional
        Where to measure; by default a space fitted on the reference. Its kernel plays no part.
    near : float
        A row is near where its distance from the nearest row of the reference is at most this part of what is
        usual there: of the median distance of a row to the tenth nearest other one.
    alpha : float
        The level of the test.
    rng : int, numpy.random.Generator or None
        Generator for the half that is held out.

    Returns
    -------
    NearCopies

    See Also
    --------
    two_sample_test : whether two datasets differ at all.

    Notes
    -----
    Rows must be independent of each other. A candidate from another distribution can have more rows, or
    fewer, near those of the reference without being copied; the p-value is about rows from the same one.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> train, test = rng.normal(size=(1000, 4)), rng.normal(size=(500, 4))
    >>> test[:20] = train[:20] + 1e-4 * rng.normal(size=(20, 4))
    >>> leaked = nammd.near_copies(train, test)
    >>> leaked.share, leaked.found
    (0.04, True)
    >>> leaked.pairs[:2].tolist()
    [[0, 0], [1, 1]]
    """
    near, alpha = between(near, "near"), between(alpha, "alpha")
    given = {"the reference": reference, "the candidate": candidate}
    if held_out is not None:
        given["the held-out rows"] = held_out
    kernel = None if space is not None else Gaussian(1.0)
    datasets = opened(given, space=space, kernel=kernel, least=MIN_ROWS)
    refuse_summaries(*datasets)
    samples = prepared(datasets, space=space, kernel=kernel, reference=True)
    if any(is_spread(sample.points) for sample in samples):
        raise TypeError(
            "near-copies are looked for among rows in memory, and these are not; give samples of the rows"
        )
    known, asked, *others = (to_numpy(sample.points) for sample in samples)
    if len(known) < LEAST_ROWS:
        raise ValueError(
            f"the reference has {counted(len(known), 'row')}; at least {LEAST_ROWS} are needed to tell what "
            "is near in it"
        )
    generator = np.random.default_rng(rng)
    every, radius = _neighbourhood(known, near, generator)
    far, where = every.within(asked, radius)
    beside, apart, held = every, far, others[0] if others else known
    if not others:
        order = generator.permutation(len(known))
        held = known[order[len(known) // 2 :]]
        beside, radius_beside = _neighbourhood(known[order[: len(known) // 2]], near, generator)
        apart, _ = beside.within(asked, radius_beside)
    else:
        radius_beside = radius
    usual, _ = beside.within(held, radius_beside)
    copied, chance = (int(np.isfinite(each).sum()) for each in (apart, usual))
    pvalue = larger_share(copied, len(asked), chance, len(held))
    nearer, nearer_pvalue = smaller_numbers(
        *(beside.nearest(rows[beside.some(len(rows), generator)]) for rows in (asked, held))
    )
    there = np.flatnonzero(np.isfinite(far))
    return NearCopies(
        share=len(there) / len(asked),
        exact=float((far == 0).mean()),
        expected=chance / len(held) if others else every.twins(radius, generator),
        pvalue=pvalue,
        found=pvalue <= alpha,
        nearer=nearer,
        nearer_pvalue=nearer_pvalue,
        alpha=alpha,
        radius=radius,
        m=len(known),
        n=len(asked),
        held_out=len(held),
        split=not others,
        space=samples[0].space,
        pairs=np.column_stack([there, where[there]]),
    )


def _neighbourhood(points: FloatArray, near: float, rng: np.random.Generator) -> tuple[Neighbourhood, float]:
    """Return rows to be near to, and up to which distance a row is near them."""
    rows = Neighbourhood.of(points)
    return rows, near * rows.usual(rng)
