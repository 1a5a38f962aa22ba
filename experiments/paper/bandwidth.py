"""Power over bandwidths of the kernel (tab:bandwidth_sensitivity)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.stats import ncx2

import nammd
from experiments.experiment import Cell, Context, Experiment, Values
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.summary import near, shown

FACTORS = (0.1, 0.3, 0.5, 1.0, 2.0)
PAPER = {"mmd2": (0.792, 0.900, 0.772, 0.330, 0.037), "nammd": (0.800, 0.924, 0.858, 0.519, 0.076)}
_PAPER_REPETITIONS = 1000
_PAPER_ERRORS = (0.013, 0.009, 0.013, 0.015, 0.006, 0.013, 0.008, 0.011, 0.016, 0.008)
_NAMES = {"mmd2": "MMD", "nammd": "NAMMD"}
_RESAMPLES = 200


@dataclass(frozen=True)
class _Bandwidths(Settings):
    rows: int = 150
    alpha: float = 0.05
    apart: float = 0.2
    boundary: float = 0.3
    alternative: float = 0.1


def _cells(settings: _Bandwidths) -> Iterator[Cell]:
    for factor in FACTORS:
        yield {"factor": factor}


@cache
def median_bandwidth(variance: float, apart: float) -> float:
    """Return the median distance of two draws from both laws together, in two dimensions, exactly."""
    # Half of the pairs are of the same law; for the others the squared distance is noncentral.
    scale, shifts = 2 * variance, (0.0, apart**2 / (2 * variance))

    def below(distance: float) -> float:
        return sum(float(ncx2.cdf(distance**2 / scale, 2, shift)) for shift in shifts) / 2

    return float(brentq(lambda distance: below(distance) - 0.5, 1e-6, 100.0))


def _run(settings: _Bandwidths, cell: Cell, context: Context) -> Values:
    kernel = nammd.Gaussian(float(cell["factor"]) * median_bandwidth(settings.boundary, settings.apart))
    null = _statistics(settings, settings.boundary, kernel, context)
    drawn = _statistics(settings, settings.alternative, kernel, context)
    both = [_power(null[s], drawn[s], settings.alpha) for s in ("mmd2", "nammd")]
    # The threshold is simulated too, so its noise belongs to the error of the power. Both statistics
    # come from the same samples, so the error of their difference is much smaller than its parts'.
    resampled = np.empty((_RESAMPLES, 2))
    count = settings.repetitions
    for k in range(_RESAMPLES):
        i, j = context.rng.integers(count, size=(2, count))
        resampled[k] = [_power(null[s][i], drawn[s][j], settings.alpha) for s in ("mmd2", "nammd")]
    errors = resampled.std(axis=0, ddof=1)
    gain = resampled[:, 1] - resampled[:, 0]
    return {
        "mmd2": {"mean": both[0], "se": errors[0], "n": count},
        "nammd": {"mean": both[1], "se": errors[1], "n": count},
        "gain": {"mean": both[1] - both[0], "se": gain.std(ddof=1), "n": count},
        "bandwidth": kernel.bandwidth,
    }


def _statistics(
    settings: _Bandwidths, variance: float, kernel: nammd.Gaussian, context: Context
) -> dict[str, np.ndarray]:
    """Return the estimates of both statistics from many pairs of samples."""
    shift = np.array([settings.apart / 2, 0.0])
    found = np.empty((settings.repetitions, 2))
    for k in range(settings.repetitions):
        x, y = math.sqrt(variance) * context.rng.standard_normal((2, settings.rows, 2))
        estimate = nammd.distance(
            x - shift, y + shift, kernel=kernel, cross="off-diagonal", engine=context.engine
        )
        found[k] = estimate.pair.moments.mmd2, estimate.value
    return {"mmd2": found[:, 0], "nammd": found[:, 1]}


def _power(null: np.ndarray, drawn: np.ndarray, alpha: float) -> float:
    return float(np.mean(drawn > np.quantile(null, 1 - alpha)))


def _section(results: Results[_Bandwidths]) -> Section:
    rows, off = [], []
    for statistic, printed in PAPER.items():
        row = [_NAMES[statistic]]
        for factor, theirs in zip(FACTORS, printed, strict=True):
            ours = results.one(factor=factor)[statistic]
            error = ours["se"] * math.sqrt(ours["n"] / _PAPER_REPETITIONS)
            if not near(ours, theirs, error):
                off.append(f"{_NAMES[statistic]} at {factor:g} h₀")
            row.append(f"{theirs:.3f} / {shown(ours)}")
        rows.append(row)
    gains = {factor: results.one(factor=factor)["gain"] for factor in FACTORS}
    rows.append(["gain", *(shown(gain) for gain in gains.values())])
    worse = [f"{factor:g} h₀" for factor, gain in gains.items() if gain["mean"] < -2 * gain["se"]]
    noise = max(
        results.one(factor=factor)[statistic]["se"]
        * math.sqrt(results.settings.repetitions / _PAPER_REPETITIONS)
        for factor in FACTORS
        for statistic in PAPER
    )
    body = (
        f"Two normal distributions with means {results.settings.apart:g} apart, of variance "
        f"{results.settings.boundary:g} at the boundary, where the threshold is simulated, and "
        f"{results.settings.alternative:g} for the power; {results.settings.rows} rows on each side. The "
        "paper does not say what h₀ is the median distance of; here it is that of the boundary pair, "
        f"{median_bandwidth(results.settings.boundary, results.settings.apart):.4f}. Our errors include the "
        f"noise of the simulated threshold, which the paper's, {min(_PAPER_ERRORS)} to {max(_PAPER_ERRORS)}, "
        f"leave out: with its {_PAPER_REPETITIONS} repetitions ours would be up to {noise:.3f}. Paper / "
        "ours:\n\n" + table(["power of", *(f"{factor:g} h₀" for factor in FACTORS)], rows)
    )
    total = sum(map(len, PAPER.values()))
    sentence = f"{total - len(off)} of {total} printed powers are within two standard errors of ours"
    sentence += f" (not: {', '.join(off)})." if off else "."
    sentence += (
        f" NAMMD's power is below MMD's by more than two standard errors at {', '.join(worse)}."
        if worse
        else " NAMMD's power is at least MMD's at every bandwidth, up to two standard errors."
    )
    return Section(
        body=body,
        agreement="agrees" if len(off) <= 1 else "agrees in part" if len(off) < total else "differs",
        sentence=sentence,
    )


EXPERIMENT = Experiment(
    name="bandwidth",
    labels=("tab:bandwidth_sensitivity",),
    title="Sensitivity to the bandwidth",
    seed=22,
    quick=_Bandwidths(repetitions=6000),
    full=_Bandwidths(repetitions=20000),
    tiny=_Bandwidths(repetitions=20, rows=20),
    cells=_cells,
    run_cell=_run,
    section=_section,
)
