"""Networks of one shape side by side, each with weights of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nammd.kernels.networks import torch_module


class StackedNetwork:
    """Networks that `nammd.kernels.networks` made, as one that maps (runs, rows, columns) to features.

    Linear layers multiply stacks of matrices; convolutions and batch normalisation treat the runs as groups
    of channels, which is the same as each by itself.
    """

    def __init__(self, networks: Sequence[Any], device: Any) -> None:
        torch = torch_module()
        self.runs, self.training = len(networks), True
        self.parameters: list[Any] = []
        self.remembered: list[Any] = []
        self._layers: list[tuple[str, Any]] = []
        for layers in zip(*networks, strict=True):
            first = layers[0]
            name = type(first).__name__
            if name in ("Linear", "Conv2d", "BatchNorm2d"):
                made = [
                    torch.stack([getattr(layer, part).detach() for layer in layers]).to(device)
                    for part in ("weight", "bias")
                ]
                for tensor in made:
                    tensor.requires_grad_(True)
                self.parameters += made
                if name == "BatchNorm2d":
                    kept = [
                        torch.stack([getattr(layer, part) for layer in layers]).to(device)
                        for part in ("running_mean", "running_var")
                    ]
                    self.remembered += kept
                    made += kept
                self._layers.append((name, (first, made)))
            else:
                self._layers.append((name, (first, [])))

    def __call__(self, z: Any) -> Any:
        """Return the features of every row."""
        torch = torch_module()
        functional = torch_module("torch.nn.functional")
        runs, rows = z.shape[0], z.shape[1]
        for name, (layer, made) in self._layers:
            if name == "Linear":
                z = torch.baddbmm(made[1][:, None, :], z, made[0].transpose(1, 2))
            elif name == "Unflatten":
                shape = tuple(layer.unflattened_size)
                z = z.reshape(runs, rows, *shape).transpose(0, 1)
                z = z.reshape(rows, runs * shape[0], *shape[1:])
            elif name == "Conv2d":
                weight = made[0].reshape(-1, *made[0].shape[2:])
                z = functional.conv2d(
                    z, weight, made[1].reshape(-1), stride=layer.stride, padding=layer.padding, groups=runs
                )
            elif name == "BatchNorm2d":
                weight, bias, mean, variance = (part.reshape(-1) for part in made)
                z = functional.batch_norm(
                    z, mean, variance, weight, bias, self.training, layer.momentum, layer.eps
                )
            elif name == "Flatten":
                z = z.reshape(rows, runs, -1).transpose(0, 1)
            else:  # activations have nothing of their own
                z = layer(z)
        return z
