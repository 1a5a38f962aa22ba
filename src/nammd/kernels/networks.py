"""Networks to build deep kernels on: a perceptron for columns, a convolutional one for images.

They are plain sequences of torch layers, with a note of how they were made. That note is what a file
keeps besides the weights, so that they can be read again without running anything from the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

FEW_ROWS = 1000
"""Up to here torch is faster in one thread."""


@dataclass(frozen=True)
class Architecture:
    """How a network was made: the name of the function and its arguments."""

    name: str
    arguments: dict[str, Any]
    columns: int

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.arguments.items())})"


def torch_module(name: str = "torch") -> Any:
    """Import torch, a module of it, or what comes with it; or say how to get it."""
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            f"deep and learned kernels need {name.partition('.')[0]}; install it with: "
            "pip install 'nammd[torch]'"
        ) from None


@contextmanager
def few_threads(rows: int) -> Iterator[None]:
    """Let torch work on the CPU in one thread while there are few rows, and as before afterwards.

    The products of some hundred rows are too short for two threads: waiting for each other costs several
    times as much as the work, and twenty times where the machine is busy.
    """
    torch = torch_module()
    before = torch.get_num_threads()
    if rows > FEW_ROWS or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def mlp(
    columns: int, hidden: int = 50, features: int | None = None, *, layers: int = 3, rng: Any = None
) -> Any:
    """Make a perceptron with Softplus layers, as in Liu et al. (2020).

    Parameters
    ----------
    columns : int
        The number of columns of the data. They should be of similar scale.
    hidden : int
        The width of the hidden layers.
    features : int, optional
        The number of outputs; by default as many as hidden units.
    layers : int
        The number of hidden layers.
    rng : int, numpy.random.Generator or None
        Generator for the weights; torch's own generators are left alone.

    Returns
    -------
    torch.nn.Module

    Examples
    --------
    >>> from nammd.kernels.networks import mlp
    >>> network = mlp(2, hidden=10, features=3, rng=0)
    >>> sum(weights.numel() for weights in network.parameters())
    283
    """
    arguments = {
        "columns": columns,
        "hidden": hidden,
        "features": hidden if features is None else features,
        "layers": layers,
    }
    return _initialised(outline("mlp", arguments), rng)


def convolutional(
    shape: Sequence[int] = (1, 32, 32),
    features: int = 100,
    channels: Sequence[int] = (16, 32, 64, 128),
    *,
    rng: Any = None,
) -> Any:
    """Make a small convolutional network for images, as in Liu et al. (2020).

    Each block halves the image: a 3x3 convolution with stride 2, a leaky ReLU and batch normalisation.

    Parameters
    ----------
    shape : (channels, height, width)
        The shape of an image. The network takes rows, images that were flattened in this order.
    features : int
        The number of outputs.
    channels : sequence of int
        The channels of the blocks.
    rng : int, numpy.random.Generator or None
        Generator for the weights; torch's own generators are left alone.

    Returns
    -------
    torch.nn.Module

    Examples
    --------
    >>> import torch
    >>> from nammd.kernels.networks import convolutional
    >>> network = convolutional((1, 8, 8), features=5, channels=(4, 8), rng=0)
    >>> network(torch.zeros(3, 64)).shape
    torch.Size([3, 5])
    """
    arguments = {"shape": list(shape), "features": features, "channels": list(channels)}
    return _initialised(outline("convolutional", arguments), rng)


def outline(name: str, arguments: dict[str, Any]) -> Any:
    """Return a network of torch's "meta" tensors: shapes, but no memory and no random numbers."""
    if name not in _OUTLINES:
        raise ValueError(f"there is no network called {name!r}; known are {', '.join(_OUTLINES)}")
    _require_counts(arguments)
    layers, columns = _OUTLINES[name](torch_module("torch.nn"), **arguments)
    network = torch_module("torch.nn").Sequential(*layers)
    network.architecture = Architecture(name, arguments, columns)
    return network


def architecture_of(network: Any) -> Architecture | None:
    """Return how a network was made, or None where it is the user's own or has been changed since."""
    known = getattr(network, "architecture", None)
    if not isinstance(known, Architecture):
        return None
    expected = outline(known.name, known.arguments)
    same = [(str(layer), _shapes(layer)) for layer in expected] == [
        (str(layer), _shapes(layer)) for layer in network
    ]
    return known if same else None


def _shapes(layer: Any) -> list[tuple[str, tuple[int, ...]]]:
    return [(key, tuple(values.shape)) for key, values in layer.state_dict().items()]


def _mlp_layers(nn: Any, *, columns: int, hidden: int, features: int, layers: int) -> tuple[list[Any], int]:
    widths = [columns, *[hidden] * layers]
    made: list[Any] = []
    for before, after in pairwise(widths):
        made += [nn.Linear(before, after, device="meta"), nn.Softplus()]
    return [*made, nn.Linear(hidden, features, device="meta")], columns


def _convolutional_layers(
    nn: Any, *, shape: list[int], features: int, channels: list[int]
) -> tuple[list[Any], int]:
    if len(shape) != 3 or not channels:
        raise ValueError("shape must be (channels, height, width), and channels at least one number")
    made: list[Any] = [nn.Unflatten(1, tuple(shape))]
    height, width = shape[1:]
    for before, after in pairwise([shape[0], *channels]):
        made += [
            nn.Conv2d(before, after, 3, stride=2, padding=1, device="meta"),
            nn.LeakyReLU(0.2),
            nn.BatchNorm2d(after, device="meta"),
        ]
        height, width = (height + 1) // 2, (width + 1) // 2
    made += [nn.Flatten(), nn.Linear(channels[-1] * height * width, features, device="meta")]
    return made, math.prod(shape)


_OUTLINES: dict[str, Callable[..., tuple[list[Any], int]]] = {
    "mlp": _mlp_layers,
    "convolutional": _convolutional_layers,
}


def _initialised(network: Any, rng: Any) -> Any:
    """Give an outline its memory and its first weights, drawn as torch does by default."""
    torch = torch_module()
    network = network.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(int(np.random.default_rng(rng).integers(2**63)))
    with torch.no_grad():
        for layer in network:
            if hasattr(layer, "running_mean"):
                layer.reset_parameters()  # batch normalisation: ones and zeros
            elif hasattr(layer, "weight"):
                limit = 1 / math.sqrt(layer.weight[0].numel())
                for values in (layer.weight, layer.bias):
                    values.uniform_(-limit, limit, generator=generator)
    return network


def _require_counts(arguments: dict[str, Any]) -> None:
    for name, value in arguments.items():
        for count in value if isinstance(value, list) else [value]:
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
                raise ValueError(f"{name} must be made of whole numbers of at least 1, not {value!r}")
