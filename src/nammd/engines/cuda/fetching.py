"""Bringing results to the host while the device is at work on the next ones: `UnderWay`, `fetched`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    """Tensors that a device has been told to compute, and may be computing still.

    Parameters
    ----------
    finish : callable
        Makes of the tensors, as NumPy arrays, what is wanted.
    *results : torch.Tensor
        These.
    """

    def __init__(self, finish: Callable[..., Any], *results: Any) -> None:
        import torch

        self.finish, self.results, self.device = finish, results, results[0].device
        on_gpu = self.device.type == "cuda"
        self.event = torch.cuda.current_stream(self.device).record_event() if on_gpu else None

    def done(self) -> Any:
        """Return what is wanted, as soon as it is there; what the device was told later goes on."""
        import torch

        if self.event is None:
            return self.finish(*fetched(*self.results))
        beside = _beside(self.device)
        with torch.cuda.stream(beside):
            beside.wait_event(self.event)
            return self.finish(*fetched(*self.results))


def all_done(begin: Callable[..., UnderWay], parts: Iterable[Any]) -> list[Any]:
    """Begin with all parts before one is waited for, and return what is wanted of each."""
    return [each.done() for each in [begin(part) for part in parts]]


@cache
def _beside(device: Any) -> Any:
    """Return a stream of a device to fetch on, always the same: PyTorch keeps memory for each one apart."""
    import torch

    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
