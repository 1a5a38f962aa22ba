"""Benchmark data to draw many samples from: fresh rows of the synthetic ones, subsets of the real ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.paper.benchmark_data import CIFAR_NOISE
from nammd.datasets import blob, cifar10, hdgm, higgs, mnist

Pair = tuple[np.ndarray, np.ndarray]

IMAGES = {"mnist": (1, 28, 28), "cifar10": (3, 32, 32), "mnist, cropped": (1, 20, 20)}

_BORDER = 4
"""Pixels that are cut off on each side of a cropped digit. Real digits are drawn inside of them."""

POOLS = {
    ("higgs", True): 3512,
    ("higgs", False): 1994,
    ("mnist", True): 3248,
    ("mnist", False): 5000,
    ("mnist, cropped", True): 3248,
    ("mnist, cropped", False): 5000,
    ("cifar10", True): 2500,
    ("cifar10", False): 2500,
}
"""How many rows of either sample there are; of equal distributions, half of the rows of one data set."""


def enough(data: str, rows: int) -> bool:
    """Return whether there are so many different rows of P and as many of Q."""
    return rows <= POOLS.get((data, True), rows)


@lru_cache(maxsize=4)
def _pool(data: str, alternative: bool, folder: Path) -> Pair:
    """Return all rows of a real data set; noise is added once, so that the pool is a data set too."""
    rows, rng = POOLS[data, alternative], np.random.default_rng(0)
    if data == "higgs":
        return higgs(rows, folder=folder, alternative=alternative, rng=rng)
    if data == "mnist, cropped":
        inside = slice(_BORDER, -_BORDER)
        whole = mnist(rows, folder=folder, alternative=alternative, rng=rng)
        x, y = (z.reshape(-1, 28, 28)[:, inside, inside].reshape(len(z), -1) for z in whole)
        return x, y
    if data == "mnist":
        return mnist(rows, folder=folder, alternative=alternative, rng=rng)
    pair = cifar10(rows, folder=folder, version="noise", noise=CIFAR_NOISE, alternative=alternative, rng=rng)
    # Colours first, as networks take them.
    x, y = (z.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2).reshape(len(z), -1) for z in pair)
    return x, y


@lru_cache(maxsize=4)
def _joined(data: str, folder: Path) -> np.ndarray:
    """Return all rows of the data set of which both samples are, where distributions are equal."""
    return np.concatenate(_pool(data, False, folder))


class Source:
    """Where samples of P and of Q come from, or two of P where `alternative` is false."""

    def __init__(
        self, data: str, folder: Path, rng: np.random.Generator, *, alternative: bool = True
    ) -> None:
        self.data, self.rng, self.alternative = data, rng, alternative
        self._pair = _pool(data, alternative, folder) if (data, alternative) in POOLS else None
        if self._pair is not None and not alternative:
            both = _joined(data, folder)
            self._pair = both, both

    def draw(self, rows: int) -> Pair:
        """Return a sample of each, without replacement where the data are real."""
        return self._fresh(rows) if self._pair is None else self._some(self._all(), rows)

    def split(self, rows: int) -> tuple[Pair, Callable[[int], Pair]]:
        """Return samples to learn on, and a function that draws others, without their rows, to test on."""
        if self._pair is None:
            return self.draw(rows), self.draw
        if self.alternative:
            one, other = (self.rng.permutation(where) for where in self._all())
            first, left = (one[:rows], other[:rows]), (one[rows:], other[rows:])
        else:
            order = self.rng.permutation(self._all()[0])
            first, left = (order[:rows], order[rows : 2 * rows]), (order[2 * rows :],) * 2
        return self._rows(first), lambda rows: self._some(left, rows)

    def _fresh(self, rows: int) -> Pair:
        make = blob if self.data == "blob" else hdgm
        return make(rows, alternative=self.alternative, rng=self.rng)

    def _all(self) -> tuple[np.ndarray, ...]:
        """Return the positions of all rows: of both samples, or of the one data set they share."""
        assert self._pair is not None
        return tuple(np.arange(len(pool)) for pool in self._pair)

    def _positions(self, usable: tuple[np.ndarray, ...], rows: int) -> tuple[np.ndarray, np.ndarray]:
        if self.alternative:
            x, y = (self.rng.choice(where, rows, replace=False) for where in usable)
            return x, y
        # Equal distributions: any row may be in either sample. With a half of the data set for each, the
        # same difference of the halves would be in every draw.
        both = self.rng.choice(usable[0], 2 * rows, replace=False)
        return both[:rows], both[rows:]

    def _some(self, usable: tuple[np.ndarray, ...], rows: int) -> Pair:
        return self._rows(self._positions(usable, rows))

    def _rows(self, positions: tuple[np.ndarray, np.ndarray]) -> Pair:
        assert self._pair is not None
        x, y = (pool[where] for pool, where in zip(self._pair, positions, strict=True))
        return x, y


def unit_map(x: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return what brings every column of two samples together to 0 to 1, as the authors do."""
    both = np.concatenate([x, y])
    low, span = both.min(axis=0), np.ptp(both, axis=0)
    span = np.where(span > 0, span, 1.0)

    def scaled(rows: np.ndarray) -> np.ndarray:
        found: np.ndarray = (rows - low) / span
        return found

    return scaled
