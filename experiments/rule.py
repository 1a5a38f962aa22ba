"""The one rule by which the page judges: printed numbers, and what the paper says in words.

Numbers: a printed number agrees where it is within two joint standard errors of ours; its own is the printed
±, and the print is rounded. All of a table together are judged by the sum of the squared differences in joint
standard errors, which is chi-squared where they agree, and by their signs: many small differences to one side
are no agreement.

Claims: an experiment lists the comparisons that bear on what the paper says. "Higher" comes out where the
difference is more than two standard errors, "not lower" where it is not more than two below. The claim holds
where every comparison comes out so, holds in part where some do, and does not hold where none does.

No module of an experiment chooses a word: it computes comparisons, and the two functions here decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from experiments.summary import error_of

Verdict: TypeAlias = Literal["holds", "holds in part", "does not hold", "–"]


@dataclass(frozen=True)
class Compared:
    """A printed number beside ours.

    Attributes
    ----------
    ours : mapping
        Our figure, with "mean" and "se".
    printed : float
        The printed one.
    error : float
        The printed ±.
    digits : int
        How many decimals are printed.
    """

    ours: Mapping[str, Any]
    printed: float
    error: float = 0.0
    digits: int = 3

    @property
    def score(self) -> float:
        """The difference in joint standard errors; the print is rounded."""
        rounding = 10.0**-self.digits / math.sqrt(12)
        error = math.sqrt(error_of(self.ours) ** 2 + self.error**2 + rounding**2)
        return float((self.ours["mean"] - self.printed) / error)

    @property
    def agrees(self) -> bool:
        """Whether they are within two joint standard errors of each other."""
        return abs(self.score) <= 2


@dataclass(frozen=True)
class Comparison:
    """One comparison that bears on a claim: what was compared, whether it came out so, and the numbers."""

    what: str
    came_out: bool
    why: str = ""


@dataclass(frozen=True)
class Claim:
    """What the paper says in words, and the comparisons that bear on it."""

    says: str
    comparisons: Sequence[Comparison]

    @property
    def came_out(self) -> int:
        """How many comparisons came out as it says."""
        return sum(one.came_out for one in self.comparisons)

    @property
    def against(self) -> list[Comparison]:
        """The comparisons that did not."""
        return [one for one in self.comparisons if not one.came_out]


def verdict(claim: Claim | None) -> Verdict:
    """Return whether what the paper says holds."""
    if claim is None or not claim.comparisons:
        return "–"
    if claim.came_out == len(claim.comparisons):
        return "holds"
    return "holds in part" if claim.came_out else "does not hold"


def numbers(compared: Sequence[Compared]) -> str:
    """Return how many printed numbers agree, and two tests of all of them together."""
    if not compared:
        return "–"
    scores = [one.score for one in compared]
    joint, signs = chi_squared(scores), sign_test(scores)
    return f"{agreeing(compared)} of {len(scores)}; χ² {_p(joint)}, signs {_p(signs)}"


def agreeing(compared: Sequence[Compared]) -> int:
    """Return how many printed numbers agree."""
    return sum(one.agrees for one in compared)


def higher(what: str, gap: float, error: float) -> Comparison:
    """Return the comparison that a difference is positive, by more than two standard errors."""
    return Comparison(what, bool(gap > 2 * error), f"{gap:+.3f} ± {error:.3f}")


def not_lower(what: str, gap: float, error: float) -> Comparison:
    """Return the comparison that a difference is not negative by more than two standard errors."""
    return Comparison(what, bool(gap >= -2 * error), f"{gap:+.3f} ± {error:.3f}")


def between(what: str, figure: Mapping[str, Any], low: float, high: float) -> Comparison:
    """Return the comparison that a figure is within bounds, up to two standard errors."""
    error = error_of(figure)
    inside = low - 2 * error <= figure["mean"] <= high + 2 * error
    return Comparison(what, bool(inside), f"{figure['mean']:.3f} ± {error:.3f}")


def chi_squared(scores: Sequence[float]) -> float:
    """Return the probability of a sum of squares as large, if all agree."""
    from scipy.stats import chi2

    return float(chi2.sf(sum(score**2 for score in scores), len(scores)))


def sign_test(scores: Sequence[float]) -> float:
    """Return the probability of signs as uneven, if either is as likely."""
    from scipy.stats import binomtest

    above = sum(score > 0 for score in scores)
    return float(binomtest(above, len(scores)).pvalue)


def _p(value: float) -> str:
    return "p<0.001" if value < 0.001 else f"p={value:.3f}" if value < 0.1 else f"p={value:.2f}"
