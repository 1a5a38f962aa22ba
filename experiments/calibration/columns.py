"""Whether a verdict on all columns and pairs of them holds its level, and finds faults in one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import nammd
from experiments.calibration.column_data import KINDS, Drawn, Frozen, draw
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.summary import pooled_rate, rate, shown
from nammd.data.values import Values as ColumnValues
from nammd.tolerances.bars import Accepted, pvalues
from nammd.tolerances.decision import Decision, decided
from nammd.views.family import COLUMNS, WHOLE
from nammd.views.limits import check_columns, made_limits
from nammd.views.negligible import Negligible
from nammd.views.relation_limits import PairCheck, RelationLimits, check_relations

ALPHA = 0.05
PLACES = ("none", "one", "some", "all", "negligible")
_SAID = {
    "none": "candidate like the reference, accepted data differ in one column",
    "one": "at the tolerance in one column",
    "some": "at the tolerance in every third column",
    "all": "at the tolerance in all columns",
    "negligible": "at what is negligible in all columns",
}
FAULTS = {
    "new label": "a label that the reference never had, 8 % of rows",
    "missing": "missing values, 4.9 % -> 9.9 %",
    "raised": "prices raised by 7 %",
    "cents": "prices in cents",
    "join": "a broken join: prices and taxes of a correlation of 0.6 come from different rows",
}


@dataclass(frozen=True)
class _Columns(Settings):
    columns: tuple[int, ...] = (1, 5, 20, 60)
    sizes: tuple[str, ...] = ("500+500+500", "2000+500+500")
    wide_repetitions: int = 150
    wide_sizes: tuple[str, ...] = ("500+500+500",)
    fault_repetitions: int = 60
    fault_rows: tuple[int, ...] = (50000, 20000, 20000, 2000, 300)
    fault_columns: int = 20


def _cells(settings: _Columns) -> Iterator[Cell]:
    for columns in settings.columns:
        wanted = settings.wide_repetitions if columns > 20 else settings.repetitions
        for sizes in _sizes(settings, columns):
            for place in PLACES:
                if columns == 1 and place in ("some", "all"):
                    continue
                for chunk, count in chunks(wanted, max(5, 500 // columns)):
                    what: Cell = {"part": "level", "columns": columns, "sizes": sizes, "place": place}
                    yield {**what, "chunk": chunk, "count": count}
    for fault in FAULTS:
        for chunk, count in chunks(settings.fault_repetitions, 10):
            yield {"part": "fault", "fault": fault, "chunk": chunk, "count": count}


def _sizes(settings: _Columns, columns: int) -> tuple[str, ...]:
    return settings.wide_sizes if columns > 20 else settings.sizes


def _run(settings: _Columns, cell: Cell, context: Context) -> Values:
    once = _level if cell["part"] == "level" else _fault
    found = [once(settings, cell, context) for _ in range(int(cell["count"]))]
    return {name: rate([each[name] for each in found]) for name in found[0]}


def _changed(columns: int, place: str) -> dict[int, float]:
    """Return by how much which columns of the accepted data differ."""
    if place in ("none", "one"):
        return {0: 1.0}
    step = 3 if place == "some" else 1
    return dict.fromkeys(range(0, columns, step), 1.0)


def _level(settings: _Columns, cell: Cell, context: Context) -> dict[str, bool]:
    columns, place = int(cell["columns"]), str(cell["place"])
    m, n1, n = map(int, str(cell["sizes"]).split("+"))
    rng = context.rng
    accepted_apart = _changed(columns, "one" if place == "negligible" else place)
    candidate_apart = {"none": {}, "negligible": {}}.get(place, accepted_apart)
    reference, accepted = draw(rng, m, columns), draw(rng, n1, columns, accepted_apart)
    candidate = draw(rng, n, columns, candidate_apart)
    if place == "negligible":
        candidate = _negligible(rng, candidate)
    frozen = Frozen.fit(reference)
    limits = made_limits(
        frozen.measures, frozen.tally(reference), Negligible(), {"accepted": frozen.tally(accepted)}
    )
    kept = {limit.name: limit.made_from for limit in limits}
    family = WHOLE if columns > 1 else COLUMNS
    held = check_columns(limits, kept, frozen.tally(candidate), family.level("columns", ALPHA))
    pairs = _checked_pairs(frozen, reference, accepted, candidate)
    kernel = nammd.Gaussian.median(frozen.points(reference))
    x = frozen.points(reference)
    bar, estimate = (
        nammd.distance(x, frozen.points(each), kernel=kernel, engine=context.engine)
        for each in (accepted, candidate)
    )
    close, far = pvalues(Accepted("accepted", bar.pair), estimate, shared=True)
    beyond = family.pvalue(far, [each.adjusted for each in held], [each.adjusted for each in pairs])
    return {
        "far": decided(close, beyond, ALPHA) is Decision.FAR,
        "joint": far <= family.level("joint", ALPHA),
        "named": any(each.beyond for each in held),
        "paired": any(each.beyond for each in pairs),
        "joint at the whole level": far <= ALPHA,
    }


def _checked_pairs(
    frozen: Frozen, reference: Drawn, accepted: Drawn, candidate: Drawn
) -> tuple[PairCheck, ...]:
    """Hold every pair of columns against its tolerance."""
    mine = frozen.relations(reference)
    if not mine.columns.pairs:
        return ()
    limits = RelationLimits.of(mine, Negligible())
    limits = limits.accepting({"accepted": frozen.relations(accepted, mine.columns)})
    now = frozen.relations(candidate, mine.columns)
    return check_relations(limits, mine, now, WHOLE.level("pairs", ALPHA))


def _negligible(rng: np.random.Generator, candidate: Drawn) -> Drawn:
    """Return a table with every column changed by what is negligible in it."""
    found = {}
    for k, (name, values) in enumerate(candidate.columns.items()):
        found[name] = _slightly(rng, KINDS[k % len(KINDS)], values)
    return Drawn(found)


def _slightly(rng: np.random.Generator, kind: str, values: ColumnValues) -> ColumnValues:
    rows = len(values.missing)
    some = rng.random(rows) < 0.01
    if values.numbers is None:
        assert values.codes is not None
        codes = np.where(some, 3, values.codes)
        return ColumnValues("categorical", values.missing, codes=codes, categories=("a", "b", "c", "new"))
    # A tenth of the robust standard deviation of the law.
    unit = {"lognormal": float(np.exp(0.5 * 0.6745) - np.exp(-0.5 * 0.6745)) / 1.349, "few values": 2.0}
    gone = values.missing | some if kind == "missing" else values.missing
    moved = values.numbers + 0.1 * unit.get(kind, 1.0)
    return ColumnValues("numeric", gone, numbers=np.where(gone, np.nan, moved))


def _fault(settings: _Columns, cell: Cell, context: Context) -> dict[str, bool]:
    fault, rng = str(cell["fault"]), context.rng
    rows = settings.fault_rows[list(FAULTS).index(fault)]
    columns = settings.fault_columns
    reference, accepted = draw(rng, rows, columns), draw(rng, rows, columns, {0: 1.0})
    candidate = draw(rng, rows, columns)
    nothing = np.zeros(rows, dtype=bool)
    for each in (reference, accepted, candidate):
        price = rng.normal(size=rows)
        tax = 0.6 * price + 0.8 * rng.normal(size=rows)
        if fault == "join" and each is candidate:
            tax = rng.permutation(tax)
        for name, latent in (("price", 3 + 0.4 * price), ("tax", 0.4 * tax)):
            numbers = np.exp(latent).round(2).astype(np.float64)
            each.columns[name] = ColumnValues("numeric", nothing, numbers=numbers)
        gone = rng.random(rows) < (0.099 if fault == "missing" and each is candidate else 0.049)
        each.columns["income"] = ColumnValues(
            "numeric", gone, numbers=np.where(gone, np.nan, rng.normal(3000, 800, rows))
        )
    spoiled = {"new label": "c3", "missing": "income"}.get(fault, "price")
    if fault == "new label":
        values = candidate.columns["c3"]
        assert values.codes is not None
        codes = np.where(rng.random(rows) < 0.08, 3, values.codes)
        names = ("a", "b", "c", "crypto")
        candidate.columns["c3"] = ColumnValues("categorical", values.missing, codes=codes, categories=names)
    elif fault in ("raised", "cents"):
        prices = candidate.columns["price"].numbers
        assert prices is not None
        factor = 1.07 if fault == "raised" else 100.0
        candidate.columns["price"] = ColumnValues("numeric", nothing, numbers=np.round(factor * prices, 2))
    frozen = Frozen.fit(reference)
    if fault == "join":
        pairs = [each for each in _checked_pairs(frozen, reference, accepted, candidate) if each.beyond]
        return {
            "found": any(each.names == ("price", "tax") for each in pairs),
            "others": any("tax" not in each.names for each in pairs),
        }
    limits = made_limits(
        frozen.measures, frozen.tally(reference), Negligible(), {"accepted": frozen.tally(accepted)}
    )
    kept = {limit.name: limit.made_from for limit in limits}
    held = check_columns(limits, kept, frozen.tally(candidate), WHOLE.level("columns", ALPHA))
    named = [each.name for each in held if each.beyond]
    return {"found": spoiled in named, "others": any(name != spoiled for name in named)}


def _pooled(results: Results[_Columns], name: str, **wanted: object) -> dict[str, float]:
    return pooled_rate(found[name] for found in results.where(**wanted))


def _section(results: Results[_Columns]) -> Section:
    body = (
        "Tables of mixed, correlated columns: normal, lognormal, few whole numbers, labels, and normal with "
        "missing values. A tolerance is taken from accepted data that differ in one, some or all columns, "
        "and the candidate is drawn from a law that is exactly at the tolerance there, so every FAR is an "
        f"error. Shares of FAR at level {ALPHA:g}: half of it for the joint distance, a quarter for columns "
        "and a quarter for pairs of them, by Holm's method. *Named*: how often a column was called beyond "
        "its own tolerance; *pair*: how often two were said to go together differently. Rows are those "
        "of the reference, of the accepted data and of the candidate. Where every column is at what is "
        "negligible, the joint distance may truly be beyond its tolerance, so naming one is the error:\n\n"
        + _level_table(results)
        + "\nFaults in one of the columns, the accepted data differing in another one, found by that column "
        "alone:\n\n" + _fault_table(results)
    )
    return Section(body=body, sentence=_sentence(results))


def _level_table(results: Results[_Columns]) -> str:
    settings, rows = results.settings, []
    for columns in settings.columns:
        for place in PLACES:
            if columns == 1 and place in ("some", "all"):
                continue
            row = [str(columns), _SAID[place]]
            for sizes in settings.sizes:
                wanted = {"part": "level", "columns": columns, "sizes": sizes, "place": place}
                known = bool(list(results.where(**wanted)))
                # What is negligible in every column may well be beyond the joint tolerance.
                far = known and place != "negligible"
                row.append(shown(_pooled(results, "far", **wanted)) if far else "")
                row.append(shown(_pooled(results, "named", **wanted)) if known else "")
                row.append(shown(_pooled(results, "paired", **wanted)) if known and columns > 1 else "")
            rows.append(row)
    head = [
        f"{what}, {sizes.replace('+', ', ')} rows"
        for sizes in settings.sizes
        for what in ("FAR", "named", "pair")
    ]
    return table(["columns", "candidate", *head], rows)


def _fault_table(results: Results[_Columns]) -> str:
    settings, rows = results.settings, []
    for fault, size in zip(FAULTS, settings.fault_rows, strict=True):
        found = [_pooled(results, name, part="fault", fault=fault) for name in ("found", "others")]
        rows.append([FAULTS[fault], f"{size:,}", *map(shown, found)])
    return table(["fault", "rows", "found", "another column or pair named"], rows)


def _sentence(results: Results[_Columns]) -> str:
    settings = results.settings
    rates, null, paired = [], [], []
    for columns in settings.columns:
        for sizes in settings.sizes:
            for place in PLACES:
                wanted = {"part": "level", "columns": columns, "sizes": sizes, "place": place}
                if not list(results.where(**wanted)):
                    continue
                rates.append(_pooled(results, "named" if place == "negligible" else "far", **wanted))
                paired.append(_pooled(results, "paired", **wanted))
                if place == "none":
                    null.append(_pooled(results, "named", **wanted))
    worst = max(rates, key=lambda each: each["mean"])
    least = min((_pooled(results, "found", part="fault", fault=f) for f in FAULTS), key=lambda r: r["mean"])
    named, pairs = pooled_rate(null), pooled_rate(paired)
    return (
        f"FAR is wrong in at most {shown(worst)} of the samples in any setting, where {ALPHA:g} is allowed; "
        f"of {named['n']:,} checks of data like the reference, {shown(named)} name a column, and of all "
        f"{pairs['n']:,} checks {shown(pairs)} name a pair; every fault is found with a probability of at "
        f"least {least['mean']:.2f}."
    )


EXPERIMENT = Experiment(
    name="calibration_columns",
    labels=("calibration-columns",),
    title="Columns with their own tolerances",
    seed=71,
    quick=_Columns(
        repetitions=20,
        columns=(1, 5),
        sizes=("500+500+500",),
        wide_repetitions=5,
        fault_repetitions=5,
        fault_columns=5,
    ),
    full=_Columns(repetitions=600),
    tiny=_Columns(
        repetitions=2,
        columns=(1, 5),
        sizes=("60+60+60",),
        wide_repetitions=1,
        fault_repetitions=1,
        fault_rows=(400, 400, 400, 400, 300),
        fault_columns=4,
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
