"""NAMMD and Canonne's test over finite supports (TAB:tv)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.experiment import Cell, Context, Experiment, Values
from experiments.paper.benchmark_data import DATASETS, NEEDS
from experiments.paper.finite_supports import (
    GAP,
    POINTS,
    SIZES,
    Closeness,
    SupportedPairs,
    numbers,
)
from experiments.results import Results
from experiments.rule import Claim, Compared, higher
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.summary import joined, rate, shown
from nammd.datasets import DiscretePair, discrete_pair
from nammd.methods.canonne import canonne_test

# For ε' = 0.1, 0.3, 0.5, 0.7: the printed power and the printed error, a standard error over ten runs.
CANONNE = {
    "blob": ((0.856, 0.023), (0.809, 0.014), (0.944, 0.013), (0.998, 0.002)),
    "higgs": ((0.883, 0.015), (0.825, 0.010), (0.960, 0.005), (0.994, 0.003)),
    "hdgm": ((0.861, 0.011), (0.888, 0.016), (0.937, 0.014), (0.987, 0.004)),
    "mnist": ((0.715, 0.021), (0.786, 0.026), (0.896, 0.013), (0.971, 0.008)),
    "cifar10": ((0.686, 0.030), (0.751, 0.021), (0.917, 0.006), (0.981, 0.004)),
}
NAMMD = {
    "blob": ((0.968, 0.022), (0.912, 0.053), (0.960, 0.020), (0.961, 0.029)),
    "higgs": ((0.908, 0.050), (0.947, 0.027), (0.962, 0.023), (0.995, 0.005)),
    "hdgm": ((0.942, 0.023), (0.946, 0.017), (0.965, 0.014), (0.989, 0.004)),
    "mnist": ((0.931, 0.024), (0.965, 0.007), (0.997, 0.001), (1.000, 0.000)),
    "cifar10": ((0.919, 0.017), (0.923, 0.021), (0.997, 0.002), (0.999, 0.001)),
}
MARGINS = tuple(SIZES)
KNOWN = "higgs"
"""The data set whose sample sizes are known, so that printed numbers can be held against ours."""


@dataclass(frozen=True)
class _Supports(Settings):
    runs: int = 2
    resamples: int = 199


def _cells(settings: _Supports) -> Iterator[Cell]:
    for data in DATASETS:
        for margin in MARGINS:
            for run in range(settings.runs):
                yield {"data": data, "margin": margin, "run": run}


def _run(settings: _Supports, cell: Cell, context: Context) -> Values:
    margin, rng = float(cell["margin"]), context.rng
    rows = SIZES[margin]
    pairs = SupportedPairs.of(str(cell["data"]), margin, context)
    bandwidth, median = pairs.selected_bandwidth(rows, context), pairs.median_distance()
    tests = {
        "selected": Closeness.gaussian(pairs, bandwidth),
        "half median": Closeness.gaussian(pairs, median / 2),
        "learned": Closeness.of(pairs, pairs.learned_mahalanobis(rows, context)),
    }
    thresholds = {
        (name, size): test.threshold(size, settings.resamples, rng)
        for name, test in tests.items()
        for size in (rows, 2 * rows)
    }
    canonne = _Canonne.at(pairs.boundary, rows, settings.resamples, context)
    found: dict[str, Any] = {
        "bandwidth": bandwidth / median,
        "total variation": [pairs.boundary.total_variation, pairs.beyond.total_variation],
    }
    for what, pair in (("level", pairs.boundary), ("power", pairs.beyond)):
        hits: defaultdict[str, list[bool]] = defaultdict(list)
        for _ in range(settings.repetitions):
            x, y = numbers(pair, 2 * rows, rng)
            hits["canonne"].append(canonne.rejects(x[:rows], y[:rows]))
            for (name, size), threshold in thresholds.items():
                times = "" if size == rows else ", twice the rows"
                hits[f"{name}{times}"].append(tests[name].value(x[:size], y[:size]) > threshold)
            for variance, rejected in tests["selected"].by_theory(x[:rows], y[:rows]).items():
                hits[variance].append(rejected)
        found[what] = {name: rate(each) for name, each in hits.items()}
    found["power"]["canonne, as said"] = _power_as_said(settings, margin, rows, context)
    return found


def _power_as_said(settings: _Supports, margin: float, rows: int, context: Context) -> Values:
    """Return the power of Canonne's test where ε' is the total variation, as the text has it."""
    boundary, beyond = (discrete_pair(POINTS, e, rng=0) for e in (margin, margin + GAP))
    test = _Canonne.at(boundary, rows, settings.resamples, context)
    drawn = (numbers(beyond, rows, context.rng) for _ in range(settings.repetitions))
    return rate([test.rejects(x, y) for x, y in drawn])


@dataclass(frozen=True)
class _Canonne:
    """Canonne's test with a threshold that is resampled once."""

    boundary: DiscretePair
    threshold: float

    @classmethod
    def at(cls, pair: DiscretePair, rows: int, resamples: int, context: Context) -> _Canonne:
        # Points are their numbers here: the test looks at how often they occur and at nothing else.
        boundary = DiscretePair(np.arange(POINTS, dtype=float)[:, None], pair.p, pair.q)
        drawn = numbers(pair, rows, context.rng)
        result = canonne_test(*drawn, support=POINTS, boundary=boundary, resamples=resamples, rng=context.rng)
        return cls(boundary, result.threshold)

    def rejects(self, x: Any, y: Any) -> bool:
        found = canonne_test(x, y, support=POINTS, boundary=self.boundary, resamples=1, rng=0)
        return found.statistic > self.threshold


_SHOWN = {
    "canonne": "Canonne's",
    "learned": "NAMMD, learned",
    "selected": "NAMMD, selected",
    "paper": "NAMMD, paper's-variance",
    "corrected": "NAMMD, ours",
}


def _joined(results: Results[_Supports], what: str, test: str, **where: Any) -> dict[str, float]:
    return joined(v[what][test] for v in results.where(**where))


def _section(results: Results[_Supports]) -> Section:
    rows, behind = [], _behind(results, "learned")
    for data in DATASETS:
        canonne = {e: _joined(results, "power", "canonne", data=data, margin=e) for e in MARGINS}
        ours = {e: _joined(results, "power", "learned", data=data, margin=e) for e in MARGINS}
        for name, printed, found in (("Canonne's", CANONNE, canonne), ("NAMMD", NAMMD, ours)):
            cells = (
                f"{theirs:.3f} / {shown(found[e])}"
                for (theirs, _), e in zip(printed[data], MARGINS, strict=True)
            )
            rows.append([f"{data}, {name}", *cells])
    tests = [
        [
            title,
            *(shown(_joined(results, what, test, margin=e)) for e in MARGINS for what in ("level", "power")),
        ]
        for test, title in _SHOWN.items()
    ]
    # Canonne's test does not see the points, so the runs of all data count as runs of the known one.
    agreeing = _near(results, CANONNE, "canonne")
    ours_agreeing = _near(results, NAMMD, "learned", data=KNOWN)
    body = (
        f"P is uniform over {POINTS} points of a data set; Q moves every probability by ε'/{POINTS}, up on "
        f"one half of the points and down on the other. The margin is at ε', the truth at ε' + {GAP:g}. "
        f"Rows: {', '.join(f'{SIZES[e]} at {e:g}' for e in MARGINS)}, the authors' for {KNOWN} and taken "
        "for all. NAMMD has, as in the authors' runs, a Mahalanobis kernel that "
        "maximises MMD on other samples, and a threshold that is resampled at the margin. Power, "
        "paper / ours:\n\n"
        + table(["data and test", *(f"ε' = {e:g}" for e in MARGINS)], rows)
        + "\nOver all data, with the tests that need no resampling; level is the share rejected at the "
        "margin:\n\n"
        + table(["test", *(f"{what}, {e:g}" for e in MARGINS for what in ("level", "power"))], tests)
        + "\nWith ε' as the total variation, as the text has it, Canonne's test has the power "
        + "/".join(f"{_joined(results, 'power', 'canonne, as said', margin=e)['mean']:.3f}" for e in MARGINS)
        + ".\n"
        + "\nNAMMD's power by kernel:\n\n"
        + _kernels(results)
    )
    total = len(MARGINS)
    sentence = (
        f"Of the printed powers for {KNOWN}, {agreeing} of {total} of Canonne's test and {ours_agreeing} of "
        f"{total} of NAMMD's are within two joint standard errors of ours. With the learned kernel "
    )
    selected = _behind(results, "selected")
    sentence += (
        f"NAMMD's power is below Canonne's, by more than two standard errors, in {len(behind)} of 20 cells, "
        f"with a selected bandwidth in {len(selected)}; the paper in one, blob at 0.7."
    )
    return Section(
        body=body,
        sentence=sentence,
        claim=_claim(results),
        corrections=_corrections(results),
        notes=[_rows_needed(results)],
        compared=[
            Compared(_joined(results, "power", test, margin=e, **where), *both)
            for printed, test, where in ((CANONNE, "canonne", {}), (NAMMD, "learned", {"data": KNOWN}))
            for e, both in zip(MARGINS, printed[KNOWN], strict=True)
        ],
    )


def _claim(results: Results[_Supports]) -> Claim:
    """Hold the authors' kernel against Canonne's test, as the table has it."""
    comparisons = []
    for data in DATASETS:
        for k, e in enumerate(MARGINS):
            theirs, ours = (_joined(results, "power", t, data=data, margin=e) for t in ("canonne", "learned"))
            gap, error = ours["mean"] - theirs["mean"], math.hypot(ours["se"], theirs["se"])
            # The text excepts the one cell that is printed the other way.
            sign = 1 if NAMMD[data][k][0] > CANONNE[data][k][0] else -1
            comparisons.append(higher(f"{data}, ε' = {e:g}", sign * gap, error))
    return Claim(
        "NAMMD generally performs better than Canonne's test, except on blob at ε' = 0.7.",
        comparisons,
    )


def _behind(results: Results[_Supports], test: str) -> list[str]:
    """Return where NAMMD's power is below Canonne's by more than two standard errors."""
    found = []
    for data in DATASETS:
        for e in MARGINS:
            theirs, ours = (_joined(results, "power", t, data=data, margin=e) for t in ("canonne", test))
            if ours["mean"] < theirs["mean"] - 2 * (theirs["se"] ** 2 + ours["se"] ** 2) ** 0.5:
                found.append(f"{data} {e:g}")
    return found


def _kernels(results: Results[_Supports]) -> str:
    lines = []
    for name in ("half median", "selected", "learned"):
        factors = [v["bandwidth"] for v in results.where()]
        title = {
            "selected": f"selected ({min(factors):.2f}–{max(factors):.2f} medians)",
            "half median": "half-median",
            "learned": "learned",
        }[name]
        for times in ("", ", twice the rows"):
            cells = (shown(_joined(results, "power", f"{name}{times}", margin=e)) for e in MARGINS)
            lines.append([title + times.replace("twice the ", "2×"), *cells])
    printed = (sum(NAMMD[d][k][0] for d in DATASETS) / len(DATASETS) for k in range(len(MARGINS)))
    lines.append(["printed, mean", *(f"{value:.3f}" for value in printed)])
    return table(["kernel", *(f"ε' = {e:g}" for e in MARGINS)], lines)


def _near(results: Results[_Supports], printed: Any, test: str, **where: Any) -> int:
    """Count the printed powers of the data set with known sizes that are within two errors of ours."""
    return sum(
        Compared(_joined(results, "power", test, margin=e, **where), *both).agrees
        for e, both in zip(MARGINS, printed[KNOWN], strict=True)
    )


def _corrections(results: Results[_Supports]) -> list[str]:
    total, found = len(MARGINS), []
    made, said = (_near(results, CANONNE, test) for test in ("canonne", "canonne, as said"))
    if made > said:
        found.append(
            "The margins of the table on total variation are half of what is said. With q = (1 ± ε')/n, "
            f"whose total variation is ε'/2, {made} of {total} printed powers of Canonne's test for {KNOWN} "
            f"come out within two joint standard errors; with ε' as the total variation {said}."
        )
    return found


def _rows_needed(results: Results[_Supports]) -> str:
    """Say with how many rows NAMMD shows its printed powers."""
    total = len(MARGINS)
    once, twice = (_near(results, NAMMD, f"half median{t}", data=KNOWN) for t in _TIMES)
    text = (
        f"With half the median distance as bandwidth {twice} of {total} printed powers of NAMMD for {KNOWN} "
        f"come out with twice the rows, and {once} with as many"
    )
    selected = [_joined(results, "power", "selected", data=KNOWN, margin=e)["mean"] for e in MARGINS]
    if all(ours >= theirs for ours, (theirs, _) in zip(selected, NAMMD[KNOWN], strict=True)):
        text += "; the selected bandwidth exceeds them all"
    return f"{text}."


_TIMES = ("", ", twice the rows")


EXPERIMENT = Experiment(
    name="total_variation",
    labels=("TAB:tv",),
    title="NAMMD and total variation over finite supports",
    seed=31,
    quick=_Supports(repetitions=20, runs=2),
    full=_Supports(repetitions=100, runs=10, resamples=299),
    tiny=_Supports(repetitions=2, runs=1, resamples=19),
    cells=_cells,
    run_cell=_run,
    section=_section,
    data=NEEDS,
)
