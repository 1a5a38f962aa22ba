"""Laws that every kernel keeps, built-in or a user's own."""

import math
import pickle

import array_api_strict
import numpy as np
import pytest
import torch

import nammd
from nammd.kernels import as_kernel
from tests.kernels.cases import CASES, MATRIX

RNG = np.random.default_rng(11)
X, Y = RNG.normal(size=(13, 3)), RNG.normal(0.4, 1.5, size=(9, 3))
X2, Y2 = RNG.normal(size=(8, 3)), RNG.normal(-0.6, 1.0, size=(7, 3))
SLICES = [
    (slice(None), slice(None)),
    (slice(0, 1), slice(0, 1)),
    (slice(2, 9), slice(3, 9)),
    (slice(12, 13), slice(0, 9)),
    (slice(0, 13, 4), slice(0, 9, 3)),
]
NAMESPACES = {"torch": torch.asarray, "array_api_strict": array_api_strict.asarray}
TOLERANCE = {
    "float64": {"rtol": 1e-12, "atol": 1e-14},
    "float32": {"rtol": 2e-5, "atol": 1e-6},
}

every_kernel = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name.replace(" ", "-"))
built_in = pytest.mark.parametrize(
    "case", [c for c in CASES if c.built_in], ids=lambda c: c.name.replace(" ", "-")
)
either_precision = pytest.mark.parametrize("precision", ["float32", "float64"])
any_slices = pytest.mark.parametrize(("rows", "columns"), SLICES)


def close(actual, expected, precision="float64"):
    np.testing.assert_allclose(np.asarray(actual), expected, **TOLERANCE[precision])


def mean_of_distinct(gram):
    size = len(gram)
    return (gram.sum() - np.trace(gram)) / (size * (size - 1))


def nammd_by_hand(case, x, y):
    xx, yy = mean_of_distinct(case.matrix(x, x)), mean_of_distinct(case.matrix(y, y))
    return (xx + yy - 2 * case.matrix(x, y).mean()) / (4 * case.bound - xx - yy)


@every_kernel
@either_precision
def test_values_are_those_of_the_formula(case, precision):
    x, y = X.astype(precision), Y.astype(precision)
    close(case.make()(x, y), case.matrix(x, y), precision)


@every_kernel
@pytest.mark.parametrize("library", NAMESPACES)
def test_values_are_the_same_in_every_array_library(case, library):
    convert = NAMESPACES[library]
    close(case.make()(convert(X), convert(Y)), case.matrix(X, Y))


@every_kernel
def test_kernel_is_symmetric(case):
    kernel = case.make()
    np.testing.assert_allclose(kernel(X, Y), kernel(Y, X).T, rtol=1e-14, atol=1e-15)


@every_kernel
@pytest.mark.parametrize("spread", [1e-8, 1.0, 1e4])
def test_values_stay_within_the_bound(case, spread):
    kernel = case.make()
    values = kernel(spread * X, np.concatenate([spread * X, Y]))
    assert abs(values).max() <= case.bound * (1 + 1e-12)
    assert np.isfinite(values).all()


@every_kernel
def test_bound_is_the_stated_one(case):
    assert as_kernel(case.make()).bound == pytest.approx(case.bound, rel=1e-15)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.shift_invariant], ids=lambda c: c.name.replace(" ", "-")
)
def test_a_row_with_itself_attains_the_bound_of_a_shift_invariant_kernel(case):
    kernel = case.make()
    close(np.diagonal(kernel(X, X)), np.full(len(X), kernel.bound))
    close(kernel(X + 50.0, Y + 50.0), kernel(X, Y))


@every_kernel
def test_gram_matrix_is_positive_semi_definite(case):
    gram = case.make()(X, X)
    assert np.linalg.eigvalsh((gram + gram.T) / 2).min() > -1e-12 * case.bound


@every_kernel
@either_precision
@any_slices
def test_a_bound_kernel_fills_the_tile_it_is_given(case, precision, rows, columns):
    x, y = X.astype(precision), Y.astype(precision)
    expected = case.matrix(x, y)[rows, columns]
    bound = as_kernel(case.make()).bind(x, y)
    out = np.full(expected.shape, np.nan, precision)
    tile = bound.tile(rows, columns, out)
    assert bound.precision == precision
    assert np.shares_memory(tile, out)
    close(out, expected, precision)


@every_kernel
@either_precision
@any_slices
def test_a_bound_kernel_makes_its_own_tile_where_none_is_given(case, precision, rows, columns):
    x, y = X.astype(precision), Y.astype(precision)
    tile = as_kernel(case.make()).bind(x, y).tile(rows, columns, None)
    assert tile.dtype == precision
    close(tile, case.matrix(x, y)[rows, columns], precision)


@every_kernel
@pytest.mark.parametrize("library", NAMESPACES)
@any_slices
def test_a_bound_kernel_serves_tiles_in_every_array_library(case, library, rows, columns):
    x, y = NAMESPACES[library](X), NAMESPACES[library](Y)
    tile = as_kernel(case.make()).bind(x, y).tile(rows, columns, None)
    assert type(tile) is type(x)
    close(tile, case.matrix(X, Y)[rows, columns])


@every_kernel
def test_the_precision_asked_for_overrides_that_of_the_data(case):
    bound = as_kernel(case.make()).bind(X, Y, "float32")
    tile = bound.tile(slice(None), slice(None), None)
    assert (bound.precision, tile.dtype) == ("float32", np.float32)
    close(tile, case.matrix(X, Y), "float32")


@every_kernel
@pytest.mark.parametrize("weight", [1e-3, 1.0, 7.5])
def test_a_weight_multiplies_every_value(case, weight):
    tile = as_kernel(case.make()).bind(X, Y, weight=weight).tile(slice(None), slice(None), None)
    close(tile, weight * case.matrix(X, Y))


@every_kernel
def test_tiles_do_not_remember_earlier_ones(case):
    bound, out = as_kernel(case.make()).bind(X, Y), np.empty((4, 5))
    first = bound.tile(slice(0, 4), slice(0, 5), out).copy()
    bound.tile(slice(4, 8), slice(4, 9), out)
    np.testing.assert_array_equal(bound.tile(slice(0, 4), slice(0, 5), out), first)


@every_kernel
def test_kernel_works_in_kernel_sums(case):
    sums = nammd.kernel_sums(X, Y, case.make())
    xx, xy = case.matrix(X, X), case.matrix(X, Y)
    close(sums.xx_rows, xx.sum(1) - np.diagonal(xx))
    close(sums.xy_cols, xy.sum(0))
    close(sums.xy_squares, (xy**2).sum())
    assert sums.bound == pytest.approx(case.bound)


@every_kernel
def test_kernel_works_in_distance(case):
    estimate = nammd.distance(X, Y, kernel=case.make())
    assert estimate.value == pytest.approx(nammd_by_hand(case, X, Y), rel=1e-10)
    assert estimate.standard_error > 0


@every_kernel
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_kernel_works_in_closeness_test(case, alternative):
    result = nammd.closeness_test(X, Y, 0.1, kernel=case.make(), alternative=alternative)
    assert result.statistic == pytest.approx(nammd_by_hand(case, X, Y), rel=1e-10)
    assert 0 < result.pvalue < 1


@every_kernel
def test_kernel_works_in_two_sample_test(case):
    result = nammd.two_sample_test(X, Y, kernel=case.make(), permutations=39, rng=0)
    assert result.statistic == pytest.approx(nammd_by_hand(case, X, Y), rel=1e-9)
    assert np.unique(result.null).size > 30


@every_kernel
def test_kernel_works_in_compare_pairs(case):
    result = nammd.compare_pairs((X, Y), (X2, Y2), kernel=case.make())
    expected = nammd_by_hand(case, X2, Y2) - nammd_by_hand(case, X, Y)
    assert result.difference == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert 0 < result.pvalue < 1


@every_kernel
def test_kernel_works_on_one_column(case):
    if case.name in ("mahalanobis", "singular", "nested sums"):
        kernel = nammd.Mahalanobis([[2.0]]) + nammd.Gaussian(1.0)
        by_hand = nammd.Gaussian(math.sqrt(0.5)) + nammd.Gaussian(1.0)
        expected = nammd.distance(X[:, 0], Y[:, 0], kernel=by_hand).value
    else:
        kernel, expected = case.make(), nammd_by_hand(case, X[:, :1], Y[:, :1])
    assert nammd.distance(X[:, 0], Y[:, 0], kernel=kernel).value == pytest.approx(expected, rel=1e-10)


@every_kernel
@pytest.mark.parametrize("write", [str, repr])
def test_kernel_reads_well(case, write):
    text = write(nammd.distance(X, Y, kernel=case.make()).kernel)
    assert " at 0x" not in text
    assert "\n" not in text
    assert "array(" not in text


@built_in
def test_bandwidths_are_named_in_words(case):
    assert "bandwidth" in str(case.make())


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c.built_in and "Mahalanobis" not in repr(c.make())],
    ids=lambda c: c.name.replace(" ", "-"),
)
def test_repr_is_the_code_that_makes_the_kernel(case):
    copy = eval(repr(case.make()), vars(nammd))
    assert copy.bound == pytest.approx(case.bound)
    close(copy(X, Y), case.matrix(X, Y))


@built_in
def test_equal_kernels_are_equal_and_hash_alike(case):
    first, second = case.make(), case.make()
    assert first == second
    assert hash(first) == hash(second)
    assert len({first, second}) == 1


def test_different_kernels_are_not_equal():
    kernels = [
        nammd.Gaussian(1.0),
        nammd.Gaussian(2.0),
        nammd.Laplace(1.0),
        nammd.Mahalanobis(np.eye(2)),
        nammd.Mahalanobis(2 * np.eye(2)),
        nammd.Mahalanobis(np.eye(2), 2.0),
        2 * nammd.Gaussian(1.0),
        3 * nammd.Gaussian(1.0),
        nammd.Gaussian(1.0) + nammd.Laplace(1.0),
        nammd.Gaussian(1.0) + nammd.Laplace(2.0),
    ]
    assert len(set(kernels)) == len(kernels)
    assert all(a != b for i, a in enumerate(kernels) for b in kernels[:i])


@built_in
def test_built_in_kernels_survive_pickling(case):
    copy = pickle.loads(pickle.dumps(case.make()))
    assert copy == case.make()
    np.testing.assert_array_equal(copy(X, Y), case.make()(X, Y))


@built_in
def test_built_in_kernels_cannot_be_changed(case):
    with pytest.raises(AttributeError):
        case.make().bandwidth = 3.0


def test_the_matrix_of_a_kernel_is_its_own():
    matrix = MATRIX.copy()
    kernel = nammd.Mahalanobis(matrix)
    matrix[0, 0] = 99.0
    np.testing.assert_array_equal(kernel.matrix, MATRIX)
    with pytest.raises(ValueError, match="read-only"):
        kernel.matrix[0, 0] = 99.0


@every_kernel
def test_scaling_scales_the_bound_and_leaves_nammd_alone(case):
    plain = as_kernel(case.make())
    before = nammd.closeness_test(X, Y, 0.2, kernel=plain, alternative="greater")
    interval = before.confidence_interval()
    for factor in (1e-6, 0.3, 2, 1e6, np.float64(5)):
        scaled = factor * plain
        after = nammd.closeness_test(X, Y, 0.2, kernel=scaled, alternative="greater")
        assert scaled.bound == pytest.approx(factor * case.bound)
        assert after.statistic == pytest.approx(before.statistic, rel=1e-10)
        assert after.standard_error == pytest.approx(before.standard_error, rel=1e-8)
        assert after.pvalue == pytest.approx(before.pvalue, rel=1e-7)
        assert after.confidence_interval() == pytest.approx(interval, rel=1e-6)


@every_kernel
def test_scaling_scales_mmd2(case):
    plain = as_kernel(case.make())
    before, after = (nammd.distance(X, Y, kernel=k, metric="mmd2") for k in (plain, 3 * plain))
    assert after.value == pytest.approx(3 * before.value, rel=1e-10)
    assert after.standard_error == pytest.approx(3 * before.standard_error, rel=1e-9)


@every_kernel
def test_scaling_from_the_right_is_the_same(case):
    kernel = as_kernel(case.make())
    np.testing.assert_array_equal((kernel * 2)(X, Y), (2 * kernel)(X, Y))


@every_kernel
@pytest.mark.parametrize("other", [nammd.Laplace(0.7), 3 * nammd.Gaussian(2.0)], ids=str)
def test_in_a_sum_values_and_bounds_add(case, other):
    kernel = as_kernel(case.make())
    total = kernel + other
    assert total.bound == pytest.approx(case.bound + other.bound)
    close(total(X, Y), case.matrix(X, Y) + other(X, Y))
    close((other + kernel)(X, Y), total(X, Y))


@pytest.mark.parametrize("kind", [nammd.Gaussian, nammd.Laplace])
def test_median_bandwidth_is_the_median_distance(kind):
    power = 2 if kind is nammd.Gaussian else 1
    pooled = np.concatenate([X, Y])
    i, j = np.triu_indices(len(pooled), 1)
    distances = np.linalg.norm(pooled[i] - pooled[j], ord=power, axis=1)
    assert kind.median(X, Y).bandwidth == pytest.approx(np.median(distances), rel=1e-12)


def test_median_mahalanobis_kernel_ignores_units():
    units = np.array([1.0, 1e4, 1e-3])
    before, after = nammd.Mahalanobis.median(X, Y), nammd.Mahalanobis.median(X * units, Y * units)
    close(after(X * units, Y * units), before(X, Y), "float32")


@pytest.mark.parametrize("kind", [nammd.Gaussian, nammd.Laplace, nammd.Mahalanobis])
def test_median_of_many_rows_is_reproducible_and_close(kind):
    x, y = np.random.default_rng(5).normal(size=(2, 400, 3))
    whole = kind.median(x, y).bandwidth
    drawn = [kind.median(x, y, max_rows=300, rng=rng).bandwidth for rng in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn == pytest.approx([whole] * 3, rel=0.05)


def test_values_that_float32_would_round_to_one_are_float64():
    x = np.random.default_rng(3).standard_normal((50, 2))
    far, flat = (nammd.Gaussian(width).bind(x, x, "float32") for width in (1.0, 1e3))
    assert (far.precision, flat.precision) == ("float32", "float64")
    apart = np.square(x[:, None] - x).sum(-1) / 2e6
    whole = slice(0, 50)
    np.testing.assert_allclose(1 - flat.tile(whole, whole, None), -np.expm1(-apart), rtol=1e-8, atol=1e-14)


@built_in
@either_precision
def test_a_sample_with_itself_has_the_values_of_two_equal_samples(case, precision):
    everything = slice(None), slice(None), None
    kernel = as_kernel(case.make())
    one, two = (kernel.bind(X, other, precision).tile(*everything) for other in (X, X.copy()))
    close(one, two, precision)


@either_precision
def test_very_wide_rows_are_packed_a_few_at_a_time_to_the_same_values(precision, monkeypatch):
    everything, kernel = (slice(None), slice(None), None), nammd.Gaussian(30.0)
    wide = RNG.normal(size=(7, 500))
    whole = kernel.bind(wide, wide[::-1], precision).tile(*everything)
    monkeypatch.setattr("nammd.kernels.exponential._PACKED_CELLS", 1500)
    close(kernel.bind(wide, wide[::-1], precision).tile(*everything), whole, precision)


def on_any_machine(monkeypatch, avx512, small=1_000_000):
    """Compute as a machine with AVX-512 does, or one without; so many multiplications are a small product."""
    monkeypatch.setattr("nammd.kernels.exponential._AVX512", avx512)
    monkeypatch.setattr("nammd.kernels.exponential._SMALL_PRODUCT", small)


@either_precision
@any_slices
@pytest.mark.parametrize("avx512", [True, False])
@pytest.mark.parametrize("given", [True, False], ids=["given", "its own"])
def test_products_in_blocks_have_the_same_values(precision, rows, columns, avx512, given, monkeypatch):
    on_any_machine(monkeypatch, avx512, small=100)
    monkeypatch.setattr("nammd.kernels.exponential._LEAST_STEP", 1)
    for x, y in ((X, X), (X, Y)):
        expected = np.exp(-np.square(x[rows, None] - y[None, columns]).sum(-1) / 8)
        out = np.full(expected.shape, np.nan, precision) if given else None
        tile = nammd.Gaussian(2.0).bind(x, y, precision).tile(rows, columns, out)
        close(tile, expected, precision)


@either_precision
@pytest.mark.parametrize("avx512", [True, False])
@pytest.mark.parametrize("apart", [10.0, 12.0, 14.0, 36.0, 40.0, 100.0])
@pytest.mark.parametrize("weight", [1.0, 1e-25])
def test_values_that_underflow_are_those_of_the_formula(precision, avx512, apart, weight, monkeypatch):
    on_any_machine(monkeypatch, avx512)
    x, y = X / 10 + [apart, 0, 0], X / 10
    tile = (weight * nammd.Gaussian(1.0)).bind(x, y, precision).tile(slice(None), slice(None), None)
    expected = weight * np.exp(-np.square(x[:, None] - y).sum(-1) / 2)
    np.testing.assert_allclose(tile, expected, rtol=1e-4, atol=np.finfo(precision).tiny)


def test_rows_against_themselves_do_not_depend_on_the_tile_before():
    tile, (some, others) = nammd.Gaussian(2.0).bind(X, X, "float64").tile, (slice(0, 5), slice(5, 9))
    expected = [tile(one, some, None) for one in (some, others, some)]
    np.testing.assert_array_equal(expected[0], expected[2])
    close(expected[1], nammd.Gaussian(2.0)(X, X)[others, some])


def test_values_of_machines_with_avx512_err_no_more(monkeypatch):
    x, y = np.random.default_rng(8).normal(size=(2, 400, 6))
    expected = np.exp(-np.square(x[:, None] - y).sum(-1) / 8)
    errors = []
    for avx512 in (True, False):
        on_any_machine(monkeypatch, avx512)
        tile = nammd.Gaussian(2.0).bind(x, y, "float32").tile(slice(None), slice(None), None)
        errors.append(np.sqrt(np.mean((tile / expected - 1) ** 2)))
    assert errors[0] <= 1.05 * errors[1]


@pytest.mark.parametrize(
    ("system", "target", "quick"),
    [
        ("linux", "X86_V4", True),
        ("linux", "AVX512_SKX", True),
        ("linux", "baseline(X86_V2)", False),
        ("win32", "X86_V4", False),
        ("linux", None, False),
    ],
)
def test_powers_of_two_are_taken_where_they_are_quick(system, target, quick, monkeypatch):
    from nammd.kernels import exponential

    found = {"exp2": {"ff": {"current": target}}} if target else {}
    monkeypatch.setattr(exponential, "opt_func_info", lambda *names: found)
    monkeypatch.setattr("sys.platform", system)
    assert exponential._has_avx512() is quick
