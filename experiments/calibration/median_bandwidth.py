"""The level of closeness tests whose bandwidth is the median distance of the tested rows themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import nammd
from experiments.calibration import grid
from experiments.calibration.grid import ALPHA, ASKED, Spot
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from nammd.datasets.laws import mixtures
from nammd.questions.closeness import closeness_of

BANDWIDTHS = ("median", "fixed")
_PAIRS = (
    ("shifted normal", 0.05),
    ("scaled normal", 0.1),
    ("concentrated normal", 0.2),
    ("contaminated", 0.3),
)
"""Laws, and how far apart they are under a bandwidth of 1."""
_FIXING_ROWS = 2000


@dataclass(frozen=True)
class _Samples(Settings):
    """Settings.

    Attributes
    ----------
    sizes : tuple of str
        The rows of either sample.
    """

    sizes: tuple[str, ...] = ("50", "200")


def _cells(settings: _Samples) -> Iterator[Cell]:
    for law, margin in _PAIRS:
        for size in settings.sizes:
            for chunk, count in chunks(settings.repetitions, 1000):
                yield {"law": law, "margin": margin, "size": size, "chunk": chunk, "count": count}


def _run(settings: _Samples, cell: Cell, context: Context) -> Values:
    law, value = str(cell["law"]), float(cell["margin"])
    p, q = mixtures.pair_at(law, value)
    fixed = _fixed_kernel(law, value)
    counts: Counter[str] = Counter()
    for _ in range(int(cell["count"])):
        x, y = (one.sample(context.rng, int(cell["size"])) for one in (p, q))
        for name, kernel in (("median", nammd.Gaussian.median(x, y)), ("fixed", fixed)):
            # Where the bandwidth varies, so does the distance of the laws: every test is at its boundary.
            margin = mixtures.nammd_of(p, q, kernel.bandwidth)
            estimate = nammd.distance(x, y, kernel=kernel, engine=context.engine)
            for asked, alternative in ASKED.items():
                test = closeness_of(estimate, margin, alternative, ALPHA, "corrected")
                counts[f"{name} {asked}"] += test.rejected
    return dict(counts)


@cache
def _fixed_kernel(law: str, value: float) -> nammd.Gaussian:
    """Return the kernel with the median bandwidth of rows that are never tested."""
    rng = np.random.default_rng(0)
    return nammd.Gaussian.median(*(one.sample(rng, _FIXING_ROWS) for one in mixtures.pair_at(law, value)))


def _section(results: Results[_Samples]) -> Section:
    found = grid.spots(results)
    shown = _table(found, results.settings)
    body = (
        "A closeness test takes its bandwidth from the rows that it tests, if nobody gives it one. Does it "
        "hold its level nevertheless? The margin is the exact NAMMD of the two laws under the kernel that "
        "the sample chose, so every test is at its boundary and every rejection is an error. Beside it, on "
        f"the same samples, the bandwidth is fixed: the median of {_FIXING_ROWS} other rows of each law. "
        "Shares of samples in which the laws are wrongly proven too far apart, or close:\n\n" + shown
    )
    return Section(
        body=body,
        sentence=_sentence(found),
        tables={"median-level.md": shown},
    )


def _table(found: Sequence[Spot], settings: _Samples) -> str:
    names = [f"{bandwidth} {asked}" for bandwidth in BANDWIDTHS for asked in ASKED]
    rows = [[spot.law, spot.size, *(f"{spot.rate(name):.3f}" for name in names)] for spot in found]
    head = ["laws", "rows each", *(f"proving {asked}" for asked in ASKED)]
    head += [f"{asked}, fixed bandwidth" for asked in ASKED]
    noise = grid.noise(ALPHA, settings.repetitions)
    note = (
        f"Shares of {settings.repetitions} samples at the boundary rejected at level {ALPHA:g}; a share of "
        f"{ALPHA:g} has a standard error of {noise:.3f}."
    )
    return table(head, rows) + f"\n{note}\n"


def _sentence(found: Sequence[Spot]) -> str:
    parts = []
    for name in BANDWIDTHS:
        off = sum(spot.above(f"{name} {asked}") for spot in found for asked in ASKED)
        ranges = " and ".join(f"{grid.spread(found, f'{name} {asked}')} *{asked}*" for asked in ASKED)
        words = "the median bandwidth of the tested rows" if name == "median" else "a fixed bandwidth"
        parts.append(
            f"with {words} the rates are {ranges}, above {ALPHA:g} by more than {grid.ERRORS:g} standard "
            f"errors in {off} of {len(found) * len(ASKED)}"
        )
    moved = [
        abs(spot.rate(f"median {asked}") - spot.rate(f"fixed {asked}")) for spot in found for asked in ASKED
    ]
    told = "; ".join(parts)
    return f"{told[0].upper()}{told[1:]}. The two differ by at most {max(moved):.3f}."


EXPERIMENT = Experiment(
    name="calibration_median_bandwidth",
    labels=("calibration-median-bandwidth",),
    title="Level with the median bandwidth of the tested rows",
    seed=66,
    quick=_Samples(repetitions=200),
    full=_Samples(repetitions=4000),
    tiny=_Samples(repetitions=3, sizes=("20",)),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
