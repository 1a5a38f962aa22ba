"""The last batches together, exactly at the tolerance: how often they are falsely within or beyond."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import nammd
from experiments.calibration.grid import ALPHA
from experiments.calibration.hull_laws import BANDWIDTH, SETS, Accepted, Law, draw, law_at_margin
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from nammd.data.arrays import FloatArray
from nammd.evidence import gather, prepare
from nammd.evidence.accepted import AcceptedRows, Rows, SumsBetween
from nammd.statistics.nearest import Nearest, nearest_weights
from nammd.statistics.stream import GivenReference
from nammd.statistics.window import Batches, lengths, proven

ALONE = "no accepted data"
PLACES = (ALONE, "reference", "between", "accepted")
CLAIMS = ("population", "this reference")
SIDES = {"within": -1, "beyond": 1}


@dataclass(frozen=True)
class _Windows(Settings):
    """Settings of the study.

    Attributes
    ----------
    sets : tuple of str
        The laws that were accepted.
    margin : float
        The tolerance; the distance of every batch is just that.
    sizes : tuple of str
        Rows of the reference, and of every accepted dataset, and of a batch.
    length : int
        How many batches there are, which is how many a window has at most.
    """

    sets: tuple[str, ...] = ("shifted", "wider", "rare", "skewed", "two values", "five columns", "three sets")
    margin: float = 0.01
    sizes: tuple[str, ...] = ("200:100", "1000:100")
    length: int = 16


class _Spot(NamedTuple):
    laws: str
    place: str
    size: str
    claim: str


def _about(name: str, place: str) -> Accepted:
    """Return the laws that were accepted; without accepted data the reference alone."""
    return replace(SETS[name], laws=SETS[name].laws[:1]) if place == ALONE else SETS[name]


def _law(name: str, place: str, margin: float) -> Law | None:
    return law_at_margin(_about(name, place), "reference" if place == ALONE else place, margin)


def _cells(settings: _Windows) -> Iterator[Cell]:
    for name in settings.sets:
        for place in PLACES:
            if _law(name, place, settings.margin) is None:
                continue
            for size in settings.sizes:
                for chunk, count in chunks(settings.repetitions, 10):
                    yield {"laws": name, "place": place, "size": size, "chunk": chunk, "count": count}


def _run(settings: _Windows, cell: Cell, context: Context) -> Values:
    name, place = str(cell["laws"]), str(cell["place"])
    accepted, law = _about(name, place), _law(name, place, settings.margin)
    assert law is not None  # or it would be no cell
    m, n = map(int, str(cell["size"]).split(":"))
    counts: Counter[str] = Counter()
    for _ in range(int(cell["count"])):
        samples = [draw(context.rng, each, m, accepted.columns) for each in accepted.laws]
        batches = [draw(context.rng, law, n, accepted.columns) for _ in range(settings.length)]
        found = _nearest(samples, batches, context)
        for claim in CLAIMS:
            eps = settings.margin if claim == "population" else _distance_to_rows(samples, law, accepted)
            side = _side(found, eps, n, claim == "population") if eps > 0 else 0
            for word, number in SIDES.items():
                counts[f"{claim} {word}"] += side == number
    return dict(counts)


def _nearest(samples: list[FloatArray], batches: list[FloatArray], context: Context) -> list[Nearest]:
    """Hold batches against the nearest mixtures of the samples; of one sample it is that one."""
    kernel = nammd.Gaussian(BANDWIDTH)
    corners, sizes = [Rows(x, k) for k, x in enumerate(samples)], [len(x) for x in samples]
    [sums] = SumsBetween(samples).at([kernel], context.engine)
    known = AcceptedRows.of(kernel, corners, sizes, sums)
    found = []
    for batch in batches:
        pair = tuple(prepare({"x": samples[0], "y": batch}, kernel=kernel))
        [evidence] = gather([pair], engine=context.engine, beside=known.others)
        found.append(known.nearest(evidence))  # type: ignore[arg-type]
    return found


def _side(found: list[Nearest], eps: float, rows: int, population: bool) -> int:
    """Return what the last batches prove together, each as a monitor keeps it."""
    values = []
    for each in found:
        given = GivenReference.of(each.pair, eps)
        deviation = each.margin_test(eps, "greater").deviation
        values.append((given.u, given.deviation, each.pvalue(eps, "less"), deviation, given.reference))
    u, deviations, pvalue, deviation, reference = np.array(values).T
    none, count = np.zeros(len(u), bool), np.full(len(u), float(rows))
    shared = reference[:, None] if population else np.zeros((len(u), 0))
    batches = Batches(u, deviations, pvalue, deviation, shared, count, none, none)
    return int(proven(batches, np.full(len(u), ALPHA), len(u)).side[-1])


def _distance_to_rows(samples: list[FloatArray], law: Law, accepted: Accepted) -> float:
    """Return the distance of a law to just these rows, or to their nearest mixture; there U has mean zero."""

    def similar(gaps: FloatArray, variance: float) -> FloatArray:
        """Return the mean similarity of points, one of them with normal noise, in one column."""
        spread = BANDWIDTH**2 + variance
        found: FloatArray = BANDWIDTH / np.sqrt(spread) * np.exp(-(gaps**2) / (2 * spread))
        return found

    def between(x: FloatArray, y: FloatArray) -> FloatArray:
        squares = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)
        found: FloatArray = np.exp(-squares / (2 * BANDWIDTH**2))
        return found

    gram = np.array([[between(x, y).mean() for y in samples] for x in samples])
    for k, x in enumerate(samples):  # no row is compared with itself
        gram[k, k] = (between(x, x).sum() - len(x)) / (len(x) * (len(x) - 1))
    across = np.zeros(len(samples))
    for share, mean, deviation in law:
        moved = [0.0] * accepted.columns
        moved[0] = mean
        across += share * np.array(
            [
                np.prod([similar(x[:, j] - moved[j], deviation**2) for j in range(x.shape[1])], axis=0).mean()
                for x in samples
            ]
        )
    own = 0.0
    for one, mean, s in law:
        for two, other, t in law:
            rest = similar(np.zeros(1), s * s + t * t)[0] ** (accepted.columns - 1)
            own += one * two * similar(np.array([mean - other]), s * s + t * t)[0] * rest
    w = nearest_weights(gram, across)
    return float((own - 2 * across @ w + w @ gram @ w) / (4 - own - w @ gram @ w))


def _section(results: Results[_Windows]) -> Section:
    settings, rates, tries = results.settings, defaultdict[_Spot, Counter[str]](Counter), Counter[_Spot]()
    for done in results.cells:
        cell = done.cell
        for claim in CLAIMS:
            spot = _Spot(str(cell["laws"]), str(cell["place"]), str(cell["size"]), claim)
            tries[spot] += int(cell["count"])
            for word in SIDES:
                rates[spot][word] += int(done.values.get(f"{claim} {word}", 0))
    looks = ", ".join(map(str, lengths(settings.length)))
    body = (
        f"Streams of {settings.length} batches, all of them exactly at the tolerance "
        f"{settings.margin:g}, under "
        f"the laws of {len(settings.sets)} of the accepted sets above; {settings.repetitions} "
        "streams for each "
        "set, size and place. A claim about the population is tested where the distance of the law is the "
        "tolerance; one about this reference where the distance to just these rows is, which has a "
        "closed form "
        f"too. Windows of {looks} batches that end at the last one share a level of {ALPHA:.0%}: so "
        '"within" and "beyond" are both errors, of which each may occur that often. The mean over the sets, '
        "and the largest:\n\n" + _table(rates, tries, settings)
    )
    return Section(body, _sentence(rates, tries))


def _table(rates: dict[_Spot, Counter[str]], tries: Counter[_Spot], settings: _Windows) -> str:
    rows = []
    for claim in CLAIMS:
        for place in PLACES:
            for size in settings.sizes:
                here = [s for s in rates if (s.claim, s.place, s.size) == (claim, place, size)]
                each = [[rates[s][word] / tries[s] for s in here] for word in SIDES]
                rows.append(
                    [claim, place, size, *(f"{np.mean(v):.3f}, at most {max(v):.3f}" for v in each if v)]
                )
    return table(["claim", "batches are like", "reference : batch", *SIDES], rows)


def _sentence(rates: dict[_Spot, Counter[str]], tries: Counter[_Spot]) -> str:
    told = []
    for alone in (True, False):
        for claim in CLAIMS:
            here = [s for s in rates if s.claim == claim and (s.place == ALONE) is alone]
            most = {word: max(rates[s][word] / tries[s] for s in here) for word in SIDES}
            mean = {word: sum(rates[s][word] for s in here) / sum(tries[s] for s in here) for word in SIDES}
            said = " and ".join(f'"{w}" {mean[w]:.1%} of the time (at most {most[w]:.1%})' for w in SIDES)
            told.append(f"as a claim about {'the ' * (claim == CLAIMS[0])}{claim} {said}")
    return (
        f"Exactly at the tolerance windows are said to be, without accepted data, {told[0]}, and {told[1]}; "
        f"beside accepted data {told[2]}, and {told[3]}. Each is allowed {ALPHA:.0%} of the time."
    )


EXPERIMENT = Experiment(
    name="calibration_windows",
    labels=("calibration-windows",),
    title="The last batches together",
    seed=71,
    quick=_Windows(repetitions=30, sets=("shifted", "rare", "skewed", "three sets"), sizes=("200:100",)),
    full=_Windows(repetitions=500),
    tiny=_Windows(repetitions=1, sets=("shifted",), sizes=("40:20",), length=4),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
