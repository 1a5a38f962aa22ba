"""Power over bandwidths of the kernel (tab:bandwidth_sensitivity)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.distance import pdist
from scipy.stats import ncx2

import nammd
from experiments.experiment import Cell, Context, Experiment, Values
from experiments.results import Results
from experiments.rule import Claim, Compared, Comparison, agreeing, higher
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.summary import shown

FACTORS = (0.1, 0.3, 0.5, 1.0, 2.0)
PAPER = {"mmd2": (0.792, 0.900, 0.772, 0.330, 0.037), "nammd": (0.800, 0.924, 0.858, 0.519, 0.076)}
_PAPER_REPETITIONS = 1000
_PAPER_ERRORS = {
    "mmd2": (0.013, 0.009, 0.013, 0.015, 0.006),
    "nammd": (0.013, 0.008, 0.011, 0.016, 0.008),
}
"""The printed ±."""
_NAMES = {"mmd2": "MMD", "nammd": "NAMMD"}
_RESAMPLES = 200
MEDIANS = {"exact": None, "low": 0.025, "high": 0.975}
"""What h₀ is: the median distance of the boundary pair, or a quantile of that of one sample of it."""


@dataclass(frozen=True)
class _Bandwidths(Settings):
    rows: int = 150
    alpha: float = 0.05
    apart: float = 0.2
    boundary: float = 0.3
    alternative: float = 0.1


def _cells(settings: _Bandwidths) -> Iterator[Cell]:
    for median in MEDIANS:
        for factor in FACTORS:
            yield {"factor": factor, "median": median}


@cache
def median_bandwidth(variance: float, apart: float) -> float:
    """Return the median distance of two draws from both laws together, in two dimensions, exactly."""
    # Half of the pairs are of the same law; for the others the squared distance is noncentral.
    scale, shifts = 2 * variance, (0.0, apart**2 / (2 * variance))

    def below(distance: float) -> float:
        return sum(float(ncx2.cdf(distance**2 / scale, 2, shift)) for shift in shifts) / 2

    return float(brentq(lambda distance: below(distance) - 0.5, 1e-6, 100.0))


@cache
def sample_median(variance: float, apart: float, rows: int, quantile: float) -> float:
    """Return a quantile of the median distance of one sample of so many rows of each law."""
    generator, shift = np.random.default_rng(0), np.array([apart / 2, 0.0])
    medians = []
    for _ in range(400):
        x, y = math.sqrt(variance) * generator.standard_normal((2, rows, 2))
        medians.append(float(np.median(pdist(np.concatenate([x - shift, y + shift])))))
    return float(np.quantile(medians, quantile))


def _bandwidth(settings: _Bandwidths, median: str) -> float:
    quantile = MEDIANS[median]
    if quantile is None:
        return median_bandwidth(settings.boundary, settings.apart)
    return sample_median(settings.boundary, settings.apart, settings.rows, quantile)


def _run(settings: _Bandwidths, cell: Cell, context: Context) -> Values:
    kernel = nammd.Gaussian(float(cell["factor"]) * _bandwidth(settings, str(cell["median"])))
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
        estimate = nammd.paper.distance(
            x - shift, y + shift, kernel=kernel, cross="off-diagonal", engine=context.engine
        )
        found[k] = estimate.pair.moments.mmd2, estimate.value
    return {"mmd2": found[:, 0], "nammd": found[:, 1]}


def _power(null: np.ndarray, drawn: np.ndarray, alpha: float) -> float:
    return float(np.mean(drawn > np.quantile(null, 1 - alpha)))


def _reached(results: Results[_Bandwidths], statistic: str, factor: float, printed: float) -> bool:
    """Tell whether a printed power is one that some sample's median distance gives, up to two errors."""
    ends = []
    for median in MEDIANS:
        ours = results.one(factor=factor, median=median)[statistic]
        error = math.hypot(ours["se"], ours["se"] * math.sqrt(ours["n"] / _PAPER_REPETITIONS))
        ends += [ours["mean"] - 2 * error, ours["mean"] + 2 * error]
    return bool(min(ends) <= printed <= max(ends))


def _claim(results: Results[_Bandwidths]) -> Claim:
    """Hold the powers at the ends against the highest one, for both statistics."""
    powers = {s: {factor: results.one(factor=factor, median="exact")[s] for factor in FACTORS} for s in PAPER}
    best = {s: max(FACTORS, key=lambda factor: found[factor]["mean"]) for s, found in powers.items()}
    falls = [
        higher(
            f"{_NAMES[s]}: less power at {end:g} h₀ than at {best[s]:g} h₀",
            found[best[s]]["mean"] - found[end]["mean"],
            math.hypot(found[best[s]]["se"], found[end]["se"]),
        )
        for s, found in powers.items()
        for end in (FACTORS[0], FACTORS[-1])
    ]
    same = Comparison("both have the most power at one bandwidth", best["mmd2"] == best["nammd"], str(best))
    return Claim(
        "The power of MMD and of NAMMD falls where the bandwidth is too small or too large, alike.",
        [*falls, same],
    )


def _section(results: Results[_Bandwidths]) -> Section:
    rows, off, compared = [], [], []
    for statistic, printed in PAPER.items():
        row = [_NAMES[statistic]]
        for factor, theirs, error in zip(FACTORS, printed, _PAPER_ERRORS[statistic], strict=True):
            ours = results.one(factor=factor, median="exact")[statistic]
            compared.append(Compared(ours, theirs, error))
            if not _reached(results, statistic, factor, theirs):
                off.append(f"{_NAMES[statistic]} at {factor:g} h₀")
            low, high = (results.one(factor=factor, median=end)[statistic]["mean"] for end in ("high", "low"))
            row.append(f"{theirs:.3f} / {shown(ours)} ({low:.3f}, {high:.3f})")
        rows.append(row)
    gains = {factor: results.one(factor=factor, median="exact")["gain"] for factor in FACTORS}
    rows.append(["gain", *(shown(gain) for gain in gains.values())])
    worse = [f"{factor:g} h₀" for factor, gain in gains.items() if gain["mean"] < -2 * gain["se"]]
    settings = results.settings
    ends = [results.one(factor=1.0, median=end)["bandwidth"] for end in ("low", "high")]
    body = (
        f"Two normal distributions with means {settings.apart:g} apart, of variance {settings.boundary:g} at "
        f"the boundary, where the threshold is simulated, and {settings.alternative:g} for the power; "
        f"{settings.rows} rows. h₀, which the paper does not define, is here the median distance of the "
        f"boundary pair, {median_bandwidth(settings.boundary, settings.apart):.4f}. That of one sample is "
        f"between {ends[0]:.3f} and {ends[1]:.3f} in 95 of 100 draws; in brackets are the powers at these "
        "ends. Our errors include the noise of the simulated threshold, which the printed ones leave out. "
        "Paper / ours:\n\n" + table(["power of", *(f"{factor:g} h₀" for factor in FACTORS)], rows)
    )
    total = sum(map(len, PAPER.values()))
    sentence = (
        f"{agreeing(compared)} of {total} printed powers are within two joint standard errors of ours with "
        "the printed ±, which leaves out the noise of the simulated threshold; with that noise, and the h₀ "
        f"of some sample, {total - len(off)} are."
    )
    sentence += (
        f" NAMMD's power is below MMD's by more than two standard errors at {', '.join(worse)}."
        if worse
        else " NAMMD's power is at least MMD's at every bandwidth, up to two standard errors."
    )
    return Section(
        body=body,
        sentence=sentence,
        claim=_claim(results),
        compared=compared,
    )


EXPERIMENT = Experiment(
    name="bandwidth",
    labels=("tab:bandwidth_sensitivity",),
    title="Sensitivity to the bandwidth",
    seed=22,
    quick=_Bandwidths(repetitions=1500),
    full=_Bandwidths(repetitions=10000),
    tiny=_Bandwidths(repetitions=20, rows=20),
    cells=_cells,
    run_cell=_run,
    section=_section,
)
