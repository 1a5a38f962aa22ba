"""Decisions of the two-sample tests of the paper's comparison, on many samples of a data set.

Methods without training see sets of n rows of each sample. Methods that learn have n rows too: half of them
to learn on, once in a run as published, and sets of as many others to test on. Or they have n rows to learn
on, and sets of n others to test on, as the appendix of the paper says of its table of kernels (`AS_MANY`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import nammd
from experiments.experiment import Context
from experiments.paper.pools import IMAGES, Pair, Source, unit_map
from experiments.paper.stacked_runs import deep_criterion, learn, start
from experiments.paper.stacked_tests import generator_for, permutation_pvalues
from experiments.single_torch import one_torch_thread
from nammd.methods.actt import ACTT
from nammd.methods.agg import MMDAgg
from nammd.methods.auto_tst import AutoGluonLearner, mean_differences
from nammd.methods.fuse import MMDFuse, NAMMDFuse
from nammd.methods.mabid import learn_features, null_distribution, separation
from nammd.methods.many import two_sample_tests
from nammd.statistics.permutations import random_signs

ALPHA = 0.05
GROUPS = {
    "fused": ("nammd-fuse", "mmd-fuse", "mmd-agg"),
    "actt": ("actt",),
    "mmd-deep": ("mmd-deep",),
    "me-mabid": ("me-mabid",),
    "auto-tst": ("auto-tst",),
}
"""Methods that are run together."""

LEARNED = ("mmd-deep", "me-mabid", "auto-tst")
AUTOGLUON = "autogluon"
"""AutoTST with AutoGluon, where that is installed."""

AS_MANY = ", as many"
"""What follows a method's name where it learns on as many rows as it is tested on."""

# The published units, steps, and epochs. The published s is for columns that are not scaled: here it starts
# at what separates the training rows best.
_DEEP = {
    "blob": (50, 5e-4, 1000),
    "hdgm": (30, 5e-5, 1000),
    "higgs": (20, 5e-5, 1000),
    "mnist": (100, 1e-3, 2000),
    "mnist, cropped": (100, 1e-3, 2000),
    "cifar10": (300, 2e-4, 1000),
}
_ME = {
    "blob": (13, 0.005),
    "higgs": (9, 0.001),
    "hdgm": (9, 0.001),
    "mnist": (2, 0.005),
    "mnist, cropped": (2, 0.005),
    "cifar10": (2, 0.005),
}


@dataclass(frozen=True)
class Effort:
    """How much is computed.

    Attributes
    ----------
    permutations : int
        Of every test; of ACTT its own.
    runs, sets : int
        How often the learned methods learn, and on how many sets each is tested.
    share : float
        The share of the published epochs; 1, but for trying things out.
    """

    permutations: int
    runs: int
    sets: int
    share: float = 1.0

    def epochs(self, published: int) -> int:
        """Return how many epochs."""
        return max(2, round(self.share * published))


def fused(data: str, rows: int, count: int, effort: Effort, context: Context, null: bool) -> dict[str, str]:
    """Return the decisions of the two fused tests and of MMDAgg on `count` sets."""
    source = Source(data, context.data, context.rng, alternative=not null)
    number = effort.permutations
    methods: list[Any] = [
        NAMMDFuse(permutations=number),
        MMDFuse(permutations=number),
        MMDAgg(permutations=number, level_permutations=number),
    ]
    on_gpu = context.device == "cuda"
    pairs = (_placed(_scaled(data, source.draw(rows)), on_gpu) for _ in range(count))
    engine = None if on_gpu else context.engine
    results = two_sample_tests(pairs, methods=methods, alpha=ALPHA, rng=context.rng, engine=engine)
    return {m.name: bits([each[k].rejected for each in results]) for k, m in enumerate(methods)}


def actt(data: str, rows: int, count: int, context: Context, null: bool) -> dict[str, str]:
    """Return the decisions of ACTT with its published settings."""
    source = Source(data, context.data, context.rng, alternative=not null)
    found = []
    for _ in range(count):
        x, y = _scaled(data, source.draw(rows))
        seed = int(context.rng.integers(2**31))
        test = nammd.two_sample_test(x, y, method=ACTT(), alpha=ALPHA, rng=seed, engine=context.engine)
        found.append(test.rejected)
    return {"actt": bits(found)}


def deep(data: str, half: int, effort: Effort, context: Context, null: bool) -> dict[str, str]:
    """Return the decisions of MMD-D: all runs are learned side by side."""
    import torch

    hidden, step, epochs = _DEEP[data]
    rng = context.rng
    trained, draws = _runs(data, half, effort.runs, context, null)
    x, y = (torch.tensor(np.stack(side), dtype=torch.float32, device=context.device) for side in trained)
    networks = [network(data, x.shape[2], hidden, rng) for _ in range(effort.runs)]
    with one_torch_thread():
        scales = {"feature_bandwidth": math.sqrt(0.05), "epsilon": 0.01}
        kernel = start("Deep", x, y, deep_criterion, networks, **scales)
        learn(kernel, deep_criterion, x, y, epochs=effort.epochs(epochs), lr=step)
        generator = generator_for(rng, x.device)
        found: list[np.ndarray] = []
        at_once = max(1, min(effort.sets, (1 << 27) // (effort.runs * 2 * half * max(2 * half, x.shape[2]))))
        with torch.no_grad():
            for first in range(0, effort.sets, at_once):
                sets = min(at_once, effort.sets - first)
                z = test_rows(draws, sets, half, x.device)
                grams = grams_of_sets(kernel, z, effort.runs * sets)
                shares = permutation_pvalues(
                    grams, 1.0, min(effort.permutations, 499), generator, off_diagonal=False
                )
                found.append(shares["mmd"].reshape(effort.runs, sets) <= ALPHA)
    return {"mmd-deep": bits(np.concatenate(found, axis=1).ravel())}


def test_rows(draws: list[Any], sets: int, rows: int, device: Any) -> Any:
    """Return the rows of some sets of every run, of shape (runs, sets * 2 rows, columns)."""
    import torch

    each = [np.concatenate([np.concatenate(draw(rows)) for _ in range(sets)]) for draw in draws]
    return torch.tensor(np.stack(each), dtype=torch.float32, device=device)


def grams_of_sets(kernel: Any, z: Any, count: int) -> Any:
    """Return the Gram matrices of all sets, in float64, of shape (count, 2 rows, 2 rows)."""
    parts = tuple(part.double().reshape(count, -1, part.shape[2]) for part in kernel.embed(z))
    return kernel.value(parts, parts)


def network(data: str, columns: int, hidden: int, rng: np.random.Generator) -> Any:
    """Return a fresh network: convolutional for images, else a perceptron."""
    from nammd.kernels.networks import convolutional, mlp

    if data in IMAGES:
        return convolutional(IMAGES[data], hidden, rng=rng)
    return mlp(columns, hidden, rng=rng)


def mabid(data: str, half: int, effort: Effort, context: Context, null: bool) -> dict[str, str]:
    """Return the decisions of one run of ME_MaBiD."""
    rng = context.rng
    [(x, y)], [draw] = _pairs(data, half, 1, context, null, coarsely=True)
    locations, step = _ME[data]
    # Few rows cannot be tested at many locations; twice the locations, and two more, are needed.
    locations = max(1, min(locations, half - 1))
    features = learn_features(x, y, locations, epochs=effort.epochs(1000), learning_rate=step, rng=rng)
    critical = float(null_distribution("chi-squared", locations, 2 * half).isf(ALPHA))
    sets = (draw(half) for _ in range(effort.sets))
    return {"me-mabid": bits([separation(features(a), features(b)) > critical for a, b in sets])}


def auto(data: str, half: int, effort: Effort, context: Context, null: bool) -> dict[str, str]:
    """Return the decisions of one run of AutoTST with gradient-boosted trees."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    [(x, y)], [draw] = _pairs(data, half, 1, context, null)
    learner = HistGradientBoostingRegressor(random_state=int(context.rng.integers(2**31)))
    found = []
    with threadpool_limits(1, user_api="openmp"):
        learner.fit(np.concatenate([x, y]), np.repeat([1, 0], half))
        for _ in range(effort.sets):
            scores = learner.predict(np.concatenate(draw(half)))
            found.append(_tells_apart(scores, half, effort, context.rng))
    return {"auto-tst": bits(found)}


def auto_gluon(data: str, half: int, effort: Effort, context: Context, null: bool) -> dict[str, str]:
    """Return the decisions of one run of AutoTST with AutoGluon; none where it is not installed."""
    if find_spec("autogluon") is None:
        return {}
    [(x, y)], [draw] = _pairs(data, half, 1, context, null)
    fresh = [np.concatenate(draw(half)) for _ in range(effort.sets)]
    learner = AutoGluonLearner(time_limit=max(1.0, effort.share * AutoGluonLearner.time_limit))
    scores = learner.scores(np.concatenate([x, y]), np.repeat([1, 0], half), np.concatenate(fresh))
    each = np.split(scores, effort.sets)
    return {AUTOGLUON: bits([_tells_apart(part, half, effort, context.rng) for part in each])}


def _tells_apart(scores: np.ndarray, half: int, effort: Effort, rng: np.random.Generator) -> bool:
    """Return whether scores of fresh rows differ between the samples, by permutation."""
    number = min(effort.permutations, 999)
    observed = float(scores[:half].mean() - scores[half:].mean())
    relabelled = mean_differences(scores, random_signs(half, half, number, rng))
    slack = 1e-9 * max(float(relabelled.std()), 1e-300)
    return bool((1 + np.count_nonzero(relabelled >= observed - slack)) / (number + 1) <= ALPHA)


def bits(found: Any) -> str:
    """Keep every decision, as a text of zeros and ones."""
    return "".join(str(int(hit)) for hit in found)


def coarse(rows: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Average images over 4 x 4 pixels: a Mahalanobis matrix has a row and a column for every column."""
    channels, height, width = shape
    blocks = rows.reshape(len(rows), channels, height // 4, 4, width // 4, 4)
    averaged: np.ndarray = blocks.mean(axis=(3, 5)).reshape(len(rows), -1)
    return averaged


def _pairs(
    data: str, rows: int, runs: int, context: Context, null: bool, *, coarsely: bool = False
) -> tuple[list[Pair], list[Any]]:
    """Return samples to learn on for every run, and what draws sets to test on, in the same units."""
    trained, draws = [], []
    for _ in range(runs):
        source = Source(data, context.data, context.rng, alternative=not null)
        (x, y), draw = source.split(rows)
        scaled = _scaling(data, x, y, coarsely)
        trained.append((scaled(x), scaled(y)))
        draws.append(lambda n, draw=draw, scaled=scaled: tuple(map(scaled, draw(n))))
    return trained, draws


def _runs(data: str, rows: int, runs: int, context: Context, null: bool) -> tuple[list[list[Any]], list[Any]]:
    trained, draws = _pairs(data, rows, runs, context, null)
    return [[pair[side] for pair in trained] for side in (0, 1)], draws


def _scaling(data: str, x: np.ndarray, y: np.ndarray, coarsely: bool = False) -> Any:
    if data not in IMAGES:
        return unit_map(x, y)
    # Pixels are from 0 to 1 already.
    return (lambda rows: coarse(rows, IMAGES[data])) if coarsely else (lambda rows: rows)


def _scaled(data: str, pair: Pair) -> Pair:
    scaled = _scaling(data, *pair)
    return scaled(pair[0]), scaled(pair[1])


def _placed(pair: Pair, on_gpu: bool) -> tuple[Any, Any]:
    if not on_gpu:
        return pair
    import torch

    x, y = (torch.tensor(side, dtype=torch.float32, device="cuda") for side in pair)
    return x, y
