"""NAMMD of two far normal distributions that become narrow (tab:nammd-mmd-sigma)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import nammd
from experiments.experiment import Cell, Context, Experiment, Values
from experiments.results import Results
from experiments.rule import Claim, Compared, Comparison
from experiments.section import Section, table
from experiments.settings import Settings

# What 1 - NAMMD is in print, from sigma = 1 to 1e-8.
PAPER = (1 - 0.2679, 4.5e-2, 9.9e-5, 2.1e-7, 2.1e-8, 6.4e-10, 7.0e-12, 1.1e-16, 0.0)
_CENTRE = 1000.0
_READINGS = ("half", "whole")
"""The two readings of a bandwidth of 1: a half in the exponent, or none."""
_NARROWEST_SAMPLE = 1e-3
"""Below this the positions, near 1000, are rounded too coarsely for samples to be of use."""


@dataclass(frozen=True)
class _Sizes(Settings):
    rows: int = 2000


def _cells(settings: _Sizes) -> Iterator[Cell]:
    for exponent in range(len(PAPER)):
        yield {"exponent": -exponent}


def _run(settings: _Sizes, cell: Cell, context: Context) -> Values:
    sigma = 10.0 ** int(cell["exponent"])
    values = {name: _gap(sigma, scale) for name, scale in (("half", 1.0), ("whole", 0.5))}
    if sigma < _NARROWEST_SAMPLE:
        return values
    x, y = sigma * context.rng.standard_normal((2, settings.rows, 1))
    estimate = nammd.distance(x - _CENTRE, y + _CENTRE, kernel=nammd.Gaussian(1.0), engine=context.engine)
    return {**values, "estimate": {"mean": 1 - estimate.value, "se": estimate.standard_error}}


def _gap(sigma: float, scale: float) -> float:
    """Return 1 - NAMMD for the kernel exp(-d²/(2 scale)), with all its digits."""
    # The cross term is exp(-10^6): zero. With both squared norms u, NAMMD is u / (2 - u).
    away = -math.expm1(-math.log1p(2 * sigma**2 / scale) / 2)
    return 2 * away / (1 + away)


def _decimals(printed: float) -> int:
    """Return how many decimals a number has that is printed to two digits, or as 0.2679 from 1."""
    return 4 if printed > 0.1 else 1 - math.floor(math.log10(printed))


def _section(results: Results[_Sizes]) -> Section:
    rows, ratios, misses, checks, exact, compared = [], [], 0, 0, [], []
    for exponent, printed in zip(range(0, -len(PAPER), -1), PAPER, strict=True):
        values = results.one(exponent=exponent)
        exact.append(values["half"])
        estimate = values.get("estimate")
        if estimate:
            checks += 1
            misses += abs(estimate["mean"] - values["half"]) > 3 * estimate["se"]
        drawn = f"{estimate['mean']:.3g} ± {estimate['se']:.1g}" if estimate else ""
        rows.append(
            [f"1e{exponent}", f"{printed:.3g}", f"{values['half']:.3g}", f"{values['whole']:.3g}", drawn]
        )
        if printed > 0:  # the last is printed as 1, which is what double precision leaves of it
            ratios.append(printed / values["half"])
            nearer = min(
                (
                    Compared({"mean": values[n], "se": 0.0}, printed, digits=_decimals(printed))
                    for n in _READINGS
                ),
                key=lambda one: abs(one.score),
            )
            compared.append(nearer)
    first = results.one(exponent=0)
    close = [r for r in ratios if abs(r - 1) < 0.1]
    body = (
        "1 - NAMMD of $N(-1000, \\sigma^2)$ and $N(1000, \\sigma^2)$: its closed form under either reading "
        f"of “bandwidth 1”, and an estimate from {results.settings.rows} rows on each side.\n\n"
        + table(["σ", "paper", "$e^{-d^2/2}$", "$e^{-d^2}$", "estimate, $e^{-d^2/2}$"], rows)
    )
    agrees = len(close) == len(ratios)
    one = {name: 1 - first[name] for name in ("half", "whole")}
    correction = (
        f"The table of NAMMD over σ is not its closed form: at σ = 1 NAMMD is {one['half']:.4f} with "
        f"$e^{{-d^2/2}}$ and {one['whole']:.4f} with $e^{{-d^2}}$, and {1 - PAPER[0]:.4f} is printed; the "
        f"printed 1 - NAMMD is {np.min(ratios):.1g} to {np.max(ratios):.1f} times the exact one."
    )
    return Section(
        body=body,
        sentence=(
            f"Within a tenth of the closed form for $e^{{-d^2/2}}$: {len(close)} of {len(ratios)} printed "
            f"values of 1 - NAMMD. Within three standard errors of it: {checks - misses} of {checks} "
            "estimates. That NAMMD tends to 1 is right."
        ),
        claim=Claim(
            "NAMMD tends to 1 as the distributions become narrow.",
            [
                Comparison(f"nearer to 1 at σ = 1e{-k - 1}", b < a, f"1 - NAMMD {b:.2g}, before {a:.2g}")
                for k, (a, b) in enumerate(pairwise(exact))
            ],
        ),
        compared=compared,
        corrections=() if agrees else (correction,),
    )


EXPERIMENT = Experiment(
    name="concentration",
    labels=("tab:nammd-mmd-sigma",),
    title="When NAMMD approaches 1",
    seed=23,
    quick=_Sizes(),
    full=_Sizes(rows=20000),
    tiny=_Sizes(rows=50),
    cells=_cells,
    run_cell=_run,
    section=_section,
)
