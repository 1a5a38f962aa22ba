"""Run some cells of stale result files again: where all numbers are the same, the file has the present code.

A full run of everything takes a day of one processor; two cells of every file take minutes. A file whose
numbers are not the same stays stale, and is to be run again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import nammd
from experiments.calls import Calls, merged
from experiments.comparing import RULES, Rule, differences
from experiments.experiment import Cell, key_of
from experiments.progress import Progress
from experiments.results import Done, Results, Stamp, save, settings_digest
from experiments.source import digests
from experiments.stale import Kept
from experiments.tasks import Options, Outcome, Task, by_rule, outcomes, seeded

_SHOWN = 3
"""How many differences of a cell are told."""


class _File:
    """A result file that is being verified."""

    def __init__(self, kept: Kept, options: Options, cells: int) -> None:
        self.kept, self.results = kept, kept.load()
        # What a graphics card computed is run there if there is one, else here.
        on_card = self.results.device == "cuda" and options.device == "cuda"
        self.options = dataclasses.replace(
            options, device="cuda" if on_card else "cpu", full=kept.mode == "full", seed=kept.seed
        )
        self.cells = _chosen(kept, self.results, cells)
        self.outcomes: dict[str, Outcome] = {}

    @property
    def rule(self) -> Rule:
        """How its numbers are compared."""
        return self.kept.experiment.rerun if self.results.device == "cpu" else "errors"

    def tasks(self) -> list[Task]:
        """Return its cells as tasks."""
        name, watched = self.kept.experiment.name, not self.kept.experiment.alone
        return [Task(name, cell, self.options, watched) for cell in self.cells]

    def differing(self) -> dict[str, list[str]]:
        """Return by cell where the numbers are not those of the file."""
        stored = {key_of(done.cell): done for done in self.results.cells}
        found = {}
        for key, outcome in self.outcomes.items():
            new = outcome.done
            lines = (
                [outcome.error]
                if new is None
                else list(differences(stored[key].values, new.values, self.rule))
            )
            if lines:
                found[key] = lines
        return found

    def stamp(self, calls: Calls) -> None:
        """Write the file with the present code."""
        code = digests(merged([calls, *(outcome.calls for outcome in self.outcomes.values())]))
        results = self.results
        settings = settings_digest(results.settings, results.seed, (d.cell for d in results.cells))
        verified = {
            "cells": [key_of(cell) for cell in self.cells],
            "nammd": nammd.__version__,
            "device": self.options.device,
            "rule": self.rule,
        }
        stamped = dataclasses.replace(results, stamp=Stamp(settings, code, verified))
        save(self.kept.experiment, stamped, self.kept.folder, self.kept.seed)


def verify(stale: Mapping[Kept, list[str]], options: Options, cells: int) -> bool:
    """Verify stale files, and stamp each as soon as that is done; return whether all could be stamped."""
    outdated = [kept for kept, why in stale.items() if why == ["settings"]]
    for kept in outdated:
        Progress(0).say(f"{kept.path.name}: other settings; python -m experiments run {kept.options}")
    files = [_File(kept, options, cells) for kept in stale if kept not in outdated]
    good = not outdated
    for alone in (False, True):
        some = [file for file in files if file.kept.experiment.alone is alone]
        good &= _verify_some(some, jobs=1 if alone else options.jobs)
    return good


def _verify_some(files: list[_File], jobs: int) -> bool:
    # The tiny cells tell which functions an experiment calls, once for all its files on a device.
    tiny = {
        (f.kept.experiment.name, f.options.device): Task(f.kept.experiment.name, None, f.options)
        for f in files
    }
    calls: dict[tuple[str, str], Calls | None] = {}
    tasks: list[Task] = []
    owners = {}
    for file in files:
        first = tiny.pop((file.kept.experiment.name, file.options.device), None)
        tasks += [first] if first else []
        for task in file.tasks():
            owners[_key(task)] = file
            tasks.append(task)
    progress = Progress(len(tasks))
    waiting, good = list(files), True
    for task, outcome in outcomes(tasks, jobs):
        if task.cell is None:
            calls[task.name, task.options.device] = None if outcome.error else outcome.calls
            if outcome.error:
                progress.say(f"{task.name}: {outcome.error}")
        else:
            owners[_key(task)].outcomes[key_of(task.cell)] = outcome
        progress.step(task.name)
        for file in [f for f in waiting if len(f.outcomes) == len(f.cells)]:
            where = (file.kept.experiment.name, file.options.device)
            if where in calls:
                waiting.remove(file)
                good &= _conclude(file, calls[where], progress)
    return good and not waiting


def _conclude(file: _File, calls: Calls | None, progress: Progress) -> bool:
    if calls is None:  # a tiny cell failed, and that was said
        return False
    name = file.kept.path.name
    if differing := file.differing():
        for key, lines in differing.items():
            more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
            progress.say(f"{name}: {key}: {'; '.join(lines[:_SHOWN])}{more}")
        progress.say(f"{name}: stays stale; python -m experiments run {file.kept.options}")
        return False
    file.stamp(calls)
    progress.say(
        f"{name}: verified in {len(file.cells)} of {len(file.results.cells)} cells, {RULES[file.rule]}"
    )
    return True


def _key(task: Task) -> tuple[str, str, int | None, str]:
    return task.name, task.options.mode, task.options.seed, key_of(task.cell or {})


def _chosen(kept: Kept, results: Results[Any], count: int) -> list[Cell]:
    """Return the cheapest cell, and others by a rule that depends on nothing but names."""
    cheapest: Done = min(results.cells, key=lambda done: done.seconds)
    others = [done.cell for done in results.cells if done is not cheapest]
    experiment = seeded(kept.experiment, kept.seed)
    return [cheapest.cell, *by_rule(experiment, others)[: count - 1]]
