"""Tell whether embeddings are still close to those that were there at the start.

Embeddings are arrays: a few dozen numbers for each image, text or customer, computed by some model. Here a
small network learns to read handwritten digits, and the values of its hidden layer embed every image.
Scikit-learn has the digits in the order of the people who wrote them, so every batch below is by other
writers, and no image is used twice.

Images drawn with a thinner pen are known to be fine, so their distance sets the tolerance. Then batches
arrive, and each is held against it. Last, they are ranked by their distance.

Run it with ``python examples/embeddings.py`` where scikit-learn is installed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import nammd

Array = NDArray[np.float64]
Labels = NDArray[np.int_]

TRAIN, REFERENCE, ACCEPTED = slice(0, 600), slice(600, 1000), slice(1000, 1200)
LATER = {
    "other writers": slice(1200, 1400),
    "a dim lamp": slice(1400, 1600),
    "off by a pixel": slice(1600, None),
}


def thinner(images: Array) -> Array:
    return images**2  # grey edges fade


def arrived(images: Array) -> dict[str, Array]:
    """Return the batches that come later: one as it should be, and two with a fault."""
    later = {name: images[rows] for name, rows in LATER.items()}
    later["a dim lamp"] = 0.7 * later["a dim lamp"]
    square = later["off by a pixel"].reshape(-1, 8, 8)
    later["off by a pixel"] = np.roll(square, 1, axis=2).reshape(-1, 64)
    return later


def embed(network: MLPClassifier, images: Array) -> Array:
    """Return the values of the hidden layer, one row for each image."""
    hidden: Array = np.maximum(images @ network.coefs_[0] + network.intercepts_[0], 0.0)
    return hidden


def main() -> None:
    digits = load_digits()
    images: Array = digits.data / 16
    labels: Labels = digits.target
    network = MLPClassifier((32,), max_iter=1000, alpha=0.1, random_state=0)
    network.fit(images[TRAIN], labels[TRAIN])

    reference = embed(network, images[REFERENCE])
    tolerance = nammd.Tolerance.from_reference(reference, embed(network, thinner(images[ACCEPTED])))
    print(f"Every image becomes {reference.shape[1]} numbers; {len(reference)} images are the reference.")
    print(f"The thinner pen sets the tolerance. {tolerance.headline()}\n")

    gate = tolerance.with_reference(reference)
    batches = arrived(images)
    embedded = {name: embed(network, batch) for name, batch in batches.items()}
    for name, batch in batches.items():
        right = network.score(batch, labels[LATER[name]])
        print(f"{name}: the network still reads {right:.0%} correctly")
        print(f"  {gate.check(embedded[name]).headline()}")
    print("\nDim images are read well, and yet are farther away than what was agreed: no score shows that.\n")

    print(nammd.rank(reference, embedded, kernel=tolerance.kernel))


if __name__ == "__main__":
    main()
