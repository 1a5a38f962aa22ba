"""Features of images: from a torchvision model, a TorchScript file, or any function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import to_numpy
from nammd.reading.formats import optional

Features = Callable[[Any], Any]

# The last layer of torchvision's models names classes; what goes into it is the feature.
_LAST_LAYERS = ("fc", "classifier", "heads", "head")


def as_features(features: Features | str | Path) -> Callable[[NDArray[np.float32]], NDArray[Any]]:
    """Return a function from pixels (images, channels, height, width) to one row of numbers each.

    Parameters
    ----------
    features : callable, str or path
        A function on a batch of torch tensors, the file of a TorchScript module, or the name of a
        torchvision model.
    """
    if isinstance(features, (str, Path)):
        is_file = Path(features).suffix or Path(features).exists()
        model = _script(Path(features)) if is_file else _torchvision(str(features))
    elif callable(features):
        model = features
    else:
        raise TypeError(
            "features must be the name of a torchvision model, the file of a TorchScript module or a "
            f"function, not {features!r}"
        )
    torch = optional("torch", "torch", "features of images")

    def rows(pixels: NDArray[np.float32]) -> NDArray[Any]:
        with torch.inference_mode():
            result = to_numpy(model(torch.from_numpy(pixels)))
        if not result.ndim or len(result) != len(pixels):
            raise ValueError(
                f"features gave an array of shape {result.shape} for {len(pixels)} images; it must give "
                "one row for each"
            )
        return result.reshape(len(pixels), -1)

    return rows


def _script(path: Path) -> Features:
    torch = optional("torch", "torch", "features of images")
    if not path.exists():
        raise FileNotFoundError(f"{path}, the module for features, is not there")
    try:
        # TorchScript only: other torch files are pickles, which run whatever they contain.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # in favour of those files
            module = torch.jit.load(str(path), map_location="cpu")
    except RuntimeError:
        raise ValueError(
            f"{path} is not a TorchScript module; save it with torch.jit.script(model).save(path)"
        ) from None
    module.eval()
    return module  # type: ignore[no-any-return]


def _torchvision(name: str) -> Features:
    torch = optional("torch", "torch", "features of images")
    try:
        models = optional("torchvision.models", "", f"features={name!r}")
    except RuntimeError as error:  # its compiled part was made for another torch
        raise ImportError(
            f"torchvision does not fit torch {torch.__version__} ({error}); update both"
        ) from None
    try:
        weights = models.get_model_weights(name).DEFAULT
    except ValueError:
        raise ValueError(
            f"features={name!r} is no model of torchvision; its models are, for example, 'resnet18' and "
            "'efficientnet_b0', and a file of your own ends in .pt"
        ) from None
    try:
        model = models.get_model(name, weights=weights)
    except OSError as error:
        raise ValueError(
            f"the weights of torchvision's {name!r} cannot be downloaded ({error}); download them on "
            "another machine into torch's cache, or give the file of a TorchScript module"
        ) from None
    for layer in _LAST_LAYERS:
        if hasattr(model, layer):
            setattr(model, layer, torch.nn.Identity())
            break
    model.eval()
    prepare = weights.transforms()

    def features(pixels: Any) -> Any:
        # These models know colour images without transparency.
        colour = pixels[:, :3] if pixels.shape[1] >= 3 else pixels[:, :1].expand(-1, 3, -1, -1)
        return model(prepare(colour))

    return features
