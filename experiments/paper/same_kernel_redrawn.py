"""Closeness tests with one kernel on pairs that are drawn as the authors drew them (TAB:same_mmd)."""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.paper.benchmark_data import NEEDS
from experiments.paper.closeness_tables import Pairs, cells, runner, section
from experiments.paper.same_kernel import PAPER, PAPER_ERRORS
from experiments.results import Results
from experiments.section import Section

KNOWN_ROWS = {"blob": 3000}
"""The authors' sample sizes, where they are known."""


def _section(results: Results[Pairs]) -> Section:
    [known] = KNOWN_ROWS
    sizes = [v["rows"] for data in PAPER if data != known for v in results.where(data=data)]
    return section(
        results,
        PAPER,
        PAPER_ERRORS,
        f"The authors' protocol: each pair from {results.settings.points} rows of its own, drawn anew until "
        "the norms and MMD² of the second are larger, and samples with replacement, of "
        f"{min(KNOWN_ROWS[known], results.settings.most_rows)} rows for {known}; of the others the number is "
        f"not known, and it is chosen for a power of about {results.settings.power:g} ({min(sizes)} to "
        f"{max(sizes)}). As above, rows are first drawn towards their means: from where they are, Adam "
        "reaches no NAMMD of 0.3 under the selected kernel.",
        known=known,
    )


EXPERIMENT = Experiment(
    name="same_kernel_redrawn",
    labels=("same-mmd-redrawn",),
    title="Closeness tests with one kernel, pairs redrawn",
    seed=66,
    quick=Pairs(repetitions=50, runs=1, points=80, choice_rows=500, most_rows=3000),
    full=Pairs(repetitions=100),
    tiny=Pairs(
        repetitions=2, runs=1, points=20, choice_rows=50, epsilons=(0.3,), least_rows=100, most_rows=100
    ),
    cells=cells,
    run_cell=runner(share=1.0, redrawn=True, known_rows=KNOWN_ROWS),
    section=_section,
    data=NEEDS,
)
