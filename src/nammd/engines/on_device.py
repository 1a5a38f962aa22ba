"""An engine that moves samples to a device: `OnDevice`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, is_spread
from nammd.engines.choice import choose_engine
from nammd.engines.protocol import Engine, FamilyForms, FormTask, PairedForms, Summed
from nammd.engines.units import Units
from nammd.kernels import Kernel
from nammd.kernels.base import Precision


@dataclass(frozen=True)
class OnDevice(Engine):
    """Move samples to a device of torch, and let the engine that suits it compute there.

    Files and tables become NumPy arrays; their rows stay where they are, for all but the sums. Encoded
    columns are scaled and centred, so float32 holds them, and a GPU is much faster with it.

    Parameters
    ----------
    device : str
        A device that torch knows, such as ``"cuda"``, ``"cuda:1"`` or ``"cpu"``.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> x, y = np.random.default_rng(0).normal(size=(2, 300, 3))
    >>> there = nammd.distance(x, y, engine=nammd.OnDevice("cpu"))
    >>> there.engine
    'Tiles() on torch, cpu'
    >>> bool(abs(there.value - nammd.distance(x, y).value) < 1e-6)
    True
    """

    device: str = "cuda"

    def sums(self, kernel: Kernel, *parts: tuple[Any, ...]) -> Summed:
        """Return `WithinSums` for every part ``(x,)`` and `CrossSums` for every part ``(x, y)``."""
        moved = {id(sample): self._moved(sample) for part in parts for sample in part}
        there = [tuple(moved[id(sample)] for sample in part) for part in parts]
        return self._engine(there[0][0]).sums(kernel, *there)

    def unit_sums(self, kernel: Kernel, *parts: tuple[tuple[Any, Units], ...]) -> Summed:
        """Return `UnitWithin` and `UnitCross`, computed on the device."""
        moved = {id(sample): self._moved(sample) for part in parts for sample, _ in part}
        there = [tuple((moved[id(sample)], units) for sample, units in part) for part in parts]
        return self._engine(there[0][0][0]).unit_sums(kernel, *there)

    def quadratic_forms(self, kernel: Kernel, z: Any, vectors: NDArray[Any]) -> FloatArray:
        """Return ``v' K v`` for every column v, K the Gram matrix of z less its diagonal."""
        moved = self._moved(z)
        return self._engine(moved).quadratic_forms(kernel, moved, vectors)

    def family_forms(self, kernels: Sequence[Kernel], z: Any, vectors: NDArray[Any]) -> FamilyForms:
        """Return quadratic forms, row sums and squares for many kernels."""
        moved = self._moved(z)
        return self._engine(moved).family_forms(kernels, moved, vectors)

    def paired_forms(self, kernels: Sequence[Kernel], x: Any, y: Any, vectors: NDArray[Any]) -> PairedForms:
        """Return the forms of the differences of paired rows."""
        one, other = self._moved(x), self._moved(y)
        return self._engine(one).paired_forms(kernels, one, other, vectors)

    def many_forms(self, tasks: Sequence[FormTask]) -> list[Any]:
        """Return the sums of many tasks."""
        if not tasks:
            return []
        moved = [
            FormTask(task.kernels, tuple(map(self._moved, task.samples)), task.vectors) for task in tasks
        ]
        return self._engine(moved[0].samples[0]).many_forms(moved)

    def precision_for(self, *samples: Any) -> Precision:
        """Return float32: what a device is fast with."""
        return "float32"

    def described(self, *samples: Any, kernel: Kernel | None = None) -> str:
        """Say which engine computes on the device."""
        import torch

        nothing = torch.empty((0, 1), device=self.device)
        return self._engine(nothing).described(nothing, kernel=kernel)

    def _moved(self, sample: Any) -> Any:
        if is_spread(sample):
            raise TypeError(
                "OnDevice computes on one device, and this dataset is spread over a Dask cluster; use "
                "engine=nammd.Cluster(), or call .compute() on it first"
            )
        import torch

        return torch.asarray(sample, dtype=torch.float32, device=self.device)

    def _engine(self, sample: Any) -> Engine:
        return choose_engine(None, sample)
