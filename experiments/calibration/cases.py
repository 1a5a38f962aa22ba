"""Three laws, two of them equally far from the first: what the studies of estimated tolerances draw from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nammd.data.arrays import FloatArray
from nammd.datasets.laws.different import TRIPLES, known_triple
from nammd.datasets.laws.families import FAMILIES, known_pair
from nammd.evidence import gather, prepare
from nammd.kernels import Gaussian, Laplace
from nammd.questions.distance import Estimate

ALIKE = tuple(FAMILIES)
"""The accepted data and the candidate have the same law."""

DIFFERENT = tuple(TRIPLES)
"""They have different laws."""

MOVING = ("normal and point",)
"""Families whose first law is another one at every distance, so that a reference has no second candidate."""

TURNED = ", turned"
"""What follows the name where each of the two different laws is in the place of the other."""


@dataclass(frozen=True)
class Case:
    """A law, and two others at known distances from it.

    Attributes
    ----------
    reference, accepted, candidate : law
        What each dataset is drawn from.
    kernel : Gaussian or Laplace
        The kernel.
    """

    reference: Any
    accepted: Any
    candidate: Any
    kernel: Gaussian | Laplace


def case_of(name: str, margin: float, distance: float | None = None) -> Case | None:
    """Return a case with accepted data at the margin, and a candidate at some distance, by default as far.

    It is None where the laws do not reach that far.
    """
    distance = margin if distance is None else distance
    here = _laws(name, margin)
    there = here if distance == margin else _laws(name, distance)
    if here is None:
        return None
    reference, accepted, _, kernel = here
    if distance == 0:
        return Case(reference, accepted, reference, kernel)
    return None if there is None else Case(reference, accepted, there[2], kernel)


def _laws(name: str, nammd: float) -> tuple[Any, Any, Any, Gaussian | Laplace] | None:
    if nammd == 0:
        return None
    if name in FAMILIES:
        pair = known_pair(name, nammd)
        return None if pair is None else (pair.p, pair.q, pair.q, pair.kernel)
    triple = known_triple(name.removesuffix(TURNED), nammd)
    if triple is None:
        return None
    laws = (triple.first, triple.second) if name in TRIPLES else (triple.second, triple.first)
    return triple.p, *laws, triple.kernel


@dataclass(frozen=True)
class Sizes:
    """The rows of reference, accepted data and candidate, as text ``"500/50:200"`` or ``"500:200"``.

    Without a number of their own there are as many accepted rows as reference rows.
    """

    reference: int
    accepted: int
    candidate: int

    @classmethod
    def of(cls, text: str) -> Sizes:
        """Read the text."""
        reference, candidate = text.split(":")
        reference, _, accepted = reference.partition("/")
        return cls(int(reference), int(accepted or reference), int(candidate))

    @property
    def smallest(self) -> int:
        """The rows of the smallest sample."""
        return min(self.reference, self.accepted, self.candidate)

    @property
    def largest(self) -> int:
        """The rows of the largest sample."""
        return max(self.reference, self.accepted, self.candidate)

    def __str__(self) -> str:
        """Return the sizes in words."""
        if self.reference == self.accepted:
            return f"{self.reference} : {self.candidate}"
        return f"{self.reference} and {self.accepted} : {self.candidate}"


def orders(name: str, sizes: Sizes) -> Iterator[str]:
    """Name a case, and the case turned where that is another one.

    With as many accepted rows as candidate rows turning it would only let the two tests change places.
    """
    yield name
    if name in TRIPLES and sizes.accepted != sizes.candidate:
        yield f"{name}{TURNED}"


@dataclass(frozen=True)
class Drawn:
    """Estimates from one draw of everything.

    Attributes
    ----------
    accepted : list of Estimate
        The reference to each accepted dataset.
    candidate : Estimate
        The same reference to the candidate.
    apart : Estimate
        Another reference, of as many rows as the candidate, to the candidate.
    """

    accepted: list[Estimate]
    candidate: Estimate
    apart: Estimate


def draw(case: Case, sizes: Sizes, accepted: int, rng: Any, engine: Any) -> Drawn:
    """Draw a reference, so many accepted datasets, a candidate, and another reference."""
    data: dict[str, FloatArray] = {"reference": case.reference.sample(rng, sizes.reference)}
    for k in range(accepted):
        data[f"accepted {k}"] = case.accepted.sample(rng, sizes.accepted)
    data["candidate"] = case.candidate.sample(rng, sizes.candidate)
    data["other"] = case.reference.sample(rng, sizes.candidate)
    x, *ys, candidate, other = prepare(data, kernel=case.kernel, engine=engine)
    pairs = [*((x, y) for y in ys), (x, candidate), (other, candidate)]
    estimates = [Estimate.of(evidence) for evidence in gather(pairs, engine=engine)]
    return Drawn(estimates[:-2], estimates[-2], estimates[-1])
