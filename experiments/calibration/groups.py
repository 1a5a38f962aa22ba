"""The level where rows belong together: groups, weights, blocks of time, and groups in both datasets.

Rows of a group are made dependent without changing their law: each is, with probability sqrt(correlation),
the draw that its group has in common, and else a draw of its own. A series stays where it is with the
probability of its correlation from one row to the next. So the distance of the laws is the one that is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import nammd
from experiments.calibration.grid import ALPHA, noise
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import COLOURS
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from nammd.data.arrays import FloatArray
from nammd.datasets.laws.families import KnownPair, known_pair
from nammd.questions.closeness import closeness_of
from nammd.questions.comparison import compare_estimates
from nammd.report.style import FAINT, INK, SMALL, axes_or_new
from nammd.statistics.margin import Alternative

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALTERNATIVES: tuple[Alternative, ...] = ("greater", "less")
KINDS = {
    "groups": "groups, a known margin",
    "estimated": "groups, an estimated margin and a shared reference",
    "weights": "groups, and weights of rows that mend a biased draw",
    "both": "the same groups in both datasets",
    "series": "blocks of time",
    "permutation": "relabelling whole groups, equal laws",
}
SIZES = {"equal": (5, 6), "unequal": (1, 31)}
"""The rows of a group, from and up to."""

_POOL = 10_000

Groups = NDArray[np.intp]


@dataclass(frozen=True)
class _Groups(Settings):
    middle_repetitions: int = 1
    large_repetitions: int = 1
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
    margins: tuple[float, ...] = (0.005, 0.05, 0.3)
    correlations: tuple[float, ...] = (0.0, 0.3, 0.6)
    groups: tuple[int, ...] = (12, 30, 100, 500)
    rows: tuple[int, ...] = (200, 1000)
    memories: tuple[float, ...] = (0.3, 0.7)


def _cells(settings: _Groups) -> Iterator[Cell]:
    for kind, law, margin, count, sizes, correlation in _settings(settings):
        if kind != "permutation" and known_pair(law, margin) is None:
            continue
        what: Cell = {
            "kind": kind,
            "law": law,
            "margin": margin,
            "groups": count,
            "sizes": sizes,
            "correlation": correlation,
        }
        repetitions = settings.repetitions
        if kind == "series":
            repetitions = settings.middle_repetitions if count > 500 else repetitions
        elif count >= 100:
            repetitions = settings.large_repetitions if count >= 500 else settings.middle_repetitions
        for chunk, times in chunks(repetitions, 10 if count >= 500 else 50):
            yield {**what, "chunk": chunk, "count": times}


def _settings(settings: _Groups) -> Iterator[tuple[str, str, float, int, str, float]]:
    """List the settings; those of many rows last."""
    some = [correlation for correlation in settings.correlations if correlation > 0] or [0.0]
    few, many = ([c for c in settings.groups if (c >= 100) == large] for large in (False, True))
    yield from _plain(settings, few)
    for law in settings.laws:
        for margin in settings.margins:
            for rows in settings.rows:
                for memory in settings.memories:
                    yield "series", law, margin, rows, "", memory
            for kind in ("estimated", "both", "weights"):
                for count in few:
                    yield kind, law, margin, count, "unequal", some[-1]
        for count in few:
            for sizes in SIZES:
                yield "permutation", law, 0.0, count, sizes, some[-1]
    yield from _plain(settings, many)
    for kind in ("estimated", "both", "weights", "permutation"):
        for law in settings.laws:
            if 100 in many:
                yield kind, law, 0.0 if kind == "permutation" else 0.05, 100, "unequal", some[-1]


def _plain(settings: _Groups, counts: Sequence[int]) -> Iterator[tuple[str, str, float, int, str, float]]:
    for count in counts:
        for law in settings.laws:
            for margin in settings.margins if count < 500 else settings.margins[1:2]:
                for sizes in SIZES:
                    for correlation in settings.correlations:
                        yield "groups", law, margin, count, sizes, correlation


def draw(law: Any, rng: np.random.Generator, groups: Groups, correlation: float) -> FloatArray:
    """Draw rows of a law that go together within groups."""
    common, own = law.sample(rng, int(groups.max()) + 1), law.sample(rng, len(groups))
    kept = rng.random(len(groups)) < np.sqrt(correlation)
    return _where(kept, np.asarray(common)[groups], np.asarray(own))


def series(law: Any, rng: np.random.Generator, rows: int, memory: float) -> FloatArray:
    """Draw a stationary series of a law: each row is the one before with the probability of its memory."""
    fresh = rng.random(rows) >= memory
    fresh[0] = True
    drawn: FloatArray = np.asarray(law.sample(rng, rows))[
        np.maximum.accumulate(np.where(fresh, np.arange(rows), 0))
    ]
    return drawn


def labels(rng: np.random.Generator, count: int, sizes: str) -> Groups:
    """Draw the groups of rows."""
    low, high = SIZES[sizes]
    return np.repeat(np.arange(count), rng.integers(low, high, size=count))


def _where(kept: NDArray[np.bool_], one: FloatArray, other: FloatArray) -> FloatArray:
    return np.where(kept[:, None] if one.ndim == 2 else kept, one, other)


def _run(settings: _Groups, cell: Cell, context: Context) -> Values:
    kind, margin = str(cell["kind"]), float(cell["margin"])
    pair = known_pair(str(cell["law"]), margin)
    assert pair is not None
    counts: Counter[str] = Counter()
    for alternative in ALTERNATIVES if kind != "permutation" else ("greater",):
        counts[f"{alternative} grouped"] = counts[f"{alternative} naive"] = 0
    for _ in range(int(cell["count"])):
        _ONE[kind](pair, margin, cell, context, counts)
    return dict(counts)


def _count(counts: Counter[str], name: str, estimate: nammd.Estimate, margin: float) -> None:
    for alternative in ALTERNATIVES:
        counts[f"{alternative} {name}"] += closeness_of(
            estimate, margin, alternative, ALPHA, "corrected"
        ).rejected


def _pair(
    pair: KnownPair, cell: Cell, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, Groups, Groups]:
    count, sizes, correlation = int(cell["groups"]), str(cell["sizes"]), float(cell["correlation"])
    gx, gy = labels(rng, count, sizes), labels(rng, count, sizes)
    return draw(pair.p, rng, gx, correlation), draw(pair.q, rng, gy, correlation), gx, gy + count


def _groups(pair: KnownPair, margin: float, cell: Cell, context: Context, counts: Counter[str]) -> None:
    x, y, gx, gy = _pair(pair, cell, context.rng)
    how: dict[str, Any] = {"kernel": pair.kernel, "engine": context.engine}
    _count(counts, "grouped", nammd.distance(x, y, groups=(gx, gy), **how), margin)
    _count(counts, "naive", nammd.distance(x, y, **how), margin)


def _estimated(pair: KnownPair, margin: float, cell: Cell, context: Context, counts: Counter[str]) -> None:
    x, accepted, gx, ga = _pair(pair, cell, context.rng)
    _, y, _, gy = _pair(pair, cell, context.rng)
    how: dict[str, Any] = {"kernel": pair.kernel, "engine": context.engine}
    # Groups of other people in every dataset.
    grouped = nammd.compare_pairs((x, accepted), (x, y), groups=((gx, ga), (gx, gy + len(ga))), **how)
    naive = nammd.compare_pairs((x, accepted), (x, y), **how)
    for name, found in (("grouped", grouped), ("naive", naive)):
        for alternative in ALTERNATIVES:
            rule = compare_estimates(
                found.first, found.second, shared=True, alternative=alternative, alpha=ALPHA
            )
            counts[f"{alternative} {name}"] += rule.rejected


def _weights(pair: KnownPair, margin: float, cell: Cell, context: Context, counts: Counter[str]) -> None:
    """Leave out rows by what is in their first column, and mend that by weights."""
    found, weights, groups = [], [], []
    x, y, gx, gy = _pair(pair, cell, context.rng)
    for rows, own in ((x, gx), (y, gy)):
        column = rows if rows.ndim == 1 else rows[:, 0]
        chance = np.where(column > np.median(column), 1.0, 0.4)
        kept = context.rng.random(len(rows)) < chance
        found.append(rows[kept])
        weights.append(1 / chance[kept])
        groups.append(own[kept])
    how: dict[str, Any] = {"kernel": pair.kernel, "engine": context.engine, "row_weights": weights}
    _count(counts, "grouped", nammd.distance(*found, groups=groups, **how), margin)
    _count(counts, "naive", nammd.distance(*found, **how), margin)


def _both(pair: KnownPair, margin: float, cell: Cell, context: Context, counts: Counter[str]) -> None:
    """Give the groups of both datasets draws in common that go together: of one rank in many draws."""
    rng, count, sizes = context.rng, int(cell["groups"]), str(cell["sizes"])
    gx, gy = labels(rng, count, sizes), labels(rng, count, sizes)
    ranks, found = rng.choice(_POOL, count, replace=False), []
    for law, groups in ((pair.p, gx), (pair.q, gy)):
        common, own = np.asarray(law.sample(rng, _POOL)), np.asarray(law.sample(rng, len(groups)))
        common = common[np.argsort(common if common.ndim == 1 else common[:, 0])][ranks]
        kept = rng.random(len(groups)) < np.sqrt(float(cell["correlation"]))
        found.append(_where(kept, common[groups], own))
    how: dict[str, Any] = {"kernel": pair.kernel, "engine": context.engine}
    _count(counts, "grouped", nammd.distance(*found, groups=(gx, gy), **how), margin)
    _count(counts, "naive", nammd.distance(*found, **how), margin)


def _series(pair: KnownPair, margin: float, cell: Cell, context: Context, counts: Counter[str]) -> None:
    rows, memory = int(cell["groups"]), float(cell["correlation"])
    x, y = (series(law, context.rng, rows, memory) for law in (pair.p, pair.q))
    how: dict[str, Any] = {"kernel": pair.kernel, "engine": context.engine}
    _count(counts, "grouped", nammd.distance(x, y, groups=nammd.Blocks(), **how), margin)
    _count(counts, "naive", nammd.distance(x, y, **how), margin)


def _permutation(pair: KnownPair, margin: float, cell: Cell, context: Context, counts: Counter[str]) -> None:
    x, y, gx, gy = _pair(pair, cell, context.rng)
    how: dict[str, Any] = {
        "kernel": pair.kernel,
        "engine": context.engine,
        "permutations": 199,
        "rng": context.rng,
    }
    counts["greater grouped"] += nammd.two_sample_test(x, y, groups=(gx, gy), **how).rejected
    counts["greater naive"] += nammd.two_sample_test(x, y, **how).rejected


_ONE: dict[str, Any] = {
    "groups": _groups,
    "estimated": _estimated,
    "weights": _weights,
    "both": _both,
    "series": _series,
    "permutation": _permutation,
}


@dataclass(frozen=True)
class _Spot:
    """One setting, all its chunks together."""

    cell: dict[str, Any]
    tries: int
    counts: dict[str, float]

    def rate(self, name: str) -> float:
        """Return how often a thing happened, as a share."""
        return self.counts[name] / self.tries

    @property
    def where(self) -> str:
        """The setting in words."""
        c = self.cell
        unit = "rows" if c["kind"] == "series" else f"groups of {c['sizes']} size"
        return f"{c['law']}, NAMMD {c['margin']:g}, {c['groups']} {unit}, correlation {c['correlation']:g}"


def _spots(results: Results[_Groups]) -> list[_Spot]:
    joined: dict[tuple[Any, ...], tuple[dict[str, Any], int, dict[str, float]]] = {}
    for done in results.cells:
        cell = {name: value for name, value in done.cell.items() if name not in ("chunk", "count")}
        key = tuple(sorted(cell.items()))
        _, tries, counts = joined.get(key, (cell, 0, {}))
        for name, value in done.values.items():
            counts[name] = counts.get(name, 0) + value
        joined[key] = cell, tries + int(done.cell["count"]), counts
    return [_Spot(*found) for found in joined.values()]


def _section(results: Results[_Groups]) -> Section:
    found = _spots(results)
    laws = len({spot.cell["law"] for spot in found})
    body = (
        "Rows of a group go together, by the correlation given, but each follows its law, so the distance of "
        f"the laws is known; {laws} laws, margins "
        f"{', '.join(f'{m:g}' for m in results.settings.margins)}, groups of 5 rows and groups of 1 to 30. "
        "*Grouped* says which rows belong together, *naive* does not. The largest rate of rejection over all "
        "laws and margins at the boundary, where every rejection is an error, and how many of the settings "
        f"are above {ALPHA:g} by more than three standard errors of the simulation:\n\n" + _table(found)
    )
    return Section(
        body=body,
        agreement="no printed numbers",
        sentence=_sentence(found),
        pictures=[
            Picture(
                "calibration_groups",
                "Rejection rates at the boundary where rows belong together; each dot is a law at a margin.",
                lambda figure: _draw(figure, [s for s in found if s.cell["kind"] == "groups"]),
                (9.6, 5.4),
            )
        ],
        notes=[_worst(found, kind) for kind in KINDS if any(s.cell["kind"] == kind for s in found)],
    )


def _off(found: Sequence[_Spot], name: str) -> int:
    return sum(s.rate(name) > ALPHA + 3 * noise(ALPHA, s.tries) for s in found)


def _table(found: Sequence[_Spot]) -> str:
    rows = []
    for kind, told in KINDS.items():
        mine = [s for s in found if s.cell["kind"] == kind]
        for count in sorted({s.cell["groups"] for s in mine}):
            for correlation in sorted({s.cell["correlation"] for s in mine}):
                here = [s for s in mine if (s.cell["groups"], s.cell["correlation"]) == (count, correlation)]
                if not here:
                    continue
                row = [told, f"{count}", f"{correlation:g}"]
                for alternative in ALTERNATIVES:
                    for name in (f"{alternative} grouped", f"{alternative} naive"):
                        known = [s for s in here if name in s.counts]
                        rates = [s.rate(name) for s in known]
                        row.append(f"{max(rates):.3f}; {_off(known, name)} of {len(known)}" if known else "")
                rows.append(row)
    heads = [f"*{a}*, {name}" for a in ALTERNATIVES for name in ("grouped", "naive")]
    return table(["what", "groups, or rows of a series", "correlation", *heads], rows)


def _sentence(found: Sequence[_Spot]) -> str:
    parts = []
    for least, told in ((30, "With 30 groups or more"), (0, "With 12 groups")):
        here = [s for s in found if s.cell["kind"] == "groups" and (s.cell["groups"] >= 30) == (least == 30)]
        if not here:
            continue
        rates = {
            name: max(s.rate(f"{a} {name}") for s in here for a in ALTERNATIVES)
            for name in ("grouped", "naive")
        }
        parts.append(
            f"{told} at most {rates['grouped']:.3f}, where the naive test reaches {rates['naive']:.3f}."
        )
    return " ".join(parts)


def _worst(found: Sequence[_Spot], kind: str) -> str:
    mine = [s for s in found if s.cell["kind"] == kind]
    told = []
    for alternative in ALTERNATIVES:
        name = f"{alternative} grouped"
        known = [s for s in mine if name in s.counts]
        if known:
            worst = max(known, key=lambda s: s.rate(name))
            error = noise(max(worst.rate(name), 1 / worst.tries), worst.tries)
            told.append(f"*{alternative}* at most {worst.rate(name):.3f} ± {error:.3f} ({worst.where})")
    return f"{KINDS[kind].capitalize()}: {'; '.join(told)}."


def _draw(figure: Figure, found: Sequence[_Spot]) -> None:
    counts = sorted({s.cell["groups"] for s in found})
    correlations = sorted({s.cell["correlation"] for s in found})
    grid = figure.subplots(2, 2, sharex=True, sharey=True, squeeze=False)
    for i, alternative in enumerate(ALTERNATIVES):
        for j, name in enumerate(("grouped", "naive")):
            ax = axes_or_new(grid[i][j], 0)
            for index, count in enumerate(counts):
                for k, correlation in enumerate(correlations):
                    here = [
                        s for s in found if (s.cell["groups"], s.cell["correlation"]) == (count, correlation)
                    ]
                    if not here:
                        continue
                    middle = index + 0.27 * (k - (len(correlations) - 1) / 2)
                    across = middle + np.linspace(-0.1, 0.1, len(here))
                    rates = np.clip([s.rate(f"{alternative} {name}") for s in here], 0, 0.4)
                    ax.scatter(across, rates, s=9, color=COLOURS[k], linewidth=0, zorder=3)
            ax.axhspan(0.0, 0.065, color=FAINT, alpha=0.5, linewidth=0, zorder=0)
            ax.axhline(ALPHA, color=INK, linewidth=0.8, zorder=1)
            ax.set_ylim(-0.01, 0.41)
            ax.set_xticks(range(len(counts)), [str(count) for count in counts], fontsize=SMALL - 1)
            asked = "farther?" if alternative == "greater" else "closer?"
            ax.set_title(f"{name}: {asked}", fontsize=SMALL, color=INK, loc="left")
            if j == 0:
                ax.set_ylabel("rejected", fontsize=SMALL, color=INK)
            if i == 1:
                ax.set_xlabel("groups", fontsize=SMALL, color=INK)
    handles: list[Any] = [
        grid[0][0].scatter([], [], s=14, color=COLOURS[k], linewidth=0, label=f"{c:g}")
        for k, c in enumerate(correlations)
    ]
    legend = figure.legend(
        handles=handles, loc="outside right upper", fontsize=SMALL, frameon=False, title="correlation"
    )
    legend.get_title().set_fontsize(SMALL)


EXPERIMENT = Experiment(
    name="calibration_groups",
    labels=("calibration-groups",),
    title="Level where rows belong together",
    seed=67,
    quick=_Groups(
        repetitions=100,
        middle_repetitions=50,
        large_repetitions=20,
        laws=("shifted normal", "exponential"),
        margins=(0.05,),
        correlations=(0.0, 0.6),
        groups=(12, 30),
        rows=(200,),
        memories=(0.7,),
    ),
    full=_Groups(
        repetitions=200,
        middle_repetitions=60,
        large_repetitions=10,
        groups=(12, 30),
        rows=(200,),
    ),
    tiny=_Groups(
        repetitions=2,
        middle_repetitions=1,
        large_repetitions=1,
        laws=("uniform",),
        margins=(0.05,),
        correlations=(0.6,),
        groups=(12,),
        rows=(100,),
        memories=(0.3,),
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
