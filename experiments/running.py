"""Run experiments, keep what is finished, and write result files."""

from __future__ import annotations

from typing import Any

from benchmarks.environment import environment

import nammd
from experiments.experiment import Cell, Experiment, key_of
from experiments.partial import Partial
from experiments.progress import Progress
from experiments.results import Done, Results, Stamp, save, settings_digest
from experiments.source import Code, changed, read_again
from experiments.tasks import Options, Task, by_rule, outcomes, run_one, seeded

__all__ = ["Options", "run", "run_one"]

WATCHED = 2
"""How many cells of a run are watched for the functions that they call, besides the tiny ones."""


def run(chosen: list[Experiment[Any]], options: Options) -> bool:
    """Run experiments and write a result file for each; return whether all cells succeeded."""
    chosen = [seeded(experiment, options.seed) for experiment in chosen]
    partials = {
        e.name: Partial(e, options.mode, options.device, options.folder, options.seed) for e in chosen
    }
    cells = {e.name: list(e.cells(e.settings(options.full))) for e in chosen}
    left = {e.name: [c for c in cells[e.name] if key_of(c) not in partials[e.name].done] for e in chosen}
    progress = Progress(sum(map(len, left.values())))
    unfinished = {e.name: e for e in chosen}

    def finish() -> None:
        for name, experiment in list(unfinished.items()):
            partial = partials[name]
            if not partial.whole or not all(key_of(cell) in partial.done for cell in cells[name]):
                continue
            read_again()
            if moved := sorted({module for code in partial.codes for module in changed(code)}):
                progress.say(f"{name}: not written, since {', '.join(moved)} changed meanwhile; run it again")
                continue
            found = tuple(partial.done[key_of(cell)] for cell in cells[name])
            results = _results(experiment, found, options, partial.code())
            path = save(experiment, results, options.folder, options.seed)
            progress.say(f"{name}: {sum(d.seconds for d in found):.0f} s of computing, in {path.name}")
            del unfinished[name]

    finish()
    for alone in (False, True):
        tasks = [
            task
            for e in chosen
            if e.alone is alone and e.name in unfinished
            for task in _tasks(e, left[e.name], cells[e.name], options, noted=partials[e.name].whole)
        ]
        for task, outcome in outcomes(tasks, jobs=1 if alone else options.jobs):
            if outcome.error:
                progress.say(f"{task.name}: {outcome.error}")
            elif outcome.calls or task.cell is None:
                partials[task.name].note(outcome.calls, tiny=task.cell is None)
            if outcome.done is not None:
                partials[task.name].add(outcome.done)
                progress.step(task.name)
            finish()
    # Kept until all is done, so that an interrupted run of many takes up the finished ones too.
    for name, partial in partials.items():
        if name not in unfinished:
            partial.remove()
    return not unfinished


def _tasks(
    experiment: Experiment[Any], left: list[Cell], cells: list[Cell], options: Options, *, noted: bool
) -> list[Task]:
    """Return what is still to do: first the tiny cells, to note the functions that they call."""
    # Where time is measured nothing is watched.
    watched = [] if experiment.alone else [key_of(c) for c in by_rule(experiment, cells)[:WATCHED]]
    first = [] if noted else [Task(experiment.name, None, options)]
    return first + [Task(experiment.name, cell, options, key_of(cell) in watched) for cell in left]


def _results(
    experiment: Experiment[Any], cells: tuple[Done, ...], options: Options, code: Code
) -> Results[Any]:
    here = environment()
    versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items() if number)
    settings = experiment.settings(options.full)
    return Results(
        settings=settings,
        mode=options.mode,
        seed=experiment.seed,
        cells=cells,
        nammd=nammd.__version__,
        device=options.device,
        platform=f"{here['cpu']}; {here['system']}; Python {here['python']}; {versions}",
        stamp=Stamp(settings_digest(settings, experiment.seed, (d.cell for d in cells)), code),
    )
