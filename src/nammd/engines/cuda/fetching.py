"""Bringing results to the host while the device is at work on the next ones: `UnderWay`, `fetched`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from nammd.data.arrays import FloatArray, to_numpy


def fetched(*results: Any) -> list[FloatArray]:
    """Return tensors as NumPy arrays, all of them with one wait for the device.

    They are written where the device can write to by itself, which takes a quarter of the time.
    """
    import torch

    if results[0].device.type != "cuda":
        return [to_numpy(each) for each in results]
    copies = [torch.empty(each.shape, dtype=each.dtype, pin_memory=True) for each in results]
    for copy, each in zip(copies, results, strict=True):
        copy.copy_(each, non_blocking=True)
    torch.cuda.current_stream(results[0].device).synchronize()
    return [copy.numpy() for copy in copies]


class UnderWay:
    """Tensors that a device has been told to compute, and may be computing still."""

    def __init__(self, *results: Any) -> None:
        import torch

        self.results, self.device = results, results[0].device
        on_gpu = self.device.type == "cuda"
        self.done = torch.cuda.current_stream(self.device).record_event() if on_gpu else None

    def fetched(self, last: Callable[..., Sequence[Any]] | None = None) -> list[FloatArray]:
        """Return what a last step makes of the tensors, as NumPy arrays; what was begun later goes on."""
        import torch

        last = last or (lambda *results: results)
        if self.done is None:
            return fetched(*last(*self.results))
        beside = _beside(self.device)
        with torch.cuda.stream(beside):
            beside.wait_event(self.done)
            return fetched(*last(*self.results))


@cache
def _beside(device: Any) -> Any:
    """Return a stream of a device to fetch on, always the same: PyTorch keeps memory for each one apart."""
    import torch

    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
