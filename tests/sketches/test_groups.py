"""Sketches of rows that belong together."""

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.sketches import grouped_rows
from nammd.sketches.group_totals import TRACED, Trace
from nammd.tables import Encoding

FEATURES = nammd.RandomFeatures(nammd.Gaussian(1.5), 64, rng=3)


def drawn(seed, groups=300, shift=0.0, rows=(1, 9), prefix=None):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), rng.integers(*rows, size=groups))
    points = 0.8 * rng.normal(size=(groups, 2))[labels] + 0.6 * rng.normal(size=(len(labels), 2)) + shift
    return points, np.array([f"{prefix or seed}-{k}" for k in labels])


(X, GX), (Y, GY) = drawn(1), drawn(2, 275, 0.3)
PAIR = nammd.Sketch.of(X, FEATURES, groups=GX), nammd.Sketch.of(Y, FEATURES, groups=GY)


def table(seed, shift=0.0, **how):
    points, labels = drawn(seed, shift=shift, **how)
    rng = np.random.default_rng(seed + 1000)
    order = rng.permutation(len(points))  # rows of a group stand anywhere
    city = np.where(points[:, 1] > 0, "Ulm", "Bonn")
    columns = {"customer": labels, "a": points[:, 0], "b": points[:, 1], "city": city}
    weights = {"w": rng.uniform(0.5, 2.0, len(points))}
    return pa.table({name: values[order] for name, values in (columns | weights).items()})


def test_a_distance_is_that_of_the_groups_under_the_features():
    sketched = nammd.distance(*PAIR, kernel=FEATURES)
    rows = nammd.distance(X, Y, kernel=FEATURES, groups=(GX, GY))
    assert sketched.value == pytest.approx(rows.value, rel=1e-9)
    assert sketched.standard_error == pytest.approx(rows.standard_error, rel=0.01)
    assert "300 and 275 (effectively" in str(sketched)
    assert sketched.to_dict()["groups"]["effective"] == pytest.approx(rows.to_dict()["groups"]["effective"])


def test_rows_that_are_groups_of_their_own_give_the_numbers_of_rows():
    plain = [nammd.Sketch.of(z, FEATURES) for z in (X, Y)]
    single = [
        nammd.Sketch.of(z, FEATURES, groups=[f"{name}{k}" for k in range(len(z))])
        for name, z in (("x", X), ("y", Y))
    ]
    for kernel in (None, FEATURES):
        one, other = (nammd.distance(*pair, kernel=kernel) for pair in (plain, single))
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-10)
        assert one.confidence_interval() == pytest.approx(other.confidence_interval(), rel=1e-10)
        for alternative in ("greater", "less"):
            how = {"kernel": kernel, "alternative": alternative}
            found = [nammd.closeness_test(*pair, 0.01, **how).pvalue for pair in (plain, single)]
            assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_weights_of_rows_count():
    weights = [np.random.default_rng(k).uniform(0.2, 3.0, len(z)) for k, z in enumerate((X, Y))]
    groups = GX, GY
    sketches = [
        nammd.Sketch.of(z, FEATURES, groups=g, sample_weight=w)
        for z, g, w in zip((X, Y), groups, weights, strict=True)
    ]
    rows = nammd.distance(X, Y, kernel=FEATURES, groups=groups, sample_weight=weights)
    found = nammd.distance(*sketches, kernel=FEATURES)
    assert found.value == pytest.approx(rows.value, rel=1e-9)
    assert found.standard_error == pytest.approx(rows.standard_error, rel=0.01)
    alone = [nammd.Sketch.of(z, FEATURES, sample_weight=w) for z, w in zip((X, Y), weights, strict=True)]
    assert "row weights" in str(nammd.distance(*alone))
    with pytest.raises(ValueError, match="one was made with groups by group, the other without groups"):
        nammd.distance(sketches[0], alone[1])


def test_weights_of_parts_keep_their_proportion():
    x = table(3)
    space = nammd.Space.fit(x.drop_columns(["customer", "w"]))
    how = {"space": space, "groups": "customer", "sample_weight": "w"}
    whole = nammd.Sketch.of(x, **how)
    parts = nammd.Sketch.of_batches([x.slice(0, 100), x.slice(100)], **how)
    np.testing.assert_allclose(parts.units.totals.products, whole.units.totals.products, rtol=1e-9)
    rest, alone = x.drop_columns(["customer"]), {"space": space, "sample_weight": "w"}
    parts = nammd.Sketch.of_batches([rest.slice(0, 100), rest.slice(100)], **alone)
    whole = nammd.Sketch.of(rest, **alone)
    assert parts.units.count == whole.units.count == len(x)
    np.testing.assert_allclose(parts.units.totals.products, whole.units.totals.products, rtol=1e-9)


def test_batches_put_groups_together_that_are_spread_over_them():
    x = table(4)
    space = nammd.Space.fit(x.drop_columns(["customer", "w"]))
    rest = x.drop_columns(["w"])
    whole = nammd.Sketch.of(rest, space=space, groups="customer")
    batches = [rest.slice(start, 250) for start in range(0, len(rest), 250)]
    parts = nammd.Sketch.of_batches(batches, space=space, groups="customer")
    assert parts.units.split == 0
    assert (parts.n, parts.units.count) == (whole.n, 300)
    np.testing.assert_allclose(parts.units.totals.products, whole.units.totals.products, rtol=1e-9)
    for name, aspects in whole.units.columns.items():
        for aspect, each in aspects.items():
            other = parts.units.columns[name][aspect]
            assert other.keys == each.keys
            np.testing.assert_allclose(other.totals.products, each.totals.products, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("in_order", [True, False])
def test_beyond_what_is_held_only_groups_in_order_stay_whole(monkeypatch, in_order):
    x = table(5).drop_columns(["w"])
    x = x.sort_by("customer") if in_order else x
    space = nammd.Space.fit(x.drop_columns(["customer"]))
    monkeypatch.setattr(grouped_rows, "HELD", 20_000)
    batches = [x.slice(start, 100) for start in range(0, len(x), 100)]
    found = nammd.Sketch.of_batches(batches, space=space, groups="customer")
    if in_order:
        whole = nammd.Sketch.of(x, space=space, groups="customer")
        assert (found.units.split, found.units.count) == (0, 300)
        np.testing.assert_allclose(found.units.totals.products, whole.units.totals.products, rtol=1e-9)
    else:
        assert found.units.split > 50
        assert found.units.count == 300 + found.units.split


def test_a_file_is_sketched_by_its_groups(tmp_path):
    from pyarrow import csv

    x = table(6)
    csv.write_csv(x, tmp_path / "x.csv")
    space = nammd.Space.fit(x.drop_columns(["customer", "w"]))
    how = {"space": space, "groups": "customer", "sample_weight": "w"}
    found = nammd.Sketch.of_file(tmp_path / "x.csv", batch_rows=300, **how)
    np.testing.assert_allclose(found.total, nammd.Sketch.of(x, **how).total, rtol=1e-9)
    assert "300 groups by customer weighted by w" in repr(found)


def test_sketches_of_other_groups_add_up():
    (one, g), (two, h) = drawn(7), drawn(8)
    merged = nammd.Sketch.of(one, FEATURES, groups=g) + nammd.Sketch.of(two, FEATURES, groups=h)
    whole = nammd.Sketch.of(np.vstack([one, two]), FEATURES, groups=np.r_[g, h])
    np.testing.assert_allclose(merged.units.totals.products, whole.units.totals.products, rtol=1e-9)
    assert merged.units.split == 0
    updated = nammd.Sketch.of(one, FEATURES, groups=g).update(two, groups=h)
    assert len(updated) == len(merged)
    np.testing.assert_allclose(updated.total, merged.total, rtol=1e-12)


def test_a_group_in_two_sketches_that_are_added_is_told_of():
    half = np.arange(len(X)) % 2 == 0
    one, two = (nammd.Sketch.of(X[part], FEATURES, groups=GX[part]) for part in (half, ~half))
    shared = len(set(GX[half]) & set(GX[~half]))
    merged = one + two
    assert merged.units.split == shared > 150
    cautions = {caution.code: str(caution) for caution in nammd.distance(merged, PAIR[1]).cautions}
    assert f"{shared} times rows of x came apart" in cautions["split-groups"]
    assert "standard error too small" in cautions["split-groups"]
    assert nammd.distance(merged, PAIR[1]).standard_error < nammd.distance(*PAIR).standard_error


def test_groups_in_both_sketches_are_told_of():
    points, labels = drawn(9, prefix=1)  # the customers of the first
    found = nammd.distance(PAIR[0], nammd.Sketch.of(points, FEATURES, groups=labels))
    assert "groups-in-common" in {caution.code for caution in found.cautions}
    assert "300 in both" in str(found)


def test_a_trace_estimates_what_it_does_not_keep():
    one, two = (Trace.of(map(str, range(start, start + 2 * TRACED))) for start in (0, TRACED))
    assert len(one.hashes) == TRACED
    assert one.common(two) == pytest.approx(TRACED, rel=0.03)
    assert len(one.joined(two).hashes) == TRACED


def test_a_file_keeps_groups(tmp_path):
    x = table(10)
    space = nammd.Space.fit(x.drop_columns(["customer", "w"]))
    made = nammd.Sketch.of(x, space=space, groups="customer", sample_weight="w")
    read = nammd.Sketch.load(made.save(tmp_path / "x.sketch"))
    assert repr(read) == repr(made)
    np.testing.assert_array_equal(read.units.totals.products, made.units.totals.products)
    np.testing.assert_array_equal(read.units.trace.hashes, made.units.trace.hashes)
    again = read + nammd.Sketch.of(x.slice(0, 50), space=space, groups="customer", sample_weight="w")
    assert again.units.split == len(set(x["customer"].to_pylist()[:50]))
    found = read.units.columns["a"]["values"].totals.products
    np.testing.assert_array_equal(found, made.units.columns["a"]["values"].totals.products)


def test_columns_of_sketches_are_held_against_their_tolerances():
    x, accepted, same, other = table(11), table(12, 0.3), table(13), table(14, 1.5)
    x, accepted, same, other = (each.drop_columns(["w"]) for each in (x, accepted, same, other))
    tolerance = nammd.Tolerance.from_reference(x, accepted, groups="customer", how="ball")
    sketches = [nammd.Sketch.of(each, space=tolerance.space, groups="customer") for each in (x, same, other)]
    close, far = (tolerance.check(sketches[0], each) for each in sketches[1:])
    assert close.details.judged
    assert (close.decision, far.decision) == ("CLOSE", "FAR")
    assert {each.name for each in far.details.beyond} == {"a", "b", "city"}
    rows = tolerance.check(x, same)
    for one, two in zip(
        sorted(close.column_checks, key=lambda c: c.name),
        sorted(rows.column_checks, key=lambda c: c.name),
        strict=True,
    ):
        assert one.distance == pytest.approx(two.distance, abs=1e-12)


def test_an_array_of_labels_is_remembered_too():
    tolerance = nammd.Tolerance.from_reference(X, Y, groups=(GX, GY), how="ball")
    sketches = [nammd.Sketch.of(z, space=tolerance.space, groups=g) for z, g in ((X, GX), (Y, GY))]
    assert tolerance.check(*sketches).decision == "UNDECIDED"
    plain = nammd.Sketch.of(X, space=tolerance.space)
    with pytest.raises(ValueError, match="needs them too"):
        tolerance.check(plain, plain)


def test_partitions_hold_whole_groups_or_are_refused():
    frames = pytest.importorskip("dask.dataframe")
    x = table(15).drop_columns(["w"]).sort_by("customer").to_pandas()
    space = nammd.Space.fit(x.drop(columns="customer"))
    edge = int(np.flatnonzero(x["customer"].to_numpy()[1:] != x["customer"].to_numpy()[:-1])[150]) + 1
    whole = frames.from_delayed([_piece(x.iloc[:edge]), _piece(x.iloc[edge:])])
    found = nammd.Sketch.of(whole, space=space, groups="customer")
    np.testing.assert_allclose(found.total, nammd.Sketch.of(x, space=space, groups="customer").total)
    assert found.units.count == 300
    mixed = frames.from_pandas(x.sample(frac=1.0, random_state=0), npartitions=3, sort=False)
    with pytest.raises(ValueError, match=r"in another partition than the rest.*shuffle\('customer'\)"):
        nammd.Sketch.of(mixed, space=space, groups="customer")


def _piece(frame):
    from dask import delayed

    return delayed(frame)


def test_what_cannot_be_is_refused():
    with pytest.raises(TypeError, match="does not keep the order of rows, which blocks of time need"):
        nammd.Sketch.of(X, FEATURES, groups=nammd.TimeBlocks(length=5))
    with pytest.raises(TypeError, match="groups of batches must be the name of a column"):
        nammd.Sketch.of_batches([X], FEATURES, groups=GX)
    with pytest.raises(ValueError, match="one was made with groups by group, the other without groups"):
        PAIR[0] + nammd.Sketch.of(X, FEATURES)
    with pytest.raises(ValueError, match="are in 2 groups; at least 4"):
        nammd.Sketch.of(X, FEATURES, groups=np.arange(len(X)) % 2)
    few = nammd.Sketch.of_batches(
        [pa.table({"a": np.arange(8.0), "g": ["u"] * 4 + ["v"] * 4})],
        nammd.RandomFeatures(nammd.Gaussian(1.0), 16, 0),
        space=nammd.Space(Encoding.fit(pa.table({"a": np.arange(8.0)})), nammd.Gaussian(1.0)),
        groups="g",
    )
    with pytest.raises(ValueError, match="are in 2 groups; at least 4 are needed"):
        nammd.distance(few, few)


def test_the_level_holds_where_that_of_rows_does_not():
    """At equal laws, far from none at all: a sketch of rows calls them different far too often."""
    found = {"groups": 0, "rows": 0}
    features = nammd.RandomFeatures(nammd.Gaussian(1.5), 32, rng=3)
    for k in range(120):
        (x, g), (y, h) = drawn(2000 + 2 * k, 60, rows=(2, 20)), drawn(2001 + 2 * k, 60, rows=(2, 20))
        for name, labels in (("groups", (g, h)), ("rows", (None, None))):
            pair = [
                nammd.Sketch.of(z, features, groups=own, threads=1)
                for z, own in zip((x, y), labels, strict=True)
            ]
            test = nammd.closeness_test(*pair, 0.001, kernel=features, alternative="greater")
            found[name] += test.rejected
    assert found["groups"] <= 10  # of 120 at level .05, more are seen with probability .04
    assert found["rows"] >= 36
