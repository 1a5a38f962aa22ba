"""Every kind of bad input has its own sentence, and leaves what it was given as it was."""

import copy
import math
import pathlib
import re

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import torch

import nammd

RNG = np.random.default_rng(3)
X, Y, Y9 = RNG.normal(size=(8, 2)), RNG.normal(size=(8, 2)), RNG.normal(size=(9, 2))
ONE = nammd.Gaussian(1.0)


def kernel_sums(x, y, kernel=ONE, **options):
    return nammd.kernel_sums(x, y, kernel, **options)


def closeness_test(x, y, epsilon=0.1, alternative="greater", **options):
    return nammd.closeness_test(x, y, epsilon, alternative=alternative, **options)


def two_sample_test(x, y, **options):
    return nammd.two_sample_test(x, y, **{"permutations": 9, "rng": 0} | options)


def published_test(x, y, epsilon=0.1, **options):
    return nammd.paper.closeness_test(x, y, epsilon, **options)


def compare_pairs(x, y, **options):
    return nammd.compare_pairs((x, y), (X.copy(), Y.copy()), **options)


def compare_pairs_second(x, y, **options):
    return nammd.compare_pairs((X.copy(), Y.copy()), (x, y), **options)


FUNCTIONS = [nammd.distance, closeness_test, two_sample_test, compare_pairs, kernel_sums]
MEDIANS = [nammd.Gaussian.median, nammd.Laplace.median, nammd.Mahalanobis.median]
READERS = [*FUNCTIONS, compare_pairs_second, *MEDIANS]
WITH_MARGIN_OR_PAIRS = [nammd.distance, closeness_test, compare_pairs]


def name_of(value):
    return getattr(value, "__qualname__", None) or str(value)


def every(functions):
    return pytest.mark.parametrize("function", functions, ids=name_of)


def refuses(error, sentence):
    return pytest.raises(error, match=re.escape(sentence))


def with_value(value, row=2):
    bad = X.copy()
    bad[row, 1] = value
    return bad


NOT_FINITE = "contains NaN or infinity in 1 of its 8 rows"
NOT_NUMBERS = "must be an array, a table, a Dask collection, a sketch or the path of a file, not "
NOT_REAL = "which is not a real number; encode it as numbers first"
BAD_DATA = {
    "NaN": (with_value(math.nan), ValueError, NOT_FINITE),
    "infinity": (with_value(math.inf), ValueError, NOT_FINITE),
    "minus infinity": (with_value(-math.inf), ValueError, NOT_FINITE),
    "NaN, float32": (with_value(math.nan).astype("float32"), ValueError, NOT_FINITE),
    "NaN, list": (with_value(math.nan).tolist(), ValueError, NOT_FINITE),
    "NaN, one column": ([1.0, math.nan, 3.0, 4.0], ValueError, "NaN or infinity in 1 of its 4 rows"),
    "NaN, torch": (torch.asarray(with_value(math.nan)), ValueError, NOT_FINITE),
    "NaN, array_api_strict": (array_api_strict.asarray(with_value(math.nan)), ValueError, NOT_FINITE),
    "overflow of half": (np.full((8, 2), np.inf, np.float16), ValueError, "in 8 of its 8 rows"),
    "None in a list": ([[1.0, None], [2.0, 3.0]], TypeError, NOT_NUMBERS + "list"),
    "repeated column": (pd.DataFrame(X, columns=["a", "a"]), ValueError, "'a'"),
    "empty list": ([], ValueError, "is empty: it has shape (0, 1)"),
    "no rows": (np.empty((0, 2)), ValueError, "is empty: it has shape (0, 2)"),
    "no columns": (np.empty((8, 0)), ValueError, "is empty: it has shape (8, 0)"),
    "no rows, torch": (torch.empty((0, 2)), ValueError, "is empty: it has shape (0, 2)"),
    "no rows, polars": (pl.DataFrame({"a": []}, schema={"a": pl.Float64}), ValueError, "is empty"),
    "no columns, pandas": (pd.DataFrame(), ValueError, "is empty: it has no columns"),
    "three dimensions": (np.zeros((8, 2, 2)), ValueError, "has 3 dimensions; give one row per"),
    "three dimensions, torch": (torch.zeros((8, 2, 2)), ValueError, "has 3 dimensions"),
    "three dimensions, list": ([[[1.0, 2.0]]] * 8, ValueError, "has 3 dimensions"),
    "no dimension": (np.array(3.0), ValueError, "has 0 dimensions"),
    "no dimension, torch": (torch.asarray(3.0), ValueError, "has 0 dimensions"),
    "a number": (3.0, TypeError, NOT_NUMBERS + "float"),
    "dictionary": ({"a": [[1.0], [2.0]]}, TypeError, "is a dict, so every entry must be a column"),
    "set": ({1.0, 2.0}, TypeError, NOT_NUMBERS + "set"),
    "sparse matrix": (scipy.sparse.csr_array(X), TypeError, NOT_NUMBERS + "csr_array"),
    "masked array": (np.ma.masked_less(X, 0.0), TypeError, "is a masked array; fill or drop"),
    "complex": (X + 1j, TypeError, NOT_REAL),
    "complex, torch": (torch.asarray(X + 1j), TypeError, "has complex values; split them"),
    "complex, array_api_strict": (
        array_api_strict.asarray(X + 1j),
        TypeError,
        "has complex values; split them",
    ),
    "objects": (X.astype(object), TypeError, "has type object, " + NOT_REAL),
    "text": (np.array([["a", "b"]] * 8), TypeError, "has type <U1, " + NOT_REAL),
    "times": (np.zeros((8, 2), "datetime64[s]"), TypeError, "has type datetime64[s], " + NOT_REAL),
    "records": (np.zeros(8, [("a", float)]), TypeError, NOT_REAL),
    "ragged lists": ([[1.0, 2.0], [3.0]] * 4, ValueError, "differ in length; they must form a table"),
}
bad_data = pytest.mark.parametrize(
    ("bad", "error", "sentence"),
    [pytest.param(*row, id=name.replace(", ", "-").replace(" ", "-")) for name, row in BAD_DATA.items()],
)


def infinite(**more):
    return {"a": [1.0, math.inf, 3.0, 4.0, 5.0], **more}


BAD_TABLES = {
    "infinity, pandas": (pd.DataFrame(infinite()), ValueError, "the column 'a' of {} contains infinity in 1"),
    "infinity, lazy polars": (pl.LazyFrame(infinite()), ValueError, "the column 'a' of {} contains infinity"),
    "infinity, Arrow": (pa.table(infinite()), ValueError, "the column 'a' of {} contains infinity"),
    "text": (pa.table({"a": list("abcde")}), ValueError, "the column 'a' of"),
    "another column": (pa.table({"b": [1.0, 2.0, 3.0, 4.0, 5.0]}), ValueError, "lacks columns that"),
}
GOOD_TABLE = pd.DataFrame({"a": [1.0, 2.0, 4.0, 7.0, 9.0]})


@pytest.mark.parametrize("case", BAD_TABLES)
@pytest.mark.parametrize("first", [True, False])
def test_bad_tables_are_refused(case, first):
    bad, error, sentence = BAD_TABLES[case]
    pair = (bad, GOOD_TABLE) if first else (GOOD_TABLE, bad)
    for function in (nammd.distance, closeness_test, two_sample_test, kernel_sums, nammd.Gaussian.median):
        with refuses(error, sentence.format("x" if first else "y")):
            function(*pair)


@pytest.mark.parametrize("path", ["data.csv", pathlib.Path("data.parquet")], ids=str)
@every([nammd.distance, closeness_test, two_sample_test, compare_pairs, kernel_sums, *MEDIANS])
def test_a_path_that_is_not_there_is_named(function, path):
    with refuses(FileNotFoundError, f"there is no file or folder {str(path)!r}"):
        function(path, Y)


def names_of(function):
    names = {
        "compare_pairs": ("first[0]", "first[1]"),
        "compare_pairs_second": ("second[0]", "second[1]"),
    }
    return names.get(function.__name__, ("x", "y"))


@bad_data
@every(READERS)
def test_bad_data_is_refused_in_the_first_place(function, bad, error, sentence):
    with refuses(error, sentence) as caught:
        function(bad, Y)
    assert re.search(rf"(^|\W){re.escape(names_of(function)[0])} ", str(caught.value))


@bad_data
@every(FUNCTIONS)
def test_bad_data_is_refused_in_the_second_place(function, bad, error, sentence):
    with refuses(error, sentence) as caught:
        function(X, bad)
    assert re.search(rf"(^|\W){re.escape(names_of(function)[1])} ", str(caught.value))


@every(FUNCTIONS)
def test_two_datasets_are_needed(function):
    with refuses(TypeError, NOT_NUMBERS + "NoneType"):
        function(None, Y)
    with refuses(TypeError, NOT_NUMBERS + "NoneType"):
        function(X, None)


def fingerprint(data):
    if isinstance(data, np.ndarray):
        return data.tobytes(), data.dtype, data.shape, data.flags.writeable
    return repr(data.collect() if isinstance(data, pl.LazyFrame) else data)


@bad_data
def test_bad_data_is_left_as_it_was(bad, error, sentence):
    good = X.copy()
    before = fingerprint(bad), fingerprint(good)
    with refuses(error, sentence):
        nammd.distance(good, bad)
    assert (fingerprint(bad), fingerprint(good)) == before


@every(WITH_MARGIN_OR_PAIRS)
@pytest.mark.parametrize("rows", [1, 3])
def test_four_rows_are_needed_for_a_standard_error(function, rows):
    few = f"has {rows} row{'s' if rows > 1 else ''}; at least 4 are needed"
    with refuses(ValueError, few):
        function(X[:rows], Y)
    with refuses(ValueError, few):
        function(X, Y[:rows])
    assert function(X[:4], Y[:4], kernel=ONE)


@every([two_sample_test, kernel_sums])
def test_two_rows_are_needed_for_a_pair(function):
    with refuses(ValueError, "x has 1 row; at least 2 are needed"):
        function(X[:1], Y)
    with refuses(ValueError, "y has 1 row; at least 2 are needed"):
        function(X, Y[:1])
    assert function(X[:2], Y[:2])


DIFFERENT_WIDTHS = {
    "arrays": (X, np.zeros((8, 3))),
    "array and column": (X, X[:, 0]),
    "torch": (torch.asarray(X), torch.zeros((8, 5))),
}


@every([*FUNCTIONS, nammd.Gaussian.median, nammd.Mahalanobis.median])
@pytest.mark.parametrize("pair", DIFFERENT_WIDTHS)
def test_different_numbers_of_columns_are_refused(function, pair):
    with refuses(ValueError, "both datasets must have the same columns"):
        function(*DIFFERENT_WIDTHS[pair])


def test_both_numbers_of_columns_are_named():
    with refuses(ValueError, "x has 2 columns but y has 3"):
        nammd.distance(X, np.zeros((8, 3)))


@every([nammd.distance, closeness_test, two_sample_test, kernel_sums, nammd.Gaussian.median])
@pytest.mark.parametrize("table", [pd.DataFrame, lambda d: pl.DataFrame(d).lazy(), pa.table], ids=name_of)
def test_tables_of_different_columns_are_refused(function, table):
    x, y = table({"a": X[:, 0], "b": X[:, 1]}), table({"a": Y[:, 0], "c": Y[:, 1]})
    first, second = names_of(function)
    with refuses(ValueError, f"{second} lacks columns that {first} has: 'b'"):
        function(x, y)


def test_many_wrong_columns_are_not_all_listed():
    wide = pd.DataFrame({f"c{i}": np.arange(5.0) for i in range(50)})
    with pytest.raises(ValueError, match=r"'c4', \.\.\.$"):
        nammd.distance(wide, wide.add_suffix("_"))


MIXED_LIBRARIES = {
    "numpy and torch": (X, torch.asarray(Y)),
    "torch and list": (torch.asarray(X), Y.tolist()),
    "torch and array_api_strict": (torch.asarray(X), array_api_strict.asarray(Y)),
}


@every([*FUNCTIONS, nammd.Laplace.median])
@pytest.mark.parametrize("pair", MIXED_LIBRARIES)
def test_mixing_array_libraries_is_refused(function, pair):
    with refuses(TypeError, "the datasets live in different array libraries"):
        function(*MIXED_LIBRARIES[pair])


@pytest.mark.parametrize("epsilon", [0, 0.0, -0.0, np.float64(0)])
@pytest.mark.parametrize("statistic", ["nammd", "mmd2"])
def test_a_margin_of_zero_points_to_the_two_sample_test(epsilon, statistic):
    with pytest.raises(ValueError, match=r"epsilon must be strictly between 0 .* use two_sample_test"):
        nammd.closeness_test(X, Y, epsilon, metric=statistic, alternative="greater")


@pytest.mark.parametrize("epsilon", [-0.1, 1, 1.0, 1.5, math.nan, math.inf, -math.inf, True])
def test_a_nammd_margin_lies_between_zero_and_one(epsilon):
    with pytest.raises((ValueError, TypeError), match="epsilon must be") as caught:
        nammd.closeness_test(X, Y, epsilon, alternative="greater")
    assert "two_sample_test" not in str(caught.value)


@pytest.mark.parametrize("epsilon", [-0.1, 6.0, 7, math.nan, math.inf])
def test_an_mmd2_margin_lies_below_twice_the_bound(epsilon):
    with refuses(ValueError, "epsilon must be strictly between 0 and 6, not"):
        nammd.closeness_test(X, Y, epsilon, metric="mmd2", kernel=3 * ONE, alternative="greater")
    assert (
        nammd.closeness_test(X, Y, 5.9, metric="mmd2", kernel=3 * ONE, alternative="greater").epsilon == 5.9
    )


NOT_A_NUMBER = [None, "small", "0.1", [0.1], np.array([0.1, 0.2]), (0.1, 0.2), 0.1j]


@pytest.mark.parametrize("epsilon", NOT_A_NUMBER, ids=repr)
def test_a_margin_is_a_number(epsilon):
    with refuses(TypeError, "epsilon must be a number, not "):
        nammd.closeness_test(X, Y, epsilon, alternative="greater")


def test_a_bad_margin_is_refused_before_anything_is_computed():
    class Untouchable(nammd.Kernel):
        bound = 1.0

        def __call__(self, x, y, /):
            raise AssertionError("computed")

    with refuses(ValueError, "epsilon must be strictly between 0 and 1, not 2"):
        nammd.closeness_test(X, Y, 2.0, kernel=Untouchable(), alternative="greater")


@every([closeness_test, two_sample_test, compare_pairs])
@pytest.mark.parametrize("alpha", [0, 1, -0.05, 5, math.nan, math.inf])
def test_alpha_lies_between_zero_and_one(function, alpha):
    with refuses(ValueError, "alpha must be strictly between 0 and 1, not "):
        function(X, Y, alpha=alpha)


@every([closeness_test, two_sample_test, compare_pairs])
@pytest.mark.parametrize("alpha", NOT_A_NUMBER, ids=repr)
def test_alpha_is_a_number(function, alpha):
    with refuses(TypeError, "alpha must be a number, not "):
        function(X, Y, alpha=alpha)


@every(WITH_MARGIN_OR_PAIRS)
@pytest.mark.parametrize("level", [0, 1, -0.95, 95, math.nan])
def test_a_confidence_level_lies_between_zero_and_one(function, level):
    result = function(X, Y, kernel=ONE)
    with refuses(ValueError, "level must be strictly between 0 and 1, not "):
        result.confidence_interval(level)


@every(WITH_MARGIN_OR_PAIRS)
@pytest.mark.parametrize("level", [None, "0.95", "95 %"])
def test_a_confidence_level_is_a_number(function, level):
    result = function(X, Y, kernel=ONE)
    with refuses(TypeError, "level must be a number, not "):
        result.confidence_interval(level)


class UserKernel:
    """A user's kernel with a bound and values of the test's choice."""

    def __init__(self, bound, values=None):
        self.bound = bound
        self.values = values or (lambda x, y: np.exp(-abs(x[:, :1] - y[:, 0])))

    def __call__(self, x, y, /):
        return self.values(x, y)


class Unbound:
    def __call__(self, x, y, /):
        return x @ y.T


def nowhere(x, y):
    return np.full((len(x), len(y)), np.nan)


UNBOUNDED = "the norm-adaptive distance needs a bounded kernel, with a finite positive `bound`"
NO_BOUND = "does not state its bound: give it an attribute `bound`"
NOT_A_KERNEL = "kernel must be a kernel object such as nammd.Gaussian(1.0), not "
BEYOND = "takes values beyond its bound of 1 (or NaN)"
BAD_KERNELS = {
    "bound inf": (UserKernel(math.inf), ValueError, UNBOUNDED),
    "bound NaN": (UserKernel(math.nan), ValueError, UNBOUNDED),
    "bound zero": (UserKernel(0.0), ValueError, UNBOUNDED),
    "bound negative": (UserKernel(-1.0), ValueError, UNBOUNDED),
    "bound missing": (Unbound(), TypeError, NO_BOUND),
    "bound None": (UserKernel(None), TypeError, NO_BOUND),
    "bound in words": (UserKernel("large"), TypeError, NO_BOUND),
    "function": (lambda x, y: x @ y.T, TypeError, NO_BOUND),
    "linear": (UserKernel(1.0, lambda x, y: 9 * x @ y.T), ValueError, BEYOND),
    "far below": (UserKernel(1.0, lambda x, y: -9 * np.ones((len(x), len(y)))), ValueError, BEYOND),
    "NaN": (UserKernel(1.0, nowhere), ValueError, BEYOND),
    "one value per row": (UserKernel(1.0, lambda x, y: x[:, 0] * 0), ValueError, "returned an array of"),
    "one value": (UserKernel(1.0, lambda x, y: np.float64(1)), ValueError, "it must return one value"),
    "transposed": (UserKernel(1.0, lambda x, y: np.ones((len(y), len(x)))), ValueError, "(5, 7) for"),
    "asymmetric": (
        UserKernel(1.0, lambda x, y: 1 / (1 + np.exp(x[:, :1] - y[:, 0]))),
        ValueError,
        "is not symmetric: k(x, y) must equal k(y, x)",
    ),
    "class": (nammd.Kernel, TypeError, NOT_A_KERNEL),
    "number": (1.0, TypeError, NOT_A_KERNEL + "1.0"),
    "matrix": (np.eye(8), TypeError, NOT_A_KERNEL),
    "list of kernels": ([ONE, ONE], TypeError, NOT_A_KERNEL),
}


@pytest.mark.parametrize("name", BAD_KERNELS)
@every(FUNCTIONS)
def test_a_bad_kernel_is_refused(function, name):
    kernel, error, sentence = BAD_KERNELS[name]
    with refuses(error, sentence):
        function(X, Y, kernel=kernel)


@pytest.mark.parametrize("name", [n for n in BAD_KERNELS if callable(BAD_KERNELS[n][0]) and n != "class"])
def test_a_bad_kernel_is_refused_within_a_sum(name):
    kernel, error, sentence = BAD_KERNELS[name]
    if not hasattr(kernel, "bound"):
        error, sentence = TypeError, "unsupported operand type(s) for +"
    with refuses(error, sentence):
        nammd.distance(X, Y, kernel=2 * (ONE + kernel))


def test_a_kernel_is_required_for_sums():
    with refuses(TypeError, NOT_A_KERNEL + "None"):
        nammd.kernel_sums(X, Y, None)


class Empty:
    pass


@every(FUNCTIONS)
@pytest.mark.parametrize("engine", ["cpu", nammd.Tiles, 2, Empty()], ids=["str", "class", "int", "object"])
def test_a_bad_engine_is_refused(function, engine):
    with refuses(TypeError, "engine must be an engine object such as nammd.Tiles(), not "):
        function(X, Y, engine=engine)


@pytest.mark.parametrize("option", ["tile_rows", "tile_columns", "threads"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True, math.nan])
def test_tiles_are_counted_in_whole_numbers(option, value):
    with pytest.raises((ValueError, TypeError), match=f"{option} must be a whole number of at least 1"):
        nammd.Tiles(**{option: value})


@pytest.mark.parametrize("option", ["tile_rows", "tile_columns", "threads"])
def test_whole_numbers_of_numpy_count_too(option):
    assert kernel_sums(X, Y, engine=nammd.Tiles(**{option: np.int64(3)})).m == 8


OPTIONS = [
    (nammd.distance, "metric", "'nammd', 'mmd2'"),
    (nammd.paper.distance, "cross", "'full', 'off-diagonal'"),
    (nammd.distance, "nan_policy", "'raise', 'omit'"),
    (closeness_test, "metric", "'nammd', 'mmd2'"),
    (closeness_test, "alternative", "'greater', 'less'"),
    (published_test, "variance", "'corrected', 'delta', 'paper'"),
    (published_test, "cross", "'full', 'off-diagonal'"),
    (compare_pairs, "metric", "'nammd', 'mmd2'"),
    (compare_pairs, "alternative", "'greater', 'less', 'two-sided'"),
]


@pytest.mark.parametrize(("function", "option", "choices"), OPTIONS, ids=name_of)
@pytest.mark.parametrize("value", ["unknown", "NAMMD", "", None, 1, ["nammd"]], ids=repr)
def test_an_unknown_option_is_refused_with_the_known_ones(function, option, choices, value):
    with refuses(ValueError, f"{option} must be one of {choices}, not {value!r}"):
        function(X, Y, **{option: value})


@pytest.mark.parametrize("dtype", ["float16", "double", np.float32, 32])
def test_an_unknown_precision_of_tiles_is_refused(dtype):
    with refuses(ValueError, "dtype must be 'float32' or 'float64', not "):
        nammd.Tiles(dtype=dtype)


@every([nammd.paper.distance, published_test])
def test_off_diagonal_pairs_need_equal_sizes(function):
    with refuses(ValueError, "but x has 8 rows and y has 9; use cross='full'"):
        function(X, Y9)


@pytest.mark.parametrize("permutations", [0, -1, np.int64(-7)])
def test_at_least_one_permutation_is_needed(permutations):
    with refuses(ValueError, "permutations must be a whole number of at least 1, not "):
        nammd.two_sample_test(X, Y, permutations=permutations)


@pytest.mark.parametrize("method", ["unknown", "NAMMD", "", None, 1, ["nammd"], nammd.Gaussian])
def test_an_unknown_method_is_refused_with_the_known_ones(method):
    with pytest.raises((TypeError, ValueError), match="method must be one of 'nammd', 'mmd', "):
        nammd.two_sample_test(X, Y, method=method)


@pytest.mark.parametrize("permutations", [99.0, True, False, np.True_, "99", [99]])
def test_permutations_are_a_whole_number(permutations):
    with refuses(TypeError, "permutations must be a whole number of at least 1, not "):
        nammd.two_sample_test(X, Y, permutations=permutations)


def test_a_margin_cannot_be_tested_by_permutation():
    with pytest.raises(TypeError, match="permutations"):
        nammd.closeness_test(X, Y, 0.1, permutations=99, alternative="greater")
    with pytest.raises(TypeError, match="permutations"):
        nammd.compare_pairs((X, Y), (X, Y9), permutations=99)
    with pytest.raises(TypeError, match="epsilon"):
        nammd.two_sample_test(X, Y, epsilon=0.1)
    with pytest.raises(TypeError, match="positional"):
        nammd.two_sample_test(X, Y, 0.1)


def test_a_margin_must_be_given_and_the_question():
    with pytest.raises(TypeError, match="epsilon"):
        nammd.closeness_test(X, Y, alternative="greater")
    with pytest.raises(TypeError, match="alternative"):  # a small p-value must not be read as close
        nammd.closeness_test(X, Y, 0.1)


KINDS = [nammd.Gaussian, nammd.Laplace, lambda h: nammd.Mahalanobis(np.eye(2), h)]


@pytest.mark.parametrize("kind", KINDS, ids=["Gaussian", "Laplace", "Mahalanobis"])
@pytest.mark.parametrize("bandwidth", [0, -1.0, math.nan, math.inf])
def test_a_bandwidth_is_positive(kind, bandwidth):
    with refuses(ValueError, "bandwidth must be positive and finite, not "):
        kind(bandwidth)


@pytest.mark.parametrize("kind", KINDS, ids=["Gaussian", "Laplace", "Mahalanobis"])
@pytest.mark.parametrize("bandwidth", ["median", "1.0", None, [1.0, 2.0], np.ones(2), 1j], ids=repr)
def test_a_bandwidth_is_a_number(kind, bandwidth):
    with refuses(TypeError, "bandwidth must be a number, not "):
        kind(bandwidth)


SQUARE = "matrix must be square, one row per column of the data; got shape "
BAD_MATRICES = {
    "not square": (np.ones((2, 3)), SQUARE + "(2, 3)"),
    "a vector": (np.ones(3), SQUARE + "(3,)"),
    "a number": (2.0, SQUARE + "()"),
    "empty": (np.empty((0, 0)), SQUARE + "(0, 0)"),
    "asymmetric": ([[1.0, 0.5], [0.0, 1.0]], "matrix must be symmetric; pass (A + A.T) / 2"),
    "indefinite": ([[1.0, 2.0], [2.0, 1.0]], "positive semi-definite and not zero; its smallest"),
    "negative": (-np.eye(2), "positive semi-definite"),
    "negative, of no weight": (np.diag([1.0, -1e-9]), "positive semi-definite"),
    "zero": (np.zeros((2, 2)), "positive semi-definite and not zero"),
    "NaN": ([[1.0, math.nan], [math.nan, 1.0]], "matrix contains NaN or infinity"),
    "infinite": ([[math.inf, 0.0], [0.0, 1.0]], "matrix contains NaN or infinity"),
}


@pytest.mark.parametrize("name", BAD_MATRICES)
def test_a_bad_matrix_is_refused(name):
    matrix, sentence = BAD_MATRICES[name]
    with refuses(ValueError, sentence):
        nammd.Mahalanobis(matrix)
    with refuses(ValueError, sentence):
        nammd.Mahalanobis.median(X, Y, matrix=matrix)


@every(FUNCTIONS)
def test_a_matrix_of_another_width_is_refused(function):
    with refuses(ValueError, "has a matrix for 3 columns, but the data has 2"):
        function(X, Y, kernel=nammd.Mahalanobis(np.eye(3)))


@pytest.mark.parametrize("factor", [-1, -0.5, 0, 0.0, math.nan, math.inf, np.float64(-2)])
def test_a_kernel_is_scaled_by_a_positive_number(factor):
    with refuses(ValueError, "a kernel can only be scaled by a positive finite number, not "):
        factor * ONE
    with refuses(ValueError, "a kernel can only be scaled by a positive finite number, not "):
        ONE * factor


@pytest.mark.parametrize("factor", ["2", None, True, 2j, [2.0], ONE], ids=repr)
def test_a_kernel_is_scaled_by_nothing_but_numbers(factor):
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply|positive finite number"):
        ONE * factor


@pytest.mark.parametrize("other", [1, "laplace", None, nammd.Laplace, lambda x, y: 1.0], ids=name_of)
def test_a_kernel_is_added_to_nothing_but_kernels(other):
    with pytest.raises(TypeError, match=r"unsupported operand|kernel"):
        ONE + other


@every(MEDIANS)
@pytest.mark.parametrize("max_rows", [1, 0, -5])
def test_a_median_needs_two_rows(function, max_rows):
    with refuses(ValueError, f"max_rows must be a whole number of at least 2, not {max_rows}"):
        function(X, Y, max_rows=max_rows)


CONSTANT = "the data is constant: every row is the same"


@every([nammd.distance, closeness_test, two_sample_test, *MEDIANS])
@pytest.mark.parametrize("value", [0.0, 3.7, 1e6 + 0.1])
def test_constant_data_has_no_median_bandwidth(function, value):
    with refuses(ValueError, CONSTANT):
        function(np.full((30, 2), value), np.full((20, 2), value))


def test_constant_data_has_no_median_bandwidth_in_a_comparison():
    x, y, z = (np.full((rows, 2), 3.7) for rows in (10, 20, 30))
    with refuses(ValueError, CONSTANT):
        nammd.compare_pairs((x, y), (x, z))


@every(MEDIANS)
def test_one_row_has_no_median_bandwidth(function):
    with refuses(ValueError, CONSTANT):
        function(X[:1])


def constant_pair(m, n, x_value, y_value, dtype):
    return np.full((m, 2), x_value, dtype), np.full((n, 2), y_value, dtype)


CONSTANT_KERNELS = [ONE, 3.3 * nammd.Laplace(0.7), 0.1 * nammd.Gaussian(1.3) + nammd.Laplace(0.3)]
CONSTANT_DATA = [
    pytest.mark.parametrize("kernel", CONSTANT_KERNELS, ids=str),
    pytest.mark.parametrize("dtype", ["float32", "float64"]),
    pytest.mark.parametrize("values", [(3.7, 3.7), (0.0, 0.3)], ids=["the same", "one each"]),
    pytest.mark.parametrize(("m", "n"), [(4, 4), (600, 550)]),
]


def for_constant_data(test):
    for mark in CONSTANT_DATA:
        test = mark(test)
    return test


@for_constant_data
@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize("variance", ["corrected", "delta", "paper"])
def test_constant_data_leaves_nothing_to_test(m, n, values, dtype, kernel, variance, alternative):
    x, y = constant_pair(m, n, *values, dtype)
    result = nammd.paper.closeness_test(
        x, y, 0.02, kernel=kernel, alternative=alternative, variance=variance, cross="full"
    )
    assert math.isnan(result.pvalue)
    assert result.rejected is False
    assert "no-variance" in {caution.code for caution in result.cautions}


@for_constant_data
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_constant_data_leaves_nothing_to_compare(m, n, values, dtype, kernel, alternative):
    x, y = constant_pair(m, n, *values, dtype)
    result = nammd.compare_pairs((x, y), (x, y[:4]), kernel=kernel, alternative=alternative)
    assert math.isnan(result.pvalue)
    assert result.rejected is False
    assert "no-variance" in {caution.code for caution in result.cautions}


@pytest.mark.parametrize("kernel", CONSTANT_KERNELS, ids=str)
@pytest.mark.parametrize("method", ["nammd", "mmd"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("m", "n"), [(30, 41), (333, 512), (20, 600)])
def test_constant_data_does_not_differ_under_permutation(kernel, method, dtype, m, n):
    x, y = constant_pair(m, n, 3.7, 3.7, dtype)
    result = two_sample_test(x, y, kernel=kernel, method=method, permutations=99)
    assert result.pvalue == 1.0
    assert result.rejected is False


@pytest.mark.parametrize("pair", [X, (X,), (X, Y, Y), None, "xy", {"x": X, "y": Y}], ids=name_of)
def test_a_pair_is_two_datasets(pair):
    with refuses(TypeError, "the first pair must be a tuple of two datasets, such as (x, y)"):
        nammd.compare_pairs(pair, (X, Y))
    with refuses(TypeError, "the second pair must be a tuple of two datasets, such as (x, y)"):
        nammd.compare_pairs((X, Y), pair)


def test_a_pair_is_not_compared_with_itself():
    with refuses(ValueError, "the two pairs consist of the same datasets"):
        nammd.compare_pairs((X, Y), (Y, X))


def test_a_shared_dataset_has_one_number_of_rows():
    with refuses(ValueError, "shared=True says that both pairs have the same first dataset"):
        nammd.compare_pairs((X, Y), (X[:7], Y9), shared=True)


def test_a_shared_dataset_has_the_same_rows():
    with refuses(ValueError, "shared=True says that both pairs have the same first dataset"):
        nammd.compare_pairs((X, Y), (X + 1.0, Y9), shared=True)


def test_a_copy_of_a_shared_dataset_is_recognised_when_told():
    told = nammd.compare_pairs((X, Y), (X.copy(), Y9), shared=True)
    assert told.standard_error == nammd.compare_pairs((X, Y), (X, Y9)).standard_error


@every(FUNCTIONS)
def test_options_are_given_by_name_and_exist(function):
    with pytest.raises(TypeError, match="bandwidth"):
        function(X, Y, bandwidth=1.0)


@every([nammd.distance, two_sample_test, kernel_sums])
def test_bad_options_change_nothing(function):
    x, y, options = X.copy(), Y.copy(), {"kernel": UserKernel(1.0, nowhere)}
    before = copy.copy(options), x.tobytes(), y.tobytes()
    with refuses(ValueError, BEYOND):
        function(x, y, **options)
    assert (options, x.tobytes(), y.tobytes()) == before
