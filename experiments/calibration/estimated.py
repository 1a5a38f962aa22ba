"""The level of tests whose margin was itself estimated, from a reference pair at the same distance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import nammd
from experiments.calibration import grid
from experiments.calibration.grid import ALPHA, Dots, Spot
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from experiments.summary import counted
from nammd.datasets.laws.families import FAMILIES, known_pair
from nammd.questions.closeness import closeness_of
from nammd.questions.comparison import PairComparison, compare_estimates
from nammd.statistics.margin import Alternative

ALTERNATIVES: tuple[Alternative, ...] = ("greater", "less")
METHODS = ("as known", "apart", "compare_pairs", "Tolerance")
SOURCES = {"own": "samples of its own", "shared": "the same reference sample"}


@dataclass(frozen=True)
class _Estimated(Settings):
    large_repetitions: int = 1
    large_rows: int = 1000
    laws: tuple[str, ...] = tuple(FAMILIES)
    margins: tuple[float, ...] = (0.05, 0.3)
    sizes: tuple[str, ...] = ("50", "200")
    factors: tuple[int, ...] = (1, 10)


def _repetitions(settings: _Estimated, size: str, factor: int) -> int:
    return settings.repetitions if int(size) * factor <= settings.large_rows else settings.large_repetitions


def _cells(settings: _Estimated) -> Iterator[Cell]:
    for source in SOURCES:
        for size in settings.sizes:
            for factor in settings.factors:
                for law in settings.laws:
                    for margin in settings.margins:
                        if known_pair(law, margin) is None:
                            continue
                        what: Cell = {
                            "source": source,
                            "size": size,
                            "factor": factor,
                            "law": law,
                            "margin": margin,
                        }
                        for chunk, count in chunks(_repetitions(settings, size, factor), 500):
                            yield {**what, "chunk": chunk, "count": count}


def _run(settings: _Estimated, cell: Cell, context: Context) -> Values:
    pair, shared = grid.pair_of(cell), cell["source"] == "shared"
    rows = int(cell["size"])
    reference_rows = rows * int(cell["factor"])
    methods = [m for m in METHODS if shared or m != "apart"]
    counts = Counter({f"{a} {m}": 0 for a in ALTERNATIVES for m in methods})
    counts["no tolerance"] = 0
    for _ in range(int(cell["count"])):
        x, accepted = pair.sample(context.rng, reference_rows, reference_rows)
        source, candidate = pair.sample(context.rng, rows, rows)
        source = x if shared else source
        compared = nammd.compare_pairs(
            (x, accepted), (source, candidate), kernel=pair.kernel, engine=context.engine
        )
        _count_comparisons(counts, compared)
        if not compared.first.value > 0:  # nothing to take a margin from
            counts["no tolerance"] += 1
            continue
        for alternative in ALTERNATIVES:
            test = closeness_of(compared.second, compared.first.value, alternative, ALPHA, "corrected")
            counts[f"{alternative} as known"] += test.rejected
        tolerance = nammd.Tolerance.from_reference(x, accepted, kernel=pair.kernel, engine=context.engine)
        verdict = tolerance.check(source, candidate, ALPHA, engine=context.engine)
        counts["greater Tolerance"] += bool(verdict.pvalue_far <= ALPHA)
        counts["less Tolerance"] += bool(verdict.pvalue_close <= ALPHA)
    return dict(counts)


def _count_comparisons(counts: Counter[str], compared: PairComparison) -> None:
    """Count the rejections of the comparison, and of one that does not know of the shared sample."""
    for alternative in ALTERNATIVES:
        for name, shared in (("compare_pairs", compared.shared), ("apart", False)):
            if name == "apart" and not compared.shared:
                continue
            test = compare_estimates(
                compared.first, compared.second, shared=shared, alternative=alternative, alpha=ALPHA
            )
            counts[f"{alternative} {name}"] += test.rejected


def _section(results: Results[_Estimated]) -> Section:
    settings = results.settings
    groups = {
        (source, size, factor): _spots(results, source, size, factor)
        for source in SOURCES
        for size in settings.sizes
        for factor in settings.factors
    }
    found = [spot for here in groups.values() for spot in here]
    counts = sorted({spot.tries for spot in found})
    band = " and ".join(f"± {grid.ERRORS * grid.noise(ALPHA, n):.3f} with {n} repetitions" for n in counts)
    pairs = len({(s.law, s.margin) for s in found})
    laws = len({s.law for s in found})
    body = (
        "The margin is the estimated distance of a reference pair that is exactly as far apart as the pair "
        "that is tested, so every rejection is an error again. The reference samples are as large as those "
        f"tested, or larger by the factor given. {counted(pairs, 'pair')} of {counted(laws, 'law')}. *As "
        "known* takes the estimate for the true margin; *apart* allows for its error, but not for the fact "
        "that both pairs share a sample; `compare_pairs` and `Tolerance` allow for both. The smallest and "
        f"the largest rate over all pairs, and how many are above {ALPHA:g} by more than chance explains, "
        f"which is {band} ({grid.ERRORS:g} standard errors):\n\n"
        + "\n".join(_table(groups, alternative) for alternative in ALTERNATIVES)
    )
    labelled = {f"{source}\n{size}\n× {factor}": here for (source, size, factor), here in groups.items()}
    dots = Dots(labelled, settings.margins, ALPHA, (0.0, 0.2), "reference, rows, factor", "rejected")
    return Section(
        body=body,
        agreement="no printed numbers",
        sentence=_sentence(found),
        pictures=[
            Picture(
                "calibration_estimated",
                "Rejection rates at the boundary where the margin is estimated; each dot is a pair of laws.",
                lambda figure: dots.draw(
                    figure, [{f"{m}: {asked}": f"{a} {m}" for m in METHODS} for a, asked in _ASKED.items()]
                ),
                (9.6, 5.4),
            )
        ],
        notes=_notes(found),
    )


def _spots(results: Results[_Estimated], source: str, size: str, factor: int) -> list[Spot]:
    kind = "shared" if source == "shared" else "separate"
    told = f"{size} and a {kind} reference of {int(size) * factor}"
    found = grid.spots(results, source=source, size=size, factor=factor)
    return [replace(spot, size=told) for spot in found]


_ASKED = {"greater": "farther?", "less": "closer?"}


def _table(groups: dict[tuple[str, str, int], list[Spot]], alternative: str) -> str:
    rows = []
    for (source, size, factor), here in groups.items():
        row = [SOURCES[source], size, f"{int(size) * factor}"]
        for method in METHODS:
            name = f"{alternative} {method}"
            known = [s for s in here if name in s.counts]
            row.append(
                f"{grid.spread(known, name)}; {sum(s.above(name) for s in known)} of {len(known)}"
                if known
                else ""
            )
        rows.append(row)
    return table([f"*{alternative}*: tested with", "rows", "of the reference", *METHODS], rows)


def _sentence(found: Sequence[Spot]) -> str:
    parts = []
    for alternative in ALTERNATIVES:
        told = []
        for method in METHODS:
            name = f"{alternative} {method}"
            known = [s for s in found if name in s.counts]
            worst = max(known, key=lambda s, name=name: s.rate(name))  # type: ignore[misc]
            off = sum(s.above(name) for s in known)
            told.append(f"{method} up to {worst.told(name)}, off in {off} of {len(known)} settings")
        parts.append(f"*{alternative.capitalize()}*: {'; '.join(told)}.")
    return " ".join(parts)


def _notes(found: Sequence[Spot]) -> list[str]:
    notes = [
        "There is no correction for skewness where epsilon is estimated: that of the two distances cancels "
        "where the samples are of similar size, and a reference much larger than the sample leaves the rest."
    ]
    for method in ("compare_pairs", "Tolerance"):
        for alternative in ALTERNATIVES:
            off = [s for s in found if s.above(f"{alternative} {method}")]
            if off:
                each = "; ".join(s.told(f"{alternative} {method}") for s in off)
                notes.append(
                    f"Where {method} (*{alternative}*) rejects too often: {each}; {grid.by_chance(found)}."
                )
    without = [s for s in found if s.counts["no tolerance"]]
    if without:
        worst = max(without, key=lambda s: s.rate("no tolerance"))
        notes.append(
            "Where the estimated distance of the reference pair is not positive there is no margin, which "
            f"counts as no rejection: in up to {worst.told('no tolerance')} of the samples."
        )
    return notes


EXPERIMENT = Experiment(
    name="calibration_estimated",
    labels=("calibration-estimated",),
    title="Level where epsilon is estimated",
    seed=63,
    quick=_Estimated(
        repetitions=100,
        large_repetitions=100,
        laws=(
            "shifted normal",
            "concentrated normal",
            "five columns",
            "contaminated",
            "rare stray",
            "uniform",
            "exponential",
            "Cauchy",
        ),
        margins=(0.1,),
        sizes=("50",),
    ),
    full=_Estimated(repetitions=200, large_repetitions=60),
    tiny=_Estimated(
        repetitions=2, large_repetitions=2, laws=("uniform",), margins=(0.1,), sizes=("20",), factors=(1, 2)
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
