"""The level where rows belong together: groups, weights, blocks of time, and groups in both datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import nammd
from experiments.calibration import groups_text
from experiments.calibration.grid import ALPHA
from experiments.calibration.group_data import Grouped, in_both, in_groups, series, weighted
from experiments.calibration.groups_text import ALTERNATIVES
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.settings import Settings
from nammd.datasets.laws.families import KnownPair, known_pair
from nammd.questions.closeness import closeness_of
from nammd.questions.comparison import compare_estimates

MANY, MOST = 100, 500
"""From so many groups on there are fewer repetitions, and fewer still."""

USUAL = ("equal", "unequal")
"""The sizes of groups that most settings have."""

AT = 0.05
"""The margin where there is time for one alone."""


@dataclass(frozen=True)
class _Groups(Settings):
    long_repetitions: int = 1
    many_repetitions: int = 1
    most_repetitions: int = 1
    other_repetitions: int = 1
    laws: tuple[str, ...] = (
        "shifted normal",
        "concentrated normal",
        "five columns",
        "rare stray",
        "uniform",
        "exponential",
        "Poisson",
        "Cauchy",
    )
    other_laws: tuple[str, ...] = (
        "scaled normal",
        "contaminated",
        "two points",
        "uneven spread",
        "ten columns",
        "normal and point",
        "Student",
        "four values",
        "Laplace",
        "three columns",
    )
    margins: tuple[float, ...] = (0.005, 0.05, 0.3)
    correlations: tuple[float, ...] = (0.0, 0.3, 0.6)
    groups: tuple[int, ...] = (12, 30, 100, 500)
    rows: tuple[int, ...] = (200, 1000)
    memories: tuple[float, ...] = (0.3, 0.7)


class _Setting(NamedTuple):
    kind: str
    law: str
    margin: float
    groups: int
    sizes: str
    correlation: float

    @property
    def distance(self) -> float:
        """How far apart the laws are."""
        return self.margin * {"farther": 2.0, "closer": 0.5}.get(self.kind, 1.0)


def _cells(settings: _Groups) -> Iterator[Cell]:
    for what in _settings(settings):
        if what.kind != "permutation" and known_pair(what.law, what.distance) is None:
            continue
        for chunk, times in chunks(_repetitions(settings, what), 50):
            yield {**what._asdict(), "chunk": chunk, "count": times}


def _repetitions(settings: _Groups, what: _Setting) -> int:
    if what.kind == "series":
        return settings.long_repetitions if what.groups >= MOST else settings.repetitions
    if what.kind in ("permutation", *groups_text.POWERS):
        return settings.other_repetitions
    if what.groups >= MANY:
        return settings.most_repetitions if what.groups >= MOST else settings.many_repetitions
    return settings.repetitions


def _settings(settings: _Groups) -> Iterator[_Setting]:
    """List the settings; those of many rows last."""
    some = [correlation for correlation in settings.correlations if correlation > 0] or [0.0]
    few, many, most = (
        [count for count in settings.groups if low <= count < high]
        for low, high in ((0, MANY), (MANY, MOST), (MOST, 10**9))
    )
    yield from _plain(settings, few, settings.margins)
    for margin in settings.margins:
        for law in settings.laws:
            for rows in settings.rows:
                for memory in settings.memories:
                    yield _Setting("series", law, margin, rows, "", memory)
            for kind in ("estimated", "both", "weights"):
                for count in few:
                    yield _Setting(kind, law, margin, count, "unequal", some[-1])
            for count in few:
                yield _Setting("uneven", law, margin, count, "uneven", some[-1])
        for law in settings.other_laws:
            for count in few:
                for correlation in sorted({settings.correlations[0], some[-1]}):
                    yield _Setting("others", law, margin, count, "unequal", correlation)
    for law in settings.laws:
        for count in few:
            for sizes in USUAL:
                yield _Setting("permutation", law, 0.0, count, sizes, some[-1])
    for count in [*few[-1:], *many]:
        for law in settings.laws:
            for margin in settings.margins if count < MANY else [AT]:
                for kind in groups_text.POWERS:
                    yield _Setting(kind, law, margin, count, "unequal", some[0])
    yield from _plain(settings, many, settings.margins)
    for setting in _plain(settings, most, [AT]):
        if setting.correlation == some[-1]:
            yield setting


def _plain(settings: _Groups, counts: Sequence[int], margins: Sequence[float]) -> Iterator[_Setting]:
    for count in counts:
        for law in settings.laws:
            for margin in margins:
                for sizes in USUAL:
                    for correlation in settings.correlations:
                        yield _Setting("groups", law, margin, count, sizes, correlation)


def _run(settings: _Groups, cell: Cell, context: Context) -> Values:
    what = _Setting(*(cell[name] for name in _Setting._fields))  # type: ignore[arg-type]
    pair = known_pair(what.law, what.distance)
    assert pair is not None
    counts: Counter[str] = Counter()
    for alternative in groups_text.asked(what.kind):
        counts[f"{alternative} grouped"] = counts[f"{alternative} naive"] = 0
    for _ in range(int(cell["count"])):
        _ONE[what.kind](pair, what, context, counts)
    return dict(counts)


def _drawn(pair: KnownPair, what: _Setting, context: Context) -> Grouped:
    return in_groups(pair, context.rng, what.groups, what.sizes, what.correlation)


def _count(what: _Setting, pair: KnownPair, data: Grouped, context: Context, counts: Counter[str]) -> None:
    how: dict[str, Any] = {"kernel": pair.kernel, "engine": context.engine}
    if data.weights is not None:
        how["sample_weight"] = data.weights
    for name, told in (("grouped", {"groups": data.groups}), ("naive", {})):
        estimate = nammd.distance(data.x, data.y, **told, **how)
        for alternative in groups_text.asked(what.kind):
            test = closeness_of(estimate, what.margin, alternative, ALPHA, "corrected")
            counts[f"{alternative} {name}"] += test.rejected


def _groups(pair: KnownPair, what: _Setting, context: Context, counts: Counter[str]) -> None:
    _count(what, pair, _drawn(pair, what, context), context, counts)


def _weights(pair: KnownPair, what: _Setting, context: Context, counts: Counter[str]) -> None:
    _count(what, pair, weighted(_drawn(pair, what, context), context.rng), context, counts)


def _both(pair: KnownPair, what: _Setting, context: Context, counts: Counter[str]) -> None:
    data = in_both(pair, context.rng, what.groups, what.sizes, what.correlation)
    _count(what, pair, data, context, counts)


def _estimated(pair: KnownPair, what: _Setting, context: Context, counts: Counter[str]) -> None:
    one, two = _drawn(pair, what, context), _drawn(pair, what, context)
    # Groups of other people in every dataset.
    pairs, groups = ((one.x, one.y), (one.x, two.y)), one.groups[1].max() + 1
    told = (one.groups, (one.groups[0], two.groups[1] + groups))
    how: dict[str, Any] = {"kernel": pair.kernel, "engine": context.engine}
    found = nammd.compare_pairs(*pairs, groups=told, **how), nammd.compare_pairs(*pairs, **how)
    for name, both in zip(("grouped", "naive"), found, strict=True):
        for alternative in ALTERNATIVES:
            rule = compare_estimates(
                both.first, both.second, shared=True, alternative=alternative, alpha=ALPHA
            )
            counts[f"{alternative} {name}"] += rule.rejected


def _series(pair: KnownPair, what: _Setting, context: Context, counts: Counter[str]) -> None:
    x, y = (series(law, context.rng, what.groups, what.correlation) for law in (pair.p, pair.q))
    _count(what, pair, Grouped(x, y, nammd.TimeBlocks()), context, counts)


def _permutation(pair: KnownPair, what: _Setting, context: Context, counts: Counter[str]) -> None:
    data = _drawn(pair, what, context)
    how: dict[str, Any] = {
        "kernel": pair.kernel,
        "engine": context.engine,
        "permutations": 199,
        "rng": context.rng,
    }
    counts["greater grouped"] += nammd.two_sample_test(data.x, data.y, groups=data.groups, **how).rejected
    counts["greater naive"] += nammd.two_sample_test(data.x, data.y, **how).rejected


_ONE: dict[str, Any] = {
    "groups": _groups,
    "others": _groups,
    "uneven": _groups,
    "estimated": _estimated,
    "weights": _weights,
    "both": _both,
    "series": _series,
    "permutation": _permutation,
    "farther": _groups,
    "closer": _groups,
}


EXPERIMENT = Experiment(
    name="calibration_groups",
    labels=("calibration-groups",),
    title="Level where rows belong together",
    seed=67,
    quick=_Groups(
        repetitions=100,
        long_repetitions=50,
        many_repetitions=50,
        most_repetitions=20,
        other_repetitions=100,
        laws=("shifted normal", "exponential"),
        other_laws=("Student",),
        margins=(0.05,),
        correlations=(0.0, 0.6),
        groups=(12, 30),
        rows=(200,),
        memories=(0.7,),
    ),
    full=_Groups(
        repetitions=100, long_repetitions=50, many_repetitions=20, most_repetitions=12, other_repetitions=40
    ),
    tiny=_Groups(
        repetitions=2,
        laws=("uniform",),
        other_laws=("two points",),
        margins=(0.05,),
        correlations=(0.6,),
        groups=(12,),
        rows=(100,),
        memories=(0.3,),
    ),
    cells=_cells,
    run_cell=_run,
    section=groups_text.section,
    page="calibration",
)
