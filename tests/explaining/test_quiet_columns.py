"""The look at all columns at once loses no fact, and most columns without one are not looked at again."""

from dataclasses import replace

import numpy as np
import pytest

from nammd.data.values import Values
from nammd.explaining import quiet_columns
from nammd.explaining.chance import Together
from nammd.explaining.column_facts import column_facts
from nammd.explaining.number_facts import Possible, number_facts
from nammd.explaining.quiet_columns import NumberColumn, possible_facts
from nammd.views.counts import LabelCounts
from nammd.views.marks import Marks
from nammd.views.measure import Measure

ALL = Possible()

LAWS = {
    "normal": lambda rng, n: rng.normal(50, 10, n),
    "around zero": lambda rng, n: rng.normal(0, 1, n),
    "rounded": lambda rng, n: rng.normal(3, 1, n).round(1),
    "whole": lambda rng, n: rng.poisson(20, n).astype(float),
    "codes": lambda rng, n: rng.choice([1.0, 2, 3, 5, 8, 13], n, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]),
    "positive": lambda rng, n: rng.lognormal(2, 1, n),
    "wild": lambda rng, n: rng.standard_cauchy(n) * 1e3,
    "enormous": lambda rng, n: rng.normal(0, 1, n) * 1e200,
    "constant": lambda rng, n: np.full(n, 7.0),
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.8, 0.0, rng.normal(5, 1, n)),
}

FAULTS = {
    "none": lambda rng, x: x,
    "cents": lambda rng, x: x * 100,
    "inches": lambda rng, x: x / 2.54,
    "next": lambda rng, x: x + 1,
    "before": lambda rng, x: x - 1,
    "cut off": lambda rng, x: np.minimum(x, np.quantile(x, 0.7)),
    "placeholders": lambda rng, x: np.where(rng.random(len(x)) < 0.2, -999.0, x),
    "a default": lambda rng, x: np.where(rng.random(len(x)) < 0.5, np.median(x), x),
    "always": lambda rng, x: np.full(len(x), x.max()),
    "outliers": lambda rng, x: np.where(rng.random(len(x)) < 0.1, x * 30, x),
    "negative": lambda rng, x: -x,
    "coarser": lambda rng, x: x.round(-1),
    "finer": lambda rng, x: x + 0.00123,
    "drift": lambda rng, x: x + np.ptp(x) / 4,
    "gaps": lambda rng, x: np.where(rng.random(len(x)) < 0.3, np.nan, x),
}


def column(rng, law, fault, number, rows):
    reference = LAWS[law](rng, rows)
    center, scale = float(np.median(reference)), float(np.ptp(reference)) / 4 or 1.0
    clock = "zoned" if law == "normal" and rng.random() < 0.2 else ""
    measure = Measure(str(number), "datetime" if clock else "numeric", "numbers", center, scale, clock)
    known = [reference, *(LAWS[law](rng, int(rng.integers(5, 2 * rows))) for _ in range(rng.integers(0, 3)))]
    now = FAULTS[fault](rng, LAWS[law](rng, int(rng.integers(5, 2 * rows))))

    def counted(numbers, unit=""):
        return measure.count(Values("numeric", np.isnan(numbers), numbers=numbers, unit=unit))

    unit = "€" if rng.random() < 0.05 else ""
    return NumberColumn(measure, [counted(each) for each in known], counted(now, unit))


def drawn(seed):
    rng = np.random.default_rng(seed)
    return [
        column(rng, law, fault, f"{law} {fault} {rows} {k}", rows)
        for law in LAWS
        for fault in FAULTS
        for rows in (20, 60, 300, 1500)
        for k in range(1 + (rows < 100))
    ]


@pytest.mark.parametrize(
    ("seed", "together"), [(0, Together()), (1, Together(3.0, 2.0)), (2, Together(1.0, 5.0))]
)
def test_no_fact_is_lost(monkeypatch, seed, together):
    columns = drawn(seed)
    possible = possible_facts(columns, together)
    facts = [number_facts(*each, together, ALL) for each in columns]
    assert {fact.code for own in facts for fact in own} >= {
        "factor", "offset", "pile-up", "placeholders", "outside-range", "precision", "unit-changed",
    }  # fmt: skip
    for each, own, one in zip(columns, facts, possible, strict=True):
        assert number_facts(*each, together, one) == own, each.measure.name
        assert any(one) or not own
    monkeypatch.setattr(quiet_columns, "AT_ONCE", 2000)  # the same some columns at a time
    assert possible_facts(columns, together) == possible


def test_most_columns_without_a_fact_are_not_looked_at_again():
    rng, together = np.random.default_rng(0), Together()
    laws = ("normal", "around zero", "rounded", "whole", "positive")
    columns = [column(rng, law, "none", k, 50) for law in laws for k in range(60)]
    quiet = [each for each in columns if not number_facts(*each, together, ALL)]
    assert len(quiet) > 200
    assert sum(map(any, possible_facts(quiet, together))) < len(quiet) / 3


def test_facts_are_those_of_each_column_in_their_order():
    columns = drawn(0)[::7]
    measures = [each.measure for each in columns]
    measures.insert(3, Measure("label", "categorical", "labels"))
    measures.insert(5, Measure("empty", "numeric", "numbers"))
    nothing = measures[5].count(Values("numeric", np.ones(9, dtype=bool)))
    before = {each.measure.name: each.known[0] for each in columns}
    before |= {"label": LabelCounts({"a": 500.0}, 0.0), "empty": nothing}
    now = {each.measure.name: each.now for each in columns}
    now |= {"label": LabelCounts({"a": 300.0, "b": 200.0}, 0.0), "empty": nothing}
    accepted = {each.measure.name: each.known[1:] for each in columns} | {"label": (), "empty": ()}
    every = column_facts(measures, before, accepted, now, Together())
    alone = [column_facts([each], before, accepted, now, Together()) for each in measures]
    assert every == tuple(fact for found in alone for fact in found)
    assert {fact.code for fact in every} >= {"new-categories", "factor", "missing-values"}


def test_counts_of_which_nothing_else_is_noted_lose_no_fact_either():
    def unmarked(counts):
        return replace(counts, marks=Marks())

    together, columns = Together(), drawn(3)[::5]
    known = [each._replace(known=[unmarked(one) for one in each.known]) for each in columns]
    for some in (known, [each._replace(now=unmarked(each.now)) for each in columns]):
        for each, possible in zip(some, possible_facts(some, together), strict=True):
            assert number_facts(*each, together, possible) == number_facts(*each, together, ALL)
