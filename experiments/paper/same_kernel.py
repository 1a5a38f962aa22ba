"""Closeness tests with NAMMD and with MMD under the same kernel (TAB:same_mmd)."""

from __future__ import annotations

from dataclasses import replace

from experiments.experiment import Experiment
from experiments.paper.benchmark_data import NEEDS
from experiments.paper.closeness_tables import (
    Pairs,
    Printed,
    cells,
    deformed,
    runner,
    same_kernel_powers,
    section,
)
from experiments.results import Results
from experiments.section import Section

PAPER: Printed = {
    "blob": ((0.974, 0.978), (0.890, 0.923), (0.902, 0.924), (0.909, 0.933)),
    "higgs": ((0.998, 0.999), (0.938, 0.965), (0.975, 0.993), (0.978, 0.996)),
    "hdgm": ((0.980, 0.984), (0.883, 0.921), (0.901, 0.941), (1.000, 1.000)),
    "mnist": ((0.982, 0.982), (0.961, 0.974), (0.946, 0.983), (0.962, 0.991)),
    "cifar10": ((0.932, 0.938), (0.968, 0.994), (0.898, 0.912), (1.000, 1.000)),
}

PAPER_ERRORS: Printed = {
    "blob": ((0.009, 0.008), (0.030, 0.025), (0.032, 0.021), (0.024, 0.011)),
    "higgs": ((0.002, 0.001), (0.020, 0.013), (0.012, 0.003), (0.010, 0.002)),
    "hdgm": ((0.007, 0.007), (0.027, 0.021), (0.025, 0.013), (0.000, 0.000)),
    "mnist": ((0.004, 0.004), (0.006, 0.004), (0.014, 0.005), (0.010, 0.003)),
    "cifar10": ((0.007, 0.007), (0.019, 0.003), (0.054, 0.041), (0.000, 0.000)),
}
"""The printed ±."""


def _section(results: Results[Pairs]) -> Section:
    found = section(
        results,
        PAPER,
        PAPER_ERRORS,
        "One Gaussian kernel for both statistics: of 25 bandwidths the one that tells the two samples of the "
        f"data set apart best. {deformed(results)}",
    )
    return replace(found, short=same_kernel_powers(results))


EXPERIMENT = Experiment(
    name="same_kernel",
    labels=("TAB:same_mmd",),
    title="Closeness tests with one kernel",
    seed=61,
    quick=Pairs(repetitions=50, runs=1, points=80, choice_rows=500),
    full=Pairs(repetitions=100),
    tiny=Pairs(
        repetitions=2, runs=1, points=10, choice_rows=50, epsilons=(0.3,), least_rows=20, most_rows=100
    ),
    cells=cells,
    run_cell=runner(share=1.0),
    section=_section,
    data=NEEDS,
)
