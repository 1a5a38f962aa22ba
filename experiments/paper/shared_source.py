"""One source and several targets: whether one target is farther from the source than another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import nammd
from experiments.experiment import Values
from experiments.paper.reference_pairs import Rows, drawn, estimates, pvalues, tally


def rejections(
    source: Rows,
    targets: Mapping[str, Rows],
    truth: Mapping[str, Mapping[str, float]],
    kernel: nammd.Kernel,
    *,
    rows: int,
    repetitions: int,
    alpha: float,
    rng: np.random.Generator,
    engine: nammd.Engine,
) -> dict[str, dict[str, Values]]:
    """Test for every target as reference (Q1) whether every target (Q2) is farther from the source.

    Parameters
    ----------
    source, targets : array, mapping of str to array
        Features; rows are drawn from them with replacement.
    truth : mapping
        The true distances of the targets.
    kernel : Kernel
        The kernel of all distances.
    rows, repetitions : int
        The rows of every sample, and how often samples are drawn.
    alpha : float
        The level.
    rng, engine
        Who draws, and who computes.

    Returns
    -------
    dict
        The tally of every Q2, by Q1.
    """
    names = list(targets)
    found: dict[str, dict[str, list[dict[str, float]]]] = {q1: {q2: [] for q2 in names} for q1 in names}
    for _ in range(repetitions):
        x = drawn(source, rows, rng)
        # A second sample of every target, so that reference and test never share one.
        others = [drawn(targets[name], rows, rng) for name in names + names]
        all_of = estimates(x, others, kernel, engine)
        references, tested = all_of[: len(names)], all_of[len(names) :]
        for q1, reference in zip(names, references, strict=True):
            for q2, estimate in zip(names, tested, strict=True):
                found[q1][q2].append(pvalues(estimate, reference, truth[q1], shared=True))
    return {q1: {q2: tally(each, alpha) for q2, each in row.items()} for q1, row in found.items()}
