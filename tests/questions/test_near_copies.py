"""Rows of a candidate that are rows of the reference, or nearly."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom, fisher_exact, mannwhitneyu

import nammd
from nammd.data.neighbours import Neighbourhood
from nammd.statistics.shares import larger_share, smaller_numbers


def halves(rng, kind, rows=240):
    """Two independent samples of one distribution."""
    if kind == "line":
        return rng.normal(size=(rows, 1)), rng.normal(size=(rows, 1))
    if kind == "plane":
        return rng.normal(size=(rows, 2)), rng.standard_normal((rows // 2, 2))
    return tuple(rng.integers(0, 5, size=(rows, 3)).astype(float) for _ in range(2))


@pytest.mark.parametrize("kind", ["line", "plane", "grid"])
@pytest.mark.parametrize("given", [False, True])
def test_independent_rows_are_called_copies_as_often_as_the_level_says(kind, given):
    draws, alpha = 120, 0.1
    found = nearer = 0
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        x, y = halves(rng, kind)
        held_out = halves(rng, kind)[0] if given else None
        result = nammd.near_copies(x, y, held_out, alpha=alpha, near=0.2)
        found += result.found
        nearer += result.nearer_pvalue <= alpha
    most = binom.ppf(0.999, draws, alpha)
    assert found <= most
    assert binom.ppf(0.001, draws, alpha) <= nearer <= most


def test_near_copies_are_found_and_named():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(800, 5)), rng.normal(size=(600, 5))
    y[100:112] = x[700:712] + 1e-4 * rng.normal(size=(12, 5))
    y[200] = x[3]
    found = nammd.near_copies(x, y)
    assert found.found
    assert found.share == 13 / 600
    assert found.exact == 1 / 600
    assert found.pairs.tolist() == [*([100 + k, 700 + k] for k in range(12)), [200, 3]]
    assert found.headline().startswith("2.2 % of the candidate's rows are near-copies")
    assert not nammd.near_copies(x, rng.normal(size=(600, 5))).found


def test_a_candidate_that_keeps_close_to_the_reference_is_nearer_though_nothing_is_copied():
    rng = np.random.default_rng(0)
    x, held_out = rng.normal(size=(500, 3)), rng.normal(size=(500, 3))
    y = x[rng.integers(0, 500, 400)] + 0.1 * rng.normal(size=(400, 3))
    found = nammd.near_copies(x, y, held_out)
    assert found.nearer > 0.8
    assert found.nearer_pvalue < 1e-6
    far, near = (cdist(each, x).min(axis=1) for each in (held_out, y))
    assert found.nearer == pytest.approx(np.mean(near[:, None] < far), abs=1e-12)


def test_rows_that_repeat_by_chance_are_no_copies():
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 4, size=(2000, 3)).astype(float) for _ in range(2))
    found = nammd.near_copies(x, y)
    assert found.exact == 1.0
    assert found.expected == 1.0
    assert not found.found


def test_a_reference_full_of_twins_does_not_hide_copies():
    rng = np.random.default_rng(0)
    once = rng.normal(size=(1000, 6))
    rows = rng.permutation(np.vstack([once, once + 1e-4 * rng.normal(size=once.shape)]))
    found = nammd.near_copies(rows[:1500], rows[1500:])
    twin_in_reference = 1499 / 1999
    assert found.share == pytest.approx(twin_in_reference, abs=0.06)
    assert found.expected == pytest.approx(twin_in_reference, abs=0.06)
    assert "about as many as rows of the reference are of each other" in found.headline()
    assert nammd.near_copies(rows[:1500], rows[1500:], rng.normal(size=(500, 6))).found


def test_tables_are_compared_in_the_space_of_the_reference():
    rng = np.random.default_rng(0)

    def table(rows):
        return pd.DataFrame(
            {
                "id": np.arange(rows),
                "income": rng.lognormal(10, 1, rows),
                "city": rng.choice(["Ulm", "Bonn"], rows),
                "note": [f"they said number {k} is {k % 7}" for k in rng.integers(0, 10**6, rows)],
            }
        )

    train, test = table(400), table(300)
    test.loc[:9, ["income", "city", "note"]] = train.loc[50:59, ["income", "city", "note"]].to_numpy()
    test.loc[:9, "income"] *= 1.0001
    found = nammd.near_copies(train, pa.Table.from_pandas(test), space=nammd.Space.fit(train, text="hashed"))
    assert found.pairs.tolist() == [[k, 50 + k] for k in range(10)]
    assert [entry.column for entry in found.space.encoding.left_out] == ["id"]


def test_the_same_rows_in_any_library_and_order_give_the_same():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)), rng.normal(size=(100, 3))
    one = nammd.near_copies(x, y, near=0.5)
    two = nammd.near_copies(x, y[::-1], near=0.5)
    assert one.to_dict() == nammd.near_copies(x, y, near=0.5).to_dict()
    assert (one.share, one.pvalue) == (two.share, two.pvalue)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"near": 0.0}, "near must be"), ({"near": 1.5}, "near must be"), ({"alpha": 0}, "alpha must be")],
)
def test_options_that_mean_nothing_are_refused(options, words):
    x = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match=words):
        nammd.near_copies(x, x, **options)


def test_data_without_rows_to_compare_are_refused():
    x = np.random.default_rng(0).normal(size=(600, 2))
    with pytest.raises(ValueError, match="the reference has 30 rows; at least 40 are needed"):
        nammd.near_copies(x[:30], x)
    with pytest.raises(TypeError, match="sketch"):
        nammd.near_copies(nammd.Sketch.of(x), nammd.Sketch.of(x))
    with pytest.raises(ValueError, match=r"NaN|not finite|missing"):
        nammd.near_copies(x, np.full((50, 2), np.nan))


def test_rows_on_a_cluster_are_refused():
    array = pytest.importorskip("dask.array")
    x = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.raises(TypeError, match="samples of the rows"):
        nammd.near_copies(array.from_array(x, chunks=50), array.from_array(x, chunks=50))


def test_neighbours_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    for columns in (1, 3, 40):
        known, asked = 1e3 + rng.normal(size=(300, columns)), 1e3 + rng.normal(size=(200, columns))
        asked[:5] = known[:5]
        known[-1] = known[-2]
        every = cdist(asked, known)
        rows = Neighbourhood.of(known)
        assert np.allclose(rows.nearest(asked), every.min(axis=1), atol=1e-9)
        radius = float(np.quantile(every.min(axis=1), 0.3))
        far, where = rows.within(asked, radius)
        near = every.min(axis=1) <= radius
        assert np.array_equal(np.isfinite(far), near)
        assert np.array_equal(where[near], every.argmin(axis=1)[near])
        assert (where[~near] == -1).all()
        between = cdist(rows.rows, rows.rows) + np.diag(np.full(len(rows.rows), np.inf))
        alone = np.where(rows.repeated, 0.0, between.min(axis=1))
        places = np.arange(len(rows.rows))
        assert np.allclose(rows.nearest(rows.rows, itself=places), alone, atol=1e-9)


def test_the_tests_are_those_of_scipy():
    for counts in ((5, 100, 1, 80), (0, 10, 3, 9), (7, 7, 0, 50)):
        table = [[counts[0], counts[1] - counts[0]], [counts[2], counts[3] - counts[2]]]
        assert larger_share(*counts) == pytest.approx(fisher_exact(table, alternative="greater").pvalue)
    x, y = np.array([0.0, 0.0, 1.0, 2.0]), np.array([0.0, 3.0, 4.0])
    below, pvalue = smaller_numbers(x, y)
    assert below == pytest.approx(np.mean(x[:, None] < y) + 0.5 * np.mean(x[:, None] == y))
    assert pvalue == mannwhitneyu(x, y, alternative="less").pvalue
