"""What each two-sample test costs and detects: the figures of the guide's page on how to choose."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

import nammd
from experiments.calibration.grid import ALPHA, noise
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.paper.tst_methods import missing_package
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.single_torch import one_torch_thread
from experiments.summary import rate_of
from nammd.data.arrays import FloatArray
from nammd.datasets import blob
from nammd.methods.deep import MMDDeep
from nammd.selecting.bandwidth import select_bandwidth

KINDS = {"power": True, "level": False}
"""What a share of rejections is, and whether the laws differ."""
METHODS = (
    "nammd",
    "nammd, selected bandwidth",
    "nammd-fuse",
    "mmd-fuse",
    "mmd-agg",
    "actt",
    "me-mabid",
    "auto-tst",
    "mmd-deep",
)


class _Draw(Protocol):
    def __call__(self, n: int, *, alternative: bool, rng: Any) -> tuple[FloatArray, FloatArray]:
        """Draw two samples of n rows."""


def shift(n: int, *, alternative: bool, rng: Any) -> tuple[FloatArray, FloatArray]:
    """Draw normal samples of five columns; one is moved by a sixth of a standard deviation in each."""
    x, y = rng.normal(size=(2, n, 5))
    return x, y + (1 / 6 if alternative else 0.0)


_PROBLEMS: dict[str, _Draw] = {"blob": blob, "shift": shift}


@dataclass(frozen=True)
class _Comparison(Settings):
    """Settings.

    Attributes
    ----------
    rows : tuple of int
        The rows of either sample, for each problem.
    epochs : int
        The epochs of what is learned by gradients.
    """

    rows: tuple[int, int] = (400, 200)
    epochs: int = 300


class _Selected:
    """NAMMD with a bandwidth chosen on one half of the rows, tested on the other."""

    name = "nammd, selected bandwidth"

    def test(self, x: Any, y: Any, *, alpha: float, rng: np.random.Generator, engine: Any) -> Any:
        """Choose on the first half, test on the second."""
        half = len(x) // 2
        kernel = select_bandwidth(x[:half], y[:half]).kernel
        return nammd.two_sample_test(x[half:], y[half:], kernel=kernel, alpha=alpha, rng=rng, engine=engine)


def _method(name: str, settings: _Comparison) -> Any:
    made = {"mmd-deep": lambda: MMDDeep(epochs=settings.epochs), _Selected.name: _Selected}
    return made[name]() if name in made else name


def _cells(settings: _Comparison) -> Iterator[Cell]:
    for problem in _PROBLEMS:
        for kind in KINDS:
            for chunk, count in chunks(settings.repetitions, 5):
                yield {"problem": problem, "kind": kind, "chunk": chunk, "count": count}


def _run(settings: _Comparison, cell: Cell, context: Context) -> Values:
    # All methods in one cell: they meet the same draws, and what else the machine does meets all of them.
    problem = str(cell["problem"])
    rows = settings.rows[list(_PROBLEMS).index(problem)]
    found: dict[str, dict[str, Any]] = {
        name: {"rejected": 0, "seconds": []} for name in METHODS if missing_package(name) is None
    }
    with ExitStack() as stack:
        if find_spec("torch") is not None:
            stack.enter_context(one_torch_thread())
        for _ in range(int(cell["count"])):
            x, y = _PROBLEMS[problem](rows, alternative=KINDS[str(cell["kind"])], rng=context.rng)
            seed = int(context.rng.integers(2**31))
            for name, one in found.items():
                method = _method(name, settings)
                start = time.process_time()
                test = nammd.two_sample_test(
                    x, y, method=method, alpha=ALPHA, rng=seed, engine=context.engine
                )
                one["seconds"].append(round(time.process_time() - start, 5))
                one["rejected"] += test.rejected
    return found


@dataclass(frozen=True)
class _Row:
    """A method on a problem: its shares of rejections, and what a test takes."""

    power: float
    level: float
    seconds: float


def _row(results: Results[_Comparison], problem: str, method: str) -> _Row | None:
    """Return what was found for a method; None where a package was missing."""
    parts = [values[method] for values in results.where(problem=problem) if method in values]
    if not parts:
        return None
    shares = {
        kind: sum(values[method]["rejected"] for values in results.where(problem=problem, kind=kind))
        / results.settings.repetitions
        for kind in KINDS
    }
    return _Row(**shares, seconds=float(np.median([s for part in parts for s in part["seconds"]])))


def _section(results: Results[_Comparison]) -> Section:
    found = {m: [_row(results, problem, m) for problem in _PROBLEMS] for m in METHODS}
    known = {m: [row for row in rows if row is not None] for m, rows in found.items() if None not in rows}
    shown = _table(results, known)
    body = (
        "Two problems of opposite kinds: in `blob`, nine clusters differ in their correlations, which a "
        "kernel as wide as the whole picture cannot see; in `shift`, all of a plain cloud of five columns "
        "moves by a sixth of a standard deviation. Every method meets the same draws. Power is the share of "
        "draws in which a difference is found; level is the same where there is none:\n\n" + shown
    )
    lacking = [method for method in METHODS if method not in known]
    return Section(
        body=body,
        sentence=_sentence(results, known),
        notes=[f"Not run, for want of a package: {', '.join(lacking)}."] if lacking else [],
        tables={"methods.md": shown},
    )


def _table(results: Results[_Comparison], known: dict[str, list[_Row]]) -> str:
    settings = results.settings
    head = ["method"]
    for problem, rows in zip(_PROBLEMS, settings.rows, strict=True):
        head += [f"{problem}, {rows} rows: power", "level", "CPU seconds"]
    lines = [
        [method, *(text for r in rows for text in (f"{r.power:.2f}", f"{r.level:.2f}", f"{r.seconds:.2g}"))]
        for method, rows in known.items()
    ]
    note = (
        f"Shares of {settings.repetitions} draws rejected at level {ALPHA:g}, so a share has a standard "
        f"error of up to {0.5 / settings.repetitions**0.5:.2f}; median CPU time of one test, on one machine "
        f"({results.platform.partition(';')[0]}, one thread). mmd-deep learns for {settings.epochs} epochs."
    )
    return table(head, lines) + f"\n{note}\n"


def _sentence(results: Results[_Comparison], known: dict[str, list[_Row]]) -> str:
    parts = []
    for k, problem in enumerate(_PROBLEMS):
        best = max(rows[k].power for rows in known.values())
        error = rate_of(round(best * results.settings.repetitions), results.settings.repetitions)["se"]
        # What is not told apart from the best by two errors of a difference is named beside it.
        strong = [m for m, rows in known.items() if rows[k].power >= best - 2 * 2**0.5 * error]
        parts.append(f"in {problem} the most is detected by {', '.join(strong)} (up to {best:.2f})")
    levels = [row.level for rows in known.values() for row in rows]
    costs = {m: max(row.seconds for row in rows) for m, rows in known.items()}
    dearest, cheapest = max(costs, key=lambda m: costs[m]), min(costs, key=lambda m: costs[m])
    told = "; ".join(parts)
    return (
        f"{told[0].upper()}{told[1:]}. Levels are {min(levels):.2f} to {max(levels):.2f}; {ALPHA:g} is "
        f"wanted, and has a standard error of {noise(ALPHA, results.settings.repetitions):.2f}. A test takes "
        f"up to {costs[cheapest]:.2g} s ({cheapest}) to {costs[dearest]:.2g} s ({dearest})."
    )


EXPERIMENT = Experiment(
    name="calibration_methods",
    labels=("calibration-methods",),
    title="What each two-sample test costs and detects",
    seed=70,
    quick=_Comparison(repetitions=3, epochs=100),
    full=_Comparison(repetitions=60),
    tiny=_Comparison(repetitions=1, rows=(40, 40), epochs=2),
    cells=_cells,
    run_cell=_run,
    section=_section,
    alone=True,
    page="calibration",
)
