"""Rows that belong together, in every question."""

import numpy as np
import pyarrow as pa
import pytest

import nammd


def table(seed, groups=60, shift=0.0, names="", correlation=0.6):
    """Several rows for each customer."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), rng.integers(1, 10, groups))
    points = np.sqrt(correlation) * rng.normal(size=(groups, 2))[labels]
    points = points + np.sqrt(1 - correlation) * rng.normal(size=(len(labels), 2))
    customers = [f"{names or seed}-{k}" for k in labels]
    return pa.table({"a": points[:, 0] + shift, "b": points[:, 1], "customer": customers})


X, Y, Z = table(0), table(1, shift=0.5), table(2, shift=0.6)


def test_a_distance_tells_its_groups_and_is_less_certain():
    grouped = nammd.distance(X, Y, groups="customer")
    plain = nammd.distance(X.drop_columns(["customer"]), Y.drop_columns(["customer"]))
    assert grouped.standard_error > 1.2 * plain.standard_error
    assert "groups" in str(grouped)
    assert "60 and 60 by customer (effectively" in str(grouped)
    stored = grouped.to_dict()["groups"]
    assert (stored["x"], stored["y"], stored["in_both"]) == (60, 60, 0)
    assert all(20 < effective < 60 for effective in stored["effective"])


def test_the_same_groups_in_both_are_recognised_handled_jointly_and_said():
    rng = np.random.default_rng(3)
    later = X.set_column(0, "a", pa.array(X["a"].to_numpy() + 0.5 + 0.2 * rng.normal(size=len(X))))
    others = later.set_column(2, "customer", pa.array([f"other {c}" for c in later["customer"].to_pylist()]))
    joint, apart = (nammd.distance(X, y, groups="customer") for y in (later, others))
    # The same people, a little later: what they have in common cancels.
    assert joint.standard_error < 0.5 * apart.standard_error
    assert joint.to_dict()["groups"]["in_both"] == 60
    assert "60 in both" in str(joint)
    assert [c.code for c in joint.cautions] == ["groups-in-common"]
    assert apart.cautions == ()


def test_few_groups_are_cautioned_of():
    few = table(4, groups=12), table(5, groups=12)
    [caution] = nammd.distance(*few, groups="customer").cautions
    assert caution.code == "few-groups"
    assert "fewer than 20 groups on a side (effectively" in str(caution)


def test_all_questions_take_groups():
    how = {"groups": "customer"}
    assert (
        nammd.closeness_test(X, Y, 0.01, alternative="greater", **how).estimate.to_dict()["groups"]["x"] == 60
    )
    assert "groups" in str(nammd.two_sample_test(X, Y, rng=0, permutations=99, **how))
    compared = nammd.compare_pairs((X, Y), (X, Z), **how)
    assert compared.standard_error > 1.2 * nammd.compare_pairs((X, Y), (X, Z), **{}).standard_error
    assert [e.estimate.to_dict()["groups"]["y"] for e in nammd.rank(X, {"y": Y, "z": Z}, **how).entries] == [
        60
    ] * 2
    assert nammd.plan(0.1, 0.02, pilot=(X, Y), **how).m > nammd.plan(0.1, 0.02, pilot=(X, Y)).m


def test_a_comparison_is_the_same_by_column_and_by_arrays():
    by_column = nammd.compare_pairs((X, Y), (X, Z), groups="customer")
    rest = [t.drop_columns(["customer"]) for t in (X, Y, Z)]
    gx, gy, gz = (t["customer"].to_pylist() for t in (X, Y, Z))
    by_arrays = nammd.compare_pairs((rest[0], rest[1]), (rest[0], rest[2]), groups=((gx, gy), (gx, gz)))
    assert by_arrays.pvalue == by_column.pvalue
    assert by_arrays.shared


def test_a_plan_is_for_rows_in_groups_like_the_pilots():
    pilot = nammd.distance(X, Y, groups="customer")
    planned = nammd.plan(0.1, 0.02, pilot=pilot)
    assert nammd.plan(0.1, 0.02, pilot=pilot, rows=(planned.m, planned.n)).power == pytest.approx(
        planned.power
    )
    assert planned.groups == tuple(np.ceil([planned.m * 60 / len(X), planned.n * 60 / len(Y)]).astype(int))
    assert "groups, as large as the pilot's" in str(planned)
    assert nammd.plan(0.1, 0.02, pilot=nammd.distance(X, Y)).groups is None
    with pytest.raises(TypeError, match="a result knows its groups"):
        nammd.plan(0.1, 0.02, pilot=pilot, groups="customer")


def test_off_diagonal_pairs_do_not_go_with_groups():
    with pytest.raises(ValueError, match="pairs single rows, and these belong together"):
        nammd.paper.distance(X, X.slice(0), groups="customer", cross="off-diagonal")


def test_other_two_sample_methods_say_that_they_relabel_rows():
    with pytest.raises(TypeError, match="'nammd-fuse' relabels single rows"):
        nammd.two_sample_test(X, Y, method="nammd-fuse", groups="customer")


def test_weights_of_rows_alone():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(300, 2)), rng.normal(loc=0.3, size=(300, 2))
    weights = [rng.uniform(0.2, 3.0, 300) for _ in "xy"]
    found = nammd.distance(x, y, sample_weight=weights)
    assert "row weights" in str(found)
    assert "groups" not in str(found)
    same = nammd.distance(x, y, sample_weight=[7 * w for w in weights])
    assert found.value == pytest.approx(same.value, rel=1e-12)
    even = nammd.distance(x, y, sample_weight=[np.full(300, 3.0)] * 2)
    plain = nammd.distance(x, y)
    assert even.value == pytest.approx(plain.value, rel=1e-12)
    assert even.standard_error == pytest.approx(plain.standard_error, rel=1e-9)


def test_weights_mend_a_biased_draw():
    rng = np.random.default_rng(7)
    x, everyone = rng.normal(size=(3000, 1)), rng.normal(size=(6000, 1))
    chance = np.where(everyone[:, 0] > 0, 1.0, 0.3)
    kept = rng.random(6000) < chance
    y = everyone[kept]
    mended = nammd.distance(x, y, sample_weight=(np.ones(3000), 1 / chance[kept]))
    assert nammd.distance(x, y).confidence_interval()[0] > 0.01
    assert mended.confidence_interval()[0] == 0.0
    assert mended.confidence_interval()[1] < 0.01


def test_sketches_without_groups_are_refused_with_advice():
    features = nammd.RandomFeatures(nammd.Gaussian(1.0), 64, 0)
    sketches = [nammd.Sketch.of(x, features) for x in np.random.default_rng(0).normal(size=(2, 50, 2))]
    with pytest.raises(ValueError, match="made without groups, and not with groups; a sketch cannot be put"):
        nammd.distance(*sketches, groups=(np.arange(50), np.arange(50)))
    with pytest.raises(TypeError, match="does not keep the order of rows that blocks of time need"):
        nammd.distance(*sketches, groups=nammd.TimeBlocks(length=5))


def test_rows_on_a_cluster_are_gathered_or_refused(monkeypatch):
    frames = pytest.importorskip("dask.dataframe")
    tables = [t.to_pandas() for t in (X, Y)]
    spread = [frames.from_pandas(t, npartitions=3) for t in tables]
    found, expected = (nammd.distance(*data, groups="customer") for data in (spread, tables))
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
    monkeypatch.setattr("nammd.data.row_grouping.GATHERED", 10)
    with pytest.raises(TypeError, match=r"spread over a Dask cluster.*bring it to memory with \.compute\(\)"):
        nammd.distance(*spread, groups="customer")


def test_people_who_are_in_the_reference_and_in_both_others_cancel_in_a_comparison():
    """The error of the difference by many draws, with the same people in all three datasets or in none."""

    def run(seed, shared):
        rng = np.random.default_rng(seed)
        people, groups = rng.normal(size=(40, 2)), np.repeat(np.arange(40), 4)

        def dataset(shift):
            who = people if shared else rng.normal(size=(40, 2))
            return 0.9 * who[groups] + 0.4 * rng.normal(size=(160, 2)) + [shift, 0.0]

        x, y, z = dataset(0.0), dataset(0.8), dataset(0.8)
        labels = [groups, groups, groups] if shared else [groups, groups + 100, groups + 200]
        return nammd.compare_pairs(
            (x, y),
            (x, z),
            groups=((labels[0], labels[1]), (labels[0], labels[2])),
            kernel=nammd.Gaussian(1.0),
        )

    for shared in (False, True):
        found = [run(seed, shared) for seed in range(40)]
        spread = np.std([c.difference for c in found])
        told = np.median([c.standard_error for c in found])
        assert told > 0.75 * spread
    assert [c.code for c in found[0].cautions] == ["groups-in-common"] * len(found[0].cautions)
    assert "independent of each other" in str(found[0].cautions[-1])


def test_copies_within_a_group_are_no_obstacle():
    """A group may well have one row several times; copies over groups are still told."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 60, 2))
    groups = np.repeat(np.arange(60), 3)
    found = nammd.distance(x[groups], y[groups], groups=(groups, groups + 100))
    assert found.cautions == ()
    alone = nammd.distance(x, y, kernel=found.kernel, groups=(np.arange(60), np.arange(60) + 100))
    assert found.value == pytest.approx(alone.value)
    assert found.standard_error == pytest.approx(alone.standard_error)
    over = nammd.distance(x[groups], y[groups], groups=(np.arange(180), np.arange(180) + 200))
    assert [caution.code for caution in over.cautions] == ["copied-rows"]
