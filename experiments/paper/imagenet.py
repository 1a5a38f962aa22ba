"""Case study 1 on folders of images of your own, for example ImageNet and its variants.

    python -m experiments.paper.imagenet ImageNet/val ImageNet-Sketch ImageNet-R ImageNet-V2 ImageNet-A

Prints the distances of the targets to the source, in the features of torchvision's ResNet-50 or another
network, and how often the tests say that one target is farther than another. With ``--labels``, where images
lie in folders of their classes, also the gaps of accuracy and confidence, the tests of intervals of classes
sorted by their confidence gap, and the levels where both pairs are the same: what the paper has of ImageNet.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nammd
from experiments.paper.labelled_folders import Labelled, gaps, intervals, levels
from experiments.paper.reference_pairs import METHODS, Rows, true_distances
from experiments.paper.shared_source import rejections
from experiments.section import table
from experiments.summary import shown
from nammd.reading.formats import IMAGES, files_in
from nammd.reading.images import as_features


def features_of(folder: str | Path, features: Any, images: int, seed: int = 0) -> Rows:
    """Return the features of some images below a folder, chosen at random."""
    return labelled_features(folder, features, images, seed).features


def labelled_features(folder: str | Path, features: Any, images: int, seed: int = 0) -> Labelled:
    """Return the features of some images below a folder, chosen at random, and the folders that they are in.

    Every image is given to the network at its own size and in colour: a network's own preparation then cuts
    it to size, as when it was trained.
    """
    files = files_in(Path(folder), IMAGES)
    if not files:
        raise ValueError(f"{folder} is no folder with images")
    network = as_features(features)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(files))[:images])
    rows = np.concatenate([network(_pixels(files[i])) for i in chosen]).astype(np.float64)
    return Labelled(rows, np.array([files[i].parent.name for i in chosen]))


def _pixels(file: Path) -> NDArray[np.float32]:
    from PIL import Image

    with Image.open(file) as image:
        values = np.asarray(image.convert("RGB"), dtype=np.float32) / np.float32(255)
    return np.ascontiguousarray(np.moveaxis(values, 2, 0))[None]


def study(
    source: Rows,
    targets: Mapping[str, Rows],
    *,
    rows: int,
    repetitions: int,
    alpha: float = 0.05,
    seed: int = 0,
) -> str:
    """Return the distances of the targets and the rates of rejection as tables.

    Parameters
    ----------
    source, targets : array, mapping of str to array
        Features.
    rows, repetitions : int
        The rows of every sample, and how often samples are drawn.
    alpha : float
        The level.
    seed : int
        The seed of the draws.
    """
    kernel, engine = nammd.Gaussian.median(source), nammd.Tiles()
    truth = {name: true_distances(source, rows_, kernel, engine) for name, rows_ in targets.items()}
    found = rejections(
        source,
        targets,
        truth,
        kernel,
        rows=rows,
        repetitions=repetitions,
        alpha=alpha,
        rng=np.random.default_rng(seed),
        engine=engine,
    )
    near_to_far = sorted(truth, key=lambda name: truth[name]["nammd"])
    distances = [
        [name, str(len(targets[name])), f"{truth[name]['nammd']:.4f}", f"{truth[name]['mmd2']:.4f}"]
        for name in near_to_far
    ]
    rates = [
        [f"{q1} → {q2}", *(shown(found[q1][q2]["rates"][method]) for method in METHODS)]
        for q1 in near_to_far
        for q2 in near_to_far
    ]
    return (
        table(["target", "images", "NAMMD", "MMD²"], distances)
        + "\n"
        + table([f"Q₁ → Q₂ ({rows} rows, {repetitions} times)", *METHODS.values()], rates)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study on folders; return 0, or 2 where something is wrong with them."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.paper.imagenet", description=__doc__.split("\n")[0]
    )
    parser.add_argument("source", type=Path, help="the folder of the source's images")
    parser.add_argument("targets", type=Path, nargs="+", help="the folders of the targets")
    parser.add_argument("--features", default="resnet50", help="a torchvision model or a TorchScript file")
    parser.add_argument("--images", type=int, default=2000, help="at most so many images of every folder")
    parser.add_argument("--rows", type=int, default=150, help="rows of every sample")
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--labels", action="store_true", help="the folders of images are their classes")
    parser.add_argument("--intervals", type=int, default=10, help="how many intervals of classes")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[500, 1000, 1500, 2000], help="rows for levels"
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    names = [target.name for target in given.targets]
    if len(set(names)) < len(names):
        parser.error(f"the folders of the targets need different names, not {', '.join(names)}")
    try:
        source, *others = (
            labelled_features(folder, given.features, given.images, given.seed)
            for folder in (given.source, *given.targets)
        )
    except (ImportError, OSError, ValueError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    labelled = dict(zip(names, others, strict=True))
    targets = {name: one.features for name, one in labelled.items()}
    tests = {"repetitions": given.repetitions, "seed": given.seed}
    print(study(source.features, targets, rows=given.rows, **tests))
    if given.labels:
        print(gaps(source, labelled, given.seed))
        for name, target in labelled.items():
            cut = {"count": given.intervals, "reference": min(3, given.intervals - 1)}
            print(f"{name}, by intervals of classes:\n")
            print(intervals(source, target, rows=given.rows, **cut, **tests))
        print(levels(source.features, targets, given.sizes, **tests))
    return 0


if __name__ == "__main__":
    sys.exit(main())
