"""Folders of images: pixels between 0 and 1, or features of them.

Features come from a torchvision model, a TorchScript file, or any function.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import to_numpy
from nammd.errors.limits import most_pixels, require_unpacked, too_large
from nammd.reading.formats import IMAGES, files_in, optional
from nammd.reading.sources import ArrayFile

Features = Callable[[Any], Any]

_IMAGES_AT_ONCE = 64
_BYTES_AT_ONCE = 1 << 26

# What a name promises, and nothing that would run another program.
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")

# Modes that are kept as they are, and the value of white; all others become RGB.
_WHITE = {"L": 255.0, "LA": 255.0, "RGB": 255.0, "RGBA": 255.0, "I;16": 65535.0, "I": 65535.0}

# Other names of the same: one bit per pixel, and the byte orders of 16 bits.
_SAME = {"1": "L", "I;16B": "I;16", "I;16L": "I;16", "I;16N": "I;16"}

# The last layer of torchvision's models names classes; what goes into it is the feature.
_LAST_LAYERS = ("fc", "classifier", "heads", "head")


def open_images(folder: Path, features: Features | str | Path | None = None) -> ArrayFile:
    """Open a folder of images, in the order of their names; all take the size of the first."""
    files = files_in(folder, IMAGES)
    model = None if features is None else as_features(features)
    first = _pixels(files[0], None)
    notes = _notes(files, first.shape)
    at_once = max(1, min(_IMAGES_AT_ONCE, _BYTES_AT_ONCE // first.nbytes))

    def rows(chosen: list[Path]) -> NDArray[Any]:
        pixels = np.stack([_like_first(file, first, files[0]) for file in chosen])
        return pixels.reshape(len(chosen), -1) if model is None else model(pixels)

    def in_parts(chosen: list[Path], size: int) -> Iterator[NDArray[Any]]:
        for start in range(0, len(chosen), size):
            yield rows(chosen[start : start + size])

    def require_fit(chosen: list[Path]) -> None:
        if model is None:
            packed = sum(file.stat().st_size for file in chosen)
            require_unpacked(len(chosen) * first.nbytes, packed, f"{folder} with {len(chosen)} images")

    def take(positions: NDArray[np.intp]) -> NDArray[Any]:
        chosen = [files[i] for i in positions]
        require_fit(chosen)
        return np.concatenate(list(in_parts(chosen, at_once)))

    def stream(batch_rows: int) -> Iterator[NDArray[Any]]:
        require_fit(files)
        return in_parts(files, min(batch_rows, at_once))

    return ArrayFile(folder, len(files), None, take, stream, notes)


def _like_first(file: Path, first: NDArray[np.float32], first_file: Path) -> NDArray[np.float32]:
    pixels = _pixels(file, first.shape[1:])
    if len(pixels) != len(first):
        raise ValueError(
            f"{file} has {len(pixels)} channels but {first_file.name} has {len(first)}; convert the "
            "images to the same colours first"
        )
    return pixels


def _pixels(file: Path, size: tuple[int, ...] | None) -> NDArray[np.float32]:
    """Return an image as channels, height, width; brought to a height and width where given."""
    image_module = optional("PIL.Image", "app", "reading images")
    operations = optional("PIL.ImageOps", "app", "reading images")
    try:
        with _opened(file) as opened:
            image = operations.exif_transpose(opened)
            mode = _SAME.get(image.mode, image.mode)
            if mode != image.mode or mode not in _WHITE:
                transparent = image.mode == "P" and "transparency" in image.info
                mode = mode if mode in _WHITE else "RGBA" if transparent else "RGB"
                image = image.convert(mode)
            if size is not None and image.size != (size[1], size[0]):
                image = image.resize((size[1], size[0]), image_module.Resampling.BILINEAR)
            values = np.array(image, dtype=np.float32)
            values /= np.float32(_WHITE[mode])
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        if hasattr(error, "advice"):
            raise
        detail = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{file} cannot be read as an image: {detail}") from None
    return values[None] if values.ndim == 2 else np.ascontiguousarray(np.moveaxis(values, 2, 0))


def _opened(file: Path) -> Any:
    """Open an image that is not too large, by its header: before a pixel of it is unpacked."""
    image_module, most = optional("PIL.Image", "app", "reading images"), most_pixels()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", image_module.DecompressionBombWarning)  # told below, or allowed
        image = image_module.open(file, formats=_FORMATS)
    width, height = image.size
    if width * height > most:
        image.close()
        raise too_large(f"{file} has {width} x {height} pixels, and at most {most} are unpacked")
    return image


def _notes(files: list[Path], shape: tuple[int, ...]) -> tuple[str, ...]:
    """Say how many images are resized; only their headers are read for that."""
    image_module = optional("PIL.Image", "app", "reading images")
    sizes: Counter[tuple[int, int]] = Counter()
    for file in files:
        try:
            with _opened(file) as image:
                turned = image.getexif().get(0x0112, 1) >= 5  # lying on its side
                sizes[image.size[::-1] if turned else image.size] += 1
        except (OSError, SyntaxError, ValueError, image_module.DecompressionBombError):
            continue  # reported with its name if it is read
    height, width = shape[1:]
    other = sizes.total() - sizes[(width, height)]
    if not other:
        return ()
    return (f"{other} of {len(files)} images are brought to the {width} x {height} pixels of the first",)


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
