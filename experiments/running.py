"""Run cells side by side in processes, keep what is finished, and write result files."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.environment import environment

import nammd
from experiments.experiment import Cell, Context, Device, Experiment, key_of
from experiments.partial import Partial
from experiments.progress import Progress
from experiments.registry import named
from experiments.results import FOLDER, Done, Mode, Results, plain, save
from nammd.engines.blas import single_threaded_blas

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Options:
    """How to run.

    Attributes
    ----------
    full : bool
        Whether to use the full settings.
    device : {"cpu", "cuda"}
        Where to compute.
    jobs : int
        How many processes.
    data : Path
        The folder of real data.
    folder : Path
        Where results go.
    seed : int, optional
        Another seed than the experiments' own; the results go to files of their own.
    """

    full: bool = False
    device: Device = "cpu"
    jobs: int = 1
    data: Path = Path("data")
    folder: Path = FOLDER
    seed: int | None = None

    @property
    def mode(self) -> Mode:
        """The mode of the results."""
        return "full" if self.full else "quick"


def run(chosen: list[Experiment[Any]], options: Options) -> bool:
    """Run experiments and write a result file for each; return whether all cells succeeded."""
    chosen = [_seeded(experiment, options) for experiment in chosen]
    partials = {
        e.name: Partial(e, options.mode, options.device, options.folder, options.seed) for e in chosen
    }
    cells = {e.name: list(e.cells(e.settings(options.full))) for e in chosen}
    left = {e.name: [c for c in cells[e.name] if key_of(c) not in partials[e.name].done] for e in chosen}
    progress = Progress(sum(map(len, left.values())))
    unfinished = {e.name: e for e in chosen}

    def finish() -> None:
        for name, experiment in list(unfinished.items()):
            done = partials[name].done
            if all(key_of(cell) in done for cell in cells[name]):
                found = tuple(done[key_of(cell)] for cell in cells[name])
                results = _results(experiment, found, options)
                path = save(experiment, results, options.folder, options.seed)
                progress.say(f"{name}: {sum(d.seconds for d in found):.0f} s of computing, in {path.name}")
                del unfinished[name]

    finish()
    for alone in (False, True):
        work = [(e.name, cell) for e in chosen if e.alone is alone for cell in left[e.name]]
        for name, outcome in _outcomes(work, options, jobs=1 if alone else options.jobs):
            if isinstance(outcome, Done):
                partials[name].add(outcome)
                progress.step(name)
                finish()
            else:
                progress.say(f"{name}: {outcome}")
    # Kept until all is done, so that an interrupted run of many takes up the finished ones too.
    for name, partial in partials.items():
        if name not in unfinished:
            partial.remove()
    return not unfinished


def run_one(experiment: Experiment[Any], cell: Cell, options: Options) -> Done:
    """Run one cell here and now."""
    context = Context(experiment.generator(cell), options.device, options.data)
    start = time.perf_counter()
    values = experiment.run_cell(experiment.settings(options.full), cell, context)
    return Done(dict(cell), plain(values), round(time.perf_counter() - start, 3))


def _seeded(experiment: Experiment[Any], options: Options) -> Experiment[Any]:
    """Return an experiment with the seed that was asked for."""
    return experiment if options.seed is None else dataclasses.replace(experiment, seed=options.seed)


def _results(experiment: Experiment[Any], cells: tuple[Done, ...], options: Options) -> Results[Any]:
    here = environment()
    versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items() if number)
    return Results(
        settings=experiment.settings(options.full),
        mode=options.mode,
        seed=experiment.seed,
        cells=cells,
        nammd=nammd.__version__,
        device=options.device,
        platform=f"{here['cpu']}; {here['system']}; Python {here['python']}; {versions}",
    )


def _outcomes(work: list[tuple[str, Cell]], options: Options, jobs: int) -> Iterator[tuple[str, Done | str]]:
    """Yield what became of every cell, as soon as it is known: its values, or what went wrong."""
    if jobs == 1:
        with single_threaded_blas:
            for name, cell in work:
                yield name, _attempt(name, cell, options)
        return
    with _single_threads():
        yield from _side_by_side(work, options, jobs)


def _side_by_side(
    work: list[tuple[str, Cell]], options: Options, jobs: int
) -> Iterator[tuple[str, Done | str]]:
    # New processes rather than copies of this one: CUDA and threads do not survive being copied.
    fresh = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(max(1, min(jobs, len(work))), fresh, initializer=_leave_interrupts)
    waiting: dict[Future[Done | str], str] = {}
    queue = iter(work)
    try:
        while True:
            # Few at a time are handed over, so that an interrupt finds little queued.
            for name, cell in islice(queue, 2 * jobs - len(waiting)):
                waiting[pool.submit(_attempt, name, cell, options)] = name
            if not waiting:
                break
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
    finally:
        if waiting:  # interrupted: what runs now is lost, what is finished is kept
            for process in multiprocessing.active_children():
                process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _attempt(name: str, cell: Cell, options: Options) -> Done | str:
    try:
        return run_one(_seeded(named(name), options), cell, options)
    except Exception as error:  # the others go on; the message says where
        return f"the cell {key_of(cell)} failed: {type(error).__name__}: {error}"


def _leave_interrupts() -> None:
    """Let the parent handle Ctrl-C, which the terminal sends to all processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _single_threads() -> Iterator[None]:
    """Have new processes start with one thread per library: they run side by side."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
