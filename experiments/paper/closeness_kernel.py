"""Which kernel for closeness: the question that the paper leaves open, and an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import nammd
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.paper.closeness_faults import FAULTS, Fault
from experiments.paper.closeness_kernel_text import section
from experiments.settings import Settings
from experiments.single_torch import one_torch_thread
from experiments.summary import mean, rate
from nammd.selection import FINE_GRID, learn_kernel, select_bandwidth

Triple: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Samples of the reference, of what was accepted, and of what is to be found."""

LEARNED_FAULTS = ("another column", "a correlation", "blob, a shift accepted", "the accepted shift")
_ALPHA = 0.05


@dataclass(frozen=True)
class Choosing(Settings):
    """How large and how often.

    Attributes
    ----------
    rows : int
        The rows of each sample to choose on; to test on there are as many.
    paper_rows : int
        The same for the paper's data.
    learned : int
        Repetitions with learned kernels.
    epochs : int
        How long they are learned.
    chunk : int
        Repetitions in a cell.
    """

    rows: int = 150
    paper_rows: int = 400
    learned: int = 50
    epochs: int = 100
    chunk: int = 30


def _median(train: Triple, context: Context) -> Any:
    return nammd.Gaussian.median(train[0], train[1])


def _grid(train: Triple) -> list[float]:
    """Return the bandwidths to choose from, the same for every criterion."""
    return [factor * nammd.Gaussian.median(train[0], train[1]).bandwidth for factor in FINE_GRID]


def _by_accepted_pair(train: Triple, context: Context) -> Any:
    x, accepted, _ = train
    return select_bandwidth(x, accepted, grid=_grid(train), engine=context.engine).kernel


def _by_far_pair(train: Triple, context: Context) -> Any:
    x, _, far = train
    return select_bandwidth(x, far, grid=_grid(train), engine=context.engine).kernel


def _by_both(train: Triple, context: Context) -> Any:
    x, accepted, far = train
    return select_bandwidth(x, far, grid=_grid(train), accepted=accepted, engine=context.engine).kernel


Way: TypeAlias = Callable[[Triple, Context], Any]

WAYS: Mapping[str, Way] = {
    "median": _median,
    "accepted pair": _by_accepted_pair,
    "far pair": _by_far_pair,
    "ours": _by_both,
}
"""How to choose a bandwidth, from rows that are not tested."""


def _learning(kind: Any, knowing: bool, epochs: int) -> Way:
    def learn(train: Triple, context: Context) -> Any:
        x, accepted, far = train
        with one_torch_thread():
            return learn_kernel(
                x, far, kind, accepted=accepted if knowing else None, epochs=epochs, rng=context.rng
            ).kernel

    return learn


def learned_ways(epochs: int) -> dict[str, Way]:
    """Return how to learn a kernel, by the two-sample criterion on the far pair and by ours."""
    kinds = {"Mahalanobis": nammd.Mahalanobis, "deep": nammd.Deep}
    return {
        f"{name}, {words}": _learning(kind, knowing, epochs)
        for name, kind in kinds.items()
        for words, knowing in (("far pair", False), ("ours", True))
    }


def _cells(settings: Choosing) -> Iterator[Cell]:
    for name in LEARNED_FAULTS:  # the slow ones first
        for way in learned_ways(settings.epochs):
            for chunk, count in chunks(settings.learned, max(settings.chunk // 6, 1)):
                yield {"what": "learned", "fault": name, "way": way, "chunk": chunk, "count": count}
    for name, fault in sorted(FAULTS.items(), key=lambda item: item[1].kind != "paper"):
        for chunk, count in chunks(settings.repetitions, settings.chunk):
            yield {"what": fault.kind, "fault": name, "chunk": chunk, "count": count}
    for way in (*WAYS, *learned_ways(settings.epochs)):
        yield {"what": "cost", "way": way, "count": min(4 * settings.learned, 20)}


def _draw(fault: Fault, rows: int, context: Context) -> Triple:
    laws = fault.reference, fault.accepted, fault.far
    x, accepted, far = (law(rows, context.rng) for law in laws)
    return x, accepted, far


def _rejected(test: Triple, kernel: Any, context: Context) -> bool:
    """Tell whether the far data are found to be farther from the reference than the accepted ones."""
    x, accepted, far = test
    compared = nammd.compare_pairs(
        (x, accepted), (x, far), kernel=kernel, alpha=_ALPHA, engine=context.engine
    )
    return compared.rejected


def _run(settings: Choosing, cell: Cell, context: Context) -> Values:
    count = int(cell["count"])
    if cell["what"] == "cost":
        return _choose_only(settings, str(cell["way"]), count, context)
    fault = FAULTS[str(cell["fault"])]
    published = str(cell["fault"]).startswith(("blob", "hdgm"))
    rows = settings.paper_rows if published else settings.rows
    if cell["what"] == "learned":
        way = learned_ways(settings.epochs)[str(cell["way"])]
        hits = []
        for _ in range(count):
            train, test = (_draw(fault, rows, context) for _ in range(2))
            hits.append(_rejected(test, way(train, context), context))
        return {"rejected": rate(hits)}
    return _compare(fault, rows, count, context)


def _compare(fault: Fault, rows: int, count: int, context: Context) -> Values:
    """Choose by every way on one half, and test on the other; the median also tests on all rows."""
    hits: dict[str, list[bool]] = {name: [] for name in ("median, all rows", *WAYS)}
    factors = []
    for _ in range(count):
        train, test = (_draw(fault, rows, context) for _ in range(2))
        both = tuple(np.concatenate(halves) for halves in zip(train, test, strict=True))
        whole = both[0], both[1], both[2]
        hits["median, all rows"].append(_rejected(whole, _median(whole, context), context))
        chosen = {name: way(train, context) for name, way in WAYS.items()}
        outcome = {kernel: _rejected(test, kernel, context) for kernel in set(chosen.values())}
        for name, kernel in chosen.items():
            hits[name].append(outcome[kernel])
        factors.append(np.log2(chosen["ours"].bandwidth / chosen["median"].bandwidth))
    return {"rejected": {name: rate(found) for name, found in hits.items()}, "octaves": mean(factors)}


def _choose_only(settings: Choosing, name: str, count: int, context: Context) -> Values:
    """Choose and do not test: the seconds of the cell are what choosing costs."""
    way = {**WAYS, **learned_ways(settings.epochs)}[name]
    for _ in range(count):
        way(_draw(FAULTS["a correlation"], settings.rows, context), context)
    return {"choices": count}


EXPERIMENT = Experiment(
    name="closeness_kernel",
    labels=("closeness-kernel",),
    title="Kernel selection for closeness: an answer",
    seed=31,
    quick=Choosing(repetitions=6, paper_rows=150, learned=1, epochs=15, chunk=6),
    full=Choosing(repetitions=300),
    tiny=Choosing(repetitions=2, rows=30, paper_rows=30, learned=1, epochs=3, chunk=2),
    cells=_cells,
    run_cell=_run,
    section=section,
)
