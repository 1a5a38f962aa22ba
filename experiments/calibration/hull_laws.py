"""Laws of which the distance to the nearest mixture is known: mixtures of normal laws and of points.

A law is a list of components ``(weight, mean, deviation)`` in several columns that are independent and alike
but for the mean of the first one; a deviation of zero is a point. Under a Gaussian kernel all inner products
have closed forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.nearest import nearest_weights

Law = tuple[tuple[float, float, float], ...]
BANDWIDTH = 1.0


@dataclass(frozen=True)
class Accepted:
    """Some laws that were accepted, and a fault that none of them has.

    Attributes
    ----------
    about : str
        What they are.
    laws : tuple of Law
        The reference first.
    fault : Law
        What a share of the rows of a candidate is like instead.
    columns : int
        How many columns there are.
    """

    about: str
    laws: tuple[Law, ...]
    fault: Law = ((1.0, 4.0, 0.3),)
    columns: int = 1


def normal(mean: float, deviation: float = 1.0) -> Law:
    """Return a normal law."""
    return ((1.0, mean, deviation),)


def points(*shares: float) -> Law:
    """Return a law on the points 0, 1, 2, ..."""
    return tuple((share, float(place), 0.0) for place, share in enumerate(shares) if share)


_SEASON = tuple(
    normal(0.5 * np.sin(2 * np.pi * month / 12), 1.0 + 0.2 * np.cos(2 * np.pi * month / 12))
    for month in range(13)
)

SETS = {
    "shifted": Accepted("a normal law, and it shifted by 0.6", (normal(0.0), normal(0.6))),
    "wider": Accepted("a normal law, and it with a deviation of 1.5", (normal(0.0), normal(0.0, 1.5))),
    "far": Accepted("a normal law, and it shifted by 2", (normal(0.0), normal(2.0)), ((1.0, -4.0, 0.3),)),
    "alike": Accepted("a normal law, and the same again", (normal(0.0), normal(0.0))),
    "rare": Accepted(
        "3 % and 10 % of rows far out",
        (((0.97, 0.0, 1.0), (0.03, 5.0, 0.5)), ((0.9, 0.0, 1.0), (0.1, 5.0, 0.5))),
        ((1.0, -4.0, 0.3),),
    ),
    "skewed": Accepted(
        "a skewed law, and it with a longer tail",
        (
            ((0.6, 0.0, 0.4), (0.3, 1.0, 0.7), (0.1, 2.5, 1.0)),
            ((0.5, 0.0, 0.4), (0.3, 1.0, 0.7), (0.2, 2.5, 1.0)),
        ),
        ((1.0, -3.0, 0.3),),
    ),
    "two values": Accepted(
        "20 % and 40 % ones", (points(0.8, 0.2), points(0.6, 0.4)), points(0.0, 0.0, 0.0, 1.0)
    ),
    "many zeros": Accepted(
        "90 % zeros, and 80 %",
        (((0.9, 0.0, 0.0), (0.1, 1.5, 0.5)), ((0.8, 0.0, 0.0), (0.2, 1.5, 0.5))),
    ),
    "five columns": Accepted("five columns, one of them shifted", (normal(0.0), normal(0.6)), columns=5),
    "three sets": Accepted("shifted, and wider", (normal(0.0), normal(0.6), normal(0.2, 1.5))),
    "a year": Accepted("twelve months of a season", _SEASON),
}


def inner(p: Law, q: Law, columns: int) -> float:
    """Return the inner product of the mean embeddings of two laws."""
    total, one = 0.0, BANDWIDTH**2
    for a, mean, s in p:
        for b, other, t in q:
            spread = one + s * s + t * t
            first = BANDWIDTH / np.sqrt(spread) * np.exp(-((mean - other) ** 2) / (2 * spread))
            rest = (BANDWIDTH / np.sqrt(spread)) ** (columns - 1)
            total += a * b * first * rest
    return float(total)


def mixed(laws: Sequence[Law], weights: Sequence[float]) -> Law:
    """Return a mixture of laws."""
    return tuple((w * a, m, s) for w, law in zip(weights, laws, strict=True) if w for a, m, s in law)


def distance(accepted: Accepted, candidate: Law) -> float:
    """Return the NAMMD of a law from the nearest mixture of what was accepted."""
    laws, columns = accepted.laws, accepted.columns
    gram = np.array([[inner(p, q, columns) for q in laws] for p in laws])
    across = np.array([inner(p, candidate, columns) for p in laws])
    own, w = inner(candidate, candidate, columns), nearest_weights(gram, across)
    return float((own - 2 * across @ w + w @ gram @ w) / (4 - own - w @ gram @ w))


def base(accepted: Accepted, place: str) -> Law:
    """Return a law without fault: the reference, the last that was accepted, or something between."""
    count = len(accepted.laws)
    weights = {
        "reference": [1.0] + [0.0] * (count - 1),
        "accepted": [0.0] * (count - 1) + [1.0],
        "between": [0.5] + [0.5 / max(count - 1, 1)] * (count - 1),
    }[place]
    return mixed(accepted.laws, weights)


@cache
def at_margin(name: str, place: str, margin: float) -> Law | None:
    """Return a law that is so far from what was accepted; None where no share of the fault is enough."""
    return law_at_margin(SETS[name], place, margin)


@cache
def law_at_margin(accepted: Accepted, place: str, margin: float) -> Law | None:
    """Return the same for laws that have no name."""
    from scipy.optimize import brentq

    good = base(accepted, place)

    def law(share: float) -> Law:
        return mixed((good, accepted.fault), (1 - share, share))

    steps = np.linspace(0.0, 0.9, 91).tolist()
    for low, high in pairwise(steps):
        if distance(accepted, law(high)) >= margin:
            share = brentq(lambda share: distance(accepted, law(share)) - margin, low, high, xtol=1e-12)
            return law(float(share))
    return None


def draw(rng: np.random.Generator, law: Law, rows: int, columns: int) -> FloatArray:
    """Draw rows."""
    shares = np.array([share for share, _, _ in law])
    which = rng.choice(len(law), rows, p=shares / shares.sum())
    means = np.array([mean for _, mean, _ in law])[which]
    deviations = np.array([deviation for _, _, deviation in law])[which]
    found: FloatArray = rng.standard_normal((rows, columns)) * deviations[:, None]
    found[:, 0] += means
    return found
