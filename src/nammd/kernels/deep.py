"""Deep kernels: a network decides what counts as similar.

    k(x, y) = [(1 - e) G(f(x), f(y)) + e] G(x, y)

with Gaussians G, a network f and a small e (Liu et al., "Learning deep kernels for non-parametric
two-sample tests", ICML 2020). The product with a Gaussian of the rows themselves keeps the kernel
characteristic whatever the network does. The features of a sample are computed once; after that a
tile is two matrix products and two exponentials.

torch is imported when a network is used, not before.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from nammd.data.arrays import Array, as_columns, is_foreign_array, like, namespace, to_numpy
from nammd.errors.addresses import shown
from nammd.errors.checks import between, positive
from nammd.errors.seal import ROOM, require_seal, sealed
from nammd.errors.seal_key import current_key
from nammd.errors.writing import write_bytes
from nammd.kernels.bandwidth import MEDIAN_ROWS, median_distance, pooled_rows
from nammd.kernels.base import BoundKernel, Exponential, Kernel, Precision, precision_of
from nammd.kernels.deep_file import NUMBERS, VERSION, restored
from nammd.kernels.exponential import bind_squared, numpy_product
from nammd.kernels.networks import Architecture, architecture_of, few_threads, mlp, torch_module

FEATURE_ROWS = 4096
"""Rows that go through the network at a time."""

_EVERYTHING = slice(None)


@dataclass(frozen=True, eq=False)
class Deep(Kernel):
    """A deep kernel ``[(1 - epsilon) G(f(x), f(y)) + epsilon] G(x, y)`` with a network f.

    G is the Gaussian ``exp(-|u - v|^2 / (2 b^2))``. `nammd.selection.learn_kernel` trains one.

    Parameters
    ----------
    network : torch.nn.Module
        Any network that maps a batch of rows to a batch of features; ``nammd.kernels.networks`` has a
        perceptron and a convolutional one. The kernel keeps a copy, which does not train any more.
    bandwidth : float
        The bandwidth b of the Gaussian of the rows.
    feature_bandwidth : float
        The bandwidth of the Gaussian of the features.
    epsilon : float
        Between 0 and 1: how much of the Gaussian of the rows is left without the network.

    Attributes
    ----------
    bound : float
        The largest value of the kernel, 1.

    Notes
    -----
    The network runs where the data is (on the CPU for NumPy arrays), in evaluation mode, without
    gradients and in the precision of the tiles.

    References
    ----------
    F. Liu, W. Xu, J. Lu, G. Zhang, A. Gretton, D. J. Sutherland. Learning deep kernels for
    non-parametric two-sample tests. ICML 2020.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.kernels.deep import Deep
    >>> from nammd.kernels.networks import mlp
    >>> kernel = Deep(mlp(2, hidden=10, rng=0), bandwidth=1.0, feature_bandwidth=0.5, epsilon=0.1)
    >>> x, y = np.random.default_rng(0).normal(size=(2, 100, 2))
    >>> kernel(x, y).shape
    (100, 100)
    >>> bool(nammd.distance(x, y, kernel=kernel).value < 0.02)
    True
    """

    network: Any
    bandwidth: float
    feature_bandwidth: float
    epsilon: float = 0.1
    bound = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.network, torch_module().nn.Module):
            raise TypeError(f"network must be a torch.nn.Module, not {type(self.network).__name__}")
        network = copy.deepcopy(self.network).cpu().eval().requires_grad_(False)
        object.__setattr__(self, "network", network)
        object.__setattr__(self, "_architecture", architecture_of(network))
        for name in NUMBERS[:2]:
            object.__setattr__(self, name, positive(getattr(self, name), name))
        object.__setattr__(self, "epsilon", between(self.epsilon, "epsilon"))

    @classmethod
    def median(
        cls,
        x: Any,
        y: Any = None,
        *,
        network: Any = None,
        epsilon: float = 0.1,
        max_rows: int = MEDIAN_ROWS,
        rng: Any = 0,
    ) -> Deep:
        """Take both bandwidths from data: the median distances of pooled rows and of their features.

        Parameters
        ----------
        x, y : array or table
            One or two samples.
        network : torch.nn.Module, optional
            By default a fresh perceptron, ``nammd.kernels.networks.mlp``.
        epsilon : float
            As for `Deep`.
        max_rows : int
            As for `Gaussian.median`.
        rng : int, numpy.random.Generator or None
            Generator for that draw and for the weights of a fresh network.

        Returns
        -------
        Deep

        Examples
        --------
        >>> import numpy as np
        >>> from nammd.kernels.deep import Deep
        >>> kernel = Deep.median(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0]]))
        >>> kernel.bandwidth, kernel.epsilon
        (2.0, 0.1)
        """
        generator = np.random.default_rng(rng)
        rows = pooled_rows(x, y, max_rows=max_rows, rng=generator)
        network = mlp(rows.shape[1], rng=generator) if network is None else network
        start = cls(network, median_distance(rows, "euclidean"), 1.0, epsilon)
        return cls(
            network, start.bandwidth, median_distance(start.features(rows, "float64"), "euclidean"), epsilon
        )

    def features(self, x: Array, precision: Precision | None = None) -> Array:
        """Return the network's features of every row, in the namespace and on the device of `x`.

        Parameters
        ----------
        x : array of shape (m, d)
            The rows.
        precision : {"float32", "float64"}, optional
            The precision to compute in, by default that of `x`.

        Returns
        -------
        array of shape (m, features)
        """
        x = as_columns(x)
        if not isinstance(x, np.ndarray) and not is_foreign_array(x):
            x = np.asarray(x)
        precision = precision or precision_of(x, x)
        torch = torch_module()
        self._require_columns(int(x.shape[1]))
        on_torch = isinstance(x, torch.Tensor)
        device = x.device if on_torch else "cpu"
        dtype = getattr(torch, precision)
        # A copy: the kernel's own network stays as it is, whoever else is using it.
        network = copy.deepcopy(self.network).to(device=device, dtype=dtype)
        rows: Any = x.detach() if on_torch else (x if isinstance(x, np.ndarray) else to_numpy(x))
        parts = []
        with torch.no_grad(), few_threads(rows.shape[0]):
            for start in range(0, rows.shape[0], FEATURE_ROWS):
                batch = rows[start : start + FEATURE_ROWS]
                # NumPy rows are copied, since torch cannot hold read-only or reversed memory.
                batch = batch.to(dtype) if on_torch else torch.from_numpy(np.array(batch, precision))
                parts.append(_checked(network(batch), batch.shape[0]).to(dtype))
        features = torch.cat(parts)
        if not bool(torch.isfinite(features).all()):
            raise ValueError("the network of the deep kernel returned NaN or infinity for some rows")
        if on_torch:
            return features
        values = features.numpy()
        return values if isinstance(x, np.ndarray) else like(values, x, getattr(namespace(x), precision))

    def __call__(self, x: Array, y: Array, /) -> Array:
        """Return the ``(len(x), len(y))`` array of kernel values."""
        return self.bind(as_columns(x), as_columns(y)).tile(_EVERYTHING, _EVERYTHING, None)

    def bind(
        self, x: Array, y: Array, precision: Precision | None = None, weight: float = 1.0
    ) -> BoundKernel:
        """Compute the features of both samples once, then serve tiles by two matrix products."""
        precision = precision or precision_of(x, y)
        features_x = self.features(x, precision)
        features_y = features_x if y is x else self.features(y, precision)

        def factors(precision: Precision) -> tuple[BoundKernel, BoundKernel]:
            return (
                bind_squared(x, y, _divide(self.bandwidth), precision, weight),
                bind_squared(
                    features_x, features_y, _divide(self.feature_bandwidth), precision, 1 - self.epsilon
                ),
            )

        rows_part, features_part = factors(precision)
        if rows_part.precision != features_part.precision:  # one of them needs float64
            rows_part, features_part = factors("float64")
        if namespace(x, y) is np:
            return BoundKernel(numpy_product(rows_part, features_part, self.epsilon), rows_part.precision)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            similar = features_part.tile(rows, columns, None) + self.epsilon
            return similar * rows_part.tile(rows, columns, None)

        return BoundKernel(tile, rows_part.precision)

    def exponentials(self) -> tuple[Exponential, ...]:
        """Return the two terms: the rows alone, and the rows beside their features."""

        def beside(rows: Array) -> Array:
            features = self.features(rows, "float64") / self.feature_bandwidth
            return namespace(rows).concat([features, rows / self.bandwidth], axis=1)

        alone = Exponential(self.epsilon, 2, _divide(self.bandwidth))
        return alone, Exponential(1 - self.epsilon, 2, beside)

    def save(self, path: str | Path) -> Path:
        """Write the kernel to a safetensors file.

        The weights are tensors, the rest is a description in JSON. Nothing in the file is ever run.

        Parameters
        ----------
        path : str or Path
            The file to write; it is replaced if it is there.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from nammd.kernels.deep import Deep
        >>> from nammd.kernels.networks import mlp
        >>> kernel = Deep(mlp(2, rng=0), bandwidth=1.0, feature_bandwidth=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = kernel.save(Path(folder) / "kernel.safetensors")
        ...     Deep.load(file) == kernel
        True
        """
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"cannot write {shown(path)}: there is no folder {shown(path.parent)}")
        metadata = {"nammd-deep-kernel": json.dumps(self._description()), "checksum": ROOM}
        write_bytes(path, sealed(self._weights(metadata), current_key()))
        return path

    @classmethod
    def load(cls, path: str | Path, network: Any = None) -> Deep:
        """Read a kernel that `save` has written.

        Parameters
        ----------
        path : str or Path
            The file.
        network : torch.nn.Module, optional
            A network of the same layers as the one that was saved, where that was not one of
            ``nammd.kernels.networks``. Its weights are replaced by those of the file, in a copy.

        Returns
        -------
        Deep
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"there is no deep kernel file {shown(path)}")
        safetensors = torch_module("safetensors")
        try:
            content = path.read_bytes()
            with safetensors.safe_open(path, framework="pt") as file:
                stored = (file.metadata() or {}).get("nammd-deep-kernel")
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except safetensors.SafetensorError as error:
            raise ValueError(f"{path} is damaged, or not a safetensors file: {error}") from None
        if stored is None:
            raise ValueError(f"{path} is not a deep kernel written by nammd")
        advice = "copy it again, or save the kernel anew"
        require_seal(content, f"the deep kernel {path}", advice, current_key())
        try:
            return restored(cls, json.loads(stored), weights, network)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} is damaged: its description is not JSON ({error})") from None
        except ValueError as error:
            raise ValueError(f"cannot read {path}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as a dictionary ready for JSON, its weights as base64 of safetensors.

        Only for the networks of ``nammd.kernels.networks``: a network of one's own cannot be made
        again from a dictionary.
        """
        description = self._description()
        if description["network"] is None:
            raise TypeError(
                f"the kernel {self!r} has a network of its own and cannot be put into a dictionary; use "
                "kernel.save(path), and Deep.load(path, network=...) with a network of the same layers"
            )
        weights = base64.b64encode(self._weights(None)).decode("ascii")
        return {"kind": "deep", **description, "weights": weights}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Deep:
        """Return the kernel that `to_dict` has written; a ValueError says what is wrong with it."""
        safetensors = torch_module("safetensors.torch")
        try:
            weights = safetensors.load(base64.b64decode(stored["weights"], validate=True))
        except KeyError:
            raise ValueError("the description of the deep kernel is damaged: it has no weights") from None
        except Exception as error:  # base64 and safetensors each have errors of their own
            raise ValueError(f"the weights of the deep kernel are damaged: {error}") from None
        return restored(cls, stored, weights, None)

    def _description(self) -> dict[str, Any]:
        made_by: Architecture | None = self._architecture  # type: ignore[attr-defined]
        return {
            "version": VERSION,
            **{name: getattr(self, name) for name in NUMBERS},
            "network": None if made_by is None else {"name": made_by.name, "arguments": made_by.arguments},
        }

    def _weights(self, metadata: dict[str, str] | None) -> bytes:
        # Copies, because a safetensors file cannot hold tensors that share memory.
        weights = {name: v.detach().clone().contiguous() for name, v in self.network.state_dict().items()}
        content: bytes = torch_module("safetensors.torch").save(weights, metadata)
        return content

    def _require_columns(self, columns: int) -> None:
        made_by: Architecture | None = self._architecture  # type: ignore[attr-defined]
        if made_by is not None and made_by.columns != columns:
            raise ValueError(
                f"the deep kernel has a network for {made_by.columns} columns, but the data has {columns}"
            )

    def _network_name(self) -> str:
        made_by: Architecture | None = self._architecture  # type: ignore[attr-defined]
        return f"{type(self.network).__name__}(...)" if made_by is None else str(made_by)

    def _digest(self) -> bytes:
        digest = sha256(repr([getattr(self, name) for name in NUMBERS]).encode())
        digest.update(self._network_name().encode())
        digest.update(self._weights(None))
        return digest.digest()

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={getattr(self, name)!r}" for name in NUMBERS)
        return f"Deep({self._network_name()}, {numbers})"

    def __str__(self) -> str:
        name = self._network_name().partition("(")[0]
        count = sum(values.numel() for values in self.network.parameters())
        return (
            f"Deep, {name} of {count:,} weights, bandwidth {self.bandwidth:.4g}, "
            f"feature bandwidth {self.feature_bandwidth:.4g}, epsilon {self.epsilon:.4g}"
        )

    def __eq__(self, other: object) -> bool:
        return self._digest() == other._digest() if isinstance(other, Deep) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._digest())


def _divide(bandwidth: float) -> Callable[[Array], Array]:
    return lambda rows: rows / bandwidth


def _checked(features: Any, rows: int) -> Any:
    """Return what a network gave for a batch as a matrix of features."""
    shape = tuple(getattr(features, "shape", ()))
    if not shape or shape[0] != rows:
        raise ValueError(
            f"the network of the deep kernel returned shape {shape} for {rows} rows; it must return one "
            "row of features for each"
        )
    return features.reshape(rows, -1)
