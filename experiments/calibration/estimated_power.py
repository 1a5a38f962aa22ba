"""What checks can prove: CLOSE for data like the reference, FAR beyond the tolerance; by two rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from experiments.calibration import estimated_power_text as text
from experiments.calibration.cases import ALIKE, DIFFERENT, MOVING, Sizes, case_of, draw
from experiments.calibration.grid import ALPHA
from experiments.calibration.plain_rule import plain_closeness, plain_pvalues
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Picture, Section
from experiments.settings import Settings
from nammd.statistics.difference import Difference
from nammd.statistics.margin import margin

FACTORS = {"same": 0.0, "third": 1 / 3, "at": 1.0, "twice": 2.0}
"""How far the candidate is, by the accepted data's distance; ``at`` shows the level."""


@dataclass(frozen=True)
class Power(Settings):
    """Settings of the study: the cases, the margins, and the rows as `Sizes` reads them."""

    laws: tuple[str, ...] = tuple(law for law in (*ALIKE, *DIFFERENT) if law not in MOVING)
    margins: tuple[float, ...] = (0.005, 0.02, 0.1)
    sizes: tuple[str, ...] = ("50:50", "200:200", "50:500", "500:50")


def _cells(settings: Power) -> Iterator[Cell]:
    for chunk, count in chunks(settings.repetitions, 300):
        for size in settings.sizes:
            for law in settings.laws:
                for margin_ in settings.margins:
                    for where, factor in FACTORS.items():
                        if case_of(law, margin_, factor * margin_) is not None:
                            what: Cell = {"law": law, "margin": margin_, "size": size, "candidate": where}
                            yield {**what, "chunk": chunk, "count": count}


def _run(settings: Power, cell: Cell, context: Context) -> Values:
    eps = float(cell["margin"])
    case = case_of(str(cell["law"]), eps, FACTORS[str(cell["candidate"])] * eps)
    assert case is not None  # or it would be no cell
    counts = Counter({f"{rule} {asked}": 0 for rule in RULES for asked in ("far", "close")})
    for _ in range(int(cell["count"])):
        drawn = draw(case, Sizes.of(str(cell["size"])), 1, context.rng, context.engine)
        accepted, candidate = drawn.accepted[0], drawn.candidate
        if accepted.value > 0:  # else there is no tolerance, and no verdict
            rule = Difference.of(accepted.pair, candidate.pair, True)
            _note(counts, "new", rule.closer(), rule.swapped.closer())
            _note(counts, "plain", *plain_pvalues(rule))
        far = margin(candidate.pair, eps, "corrected", "greater").pvalue("greater")
        close = margin(candidate.pair, eps, "corrected", "less").pvalue("less")
        _note(counts, "known new", close, far)
        _note(counts, "known plain", plain_closeness(candidate.pair, eps), far)
    return counts


RULES = ("new", "plain", "known new", "known plain")
"""The rules: for a tolerance from the accepted data, and for its exact distance as a known margin."""


def _note(counts: Counter[str], rule: str, close: float, far: float) -> None:
    counts[f"{rule} close"] += bool(close <= ALPHA)
    counts[f"{rule} far"] += bool(far <= ALPHA)


def _section(results: Results[Power]) -> Section:
    found = text.outcomes(results)
    return Section(
        body=text.body(found, results.settings.margins, results.settings.sizes),
        sentence=text.sentence(found),
        pictures=[
            Picture(
                "calibration_estimated_power",
                "How often a check comes to a verdict: the plain rule across, the present one upwards; each "
                "dot is a case at a distance and a size. Hollow: there the plain rule breaks its level.",
                lambda figure: text.draw(figure, found, results.settings.margins),
                (10.5, 3.8),
            )
        ],
        notes=text.notes(found),
    )


EXPERIMENT = Experiment(
    name="calibration_estimated_power",
    labels=("calibration-estimated-power",),
    title="Power where epsilon is estimated",
    seed=66,
    quick=Power(
        repetitions=60,
        laws=(
            "shifted normal",
            "five columns",
            "exponential",
            "Poisson",
            "normal: up or wider",
            "exponential: longer or stray rows",
        ),
        margins=(0.02, 0.1),
        sizes=("50:50", "200:200", "50:500", "500:50"),
    ),
    full=Power(repetitions=200),
    tiny=Power(repetitions=2, laws=("uniform",), margins=(0.05,), sizes=("20:20",)),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
