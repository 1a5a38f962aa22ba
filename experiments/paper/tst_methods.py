"""The two-sample tests of the paper's comparison with their settings, and samples for them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import nammd
from experiments.experiment import Context
from experiments.paper.benchmark_data import draw
from experiments.paper.finite_supports import unit_columns
from experiments.paper.pools import IMAGES
from experiments.paper.tst_runs import coarse
from nammd.methods.actt import ACTT
from nammd.methods.agg import MMDAgg
from nammd.methods.auto_tst import AutoTST
from nammd.methods.deep import MMDDeep
from nammd.methods.fuse import MMDFuse, NAMMDFuse
from nammd.methods.mabid import MEMaBiD

NAMES = {
    "nammd-fuse": "NAMMDFuse",
    "mmd-fuse": "MMDFuse",
    "mmd-agg": "MMDAgg",
    "actt": "ACTT",
    "mmd-deep": "MMD-D",
    "me-mabid": "ME_MaBiD",
    "auto-tst": "AutoTST",
}

_PACKAGES = {"actt": "goodpoints", "auto-tst": "sklearn", "mmd-deep": "torch"}

# The published units and locations. The steps of MMD-D for hdgm and higgs were 5e-5 for 1000 epochs, and s
# was for columns that are not scaled: here s starts at what separates the training half best.
_DEEP = {
    "blob": (50, 5e-4),
    "hdgm": (30, 5e-4),
    "higgs": (20, 5e-4),
    "mnist": (100, 1e-3),
    "cifar10": (300, 2e-4),
}
_ME = {
    "blob": (13, 0.005),
    "higgs": (9, 0.001),
    "hdgm": (9, 0.001),
    "mnist": (2, 0.005),
    "cifar10": (2, 0.005),
}


@dataclass(frozen=True)
class Effort:
    """How much the methods may compute: permutations, and epochs of what is learned."""

    permutations: int
    epochs: int


def missing_package(method: str) -> str | None:
    """Return the package that a method lacks here, if any."""
    package = _PACKAGES.get(method)
    return package if package is not None and find_spec(package) is None else None


def method_for(method: str, data: str, rows: int, effort: Effort, context: Context) -> Any:
    """Return a method with the settings for a data set."""
    count = effort.permutations
    if method == "nammd-fuse":
        return NAMMDFuse(permutations=count)
    if method == "mmd-fuse":
        return MMDFuse(permutations=count)
    if method == "mmd-agg":
        return MMDAgg(permutations=count, level_permutations=count)
    if method == "actt":
        return ACTT()
    if method == "auto-tst":
        return AutoTST(permutations=count)
    if method == "me-mabid":
        locations, step = _ME[data]
        # Few rows cannot be tested at many locations; twice the locations, and two more, are needed.
        return MEMaBiD(min(locations, (rows - 2) // 2), epochs=effort.epochs, learning_rate=step)
    hidden, step = _DEEP[data]
    network = _network(data, hidden, context.rng) if data in IMAGES else None
    return MMDDeep(network, hidden, epochs=effort.epochs, lr=step, permutations=count, device=context.device)


def rejects(method: str, data: str, x: np.ndarray, y: np.ndarray, effort: Effort, context: Context) -> bool:
    """Return whether a method finds two samples of a data set different, at the level 0.05."""
    chosen = method_for(method, data, len(x), effort, context)
    if method == "me-mabid" and data in IMAGES:
        x, y = (coarse(side, IMAGES[data]) for side in (x, y))
    if method.endswith("fuse") and context.device == "cuda":
        import torch

        placed: list[Any] = [torch.as_tensor(side, device="cuda") for side in (x, y)]
    else:
        placed = [x, y]
    seed = int(context.rng.integers(2**31))
    return nammd.two_sample_test(*placed, method=chosen, alpha=0.05, rng=seed, engine=context.engine).rejected


def samples(
    data: str, rows: int, context: Context, *, alternative: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two samples, brought to 0 to 1 column by column; of real data or P for equal distributions."""
    if alternative:
        x, y = draw(data, rows, context)
    else:
        both = draw(data, 2 * rows, context)[0]
        x, y = both[:rows], both[rows:]
    if data == "cifar10":  # colours first, as networks take them
        x, y = (side.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2).reshape(len(side), -1) for side in (x, y))
    if data in IMAGES:
        return x, y  # pixels are from 0 to 1 already
    scaled = unit_columns(np.concatenate([x, y]))
    return scaled[:rows], scaled[rows:]


def _network(data: str, features: int, rng: np.random.Generator) -> Any:
    from nammd.kernels.networks import convolutional

    return convolutional(IMAGES[data], features, rng=rng)
