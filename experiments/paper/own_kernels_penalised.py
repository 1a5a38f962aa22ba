"""Closeness tests with a kernel for NAMMD that is learned with a penalty on the norms (TAB:diff_mmd)."""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.paper.benchmark_data import NEEDS
from experiments.paper.closeness_tables import Pairs, cells, runner, section
from experiments.paper.own_kernels import PAPER, PAPER_ERRORS
from experiments.results import Results
from experiments.section import Section

PENALTY = 0.01
"""The weight of 4 - (xx + yy) / K beside the studentized statistic; the paper does not give its own."""


def _section(results: Results[Pairs]) -> Section:
    widths = [v["bandwidths"] for v in results.where()]
    ratios = sorted(own / mmd for mmd, own in widths)
    return section(
        results,
        PAPER,
        PAPER_ERRORS,
        f"The same with the paper's penalty, `learn_kernel(regularize_norm={PENALTY:g})`; the paper does not "
        f"give the weight. NAMMD's kernel is {ratios[0]:.2g} to {ratios[-1]:.2g} times as wide as MMD's, "
        f"{ratios[len(ratios) // 2]:.2g} in the middle. Pairs and samples as above, here "
        f"{results.settings.points} points.",
    )


EXPERIMENT = Experiment(
    name="own_kernels_penalised",
    labels=("diff-mmd-penalised",),
    title="Closeness tests with two kernels, the paper's penalty",
    seed=67,
    quick=Pairs(repetitions=50, runs=1, points=80, choice_rows=300),
    full=Pairs(repetitions=100, choice_rows=400),
    tiny=Pairs(
        repetitions=2, runs=1, points=10, choice_rows=50, epsilons=(0.3,), least_rows=20, most_rows=100
    ),
    cells=cells,
    run_cell=runner(share=1.0, penalty=PENALTY),
    section=_section,
    data=NEEDS,
)
