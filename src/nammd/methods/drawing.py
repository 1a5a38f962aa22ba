"""Random signs for many tests: NumPy's, or drawn on the device where the samples are."""

from __future__ import annotations

from typing import Any

import numpy as np

from nammd.data.arrays import Array, is_torch
from nammd.statistics.permutations import random_signs


class DrawSigns:
    """Draws signs as whole numbers of 8 bits; their first column is always the data as they are.

    Parameters
    ----------
    rng : numpy.random.Generator
        What all randomness comes from: on a device, the seed of its generator.
    sample : array
        A sample, which tells where the signs are wanted.
    """

    def __init__(self, rng: np.random.Generator, sample: Array) -> None:
        self._rng = rng
        self._device: Any = None
        self._generator: Any = None
        if is_torch(sample) and sample.device.type != "cpu":
            self._on(sample.device)

    def _on(self, device: Any) -> None:
        import torch

        self._device = device
        self._generator = torch.Generator(device).manual_seed(int(self._rng.integers(2**62)))

    def rows(self, count: int) -> Any:
        """Return a random order of so many rows."""
        return self._rng.permutation(count)

    def permutations(self, m: int, n: int, count: int) -> Any:
        """Return (m + n, count) signs, each column a random choice of m rows, marked +1."""
        signs: Any
        if self._device is None:
            signs = random_signs(m, n, count, self._rng).astype(np.int8)
        else:
            import torch

            where = {"device": self._device}
            # Keys of 53 bits: of equal ones the order would not be random.
            keys = torch.rand((count, m + n), generator=self._generator, dtype=torch.float64, **where)
            lines = torch.full((count, m + n), -1, dtype=torch.int8, **where)
            signs = lines.scatter_(1, keys.argsort(dim=1)[:, :m], 1).T.contiguous()
        signs[:m, 0], signs[m:, 0] = 1, -1
        return signs

    def coins(self, n: int, count: int) -> Any:
        """Return (n, count) independent signs."""
        signs: Any
        if self._device is None:
            signs = self._rng.integers(0, 2, (n, count), dtype=np.int8) * np.int8(2) - np.int8(1)
        else:
            import torch

            options = {"generator": self._generator, "dtype": torch.int8, "device": self._device}
            signs = torch.randint(0, 2, (n, count), **options) * 2 - 1
        signs[:, 0] = 1
        return signs
