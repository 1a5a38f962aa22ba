"""Three laws, two of them equally far from the first: what the studies of estimated tolerances draw from."""

from __future__ import annotations

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

TURNED = ", turned"
DIFFERENT = tuple(f"{name}{order}" for name in TRIPLES for order in ("", TURNED))
"""They have different laws; turned: each in the place of the other."""


@dataclass(frozen=True)
class Case:
    """A law, and two others at the same distance from it.

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


def case_of(name: str, nammd: float) -> Case | None:
    """Return a case at some distance; None where its laws do not reach it."""
    if name in FAMILIES:
        pair = known_pair(name, nammd)
        return None if pair is None else Case(pair.p, pair.q, pair.q, pair.kernel)
    triple = known_triple(name.removesuffix(TURNED), nammd)
    if triple is None:
        return None
    laws = (triple.first, triple.second) if name in TRIPLES else (triple.second, triple.first)
    return Case(triple.p, *laws, triple.kernel)


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
