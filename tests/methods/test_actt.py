"""ACTT through goodpoints: the published values, the level and the power."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import nammd
from nammd.kernels.bandwidth import pooled_rows
from nammd.methods.actt import ACTT
from nammd.methods.agg import aggregate_tests
from nammd.methods.bandwidths import fuse_bandwidths
from tests.methods.test_agg import blob
from tests.simulate import noise

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "goodpoints_actt.json").read_text())
CASES, DATA = GOLDEN["cases"], GOLDEN["data"]
REPETITIONS = 120


@pytest.fixture
def goodpoints():
    return pytest.importorskip("goodpoints.ctt", reason="goodpoints is not installed: nammd[baselines]")


def samples(name):
    return np.array(DATA[name]["X"]), np.array(DATA[name]["Y"])


def settings(case):
    return ACTT(
        bandwidths=len(case["lam"]),
        compression=case["g"],
        bins=case["s"],
        permutations=case["B"],
        level_permutations=case["B_2"],
        bisections=case["B_3"],
    )


@pytest.mark.parametrize("name", ["A_n12_d2", "B_n40_d3"])
def test_bandwidths_are_those_of_mmdfuse(name):
    actual = fuse_bandwidths(pooled_rows(*samples(name)), "euclidean", 10)
    np.testing.assert_allclose(actual, DATA[name]["mmdfuse_bandwidths_l2"], rtol=1e-13)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_layout_of_the_bins_is_the_published_one(case):
    x, y = samples(case["data"])
    layout = settings(case).layout(len(x), len(y))
    assert layout["bin_rows"] == case["bin_size"]
    assert layout["bins"] == (case["bins_per_sample"],) * 2
    assert layout["rows_kept"] == (case["bins_per_sample"] * case["coreset_points_per_bin"],) * 2
    assert layout["rows_used"] == (case["bins_per_sample"] * case["bin_size"],) * 2


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_statistics_and_decisions_are_the_published_ones(case, goodpoints):
    bandwidths = np.array(case["lam"])
    seeds = case["null_seed"], case["statistic_seed"]
    statistics, level = settings(case).compressed_statistics(*samples(case["data"]), bandwidths, *seeds)
    assert statistics.shape == (4, 300)
    assert level.shape == (4, 200)
    if not case["equals_Vstat"]:
        return  # what depends on the random stream of goodpoints depends on its version
    np.testing.assert_allclose(statistics[:, 0], case["statistic_values"], rtol=1e-10)
    np.testing.assert_allclose(statistics[:, 0], case["Vstat_mmd2_full"], rtol=1e-10)
    aggregate = aggregate_tests(statistics, level, np.full(4, 0.25), 0.05, case["B_3"])
    assert aggregate.u == case["hat_u_alpha"]
    assert aggregate.rejected == bool(case["rejects"])


@pytest.mark.parametrize(("m", "n"), [(64, 64), (40, 70)])
def test_the_level_is_held_and_needs_the_aggregation(m, n, goodpoints):
    rng = np.random.default_rng(0)
    # Sorted rows: the order of the rows must not matter.
    runs = [
        nammd.two_sample_test(
            np.sort(rng.normal(size=(m, 1)), axis=0), np.sort(rng.normal(size=(n, 1)), axis=0),
            method=ACTT(), rng=rng,
        )
        for _ in range(REPETITIONS)
    ]  # fmt: skip
    highest = 0.05 + 3 * noise(0.05, REPETITIONS)
    assert np.mean([run.rejected for run in runs]) <= highest
    assert np.mean([min(run.details["pvalues"]) <= 0.05 for run in runs]) > highest


def test_power_on_blob(goodpoints):
    rng = np.random.default_rng(1)
    runs = [
        nammd.two_sample_test(blob(1024, rng), blob(1024, rng, correlated=True), method=ACTT(), rng=rng)
        for _ in range(11)
    ]
    assert np.mean([run.rejected for run in runs]) > 0.9


def test_unequal_sizes_are_cut_to_whole_bins(goodpoints):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(397, 2)), rng.normal(2.0, size=(250, 2))
    result = nammd.two_sample_test(x, y, method=ACTT(), rng=0)
    assert result.rejected
    assert (result.m, result.n) == (397, 250)
    assert result.details["bin_rows"] == 20
    assert result.details["bins"] == (19, 12)
    assert result.details["rows_used"] == (380, 240)
    assert result.details["rows_kept"] == (19 * 16, 12 * 16)


@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 2), (2, 300), (33, 31)])
def test_every_size_is_accepted(m, n, goodpoints):
    rng = np.random.default_rng(3)
    result = nammd.two_sample_test(rng.normal(size=(m, 2)), rng.normal(size=(n, 2)), method=ACTT(), rng=0)
    assert result.rejected == (result.pvalue <= 0.05) == (result.statistic > result.threshold)
    assert result.null.shape == (299,)
    assert all(used <= there for used, there in zip(result.details["rows_used"], (m, n), strict=True))


def test_few_bins_cannot_reject(goodpoints):
    """Of 3 + 3 rows there are ten divisions: no p-value below 0.1, however far apart they are."""
    x, y = np.arange(3.0)[:, None], 100 + np.arange(3.0)[:, None]
    assert not nammd.two_sample_test(x, y, method=ACTT(), rng=0).rejected


def test_the_same_generator_gives_the_same_result_and_nothing_is_printed(goodpoints, capsys):
    x, y = np.random.default_rng(4).normal(size=(2, 600, 2)).astype(np.float32)
    one, two, other = (nammd.two_sample_test(x, y, method=ACTT(), rng=seed) for seed in (0, 0, 1))
    assert one == two
    assert one.details == two.details
    np.testing.assert_array_equal(one.null, two.null)
    assert not np.array_equal(one.null, other.null)
    assert capsys.readouterr().out == ""


def test_data_of_few_values_is_accepted(goodpoints):
    x, y = np.zeros((64, 1)), np.zeros((64, 1))
    y[:40] = 1.0
    assert nammd.two_sample_test(x, y, method=ACTT(), rng=0).rejected
    y[2:] = 0.0  # now most distances are zero, and their median too
    assert fuse_bandwidths(pooled_rows(x, y), "euclidean", 3).min() > 0


def test_constant_data_is_refused():
    with pytest.raises(ValueError, match="the data is constant"):
        nammd.two_sample_test(np.ones((20, 2)), np.ones((20, 2)), method=ACTT(), rng=0)


def test_without_goodpoints_the_error_says_what_to_install(monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == "goodpoints"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "goodpoints", None)
    x, y = np.random.default_rng(5).normal(size=(2, 20, 2))
    with pytest.raises(ImportError, match=r"nammd\[baselines\]"):
        nammd.two_sample_test(x, y, method=ACTT(), rng=0)


@pytest.mark.parametrize("field", ["bandwidths", "bins", "permutations", "level_permutations", "bisections"])
def test_settings_are_checked(field):
    with pytest.raises(ValueError, match=f"{field} must be a whole number of at least 1"):
        ACTT(**{field: 0})
    with pytest.raises(TypeError, match=f"{field} must be a whole number"):
        ACTT(**{field: "many"})
