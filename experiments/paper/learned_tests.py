"""Permutation tests with kernels that were learned on other rows: several runs of many sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.experiment import Context
from experiments.paper.pools import Source
from experiments.paper.stacked_runs import learn, power_criterion, start
from experiments.paper.stacked_tests import generator_for, permutation_pvalues
from experiments.paper.tst_runs import grams_of_sets, network, test_rows
from experiments.single_torch import one_torch_thread

KERNELS = ("Gaussian", "Mahalanobis", "Deep", "Laplace")
"""In the order of the paper's table."""

# The steps of nammd's own learning; the paper does not tell its own.
_STEPS = {"Gaussian": 0.05, "Laplace": 0.05, "Mahalanobis": 0.02, "Deep": 0.002}
_UNITS = {"blob": 50, "higgs": 20, "hdgm": 30, "mnist": 100, "cifar10": 300}


def learned_pvalues(
    data: str,
    kind: str,
    rows: int,
    many: tuple[int, int],
    epochs: int,
    permutations: int,
    context: Context,
    *,
    null: bool = False,
    hold: float = 0.0,
) -> dict[str, np.ndarray]:
    """Learn the kernels of all runs side by side, and test each on sets of other rows.

    Parameters
    ----------
    data, kind : str
        The data set, and the kind of kernel.
    rows : int
        Rows of each sample, to learn on and in every set.
    many : (runs, sets)
        How many runs, and how many sets are tested in each.
    epochs, permutations : int
        Of the learning and of the tests.
    context : Context
        The generator, the device and the data.
    null : bool
        Whether both samples come from one distribution.
    hold : float
        The share of the rows that is not learned on, but says which epoch was best; 0 for the last epoch.

    Returns
    -------
    dict of str to array of shape (runs, sets)
        The p-values of the tests of `permutation_pvalues`.
    """
    import torch

    rng, (runs, sets) = context.rng, many
    trained, draws = [], []
    for _ in range(runs):
        pair, draw = Source(data, context.data, rng, alternative=not null).split(rows)
        trained.append(pair)
        draws.append(draw)
    x, y = (
        torch.tensor(np.stack([pair[side] for pair in trained]), dtype=torch.float32, device=context.device)
        for side in (0, 1)
    )
    made = [network(data, x.shape[2], _UNITS[data], rng) for _ in draws] if kind == "Deep" else []
    with one_torch_thread():
        kernel = start(kind, x, y, power_criterion, made, feature_bandwidth=0.5, epsilon=0.1)
        fast = 10.0 if kind == "Deep" else 1.0  # bandwidths move faster than weights
        cut = rows - round(hold * rows)
        held = (x[:, cut:].contiguous(), y[:, cut:].contiguous()) if hold else None
        x, y = x[:, :cut].contiguous(), y[:, :cut].contiguous()
        learn(kernel, power_criterion, x, y, epochs=epochs, lr=_STEPS[kind], scales_lr=fast, held=held)
        with torch.no_grad():
            return _tested(kernel, draws, rows, sets, permutations, generator_for(rng, x.device))


def _tested(
    kernel: Any, draws: list[Any], rows: int, sets: int, permutations: int, generator: Any
) -> dict[str, np.ndarray]:
    """Return the p-values, of shape (runs, sets), by statistic."""
    runs, columns = len(draws), draws[0](1)[0].shape[1]
    at_once = max(1, min(sets, (1 << 27) // (runs * 2 * rows * max(2 * rows, columns))))
    parts: dict[str, list[np.ndarray]] = {}
    for first in range(0, sets, at_once):
        count = min(at_once, sets - first)
        grams = grams_of_sets(kernel, test_rows(draws, count, rows, generator.device), runs * count)
        for name, values in permutation_pvalues(grams, 1.0, permutations, generator).items():
            parts.setdefault(name, []).append(values.reshape(runs, count))
    return {name: np.concatenate(values, axis=1) for name, values in parts.items()}
