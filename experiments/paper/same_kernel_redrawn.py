"""Closeness tests with one kernel on pairs that are drawn as the authors drew them (TAB:same_mmd, blob)."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.experiment import Cell, Experiment
from experiments.paper.closeness_tables import Pairs, powers_beside, runner
from experiments.paper.same_kernel import PAPER, PAPER_ERRORS
from experiments.results import Results
from experiments.section import Section

DATA = "blob"


def _cells(settings: Pairs) -> Iterator[Cell]:
    for epsilon in settings.epsilons:
        for run in range(settings.runs):
            yield {"data": DATA, "epsilon": epsilon, "run": run}


def _section(results: Results[Pairs]) -> Section:
    return powers_beside(
        results,
        DATA,
        PAPER[DATA],
        PAPER_ERRORS[DATA],
        f"The authors' protocol, whose sizes are known for {DATA}: each pair from {results.settings.points} "
        "rows of its own, drawn anew until the norms and MMD² of the second are larger, and samples of "
        f"{results.settings.most_rows} rows with replacement. As above, rows are first drawn towards their "
        "means: from where they are, Adam reaches no NAMMD of 0.3 under the selected kernel.",
    )


EXPERIMENT = Experiment(
    name="same_kernel_redrawn",
    labels=("same-mmd-redrawn",),
    title="Closeness tests with one kernel, pairs redrawn",
    seed=66,
    quick=Pairs(repetitions=50, runs=2, points=100, choice_rows=500, least_rows=3000, most_rows=3000),
    full=Pairs(repetitions=100, least_rows=3000, most_rows=3000),
    tiny=Pairs(
        repetitions=2, runs=1, points=20, choice_rows=50, epsilons=(0.3,), least_rows=100, most_rows=100
    ),
    cells=_cells,
    run_cell=runner(share=1.0, redrawn=True),
    section=_section,
)
