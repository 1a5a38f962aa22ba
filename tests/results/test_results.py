"""What the results say, to people and to programs."""

import dataclasses
import html
import json
import math
import pickle
from functools import cache

import numpy as np
import pytest

import nammd

RNG = np.random.default_rng(0)
X, NEAR, FAR = RNG.normal(size=(90, 2)), RNG.normal(0.05, 1, (80, 2)), RNG.normal(2.5, 1, (70, 2))
SAME, ONES = np.zeros((30, 2)), np.zeros((25, 2))
KERNEL = nammd.Gaussian(1.5)

closer = {"alternative": "less"}
two_sided = {"alternative": "two-sided"}


def closeness(x, y, epsilon=0.1, alternative="greater", **options):
    return lambda: nammd.closeness_test(x, y, epsilon, alternative=alternative, kernel=KERNEL, **options)


def two_sample(x, y, **options):
    return lambda: nammd.two_sample_test(x, y, permutations=199, rng=0, **options)


def comparison(first, second, **options):
    return lambda: nammd.compare_pairs((X, first), (X, second), kernel=KERNEL, **options)


# name: (how to get it, the answer, the hypotheses)
OUTCOMES = {
    "distance": (
        lambda: nammd.distance(X, FAR),
        "The NAMMD distance between the two datasets is 0.",
        "95 % interval",
    ),
    "distance, MMD²": (
        lambda: nammd.distance(X, FAR, metric="mmd2"),
        "The MMD² distance between the two datasets is 0.",
        "95 % interval",
    ),
    "farther": (
        closeness(X, FAR),
        "The two datasets are farther apart than NAMMD = 0.1 (p < 0.0001).",
        "NAMMD <= 0.1: rejected at level 0.05",
    ),
    "not farther": (
        closeness(X, NEAR, alpha=0.01),
        "No evidence that the two datasets are farther apart than NAMMD = 0.1 (p = ",
        "NAMMD <= 0.1: not rejected at level 0.01",
    ),
    "closer": (
        closeness(X, NEAR, **closer),
        "The two datasets are closer than NAMMD = 0.1 (p < 0.0001).",
        "NAMMD >= 0.1: rejected at level 0.05",
    ),
    "not closer": (
        closeness(X, FAR, **closer),
        "Not proven that the two datasets are closer than NAMMD = 0.1 (p = 1.0000).",
        "NAMMD >= 0.1: not rejected at level 0.05",
    ),
    "farther, MMD²": (
        closeness(X, FAR, metric="mmd2"),
        "The two datasets are farther apart than MMD² = 0.1 (p < 0.0001).",
        "MMD² <= 0.1: rejected at level 0.05",
    ),
    "no test": (
        closeness(SAME, ONES),
        "No test of the margin 0.1 is possible with these data.",
        "NAMMD <= 0.1: not rejected at level 0.05",
    ),
    "different": (
        two_sample(X, FAR),
        "The two datasets come from different distributions (p = 0.0050).",
        "P = Q: rejected at level 0.05",
    ),
    "not different": (
        two_sample(X, NEAR, method="mmd", alpha=0.01),
        "No evidence that the two datasets come from different distributions (p = ",
        "P = Q: not rejected at level 0.01",
    ),
    "second farther": (
        comparison(NEAR, FAR),
        "The second pair is farther apart than the first (p < 0.0001).",
        "second NAMMD <= first NAMMD: rejected at level 0.05",
    ),
    "second not farther": (
        comparison(FAR, NEAR),
        "No evidence that the second pair is farther apart than the first (p = 1.0000).",
        "second NAMMD <= first NAMMD: not rejected at level 0.05",
    ),
    "second closer": (
        comparison(FAR, NEAR, **closer),
        "The second pair is closer than the first (p < 0.0001).",
        "second NAMMD >= first NAMMD: rejected at level 0.05",
    ),
    "second not closer": (
        comparison(NEAR, FAR, **closer, metric="mmd2"),
        "No evidence that the second pair is closer than the first (p = 1.0000).",
        "second MMD² >= first MMD²: not rejected at level 0.05",
    ),
    "differently far, farther": (
        comparison(NEAR, FAR, **two_sided),
        "The second pair is farther apart than the first (p < 0.0001).",
        "second NAMMD = first NAMMD: rejected at level 0.05",
    ),
    "differently far, closer": (
        comparison(FAR, NEAR, **two_sided),
        "The second pair is closer than the first (p < 0.0001).",
        "second NAMMD = first NAMMD: rejected at level 0.05",
    ),
    "not differently far": (
        comparison(NEAR, NEAR[::-1] + 0.01, **two_sided),
        "No evidence that the two pairs are differently far apart (p = ",
        "second NAMMD = first NAMMD: not rejected at level 0.05",
    ),
    "no comparison": (
        lambda: nammd.compare_pairs((SAME, ONES), (SAME, SAME[:20]), kernel=KERNEL),
        "No comparison is possible with these data.",
        "second NAMMD <= first NAMMD: not rejected at level 0.05",
    ),
}
TESTS = [name for name in OUTCOMES if "distance" not in name]

every_outcome = pytest.mark.parametrize("name", OUTCOMES)
every_test = pytest.mark.parametrize("name", TESTS)
either_statistic = pytest.mark.parametrize("statistic", ["nammd", "mmd2"])


@cache
def outcome(name):
    """A result, made once: results are frozen."""
    return OUTCOMES[name][0]()


@every_outcome
def test_printing_states_the_answer_in_its_first_line(name):
    _, answer, _ = OUTCOMES[name]
    assert str(outcome(name)).splitlines()[0].startswith(answer)


@every_outcome
def test_printing_states_the_hypotheses(name):
    _, _, hypotheses = OUTCOMES[name]
    assert hypotheses in str(outcome(name))


@every_outcome
def test_printing_names_the_kernel_and_the_rows(name):
    result = outcome(name)
    first = getattr(result, "first", result)
    assert str(first.kernel) in str(result)
    assert f"{first.m} and {first.n}" in str(result)


def test_not_rejecting_is_not_presented_as_proof():
    assert "that alone does not prove them close" in str(outcome("not farther"))


def test_numbers_that_do_not_exist_are_said_not_to():
    text = str(outcome("no test"))
    assert "threshold not available" in text
    assert "nan" not in text.lower()


@every_test
def test_the_verdict_follows_from_the_pvalue(name):
    result = outcome(name)
    assert type(result.rejected) is bool
    assert result.rejected == (result.pvalue <= result.alpha)
    assert ("not rejected at level" in str(result)) != result.rejected


@pytest.mark.parametrize("name", ["farther", "not farther", "farther, MMD²", "different", "not different"])
def test_a_distance_above_the_threshold_is_rejected(name):
    result = outcome(name)
    assert result.rejected == (result.statistic > result.threshold)


@pytest.mark.parametrize("name", ["closer", "not closer"])
def test_a_distance_below_the_threshold_is_rejected(name):
    result = outcome(name)
    assert result.rejected == (result.statistic < result.threshold)


@every_outcome
def test_results_are_frozen_dataclasses(name):
    result = outcome(name)
    fields = dataclasses.fields(result)
    assert len(fields) >= 10
    for field in fields:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field.name, 0)


@every_outcome
def test_results_can_be_compared(name):
    first, second = outcome(name), OUTCOMES[name][0]()
    assert isinstance(first == second, bool)
    assert first != outcome("distance, MMD²" if name == "distance" else "distance")


@every_outcome
def test_results_survive_pickling(name):
    result = OUTCOMES[name][0]()  # of which nothing has been asked yet
    copy = pickle.loads(pickle.dumps(result))
    assert str(copy) == str(result)
    assert copy.to_dict() == result.to_dict()


@every_outcome
def test_a_result_as_a_dictionary_is_json(name):
    record = outcome(name).to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record


@every_outcome
def test_a_result_as_a_dictionary_has_its_numbers(name):
    result = outcome(name)
    record = result.to_dict()
    for key in {"statistic", "pvalue", "rejected", "alpha", "epsilon", "value"} & record.keys():
        value = getattr(result, key)
        assert record[key] == (None if isinstance(value, float) and math.isnan(value) else value)
    assert len(json.dumps(record)) < 3000  # nothing per row


def test_a_number_that_does_not_exist_is_null():
    assert outcome("no test").to_dict()["pvalue"] is None
    assert outcome("no comparison").to_dict()["pvalue"] is None


def test_a_distance_as_a_dictionary_has_its_interval():
    estimate = outcome("distance")
    low, high = estimate.confidence_interval(0.95)
    assert estimate.to_dict()["confidence_interval"] == {"level": 0.95, "low": low, "high": high}


@every_outcome
def test_the_notebook_view_says_the_same(name):
    result = outcome(name)
    page = result._repr_html_()
    assert html.escape(str(result).splitlines()[0]) in page
    assert html.escape(OUTCOMES[name][2]) in page
    assert page.count("<table>") == page.count("</table>") == 1


class Unsafe(nammd.Kernel):
    """A kernel that writes markup as its name."""

    bound = 1.0

    def __call__(self, x, y, /):
        return KERNEL(x, y)

    def __str__(self):
        return "<script>alert('&')</script>"


@pytest.mark.parametrize(
    "make",
    [
        lambda: nammd.distance(X, FAR, kernel=Unsafe()),
        lambda: nammd.closeness_test(X, FAR, 0.1, kernel=Unsafe(), alternative="greater"),
        lambda: nammd.two_sample_test(X, FAR, kernel=Unsafe(), permutations=9, rng=0),
        lambda: nammd.compare_pairs((X, NEAR), (X, FAR), kernel=Unsafe()),
    ],
    ids=["distance", "closeness", "two-sample", "comparison"],
)
def test_the_notebook_view_escapes_what_it_shows(make):
    page = make()._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;" in page


CAUTIONS = {
    "few-rows, distance": (lambda: nammd.distance(X[:19], FAR), "few-rows", "19 and 70"),
    "few-rows, closeness": (closeness(X, FAR[:10]), "few-rows", "90 and 10"),
    "few-rows, comparison": (comparison(NEAR[:12], FAR), "few-rows", "90 and 12"),
    "few-rows, second pair": (comparison(NEAR, FAR[:12]), "few-rows", "90 and 12"),
    "near-degenerate": (closeness(X, NEAR, 1e-4), "near-degenerate", "more rows would sharpen it"),
    "near-degenerate, less": (closeness(X, NEAR, 1e-4, **closer), "near-degenerate", "conservative"),
    "no-variance": (closeness(SAME, ONES), "no-variance", "the data may be constant"),
    "no-variance, less": (closeness(SAME, ONES, **closer), "no-variance", "no valid test is possible"),
    "no-variance, comparison": (OUTCOMES["no comparison"][0], "no-variance", "may be constant"),
}


@pytest.mark.parametrize("name", CAUTIONS)
def test_a_caution_is_data_and_text(name):
    make, code, words = CAUTIONS[name]
    result = make()
    [caution] = [c for c in result.cautions if c.code == code]
    assert words in caution.message
    assert f"Note: {caution.message}" in str(result)
    assert html.escape(caution.message) in result._repr_html_()
    assert {"code": code, "message": caution.message} in result.to_dict()["cautions"]
    assert str(caution) == caution.message


@pytest.mark.parametrize(
    "make",
    [
        OUTCOMES["distance"][0],
        OUTCOMES["farther"][0],
        OUTCOMES["closer"][0],
        closeness(X, FAR, 0.6),
        closeness(X, FAR, 0.6, **closer),
        OUTCOMES["second farther"][0],
    ],
    ids=["distance", "farther", "closer", "not farther", "closer than far", "second farther"],
)
def test_ordinary_data_needs_no_caution(make):
    result = make()
    assert result.cautions == ()
    assert "Note:" not in str(result)


def test_a_caution_is_given_once():
    result = nammd.compare_pairs((X[:9], NEAR[:9]), (X[:9] + 1, FAR[:9]), kernel=KERNEL)
    assert [c.code for c in result.cautions] == ["few-rows"]


def test_cautions_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        nammd.Caution("code", "message").code = "other"


def test_parts_of_a_closeness_result_agree():
    result = outcome("farther")
    assert (result.m, result.n, result.kernel) == (90, 70, KERNEL)
    assert result.statistic == result.estimate.value
    assert result.confidence_interval(0.9) == result.estimate.confidence_interval(0.9)
    assert result.engine == repr(nammd.Tiles())


def test_parts_of_a_comparison_agree():
    result = outcome("second farther")
    assert result.difference == result.second.value - result.first.value
    assert result.statistic == pytest.approx(result.difference / result.standard_error)
    assert result.shared


def test_parts_of_a_two_sample_result_agree():
    result = outcome("not different")
    assert result.null.shape == (199,)
    assert result.pvalue == (1 + np.count_nonzero(result.null >= result.statistic)) / 200


@either_statistic
def test_witness_and_influence_have_one_value_per_row(statistic):
    estimate = nammd.distance(X, FAR, metric=statistic)
    for name in ("witness", "influence"):
        of_x, of_y = getattr(estimate, f"{name}_x"), getattr(estimate, f"{name}_y")
        assert (of_x.shape, of_y.shape) == ((90,), (70,))
        assert np.isfinite(of_x).all()
        assert np.isfinite(of_y).all()


def test_the_witness_is_the_excess_of_ones_own_dataset_around_a_row():
    estimate = nammd.distance(X, FAR, kernel=KERNEL)
    xx, yy, xy = KERNEL(X, X), KERNEL(FAR, FAR), KERNEL(X, FAR)
    witness_x = (xx.sum(1) - 1) / 89 - xy.mean(1)
    witness_y = (yy.sum(1) - 1) / 69 - xy.mean(0)
    np.testing.assert_allclose(estimate.witness_x, witness_x, atol=1e-12)
    np.testing.assert_allclose(estimate.witness_y, witness_y, atol=1e-12)
    mmd2 = nammd.distance(X, FAR, kernel=KERNEL, metric="mmd2").value
    assert witness_x.mean() + witness_y.mean() == pytest.approx(mmd2)


@either_statistic
def test_squared_influences_add_up_to_the_variance(statistic):
    x, y = RNG.normal(size=(600, 2)), RNG.normal(1.5, 1, size=(500, 2))
    estimate = nammd.distance(x, y, metric=statistic)
    total = (estimate.influence_x**2).sum() + (estimate.influence_y**2).sum()
    assert total == pytest.approx(estimate.standard_error**2, rel=0.02)


@either_statistic
def test_the_influence_of_a_row_is_what_leaving_it_out_changes(statistic):
    options = {"kernel": KERNEL, "metric": statistic}
    estimate = nammd.distance(X, FAR, **options)
    without_x = [nammd.distance(np.delete(X, i, 0), FAR, **options).value for i in range(90)]
    without_y = [nammd.distance(X, np.delete(FAR, j, 0), **options).value for j in range(70)]
    for influence, without in ((estimate.influence_x, without_x), (estimate.influence_y, without_y)):
        change = estimate.value - np.array(without)
        np.testing.assert_allclose(influence, change, atol=0.05 * abs(change).max())


LEVELS = [0.1, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999]


@either_statistic
@pytest.mark.parametrize("y", [NEAR, FAR, X[:50] + 0.01], ids=["near", "far", "copy"])
def test_confidence_intervals_nest(statistic, y):
    estimate = nammd.distance(X, y, kernel=KERNEL, metric=statistic)
    intervals = np.array([estimate.confidence_interval(level) for level in LEVELS])
    assert (np.diff(intervals[:, 0]) <= 0).all()
    assert (np.diff(intervals[:, 1]) >= 0).all()
    assert intervals[-1, 1] > intervals[0, 1]
    assert intervals.min() >= 0
    assert intervals.max() <= (1 if statistic == "nammd" else 2)


@either_statistic
@pytest.mark.parametrize("level", LEVELS)
def test_a_confidence_interval_contains_a_positive_estimate(statistic, level):
    estimate = nammd.distance(X, FAR, metric=statistic)
    low, high = estimate.confidence_interval(level)
    assert 0 < low < estimate.value < high


def test_a_confidence_interval_begins_at_zero_for_a_negative_estimate():
    estimate = nammd.distance(X, X[::-1] + 1e-3)
    low, high = estimate.confidence_interval()
    assert estimate.value < 0
    assert low == 0 < high


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("y", "end"), [(NEAR, 1), (FAR, 0), (FAR, 1)])
def test_a_confidence_interval_holds_the_margins_that_are_not_rejected(level, y, end):
    alternative, alpha = ("greater", "less")[end], (1 - level) / 2
    edge = nammd.distance(X, y, kernel=KERNEL).confidence_interval(level)[end]
    outward = 1e-4 if end else -1e-4
    rejected = [
        closeness(X, y, edge * (1 + step), alpha=alpha, alternative=alternative)().rejected
        for step in (-outward, outward)
    ]
    assert rejected == [False, True]


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_of_a_comparison_surrounds_the_difference(level):
    result = outcome("second farther")
    low, high = result.confidence_interval(level)
    wider_low, wider_high = result.confidence_interval((1 + level) / 2)
    assert wider_low < low < result.difference < high < wider_high


@either_statistic
def test_without_variance_an_interval_claims_nothing(statistic):
    estimate = nammd.distance(SAME, ONES, kernel=KERNEL, metric=statistic)
    assert estimate.confidence_interval() == (0.0, 1.0 if statistic == "nammd" else 2.0)


def test_without_variance_the_interval_of_a_comparison_is_not_a_point():
    low, high = outcome("no comparison").confidence_interval()
    assert low != high
