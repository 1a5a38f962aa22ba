"""Single columns of rows that belong together."""

import json

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.data.opening import open_dataset
from nammd.data.row_grouping import RowGrouping, with_grouping
from nammd.data.row_units import RowUnits
from nammd.errors.stored import Stored
from nammd.statistics.margin import margin
from nammd.statistics.totals import TotalPair
from nammd.tables import Encoding
from nammd.views.comparing import group_pair
from nammd.views.counting import tally_columns
from nammd.views.counts import LabelCounts, NumberCounts
from nammd.views.each_group import pair_of_groups
from nammd.views.features import MOST_LABELS, ColumnRows, unit_features
from nammd.views.grouped import MOST_KEPT, column_units, pairs_by_totals
from nammd.views.lattice import bent
from nammd.views.measure import Measure, measures_of
from nammd.views.negligible import Negligible
from nammd.views.placed import pair_of_counts
from nammd.views.serial import read_units, units_to_dict
from tests.simulate import noise

NAMES = ("mean", "v1", "v2", "c", "w")


def units(column, groups, name="x", weights=None):
    names = tuple(f"{name}{k:06d}" for k in range(groups.max() + 1))
    return column_units(column, RowUnits(groups, names, weights))


def numbers(seed, groups, correlation=0.6, shift=0.0, rows=(1, 16)):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), rng.integers(*rows, size=groups))
    own = np.sqrt(1 - correlation) * rng.normal(size=len(labels))
    return np.sqrt(correlation) * rng.normal(size=groups)[labels] + own + shift, labels


def test_features_of_numbers_give_the_kernel():
    places = bent(np.concatenate([np.random.default_rng(0).normal(size=200), [9.0, 1e4, -1e9, 8.0]]))
    found = unit_features(ColumnRows(places=places), "values", np.arange(204), None, 204)
    kernel = np.exp(-0.5 * (places[:, None] - places) ** 2)
    np.testing.assert_allclose(found.z @ found.z.T, kernel, atol=1e-10)
    assert len(found.keys) < 200  # numbers far out have features of their own, and not all on the way


def test_features_of_labels_give_the_kernel():
    codes = np.array([0, 1, 2, 0, -1, -1])
    found = unit_features(ColumnRows(codes=codes, labels=("a", "b", "c")), "labels", np.arange(6), None, 6)
    same = codes[:, None] == codes
    np.testing.assert_allclose(found.z @ found.z.T, np.where(same, 1.0, np.exp(-1.0)), atol=1e-12)


def test_very_many_labels_share_a_feature():
    count = 3 * MOST_LABELS
    codes = np.concatenate([np.arange(count), np.zeros(50, dtype=int)])
    labels = tuple(f"l{k}" for k in range(count))
    found = unit_features(ColumnRows(codes=codes, labels=labels), "labels", codes % 7, None, 7)
    assert len(found.keys) == MOST_LABELS + 2


@pytest.mark.parametrize("kind", ["few numbers", "labels", "missing"])
def test_rows_that_are_groups_of_their_own_have_the_moments_of_rows(kind):
    rng = np.random.default_rng(1)
    samples, counted = [], []
    for name, m, shift in (("x", 300, 0.0), ("y", 250, 0.4)):
        if kind == "labels":
            codes = np.minimum(rng.poisson(1 + shift, m), 4) - (rng.random(m) < 0.1) * 9
            column = ColumnRows(codes=np.maximum(codes, -1), labels=("a", "b", "c", "d", "e"))
            rows = {label: float((column.codes == k).sum()) for k, label in enumerate(column.labels)}
            counted.append(LabelCounts(rows, float((column.codes < 0).sum())))
            aspect = "labels"
        else:
            places = np.round(rng.normal(shift, size=m) * 4) / 4
            if kind == "missing":
                places[rng.random(m) < 0.1 + shift] = np.nan
            column = ColumnRows(places=places)
            missing = int(np.isnan(places).sum())
            counts = NumberCounts.of(places[~np.isnan(places)], missing)
            counted.append(counts.presence() if kind == "missing" else counts)
            aspect = "missing" if kind == "missing" else "values"
        samples.append(units(column, np.arange(m), name)[aspect])
    other = pair_of_counts(*counted)
    for one in (group_pair(*samples), pairs_by_totals(samples)(0, 1)):
        for side in "xy":
            for name in NAMES:
                mine, theirs = (getattr(getattr(e.moments, side), name) for e in (one, other))
                assert mine == pytest.approx(theirs, rel=1e-8, abs=1e-10), (side, name)
        assert (one.value, one.standard_error) == pytest.approx((other.value, other.standard_error), rel=1e-8)


def test_a_column_of_groups_has_the_moments_of_the_joint_distance():
    (x, gx), (y, gy) = numbers(2, 60), numbers(3, 50, shift=0.5)
    mine = units(ColumnRows(places=x), gx)["values"], units(ColumnRows(places=y), gy, "y")["values"]
    weights = [np.random.default_rng(k).uniform(0.5, 2.0, len(z)) for k, z in enumerate((x, y))]
    weighted = (
        units(ColumnRows(places=x), gx, weights=weights[0])["values"],
        units(ColumnRows(places=y), gy, "y", weights[1])["values"],
    )
    how = {"kernel": nammd.Gaussian(1.0), "groups": (gx, gy + 1000)}
    for pair, more in ((mine, {}), (weighted, {"sample_weight": weights})):
        joint = nammd.distance(x, y, **how, **more)
        found = pair_of_groups(*pair)
        assert found.value == pytest.approx(joint.value, rel=1e-7)
        assert found.standard_error == pytest.approx(joint.standard_error, rel=1e-7)


def test_groups_in_both_datasets_are_handled_jointly():
    (x, g), (noise, _) = numbers(4, 80, rows=(3, 4)), numbers(5, 80, rows=(3, 4))
    y = x + 0.1 * noise + 0.3
    joint = nammd.distance(x, y, kernel=nammd.Gaussian(1.0), groups=(g, g))
    same = [units(ColumnRows(places=z), g)["values"] for z in (x, y)]
    found = pair_of_groups(*same)
    assert found.value == pytest.approx(joint.value, rel=1e-7)
    assert found.standard_error == pytest.approx(joint.standard_error, rel=1e-7)
    apart = pairs_by_totals(same)(0, 1)
    assert found.standard_error < 0.5 * apart.standard_error


def test_many_groups_are_kept_as_totals_and_parts_add_up():
    x, g = numbers(6, MOST_KEPT + 500, rows=(1, 3))
    whole = units(ColumnRows(places=x), g)["values"]
    assert whole.each is None
    first = g < 2000
    parts = units(ColumnRows(places=x[first]), g[first])["values"].merged(
        units(ColumnRows(places=x[~first]), g[~first] - 2000)["values"]
    )
    assert (parts.keys, parts.rows, parts.totals.count) == (whole.keys, whole.rows, whole.totals.count)
    np.testing.assert_allclose(parts.totals.products, whole.totals.products, rtol=1e-9, atol=1e-9)
    assert isinstance(group_pair(whole, parts).meeting, TotalPair)


def test_groups_are_stored_and_read():
    x, g = numbers(7, 30)
    x[::7] = np.nan
    stored = units(ColumnRows(places=x), g)
    read = read_units(Stored(json.loads(json.dumps(units_to_dict(stored)))))
    for aspect, each in stored.items():
        assert read[aspect].keys == each.keys
        np.testing.assert_array_equal(read[aspect].totals.products, each.totals.products)
    broken = units_to_dict(stored)
    broken["values"]["keys"] = broken["values"]["keys"][1:]
    with pytest.raises(ValueError, match=r"total must hold .* numbers"):
        read_units(Stored(broken))


def level(groups, correlation, shift, tries, rows=(1, 16)):
    """Return how often a column exactly at its margin is called beyond it: by groups, and by rows."""
    own = 1 / np.sqrt(3)
    eps = 2 * own * (1 - np.exp(-(shift**2) / 6)) / (4 - 2 * own)
    found = np.zeros(2)
    for k in range(tries):
        (x, g), (y, h) = (
            numbers(2 * k, groups, correlation, 0.0, rows),
            numbers(2 * k + 1, groups, correlation, shift, rows),
        )
        pair = units(ColumnRows(places=x), g)["values"], units(ColumnRows(places=y), h, "y")["values"]
        known = group_pair(*pair), pair_of_counts(NumberCounts.of(x, 0), NumberCounts.of(y, 0))
        for j, each in enumerate(known):
            pvalue = margin(each, eps, "corrected", "greater").pvalue("greater")
            found[j] += pvalue <= 0.05
    return found / tries


@pytest.mark.parametrize(("groups", "correlation", "shift"), [(30, 1.0, 0.5), (30, 0.5, 1.0)])
def test_the_level_of_a_column_holds_by_groups_and_not_by_rows(groups, correlation, shift):
    grouped, naive = level(groups, correlation, shift, 130)
    assert grouped <= 0.05 + 2 * noise(0.05, 130)
    assert naive >= 0.16


def table(seed, prefix, groups=40):
    """Columns of which each group has one value, repeated in all of its rows."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), rng.integers(1, 16, groups))
    city = np.array(["Ulm", "Bonn", "Kiel", "Jena"])[rng.integers(0, 4, groups)]
    age = np.where(rng.random(groups) < 0.1, np.nan, rng.normal(size=groups))
    columns = {"income": rng.lognormal(size=groups), "age": age, "city": city}
    return pa.table(
        {"customer": [f"{prefix}{k}" for k in labels]}
        | {name: pa.array(values[labels], from_pandas=True) for name, values in columns.items()}
        | {"noise": rng.normal(size=len(labels))}
    )


def test_columns_that_a_group_has_in_common_are_not_called_beyond():
    named = {"grouped": 0, "naive": 0}
    for k in range(12):
        x, y = table(2 * k, "x"), table(2 * k + 1, "y")
        kernel = nammd.Gaussian(2.0)
        tolerance = nammd.Tolerance.at(0.5, kernel, x=x, groups="customer", negligible=True)
        verdict = tolerance.check(x, y)
        assert verdict.details.judged
        named["grouped"] += bool(verdict.details.beyond)
        x, y = (each.drop_columns(["customer"]) for each in (x, y))
        naive = nammd.Tolerance.at(0.5, kernel, x=x, negligible=True)
        named["naive"] += bool(naive.check(x, y).details.beyond)
    assert named["grouped"] <= 1
    assert named["naive"] >= 9


def by_groups(dataset, measure, encoding, allowed):
    return tally_columns(dataset, [measure], encoding, negligible=allowed).columns[measure.name].negligible


@pytest.mark.parametrize("correlation", [0.0, 1.0])
def test_what_is_negligible_does_not_grow_with_what_a_group_has_in_common(correlation):
    """The mean over many draws is what a shift does to the law; row by row it is too large."""
    shift = 0.3
    own = 1 / np.sqrt(3)
    expected = 2 * own * (1 - np.exp(-(shift**2) / 6)) / (4 - 2 * own)
    found, naive = [], []
    for seed in range(60):
        x, g = numbers(seed, 25, correlation)
        table = pa.table({"g": [f"{k}" for k in g], "x": x})
        measure = Measure("x", "numeric", "numbers")
        [dataset] = with_grouping([open_dataset(table, "x")], RowGrouping("g"))
        encoding = Encoding.fit(table.drop_columns(["g"]))
        allowed = Negligible.of({"shift": shift})
        found.append(by_groups(dataset, measure, encoding, allowed)["values"])
        naive.append(allowed.changes.distance("values", NumberCounts.of(x, 0)))
    assert np.mean(found) == pytest.approx(expected, rel=0.1)
    if correlation:
        assert np.mean(naive) > 1.2 * expected


def test_what_is_negligible_in_labels_is_that_of_rows_where_each_is_a_group_but_one():
    rng = np.random.default_rng(0)
    city = pa.array(rng.choice(["Ulm", "Bonn", None], 500, p=[0.5, 0.4, 0.1]), from_pandas=True)
    groups = np.r_[0, np.arange(499)]  # two rows are one group, so it is worked out by groups
    table = pa.table({"city": city, "g": [f"{k}" for k in groups]})
    [dataset] = with_grouping([open_dataset(table, "x")], RowGrouping("g"))
    encoding = Encoding.fit(table.drop_columns(["g"]))
    [measure] = measures_of(encoding, dataset)
    found = by_groups(dataset, measure, encoding, Negligible())["labels"]
    rows = {label: float(sum(each == label for each in city.to_pylist())) for label in ("Ulm", "Bonn")}
    expected = Negligible().changes.distance("labels", LabelCounts(rows, float(city.null_count)))
    assert found == pytest.approx(expected, rel=1e-3)
