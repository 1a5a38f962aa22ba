"""Columns of data on a cluster, and of sketches: the same counts, merged."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.data.opening import open_dataset
from nammd.views.counting import tally_columns
from nammd.views.measure import measures_of

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")


def table(seed, rows=1500, fault=False):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "price": rng.lognormal(3, 0.5, rows),
            "members": rng.integers(1, 6, rows),
            "kind": rng.choice(["a", "b", "c"], rows),
            "code": [f"code {k}" for k in rng.integers(0, 80, rows)],
        }
    )
    data.loc[rng.random(rows) < 0.1, "price"] = np.nan
    if fault:
        data.loc[rng.random(rows) < 0.3, "price"] = np.nan
        data.loc[rng.random(rows) < 0.1, "kind"] = "new"
    return data


REFERENCE = table(0)


@cache
def made():
    accepted = table(1).assign(members=lambda d: d["members"] + 1)
    return nammd.Tolerance.from_reference(REFERENCE, accepted, scales="median")


def same_counts(one, other):
    assert one.keys() == other.keys()
    for name, counts in one.items():
        assert counts.size == other[name].size
        assert counts.missing == other[name].missing
        if hasattr(counts, "places"):
            mine, theirs = counts.on_lattice(), other[name].on_lattice()
            assert np.array_equal(mine.places, theirs.places)
            assert np.allclose(mine.rows, theirs.rows, atol=1e-8)
        else:
            assert dict(counts.rows) == dict(other[name].rows)


def test_partitions_are_counted_by_the_workers_and_merged():
    measures = measures_of(made().encoding, open_dataset(REFERENCE, "x"))
    assert {m.name: m.counted for m in measures} == {
        "price": "numbers",
        "members": "numbers",
        "kind": "labels",
        "code": "cells",
    }
    here = tally_columns(open_dataset(REFERENCE, "x"), measures, made().encoding).counts
    pieces = open_dataset(dd.from_pandas(REFERENCE, npartitions=5), "x")
    there = tally_columns(pieces, measures, made().encoding).counts
    same_counts(here, there)


def test_a_verdict_on_a_cluster_names_the_same_columns():
    candidate = table(2, fault=True)
    here = made().check(REFERENCE, candidate)
    x, y = (dd.from_pandas(data, npartitions=4) for data in (REFERENCE, candidate))
    there = made().check(x, y)
    assert (
        [each.name for each in there.details.beyond]
        == [each.name for each in here.details.beyond]
        == ["price", "kind"]
    )
    for mine, theirs in zip(here.column_checks, there.column_checks, strict=True):
        assert theirs.distance == pytest.approx(mine.distance, rel=1e-6, abs=1e-12)
        assert theirs.adjusted == pytest.approx(mine.adjusted, rel=1e-5)
    assert there.details.changes == here.details.changes
    # Rows are compared with each other where they are at hand.
    assert [fact for fact in here.facts if fact.column] == list(there.facts)


def test_dask_arrays_are_counted_too():
    import dask.array as da

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(600, 3)), rng.normal((0.0, 2.0, 0.0), size=(500, 3))
    tolerance = nammd.Tolerance.from_reference(x, rng.normal(0.3, 1, (600, 3)))
    verdict = tolerance.check(da.from_array(x, chunks=(200, 3)), da.from_array(y, chunks=(100, 3)))
    assert verdict.details.beyond[0].name == "column 1"


def test_sketches_keep_counts_that_merge_and_a_check_of_them_names_columns(tmp_path):
    candidate = table(2, fault=True)
    space = made().space
    x = nammd.Sketch.of(REFERENCE, space=space)
    parts = [nammd.Sketch.of(part, space=space) for part in (candidate[:700], candidate[700:])]
    y = sum(parts)
    measures = measures_of(space.encoding, open_dataset(candidate, "y"))
    same_counts(y.tally, tally_columns(open_dataset(candidate, "y"), measures, space.encoding).counts)
    streamed = nammd.Sketch.of_batches([candidate[:700], candidate[700:]], space=space)
    same_counts(streamed.tally, y.tally)
    y.save(tmp_path / "y.sketch")
    again = nammd.Sketch.load(tmp_path / "y.sketch")
    same_counts(again.tally, y.tally)
    verdict = made().check(x, again)
    assert verdict.details.judged
    assert [each.name for each in verdict.details.beyond] == ["price", "kind"]
    assert verdict.reasons[0] == "kind: 'new' is new, 10 % of rows"
    assert verdict.reasons[1].startswith("price: missing 11 % -> ")
    assert {fact.code for fact in verdict.facts} == {"new-categories"}
    x.update(table(3), space=space)
    assert x.tally["price"].size == 3000


def test_the_counts_of_a_column_of_numbers_cost_about_ten_kilobytes(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=100_000), "b": rng.normal(size=100_000)})
    space = nammd.Space.fit(data[:1000])
    features = nammd.RandomFeatures(space.kernel, 16)
    with_counts = nammd.Sketch.of(data, features, space=space)
    sizes = []
    without = nammd.Sketch(features, with_counts.n, 4, with_counts.total, with_counts.products)
    for sketch in (with_counts, without):
        sizes.append(sketch.save(tmp_path / "a.sketch").stat().st_size)
    assert 5_000 < (sizes[0] - sizes[1]) / 2 < 20_000


def test_sketches_of_arrays_have_no_columns():
    x = np.random.default_rng(0).normal(size=(200, 2))
    sketch = nammd.Sketch.of(x)
    assert sketch.tally is None
    tolerance = nammd.Tolerance.at(0.05, space=nammd.Space.fit(x, kernel=sketch.features), negligible=True)
    verdict = tolerance.check(sketch, nammd.Sketch.of(x + 0.01, sketch.features))
    assert verdict.column_checks == ()
    assert not verdict.details.judged
