"""What each question answers as rows grow: two-sample tests and closeness tests on the same data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import nammd
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import level_line, line, panels, titled
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from experiments.summary import counted, rate_of, shown
from nammd.datasets import known_pair
from nammd.questions.closeness import closeness_of
from nammd.statistics.margin import Variance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 0.05
TESTS = {
    "nammd": "different? (nammd)",
    "nammd-fuse": "different? (nammd-fuse)",
    "far": "farther than the margin?",
    "close": "closer than the margin?",
}
VARIANCES: tuple[Variance, ...] = ("paper", "delta", "corrected")


@dataclass(frozen=True)
class _Power(Settings):
    large_repetitions: int = 1
    large_rows: int = 400
    laws: tuple[str, ...] = ("shifted normal", "four clusters", "Student")
    epsilon: float = 0.02
    distances: tuple[float, ...] = (0.0, 0.005, 0.02, 0.04)
    sizes: tuple[int, ...] = (50, 100, 200, 400, 800, 1600)
    fuse_up_to: int = 800
    permutations: int = 199
    separated_repetitions: int = 200
    separated_laws: tuple[str, ...] = ("concentrated normal", "contaminated", "uniform", "Laplace")
    separated_epsilon: float = 0.5
    separated_distances: tuple[float, ...] = (0.5, 0.55, 0.6)
    separated_sizes: tuple[int, ...] = (50, 100, 200)


def _cells(settings: _Power) -> Iterator[Cell]:
    for rows in settings.sizes:
        repetitions = settings.repetitions if rows <= settings.large_rows else settings.large_repetitions
        for law in settings.laws:
            for distance in settings.distances:
                for chunk, count in chunks(repetitions, max(10, 20000 // rows)):
                    what: Cell = {"part": "questions", "law": law, "distance": distance, "rows": rows}
                    yield {**what, "chunk": chunk, "count": count}
    for law in settings.separated_laws:
        for distance in settings.separated_distances:
            for rows in settings.separated_sizes:
                yield {"part": "separated", "law": law, "distance": distance, "rows": rows}


def _run(settings: _Power, cell: Cell, context: Context) -> Values:
    pair, rows = known_pair(str(cell["law"]), float(cell["distance"])), int(cell["rows"])
    assert pair is not None  # or it would be no cell
    questions = cell["part"] == "questions"
    count = int(cell["count"]) if questions else settings.separated_repetitions
    counts: Counter[str] = Counter()
    for _ in range(count):
        x, y = pair.sample(context.rng, rows, rows)
        estimate = nammd.distance(x, y, kernel=pair.kernel, engine=context.engine)
        if not questions:
            for variance in VARIANCES:
                test = closeness_of(estimate, settings.separated_epsilon, "greater", ALPHA, variance)
                counts[variance] += test.rejected
            continue
        counts["far"] += closeness_of(estimate, settings.epsilon, "greater", ALPHA, "corrected").rejected
        counts["close"] += closeness_of(estimate, settings.epsilon, "less", ALPHA, "corrected").rejected
        options: dict[str, Any] = {
            "permutations": settings.permutations,
            "rng": context.rng,
            "engine": context.engine,
        }
        same = nammd.two_sample_test(x, y, kernel=pair.kernel, alpha=ALPHA, **options)
        counts["nammd"] += bool(same.rejected)
        if rows <= settings.fuse_up_to:
            fused = nammd.two_sample_test(x, y, method="nammd-fuse", alpha=ALPHA, **options)
            counts["nammd-fuse"] += bool(fused.rejected)
    return {name: rate_of(hits, count) for name, hits in counts.items()}


def _rate(results: Results[_Power], test: str, **wanted: Any) -> dict[str, float] | None:
    """Join the chunks, and the laws where none is named."""
    parts = [v[test] for v in results.where(**wanted) if test in v]
    if not parts:
        return None
    return rate_of(round(sum(p["mean"] * p["n"] for p in parts)), sum(p["n"] for p in parts))


def _meaning(settings: _Power, distance: float) -> str:
    if distance == 0:
        return "the same"
    if distance == settings.epsilon:
        return "at the margin"
    return "different, but close" if distance < settings.epsilon else "too far"


def _section(results: Results[_Power]) -> Section:
    settings = results.settings
    names = ", ".join(settings.laws)
    body = (
        f"Pairs of {counted(len(settings.laws), 'law')} ({names}) at distances that are known exactly, "
        f"tested on the same samples: whether they differ at all, by permutation ({settings.permutations} "
        f"permutations; nammd with the kernel of the distance, nammd-fuse up to {settings.fuse_up_to} rows), "
        f"and whether they are farther apart, or closer, than a margin of {settings.epsilon:g}. Shares of "
        f"rejections at level {ALPHA:g}, over all laws:\n\n"
        + _questions_table(results)
        + "\nEach law by itself, at the fewest and the most rows:\n\n"
        + _laws_table(results)
        + "\nWhat the correction costs in power: is the pair farther apart than "
        f"{settings.separated_epsilon:g}? Rejections by the paper's variance (over all cross pairs) / delta "
        "/ corrected "
        f"({settings.separated_repetitions} repetitions each). The first distance is the margin, so what a "
        f"test has there above {ALPHA:g} it has for nothing beyond it:\n\n" + _separated_table(results)
    )
    return Section(
        body=body,
        sentence=_sentence(results),
        pictures=[
            Picture(
                "calibration_power",
                "Shares of rejections as rows grow. The two-sample tests answer whether there is a "
                "difference, the closeness tests whether it matters.",
                lambda figure: _draw(figure, results),
                (9.0, 3.4),
            )
        ],
        notes=_notes(results),
    )


def _questions_table(results: Results[_Power]) -> str:
    settings, rows = results.settings, []
    for distance in settings.distances:
        for size in settings.sizes:
            row = [f"{distance:g}, {_meaning(settings, distance)}", str(size)]
            for test in TESTS:
                found = _rate(results, test, part="questions", distance=distance, rows=size)
                row.append(shown(found) if found else "")
            rows.append(row)
    return table(["NAMMD", "rows", *TESTS.values()], rows)


def _laws_table(results: Results[_Power]) -> str:
    settings, rows = results.settings, []
    for law in settings.laws:
        for distance in settings.distances:
            row = [law, f"{distance:g}"]
            for test in TESTS:
                ends = [
                    _rate(results, test, part="questions", law=law, distance=distance, rows=size)
                    for size in settings.sizes
                ]
                known = [end for end in ends if end]
                row.append(f"{known[0]['mean']:.2f} → {known[-1]['mean']:.2f}")
            rows.append(row)
    return table(["law", "NAMMD", *TESTS.values()], rows)


def _separated_table(results: Results[_Power]) -> str:
    settings, rows = results.settings, []
    for law in settings.separated_laws:
        for size in settings.separated_sizes:
            row = [law, str(size)]
            for distance in settings.separated_distances:
                found = results.one(part="separated", law=law, rows=size, distance=distance)
                row.append(" / ".join(f"{found[v]['mean']:.3f}" for v in VARIANCES))
            rows.append(row)
    head = [
        f"NAMMD {d:g}" + (" (level)" if d == settings.separated_epsilon else "")
        for d in settings.separated_distances
    ]
    return table(["law", "rows", *head], rows)


def _sentence(results: Results[_Power]) -> str:
    settings = results.settings
    rows = settings.sizes[-1]

    def share(test: str, distance: float) -> str:
        found = _rate(results, test, part="questions", distance=distance, rows=rows)
        return f"{found['mean']:.2f}" if found else "–"

    parts = [
        f"{share('nammd', distance)}, {share('far', distance)} and {share('close', distance)} at NAMMD "
        f"{distance:g} ({_meaning(settings, distance)})"
        for distance in settings.distances
    ]
    return (
        f"With {rows} rows the two-sample test, *farther* and *closer* than a margin of {settings.epsilon:g} "
        f"reject: {'; '.join(parts)}."
    )


def _notes(results: Results[_Power]) -> list[str]:
    settings, notes = results.settings, []
    slower = _slower(results, settings.distances)
    if slower:
        notes.append(
            "A margin costs rows. Beyond it the closeness test rejects less often than the two-sample test "
            f"on the same data, which has an easier question: {'; '.join(slower)}."
        )
    return [*notes, _loss(results)]


def _loss(results: Results[_Power]) -> str:
    """Say where the corrected test has least power against the paper's, and which levels they have there."""
    settings = results.settings
    epsilon, places = settings.separated_epsilon, []
    for law in settings.separated_laws:
        for rows in settings.separated_sizes:
            level = results.one(part="separated", law=law, rows=rows, distance=epsilon)
            for distance in settings.separated_distances:
                found = results.one(part="separated", law=law, rows=rows, distance=distance)
                lost = found["paper"]["mean"] - found["corrected"]["mean"]
                places.append((lost, f"{law}, NAMMD {distance:g}, {rows} rows", found, level))
    lost, where, found, level = max(places, key=lambda place: place[0])
    if lost <= 0:
        return "The corrected test loses no power to the paper's."
    rates = [f"{r[v]['mean']:.3f}" for r in (found, level) for v in ("paper", "corrected")]
    return (
        f"The corrected test loses most to the paper's variance at {where}: {rates[0]} against {rates[1]}. "
        f"At the margin itself, where {ALPHA:g} is wanted, they reject {rates[2]} and {rates[3]} there."
    )


def _slower(results: Results[_Power], distances: Sequence[float]) -> list[str]:
    """Say where a pair is too far and the two-sample test finds that it differs much sooner."""
    settings, told = results.settings, []
    for distance in (d for d in distances if d > settings.epsilon):
        for rows in settings.sizes:
            same, far = (
                _rate(results, test, part="questions", distance=distance, rows=rows)
                for test in ("nammd", "far")
            )
            if same and far and same["mean"] - far["mean"] > 0.1:
                told.append(
                    f"{far['mean']:.2f} against {same['mean']:.2f} at NAMMD {distance:g} with {rows} rows"
                )
    return told


def _draw(figure: Figure, results: Results[_Power]) -> None:
    settings = results.settings
    axes = panels(figure, 1, len(settings.distances), sharey=True)
    for ax, distance in zip(axes, settings.distances, strict=True):
        for index, (test, name) in enumerate(TESTS.items()):
            rates = {
                rows: _rate(results, test, part="questions", distance=distance, rows=rows)
                for rows in settings.sizes
            }
            known = {rows: rate for rows, rate in rates.items() if rate}
            line(
                ax,
                list(known),
                [rate["mean"] for rate in known.values()],
                index,
                name,
                errors=[rate["se"] for rate in known.values()],
                dashed=test == "nammd-fuse",
            )
        level_line(ax, ALPHA)
        ax.set_xscale("log")
        ax.set_ylim(-0.03, 1.03)
        ax.set_xticks(settings.sizes[::2], [str(rows) for rows in settings.sizes[::2]])
        ax.minorticks_off()
        titled(
            ax, f"{distance:g}: {_meaning(settings, distance)}", "rows", "rejected" if ax is axes[0] else ""
        )
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=9, frameon=False)


EXPERIMENT = Experiment(
    name="calibration_power",
    labels=("calibration-power",),
    title="Different, or too different",
    seed=64,
    quick=_Power(
        repetitions=60,
        large_repetitions=30,
        laws=("shifted normal", "four clusters"),
        sizes=(50, 100, 200, 400, 800),
        fuse_up_to=200,
        permutations=99,
    ),
    full=_Power(repetitions=100, large_repetitions=30, separated_repetitions=500),
    tiny=_Power(
        repetitions=2,
        large_repetitions=2,
        laws=("shifted normal",),
        distances=(0.04,),
        sizes=(20,),
        permutations=19,
        separated_repetitions=2,
        separated_laws=("uniform",),
        separated_distances=(0.5,),
        separated_sizes=(20,),
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
