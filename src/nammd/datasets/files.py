"""Benchmark data read from a folder that the user names: `higgs`, `mnist` and `cifar10`.

Nothing is downloaded. Each data set is looked for in a few places below the folder, the public
originals among them; where none is there, the error says where to get it and where to put it.
Pickles are never read: they can run code.
"""

from __future__ import annotations

import fnmatch
import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.errors.checks import choice, positive, whole

VARIABLE = "NAMMD_DATA"
JET_PHI = (7, 11, 15, 19)
"""The columns of HIGGS with the azimuth of the four jets, counted from 0 without the label."""

_HIGGS_HELP = (
    "Get HIGGS.csv.gz at https://archive.ics.uci.edu/dataset/280/higgs and put it into the folder; "
    "or put there higgs_small/higgs_small.npz with the arrays X (rows, 28) and y (1 for signal)."
)
_MNIST_HELP = (
    "Get t10k-images-idx3-ubyte.gz (or train-images-idx3-ubyte.gz) of MNIST, for example by "
    "torchvision.datasets.MNIST, and put it into the folder or into MNIST/raw below it; "
    "or put there mnist_t10k/mnist_t10k.npz with the array images (rows, 28, 28)."
)
_GENERATED_HELP = (
    "Put images of a generative model of yours there as gan_mnist/gan_samples.npz: arrays (rows, 28, 28) "
    "of 0 to 255, under names that begin with mnist__, for example mnist__wgan."
)
_CIFAR_HELP = (
    "Get the binary version of CIFAR-10 at https://www.cs.toronto.edu/~kriz/cifar.html and unpack it in the "
    "folder, so that there is cifar-10-batches-bin/test_batch.bin; or put there "
    "cifar10_jpeg/cifar10_test_5000.npz with the array images (rows, 32, 32, 3)."
)
_CIFAR_VERSIONS = {
    "cifar10.1": (
        ("cifar10.1_v6_data.npy", "cifar10.1_v4_data.npy"),
        "Get cifar10.1_v6_data.npy at https://github.com/modestyachts/CIFAR-10.1 and put it into the folder.",
    ),
    "adversarial": (
        ("cifar10_X_adversarial.npy",),
        "Put adversarial images of yours there as cifar10_X_adversarial.npy: an array (rows, 32, 32, 3).",
    ),
}


def higgs(
    n: int,
    *,
    folder: str | Path | None = None,
    columns: Sequence[int] = JET_PHI,
    max_rows: int = 200_000,
    alternative: bool = True,
    rng: Any = None,
) -> tuple[FloatArray, FloatArray]:
    """Draw simulated collisions that produce Higgs bosons, and others that do not.

    Parameters
    ----------
    n : int
        The number of rows of each sample.
    folder : str or Path, optional
        Where the data are; by default the folder that the environment variable NAMMD_DATA names. It
        holds ``HIGGS.csv.gz`` or ``HIGGS.csv`` as published, or ``higgs_small/higgs_small.npz`` with the
        arrays ``X`` and ``y``.
    columns : sequence of int
        Which of the 28 features, counted from 0; by default the azimuth of the four jets.
    max_rows : int
        How many lines of the published file to read, from its beginning; it has eleven million.
    alternative : bool
        If False, both samples are of signal, without a common row.
    rng : int, numpy.random.Generator or None
        Generator for the draw, which is without replacement.

    Returns
    -------
    x, y : array of shape (n, number of columns)
        Signal and background.

    References
    ----------
    .. [1] Baldi, Sadowski, Whiteson (2014). Searching for exotic particles in high-energy physics with
       deep learning. Nature Communications.

    Examples
    --------
    >>> from nammd.datasets import higgs
    >>> x, y = higgs(1000, folder="my-data", rng=0)  # doctest: +SKIP
    """
    rows, root = whole(n, "n"), _folder(folder, "HIGGS", _HIGGS_HELP)
    path = _first(root, ("HIGGS.csv.gz", "HIGGS.csv", "higgs_small/higgs_small.npz"), "HIGGS", _HIGGS_HELP)
    wanted = [int(column) for column in columns]
    if not wanted or min(wanted) < 0 or max(wanted) > 27:
        raise ValueError(f"columns must be some of 0 to 27, the features of HIGGS, not {tuple(columns)}")
    if path.suffix == ".npz":
        features, label = (_array(path, name, _HIGGS_HELP) for name in ("X", "y"))
        features = features[:, wanted]
    else:  # the label is the first column of the file, so the features begin at 1
        used = (0, *(column + 1 for column in wanted))
        table = np.loadtxt(path, delimiter=",", usecols=used, max_rows=whole(max_rows, "max_rows"), ndmin=2)
        label, features = table[:, 0], table[:, 1:]
    signal, background = (features[label == value].astype(np.float64) for value in (1, 0))
    return _draw(signal, background if alternative else None, rows, rng)


def mnist(
    n: int,
    *,
    folder: str | Path | None = None,
    generated: str = "mnist__*",
    alternative: bool = True,
    rng: Any = None,
) -> tuple[FloatArray, FloatArray]:
    """Draw images of handwritten digits, and images that generative models made of them.

    Parameters
    ----------
    n : int
        The number of rows of each sample.
    folder : str or Path, optional
        Where the data are; by default the folder that the environment variable NAMMD_DATA names. It
        holds the real digits as the published ``t10k-images-idx3-ubyte`` or
        ``train-images-idx3-ubyte`` (as they are or with ``.gz``, there or in ``MNIST/raw``), or as
        ``mnist_t10k/mnist_t10k.npz`` with the array ``images``; and the generated ones as
        ``gan_mnist/gan_samples.npz``, one array for each model.
    generated : str
        Which arrays of generated images to take together, by a pattern for their names:
        ``"mnist__*__WGAN__024"`` takes one model, for example.
    alternative : bool
        If False, both samples are of real digits, without a common image.
    rng : int, numpy.random.Generator or None
        Generator for the draw, which is without replacement.

    Returns
    -------
    x, y : array of shape (n, 784)
        Real and generated images, a row each, from 0 (paper) to 1 (ink).

    References
    ----------
    .. [1] LeCun, Bottou, Bengio, Haffner (1998). Gradient-based learning applied to document
       recognition. Proceedings of the IEEE.

    Examples
    --------
    >>> from nammd.datasets import mnist
    >>> x, y = mnist(80, folder="my-data", rng=0)  # doctest: +SKIP
    """
    rows, root = whole(n, "n"), _folder(folder, "MNIST", _MNIST_HELP)
    plain = [
        f"{place}{part}-images-idx3-ubyte{end}"
        for part in ("t10k", "train") for place in ("", "MNIST/raw/") for end in ("", ".gz")
    ]  # fmt: skip
    path = _first(root, (*plain, "mnist_t10k/mnist_t10k.npz"), "MNIST", _MNIST_HELP)
    real = _array(path, "images", _MNIST_HELP) if path.suffix == ".npz" else _idx_images(path)
    if not alternative:
        return _draw(_pixels(real), None, rows, rng)
    made = _first(root, ("gan_mnist/gan_samples.npz",), "generated digits", _GENERATED_HELP)
    with np.load(made, allow_pickle=False) as file:
        names = [name for name in file.files if fnmatch.fnmatchcase(name, generated)]
        if not names:
            known = ", ".join(file.files[:5])
            raise ValueError(f"no array of {made} has a name like {generated!r}; there are {known}, ...")
        images = np.concatenate([file[name] for name in names])
    return _draw(_pixels(real), _pixels(images), rows, rng)


def cifar10(
    n: int,
    *,
    folder: str | Path | None = None,
    version: str = "cifar10.1",
    noise: float = 0.1,
    alternative: bool = True,
    rng: Any = None,
) -> tuple[FloatArray, FloatArray]:
    """Draw small photographs, and others of another version of the same collection.

    Parameters
    ----------
    n : int
        The number of rows of each sample.
    folder : str or Path, optional
        Where the data are; by default the folder that the environment variable NAMMD_DATA names. It
        holds the test images as the published ``cifar-10-batches-bin/test_batch.bin``, or as
        ``cifar10_jpeg/cifar10_test_5000.npz`` with the array ``images``.
    version : {"cifar10.1", "adversarial", "noise"}
        The other version. ``"cifar10.1"``: the images collected anew [2]_, in
        ``cifar10.1_v6_data.npy`` (or v4). ``"adversarial"``: images of yours in
        ``cifar10_X_adversarial.npy``. ``"noise"``: other test images with normal noise added, cut to
        the range of the pixels; it needs no further file.
    noise : float
        The standard deviation of that noise, where pixels are from 0 to 1.
    alternative : bool
        If False, both samples are of test images, without a common image.
    rng : int, numpy.random.Generator or None
        Generator for the draw, which is without replacement, and for the noise.

    Returns
    -------
    x, y : array of shape (n, 3072)
        Images, a row each, from 0 to 1: height, width, then colour.

    References
    ----------
    .. [1] Krizhevsky (2009). Learning multiple layers of features from tiny images.
    .. [2] Recht, Roelofs, Schmidt, Shankar (2019). Do ImageNet classifiers generalize to ImageNet? ICML.

    Examples
    --------
    >>> from nammd.datasets import cifar10
    >>> x, y = cifar10(500, folder="my-data", version="noise", rng=0)  # doctest: +SKIP
    """
    rows, root = whole(n, "n"), _folder(folder, "CIFAR-10", _CIFAR_HELP)
    choice(version, "version", (*_CIFAR_VERSIONS, "noise"))
    deviation, generator = positive(noise, "noise"), np.random.default_rng(rng)
    places = ("cifar-10-batches-bin/test_batch.bin", "cifar10_jpeg/cifar10_test_5000.npz")
    path = _first(root, places, "CIFAR-10", _CIFAR_HELP)
    real = _array(path, "images", _CIFAR_HELP) if path.suffix == ".npz" else _cifar_images(path)
    if not alternative or version == "noise":
        x, y = _draw(_pixels(real), None, rows, generator)
        if alternative:
            y = np.clip(y + deviation * generator.normal(size=y.shape), 0.0, 1.0)
        return x, y
    names, advice = _CIFAR_VERSIONS[version]
    other = _first(root, names, f"the version {version!r} of CIFAR-10", advice)
    return _draw(_pixels(real), _pixels(np.load(other, allow_pickle=False)), rows, generator)


def _folder(folder: str | Path | None, what: str, advice: str) -> Path:
    """Return the folder that the user named, by argument or by environment."""
    named = os.environ.get(VARIABLE) if folder is None else folder
    if not named:
        raise FileNotFoundError(
            f"{what} is read from a folder of yours: name it by folder= or by the environment variable "
            f"{VARIABLE}. {advice}"
        )
    root = Path(named).expanduser()
    if not root.is_dir():
        raise FileNotFoundError(f"{root} is not a folder, so there is no {what} in it. {advice}")
    return root


def _first(root: Path, names: Sequence[str], what: str, advice: str) -> Path:
    """Return the first of several files that is there."""
    for name in names:
        if (root / name).is_file():
            return root / name
    raise FileNotFoundError(f"{what} not found in {root}: there is no {' and no '.join(names)}. {advice}")


def _array(path: Path, name: str, advice: str) -> NDArray[Any]:
    with np.load(path, allow_pickle=False) as file:
        if name not in file.files:
            raise ValueError(f"{path} has no array {name!r}, only {', '.join(file.files)}. {advice}")
        array: NDArray[Any] = file[name]
    return array


def _idx_images(path: Path) -> NDArray[np.uint8]:
    """Read images in the format of MNIST: a magic number and three sizes, then the bytes."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    header = np.frombuffer(content[:16], dtype=">u4")
    if len(header) != 4 or header[0] != 0x803 or len(content) != 16 + int(np.prod(header[1:])):
        raise ValueError(f"{path} is not a complete file of images in the idx format of MNIST")
    return np.frombuffer(content, dtype=np.uint8, offset=16).reshape(header[1:].astype(int))


def _cifar_images(path: Path) -> NDArray[np.uint8]:
    """Read images in the binary format of CIFAR-10: a label, then the red, green and blue plane."""
    record = 1 + 3 * 32 * 32
    content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    if not len(content) or len(content) % record:
        raise ValueError(f"{path} is not a complete file of the binary version of CIFAR-10")
    planes = content.reshape(-1, record)[:, 1:].reshape(-1, 3, 32, 32)
    return planes.transpose(0, 2, 3, 1)


def _pixels(images: NDArray[Any]) -> NDArray[Any]:
    """Return images as rows; they become numbers from 0 to 1 only once they are drawn."""
    return images.reshape(len(images), -1)


def _draw(
    first: NDArray[Any], second: NDArray[Any] | None, n: int, rng: Any
) -> tuple[FloatArray, FloatArray]:
    """Draw n rows from each of two populations, or 2 n from one, without replacement."""
    generator = np.random.default_rng(rng)
    needed = n if second is not None else 2 * n
    for population in (first, first if second is None else second):
        if len(population) < needed:
            raise ValueError(
                f"{needed} different rows of one kind are needed, but there are only {len(population)} "
                "of it; ask for fewer"
            )
    if second is None:
        rows = generator.permutation(len(first))[:needed]
        return _scaled(first[rows[:n]]), _scaled(first[rows[n:]])
    x = first[generator.permutation(len(first))[:n]]
    y = second[generator.permutation(len(second))[:n]]
    return _scaled(x), _scaled(y)


def _scaled(rows: NDArray[Any]) -> FloatArray:
    """Bring bytes of images to 0 to 1; leave other numbers as they are."""
    values = rows.astype(np.float64)
    return values / 255 if rows.dtype == np.uint8 else values
