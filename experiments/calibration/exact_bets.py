"""Bets on single rows, which need no variance: how soon they notice a change, and how soon normal scores do.

Both are evidence of a stream against a fixed reference (`nammd.statistics.betting`, `stream`).
The bets are exact; normal scores, with variances that are estimated, only as batches grow. Beside the bets of
a monitor, for which the other half of the same batch chooses the direction, are those for which the batches
before do.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import nammd
from experiments.calibration.stream_runs import BEFORE, BEFORE_AT, RATE, Stream
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.summary import counted
from nammd.data.arrays import FloatArray
from nammd.datasets.laws.different import TRIPLES, known_triple
from nammd.kernels import Kernel
from nammd.statistics.betting import FixedHull, Half
from nammd.statistics.stream import BETS, path

PAST = 5
"""The witness points to the rows of so many batches before."""

RIVALS = {
    "scores": "normal scores",
    "past": "exact, by the batches before",
    "halves": "exact, by the other half",
}


@dataclass(frozen=True)
class Bets(Settings):
    """Settings of the study; `repetitions` is of years, and of streams that change.

    Attributes
    ----------
    rows, reference : int
        The rows of a batch, and of the reference.
    margins : tuple of float
        The tolerances.
    ratios : tuple of float
        What the distance changes to, over the tolerance.
    length, after : int
        The batches of a year, and those after a change.
    laws : tuple of str
        The laws.
    """

    rows: int = 200
    reference: int = 1000
    margins: tuple[float, ...] = (0.05, 0.01, 0.002)
    ratios: tuple[float, ...] = (1.5, 2.0, 4.0)
    length: int = 365
    after: int = 100
    laws: tuple[str, ...] = tuple(TRIPLES)[::2]


def exact_paths(
    x: FloatArray, kernel: Kernel, eps: float, batches: list[FloatArray], rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Return the logarithm of the evidence of both exact rivals after every batch."""
    total, m = float(kernel(x, x).sum()), len(x)
    inner, full = (total - m * kernel.bound) / (m * (m - 1)), total / m**2
    hull = FixedHull(np.array([[inner]]), np.array([[full]]), float(kernel.bound))
    halves, past, before = [], [], deque[FloatArray](maxlen=PAST)
    for batch in batches:
        one, two = np.array_split(rng.permutation(batch), 2)
        halves.append(hull.evidence(_half(kernel, x, one, two), _half(kernel, x, two, one), eps))
        step = np.zeros(len(BETS))
        if before:
            chosen = np.concatenate(before)
            step = hull.bets(_half(kernel, x, chosen, batch), _half(kernel, x, batch, chosen), eps)
        past.append(step)
        before.append(batch)
    return {"past": path(np.array(past), RATE), "halves": path(np.array(halves), RATE)}


def _half(kernel: Kernel, x: FloatArray, rows: FloatArray, others: FloatArray) -> Half:
    own, met = (kernel(rows, each).mean(axis=1) for each in (rows, others))
    return Half(own, met, kernel(rows, x).mean(axis=1, keepdims=True))


def cells(settings: Bets) -> Iterator[Cell]:
    """List the cells: years at the margin, and changes."""
    for law in settings.laws:
        for side in (0, 1):
            for at in settings.margins:
                here: Cell = {"law": law, "side": side, "margin": at}
                for chunk, count in chunks(settings.repetitions, 5):
                    yield {**here, "kind": "year", "chunk": chunk, "count": count}
                    for ratio in settings.ratios:
                        yield {**here, "kind": "change", "ratio": ratio, "chunk": chunk, "count": count}


def run(settings: Bets, cell: Cell, context: Context) -> Values:
    """Compute a cell."""
    return (_year if cell["kind"] == "year" else _change)(settings, cell, context)


def _law(cell: Cell, at: float) -> tuple[Callable[..., FloatArray], Callable[..., FloatArray], Kernel] | None:
    triple = known_triple(str(cell["law"]), at)
    if triple is None:
        return None
    return triple.p.sample, (triple.first, triple.second)[int(cell["side"])].sample, triple.kernel


def _year(settings: Bets, cell: Cell, context: Context) -> Values:
    """Count the years with a false alarm, every batch exactly at the tolerance of this reference."""
    found, counts = _law(cell, float(cell["margin"])), Counter[str]()
    if found is None:
        return {"unreachable": 1}
    p, q, kernel = found
    for _ in range(int(cell["count"])):
        x = p(context.rng, settings.reference)
        # So far is the law from just this reference: by one large sample of it.
        eps = float(nammd.distance(x, q(context.rng, 20_000), kernel=kernel, engine=context.engine).value)
        batches = [q(context.rng, settings.rows) for _ in range(settings.length)]
        for name, at in _alarms(x, kernel, eps, batches, context).items():
            counts[name] += at < settings.length
    return dict(counts)


def _change(settings: Bets, cell: Cell, context: Context) -> Values:
    """Tell the delays after a change, in batches; -1 where it is not noticed."""
    eps, ratio = float(cell["margin"]), float(cell["ratio"])
    before, after = _law(cell, eps * BEFORE_AT), _law(cell, eps * ratio)
    delays: dict[str, list[int]] = {name: [] for name in RIVALS}
    if before is None or after is None:
        return {**delays, "unreachable": 1}
    for _ in range(int(cell["count"])):
        x = before[0](context.rng, settings.reference)
        batches = [before[1](context.rng, settings.rows) for _ in range(BEFORE)]
        batches += [after[1](context.rng, settings.rows) for _ in range(settings.after)]
        for name, at in _alarms(x, before[2], eps, batches, context).items():
            delays[name].append(max(at - BEFORE + 1, 1) if at < len(batches) else -1)
    return {**delays, "unreachable": 0}


def _alarms(
    x: FloatArray, kernel: Kernel, eps: float, batches: list[FloatArray], context: Context
) -> dict[str, int]:
    """Return the batch of the first alarm of every rival; their number where there is none."""
    gate = nammd.Tolerance.at(eps, kernel, n_columns=x.shape[1]).with_reference(x, engine=context.engine)
    stream = Stream.of([gate.distance(batch) for batch in batches], eps)
    paths = exact_paths(x, kernel, eps, batches, context.rng)
    line = np.log(RATE.line)
    exact = {name: int(np.argmax(each >= line)) for name, each in paths.items() if (each >= line).any()}
    return {name: exact.get(name, len(batches)) for name in paths} | {"scores": stream.alarm_by_scores()}


def _section(results: Results[Bets]) -> Section:
    settings = results.settings
    body = (
        "The evidence of a stream rests on normal scores with estimated variances, so its bound on false "
        "alarms holds only as batches grow. Bets on single rows are exact for *this* reference, whatever "
        "the law, and need no variance: `experiments/calibration/exact_bets.py` has the argument. Here both "
        f"are held against each other, under {counted(len(settings.laws), 'law')} that were not used to "
        f"choose anything, each moved in two ways: batches of {settings.rows} rows, a reference of "
        f"{settings.reference}, a budget of one false alarm in 365 batches.\n\n"
        f"**False alarms.** The share of streams of {settings.length} batches with an alarm, where every "
        "batch is at the tolerance of just this reference (for 365 batches at most 0.63 is allowed): the "
        "mean over the laws, and the largest.\n\n"
        + _table(results, "year", _years)
        + f"\n**Delays.** {BEFORE} batches at {BEFORE_AT:g} of the tolerance, then {settings.after} at a "
        "multiple of it: the median number of batches until the change is noticed, and in brackets the share "
        "that never is.\n\n" + _table(results, "change", _delays)
    )
    return Section(body=body, sentence=_sentence(results))


def _table(results: Results[Bets], kind: str, told: Callable[[str, list[Values]], str]) -> str:
    settings, rows = results.settings, []
    for at in settings.margins:
        for ratio in settings.ratios if kind == "change" else (1.0,):
            done = _values(results, kind, margin=at, **({"ratio": ratio} if kind == "change" else {}))
            rows.append([f"{at:g}", f"{ratio:g}", *(told(name, done) for name in RIVALS)])
    return table(["tolerance", "distance over tolerance", *RIVALS.values()], rows)


def _values(results: Results[Bets], kind: str, **wanted: object) -> list[Values]:
    """Return the values of all cells of a kind, those of one law and move joined."""
    return [
        {**done.values, "of": (done.cell["law"], done.cell["side"]), "count": done.cell["count"]}
        for done in results.cells
        if done.cell["kind"] == kind
        and not done.values.get("unreachable")
        and all(done.cell[key] == value for key, value in wanted.items())
    ]


def _years(name: str, done: list[Values]) -> str:
    alarms, tries = Counter[object](), Counter[object]()
    for values in done:
        alarms[values["of"]] += values.get(name, 0)
        tries[values["of"]] += values["count"]
    rates = [alarms[law] / tries[law] for law in tries]
    return f"{np.mean(rates):.2f}, at most {max(rates):.2f}" if rates else "-"


def _joined(name: str, done: list[Values]) -> FloatArray:
    return np.array([np.inf if d == -1 else d for values in done for d in values[name]])


def _delays(name: str, done: list[Values]) -> str:
    delays = _joined(name, done)
    if not len(delays):
        return "-"
    middle = float(np.median(delays))
    return f"{'never' if np.isinf(middle) else f'{middle:g}'} ({np.isinf(delays).mean():.0%})"


def _sentence(results: Results[Bets]) -> str:
    settings, parts = results.settings, []
    for at in settings.margins:
        done = _values(results, "change", margin=at, ratio=settings.ratios[0])
        told = ", ".join(f"{words} {_delays(name, done)}" for name, words in RIVALS.items())
        parts.append(f"at the tolerance {at:g}: {told}")
    return (
        f"Batches until a change to {settings.ratios[0]:g} times the tolerance is noticed, and the share of "
        f"streams in which it never is, {'; '.join(parts)}. So the evidence stays that of normal scores, "
        "with the false alarms that were measured, and is not called exact."
    )


EXPERIMENT = Experiment(
    name="calibration_exact_bets",
    labels=("calibration-exact-bets",),
    title="Normal scores or exact bets",
    seed=71,
    quick=Bets(repetitions=1, laws=tuple(TRIPLES)[:4:2], length=60, after=30),
    full=Bets(repetitions=10),
    tiny=Bets(
        repetitions=1, rows=20, reference=40, length=5, after=4, laws=tuple(TRIPLES)[:1], margins=(0.05,)
    ),
    cells=cells,
    run_cell=run,
    section=_section,
    page="calibration",
)
