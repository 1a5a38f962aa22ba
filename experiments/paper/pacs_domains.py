"""The domains of PACS as features of a network that saw none of their labels, and their gaps in accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import PACS
from experiments.paper.reference_pairs import Rows
from experiments.paper.resnet20 import ResNet20
from experiments.paper.softmax_classifier import SoftmaxClassifier

SOURCE, PERTURBED = "photo", "perturbed photo"
TARGETS = (PERTURBED, "art painting", "cartoon", "sketch")

_SEED = 1


@dataclass(frozen=True, eq=False)
class Domain:
    """The images of a domain: features without use of any label, and labels for validation."""

    features: Rows
    labels: Rows


@cache
def pacs_domains(data: Path, images: int, noise: float, device: str) -> dict[str, Domain]:
    """Return the domains by name: at most so many images of each; noise of this deviation perturbs photos."""
    network, rng = ResNet20.stored(data, device), np.random.default_rng(_SEED)
    found = {}
    with np.load(data / PACS[0], allow_pickle=False) as file:
        for name in (SOURCE, *TARGETS[1:]):
            key = name.replace(" ", "_")
            labels = file[f"{key}_labels"]
            chosen = np.sort(rng.permutation(len(labels))[:images])
            pixels = file[f"{key}_images"][chosen] / np.float32(255)
            found[name] = Domain(network.outputs(pixels)[0], labels[chosen])
            if name == SOURCE:
                moved = pixels + noise * rng.standard_normal(pixels.shape, np.float32)
                found[PERTURBED] = Domain(network.outputs(np.clip(moved, 0.0, 1.0))[0], labels[chosen])
    return found


def gaps(domains: Mapping[str, Domain]) -> dict[str, Any]:
    """Return the accuracy on the source, and the accuracy and confidence gaps of the targets.

    The classifier is trained on one half of the source. Only the other half is used of the source, and of
    the perturbed source, whose images are the same.
    """
    source = domains[SOURCE]
    order = np.random.default_rng(_SEED).permutation(len(source.labels))
    half = len(order) // 2
    train, test = order[:half], order[half:]
    classifier = SoftmaxClassifier.trained(source.features[train], source.labels[train])
    found = {}
    for name in (SOURCE, *TARGETS):
        rows = test if name in (SOURCE, PERTURBED) else np.arange(len(domains[name].labels))
        labels = domains[name].labels[rows]
        given = classifier.probabilities(domains[name].features[rows])
        right = given.argmax(axis=1) == labels
        confidence = given[np.arange(len(labels)), labels]
        found[name] = {
            "accuracy": float(np.mean(right)),
            "confidence": float(np.mean(confidence)),
            "se": float(np.std(right) / np.sqrt(len(labels))),
        }
    at = found[SOURCE]
    return found | {
        name: found[name] | {f"{w} gap": abs(at[w] - found[name][w]) for w in ("accuracy", "confidence")}
        for name in TARGETS
    }
