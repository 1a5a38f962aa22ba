"""What the report says about columns is what the functions of the library say."""

from __future__ import annotations

import numpy as np
import pytest

import nammd
from nammd.kernels.bandwidth import median_distance, pooled_rows
from nammd.kernels.operations import for_columns
from nammd.questions.ranking import holm
from nammd.report import build, columns, wide
from nammd.report.model import Measured
from tests.report.cases import estimate, estimate_model, people, shifted_model


def measured(result: nammd.Estimate) -> Measured:
    return Measured(result.value, *result.confidence_interval(0.95))


def by_name(model):
    return {part.name: part for part in model.contributions.columns}


def test_a_column_alone_is_the_distance_of_that_column_under_the_median_kernel():
    x, y = estimate().data
    for j in range(3):
        expected = measured(nammd.distance(x[:, [j]], y[:, [j]]))
        assert by_name(estimate_model())[f"column {j}"].alone == expected


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


def test_significance_is_a_permutation_test_adjusted_by_holm():
    x, y = estimate().data
    parts = by_name(estimate_model())
    permutations = estimate_model().contributions.permutations
    raw = [
        nammd.two_sample_test(x[:, [j]], y[:, [j]], permutations=permutations, rng=0).pvalue for j in range(3)
    ]
    assert [parts[f"column {j}"].pvalue for j in range(3)] == raw
    assert [parts[f"column {j}"].adjusted for j in range(3)] == holm(raw)


def test_a_planted_shift_comes_first_and_is_the_only_significant_one():
    parts = shifted_model().contributions
    assert parts.columns[0].name == "income"
    assert parts.significant == ("income",)
    assert [part.significant for part in parts.columns] == [True, False, False, False, False]
    assert parts.columns[0].without.value < 0.3 * parts.together.value
    assert "1 of 5 columns differs significantly on its own" in parts.sentence


def test_a_shift_in_missingness_alone_is_found_and_shown():
    x, y = people(400, 5), people(400, 6, missing=0.4)
    model = build(nammd.Tolerance.at(0.001, nammd.Gaussian(2.5), x=x).check(x, y))
    first = model.contributions.columns[0]
    assert (first.name, first.significant) == ("income", True)
    assert first.profile.missing == (x.income.isna().mean(), y.income.isna().mean())


def test_a_change_in_how_columns_go_together_is_said_to_be_one():
    rng = np.random.default_rng(71)
    x, y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    y[:, 1] = 0.95 * y[:, 0] + 0.3 * y[:, 1]
    parts = build(nammd.distance(x, y)).contributions
    assert parts.significant == ()
    assert "how columns go together" in parts.sentence


def test_a_constant_column_is_neither_tested_nor_paid_for():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(50, 3)), rng.normal((0.0, 2.0, 0.0), size=(50, 3))
    x[:, 2] = y[:, 2] = 5.0
    parts = build(nammd.distance(x, y)).contributions
    constant = next(part for part in parts.columns if part.name == "column 2")
    assert parts.tested == 2
    assert (constant.alone, constant.pvalue, constant.adjusted) == (Measured(0.0, 0.0, 0.0), None, None)
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
    assert (parts.hidden, parts.tested) == (3, 33)
    assert parts.permutations + 1 >= 33 / 0.05


def test_very_wide_data_show_the_columns_with_the_largest_standardized_difference():
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(80, 200)), rng.normal(size=(70, 200))
    y[:, 17] += 2
    y[:, 5] *= 4
    parts = build(nammd.distance(x, y)).contributions
    scores = wide.standardized_difference(x, y)
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
    model = build(nammd.distance(x, y, kernel=nammd.Gaussian(1.7), statistic="mmd2"))
    assert model.distance.name == "MMD²"
    expected = nammd.distance(x[:, [1]], y[:, [1]], statistic="mmd2").value
    assert by_name(model)["column 1"].alone.value == expected
