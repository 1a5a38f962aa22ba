"""What the report says about columns is what the functions of the library say."""

from __future__ import annotations

import numpy as np
import pytest

import nammd
from nammd.encoding.choosing import robust_scale
from nammd.kernels.bandwidth import median_distance, pooled_rows
from nammd.kernels.operations import for_columns
from nammd.questions.ranking import holm
from nammd.report import build, columns
from nammd.report.model import DistanceInterval
from tests.report.cases import estimate, estimate_model, people, shifted_model


def measured(result: nammd.Estimate) -> DistanceInterval:
    return DistanceInterval(result.value, *result.confidence_interval(0.95))


def by_name(model):
    return {part.name: part for part in model.contributions.columns}


def scaled(x, y, j):
    """Return a column of two arrays in robust standard deviations of the first."""
    unit = robust_scale(x[:, j])
    return x[:, [j]] / unit, y[:, [j]] / unit


def test_a_column_alone_is_the_distance_of_that_column_in_units_of_the_first_dataset():
    x, y = estimate().data
    for j in range(3):
        expected = measured(nammd.distance(*scaled(x, y, j), kernel=nammd.Gaussian(1.0)))
        found = by_name(estimate_model())[f"column {j}"].alone
        assert found.value == pytest.approx(expected.value, rel=1e-4, abs=1e-7)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0.01, abs=1e-4)


def test_without_a_column_is_the_distance_of_the_others_with_the_bandwidth_scaled():
    x, y = estimate().data
    rows = pooled_rows(x, y)
    for j in range(3):
        keep = [k for k in range(3) if k != j]
        ratio = median_distance(rows[:, keep], "euclidean") / median_distance(rows, "euclidean")
        kernel = nammd.Gaussian(1.7 * ratio)
        expected = measured(nammd.distance(x[:, keep], y[:, keep], kernel=kernel))
        assert by_name(estimate_model())[f"column {j}"].without == expected


def test_the_distance_of_all_columns_together_is_the_result_where_all_rows_are_used():
    assert estimate_model().contributions.together == measured(estimate())


def test_columns_are_held_against_what_is_negligible_adjusted_by_holm():
    x, y = estimate().data
    parts = by_name(estimate_model())
    raw = []
    for j in range(3):
        one, other = scaled(x, y, j)
        kernel = nammd.Gaussian(1.0)
        negligible = nammd.paper.distance(one, one + 0.1, kernel=kernel, cross="off-diagonal").value
        assert parts[f"column {j}"].tolerance == pytest.approx(negligible, rel=1e-4)
        # Two aspects of a column of numbers: its values, and which of them are missing.
        raw.append(
            min(
                1.0,
                2 * nammd.closeness_test(one, other, negligible, kernel=kernel, alternative="greater").pvalue,
            )
        )
    assert [parts[f"column {j}"].adjusted for j in range(3)] == pytest.approx(holm(raw), rel=0.02)


def test_the_table_has_every_column_and_the_largest_ratio_first():
    rows = shifted_model().contributions.table
    assert rows[0].name == "income"
    assert {row.name for row in rows} == {"age", "income", "joined", "city", "member"}
    assert [row.beyond for row in rows] == [True, False, False, False, False]
    assert rows[0].ratio == pytest.approx(rows[0].distance / rows[0].tolerance)
    assert rows[0].before.startswith("median ")
    assert rows[0].filled == 100


def test_a_verdict_with_tolerances_of_columns_says_so():
    x, y = people(400, 1), people(350, 2, income=4_000)
    model = build(nammd.Tolerance.at(0.5, nammd.Gaussian(2.5), x=x, negligible=True).check(x, y))
    parts = model.contributions
    assert parts.own
    assert parts.sentence == "1 of 5 columns is beyond its own tolerance (adjusted p ≤ 0.0125): income."
    assert model.answer.sentence == "Income is beyond its own tolerance."
    assert model.answer.reasons[0].startswith("income: 13 % higher at the median, ")
    assert parts.columns[0].words.startswith("13 % higher at the median, ")


def test_pairs_that_go_together_differently_are_shown():
    rng = np.random.default_rng(71)
    x, y = rng.normal(size=(900, 2)), rng.normal(size=(900, 2))
    y[:, 1] = 0.95 * y[:, 0] + np.sqrt(1 - 0.95**2) * y[:, 1]
    tolerance = nammd.Tolerance.at(0.002, nammd.Gaussian(1.0), n_columns=2, negligible=True)
    parts = build(tolerance.check(x, y)).contributions
    assert parts.significant == ()
    assert parts.sentence.endswith("(adjusted p ≤ 0.0125), but pairs of them go together differently.")
    [pair] = parts.pairs
    assert pair.words.startswith(
        "column 0 and column 1 go together differently: rank correlation -0.05 -> 0.9"
    )
    # Before, rows are everywhere; now they are near the diagonal.
    assert sum(abs(i - j) > 8 for i, j, _ in pair.before) > 10
    assert not any(abs(i - j) > 8 for i, j, _ in pair.now)
    assert pair.classes == (16, 16)
    far = build(tolerance.check(x, rng.normal([3.0, 0.0], 1.0, (900, 2)))).contributions
    assert far.significant == ("column 0",)
    assert "pairs" not in far.sentence
    assert far.pairs == ()


def test_a_planted_shift_comes_first_and_is_the_only_significant_one():
    parts = shifted_model().contributions
    assert parts.columns[0].name == "income"
    assert parts.significant == ("income",)
    assert [part.significant for part in parts.columns] == [True, False, False, False, False]
    assert parts.columns[0].without.value < 0.3 * parts.together.value
    assert (
        parts.sentence == "1 of 5 columns differs by more than is negligible (adjusted p ≤ 0.0125): income."
    )


def test_a_shift_in_missingness_alone_is_found_and_shown():
    x, y = people(400, 5), people(400, 6, missing=0.4)
    model = build(nammd.Tolerance.at(0.001, nammd.Gaussian(2.5), x=x).check(x, y))
    first = model.contributions.columns[0]
    assert (first.name, first.significant) == ("income", True)
    assert first.profile.missing == (x.income.isna().mean(), y.income.isna().mean())


def test_a_constant_column_is_neither_tested_nor_paid_for():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(50, 3)), rng.normal((0.0, 2.0, 0.0), size=(50, 3))
    x[:, 2] = y[:, 2] = 5.0
    parts = build(nammd.distance(x, y)).contributions
    constant = next(part for part in parts.columns if part.name == "column 2")
    assert parts.tested == 2
    assert (constant.alone, constant.tolerance, constant.adjusted) == (
        DistanceInterval(0.0, 0.0, 0.0),
        None,
        None,
    )
    assert parts.columns[0].without.value < parts.columns[1].without.value


def test_a_single_column_has_nothing_to_be_left_out_of():
    x, y = np.random.default_rng(9).normal(size=(2, 30))
    [part] = build(nammd.distance(x, y)).contributions.columns
    assert part.without is None


def test_large_samples_are_thinned_evenly_and_columns_beyond_thirty_are_counted():
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(700, 33)), rng.normal(size=(40, 33))
    parts = build(nammd.distance(x, y)).contributions
    assert parts.rows == (columns.LEAST_ROWS + 103, 40)
    assert len(parts.columns) == columns.DRAWN
    assert (parts.hidden, parts.tested, len(parts.table)) == (3, 33, 33)


def test_very_wide_data_show_the_columns_with_the_largest_standardized_difference():
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(80, 200)), rng.normal(size=(70, 200))
    y[:, 17] += 2
    y[:, 5] *= 4
    parts = build(nammd.distance(x, y)).contributions
    scores = columns.standardized_difference(x, y)
    assert parts.wide
    assert [p.name for p in parts.columns] == [f"column {j}" for j in np.argsort(-scores)[:12]]
    assert {parts.columns[0].name, parts.columns[1].name} == {"column 17", "column 5"}
    assert parts.hidden == 188
    assert all(p.without is None and p.adjusted is None for p in parts.columns)
    assert "no significance" in parts.sentence


ROWS = np.random.default_rng(12).normal(size=(100, 4))
KEEP = np.array([0, 2, 3])


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_a_bandwidth_that_was_the_median_stays_the_median(metric):
    make = nammd.Gaussian if metric == "euclidean" else nammd.Laplace
    kernel = make(median_distance(ROWS, metric))
    assert for_columns(kernel, ROWS, KEEP).bandwidth == pytest.approx(median_distance(ROWS[:, KEEP], metric))


def test_every_built_in_kernel_can_do_without_a_column():
    matrix = np.diag([1.0, 2.0, 3.0, 4.0])
    kernel = 2.0 * nammd.Gaussian(1.0) + nammd.Laplace(2.0) + nammd.Mahalanobis(matrix, 1.5)
    small = for_columns(kernel, ROWS, KEEP)
    assert small.bound == kernel.bound
    assert small.terms[2].matrix.tolist() == np.diag([1.0, 3.0, 4.0]).tolist()
    assert 0 < small.terms[0].kernel.bandwidth < 1.0


class OneOfMyOwn(nammd.Kernel):
    """A kernel that insists on its three columns."""

    bound = 1.0

    def __call__(self, x, y):
        assert x.shape[1] == y.shape[1] == 3
        return np.exp(-((x[:, None] - y[None]) ** 2).sum(-1))


def test_a_kernel_of_ones_own_sees_the_column_held_constant():
    x, y = estimate().data
    model = build(nammd.distance(x, y, kernel=OneOfMyOwn()))
    held_x, held_y = x.copy(), y.copy()
    held_x[:, 1] = held_y[:, 1] = 0.0
    expected = nammd.distance(held_x, held_y, kernel=OneOfMyOwn()).value
    assert by_name(model)["column 1"].without.value == pytest.approx(expected)


def test_the_plain_mmd_is_reported_as_such():
    x, y = estimate().data
    model = build(nammd.distance(x, y, kernel=nammd.Gaussian(1.7), metric="mmd2"))
    assert model.distance.name == "MMD²"
    expected = nammd.distance(*scaled(x, y, 1), kernel=nammd.Gaussian(1.0), metric="mmd2").value
    assert by_name(model)["column 1"].alone.value == pytest.approx(expected, rel=1e-4)
