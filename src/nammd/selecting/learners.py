"""Kernels with parameters that gradients can move."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np

from nammd.data.arrays import to_numpy
from nammd.kernels import Gaussian, Kernel, Laplace, Mahalanobis
from nammd.kernels.deep import Deep
from nammd.kernels.networks import torch_module


@dataclass
class Learner:
    """A kernel as functions of parameters that torch can differentiate.

    Attributes
    ----------
    scales : list of tensors
        Logarithms of bandwidths and the like.
    weights : list of tensors
        Other parameters.
    embed : callable
        Maps rows to a tuple of things that belong to each row.
    value : callable
        Maps two such tuples to the matrix of kernel values.
    finish : callable
        Returns the kernel with the parameters as they are.
    tensor : callable
        Brings a sample to where the parameters are.
    lr, scales_lr : float
        The default step, and how many times faster `scales` move.
    network : torch.nn.Module, optional
        The network that some of the weights belong to.
    """

    scales: list[Any]
    weights: list[Any]
    embed: Callable[[Any], tuple[Any, ...]]
    value: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]
    finish: Callable[[], Kernel]
    tensor: Callable[[Any], Any]
    lr: float
    scales_lr: float = 1.0
    network: Any = None

    def grams(self, x: Any, *others: Any) -> tuple[Any, ...]:
        """Return the Gram matrix of x, and for every other sample its own and the one of x and it.

        All go through the network together: batch normalisation must treat them alike.
        """
        samples = (x, *others)
        together = self.embed(torch_module().cat(samples))
        ends = np.cumsum([0, *map(len, samples)])
        of_x, *of_others = (tuple(t[start:end] for t in together) for start, end in pairwise(ends))
        found = [self.value(of_x, of_x)]
        for each in of_others:
            found += [self.value(each, each), self.value(of_x, each)]
        return tuple(found)

    def state(self) -> list[Any]:
        """Return a copy of everything that learning changes."""
        tensors = [t.detach().clone() for t in (*self.scales, *self.weights)]
        return [tensors, None if self.network is None else copy.deepcopy(self.network.state_dict())]

    def restore(self, state: list[Any]) -> None:
        """Go back to an earlier state."""
        tensors, network = state
        with torch_module().no_grad():
            for mine, theirs in zip((*self.scales, *self.weights), tensors, strict=True):
                mine.copy_(theirs)
        if network is not None:
            self.network.load_state_dict(network)

    def training(self, on: bool) -> None:
        """Switch batch normalisation between the batch's statistics and the remembered ones."""
        if self.network is not None:
            self.network.train(on)
            for module in self.network.modules():
                if "Dropout" in type(module).__name__:
                    module.eval()


@dataclass(frozen=True)
class Workshop:
    """Where parameters live: a device and a floating-point type of torch."""

    place: Any
    dtype: Any

    def tensor(self, values: Any) -> Any:
        """Bring a sample there."""
        torch = torch_module()
        if isinstance(values, torch.Tensor):
            return values.detach().to(device=self.place, dtype=self.dtype)
        return torch.tensor(to_numpy(values), device=self.place, dtype=self.dtype)

    def parameter(self, value: Any) -> Any:
        """Make a number, or an array, that gradients can move."""
        return torch_module().tensor(value, device=self.place, dtype=self.dtype, requires_grad=True)


def learner_for(kernel: Any, sample: Any, device: Any = None) -> Learner:
    """Return the learner that starts at a kernel, for samples like the one given."""
    torch = torch_module()
    on_torch = isinstance(sample, torch.Tensor)
    place = torch.device(device or (sample.device if on_torch else "cpu"))
    single = str(sample.dtype).endswith("float32") or in_single(kernel)
    return learner(kernel, Workshop(place, torch.float32 if single else torch.float64))


def in_single(kernel: Any) -> bool:
    """Tell whether a kernel is learned in float32 in any case: networks are."""
    return hasattr(kernel, "network")


@singledispatch
def learner(kernel: Any, workshop: Workshop) -> Learner:
    """Return a kernel as functions of parameters, or refuse it."""
    raise TypeError(
        "kernel must be a Gaussian, Laplace, Mahalanobis or Deep kernel, or one of these classes, not "
        f"{kernel!r}; sums and kernels of your own cannot be learned"
    )


@learner.register
def _(kernel: Gaussian, workshop: Workshop) -> Learner:
    torch = torch_module()
    log_bandwidth = workshop.parameter(math.log(kernel.bandwidth))
    return Learner(
        [log_bandwidth],
        [],
        lambda z: (z * torch.exp(-log_bandwidth),),
        lambda a, b: _gaussian(a[0], b[0]),
        lambda: Gaussian(math.exp(log_bandwidth.item())),
        workshop.tensor,
        lr=0.05,
    )


@learner.register
def _(kernel: Laplace, workshop: Workshop) -> Learner:
    torch = torch_module()
    log_bandwidth = workshop.parameter(math.log(kernel.bandwidth))
    return Learner(
        [log_bandwidth],
        [],
        lambda z: (z,),
        lambda a, b: torch.exp(-torch.cdist(a[0], b[0], p=1.0) * torch.exp(-log_bandwidth)),
        lambda: Laplace(math.exp(log_bandwidth.item())),
        workshop.tensor,
        lr=0.05,
    )


@learner.register
def _(kernel: Mahalanobis, workshop: Workshop) -> Learner:
    # A change of the given factor, not the factor itself: a step then means the same whatever the
    # units of the columns, and the matrix stays positive semi-definite.
    factor = kernel.embed(np.eye(len(kernel.matrix)))
    given, change = workshop.tensor(factor), workshop.parameter(np.eye(factor.shape[1]).tolist())

    def learned_matrix() -> Mahalanobis:
        root = factor @ to_numpy(change)
        return Mahalanobis(root @ root.T)

    return Learner(
        [],
        [change],
        lambda z: (z @ given @ change,),
        lambda a, b: _gaussian(a[0], b[0]),
        learned_matrix,
        workshop.tensor,
        lr=0.02,
    )


@learner.register
def _(kernel: Deep, workshop: Workshop) -> Learner:
    torch = torch_module()
    network = copy.deepcopy(kernel.network).to(device=workshop.place, dtype=torch.float32)
    network.requires_grad_(True)
    log_b, log_f = (workshop.parameter(math.log(b)) for b in (kernel.bandwidth, kernel.feature_bandwidth))
    logit = workshop.parameter(math.log(kernel.epsilon / (1 - kernel.epsilon)))

    def value(a: tuple[Any, ...], b: tuple[Any, ...]) -> Any:
        epsilon = torch.sigmoid(logit)
        return ((1 - epsilon) * _gaussian(a[1], b[1]) + epsilon) * _gaussian(a[0], b[0])

    def finish() -> Deep:
        epsilon = min(max(torch.sigmoid(logit.double()).item(), 1e-300), 1 - 1e-7)
        return Deep(network, math.exp(log_b.item()), math.exp(log_f.item()), epsilon)

    return Learner(
        [log_b, log_f, logit],
        list(network.parameters()),
        lambda z: (z * torch.exp(-log_b), network(z).flatten(1) * torch.exp(-log_f)),
        value,
        finish,
        workshop.tensor,
        lr=0.002,
        scales_lr=10.0,
        network=network,
    )


def _gaussian(u: Any, v: Any) -> Any:
    """Return exp(-|u - v|^2 / 2); rows are centred, since float32 is short of digits."""
    torch = torch_module()
    centre = v.detach().mean(0)
    u, v = u - centre, v - centre
    squared = (u * u).sum(1)[:, None] + (v * v).sum(1) - 2 * (u @ v.T)
    return torch.exp(-0.5 * squared.clamp_min(0))
