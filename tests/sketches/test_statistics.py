"""Everything said about two sketches is what would be said about their rows, under the same features."""

import numpy as np
import pytest

import nammd
from nammd.questions.closeness import closeness_of
from nammd.tables import Encoding
from tests.sketches.samples import FEATURES, KERNEL, X, Y, Z

KERNELS = [
    nammd.Gaussian(1.5),
    2.5 * nammd.Laplace(3.0),
    nammd.Mahalanobis(np.diag([1.0, 2.0, 0.5]), 1.5),
    nammd.Gaussian(1.0) + 2 * nammd.Laplace(3.0),
]
A, B, C = (nammd.Sketch.of(z, FEATURES) for z in (X, Y, Z))


def pairs(kernel, x=X, y=Y, **options):
    """Return the same distance from sketches and from rows."""
    features = nammd.RandomFeatures(kernel, 64, rng=4)
    sketches = (nammd.Sketch.of(z, features) for z in (x, y))
    return (
        nammd.distance(*sketches, kernel=features, **options),
        nammd.distance(x, y, kernel=features, **options),
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("statistic", ["nammd", "mmd2"])
@pytest.mark.parametrize(("m", "n"), [(700, 600), (5, 600), (4, 4), (300, 31)])
def test_value_error_and_moments_are_those_of_the_rows(kernel, statistic, m, n):
    sketched, whole = pairs(kernel, X[:m], Y[:n], metric=statistic)
    np.testing.assert_allclose(sketched.value, whole.value, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(sketched.standard_error, whole.standard_error, rtol=1e-10, atol=1e-13)
    one, two = sketched.pair.moments, whole.pair.moments
    for name in ("mean", "v1", "v2", "c", "w"):
        for side in ("x", "y"):
            values = (getattr(getattr(moments, side), name) for moments in (one, two))
            np.testing.assert_allclose(*values, rtol=1e-10, atol=1e-12 * kernel.bound**2)
    np.testing.assert_allclose(one.dxy, two.dxy, rtol=1e-10, atol=1e-12 * kernel.bound**2)
    assert (sketched.m, sketched.n, one.bound, one.cross) == (m, n, two.bound, "full")


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_higher_orders_are_those_of_the_rows_except_the_third_moment(kernel):
    both = pairs(kernel)
    assert [e.second_order_rows for e in both] == [(700, 600), (700, 600)]
    sketched, whole = (e.pair for e in both)
    np.testing.assert_allclose(sketched.eigenvalues, whole.eigenvalues, rtol=1e-8)
    for one, other in zip(sketched.meeting.sides, whole.meeting.sides, strict=True):
        assert one.size == other.size
        np.testing.assert_allclose(one.second(), other.second(), rtol=1e-9)
        np.testing.assert_allclose(one.form(), other.form(), rtol=1e-9)
        assert np.isnan(one.third(np.array([1.0, -1.0])))
    np.testing.assert_allclose(sketched.meeting.form(), whole.meeting.form(), rtol=1e-9)
    for eps in (0.0, 0.3):
        quadratic = whole.cubic_and_quadratic(eps, "less")[1]
        assert sketched.cubic_and_quadratic(eps, "less") == (
            0.0,
            pytest.approx(max(quadratic, 0.0), rel=1e-9),
        )
        assert whole.cubic_and_quadratic(eps, "less")[0] != 0.0


def test_the_unknown_third_moment_never_makes_a_test_bolder():
    """B alone counts only where it adds caution, so p-values are at least those without it."""
    sketched, _ = pairs(KERNEL)
    for margin in (0.01, 0.03, 0.1):
        for alternative in ("greater", "less"):
            corrected, plain = (
                closeness_of(sketched, margin, alternative, 0.05, variance).pvalue
                for variance in ("corrected", "delta")
            )
            assert corrected >= plain - 1e-12


def test_tests_and_intervals_are_close_to_those_of_the_rows():
    sketched, whole = pairs(KERNEL)
    np.testing.assert_allclose(sketched.confidence_interval(), whole.confidence_interval(), rtol=0.1)
    for alternative in ("greater", "less"):
        one = nammd.closeness_test(A, B, 0.02, kernel=FEATURES, alternative=alternative)
        two = nammd.closeness_test(X, Y, 0.02, kernel=FEATURES, alternative=alternative)
        assert one.pvalue == pytest.approx(two.pvalue, rel=0.1)
        assert one.rejected == two.rejected


def test_the_exact_kernel_adds_the_variance_over_frequencies():
    exact, own = nammd.distance(A, B), nammd.distance(A, B, kernel=FEATURES)
    assert exact.value == own.value
    assert nammd.distance(A, B, kernel=KERNEL).standard_error == exact.standard_error
    scale = own.pair.scale
    each = []
    for frequency in range(32):  # every frequency by itself: a kernel cos(w'(x - y))
        w = FEATURES.frequencies(3)[frequency]
        waves = [np.exp(1j * (z @ w)) for z in (X, Y)]
        own_means = [(abs(v.sum()) ** 2 - len(v)) / (len(v) * (len(v) - 1)) for v in waves]
        cross = (waves[0].sum() * waves[1].sum().conj()).real / (len(X) * len(Y))
        mmd2, denominator = sum(own_means) - 2 * cross, 4 - sum(own_means)
        each.append(mmd2 - own.value * denominator)
    added = np.var(each, ddof=1) / 32 / scale**2
    assert exact.standard_error**2 == pytest.approx(own.standard_error**2 + added, rel=1e-10)
    low, high = exact.confidence_interval()
    inner = own.confidence_interval()
    assert low < inner[0] < inner[1] < high
    plain = nammd.distance(A, B, metric="mmd2").pair.spread.mmd2
    assert nammd.distance(A, B, metric="mmd2").pair.approximation(0.3) == pytest.approx(
        np.var(plain, ddof=1) / 32
    )


def test_results_say_which_kernel_is_meant():
    assert "by 64 random features (their error is included)" in str(nammd.distance(A, B))
    own = nammd.distance(A, B, kernel=FEATURES)
    assert "64 random features (seed 4) of Gaussian, bandwidth 1.5" in str(own)
    assert "their error" not in str(own)
    assert own.kernel == FEATURES
    assert nammd.distance(A, B).kernel == KERNEL
    assert own.to_dict()["engine"] == f"sketches of {FEATURES!r}"


WRONG = {
    "other seed": (nammd.RandomFeatures(KERNEL, 64, 5), "an epsilon from other frequencies does not fit"),
    "other number": (nammd.RandomFeatures(KERNEL, 32, 4), "64 and 32 features"),
    "other base": (nammd.RandomFeatures(nammd.Gaussian(1.0), 64, 4), "kernels differ"),
    "other kernel": (nammd.Gaussian(1.0), "made for the kernel Gaussian, bandwidth 1.5, not for Gaussian"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_epsilon_from_elsewhere_is_an_error(wrong):
    kernel, words = WRONG[wrong]
    with pytest.raises(ValueError, match=words):
        nammd.closeness_test(A, B, 0.02, kernel=kernel, alternative="greater")
    with pytest.raises(ValueError, match=words):
        nammd.distance(A, B, kernel=kernel)
    with pytest.raises(ValueError, match=words):
        nammd.compare_pairs((A, B), (A, C), kernel=kernel)
    with pytest.raises(ValueError, match=words):
        nammd.Tolerance.at(0.02, kernel, n_columns=3).check(A, B)


def test_a_sketch_beside_data_is_an_error():
    for pair in ((A, Y), (X, B)):
        with pytest.raises(TypeError, match=r"sketch it with the same features: Sketch.of\("):
            nammd.distance(*pair)
        with pytest.raises(TypeError, match=r"is not a sketch, but [xy] is one"):
            nammd.closeness_test(*pair, 0.02, alternative="greater")
    with pytest.raises(TypeError, match="is not a sketch"):
        nammd.compare_pairs((A, B), (A, Z))
    tolerance = nammd.Tolerance.at(0.02, KERNEL, n_columns=3)
    with pytest.raises(TypeError, match="the candidate is not a sketch, but the reference is one"):
        tolerance.check(A, Y)
    with pytest.raises(TypeError, match="the reference is not a sketch, but the candidate is one"):
        tolerance.check(X, B)


def test_options_that_need_rows_are_refused():
    with pytest.raises(ValueError, match="pairs rows, and sketches keep none"):
        nammd.paper.distance(A, A, cross="off-diagonal")
    with pytest.raises(ValueError, match="leave engine out"):
        nammd.distance(A, B, engine=nammd.Tiles())
    with pytest.raises(ValueError, match="y has 3 rows; at least 4"):
        nammd.distance(A, nammd.Sketch.of(Y[:3], FEATURES))
    with pytest.raises(TypeError, match="is a sketch, and this needs rows"):
        nammd.two_sample_test(A, B)


@pytest.mark.parametrize(
    "asked", ["sums", "data", "witness_x", "witness_y", "influence_x", "influence_y", "plot", "report"]
)
def test_what_needs_rows_says_so(asked, tmp_path):
    estimate = nammd.distance(A, B)
    calls = {"plot": lambda: estimate.plot(), "report": lambda: estimate.report(tmp_path / "report.html")}
    ask = calls.get(asked, lambda: getattr(estimate, asked))
    with pytest.raises(ValueError, match="sketches, which keep no rows"):
        ask()


def test_few_rows_are_cautioned_about():
    small = nammd.Sketch.of(Y[:200], FEATURES)
    assert [c.code for c in nammd.distance(A, small).cautions] == ["sketch-skewness"]
    assert [c.code for c in nammd.distance(A, nammd.Sketch.of(Y[:10], FEATURES)).cautions] == ["few-rows"]
    assert nammd.distance(A, B).cautions == ()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constant_data_have_no_variance_to_test_with(dtype):
    one, two = (np.full((5000, 3), value, dtype) for value in (0.3, 1.1))
    result = nammd.closeness_test(
        nammd.Sketch.of(one, FEATURES), nammd.Sketch.of(two, FEATURES), 0.02, alternative="greater"
    )
    assert np.isnan(result.pvalue)
    assert [c.code for c in result.cautions] == ["no-variance"]


@pytest.mark.parametrize("second", [(A, C), (C, A)], ids=["first", "last"])
def test_comparing_pairs_is_that_of_the_rows(second):
    rows = {id(A): X, id(C): Z}
    sketched = nammd.compare_pairs((A, B), second, kernel=FEATURES)
    whole = nammd.compare_pairs((X, Y), tuple(rows[id(s)] for s in second), kernel=FEATURES)
    assert sketched.shared
    assert whole.shared
    np.testing.assert_allclose(sketched.statistic, whole.statistic, rtol=1e-9)
    apart = nammd.compare_pairs((A, B), second, kernel=FEATURES, shared=False)
    without = nammd.compare_pairs((X, Y), tuple(rows[id(s)] for s in second), kernel=FEATURES, shared=False)
    np.testing.assert_allclose(apart.statistic, without.statistic, rtol=1e-9)
    assert apart.standard_error != sketched.standard_error


def test_comparing_pairs_under_the_exact_kernel_adds_what_frequencies_leave():
    own = nammd.compare_pairs((A, B), (A, C), kernel=FEATURES)
    exact = nammd.compare_pairs((A, B), (A, C))
    errors = [[nammd.distance(A, z, kernel=k).standard_error for k in (FEATURES, None)] for z in (B, C)]
    each = sum(two**2 - one**2 for one, two in errors)
    added = exact.standard_error**2 - own.standard_error**2
    assert 0 < added < each  # the frequencies are the same, so part of their error cancels


def test_a_copy_of_a_sketch_is_shared_unless_that_is_denied(tmp_path):
    copy = nammd.Sketch.load(A.save(tmp_path / "a.sketch"))
    assert nammd.compare_pairs((A, B), (copy, C), shared=True).shared
    assert nammd.compare_pairs((A, B), (copy, C)).shared
    assert not nammd.compare_pairs((A, B), (copy, C), shared=False).shared
    with pytest.raises(ValueError, match="their sketches differ"):
        nammd.compare_pairs((A, B), (C, A + C), shared=True)


def test_frequencies_by_hand():
    """The mean over frequencies is the value itself."""
    evidence = nammd.distance(A, B).evidence
    assert evidence.spread.mmd2.mean() == pytest.approx(evidence.meeting.moments.mmd2, rel=1e-10)
    assert evidence.spread.denominator.mean() == pytest.approx(
        evidence.meeting.moments.denominator, rel=1e-12
    )


def test_a_tolerance_checks_sketches():
    exact = nammd.Tolerance.at(0.05, KERNEL, n_columns=3)
    own = nammd.Tolerance.at(0.05, FEATURES, n_columns=3)
    one, two = exact.check(A, C), own.check(A, C)
    assert one.is_close
    assert two.pvalue_close < one.pvalue_close  # the exact kernel is less certain
    assert own.check(X, Z).distance == pytest.approx(two.distance, rel=1e-10)
    assert "their error is included" in str(one)
    assert one.details.reference is A
    far = nammd.Sketch.of(X + 2.0, FEATURES)
    assert exact.with_reference(A).check(far).is_far


def test_a_tolerance_from_data_is_independent_of_sketches():
    tolerance = nammd.Tolerance.from_reference(X, Y, kernel=KERNEL, how="ball")
    verdict = tolerance.check(A, C)
    assert [c.code for c in verdict.cautions] == ["sketched-reference"]
    assert verdict.details.epsilon_error > 0


def test_an_undecided_check_of_sketches_may_ask_for_more_features():
    few = nammd.RandomFeatures(KERNEL, 8, rng=1)
    sketches = [nammd.Sketch.of(np.tile(z, (200, 1)), few) for z in (X, Z)]
    near = nammd.distance(*sketches).value * 1.1
    verdict = nammd.Tolerance.at(near, KERNEL, n_columns=3).check(*sketches)
    assert verdict.decision == "UNDECIDED"
    assert verdict.details.rows_needed is None
    assert "sketch with more random features" in verdict.advice()


def test_sketches_of_another_encoding_do_not_fit_a_tolerance():
    weighted = Encoding.fit(X, column_weights={"0": 2.0})
    tolerance = nammd.Tolerance.at(0.05, space=nammd.Space(weighted, KERNEL))
    with pytest.raises(ValueError, match="the reference was not sketched in this space, with its encoding"):
        tolerance.check(A, B)
    fitting = [nammd.Sketch.of(z, FEATURES, space=nammd.Space(weighted, FEATURES)) for z in (X, Y)]
    assert tolerance.check(*fitting).distance > 0
    with pytest.raises(ValueError, match="the candidate was not sketched in this space"):
        tolerance.check(fitting[0], B)
    with pytest.raises(ValueError, match="has 3 columns, the tolerance 2"):
        nammd.Tolerance.at(0.05, KERNEL, n_columns=2).check(A, B)
    with pytest.raises(ValueError, match="the candidate has 3 rows"):
        nammd.Tolerance.at(0.05, KERNEL, n_columns=3).check(A, nammd.Sketch.of(Y[:3], FEATURES))


def test_planning_from_sketches_counts_frequencies():
    own, exact = (nammd.plan(0.01, 0.02, pilot=nammd.distance(A, B, kernel=k)) for k in (FEATURES, None))
    assert own.m is not None
    assert exact.m is None or exact.m > own.m
