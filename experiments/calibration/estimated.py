"""The level of verdicts whose tolerance was estimated, from accepted data as far away as the candidate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.calibration import estimated_text as text
from experiments.calibration.cases import ALIKE, DIFFERENT, Case, Sizes, case_of, draw, orders
from experiments.calibration.grid import ALPHA, Dots, Spot
from experiments.calibration.plain_rule import plain_pvalues
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Picture, Section
from experiments.settings import Settings
from nammd.questions.distance import Estimate
from nammd.statistics.difference import Difference
from nammd.tolerances.bars import Accepted, pvalues
from nammd.tolerances.decision import Held, combined

CHUNK = 500

SOME = (
    "shifted normal",
    "five columns",
    "exponential",
    "Poisson",
    "Cauchy",
    "normal: up or wider",
    "exponential: longer or stray rows",
    "rare value: more often or up",
)
"""Cases for a quick look, and for samples so large that not all can be tried."""


@dataclass(frozen=True)
class Estimated(Settings):
    """Settings of the study.

    Attributes
    ----------
    laws : tuple of str
        The cases: laws whose accepted data and candidate are alike, and triples of different ones.
    margins : tuple of float
        The exact distances of accepted data and candidate from the reference.
    sizes : tuple of str
        The rows, as `Sizes` reads them.
    accepted : tuple of int
        How many accepted datasets.
    several : tuple of str
        The sizes where there are several accepted datasets; elsewhere there is one.
    large_rows, large_repetitions
        The repetitions where a sample has more rows than `large_rows`.
    largest_rows, largest_repetitions, largest_margins, largest_laws
        The same, and the margins and the cases, where it has more than `largest_rows`.
    """

    laws: tuple[str, ...] = (*ALIKE, *DIFFERENT)
    margins: tuple[float, ...] = (0.005, 0.01, 0.05, 0.3)
    sizes: tuple[str, ...] = (
        *("20:20", "20:200", "200:20", "50:50", "50:500", "500:50", "500/50:500", "200:200"),
        *("200:2000", "2000:200"),
    )
    accepted: tuple[int, ...] = (1, 2, 5)
    several: tuple[str, ...] = ("20:20", "20:200", "50:50")
    large_rows: int = 200
    large_repetitions: int = 1
    largest_rows: int = 1000
    largest_repetitions: int = 1
    largest_margins: tuple[float, ...] = (0.005, 0.05)
    largest_laws: tuple[str, ...] = SOME

    def numbers(self, size: str) -> tuple[int, ...]:
        """Return how many accepted datasets there are, in turn."""
        return self.accepted if size in self.several else self.accepted[:1]

    def repeated(self, size: str) -> int:
        """Return the repetitions."""
        rows = Sizes.of(size).largest
        if rows > self.largest_rows:
            return self.largest_repetitions
        return self.large_repetitions if rows > self.large_rows else self.repetitions


def _cells(settings: Estimated) -> Iterator[Cell]:
    most = -(-max(settings.repeated(size) for size in settings.sizes) // CHUNK)
    for part in range(most):  # all settings in turn, so that an early end leaves none out
        for size in settings.sizes:
            sizes = Sizes.of(size)
            laws, margins = settings.laws, settings.margins
            if sizes.largest > settings.largest_rows:
                laws, margins = settings.largest_laws, settings.largest_margins
            pieces = dict(chunks(settings.repeated(size), CHUNK))
            if part not in pieces:
                continue
            for name in laws:
                for law in orders(name, sizes):
                    for margin in margins:
                        if case_of(law, margin) is not None:
                            what: Cell = {"law": law, "margin": margin, "size": size}
                            yield {**what, "chunk": part, "count": pieces[part]}


def _run(settings: Estimated, cell: Cell, context: Context) -> Values:
    case, sizes = case_of(str(cell["law"]), float(cell["margin"])), Sizes.of(str(cell["size"]))
    assert case is not None  # or it would be no cell
    accepted = settings.numbers(str(cell["size"]))
    counts = {"far": [0] * len(accepted), "close": [0] * len(accepted), "none": [0] * len(accepted)}
    counts |= {name: [0] * len(SIDES) for name in SIDED}
    for _ in range(int(cell["count"])):
        _count(counts, case, sizes, accepted, context)
    return counts


SIDES = ("shared", "separate")
SIDED = ("pairs far", "pairs close", "plain far", "plain close", "covers", "void")
"""What is counted for two pairs with the same reference sample, and with one each."""


def _count(
    counts: dict[str, list[int]], case: Case, sizes: Sizes, accepted: Sequence[int], context: Context
) -> None:
    """Draw once, and count what each rule says; every FAR and every CLOSE is wrong."""
    drawn = draw(case, sizes, max(accepted), context.rng, context.engine)
    against = [_held(estimate, drawn.candidate) for estimate in drawn.accepted]
    for k, number in enumerate(accepted):
        if not max(estimate.value for estimate in drawn.accepted[:number]) > 0:
            counts["none"][k] += 1  # the accepted data cannot be told apart from the reference: an error
            continue
        close, far = combined(against[:number])
        counts["far"][k] += bool(far <= ALPHA)
        counts["close"][k] += bool(close <= ALPHA)
    for k, (second, shared) in enumerate(((drawn.candidate, True), (drawn.apart, False))):
        rule = Difference.of(drawn.accepted[0].pair, second.pair, shared)
        close, far = rule.closer(), rule.swapped.closer()
        plain_close, plain_far = plain_pvalues(rule)
        counts["pairs far"][k] += bool(far <= ALPHA)
        counts["pairs close"][k] += bool(close <= ALPHA)
        counts["plain far"][k] += bool(plain_far <= ALPHA)
        counts["plain close"][k] += bool(plain_close <= ALPHA)
        counts["void"][k] += not rule.usable
        # No difference is in the interval where neither test rejects it at half of what is left.
        counts["covers"][k] += bool(min(close, far) > ALPHA / 2) or not rule.usable


def _held(accepted: Estimate, candidate: Estimate) -> Held:
    bar = Accepted("accepted", accepted.pair)
    return Held.of(bar, *pvalues(bar, candidate, shared=True))


def spots(results: Results[Estimated]) -> list[Spot]:
    """Join the chunks of every setting, and name each count by what was asked and of which rule."""
    settings = results.settings
    joined: dict[tuple[str, float, str], tuple[int, dict[str, float]]] = {}
    for done in results.cells:
        key = (done.cell["law"], done.cell["margin"], done.cell["size"])
        accepted = settings.numbers(key[2])
        tries, counts = joined.get(key, (0, {}))
        for name, values in done.values.items():
            kinds = [str(number) for number in accepted] if name in ("far", "close", "none") else SIDES
            for kind, value in zip(kinds, values, strict=True):
                counts[f"{name} {kind}"] = counts.get(f"{name} {kind}", 0) + value
        joined[key] = tries + done.cell["count"], counts
    return [Spot(*key, *found) for key, found in joined.items()]


def _section(results: Results[Estimated]) -> Section:
    settings, found = results.settings, spots(results)
    groups = {
        str(Sizes.of(size)).replace(" : ", "\n: "): [spot for spot in found if spot.size == size]
        for size in settings.sizes
    }
    dots = Dots(groups, settings.margins, ALPHA, (0.0, 0.2), "rows", "said")
    panels = [
        {
            f"{asked.upper()}, {title}": f"{prefix}{asked} {kind}"
            for title, prefix, kind in (
                ("Tolerance", "", str(settings.accepted[0])),
                ("compare_pairs, separate", "pairs ", "separate"),
                ("plain rule", "plain ", "shared"),
                ("plain rule, separate", "plain ", "separate"),
            )
        }
        for asked in ("far", "close")
    ]
    return Section(
        body=text.body(found, settings.sizes, settings.accepted),
        sentence=text.sentence(found, settings.accepted),
        pictures=[
            Picture(
                "calibration_estimated",
                "How often a candidate exactly as far away as the accepted data is called FAR or CLOSE, both "
                "of which are wrong; each dot is a case at a distance. Triangles are beyond the edge.",
                lambda figure: dots.draw(figure, panels),
                (12.0, 5.6),
            )
        ],
        notes=text.notes(found, settings.accepted),
    )


EXPERIMENT = Experiment(
    name="calibration_estimated",
    labels=("calibration-estimated",),
    title="Level where epsilon is estimated",
    seed=63,
    quick=Estimated(
        repetitions=100,
        large_repetitions=100,
        laws=SOME,
        margins=(0.05,),
        sizes=("20:20", "50:50", "50:500", "500:50"),
    ),
    full=Estimated(
        repetitions=500,
        large_repetitions=300,
        largest_repetitions=200,
    ),
    tiny=Estimated(
        repetitions=2,
        large_repetitions=2,
        laws=("uniform", "normal: up or wider"),
        margins=(0.05,),
        sizes=("20:20", "20:40"),
        several=("20:20",),
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
