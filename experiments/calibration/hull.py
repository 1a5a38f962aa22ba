"""Level, power and coverage of the distance to what was accepted: the nearest mixture of several datasets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import nammd
from experiments.calibration.grid import ALPHA
from experiments.calibration.hull_laws import BANDWIDTH, SETS, at_margin, base, draw
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.summary import counted
from nammd.evidence import gather, prepare
from nammd.evidence.accepted import AcceptedRows, Rows, SumsBetween

PLACES = ("reference", "between", "accepted")
COVERAGE = 0.95
MANY = 5
"""Of more laws than this there are fewer repetitions."""


@dataclass(frozen=True)
class _Hull(Settings):
    sets: tuple[str, ...] = tuple(SETS)
    large_repetitions: int = 1
    margins: tuple[float, ...] = (0.002, 0.01)
    sizes: tuple[str, ...] = (
        "50/50:50",
        "200/50:200",
        "200/200:50",
        "500/500:500",
        "100/100:2000",
        "2000/500:200",
    )


class _Spot(NamedTuple):
    laws: str
    place: str
    margin: float
    size: str


def _cells(settings: _Hull) -> Iterator[Cell]:
    for name in settings.sets:
        for place in PLACES:
            for margin in settings.margins:
                if at_margin(name, place, margin) is None:
                    continue
                for size in settings.sizes:
                    many = len(SETS[name].laws) > MANY
                    repetitions = settings.large_repetitions if many else settings.repetitions
                    for chunk, times in chunks(repetitions, 25):
                        spot = _Spot(name, place, margin, size)
                        yield {**spot._asdict(), "chunk": chunk, "count": times}


def _run(settings: _Hull, cell: Cell, context: Context) -> Values:
    accepted, place, margin = SETS[str(cell["laws"])], str(cell["place"]), float(cell["margin"])
    home, theirs = str(cell["size"]).split(":")
    m, a = map(int, home.split("/"))
    faulty = at_margin(str(cell["laws"]), place, margin)
    assert faulty is not None
    good, rng, kernel = base(accepted, place), context.rng, nammd.Gaussian(BANDWIDTH)
    counts: Counter[str] = Counter()
    for _ in range(int(cell["count"])):
        samples = [draw(rng, law, a if k else m, accepted.columns) for k, law in enumerate(accepted.laws)]
        corners, sizes = [Rows(x, k) for k, x in enumerate(samples)], [len(x) for x in samples]
        [sums] = SumsBetween(samples).at([kernel], context.engine)
        known = AcceptedRows.of(kernel, corners, sizes, sums)
        for kind, law in (("margin", faulty), ("none", good)):
            candidate = draw(rng, law, int(theirs), accepted.columns)
            pair = tuple(prepare({"x": samples[0], "y": candidate}, kernel=kernel))
            [evidence] = gather([pair], engine=context.engine, beside=known.others)
            found = known.nearest(evidence)  # type: ignore[arg-type]
            close, far = (found.pvalue(margin, way) for way in ("less", "greater"))
            counts[f"{kind} close"] += bool(close <= ALPHA)
            counts[f"{kind} far"] += bool(far <= ALPHA)
            if kind == "margin":
                tail = (1 - COVERAGE) / 2
                counts["covered"] += not (close <= tail or far <= tail)
    return dict(counts)


def _section(results: Results[_Hull]) -> Section:
    found: dict[_Spot, Counter[str]] = defaultdict(Counter)
    tries: Counter[_Spot] = Counter()
    for done in results.cells:
        cell, values = done.cell, done.values
        spot = _Spot(str(cell["laws"]), str(cell["place"]), float(cell["margin"]), str(cell["size"]))
        found[spot].update(values)
        tries[spot] += int(cell["count"])
    rates = {spot: {name: count / tries[spot] for name, count in c.items()} for spot, c in found.items()}
    settings = results.settings
    body = (
        f"{counted(len(settings.sets), 'set')} of laws that were accepted, of which all distances have "
        f"closed forms. A "
        "candidate is like the reference, like something between, or like the last of the accepted "
        "laws, but for a "
        "share of its rows that is so large that the distance to the nearest mixture is the margin: "
        "then CLOSE and FAR "
        f"are both errors, of which each may occur in {ALPHA:.0%} of all cases. *Covered* is how often "
        f"an interval of "
        f"{COVERAGE:.0%} has the margin in it. Without a fault CLOSE is right, and FAR an error. Sizes "
        f"are rows of the "
        "reference / of every accepted dataset : of the candidate.\n\n"
        + _table(rates, tries, "laws", settings.sets)
        + "\n"
        + _table(rates, tries, "size", settings.sizes)
        + "\n"
        + _table(rates, tries, "place", PLACES)
    )
    return Section(body=body, sentence=_sentence(rates, tries), notes=[])


def _table(
    rates: dict[_Spot, dict[str, float]], tries: Counter[_Spot], field: str, values: Sequence[str]
) -> str:
    rows = []
    for value in values:
        here = [spot for spot in rates if getattr(spot, field) == value]
        if not here:
            continue

        def of(name: str, which: object = np.max, here: list[_Spot] = here) -> str:
            return f"{which([rates[spot].get(name, 0.0) for spot in here]):.3f}"  # type: ignore[operator]

        about = f": {SETS[value].about}" if field == "laws" else ""
        rows.append(
            [
                f"{value}{about}",
                str(len(here)),
                of("margin close"),
                of("margin far"),
                f"{sum(_off(rates[s], tries[s]) for s in here)}",
                of("covered", np.min),
                of("none far"),
                of("none close", np.mean),
            ]
        )
    names = [
        "settings",
        "CLOSE at the margin, most",
        "FAR, most",
        "off",
        "covered, least",
        "FAR without fault, most",
    ]
    return table([field, *names, "CLOSE without fault, mean"], rows)


def _off(rates: dict[str, float], tries: int) -> bool:
    """Tell whether a rate is above the level by more than three of its errors."""
    bound = ALPHA + 3 * float(np.sqrt(ALPHA * (1 - ALPHA) / tries))
    return max(rates.get("margin close", 0.0), rates.get("margin far", 0.0)) > bound


def _sentence(rates: dict[_Spot, dict[str, float]], tries: Counter[_Spot]) -> str:
    close = max(each.get("margin close", 0.0) for each in rates.values())
    far = max(each.get("margin far", 0.0) for each in rates.values())
    covered = min(each.get("covered", 0.0) for each in rates.values())
    off = sum(_off(each, tries[spot]) for spot, each in rates.items())
    at = {
        place: float(
            np.mean([each.get("none close", 0.0) for spot, each in rates.items() if spot.place == place])
        )
        for place in ("reference", "accepted")
    }
    return (
        f"At the margin CLOSE is said in at most {close:.3f} and FAR in at most {far:.3f} of all cases, "
        f"off in {off} of "
        f"{len(rates)} settings by more than three errors; an interval of {COVERAGE:.0%} has the margin "
        f"in it in at "
        f"least {covered:.3f}. Without a fault CLOSE is said in {at['reference']:.2f} of all cases for "
        f"data like the "
        f"reference, and in {at['accepted']:.2f} for data like what was accepted."
    )


EXPERIMENT = Experiment(
    name="calibration_hull",
    labels=("calibration-hull",),
    title="The distance to what was accepted",
    seed=97,
    quick=_Hull(
        repetitions=20,
        large_repetitions=10,
        sets=("shifted", "three sets"),
        margins=(0.01,),
        sizes=("50/50:50", "200/50:200"),
    ),
    full=_Hull(repetitions=200, large_repetitions=75),
    tiny=_Hull(repetitions=2, sets=("shifted",), margins=(0.01,), sizes=("20/20:20",)),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
