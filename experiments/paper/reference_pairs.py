"""Tests of a margin that a reference pair sets, as the case studies use them: the paper's and ours.

Data sets are taken as the distributions themselves: rows are drawn with replacement, so that the true
distances are known exactly and the level of a test can be counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nammd
from experiments.experiment import Values
from experiments.summary import mean, pooled_mean, pooled_rate, rate
from nammd.evidence import gather, prepare
from nammd.questions.comparison import compare_estimates
from nammd.questions.distance import Estimate
from nammd.statistics.atom_pair import pair_of_rows
from nammd.statistics.margin import margin
from nammd.statistics.pair import Pair

METHODS = {
    "mmd": "MMD",
    "nammd": "NAMMD",
    "ours": "NAMMD, corrected",
    "plugged": "NAMMD, sampled ε",
    "compared": "compare_pairs, sampled ε",
}
"""The tests. ``mmd`` and ``nammd`` are the paper's, ``ours`` is `nammd.closeness_test`: epsilon is the true
distance of the reference pair. For the last two the reference pair is a sample as large as the other:
``plugged`` is the paper's test with the estimate in the place of epsilon, ``compared`` is
`nammd.compare_pairs`."""

EXPLAINED = (
    "MMD and NAMMD are the paper's tests, *corrected* is `closeness_test`; ε is the exact distance of the "
    "reference pair. *Sampled ε* is that of a sample of as many rows, which the paper's test takes for known "
    "and `compare_pairs` does not."
)

Rows = NDArray[Any]


def true_distances(x: Rows, y: Rows, kernel: nammd.Kernel, engine: nammd.Engine) -> dict[str, float]:
    """Return NAMMD, MMD² and the squared norms of two distributions that put equal mass on their rows."""
    sums, bound = nammd.kernel_sums(x, y, kernel, engine=engine), float(kernel.bound)
    # A distribution on finitely many rows meets every row with itself, too.
    norms = [
        (total + bound * size) / size**2
        for total, size in ((sums.xx_rows.sum(), sums.m), (sums.yy_rows.sum(), sums.n))
    ]
    mmd2 = sum(norms) - 2 * sums.xy_rows.sum() / (sums.m * sums.n)
    return {
        "nammd": float(mmd2 / (4 * bound - sum(norms))),
        "mmd2": float(mmd2),
        "norm": float(norms[0]),
        "other norm": float(norms[1]),
    }


def estimates(x: Rows, others: Sequence[Rows], kernel: nammd.Kernel, engine: nammd.Engine) -> list[Estimate]:
    """Estimate the distances of several samples to one; what belongs to that one is computed once."""
    named = {"x": x, **{f"other {k}": other for k, other in enumerate(others)}}
    own, *samples = prepare(named, kernel=kernel, engine=engine)
    return [
        Estimate.of(evidence) for evidence in gather([(own, sample) for sample in samples], engine=engine)
    ]


def pvalues(
    tested: Estimate, reference: Estimate, known: Mapping[str, float], *, shared: bool
) -> dict[str, float]:
    """Return the p-value of every test of "not farther than the reference pair".

    Parameters
    ----------
    tested, reference : Estimate
        Of the pair that is tested, and of a sample of the reference pair.
    known : mapping
        The true distances of the reference pair, ``"nammd"`` and ``"mmd2"``.
    shared : bool
        Whether both estimates have the sample x in common.
    """
    published = _published(tested, "nammd")
    margins = {
        "mmd": margin(_published(tested, "mmd2"), known["mmd2"], "paper", "greater"),
        "nammd": margin(published, known["nammd"], "paper", "greater"),
        "ours": margin(tested.pair, known["nammd"], "corrected", "greater"),
        "plugged": margin(published, _published(reference, "nammd").value, "paper", "greater"),
    }
    found = {method: each.pvalue("greater") for method, each in margins.items()}
    compared = compare_estimates(reference, tested, shared=shared, alternative="greater", alpha=0.05)
    return found | {"compared": compared.pvalue}


def _published(estimate: Estimate, statistic: Any) -> Pair:
    """Read the sums of an estimate as the paper does: without the pairs of the same row number."""
    return Pair(pair_of_rows(estimate.sums, "off-diagonal"), statistic)


def drawn(rows: Rows, count: int, rng: np.random.Generator) -> Rows:
    """Draw rows with replacement."""
    return rows[rng.integers(len(rows), size=count)]


def tally(found: Sequence[Mapping[str, float]], alpha: float) -> Values:
    """Return rates of rejection, mean p-values, and by how much NAMMD's rate is above MMD's."""
    p = {method: np.array([each[method] for each in found]) for method in METHODS}
    hits = {method: values <= alpha for method, values in p.items()}  # never where there is no p-value
    return {
        "rates": {method: rate(hit) for method, hit in hits.items()},
        "p": {method: mean(values[~np.isnan(values)]) for method, values in p.items()},
        # Both tests see the same samples, so the error of the difference is smaller than its parts'.
        "gain": mean(hits["nammd"].astype(float) - hits["mmd"]),
    }


def joined(parts: Iterable[Values]) -> dict[str, Any]:
    """Join the tallies of chunks of repetitions."""
    chunks = list(parts)
    return {
        "rates": {method: pooled_rate(c["rates"][method] for c in chunks) for method in METHODS},
        "p": {method: pooled_mean(c["p"][method] for c in chunks) for method in METHODS},
        "gain": pooled_mean(c["gain"] for c in chunks),
    }


def norms_of(distances: Mapping[str, float]) -> float:
    """Return the sum of the squared norms of a pair."""
    return distances["norm"] + distances["other norm"]


def above(figure: Mapping[str, Any], value: float) -> bool:
    """Return whether a figure is above a value by more than two standard errors."""
    return bool(figure["mean"] > value + 2 * (figure["se"] or 0.0))


def below(figure: Mapping[str, Any], value: float) -> bool:
    """Return whether a figure is below a value by more than two standard errors."""
    return bool(figure["mean"] < value - 2 * (figure["se"] or 0.0))
