"""Batches against one reference, simulated: far tails of single verdicts, years at the margin, delays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import nammd
from experiments.calibration import grid
from experiments.experiment import Cell, Context, Values, chunks
from experiments.settings import Settings
from nammd.data.arrays import FloatArray
from nammd.datasets.laws.families import KnownPair, known_pair
from nammd.evidence.bets import bets_on_rows
from nammd.questions.distance import Estimate
from nammd.statistics.levels import Budget
from nammd.statistics.margin import margin, upper_tail
from nammd.statistics.stream import GivenReference, factors, path, running_mean
from nammd.tolerances.bars import pvalues
from nammd.tolerances.gate import Gate

RATE = Budget(1 / 365)
LEVELS = {"5 %": 0.05, "1 %": 0.01, "1/365": 1 / 365, "1/1000": 1e-3, "1/10000": 1e-4}
"""The levels at which single verdicts are counted."""
USUAL = 0.05
BEFORE, BEFORE_AT = 20, 0.4
"""So many batches come before a change, at this share of the tolerance."""

LAWS = (
    "shifted normal",
    "concentrated normal",
    "scaled normal",
    "five columns",
    "contaminated",
    "two points",
    "uneven spread",
    "rare stray",
    "ten columns",
    "uniform",
    "Student",
    "exponential",
    "Poisson",
    "Laplace",
    "Cauchy",
    "three columns",
)
"""Those whose reference law does not depend on the distance, so that a stream can move away from it."""


@dataclass(frozen=True)
class Streams(Settings):
    """Settings of the study; `repetitions` is of single verdicts.

    Attributes
    ----------
    estimated : int
        The repetitions of verdicts on a tolerance that was estimated.
    years, changes : int
        How many streams at the margin, and how many that change.
    rows : int
        The rows of a batch.
    factors : tuple of int
        How many times larger the reference is.
    margins : tuple of float
        The tolerances of single verdicts.
    margin : float
        The tolerance of the streams.
    ratios : tuple of float
        What the distance changes to, over the tolerance.
    length, after : int
        The batches of a year, and those after a change.
    laws, further : tuple of str
        The laws; and those for which only single verdicts and years are simulated, and fewer of them.
    further_repetitions, further_years : int
        How many.
    """

    estimated: int = 1
    years: int = 1
    changes: int = 1
    rows: int = 100
    factors: tuple[int, ...] = (1, 10)
    margins: tuple[float, ...] = (0.02, 0.1)
    margin: float = 0.05
    ratios: tuple[float, ...] = (1.2, 1.5, 2.0)
    length: int = 365
    after: int = 150
    laws: tuple[str, ...] = LAWS
    further: tuple[str, ...] = ()
    further_repetitions: int = 1
    further_years: int = 1


def cells(settings: Streams) -> Iterator[Cell]:
    """List the cells: single verdicts, years at the margin, changes."""
    for law in (*settings.laws, *settings.further):
        main = law in settings.laws
        repetitions = settings.repetitions if main else settings.further_repetitions
        for factor in settings.factors:
            size = f"{settings.rows * factor}+{settings.rows}"
            common: Cell = {"law": law, "size": size}
            for at in settings.margins:
                for chunk, count in chunks(repetitions, 1250):
                    yield {**common, "kind": "level", "margin": at, "chunk": chunk, "count": count}
            here: Cell = {**common, "margin": settings.margin}
            for chunk, count in chunks(settings.years if main else settings.further_years, 5):
                yield {**here, "kind": "year", "chunk": chunk, "count": count}
            if not main:
                continue
            for chunk, count in chunks(settings.estimated, 500):
                yield {**here, "kind": "estimated", "chunk": chunk, "count": count}
            for ratio in settings.ratios:
                for chunk, count in chunks(settings.changes, 20):
                    yield {**here, "kind": "change", "ratio": ratio, "chunk": chunk, "count": count}


def run(settings: Streams, cell: Cell, context: Context) -> Values:
    """Compute a cell."""
    kinds = {"level": _level, "estimated": _estimated, "year": _year, "change": _change}
    return kinds[str(cell["kind"])](settings, cell, context)


def _level(settings: Streams, cell: Cell, context: Context) -> Values:
    """Count the verdicts on independent pairs exactly at the tolerance, out to the far tails."""
    pair = grid.pair_of(cell)
    m, n = grid.rows_of(str(cell["size"]))
    counts: Counter[str] = Counter()
    for _ in range(int(cell["count"])):
        x, y = pair.sample(context.rng, m, n)
        estimate = nammd.distance(x, y, kernel=pair.kernel, engine=context.engine)
        above = margin(estimate.pair, pair.nammd, "corrected", "greater")
        below = margin(estimate.pair, pair.nammd, "corrected", "less")
        plain = upper_tail(above.u / above.deviation) if above.usable else np.nan
        _count(counts, above.pvalue("greater"), below.pvalue("less"))
        for name, level in LEVELS.items():
            counts[f"plain {name}"] += bool(plain <= level)
    return dict(counts)


def _estimated(settings: Streams, cell: Cell, context: Context) -> Values:
    """Count them with a tolerance that is the distance of accepted data, as large as the reference."""
    pair = grid.pair_of(cell)
    m, n = grid.rows_of(str(cell["size"]))
    counts: Counter[str] = Counter()
    for _ in range(int(cell["count"])):
        x, accepted = pair.sample(context.rng, m, m)
        y = pair.q.sample(context.rng, n)
        try:
            tolerance = nammd.Tolerance.from_reference(
                x, accepted, kernel=pair.kernel, engine=context.engine, how="ball"
            )
        except ValueError:  # a distance that is not above zero makes no tolerance
            counts["no tolerance"] += 1
            continue
        gate = tolerance.with_reference(x, engine=context.engine)
        [bar] = tolerance.bars
        close, far = pvalues(bar, gate.distance(y), True)
        _count(counts, far, close)
    return dict(counts)


def _count(counts: Counter[str], far: float, close: float) -> None:
    for name, level in LEVELS.items():
        counts[f"far {name}"] += bool(far <= level)
        counts[f"close {name}"] += bool(close <= level)


@dataclass(frozen=True)
class Stream:
    """Batches against one reference.

    Attributes
    ----------
    given : list of GivenReference
        What each says with the reference fixed.
    bets : array of shape (batches, bets)
        The logarithm of the evidence of bets on the rows of each.
    far : array
        The p-values of "beyond".
    values, errors : array
        The distances, and their standard errors with the reference fixed.
    """

    given: list[GivenReference]
    bets: FloatArray
    far: FloatArray
    values: FloatArray
    errors: FloatArray

    @classmethod
    def of(cls, estimates: list[Estimate], eps: float, own: float | None = None) -> Stream:
        """Read it off the distances; `own` is that to just this reference, where it is the one to bet on."""
        given = [GivenReference.of(e.pair, eps) for e in estimates]
        at = eps if own is None else own
        bets = [bets_on_rows(e.evidence, None, at, None) for e in estimates]  # type: ignore[arg-type]
        far = [margin(e.pair, eps, "corrected", "greater").pvalue("greater") for e in estimates]
        errors = np.array([g.error for g in given])
        return cls(given, np.array(bets), np.array(far), np.array([e.value for e in estimates]), errors)

    def alarm(self) -> int:
        """Return the batch at which the evidence of bets reaches its line; their number where it does not."""
        return _reached(self.bets)

    def alarm_by_scores(self, *, paid: bool = False) -> int:
        """Return the same by normal scores, perhaps about the population of the reference."""
        return _reached(factors(np.array([g.score(paid=paid) for g in self.given])))

    def single(self, level: float) -> int:
        """Return the first batch that is beyond by itself; the number of batches where none is."""
        return _first(self.far <= level)


def _reached(steps: FloatArray) -> int:
    return _first(path(steps, RATE) >= np.log(RATE.line))


def _first(hits: NDArray[np.bool_]) -> int:
    return int(np.argmax(hits)) if hits.any() else len(hits)


def _batches(gate: Gate, pair: KnownPair, context: Context, rows: int, count: int) -> list[Estimate]:
    return [gate.distance(pair.q.sample(context.rng, rows)) for _ in range(count)]


def _gate(pair: KnownPair, eps: float, context: Context, rows: int) -> Gate:
    x = pair.p.sample(context.rng, rows)
    return nammd.Tolerance.at(eps, pair.kernel, n_columns=x.shape[1]).with_reference(x, engine=context.engine)


def _year(settings: Streams, cell: Cell, context: Context) -> Values:
    """Count the false alarms of years in which every batch is exactly at the tolerance."""
    pair = grid.pair_of(cell)
    m, n = grid.rows_of(str(cell["size"]))
    counts: Counter[str] = Counter()
    for _ in range(int(cell["count"])):
        gate = _gate(pair, pair.nammd, context, m)
        # The distance to just this reference, from other batches: the claim of the stream is about it.
        others = [
            GivenReference.of(e.pair, pair.nammd).u for e in _batches(gate, pair, context, n, settings.length)
        ]
        own = float(np.mean(others))
        scale = gate.distance(pair.q.sample(context.rng, n)).pair.scale
        true = pair.nammd + own / scale
        stream = Stream.of(_batches(gate, pair, context, n, settings.length), pair.nammd, true)
        mean = running_mean(stream.values, stream.errors, pair.nammd)
        counts["far"] += int((stream.far <= RATE.level).sum())
        counts["far, usual"] += int((stream.far <= USUAL).sum())
        counts["far at all"] += bool((stream.far <= RATE.level).any())
        counts["stream"] += stream.alarm() < settings.length
        counts["stream, paid"] += stream.alarm_by_scores(paid=True) < settings.length
        counts["mean missed"] += bool(((mean.low > true) | (mean.high < true)).any())
    return dict(counts)


def _change(settings: Streams, cell: Cell, context: Context) -> Values:
    """Tell the delays after a change, in batches, of the stream and of single verdicts."""
    margin_, ratio = float(cell["margin"]), float(cell["ratio"])
    before, after = (known_pair(str(cell["law"]), margin_ * r) for r in (BEFORE_AT, ratio))
    m, n = grid.rows_of(str(cell["size"]))
    delays: dict[str, list[int]] = {name: [] for name in ("stream", "paid", "batch", "usual")}
    if before is None or after is None:
        return delays | {"cried wolf": 0, "unreachable": 1}
    early = 0
    for _ in range(int(cell["count"])):
        gate = _gate(before, margin_, context, m)
        estimates = _batches(gate, before, context, n, BEFORE)
        estimates += _batches(gate, after, context, n, settings.after)
        stream = Stream.of(estimates, margin_)
        found = {
            "stream": stream.alarm(),
            "paid": stream.alarm_by_scores(paid=True),
            "batch": stream.single(RATE.level),
            "usual": stream.single(USUAL),
        }
        early += found["usual"] < BEFORE
        for name, at in found.items():
            delays[name].append(at - BEFORE + 1 if at < len(estimates) else -1)
    return delays | {"cried wolf": early, "unreachable": 0}
