"""The CIFAR-10 test images of the data folder, with their labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.data import Need

IMAGES: Need = ("cifar10_jpeg/cifar10_test_5000.npz",)
"""Half of the test set, with the position of every image among the 10000 whose features are stored."""


@dataclass(frozen=True, eq=False)
class CifarImages:
    """Images with their labels.

    Attributes
    ----------
    pixels : array of shape (rows, 32, 32, 3)
        From 0 to 1.
    labels : array of shape (rows,)
        The classes, 0 to 9.
    index : array of shape (rows,)
        Their positions in the file of features.
    """

    pixels: NDArray[np.float32]
    labels: NDArray[Any]
    index: NDArray[Any]


def cifar_images(data: Path, count: int) -> CifarImages:
    """Read the first images, as many of every class as of any other as far as there are enough."""
    with np.load(data / IMAGES[0], allow_pickle=False) as file:
        images, labels, index = (file[name] for name in ("images", "labels", "index"))
    each = -(-count // 10)
    chosen = np.sort(np.concatenate([np.flatnonzero(labels == label)[:each] for label in range(10)]))[:count]
    return CifarImages(images[chosen] / np.float32(255), labels[chosen], index[chosen])
