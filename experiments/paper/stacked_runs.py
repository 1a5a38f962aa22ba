"""Kernels of several runs learned side by side: every parameter has a dimension for the run.

The runs do not touch: the sum of their criteria is maximised by Adam, which moves each number by itself, so a
stack of ten learns what ten would. It takes little longer than one, since a step on some hundred rows is too
short to keep a device busy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import nammd
from experiments.paper.stacked_networks import StackedNetwork
from nammd.kernels.networks import torch_module
from nammd.selecting.criterion import FLOOR, moments_of_grams

_CHECKED = 100
"""Every so many epochs the parameters are kept, unless a run has gone astray."""

_HELD_EVERY = 10
"""Every so many epochs the held-out rows are looked at."""

Rows = Any
"""Rows of all runs, of shape (runs, rows, columns)."""


@dataclass
class StackedKernel:
    """Kernels of one kind, one for each run.

    Attributes
    ----------
    kind : str
        Gaussian, Laplace, Mahalanobis or Deep.
    log_bandwidth : tensor of shape (runs,)
        The logarithm of the bandwidth.
    change : tensor of shape (runs, columns, columns), optional
        For Mahalanobis kernels, what rows are multiplied with.
    network : StackedNetwork, optional
        For deep kernels, with `log_feature` and `logit` as scales of their own.
    """

    kind: str
    log_bandwidth: Any
    change: Any = None
    network: StackedNetwork | None = None
    extra: list[Any] = field(default_factory=list)
    """Of deep kernels: the logarithm of the bandwidth of the features, and the logit of epsilon."""

    @property
    def scales(self) -> list[Any]:
        """The parameters that are logarithms of scales; those of a Mahalanobis kernel stay as they are."""
        return [] if self.kind == "Mahalanobis" else [self.log_bandwidth, *self.extra]

    @property
    def weights(self) -> list[Any]:
        """All other parameters."""
        if self.change is not None:
            return [self.change]
        return [] if self.network is None else self.network.parameters

    def embed(self, z: Rows) -> tuple[Any, ...]:
        """Return what belongs to each row."""
        torch = torch_module()
        if self.kind == "Laplace":
            return (z,)
        scaled = z * torch.exp(-self.log_bandwidth)[:, None, None].to(z.dtype)
        if self.change is not None:
            return (torch.bmm(scaled, self.change.to(z.dtype)),)
        if self.network is None:
            return (scaled,)
        return scaled, self.network(z) * torch.exp(-self.extra[0])[:, None, None]

    def value(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> Any:
        """Return the kernel values between rows, for stacks of any number that is a multiple of the runs."""
        torch = torch_module()
        repeats = a[0].shape[0] // self.log_bandwidth.shape[0]

        def per(values: Any) -> Any:
            return values.repeat_interleave(repeats)[:, None, None].to(a[0].dtype)

        if self.kind == "Laplace":
            return torch.exp(-cityblock(a[0], b[0]) * torch.exp(-per(self.log_bandwidth)))
        near = gaussian(a[0], b[0])
        if self.network is None:
            return near
        epsilon = torch.sigmoid(per(self.extra[1]))
        return ((1 - epsilon) * gaussian(a[1], b[1]) + epsilon) * near

    def grams(self, x: Rows, y: Rows) -> tuple[Any, Any, Any]:
        """Return the Gram matrices of x, of y and between them; both go through a network together."""
        torch = torch_module()
        both = self.embed(torch.cat([x, y], 1))
        cut = x.shape[1]
        a, b = tuple(t[:, :cut] for t in both), tuple(t[:, cut:] for t in both)
        return self.value(a, a), self.value(b, b), self.value(a, b)

    def tensors(self) -> list[Any]:
        """Return everything that learning changes."""
        return [*self.scales, *self.weights, *(self.network.remembered if self.network else [])]


def gaussian(u: Any, v: Any) -> Any:
    """Return exp(-|u - v|^2 / 2) for stacks of rows, which are centred first."""
    torch = torch_module()
    centre = v.detach().mean(1, keepdim=True)
    u, v = u - centre, v - centre
    squared = (u * u).sum(2)[:, :, None] + (v * v).sum(2)[:, None, :] - 2 * torch.bmm(u, v.transpose(1, 2))
    return torch.exp(-0.5 * squared.clamp_min(0))


def cityblock(u: Any, v: Any) -> Any:
    """Return the city-block distances within stacks of rows."""
    torch = torch_module()
    if u.shape[2] > 32:
        return torch.cdist(u, v, p=1.0)
    total = torch.zeros((u.shape[0], u.shape[1], v.shape[1]), dtype=u.dtype, device=u.device)
    for column in range(u.shape[2]):
        total += (u[:, :, None, column] - v[:, None, :, column]).abs()
    return total


def start(
    kind: str, x: Rows, y: Rows, criterion: Callable[..., Any], networks: Sequence[Any] = (), **scales: float
) -> StackedKernel:
    """Return kernels at the median distance, times the power of two that the criterion likes best.

    Parameters
    ----------
    kind : str
        Gaussian, Laplace, Mahalanobis or Deep.
    x, y : tensors of shape (runs, rows, columns)
        What the kernels will be learned from.
    criterion : callable
        Takes stacks of the Gram matrices of x, of y and between them, and returns a value for each run.
    networks : sequence of torch.nn.Module
        A network for each run.
    **scales : float
        For deep kernels: `feature_bandwidth` and `epsilon`.
    """
    torch = torch_module()
    median = nammd.Laplace.median if kind == "Laplace" else nammd.Gaussian.median
    first = [median(*(z[run].cpu().numpy() for z in (x, y))).bandwidth for run in range(x.shape[0])]
    options = {"dtype": torch.float32, "device": x.device}
    made = StackedKernel(kind, torch.tensor(np.log(first), requires_grad=True, **options))
    if kind == "Mahalanobis":
        made.change = torch.eye(x.shape[2], **options).repeat(x.shape[0], 1, 1).requires_grad_(True)
    if kind == "Deep":
        made.network = StackedNetwork(networks, x.device)
        logit = math.log(scales["epsilon"] / (1 - scales["epsilon"]))
        made.extra = [
            torch.full((x.shape[0],), value, requires_grad=True, **options)
            for value in (math.log(scales["feature_bandwidth"]), logit)
        ]
    with torch.no_grad():
        given, values = made.log_bandwidth.clone(), []
        powers = range(-5, 3)
        for power in powers:
            made.log_bandwidth.copy_(given + power * math.log(2))
            values.append(torch.nan_to_num(criterion(*made.grams(x, y)), nan=-math.inf))
        best = torch.stack(values).argmax(0)
        made.log_bandwidth.copy_(given + (best + powers[0]) * math.log(2))
    return made


def learn(
    kernel: StackedKernel,
    criterion: Callable[..., Any],
    x: Rows,
    y: Rows,
    *,
    epochs: int,
    lr: float,
    scales_lr: float = 1.0,
    held: tuple[Rows, Rows] | None = None,
) -> None:
    """Maximise the criterion by Adam on all rows; a run that leaves the numbers goes back to a good state.

    With `held` rows, each run ends in the state in which the criterion was largest on them.
    """
    torch = torch_module()
    groups = [(kernel.scales, lr * scales_lr), (kernel.weights, lr)]
    on_gpu = x.device.type == "cuda"
    optimizer = torch.optim.Adam([{"params": p, "lr": s} for p, s in groups if p], capturable=on_gpu)
    distances = _distances(kernel, x, y)
    value = torch.zeros(x.shape[0], device=x.device, dtype=torch.float64)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        found = criterion(*(kernel.grams(x, y) if distances is None else _from(kernel, distances)))
        (-found.sum()).backward()
        optimizer.step()
        value.copy_(found.detach())

    good = [t.detach().clone() for t in kernel.tensors()]
    advance = _recorded(step, optimizer, kernel) if on_gpu else step
    best = None if held is None else _measured(kernel, criterion, held)
    for epoch in range(1, epochs + 1):
        advance()
        if held is not None and best is not None:
            if epoch % _HELD_EVERY == 0 or epoch == epochs:
                found = _measured(kernel, criterion, held)
                _keep(kernel, good, value, found > best)
                best = torch.maximum(best, found)
        elif epoch % _CHECKED == 0 or epoch == epochs:
            _keep(kernel, good, value)
    with torch.no_grad():
        for mine, theirs in zip(kernel.tensors(), good, strict=True):
            mine.copy_(theirs)
    if kernel.network is not None:
        kernel.network.training = False


def _measured(kernel: StackedKernel, criterion: Callable[..., Any], held: tuple[Rows, Rows]) -> Any:
    """Return the criterion of every run on held-out rows."""
    torch = torch_module()
    if kernel.network is not None:
        kernel.network.training = False
    with torch.no_grad():
        found = torch.nan_to_num(criterion(*kernel.grams(*held)), nan=-math.inf)
    if kernel.network is not None:
        kernel.network.training = True
    return found


def _keep(kernel: StackedKernel, good: list[Any], value: Any, better: Any = None) -> None:
    """Keep the parameters of the runs whose numbers are finite, and which are better where that is told."""
    torch = torch_module()
    with torch.no_grad():
        runs = value.shape[0]
        fine = torch.isfinite(value) if better is None else torch.isfinite(value) & better
        for mine in kernel.tensors():
            fine &= torch.isfinite(mine.reshape(runs, -1)).all(1)
        for mine, kept in zip(kernel.tensors(), good, strict=True):
            both = torch.where(fine[:, None], mine.reshape(runs, -1), kept.reshape(runs, -1))
            kept.copy_(both.reshape(kept.shape))


def _recorded(step: Callable[[], None], optimizer: Any, kernel: StackedKernel) -> Callable[[], None]:
    """Record a step as a graph of the device, which then runs without the host's help."""
    torch = torch_module()
    before = [t.detach().clone() for t in kernel.tensors()]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    # The steps so far were for the recording: begin again.
    with torch.no_grad():
        for mine, theirs in zip(kernel.tensors(), before, strict=True):
            mine.copy_(theirs)
        for state in optimizer.state.values():
            for tensor in state.values():
                tensor.zero_()
    replay: Callable[[], None] = graph.replay
    return replay


def _distances(kernel: StackedKernel, x: Rows, y: Rows) -> tuple[Any, Any, Any] | None:
    """Return the distances where nothing but the bandwidth is learned."""
    torch = torch_module()
    if kernel.kind == "Laplace":
        return cityblock(x, x), cityblock(y, y), cityblock(x, y)
    if kernel.kind != "Gaussian":
        return None
    with torch.no_grad():
        pairs = ((x, x), (y, y), (x, y))
        found = [_squared(a.double(), b.double()).to(x.dtype) for a, b in pairs]
    return found[0], found[1], found[2]


def _squared(u: Any, v: Any) -> Any:
    torch = torch_module()
    products = torch.bmm(u, v.transpose(1, 2))
    return ((u * u).sum(2)[:, :, None] + (v * v).sum(2)[:, None, :] - 2 * products).clamp_min(0)


def _from(kernel: StackedKernel, distances: tuple[Any, Any, Any]) -> list[Any]:
    torch = torch_module()
    width = torch.exp(kernel.log_bandwidth)[:, None, None]
    factor = -1 / width if kernel.kind == "Laplace" else -0.5 / width**2
    return [torch.exp(factor * block) for block in distances]


def power_criterion(kxx: Any, kyy: Any, kxy: Any) -> Any:
    """Return NAMMD / sigma for every run: what the paper maximises, and what `nammd.learn_kernel` does."""
    torch = torch_module()

    def one(a: Any, b: Any, c: Any) -> Any:
        moments: Any = moments_of_grams(a, b, c)
        linear, total = moments.linear_variance(1.0), moments.variance(1.0)
        variance = linear.clamp_min(0) + (total - linear).clamp_min(0)
        size = 2 * moments.x.size * moments.y.size / (moments.x.size + moments.y.size)
        return moments.mmd2 / torch.sqrt(variance * size + FLOOR)

    return torch.vmap(one)(kxx, kyy, kxy)


def deep_criterion(kxx: Any, kyy: Any, kxy: Any) -> Any:
    """Return what MMD-D maximises, for every run."""
    from nammd.methods.deep import criterion, mmd2_and_variance

    torch = torch_module()
    return torch.vmap(lambda a, b, c: criterion(*mmd2_and_variance(a, b, c)))(
        kxx.double(), kyy.double(), kxy.double()
    )
