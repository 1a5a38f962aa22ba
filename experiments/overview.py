"""What the overview of the page says of each experiment: by one rule, applied here.

Numbers: a printed number agrees where it is within two joint standard errors of ours. All of a table together
are judged by the sum of the squared differences in joint standard errors, which is chi-squared where they
agree, and by their signs: many small differences to one side are no agreement.

Claims: what the paper concludes holds where every comparison that bears on it comes out that way, in part
where some do, and not where none does. Where the data are not the paper's there is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from experiments.section import Compared, Section
from experiments.summary import error_of

Kind = Literal["the paper's", "ours", "stand-in data"]


@dataclass(frozen=True)
class Protocol:
    """How an experiment relates to the paper's.

    Attributes
    ----------
    kind : str
        Whose protocol and data.
    repetitions : str
        The paper's; empty where it has none or does not say.
    but : str
        What is different all the same.
    """

    kind: Kind
    repetitions: str = ""
    but: str = ""


PROTOCOLS = {
    "bounds": Protocol("ours"),
    "level_map": Protocol("ours"),
    "same_mmd_norms": Protocol("the paper's"),
    "total_variation": Protocol("the paper's", "10 × 100", "rows known for higgs"),
    "wasserstein": Protocol("the paper's", "10 × 100", "rows known for higgs"),
    "tst_power": Protocol("the paper's", "10 × 100", "fewer higgs rows, other images"),
    "same_kernel": Protocol("ours", "10 × 100"),
    "same_kernel_redrawn": Protocol("the paper's", "10 × 100", "rows known for blob"),
    "own_kernels": Protocol("ours", "10 × 100"),
    "own_kernels_penalised": Protocol("ours", "10 × 100", "the paper's penalty"),
    "closeness_kernel": Protocol("ours"),
    "learned_kernels": Protocol("the paper's", "10 × 100", "rows not known, other images"),
    "tst_level": Protocol("the paper's", "1000", "other images"),
    "closeness_level": Protocol("ours", "1000"),
    "natural_level": Protocol("stand-in data", "1000"),
    "domains": Protocol("stand-in data"),
    "confidence": Protocol("stand-in data"),
    "adversarial": Protocol("stand-in data"),
    "dirac": Protocol("the paper's"),
    "concentration": Protocol("the paper's"),
    "example_1": Protocol("the paper's"),
    "bandwidth": Protocol("the paper's", "1000"),
    "norm_error": Protocol("the paper's", "300"),
    "runtime": Protocol("the paper's", "", "another machine"),
    "limitations": Protocol("the paper's"),
    "text": Protocol("ours"),
}

_CLAIMS = {"agrees": "holds", "agrees in part": "in part", "differs": "not", "no printed numbers": "–"}


def claim(name: str, section: Section) -> str:
    """Return the verdict on what the paper concludes."""
    if PROTOCOLS[name].kind == "stand-in data":
        return "not testable here"
    return _CLAIMS[section.agreement]


def protocol(name: str) -> str:
    """Return whose protocol it is, in some words."""
    known = PROTOCOLS[name]
    return f"{known.kind}; {known.but}" if known.but else known.kind


def repetitions(name: str, settings: Any) -> str:
    """Return our repetitions and the paper's."""
    runs = getattr(settings, "runs", None)
    sets = getattr(settings, "sets", None)
    if sets is not None:
        ours = f"{settings.repetitions}, learned {runs} × {sets}"
    elif runs is not None:
        ours = f"{runs} × {settings.repetitions}"
    else:
        ours = str(settings.repetitions) if settings.repetitions > 1 else "–"
    return f"{ours} / {PROTOCOLS[name].repetitions or '–'}"


def numbers(compared: Sequence[Compared]) -> str:
    """Return how many printed numbers agree, and two tests of all of them together."""
    if not compared:
        return "–"
    scores = [_score(one) for one in compared]
    within = sum(abs(score) <= 2 for score in scores)
    joint, signs = chi_squared(scores), sign_test(scores)
    return f"{within} of {len(scores)}; χ² {_p(joint)}, signs {_p(signs)}"


def _score(one: Compared) -> float:
    """Return the difference in joint standard errors; the print is rounded."""
    rounding = 10.0**-one.digits / math.sqrt(12)
    error = math.sqrt(error_of(one.ours) ** 2 + one.error**2 + rounding**2)
    return float((one.ours["mean"] - one.printed) / error)


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
