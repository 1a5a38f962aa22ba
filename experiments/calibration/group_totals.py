"""The level of sketches and single columns where rows belong together, with pairs of laws at the margin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import nammd
from experiments.calibration import grid
from experiments.calibration.grid import ALPHA, ASKED
from experiments.calibration.group_data import SIZES, draw, labels
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.datasets.laws.features import nammd_under
from nammd.datasets.laws.mixtures import pair_at
from nammd.questions.closeness import closeness_of
from nammd.statistics.difference import Difference
from nammd.statistics.margin import margin
from nammd.statistics.pair import Pair
from nammd.views.comparing import group_pair
from nammd.views.counts import NumberCounts
from nammd.views.features import ColumnRows
from nammd.views.grouped import AspectUnits, column_units, pairs_by_totals
from nammd.views.placed import pair_of_counts, pair_of_placed, placed

_PAIRS = (
    ("shifted normal", 0.05),
    ("shifted normal", 0.2),
    ("concentrated normal", 0.2),
    ("scaled normal", 0.1),
    ("contaminated", 0.02),
    ("contaminated", 0.3),
    ("two points", 0.1),
    ("rare stray", 0.3),
)
_KERNEL = nammd.Gaussian(1.0)
"""That of `pair_at`, and that of single columns."""

KINDS = {
    "sketch": "sketches, epsilon under the features",
    "column": "a column against a number",
    "bar": "a column against an accepted dataset, the same reference",
}
_SEED = 1


@dataclass(frozen=True)
class _Totals(Settings):
    """Settings.

    Attributes
    ----------
    features : int
        The number of random features of a sketch.
    settings : tuple of str
        What to measure (see `KINDS`), the number of groups, and how large they are.
    correlations : tuple of float
        How rows of a group go together.
    """

    features: int = 128
    settings: tuple[str, ...] = (
        "sketch 30 unequal",
        "sketch 100 unequal",
        "column 12 unequal",
        "column 30 equal",
        "column 30 unequal",
        "column 100 unequal",
        "bar 30 unequal",
    )
    correlations: tuple[float, ...] = (0.0, 0.6)


def _cells(settings: _Totals) -> Iterator[Cell]:
    for setting in settings.settings:
        kind, count, sizes = setting.split()
        for law, value in _PAIRS:
            for correlation in settings.correlations:
                for chunk, times in chunks(settings.repetitions, 50):
                    yield {
                        "kind": kind,
                        "law": law,
                        "margin": value,
                        "size": count,
                        "sizes": sizes,
                        "correlation": correlation,
                        "chunk": chunk,
                        "count": times,
                    }


def _run(settings: _Totals, cell: Cell, context: Context) -> Values:
    laws = pair_at(str(cell["law"]), float(cell["margin"]))
    counts: Counter[str] = Counter()
    for asked in ASKED:
        counts[asked] = counts[f"{asked}, naive"] = 0
    for _ in range(int(cell["count"])):
        _ONE[str(cell["kind"])](settings, laws, cell, context.rng, counts)
    return dict(counts)


def _drawn(laws: Any, cell: Cell, rng: np.random.Generator) -> list[tuple[FloatArray, Any]]:
    found = []
    for law in laws:
        groups = labels(rng, int(cell["size"]), str(cell["sizes"]))
        found.append((draw(law, rng, groups, float(cell["correlation"])), groups))
    return found


def _sketch(settings: _Totals, laws: Any, cell: Cell, rng: np.random.Generator, counts: Counter[str]) -> None:
    features = nammd.RandomFeatures(_KERNEL, settings.features, rng=_SEED)
    value = nammd_under(features, *laws)
    (x, gx), (y, gy) = _drawn(laws, cell, rng)
    one = nammd.Sketch.of(x, features, threads=1, groups=gx)
    two = nammd.Sketch.of(y, features, threads=1, groups=gy + len(gx))  # other groups
    grouped = nammd.distance(one, two, kernel=features)
    naive = nammd.distance(*(nammd.Sketch.of(z, features, threads=1) for z in (x, y)), kernel=features)
    for asked, alternative in ASKED.items():
        for name, estimate in ((asked, grouped), (f"{asked}, naive", naive)):
            counts[name] += closeness_of(estimate, value, alternative, ALPHA, "corrected").rejected


def _units(drawn: tuple[FloatArray, Any], name: str) -> AspectUnits:
    rows, groups = drawn
    names = tuple(f"{name}{k:06d}" for k in range(int(groups.max()) + 1))
    return column_units(ColumnRows(places=np.ravel(rows)), RowUnits(groups, names))["values"]


def _column(settings: _Totals, laws: Any, cell: Cell, rng: np.random.Generator, counts: Counter[str]) -> None:
    x, y = _drawn(laws, cell, rng)
    grouped = group_pair(_units(x, "x"), _units(y, "y"))
    naive = pair_of_counts(*(NumberCounts.of(np.ravel(rows), 0) for rows, _ in (x, y)))
    for asked, alternative in ASKED.items():
        for name, pair in ((asked, grouped), (f"{asked}, naive", naive)):
            found = margin(pair, float(cell["margin"]), "corrected", alternative)
            counts[name] += found.pvalue(alternative) <= ALPHA


def _bar(settings: _Totals, laws: Any, cell: Cell, rng: np.random.Generator, counts: Counter[str]) -> None:
    x, accepted = _drawn(laws, cell, rng)
    _, y = _drawn(laws, cell, rng)
    between = pairs_by_totals([_units(x, "x"), _units(y, "y"), _units(accepted, "a")])
    plain = [NumberCounts.of(np.ravel(rows), 0) for rows, _ in (x, y, accepted)]
    one, two, three = placed(plain)
    counts["too far"] += _farther(between(0, 2), between(0, 1))
    counts["too far, naive"] += _farther(pair_of_placed(one, three), pair_of_placed(one, two))


def _farther(bar: Pair, candidate: Pair) -> bool:
    return bool(Difference.of(bar, candidate, True).swapped.closer() <= ALPHA)


_ONE: dict[str, Any] = {"sketch": _sketch, "column": _column, "bar": _bar}


def _section(results: Results[_Totals]) -> Section:
    body = (
        "Rows of a group go together, by the correlation given, but each follows its law. Sketches keep "
        f"totals over groups, here of {results.settings.features} random features; a column by itself is "
        "compared by the sums of each of its groups, and with accepted datasets by totals. Every rejection "
        f"is an error. Smallest and largest share over {len(_PAIRS)} pairs of laws, of "
        f"{results.settings.repetitions} samples each, groups of 5 rows and of 1 to 30:\n\n" + _table(results)
    )
    return Section(body=body, sentence=_sentence(results))


def _spots(results: Results[_Totals], **wanted: Any) -> list[grid.Spot]:
    settings = [
        {"sizes": sizes, "correlation": correlation} | wanted
        for sizes in SIZES
        for correlation in results.settings.correlations
        if wanted.get("correlation", correlation) == correlation
    ]
    return [spot for each in settings for spot in grid.spots(results, **each)]


def _table(results: Results[_Totals]) -> str:
    rows = []
    for kind, told in KINDS.items():
        for count in sorted({int(s.split()[1]) for s in results.settings.settings if s.startswith(kind)}):
            for correlation in results.settings.correlations:
                here = _spots(results, kind=kind, size=str(count), correlation=correlation)
                names = [name for asked in ASKED for name in (asked, f"{asked}, naive")]
                shown = [
                    "" if kind == "bar" and name.startswith("close") else grid.spread(here, name)
                    for name in names
                ]
                rows.append([told, f"{count}", f"{correlation:g}", *shown])
    heads = [f"proving {asked}{naive}" for asked in ASKED for naive in ("", ", naive")]
    return table(["what", "groups", "correlation", *heads], rows)


def _sentence(results: Results[_Totals]) -> str:
    here = [spot for kind in KINDS for spot in _spots(results, kind=kind)]
    worst = {asked: max(spot.rate(asked) for spot in here) for asked in ASKED}
    naive = {asked: max(spot.rate(f"{asked}, naive") for spot in here) for asked in ASKED}
    return (
        f"*Too far* at most {worst['too far']:.3f} and *close* at most {worst['close']:.3f}, where the naive "
        f"tests reach {naive['too far']:.3f} and {naive['close']:.3f}."
    )


EXPERIMENT = Experiment(
    name="calibration_group_totals",
    labels=("calibration-group-totals",),
    title="Level of sketches and of single columns where rows belong together",
    seed=72,
    quick=_Totals(repetitions=50, settings=("sketch 100 unequal", "column 30 unequal", "bar 30 unequal")),
    full=_Totals(repetitions=300),
    tiny=_Totals(
        repetitions=2,
        features=16,
        settings=("sketch 12 unequal", "column 12 equal", "bar 12 unequal"),
        correlations=(0.6,),
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
