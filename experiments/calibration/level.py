"""How often the closeness test rejects at the boundary, by the three variances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

import nammd
from experiments.calibration import grid
from experiments.calibration.grid import ALPHA, Dots, Grid, Spot
from experiments.experiment import Cell, Context, Experiment, Values
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.summary import counted
from nammd.datasets.laws.families import FAMILIES
from nammd.evidence.rows import RowEvidence
from nammd.questions.closeness import closeness_of
from nammd.questions.distance import Estimate
from nammd.statistics.margin import Variance
from nammd.statistics.pair import Alternative

VARIANCES: tuple[Variance, ...] = ("paper", "delta", "corrected")
ALTERNATIVES: tuple[Alternative, ...] = ("greater", "less")
STRICT = 0.01
CLOSE_TO_SILENT = 0.02
"""A test of level 0.05 that rejects less often than this at the boundary wastes power."""


def _cells(settings: Grid) -> Iterator[Cell]:
    return grid.cells(settings)


def _run(settings: Grid, cell: Cell, context: Context) -> Values:
    pair = grid.pair_of(cell)
    m, n = grid.rows_of(str(cell["size"]))
    counts: Counter[str] = Counter()
    for _ in range(int(cell["count"])):
        x, y = pair.sample(context.rng, m, n)
        estimate = nammd.distance(x, y, kernel=pair.kernel, engine=context.engine)
        # With as many rows on either side the paper leaves out the pairs of the same row number.
        published = estimate if m != n else _off_diagonal(estimate)
        for alternative in ALTERNATIVES:
            for variance in VARIANCES:
                source = published if variance == "paper" else estimate
                test = closeness_of(source, pair.nammd, alternative, ALPHA, variance)
                counts[f"{alternative} {variance}"] += test.rejected
                counts[f"{alternative} {variance} strict"] += bool(test.pvalue <= STRICT)
                codes = {warning.code for warning in test.cautions}
                if variance == "corrected":
                    counts[f"{alternative} degenerate"] += "near-degenerate" in codes
                elif alternative == "greater":
                    counts[f"no test {variance}"] += bool(np.isnan(test.pvalue))
    return dict(counts)


def _off_diagonal(estimate: Estimate) -> Estimate:
    evidence = estimate.evidence
    assert isinstance(evidence, RowEvidence)
    return Estimate.of(replace(evidence, cross="off-diagonal"))


def _section(results: Results[Grid]) -> Section:
    found, settings = grid.spots(results), results.settings
    laws = [law for law in FAMILIES if any(s.law == law for s in found)]
    pairs = len({(s.law, s.margin) for s in found})
    body = (
        f"{counted(pairs, 'pair')} of {counted(len(laws), 'law')}, each at a distance that is known exactly; "
        "that distance is the margin, so every rejection is an error, and a test of level "
        f"{ALPHA:g} should reject in {ALPHA:.0%} of all samples. *Greater* tests whether the pair is farther "
        "apart than the margin, *less* whether it is closer. *Paper* takes the denominator of NAMMD as "
        "known, and with as many rows on either side it is the published test; *delta* allows for "
        "the denominator; *corrected*, the default, allows for skewness too. The smallest and the largest "
        f"rate over all pairs, and how many are above {ALPHA:g} by more than chance explains, which is "
        f"{grid.band_text(settings)}:\n\n"
        + "\n".join(_sizes_table(found, settings, alternative) for alternative in ALTERNATIVES)
        + "\nThe largest rate of each law over all margins and sizes:\n\n"
        + _laws_table(found, laws)
        + "\nThe mean rate of the corrected test over the laws, greater / less, by margin and size. What is "
        f"far below {ALPHA:g} is power lost, not an error:\n\n" + _means_table(found, settings)
    )
    dots = Dots(grid.by_size(found, settings), settings.margins, ALPHA, (0.0, 0.3), "rows", "rejected")
    return Section(
        body=body,
        sentence=_sentence(found),
        pictures=[
            Picture(
                "calibration_level",
                "Rejection rates at the boundary; each dot is a pair of laws, and all dots should lie in or "
                "below the grey band. Triangles are beyond the edge.",
                lambda figure: dots.draw(
                    figure,
                    [
                        {f"{variance}: {asked}": f"{alternative} {variance}" for variance in VARIANCES}
                        for alternative, asked in (("greater", "farther?"), ("less", "closer?"))
                    ],
                ),
                (8.4, 5.2),
            )
        ],
        notes=_notes(found),
    )


def _sizes_table(found: Sequence[Spot], settings: Grid, alternative: str) -> str:
    rows = []
    for size in settings.sizes:
        here = [s for s in found if s.size == size]
        row = [grid.size_name(size), str(len(here))]
        for variance in VARIANCES:
            name = f"{alternative} {variance}"
            row.append(f"{grid.spread(here, name)}; {sum(s.above(name) for s in here)}")
        rows.append(row)
    return table([f"*{alternative}*: rows", "pairs", *VARIANCES], rows)


def _laws_table(found: Sequence[Spot], laws: Sequence[str]) -> str:
    rows = []
    for law in laws:
        here = [s for s in found if s.law == law]
        names = [f"{alternative} {variance}" for alternative in ALTERNATIVES for variance in VARIANCES]
        rows.append([law, FAMILIES[law].about, *(f"{max(s.rate(name) for s in here):.3f}" for name in names)])
    return table(
        ["law", "what it is", *(f"{a}, {v}" for a in ALTERNATIVES for v in VARIANCES)],
        rows,
    )


def _means_table(found: Sequence[Spot], settings: Grid) -> str:
    rows = []
    for margin in settings.margins:
        row = [f"{margin:g}"]
        for size in settings.sizes:
            here = [s for s in found if s.size == size and s.margin == margin]
            means = [float(np.mean([s.rate(f"{a} corrected") for s in here])) for a in ALTERNATIVES]
            row.append(" / ".join(f"{value:.3f}" for value in means))
        rows.append(row)
    return table(["NAMMD", *(f"{grid.size_name(size)} rows" for size in settings.sizes)], rows)


def _sentence(found: Sequence[Spot]) -> str:
    parts = []
    for alternative in ALTERNATIVES:
        worst = {
            v: max(found, key=lambda s, v=v: s.rate(f"{alternative} {v}"))  # type: ignore[misc]
            for v in VARIANCES
        }
        off = {v: sum(s.above(f"{alternative} {v}") for s in found) for v in VARIANCES}
        parts.append(
            f"*{alternative.capitalize()}*: the paper's variance rejects up to "
            f"{worst['paper'].told(f'{alternative} paper')} and is off in {off['paper']} of {len(found)} "
            f"settings, delta up to {worst['delta'].told(f'{alternative} delta')}, off in {off['delta']}, "
            f"and corrected up to {worst['corrected'].told(f'{alternative} corrected')}, off in "
            f"{off['corrected']}."
        )
    return " ".join(parts)


def _notes(found: Sequence[Spot]) -> list[str]:
    notes = []
    for alternative in ALTERNATIVES:
        off = [s for s in found if s.above(f"{alternative} corrected")]
        if off:
            each = "; ".join(s.told(f"{alternative} corrected") for s in off)
            notes.append(
                f"Where the corrected test (*{alternative}*) rejects too often: {each}; "
                f"{grid.by_chance(found)}.{_unseen(off)}"
            )
        silent = [s for s in found if s.rate(f"{alternative} corrected") < CLOSE_TO_SILENT]
        if silent:
            cautioned = sum(s.rate(f"{alternative} degenerate") > 0.5 for s in silent)
            least, most = (min(s.margin for s in silent), max(s.margin for s in silent))
            margins = f"NAMMD {least:g}" if least == most else f"NAMMD {least:g} to {most:g}"
            notes.append(
                f"The corrected test (*{alternative}*) is conservative, with fewer than "
                f"{CLOSE_TO_SILENT:.0%} rejections, in {len(silent)} of {len(found)} settings ({margins}); "
                f"in {cautioned} of these most results carry the caution that the margin is below what the "
                "sample can resolve."
            )
    strict = {v: [max(s.rate(f"{a} {v} strict") for s in found) for a in ALTERNATIVES] for v in VARIANCES}
    notes.append(
        f"At the level {STRICT:g} the largest rates, greater / less, are "
        + ", ".join(f"{v} {rates[0]:.3f} / {rates[1]:.3f}" for v, rates in strict.items())
        + "; the corrected ones at "
        + " and ".join(
            max(found, key=lambda s, a=a: s.rate(f"{a} corrected strict")).where  # type: ignore[misc]
            for a in ALTERNATIVES
        )
        + "."
    )
    missing = max(found, key=lambda s: s.counts["no test paper"] / s.tries)
    if missing.counts["no test paper"]:
        notes.append(
            "Where an estimated variance is not positive, paper and delta have no p-value and do not reject: "
            f"with the paper's variance in up to {missing.rate('no test paper'):.0%} of the samples "
            f"({missing.law}, NAMMD {missing.margin:g}, {grid.size_name(missing.size)} rows)."
        )
    return notes


def _unseen(off: Sequence[Spot]) -> str:
    """Say why no method can do better where a tenth of a law is in none of the rows."""
    rows = [grid.rows_of(s.size)[0] for s in off if s.law == "contaminated"]
    if not rows:
        return ""
    return (
        f" In the contaminated law a tenth lies far away, and of the samples of {min(rows)} rows "
        f"{0.9 ** min(rows):.0%} have nothing of it: no correction can know of what is not in the data."
    )


EXPERIMENT = Experiment(
    name="calibration_level",
    labels=("calibration-level",),
    title="Level of the closeness test",
    seed=61,
    quick=Grid(
        repetitions=100,
        large_repetitions=100,
        margins=(0.005, 0.05, 0.7),
        sizes=("20", "100", "300", "50+200"),
    ),
    full=Grid(repetitions=400, large_repetitions=100, sizes=("20", "100", "500", "50+500", "1000+100")),
    tiny=Grid(repetitions=3, large_repetitions=2, margins=(0.05,), sizes=("20", "30+20")),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
