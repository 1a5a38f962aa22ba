"""A year of batches against one reference: false alarms, and how soon a change is noticed."""

from __future__ import annotations

from experiments.calibration.stream_runs import Streams, cells, run
from experiments.experiment import Experiment
from experiments.results import Results
from experiments.section import Section


def _section(results: Results[Streams]) -> Section:
    return Section(body="", agreement="no printed numbers", sentence="")


EXPERIMENT = Experiment(
    name="calibration_monitor",
    labels=("calibration-monitor",),
    title="A year of batches",
    seed=67,
    quick=Streams(
        repetitions=200,
        estimated=50,
        years=2,
        changes=3,
        laws=("shifted normal", "exponential", "two points"),
    ),
    full=Streams(repetitions=5000, estimated=1000, years=60, changes=40),
    tiny=Streams(
        repetitions=3, estimated=2, years=1, changes=1, rows=20, length=6, after=5, laws=("exponential",)
    ),
    cells=cells,
    run_cell=run,
    section=_section,
    page="calibration",
)
