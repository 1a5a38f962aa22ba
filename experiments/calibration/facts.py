"""Facts in a monitor: false alarms a year within the tolerance, and whether faults are found the same day."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import nammd
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from nammd.data.opening import open_dataset
from nammd.datasets.laws.families import known_pair
from nammd.monitor.measuring import OF_FACTS, TESTED
from nammd.tolerances.gate import Gate

LEVEL = 1 / 365
HALF = 0.5
DAYS = 73
"""So many days a cell has: a fifth of a year, against a reference of its own."""

Generator = np.random.Generator
Draw = Callable[[Generator, int], Any]


def _labels(power: float) -> Draw:
    """Return a law of 400 labels of which most are rare: shares by a power of their rank."""
    shares = np.arange(1.0, 401.0) ** -power
    names = np.array([f"label {k}" for k in range(400)])
    return lambda rng, rows: pd.DataFrame({"label": rng.choice(names, rows, p=shares / shares.sum())})


def _some(share: float, value: Callable[[Any], Any]) -> Draw:
    """Return log-normal amounts of which a share is something else."""

    def draw(rng: Generator, rows: int) -> Any:
        amount = rng.lognormal(3.0, 0.5, rows)
        return pd.DataFrame({"amount": np.where(rng.random(rows) < share, value(amount), amount)})

    return draw


_AMOUNTS = _some(0.0, np.negative)

TABLES: dict[str, tuple[Draw, Draw]] = {
    "rare labels": (_labels(1.3), _labels(1.25)),
    "0.5 % missing": (_AMOUNTS, _some(0.005, lambda v: np.full(len(v), np.nan))),
    "0.5 % negative": (_AMOUNTS, _some(0.005, np.negative)),
    "0.5 % beyond the range": (_AMOUNTS, _some(0.005, lambda v: 300 + v)),
}
"""Tables within the tolerance of facts, which is 1 % of the rows: the laws of reference and batches."""


@dataclass(frozen=True)
class _Facts(Settings):
    """Settings of the study; `repetitions` is of stretches of days for each law and size.

    Attributes
    ----------
    laws : tuple of str
        Laws with a known distance: batches are at half the tolerance.
    tables : tuple of str
        Tables with half the share of rows from which on a fact counts, or with rare labels.
    tolerance : float
        The tolerance of the former.
    rows : tuple of int
        The rows of a batch.
    reference : int
        Those of the reference.
    days : int
        The days of a stretch.
    faulty : int
        How many faulty batches are drawn of each kind and size.
    """

    laws: tuple[str, ...] = (
        *("shifted normal", "scaled normal", "uneven spread", "contaminated", "uniform", "Student"),
        *("Cauchy", "Laplace", "exponential", "Poisson", "three columns"),
    )
    tables: tuple[str, ...] = tuple(TABLES)
    tolerance: float = 0.05
    rows: tuple[int, ...] = (100, 400)
    reference: int = 1000
    days: int = DAYS
    faulty: int = 1


def _cells(settings: _Facts) -> Iterator[Cell]:
    for rows in settings.rows:
        for law in (*settings.laws, *settings.tables):
            for chunk, count in chunks(settings.repetitions, 1):
                yield {"kind": "quiet", "law": law, "rows": rows, "chunk": chunk, "count": count}
        for fault in FAULTS:
            for chunk, count in chunks(settings.faulty, 10):
                yield {"kind": "fault", "law": fault, "rows": rows, "chunk": chunk, "count": count}


def _run(settings: _Facts, cell: Cell, context: Context) -> Values:
    return (_quiet if cell["kind"] == "quiet" else _fault)(settings, cell, context)


def _quiet(settings: _Facts, cell: Cell, context: Context) -> Values:
    """Count the batches that are FAR by a fact, as single checks count facts and as a monitor tests them."""
    law, rng = str(cell["law"]), context.rng
    if law in TABLES:
        home, away = TABLES[law]
        x = home(rng, settings.reference)
        tolerance = nammd.Tolerance.from_noise(x, level=0.5, levels=(0.5,), scales="median")
    else:
        pair = known_pair(law, HALF * settings.tolerance)
        assert pair is not None
        home, away = pair.p.sample, pair.q.sample
        x = home(rng, settings.reference)
        tolerance = nammd.Tolerance.at(settings.tolerance, pair.kernel, n_columns=x.shape[1])
    gate = tolerance.with_reference(x, engine=context.engine)
    counts = Counter({"days": settings.days})
    tests = _tests(gate)
    counted = gate.tolerance.fact_rules
    tested = replace(counted, level=OF_FACTS * LEVEL / tests)
    for _ in range(settings.days):
        facts = gate.facts(gate.candidate(open_dataset(away(rng, int(cell["rows"])), "a batch")))
        facts = tuple(fact for fact in facts if fact.kind == "data")
        counts["counted"] += any(map(counted.fails, facts))
        counts["tested"] += any(map(tested.fails, facts))
    return dict(counts)


def _tests(gate: Gate) -> int:
    return TESTED * len(gate.tolerance.space.encoding.columns) + 1


def _orders(rng: Generator, rows: int) -> Any:
    """Return a table of orders, without any fault."""
    return pd.DataFrame(
        {
            "amount": rng.lognormal(3.2, 0.7, rows).round(2),
            "age": rng.integers(18, 90, rows),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], rows, p=[0.5, 0.3, 0.2]),
        }
    )


def _in_some(column: str, change: Callable[[Any], Any]) -> Callable[[Any, Generator], Any]:
    """Change a column in 5 % of the rows."""

    def changed(orders: Any, rng: Generator) -> Any:
        hit = rng.permutation(len(orders)) < 0.05 * len(orders)
        return orders.assign(**{column: orders[column].where(~hit, change(orders[column]))})

    return changed


FAULTS: dict[str, Callable[[Any, Generator], Any]] = {
    "amounts in cents, 5 % of rows": _in_some("amount", lambda v: 100 * v),
    "amounts times 1000, 5 % of rows": _in_some("amount", lambda v: 1000 * v),
    "negative amounts, 5 % of rows": _in_some("amount", lambda v: -v),
    "-999 as age, 5 % of rows": _in_some("age", lambda v: -999),
    "a new city, 5 % of rows": _in_some("city", lambda v: "Bern"),
    "amounts missing, 5 % of rows": _in_some("amount", lambda v: np.nan),
    "amounts cut off at 40": lambda orders, rng: orders.assign(amount=orders["amount"].clip(upper=40.0)),
    "one city is gone": lambda orders, rng: orders.assign(city=orders["city"].replace("Kiel", "Ulm")),
}
"""Faults as they happen."""


def _fault(settings: _Facts, cell: Cell, context: Context) -> Values:
    """Count the faulty batches that are FAR at the level of a day, and those by a fact."""
    rng, fault, counts = context.rng, FAULTS[str(cell["law"])], Counter[str]()
    x, accepted = (_orders(rng, settings.reference) for _ in range(2))
    gate = nammd.Tolerance.from_reference(x, accepted).with_reference(x, engine=context.engine)
    rules = replace(gate.tolerance.fact_rules, level=OF_FACTS * LEVEL / _tests(gate))
    for _ in range(int(cell["count"])):
        batch = fault(_orders(rng, int(cell["rows"])), rng)
        opened = gate.candidate(open_dataset(batch, "a batch"))
        verdict = gate.verdict(opened, (1 - OF_FACTS) * LEVEL, rules=rules)
        counts["batches"] += 1
        counts["FAR"] += verdict.is_far
        counts["by a fact"] += bool(verdict.failures)
        counts["not CLOSE"] += not verdict.is_close
        counts["counted"] += any(map(rules.counting().fails, verdict.facts))
    return dict(counts)


def _section(results: Results[_Facts]) -> Section:
    settings = results.settings
    found: dict[tuple[str, str, int], Counter[str]] = defaultdict(Counter)
    for done in results.cells:
        cell = done.cell
        found[str(cell["kind"]), str(cell["law"]), int(cell["rows"])].update(done.values)
    quiet = {key[1:]: counts for key, counts in found.items() if key[0] == "quiet"}
    faults = {key[1:]: counts for key, counts in found.items() if key[0] == "fault"}
    body = (
        f"Batches against a reference of {settings.reference} rows, a day each, at the level 1/365 of a "
        "monitor. **Within the tolerance** no fact should be an alarm. Laws with a known distance "
        "are at half "
        f"the tolerance {settings.tolerance:g}; in the tables half as many rows as the 1 % from "
        "which on a fact "
        "counts are odd, or rare labels are a little more common than in the reference. How many "
        "days a year are "
        "FAR by a fact, *tested* as in a monitor, and in brackets if facts were *counted* as in a "
        "single check:"
        "\n\n" + _quiet_table(quiet, settings) + "\n**Faults** in a table of three columns, each batch by "
        "itself: the share of batches that are FAR the same day, and in brackets by a fact. What is "
        "not FAR is "
        "not CLOSE either, but for the share that is named.\n\n" + _fault_table(faults, settings)
    )
    return Section(body, _sentence(quiet, faults, settings))


Counts = dict[tuple[str, int], Counter[str]]


def _a_year(counts: Counter[str], name: str) -> float:
    return 365 * counts[name] / counts["days"]


def _quiet_table(quiet: Counts, settings: _Facts) -> str:
    rows = [
        [
            law,
            *(
                f"{_a_year(quiet[law, size], 'tested'):.2f} ({_a_year(quiet[law, size], 'counted'):.1f})"
                for size in settings.rows
            ),
        ]
        for law in (*settings.laws, *settings.tables)
    ]
    return table(["law", *(f"{size} rows a day" for size in settings.rows)], rows)


def _fault_table(faults: Counts, settings: _Facts) -> str:
    rows = []
    for fault in FAULTS:
        row = [fault]
        for size in settings.rows:
            counts = faults[fault, size]
            close = (counts["batches"] - counts["not CLOSE"]) / counts["batches"]
            said = f"{counts['FAR'] / counts['batches']:.0%} ({counts['by a fact'] / counts['batches']:.0%})"
            row.append(said + (f", CLOSE {close:.0%}" if close else ""))
        rows.append(row)
    return table(["fault", *(f"{size} rows" for size in settings.rows)], rows)


def _sentence(quiet: Counts, faults: Counts, settings: _Facts) -> str:
    tested, counted = ([_a_year(each, name) for each in quiet.values()] for name in ("tested", "counted"))
    most = max(settings.rows)
    found = [c["FAR"] / c["batches"] for (_, size), c in faults.items() if size == most]
    return (
        f"Within the tolerance facts make {np.mean(tested):.2f} alarms a year on average over laws "
        "and sizes, "
        f"and at most {max(tested):.2f}; counted and not tested they would make "
        f"{np.mean(counted):.1f}, and at "
        f"most {max(counted):.1f}. Of the faulty batches of {most} rows {np.mean(found):.0%} are "
        "FAR the same "
        f"day, of the fault that is seen least {min(found):.0%}."
    )


EXPERIMENT = Experiment(
    name="calibration_facts",
    labels=("calibration-facts",),
    title="Facts within the budget",
    seed=72,
    quick=_Facts(repetitions=5, faulty=20),
    full=_Facts(repetitions=100, faulty=400),
    tiny=_Facts(
        repetitions=1, laws=("scaled normal",), tables=("rare labels",), rows=(60,), reference=100, days=2
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
