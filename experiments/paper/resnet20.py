"""The CIFAR-10 ResNet20 of the data folder, and the attack on it: features, logits, perturbed images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

STATE = "cifar_resnet/resnet20_state.npz"
_BATCH = 500
_BLOCKS = 3
# The means and deviations of the channels with which the network was trained.
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class ResNet20:
    """A residual network from its stored arrays; batch normalisation as after training.

    Parameters
    ----------
    state : mapping of str to array
        Weights and running statistics by their names.
    device : str
        Where torch computes.
    """

    def __init__(self, state: Any, device: str = "cpu") -> None:
        import torch

        self.torch, self.device = torch, device
        self._state = {name: torch.as_tensor(np.asarray(state[name])).to(device) for name in state}
        self._mean, self._deviation = (
            torch.tensor(values, dtype=torch.float32, device=device)[:, None, None]
            for values in (_MEAN, _DEVIATION)
        )

    @classmethod
    def stored(cls, data: Path, device: str = "cpu") -> ResNet20:
        """Read the network from the data folder."""
        with np.load(data / STATE, allow_pickle=False) as file:
            return cls({name: file[name] for name in file.files}, device)

    def outputs(self, images: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the features and the logits of images (rows, height, width, colour) from 0 to 1."""
        features, logits = [], []
        with self.torch.inference_mode(), self._exactly():
            for start in range(0, len(images), _BATCH):
                found = self._features(self._tensor(images[start : start + _BATCH]))
                features.append(found.cpu().numpy())
                logits.append(self._logits(found).cpu().numpy())
        return np.concatenate(features), np.concatenate(logits)

    def attacked(
        self, images: NDArray[Any], labels: NDArray[Any], size: float, steps: int = 7
    ) -> NDArray[np.float32]:
        """Return images perturbed by projected gradient ascent of the loss, by at most `size` per value.

        Every step changes every value by a quarter of `size`; there is no random start.
        """
        torch, found = self.torch, []
        for start in range(0, len(images), _BATCH):
            clean = self._tensor(images[start : start + _BATCH])
            truth = torch.as_tensor(labels[start : start + _BATCH].astype(np.int64)).to(self.device)
            moved = clean.clone()
            for _ in range(steps):
                moved.requires_grad_(True)
                with self._exactly():
                    loss = torch.nn.functional.cross_entropy(self._logits(self._features(moved)), truth)
                    [slope] = torch.autograd.grad(loss, moved)
                moved = moved.detach() + size / 4 * slope.sign()
                moved = torch.minimum(torch.maximum(moved, clean - size), clean + size).clamp(0.0, 1.0)
            found.append(moved.permute(0, 2, 3, 1).cpu().numpy())
        return np.concatenate(found)

    def logits(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the logits that belong to features."""
        found: NDArray[np.float32] = self._logits(self._tensor_of(features)).cpu().numpy()
        return found

    def _exactly(self) -> Any:
        """Have a GPU compute with all digits, and the same every time: an attack follows signs."""
        return self.torch.backends.cudnn.flags(
            enabled=True, benchmark=False, deterministic=True, allow_tf32=False
        )

    def _tensor(self, images: NDArray[Any]) -> Any:
        return self._tensor_of(np.moveaxis(images, 3, 1))

    def _tensor_of(self, array: NDArray[Any]) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)).to(self.device)

    def _features(self, pixels: Any) -> Any:
        z = self._convolved((pixels - self._mean) / self._deviation, "conv1", "bn1").relu()
        for layer in (1, 2, 3):
            for block in range(_BLOCKS):
                z = self._block(z, f"layer{layer}.{block}", 2 if layer > 1 and block == 0 else 1)
        return z.mean(dim=(2, 3))

    def _block(self, z: Any, name: str, stride: int) -> Any:
        inner = self._convolved(z, f"{name}.conv1", f"{name}.bn1", stride).relu()
        inner = self._convolved(inner, f"{name}.conv2", f"{name}.bn2")
        if stride > 1:  # the shortcut has no weights: every second pixel, and new channels of zeros
            more = (inner.shape[1] - z.shape[1]) // 2
            z = self.torch.nn.functional.pad(z[:, :, ::stride, ::stride], (0, 0, 0, 0, more, more))
        return (inner + z).relu()

    def _convolved(self, z: Any, convolution: str, normalisation: str, stride: int = 1) -> Any:
        functional, state = self.torch.nn.functional, self._state
        z = functional.conv2d(z, state[f"{convolution}.weight"], stride=stride, padding=1)
        parts = (
            state[f"{normalisation}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        )
        return functional.batch_norm(z, *parts)

    def _logits(self, features: Any) -> Any:
        return features @ self._state["linear.weight"].T + self._state["linear.bias"]
