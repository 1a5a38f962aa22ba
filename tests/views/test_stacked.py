"""Very many columns at once: the same numbers as one by one, in as many steps for few columns as for many."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.data.opening import open_dataset
from nammd.data.row_grouping import RowGrouping, dataset_with_grouping
from nammd.data.values import Values
from nammd.statistics.margin import margin
from nammd.statistics.relation import difference
from nammd.views import limits, stacked
from nammd.views.counted import count_columns
from nammd.views.counting import tally_columns
from nammd.views.counts import LabelCounts, NumberCounts
from nammd.views.limits import check_columns
from nammd.views.measure import Measure, measures_of
from nammd.views.nearest import nearest_mixture
from nammd.views.negligible import Negligible
from nammd.views.placed import pair_of_counts
from nammd.views.relation_limits import RelationLimits
from nammd.views.stacked import stacked_pairs

MEASURE = Measure("a", "numeric", "numbers", 1.0, 2.0)


def values(numbers, unit=""):
    numbers = np.asarray(numbers, dtype=float)
    return Values("numeric", np.isnan(numbers), numbers=numbers, unit=unit)


def counted(numbers):
    return MEASURE.count(values(numbers))


def drawn_columns():
    """Columns of all kinds, in two samples: how each is drawn."""
    rng = np.random.default_rng(0)
    found = []
    for size in (20, 24, 300):
        for other in (15, 700):
            found += [
                (counted(rng.normal(size=size)), counted(rng.normal(0.4, 1, size=other))) for _ in range(3)
            ]
            found.append((counted(rng.poisson(3.0, size)), counted(rng.poisson(4.0, other))))
            found.append((counted(rng.poisson(3.0, size)), counted(rng.normal(size=other))))
            found.append((counted(np.full(size, 2.0)), counted(rng.normal(size=other))))
            found.append((counted(np.full(size, 2.0)), counted(np.full(other, 5.0))))
            found.append((counted(np.full(size, 2.0)), counted(np.full(other, 2.0))))
            found.append((counted(rng.standard_cauchy(size) * 1e6), counted(rng.normal(size=other))))
            labels = (
                LabelCounts({"a": size - 3.0, "b": 3.0}, 0.0),
                LabelCounts({"b": 5.0, "c": other - 5.0}, 2.0),
            )
            found.append(labels)
            found.append((LabelCounts({"a": float(size)}, 0.0), LabelCounts({"a": float(other)}, 0.0)))
            gaps = np.where(rng.random(size) < 0.2, np.nan, rng.normal(size=size))
            found.append((counted(gaps).presence(), counted(rng.normal(size=other)).presence()))
    return found


@pytest.mark.parametrize("at_once", [stacked.AT_ONCE, 5000])
def test_columns_at_once_have_the_numbers_of_each(monkeypatch, at_once):
    monkeypatch.setattr(stacked, "AT_ONCE", at_once)
    columns = drawn_columns()
    eps = np.geomspace(1e-4, 0.3, len(columns))
    seen = []
    for which, every in stacked_pairs(columns):
        pvalues = margin(every, eps[which], "corrected", "greater").pvalue("greater")
        for place, k in enumerate(which):
            pair = pair_of_counts(*columns[k])
            assert every.value[place] == pytest.approx(pair.value, rel=1e-9, abs=1e-13)
            assert every.standard_error[place] == pytest.approx(pair.standard_error, rel=1e-8, abs=1e-9)
            assert bool(every.constant[place]) == pair.constant
            alone = margin(pair, float(eps[k]), "corrected", "greater").pvalue("greater")
            assert pvalues[place] == pytest.approx(alone, rel=1e-9, abs=1e-14, nan_ok=True)
            seen.append(k)
    assert sorted(seen) == list(range(len(columns)))


def test_few_points_of_the_lattice_tell_what_all_of_its_points_do(monkeypatch):
    columns = [both for both in drawn_columns() if isinstance(both[0], NumberCounts)]
    told = []
    for few in (0, stacked.FEW_POINTS, 2000):
        monkeypatch.setattr(stacked, "FEW_POINTS", few)
        told.append({})
        for which, every in stacked_pairs(columns):
            told[-1] |= zip(which.tolist(), zip(every.value, every.standard_error, strict=True), strict=True)
    for k, (value, error) in told[0].items():
        for other in told[1:]:
            assert other[k] == pytest.approx((value, error), rel=1e-9, abs=1e-12, nan_ok=True)


def test_columns_counted_at_once_are_those_counted_one_by_one():
    rng = np.random.default_rng(1)
    drawn = [(MEASURE, values(rng.normal(size=20).round(digits))) for digits in (0, 1, 2, 5, 9)] + [
        (dataclasses.replace(MEASURE, center=5.0), values(rng.poisson(4.0, 20), unit="€")),
        (MEASURE, values(np.full(20, -3.5))),
        (MEASURE, values(np.full(20, np.nan))),
        (MEASURE, values(np.where(rng.random(20) < 0.3, np.nan, rng.normal(size=20)))),
        (MEASURE, values([1e308, -1e308, 0.0, -0.0, 1e-300])),
        (dataclasses.replace(MEASURE, scale=1e-3), values(rng.standard_cauchy(20) * 1e9)),
        (dataclasses.replace(MEASURE, clock="local"), values(np.arange(20) * 86_400.0)),
        (MEASURE, values(np.r_[1.0, 1.0 + 1e-9, rng.normal(size=18)])),
        (MEASURE, values(np.arange(12, dtype=np.float32) / 3)),
        (MEASURE, values(rng.normal(size=500))),
        (
            Measure("b", "categorical", "labels"),
            Values("categorical", np.zeros(3, bool), codes=np.array([0, 1, 0]), categories=("x", "y")),
        ),
    ]
    at_once = count_columns(drawn)
    for (measure, column), found in zip(drawn, at_once, strict=True):
        alone = measure.count(column)
        assert type(found) is type(alone)
        assert found.missing == alone.missing
        if isinstance(alone, NumberCounts):
            assert found.exact == alone.exact
            np.testing.assert_array_equal(found.places, alone.places)
            np.testing.assert_array_equal(found.rows, alone.rows)
            np.testing.assert_equal(dataclasses.asdict(found.marks), dataclasses.asdict(alone.marks))
        else:
            assert found.rows == alone.rows


def tables(columns, rows=25, seed=0):
    """A reference, an accepted dataset and a candidate with columns of all kinds."""
    found = []
    for shift in (0.0, 0.3, 0.8):
        rng, table = np.random.default_rng(seed), {}
        for k in range(columns):
            table[f"number {k}"] = rng.normal(shift, 1.0, rows)
            table[f"whole {k}"] = rng.poisson(4.0 + shift, rows)
            table[f"gaps {k}"] = np.where(rng.random(rows) < 0.2, np.nan, rng.normal(shift, 1.0, rows))
            table[f"text {k}"] = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
        seed += 1
        found.append(pd.DataFrame(table))
    return found


def asked(columns, monkeypatch, **options):
    """What a check of such tables asks of its columns."""
    reference, accepted, candidate = tables(columns)
    if options:
        for table in (reference, accepted, candidate):
            table["who"] = np.arange(len(table)) // 2
    tolerance = nammd.Tolerance.from_reference(reference, accepted, anyway=True, **options)
    kept = []
    monkeypatch.setattr(
        "nammd.tolerances.gate_columns.check_columns",
        lambda *given: kept.append(given) or check_columns(*given),
    )
    tolerance.check(reference, candidate, **options)
    [given] = kept
    return given


@pytest.mark.parametrize("options", [{}, {"groups": "who"}])
def test_a_column_is_checked_alone_as_among_others(monkeypatch, options):
    every, reference, candidate, level = asked(4, monkeypatch, **options)
    together = {check.name: check for check in check_columns(every, reference, candidate, level)}
    assert len(together) == 16
    for limit in every:
        [alone] = check_columns([limit], reference, candidate, level)
        found = together[limit.name]
        assert found.aspect == alone.aspect
        for name in ("distance", "standard_error", "tolerance", "pvalue"):
            assert getattr(found, name) == pytest.approx(getattr(alone, name), rel=1e-9, abs=1e-13)
    assert min(check.pvalue for check in together.values()) < 0.25


def test_more_columns_take_no_more_tests(monkeypatch):
    calls, rng = [], np.random.default_rng(3)
    monkeypatch.setattr(limits, "margin", lambda *given: calls.append(given) or margin(*given))
    numbers = []
    for columns in (60, 600):
        samples = [
            (counted(rng.poisson(9.0, 25)), counted(rng.normal(9.0, 3.0, 25).round(1)))
            for _ in range(columns)
        ]
        asked = [limits._Asked(k, MEASURE, "values", 0.01, x, y, ()) for k, (x, y) in enumerate(samples)]
        calls.clear()
        assert len(list(limits._by_counts(asked))) == columns
        numbers.append(len(calls))
    assert numbers[1] <= numbers[0] + 2 < 12


def test_a_mixture_that_is_one_corner_is_the_pair_of_that_corner():
    rng, seen = np.random.default_rng(5), 0
    for k in range(40):
        reference, accepted, candidate = (
            counted(rng.normal(shift, 1.0, 20).round(5)) for shift in (0.0, 1.5 * (k % 2), rng.uniform(-1, 2))
        )
        near = nearest_mixture(reference, [accepted], candidate)
        if near.alone is None:
            continue
        seen += 1
        alone = pair_of_counts(near.alone, candidate)
        assert near.pair.value == pytest.approx(alone.value, rel=1e-9, abs=1e-13)
        assert near.pair.standard_error == pytest.approx(alone.standard_error, rel=1e-9)
        pvalues = [
            margin(pair, 0.01, "corrected", "greater").pvalue("greater") for pair in (near.pair, alone)
        ]
        assert pvalues[0] == pytest.approx(pvalues[1], rel=1e-9)
    assert seen > 10


@pytest.mark.parametrize("grouped", [False, True])
def test_blocks_of_columns_at_once_are_as_far_apart_as_one_by_one(monkeypatch, grouped):
    """Also how far pairs of columns are, beside each pair by itself."""
    rng = np.random.default_rng(5)
    table = {f"number {k}": rng.normal(size=60).round(k % 3) for k in range(5)}
    table |= {"gaps": np.where(rng.random(60) < 0.3, np.nan, table["number 0"]), "few": rng.poisson(2.0, 60)}
    table |= {"label": rng.choice(["a", "b", "c"], 60), "flag": rng.random(60) < 0.3}
    groups = rng.integers(0, 30, 60).astype(str) if grouped else None

    def limits_of():
        made = nammd.Tolerance.from_split(pd.DataFrame(table), anyway=True, groups=groups)
        return made.column_tolerances

    found = limits_of()
    with monkeypatch.context() as patched:
        patched.setattr("nammd.views.counting.FEW", 0)
        expected = limits_of()
    for ours, theirs in zip(found.limits, expected.limits, strict=True):
        assert ours.tolerances() == pytest.approx(theirs.tolerances(), rel=1e-9)
    assert len({str(each.tolerances()) for each in found.limits}) > len(found.limits) / 2
    pairs, alone = found.pairs, expected.pairs
    np.testing.assert_allclose(pairs.negligible, alone.negligible, rtol=1e-12)
    assert len(np.unique(pairs.negligible)) > len(pairs.negligible) / 3  # blocks are apart in some


@pytest.mark.parametrize("grouped", [False, True])
def test_pairs_of_columns_in_blocks_are_as_far_apart_as_each_by_itself(grouped):
    rng = np.random.default_rng(6)
    table = pd.DataFrame({name: rng.normal(size=90) for name in "abcd"})
    if grouped:
        table["who"] = rng.integers(0, 40, 90).astype(str)
    grouping = RowGrouping("who" if grouped else None, None)
    dataset = dataset_with_grouping(open_dataset(table, "x"), grouping)
    encoding = nammd.Space.fit(table[list("abcd")]).encoding
    measures = measures_of(encoding, dataset)
    tally = tally_columns(dataset, measures, encoding, edges=(0, 30, 60, 90), pairs=True)
    limits = RelationLimits.of(tally.relations, Negligible.of(True))
    found = limits.apart(tally.parts).negligible
    for k in range(len(found)):
        unit = np.prod([each.spread for each in limits.reference.both(k)])
        far = [
            difference(limits.reference.relation([k]), part.relation([k]))[0] / unit for part in tally.parts
        ]
        assert found[k] == pytest.approx(max(limits.negligible[k], max(0.0, *far) ** 0.5))
