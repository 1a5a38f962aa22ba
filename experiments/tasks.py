"""Cells as tasks, side by side in processes: their values, and the functions that they called."""

from __future__ import annotations

import dataclasses
import hashlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from experiments.calls import Calls, Recorder, forget_what_is_cached, recording
from experiments.experiment import Cell, Context, Device, Experiment, key_of
from experiments.registry import module_of, named
from experiments.results import FOLDER, Done, Mode, plain
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


@dataclass(frozen=True)
class Task:
    """What a process is asked for.

    Attributes
    ----------
    name : str
        The experiment.
    cell : mapping, optional
        The cell; None for all tiny cells, of which only the calls are wanted.
    options : Options
        How to run it.
    watched : bool
        Whether to note the functions that are called, which takes a third longer.
    """

    name: str
    cell: Cell | None
    options: Options
    watched: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a task: what was found, which functions were called, or what went wrong."""

    done: Done | None = None
    calls: Calls = field(default_factory=dict)
    error: str = ""


def run_one(experiment: Experiment[Any], cell: Cell, options: Options) -> Done:
    """Run one cell here and now."""
    context = Context(experiment.generator(cell), options.device, options.data)
    start = time.perf_counter()
    values = experiment.run_cell(experiment.settings(options.full), cell, context)
    return Done(dict(cell), plain(values), round(time.perf_counter() - start, 3))


def seeded(experiment: Experiment[Any], seed: int | None) -> Experiment[Any]:
    """Return an experiment with the seed that was asked for."""
    return experiment if seed is None else dataclasses.replace(experiment, seed=seed)


def by_rule(experiment: Experiment[Any], cells: Sequence[Cell]) -> list[Cell]:
    """Return cells in an order that looks random and depends on nothing but their names."""
    return sorted(cells, key=lambda c: hashlib.sha256(f"{experiment.name}/{key_of(c)}".encode()).digest())


def outcomes(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, Outcome]]:
    """Yield what became of every task, as soon as it is known."""
    if jobs == 1:
        with single_threaded_blas:
            for task in tasks:
                yield task, _attempt(task)
        return
    with _single_threads():
        yield from _side_by_side(tasks, jobs)


def _side_by_side(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, Outcome]]:
    # New processes rather than copies of this one: CUDA and threads do not survive being copied.
    fresh = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(max(1, min(jobs, len(tasks))), fresh, initializer=_leave_interrupts)
    waiting: dict[Future[Outcome], Task] = {}
    queue = iter(tasks)
    try:
        while True:
            # Few at a time are handed over, so that an interrupt finds little queued.
            for task in islice(queue, 2 * jobs - len(waiting)):
                waiting[pool.submit(_attempt, task)] = task
            if not waiting:
                break
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
    finally:
        if waiting:  # interrupted: what runs now is lost, what is finished is kept
            for process in multiprocessing.active_children():
                process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _attempt(task: Task) -> Outcome:
    experiment = seeded(named(task.name), task.options.seed)
    try:
        if task.cell is None:
            return Outcome(calls=_calls_of_tiny_cells(experiment, task.options))
        recorder = Recorder() if task.watched else None
        with recording(recorder):
            done = run_one(experiment, task.cell, task.options)
        return Outcome(done, recorder.calls() if recorder else {})
    except Exception as error:  # the others go on; the message says where
        where = "a tiny cell" if task.cell is None else f"the cell {key_of(task.cell)}"
        return Outcome(error=f"{where} failed: {type(error).__name__}: {error}")


def _calls_of_tiny_cells(experiment: Experiment[Any], options: Options) -> Calls:
    """Run all cells with the settings of the tests: the same functions, in a fraction of the time."""
    tiny = dataclasses.replace(experiment, quick=experiment.tiny)
    forget_what_is_cached()
    recorder = Recorder()
    with recording(recorder):
        for cell in tiny.cells(tiny.tiny):
            run_one(tiny, cell, dataclasses.replace(options, full=False))
    calls = recorder.calls()
    if home := module_of(experiment.name):
        calls.setdefault(home, []).append("EXPERIMENT")
    return calls


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
