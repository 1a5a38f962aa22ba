"""What the overview says of each experiment: whose protocol and data, and the verdicts of the rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from experiments.rule import verdict
from experiments.section import Section

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

EXCEPTIONS = {
    "norm_error": "`tab:norm_error` prints no ±: that of our run, with the paper's 300 repetitions, is used",
    "concentration": "`tab:nammd-mmd-sigma` is compared with a closed form to its printed digits, for the "
    "nearer of two readings of the kernel",
    "natural_level": "`TAB:TypeI-SK` to `TAB:TypeI-R` are on ImageNet: their values are shown beside ours "
    "but not compared, since our data are different",
    "total_variation": "`TAB:tv` and `TAB:nammd_wass` are compared for higgs alone, whose sample sizes "
    "are known",
    "tst_power": "`fig:tst` and the figures of type-I errors are curves without printed numbers",
    "runtime": "`tab:runtime_compare` was measured on another machine, so its seconds are not compared",
}
"""Where the rule cannot be applied as it stands, and why."""


def claim(name: str, section: Section) -> str:
    """Return the verdict on what the paper says, with how many comparisons came out so."""
    found = verdict(section.claim)
    if section.claim is None or found == "–":
        return "–"
    if PROTOCOLS[name].kind == "stand-in data":
        return "not testable here"
    return f"{found} ({section.claim.came_out} of {len(section.claim.comparisons)})"


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
