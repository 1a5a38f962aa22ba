"""What the paper has of ImageNet and its variants: gaps, intervals of classes, and levels.

The class of an image is the folder it is in, below the folder of its data set, as ImageNet has it. Classes
that the source lacks are left out: several variants have fewer classes than ImageNet, none has others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nammd
from experiments.paper.reference_pairs import METHODS, Rows, drawn, estimates, pvalues, tally, true_distances
from experiments.paper.shared_source import rejections
from experiments.paper.softmax_classifier import SoftmaxClassifier
from experiments.section import table
from experiments.summary import shown


@dataclass(frozen=True, eq=False)
class Labelled:
    """Features of images, and the names of their classes."""

    features: Rows
    classes: NDArray[Any]

    def only(self, classes: Sequence[str]) -> Labelled:
        """Return the images of some classes."""
        kept = np.isin(self.classes, list(classes))
        return Labelled(self.features[kept], self.classes[kept])


@dataclass(frozen=True, eq=False)
class Judge:
    """A classifier of the source's classes, trained on one half of its images."""

    names: NDArray[Any]
    classifier: SoftmaxClassifier
    held_out: Labelled

    @classmethod
    def of(cls, source: Labelled, seed: int) -> Judge:
        """Train on a random half; the other half is kept for the source's own accuracy."""
        names, numbers = np.unique(source.classes, return_inverse=True)
        order = np.random.default_rng(seed).permutation(len(numbers))
        train, rest = order[: len(order) // 2], order[len(order) // 2 :]
        made = SoftmaxClassifier.trained(source.features[train], numbers[train])
        return cls(names, made, Labelled(source.features[rest], source.classes[rest]))

    def confidence(self, images: Labelled) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return whether each image is classified right, and the probability of its true class."""
        given = self.classifier.probabilities(images.features)
        true = np.minimum(np.searchsorted(self.names, images.classes), given.shape[1] - 1)
        return given.argmax(axis=1) == true, given[np.arange(len(true)), true]


def gaps(source: Labelled, targets: Mapping[str, Labelled], seed: int = 0) -> str:
    """Return the accuracy and confidence gaps of the targets as a table."""
    judge = Judge.of(source, seed)
    at = [float(np.mean(values)) for values in judge.confidence(judge.held_out)]
    rows = [["source", f"{at[0]:.3f}", f"{at[1]:.3f}", "", ""]]
    for name, target in targets.items():
        found = [float(np.mean(v)) for v in judge.confidence(target.only(list(judge.names)))]
        apart = (abs(a - b) for a, b in zip(at, found, strict=True))
        rows.append([name, *(f"{v:.3f}" for v in (*found, *apart))])
    return table(["images", "accuracy", "confidence", "accuracy gap", "confidence gap"], rows)


def intervals(
    source: Labelled,
    target: Labelled,
    *,
    count: int = 10,
    reference: int = 3,
    rows: int = 150,
    repetitions: int = 200,
    alpha: float = 0.05,
    seed: int = 0,
) -> str:
    """Sort the classes by their confidence gap, cut them into intervals, and test each against the reference.

    Parameters
    ----------
    source, target : Labelled
        The images.
    count, reference : int
        How many intervals, and the number of the one that the others are compared with, from 0.
    rows, repetitions, alpha, seed
        Of the tests.
    """
    judge = Judge.of(source, seed)
    shared = [c for c in judge.names if c in set(target.classes) and c in set(judge.held_out.classes)]
    if len(shared) < count:
        raise ValueError(f"{len(shared)} classes are in both folders; {count} intervals need as many")
    gap = {c: _gap(judge, judge.held_out.only([c]), target.only([c])) for c in shared}
    parts = [list(part) for part in np.array_split(sorted(shared, key=lambda c: gap[c]), count)]
    pairs = [(source.only(part).features, target.only(part).features) for part in parts]
    kernel, engine = nammd.Gaussian.median(pairs[reference][0]), nammd.Tiles()
    known = [true_distances(x, y, kernel, engine) for x, y in pairs]
    rng = np.random.default_rng(seed)
    found: list[list[dict[str, float]]] = [[] for _ in parts]

    def estimated(pair: tuple[Rows, Rows]) -> Any:
        x, y = (drawn(side, rows, rng) for side in pair)
        return estimates(x, [y], kernel, engine)[0]

    for _ in range(repetitions):
        sampled = estimated(pairs[reference])
        for place, pair in enumerate(pairs):
            found[place].append(pvalues(estimated(pair), sampled, known[reference], shared=False))
    lines = [
        [
            f"{place + 1}{' (reference)' if place == reference else ''}",
            str(len(part)),
            f"{np.mean([gap[c] for c in part]):.3f}",
            f"{known[place]['nammd']:.4f}",
            *(shown(tally(found[place], alpha)["rates"][method]) for method in METHODS),
        ]
        for place, part in enumerate(parts)
    ]
    return table(["interval", "classes", "confidence gap", "NAMMD", *METHODS.values()], lines)


def _gap(judge: Judge, one: Labelled, other: Labelled) -> float:
    return abs(float(np.mean(judge.confidence(one)[1]) - np.mean(judge.confidence(other)[1])))


def levels(
    source: Rows,
    targets: Mapping[str, Rows],
    sizes: Sequence[int],
    *,
    repetitions: int = 200,
    alpha: float = 0.05,
    seed: int = 0,
) -> str:
    """Return how often the tests reject where both pairs are the same, by rows of the samples."""
    kernel, engine = nammd.Gaussian.median(source), nammd.Tiles()
    lines = []
    for name, target in targets.items():
        truth = {name: true_distances(source, target, kernel, engine)}
        for rows in sizes:
            found = rejections(
                source,
                {name: target},
                truth,
                kernel,
                rows=rows,
                repetitions=repetitions,
                alpha=alpha,
                rng=np.random.default_rng([seed, rows]),
                engine=engine,
            )[name][name]
            lines.append([name, str(rows), *(shown(found["rates"][method]) for method in METHODS)])
    return table(["Q₁ = Q₂", "rows", *METHODS.values()], lines)
