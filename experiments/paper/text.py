"""Statements of the paper's text that belong to no table, checked by numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import nammd
from experiments.experiment import Cell, Context, Experiment, Values
from experiments.paper.theory import sample_size
from experiments.results import Results
from experiments.rule import Claim, Comparison
from experiments.section import Correction, Section
from experiments.settings import Settings
from nammd.datasets import blob

_MOVED = 0.3
_RISK = 0.05


def _cells(settings: Settings) -> Iterator[Cell]:
    for check in ("total variation", "fused norm", "unequal sizes", "sample size"):
        yield {"check": check}


def _run(settings: Settings, cell: Cell, context: Context) -> Values:
    checks: dict[str, Any] = {
        "total variation": _total_variation,
        "fused norm": lambda: _fused_norm(context),
        "unequal sizes": lambda: _unequal(context),
        "sample size": _sample_size,
    }
    found: Values = checks[str(cell["check"])]()
    return found


def _total_variation() -> dict[str, float]:
    """Move the probabilities of 50 points by e'/50 up or down, as the appendix says."""
    uniform = np.full(50, 1 / 50)
    moved = uniform + np.repeat([1.0, -1.0], 25) * _MOVED / 50
    return {"wanted": _MOVED, "found": float(np.abs(moved - uniform).sum() / 2)}


def _fused_norm(context: Context) -> dict[str, list[float]]:
    """Compute the fused statistic's normaliser as printed, and from all pairs, for some relabellings."""
    x, y = blob(30, rng=context.rng)
    pooled, kernel = np.concatenate([x, y]), nammd.Gaussian(0.5)
    squares = np.asarray(kernel(pooled, pooled)) ** 2
    np.fill_diagonal(squares, 0)
    printed, every = [], []
    for _ in range(5):
        order = context.rng.permutation(len(pooled))
        one, other = order[: len(x)], order[len(x) :]
        within = squares[np.ix_(one, one)].sum() + squares[np.ix_(other, other)].sum()
        printed.append(float(within) / (len(x) * (len(x) - 1)))
        every.append(float(squares[np.ix_(order, order)].sum()) / (len(pooled) * (len(pooled) - 1)))
    return {"printed": printed, "pooled": every}


def _unequal(context: Context) -> dict[str, float]:
    """Compute the appendix's statistic for unequal sizes with the rows as drawn, and in reverse."""
    x, y = context.rng.normal(size=(6, 1)), context.rng.normal(size=(9, 1))
    kernel = nammd.Gaussian(1.0)

    def statistic(a: Any, b: Any) -> float:
        within, other, cross = (np.asarray(kernel(*pair)) for pair in ((a, a), (b, b), (a, b)))
        i, k = np.triu_indices(len(a), 1)
        j, h = np.triu_indices(len(b), 1)
        terms = (
            within[i, k][:, None]
            + other[j, h][None]
            - cross[np.ix_(i, h)]  # k(x_1, y_2)
            - cross[np.ix_(k, j)]  # k(x_2, y_1)
        )
        return float(terms.mean())

    return {
        "as drawn": statistic(x, y),
        "reversed": statistic(x, y[::-1]),
        "nammd": nammd.distance(x, y, kernel=kernel, metric="mmd2", engine=context.engine).value,
    }


def _sample_size() -> dict[str, float]:
    """Compute the theorem's sample size for a distance 0.1 beyond the margin, read in either way."""
    # With 2/υ turned into 2 exp(-log(2)/υ), the function's log(2/risk) is log(2)/υ.
    return {
        "log(2)/v": sample_size(0.1, risk=2 * math.exp(-math.log(2) / _RISK)),
        "log(2/v)": sample_size(0.1, risk=_RISK),
    }


def _section(results: Results[Settings]) -> Section:
    variation, unequal = results.one(check="total variation"), results.one(check="unequal sizes")
    norm, size = results.one(check="fused norm"), results.one(check="sample size")
    corrections: list[Correction] = []
    if np.ptp(norm["printed"]) > 1e-9 > np.ptp(norm["pooled"]):
        normaliser = (
            "The normaliser of the fused statistic is called permutation invariant, but its sum over pairs "
            f"within the samples goes from {min(norm['printed']):.4f} to {max(norm['printed']):.4f} over "
            "five relabellings of one data set; the sum over all pairs, which nammd uses, does not change."
        )
        corrections.append(Correction(normaliser, "fundamental"))
    if abs(unequal["as drawn"] - unequal["reversed"]) > 1e-9:
        order = (
            "The function h for unequal sizes is not symmetric, so the statistic depends on the order of the "
            f"rows: {unequal['as drawn']:.4f}, and {unequal['reversed']:.4f} with the rows of Y reversed. "
            f"All cross pairs together give {unequal['nammd']:.4f} in any order."
        )
        corrections.append(Correction(order, "fundamental"))
    one, other = size["log(2)/v"], size["log(2/v)"]
    logarithm = (
        f"In the theorem on sample sizes log 2/υ means log(2/υ): for υ = {_RISK:g}, a level of 0.05 and a "
        f"distance 0.1 beyond the margin it asks for {other:.0f} rows, not {one:.0f}."
    )
    corrections.append(Correction(logarithm, "typos"))
    body = (
        f"Moving every probability by ε'/n, ε' = {variation['wanted']:g}, gives the total variation "
        f"{variation['found']:g}. Over five relabellings the printed normaliser of the fused statistic goes "
        f"from {min(norm['printed']):.4f} to {max(norm['printed']):.4f}, that over all pairs from "
        f"{min(norm['pooled']):.4f} to {max(norm['pooled']):.4f}. The statistic for unequal sizes is "
        f"{unequal['as drawn']:.4f}, and {unequal['reversed']:.4f} with the rows of Y reversed."
    )
    return Section(
        body=body,
        sentence=f"{len(corrections)} statements of the text need a correction.",
        claim=Claim(
            "The statistics do not depend on labels or the order of rows, and the sample size is as printed.",
            [
                Comparison("the fused normaliser is permutation invariant", np.ptp(norm["printed"]) < 1e-9),
                Comparison("h is symmetric", abs(unequal["as drawn"] - unequal["reversed"]) < 1e-9),
                Comparison(
                    "log 2/υ as printed", math.isclose(one, other), f"{one:.0f} rows, not {other:.0f}"
                ),
            ],
        ),
        corrections=corrections,
        short=f"{len(corrections)} [statements of the text](#experiment-text)",
        notes=[
            "Known of the authors' own runs, and not computed here: their kernel was "
            "$e^{-d^2/\\gamma^2}$ where the appendix has $2\\gamma^2$; their variance code has a bracket "
            "that differs from the appendix, which is right; their ImageNet features were multiplied by the "
            "classifier's weights of the true label, so they depend on labels."
        ],
    )


EXPERIMENT = Experiment(
    name="text",
    labels=("text",),
    title="Statements of the text",
    seed=27,
    quick=Settings(),
    full=Settings(),
    tiny=Settings(),
    cells=_cells,
    run_cell=_run,
    section=_section,
)
