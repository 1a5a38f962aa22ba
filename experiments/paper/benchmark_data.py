"""The five benchmark data sets of the paper, as far as they can be had."""

from __future__ import annotations

import numpy as np

from experiments.data import CIFAR10, GENERATED_MNIST, HIGGS, MNIST
from experiments.experiment import Context
from nammd.datasets import blob, cifar10, hdgm, higgs, mnist

DATASETS = ("blob", "higgs", "hdgm", "mnist", "cifar10")
"""In the order of the paper's tables."""

NEEDS = (HIGGS, MNIST, GENERATED_MNIST, CIFAR10)
"""The files of the three real data sets."""

STAND_INS = (
    "Real data that stand in: rows of HIGGS, fewer than the paper's; for mnist, digits of the test set and "
    "digits of published generative models, at all stages of their training; for cifar10, test images and "
    "other test images with normal noise added."
)

CIFAR_NOISE = 0.1
"""The standard deviation of the noise of the other cifar10, where pixels are from 0 to 1."""


def draw(
    data: str, rows: int, context: Context, *, noise: float = CIFAR_NOISE
) -> tuple[np.ndarray, np.ndarray]:
    """Draw as many rows of P and of Q; without replacement where the data are real."""
    rng = context.rng
    if data == "blob":
        return blob(rows, rng=rng)
    if data == "hdgm":
        return hdgm(rows, rng=rng)
    if data == "higgs":
        return higgs(rows, folder=context.data, rng=rng)
    if data == "mnist":
        return mnist(rows, folder=context.data, rng=rng)
    return cifar10(rows, folder=context.data, version="noise", noise=noise, rng=rng)
