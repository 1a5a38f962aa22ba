"""The level of tests on sketches of some hundred rows, with pairs of laws exactly at the margin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import nammd
from experiments.calibration import grid
from experiments.calibration.grid import ALPHA, ASKED
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.summary import counted
from nammd.datasets.laws.features import nammd_under
from nammd.datasets.laws.mixtures import pair_at
from nammd.questions.closeness import closeness_of

_PAIRS = (
    ("shifted normal", 0.05),
    ("shifted normal", 0.2),
    ("concentrated normal", 0.2),
    ("concentrated normal", 0.7),
    ("scaled normal", 0.1),
    ("five columns", 0.2),
    ("contaminated", 0.02),
    ("contaminated", 0.3),
    ("two points", 0.1),
    ("uneven spread", 0.3),
    ("rare stray", 0.3),
)
_KERNEL = nammd.Gaussian(1.0)
"""The one for which `pair_at` has pairs at a given distance."""

MEANT = {
    "own": "under the features, the same ones each time",
    "exact": "under the exact kernel, other features each time",
    "neglected": "the same without the variance over frequencies",
}
"""Under which kernel epsilon is, by what a cell says."""
_SHORT = {
    "own": "under the features",
    "exact": "under the exact kernel",
    "neglected": "without the variance over frequencies",
}
_SEED = 1
"""Of the features that are the same each time."""


@dataclass(frozen=True)
class _Sketched(Settings):
    """Settings.

    Attributes
    ----------
    features : int
        The number of features.
    settings : tuple of str
        What to measure: which kernel epsilon is under (see `MEANT`), and the rows of either sample.
    """

    features: int = 128
    settings: tuple[str, ...] = ("own 200", "own 1000", "exact 500", "neglected 500")


def _cells(settings: _Sketched) -> Iterator[Cell]:
    for setting in settings.settings:
        meant, size = setting.split()
        for law, margin in _PAIRS:
            for chunk, count in chunks(settings.repetitions, 1000):
                yield {
                    "meant": meant,
                    "law": law,
                    "margin": margin,
                    "size": size,
                    "chunk": chunk,
                    "count": count,
                }


def _run(settings: _Sketched, cell: Cell, context: Context) -> Values:
    p, q = pair_at(str(cell["law"]), float(cell["margin"]))
    own = cell["meant"] == "own"
    counts: Counter[str] = Counter()
    for _ in range(int(cell["count"])):
        features = nammd.RandomFeatures(_KERNEL, settings.features, rng=_SEED if own else context.rng)
        margin = nammd_under(features, p, q) if own else float(cell["margin"])
        x, y = (
            nammd.Sketch.of(law.sample(context.rng, int(cell["size"])), features, threads=1) for law in (p, q)
        )
        # Features given as the kernel are taken for exact, and then nothing is added for them.
        estimate = nammd.distance(x, y, kernel=None if cell["meant"] == "exact" else features)
        for asked, alternative in ASKED.items():
            counts[asked] += closeness_of(estimate, margin, alternative, ALPHA, "corrected").rejected
    return dict(counts)


def _section(results: Results[_Sketched]) -> Section:
    shown = _table(results)
    body = (
        f"Samples of {counted(len(_PAIRS), 'pair')} of laws at a known distance are sketched with "
        f"{results.settings.features} random features, and tested with that distance as the margin: every "
        "rejection is an error. Epsilon is meant under the features themselves, which are then all there is "
        "to know; or under the exact kernel, and then the variance over the frequencies has to be added. "
        "The last row leaves it out:\n\n" + shown
    )
    return Section(
        body=body,
        sentence=_sentence(results),
        notes=_notes(results),
        tables={"sketch-level-samples.md": shown},
    )


def _table(results: Results[_Sketched]) -> str:
    settings = results.settings
    rows = []
    for setting in settings.settings:
        meant, size = setting.split()
        here = grid.spots(results, meant=meant, size=size)
        rows.append([MEANT[meant], size, *(grid.spread(here, asked) for asked in ASKED)])
    head = ["epsilon is meant", "rows each", *(f"proving {asked}" for asked in ASKED)]
    note = (
        f"Smallest and largest share over {len(_PAIRS)} pairs of laws, of {settings.repetitions} samples "
        f"each; Gaussian kernel, {settings.features} features, level {ALPHA:g}."
    )
    return table(head, rows) + f"\n{note}\n"


def _sentence(results: Results[_Sketched]) -> str:
    parts = []
    for setting in results.settings.settings:
        meant, size = setting.split()
        here = grid.spots(results, meant=meant, size=size)
        off = sum(spot.above(asked) for spot in here for asked in ASKED)
        parts.append(f"{off} of {len(here) * len(ASKED)} {_SHORT[meant]}, with {size} rows")
    return (
        f"Rates above {ALPHA:g} by more than {grid.ERRORS:g} standard errors "
        f"(± {grid.ERRORS * grid.noise(ALPHA, results.settings.repetitions):.3f}): {'; '.join(parts)}."
    )


def _notes(results: Results[_Sketched]) -> list[str]:
    notes = []
    for setting in results.settings.settings:
        meant, size = setting.split()
        if meant == "neglected":  # it is meant to be off
            continue
        here = grid.spots(results, meant=meant, size=size)
        each = [f"{spot.told(asked)} *{asked}*" for asked in ASKED for spot in here if spot.above(asked)]
        if each:
            notes.append(f"Too often with epsilon {_SHORT[meant]}: {'; '.join(each)}.")
    return notes


EXPERIMENT = Experiment(
    name="calibration_sketch_samples",
    labels=("calibration-sketch-samples",),
    title="Level of tests on sketches of samples",
    seed=69,
    quick=_Sketched(repetitions=50),
    full=_Sketched(repetitions=2000),
    tiny=_Sketched(repetitions=2, features=16, settings=("own 20", "exact 20", "neglected 20")),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
