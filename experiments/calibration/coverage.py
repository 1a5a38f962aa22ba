"""How often confidence intervals contain the distance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

import nammd
from experiments.calibration import grid
from experiments.calibration.grid import Dots, Grid, Spot
from experiments.experiment import Cell, Context, Experiment, Values
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.summary import counted
from nammd.questions.distance import Estimate
from nammd.statistics.margin import quantile

LEVEL = 0.95
INTERVALS = ("paper", "delta", "nammd")


def _cells(settings: Grid) -> Iterator[Cell]:
    return grid.cells(settings)


def _run(settings: Grid, cell: Cell, context: Context) -> Values:
    pair = grid.pair_of(cell)
    m, n = grid.rows_of(str(cell["size"]))
    counts: defaultdict[str, float] = defaultdict(int)
    for _ in range(int(cell["count"])):
        x, y = pair.sample(context.rng, m, n)
        estimate = nammd.distance(x, y, kernel=pair.kernel, engine=context.engine)
        for name, (low, high) in _intervals(estimate).items():
            counts[f"{name} too high"] += low > pair.nammd
            counts[f"{name} too low"] += high < pair.nammd
            counts[f"{name} covers"] += low <= pair.nammd <= high
            counts[f"{name} length"] += 0.0 if math.isnan(high) else min(high, 1.0) - max(low, 0.0)
    return counts


def _intervals(estimate: Estimate) -> dict[str, tuple[float, float]]:
    """Return the estimate plus and minus two of the paper's standard errors, or of ours; and our interval."""
    reach = quantile((1 + LEVEL) / 2)
    variance = estimate.pair.moments.variance(1.0)
    paper = math.sqrt(variance) / estimate.pair.scale if variance > 0 else math.nan
    return {
        "paper": (estimate.value - reach * paper, estimate.value + reach * paper),
        "delta": (
            estimate.value - reach * estimate.standard_error,
            estimate.value + reach * estimate.standard_error,
        ),
        "nammd": estimate.confidence_interval(LEVEL),
    }


def _section(results: Results[Grid]) -> Section:
    found, settings = grid.spots(results), results.settings
    laws, pairs = len({s.law for s in found}), len({(s.law, s.margin) for s in found})
    body = (
        f"{counted(pairs, 'pair')} of {counted(laws, 'law')} at distances that are known exactly; at 0 both "
        f"samples are of one law. Intervals of {LEVEL:.0%} confidence: *paper* is the estimate plus and "
        f"minus {quantile((1 + LEVEL) / 2):.2f} standard errors of the paper's variance (over all "
        "cross pairs, as are all three), *delta* the same "
        "with the standard error that nammd prints (where the paper's variance is not positive there is no "
        "interval, and nothing is covered), and *nammd* is `confidence_interval`, which inverts the "
        "corrected tests. The smallest and the largest coverage over all pairs, and how many are below "
        f"{LEVEL:g} by more than chance explains, which is {grid.band_text(settings, LEVEL)}:\n\n"
        + _sizes_table(found, settings)
        + "\nWhere the intervals miss: the largest share, over all pairs, of intervals that lie below the "
        f"distance / above it; {(1 - LEVEL) / 2:.3f} each is what they may:\n\n"
        + _misses_table(found, settings)
        + "\nThe coverage of nammd's intervals by distance, smallest and mean over the laws, and their mean "
        "length as a multiple of that of *delta*:\n\n" + _margins_table(found, settings)
    )
    dots = Dots(grid.by_size(found, settings), settings.margins, LEVEL, (0.5, 1.0), "rows", "covered")
    return Section(
        body=body,
        sentence=_sentence(found),
        pictures=[
            Picture(
                "calibration_coverage",
                f"Coverage of {LEVEL:.0%} intervals; each dot is a pair of laws, and all dots should lie in "
                "or above the grey band. Triangles are below the edge.",
                lambda figure: dots.draw(
                    figure,
                    [{title: f"{name} covers" for title, name in zip(_TITLES, INTERVALS, strict=True)}],
                ),
                (8.4, 3.4),
            )
        ],
        notes=_notes(found),
    )


_TITLES = ("± the paper's errors", "± delta errors", "nammd's intervals")


def _sizes_table(found: Sequence[Spot], settings: Grid) -> str:
    rows = []
    for size in settings.sizes:
        here = [s for s in found if s.size == size]
        row = [grid.size_name(size), str(len(here))]
        for name in INTERVALS:
            off = sum(s.below(f"{name} covers", LEVEL) for s in here)
            row.append(f"{grid.spread(here, f'{name} covers')}; {off}")
        rows.append(row)
    return table(["rows", "pairs", *INTERVALS], rows)


def _misses_table(found: Sequence[Spot], settings: Grid) -> str:
    rows = []
    for size in settings.sizes:
        here = [s for s in found if s.size == size]
        row = [grid.size_name(size)]
        for name in INTERVALS:
            sides = (max(s.rate(f"{name} {side}") for s in here) for side in ("too low", "too high"))
            row.append(" / ".join(f"{share:.3f}" for share in sides))
        rows.append(row)
    return table(["rows", *INTERVALS], rows)


def _margins_table(found: Sequence[Spot], settings: Grid) -> str:
    rows = []
    for margin in settings.margins:
        row = [f"{margin:g}"]
        for size in settings.sizes:
            here = [s for s in found if s.size == size and s.margin == margin]
            covers = [s.rate("nammd covers") for s in here]
            longer = [s.counts["nammd length"] / s.counts["delta length"] for s in here]
            row.append(f"{min(covers):.3f}, {np.mean(covers):.3f}; × {np.mean(longer):.2f}")
        rows.append(row)
    return table(["NAMMD", *(f"{grid.size_name(size)} rows" for size in settings.sizes)], rows)


def _sentence(found: Sequence[Spot]) -> str:
    parts = []
    for name, words in zip(INTERVALS, ("the paper's", "the delta", "nammd's own"), strict=True):
        worst = min(found, key=lambda s, name=name: s.rate(f"{name} covers"))  # type: ignore[misc]
        off = sum(s.below(f"{name} covers", LEVEL) for s in found)
        parts.append(
            f"{words} down to {worst.told(f'{name} covers')}, too seldom in {off} of {len(found)} settings"
        )
    return f"Intervals cover: {'; '.join(parts)}."


def _notes(found: Sequence[Spot]) -> list[str]:
    notes = []
    off = [s for s in found if s.below("nammd covers", LEVEL)]
    if off:
        notes.append(
            f"Where nammd's intervals cover too seldom: {'; '.join(s.told('nammd covers') for s in off)}; "
            f"{grid.by_chance(found, LEVEL)}."
        )
    near = [s for s in found if s.rate("nammd covers") > LEVEL and s.margin <= 0.01]
    if near:
        longer = float(np.mean([s.counts["nammd length"] / s.counts["delta length"] for s in near]))
        notes.append(
            f"Near zero nammd's intervals cover more often than they have to, in {len(near)} of "
            f"{sum(s.margin <= 0.01 for s in found)} settings at a distance of at most 0.01, where they are "
            f"on average {longer:.1f} times as long as *delta*: the price of a bound that holds there."
        )
    return notes


EXPERIMENT = Experiment(
    name="calibration_coverage",
    labels=("calibration-coverage",),
    title="Coverage of confidence intervals",
    seed=62,
    quick=Grid(repetitions=100, large_repetitions=100, margins=(0.0, 0.05, 0.7), sizes=("20", "100")),
    full=Grid(
        repetitions=400,
        large_repetitions=200,
        large_rows=200,
        margins=(0.0, 0.005, 0.05, 0.2, 0.7),
        sizes=("20", "100", "500", "50+500"),
    ),
    tiny=Grid(repetitions=3, large_repetitions=2, margins=(0.05,), sizes=("20",)),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
