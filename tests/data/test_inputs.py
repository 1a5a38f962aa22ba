"""The same numbers give the same answer, whatever they are held in."""

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy.spatial.distance import cdist

import nammd

RNG = np.random.default_rng(7)
COLUMNS = ["age", "height", "income"]
X = RNG.normal(size=(40, 3))
Y = RNG.normal([0.5, 0.0, -0.5], [1.0, 2.0, 1.0], size=(47, 3))
Z = RNG.normal(0.3, 1.5, size=(31, 3))


class Subclass(np.ndarray):
    """An array that is NumPy's, but not exactly its class."""


def arrow(a):
    return pa.table({name: a[:, i] for i, name in enumerate(COLUMNS)})


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def strided(a):
    padded = np.full((2 * a.shape[0], 3 * a.shape[1]), np.nan)
    padded[::2, ::3] = a
    return padded[::2, ::3]


ARRAYS = {
    "lists": np.ndarray.tolist,
    "tuples": lambda a: tuple(map(tuple, a.tolist())),
    "list of arrays": list,
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda a: a.T.copy().T,
    "big-endian": lambda a: a.astype(">f8"),
    "long double": lambda a: a.astype(np.longdouble),
    "subclass": lambda a: a.view(Subclass),
    "torch": torch.asarray,
    "torch, transposed": lambda a: torch.asarray(a.T.copy()).T,
    "torch, with gradient": lambda a: torch.tensor(a, requires_grad=True),
    "array_api_strict": array_api_strict.asarray,
}
TABLES = {
    "pandas": lambda a: pd.DataFrame(a, columns=COLUMNS),
    "pandas, nullable": lambda a: pd.DataFrame(a, columns=COLUMNS).convert_dtypes(),
    "pandas, other index": lambda a: pd.DataFrame(a, columns=COLUMNS, index=np.arange(len(a))[::-1]),
    "pandas on Arrow": lambda a: arrow(a).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda a: pl.DataFrame(a, schema=COLUMNS),
    "polars, lazy": lambda a: pl.LazyFrame(a, schema=COLUMNS),
    "Arrow": arrow,
    "Arrow in chunks": lambda a: pa.concat_tables([arrow(a[:7]), arrow(a[7:])]),
    "Arrow batch": lambda a: arrow(a).to_batches()[0],
}
STREAMS = {
    "Arrow stream": lambda a: arrow(a).to_reader(max_chunksize=11),
    "DuckDB": lambda a: _duckdb(arrow(a)),
}
COLUMN_ARRAYS = {
    "array": lambda a: a,
    "list": np.ndarray.tolist,
    "torch": torch.asarray,
    "array_api_strict": array_api_strict.asarray,
}
COLUMN_TABLES = {
    "pandas Series": lambda a: pd.Series(a, name="age"),
    "pandas Series, unnamed": pd.Series,
    "polars Series": lambda a: pl.Series("age", a),
    "Arrow array": pa.array,
    "Arrow chunked array": lambda a: pa.chunked_array([a[:5], a[5:]]),
}
FORMS = ARRAYS | TABLES


def _duckdb(table):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("people", table)
    return connection.sql("select * from people")


def everything(x, y, z):
    """Return numbers from every public function for datasets that are given in some form."""
    kernel = nammd.Gaussian(1.5)
    sums = nammd.kernel_sums(x, y, kernel)
    estimate = nammd.distance(x, y)
    closeness = nammd.closeness_test(x, y, 0.1, metric="mmd2", kernel=kernel, alternative="greater")
    comparison = nammd.compare_pairs((x, y), (x, z))
    two_sample = nammd.two_sample_test(x, y, permutations=29, rng=0)
    return [
        *sums.xx_rows,
        *sums.xy_cols,
        sums.yy_squares,
        estimate.value,
        estimate.standard_error,
        *estimate.confidence_interval(),
        closeness.pvalue,
        comparison.difference,
        comparison.standard_error,
        two_sample.statistic,
        two_sample.pvalue,
        *(k.median(x, y).bandwidth for k in (nammd.Gaussian, nammd.Laplace, nammd.Mahalanobis)),
    ]


def close(actual, expected, rtol=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-13)


@pytest.fixture(scope="module")
def of_arrays():
    return everything(X, Y, Z)


@pytest.fixture(scope="module")
def of_tables():
    return everything(*(TABLES["pandas"](a) for a in (X, Y, Z)))


def cases(table):
    return [pytest.param(f, id=name.replace(", ", "-").replace(" ", "-")) for name, f in table.items()]


@pytest.mark.parametrize("convert", cases(ARRAYS))
def test_every_function_takes_every_form_of_arrays(convert, of_arrays):
    close(everything(convert(X), convert(Y), convert(Z)), of_arrays)


@pytest.mark.parametrize("convert", cases(TABLES))
def test_every_function_takes_every_form_of_tables_and_gives_the_same_digits(convert, of_tables):
    assert everything(convert(X), convert(Y), convert(Z)) == of_tables


@pytest.mark.parametrize("convert", cases(STREAMS))
def test_anything_that_hands_out_arrow_batches_is_a_table(convert):
    expected = nammd.distance(arrow(X), arrow(Y))
    assert nammd.distance(convert(X), convert(Y)).value == expected.value
    compared = nammd.compare_pairs((convert(X), convert(Y)), (convert(X), convert(Z)), shared=True)
    assert (
        compared.difference
        == nammd.compare_pairs((arrow(X), arrow(Y)), (arrow(X), arrow(Z)), shared=True).difference
    )


def test_a_stream_is_read_once_also_where_it_stands_in_both_pairs():
    reader = arrow(X).to_reader()
    compared = nammd.compare_pairs((reader, arrow(Y)), (reader, arrow(Z)))
    assert compared.shared
    x = arrow(X)
    assert compared.difference == nammd.compare_pairs((x, arrow(Y)), (x, arrow(Z))).difference


def test_a_lazy_frame_is_collected_once():
    seen = []

    def watched(frame):
        seen.append(len(frame))
        return frame

    x, y = (pl.LazyFrame(a, schema=COLUMNS).map_batches(watched) for a in (X, Y))
    nammd.closeness_test(x, y, 0.1, alternative="greater").confidence_interval()
    assert sorted(seen) == [len(X), len(Y)]


@pytest.mark.parametrize("convert", cases(COLUMN_ARRAYS))
def test_one_dimensional_arrays_are_one_column(convert):
    one_column = everything(X[:, :1], Y[:, :1], Z[:, :1])
    close(everything(*(convert(a[:, 0].copy()) for a in (X, Y, Z))), one_column)


@pytest.mark.parametrize("convert", cases(COLUMN_TABLES))
def test_a_series_is_a_table_of_one_column(convert):
    one_column = everything(*(pd.DataFrame({"age": a[:, 0]}) for a in (X, Y, Z)))
    assert everything(*(convert(a[:, 0].copy()) for a in (X, Y, Z))) == one_column


@pytest.mark.parametrize("form", ["pandas", "polars", "polars, lazy", "Arrow"])
@pytest.mark.parametrize("other", ["pandas", "polars", "Arrow"])
def test_tables_of_different_libraries_go_together(form, other, of_tables):
    assert everything(TABLES[form](X), TABLES[other](Y), TABLES["Arrow"](Z)) == of_tables


def test_an_array_goes_with_a_subclass_of_arrays(of_arrays):
    close(everything(X, Y.view(Subclass), Z), of_arrays)


@pytest.mark.parametrize("table", ["pandas", "polars, lazy", "Arrow"])
def test_a_table_and_an_array_are_refused(table):
    with pytest.raises(TypeError, match="x is a table and y is an array; give both as tables"):
        nammd.distance(TABLES[table](X), Y)
    with pytest.raises(TypeError, match="y is a table and x is an array"):
        nammd.distance(X, TABLES[table](Y))


def test_a_memory_map_works_like_an_array(tmp_path, of_arrays):
    np.save(tmp_path / "x.npy", X)
    close(everything(np.load(tmp_path / "x.npy", mmap_mode="r"), Y, Z), of_arrays)


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars, lazy", "Arrow"])
def test_columns_in_another_order_are_matched_by_name(kind, of_tables):
    table, order = TABLES[kind], ["income", "age", "height"]
    reordered = table(Y).select(order) if kind != "pandas" else table(Y)[order]
    assert everything(table(X), reordered, table(Z)) == of_tables


def test_columns_are_matched_by_name_across_kinds_of_table(of_tables):
    order = COLUMNS[::-1]
    tables = arrow(X), TABLES["pandas"](Y)[order], TABLES["polars"](Z).select(order)
    assert everything(*tables) == of_tables


@pytest.mark.parametrize("series", [pd.Series, lambda a, name: pl.Series(name, a)], ids=["pandas", "polars"])
def test_two_columns_of_one_table_can_be_compared(series):
    before, after = series(X[:, 0], name="before"), series(Y[:, 0], name="after")
    expected = nammd.distance(pd.DataFrame({"a": X[:, 0]}), pd.DataFrame({"a": Y[:, 0]}))
    assert nammd.distance(before, after).value == expected.value


@pytest.mark.parametrize("form", ["array", "table"])
def test_swapping_the_datasets_changes_nothing(form):
    x, y = (a if form == "array" else arrow(a) for a in (X, Y))
    one, other = nammd.distance(x, y), nammd.distance(y, x)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.kernel == other.kernel
    assert one.space == other.space


WHOLE = RNG.integers(0, 200, size=(2, 35, 3))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint16", "int64", "uint64", "bool"])
@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_whole_numbers_and_truth_values_count_as_float64(dtype, library):
    convert = {"numpy": np.asarray, **FORMS}[library]
    x, y = (WHOLE % 2 if dtype == "bool" else WHOLE % 128).astype(dtype)
    expected = nammd.distance(x.astype(np.float64), y.astype(np.float64), kernel=nammd.Laplace(40.0))
    actual = nammd.distance(convert(x), convert(y), kernel=nammd.Laplace(40.0))
    assert actual.value == pytest.approx(expected.value, rel=1e-12)


def test_lists_of_whole_numbers_and_truth_values_are_numbers():
    whole, truth = WHOLE[0].tolist(), (WHOLE[1] > 100).tolist()
    expected = nammd.distance(WHOLE[0].astype(float), (WHOLE[1] > 100).astype(float))
    assert nammd.distance(whole, truth).value == expected.value


@pytest.mark.parametrize("convert", [np.asarray, torch.asarray], ids=["numpy", "torch"])
def test_half_precision_is_computed_in_single(convert):
    x, y = X.astype(np.float16), Y.astype(np.float16)
    expected = nammd.distance(x.astype(np.float32), y.astype(np.float32)).value
    actual = nammd.distance(convert(x), convert(y)).value
    assert actual == pytest.approx(expected, rel=1e-6)
    assert type(actual) is float


class Spy(nammd.Kernel):
    """A Gaussian that notes the precision of the tiles it was asked for."""

    bound = 1.0

    def __init__(self):
        self.seen = set()

    def __call__(self, x, y, /):
        return nammd.Gaussian(1.5)(x, y)

    def bind(self, x, y, precision=None, weight=1.0):
        bound = nammd.Gaussian(1.5).bind(x, y, precision, weight)
        assert str(bound.tile(slice(0, 2), slice(0, 2), None).dtype).endswith(bound.precision)
        self.seen.add(bound.precision)
        return bound


SINGLE = {
    "numpy": np.asarray,
    "torch": torch.asarray,
    "torch, with gradient": lambda a: torch.tensor(a, requires_grad=True),
    "array_api_strict": array_api_strict.asarray,
}


@pytest.mark.parametrize("convert", cases(SINGLE))
def test_float32_is_computed_in_float32_tiles_and_close_to_float64(convert):
    x, y = X.astype(np.float32), Y.astype(np.float32)
    spy = Spy()
    single = nammd.distance(convert(x), convert(y), kernel=spy)
    double = nammd.distance(x.astype(np.float64), y.astype(np.float64), kernel=spy.__class__())
    assert spy.seen == {"float32"}
    assert single.value != double.value
    assert single.value == pytest.approx(double.value, rel=1e-5)
    assert single.standard_error == pytest.approx(double.standard_error, rel=1e-4)
    assert single.sums.xx_rows.dtype == np.float64


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X.astype(np.float32), Y),
        (torch.asarray(X).float(), torch.asarray(Y)),
        (arrow(X.astype("float32")), arrow(Y.astype("float32"))),
    ],
    ids=["numpy", "torch", "tables"],
)
def test_mixed_precision_and_tables_are_computed_in_float64(x, y):
    spy = Spy()
    nammd.distance(x, y, kernel=spy)
    assert spy.seen == {"float64"}


# Multiples of 1/16 are exact in float32 up to a million, so an offset changes no digit of the data.
GRID_X, GRID_Y = np.round(X * 16) / 16, np.round(Y * 16) / 16
OFFSETS = [1e3, 1e5, 1e6, np.array([1e6, -1e3, 0.0])]
KERNELS = [None, nammd.Gaussian(1.5), nammd.Laplace(3.0), nammd.Mahalanobis(np.diag([1, 0.3, 2.0]))]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("offset", OFFSETS, ids=str)
@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-5), ("float64", 1e-10)])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_large_offset_of_the_data_costs_no_digits(kernel, offset, dtype, rtol, library):
    convert = {"numpy": np.asarray, "torch": torch.asarray}[library]
    near = nammd.distance(GRID_X, GRID_Y, kernel=kernel)
    x, y = (convert((z + offset).astype(dtype)) for z in (GRID_X, GRID_Y))
    far = nammd.distance(x, y, kernel=kernel)
    assert far.value == pytest.approx(near.value, rel=rtol)
    assert far.standard_error == pytest.approx(near.standard_error, rel=10 * rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_offset_changes_no_permutation_pvalue(dtype):
    options = {"permutations": 99, "rng": 3}
    near = nammd.two_sample_test(GRID_X, GRID_Y, **options)
    far = nammd.two_sample_test(*((z + 1e6).astype(dtype) for z in (GRID_X, GRID_Y)), **options)
    assert far.pvalue == near.pvalue


def by_hand(x, y, kind):
    """Return NAMMD from differences of the rows as they are; nothing is centred or expanded."""

    def mean(gram):
        return (gram.sum() - np.trace(gram)) / (len(gram) * (len(gram) - 1))

    def values(a, b):
        if kind is nammd.Laplace:
            return np.exp(-cdist(a, b, "cityblock"))
        return np.exp(-(cdist(a, b) ** 2) / 2)

    x, y = x.astype(np.longdouble).astype(np.float64), y.astype(np.float64)
    xx, yy = mean(values(x, x)), mean(values(y, y))
    return (xx + yy - 2 * values(x, y).mean()) / (4 - xx - yy)


OUTLIERS = [("float32", 1e9), ("float32", 1e25), ("float64", 1e9), ("float64", 1e18), ("float64", 1e160)]


@pytest.mark.parametrize("kind", [nammd.Gaussian, nammd.Laplace, nammd.Mahalanobis])
@pytest.mark.parametrize(("dtype", "outlier"), OUTLIERS)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_an_outlier_far_away_leaves_the_rest_right(kind, dtype, outlier, library):
    convert = {"numpy": np.asarray, "torch": torch.asarray}[library]
    kernel = nammd.Mahalanobis(np.eye(3)) if kind is nammd.Mahalanobis else kind(1.0)
    x, y = X.astype(dtype), Y.astype(dtype)
    x[5] = outlier
    estimate = nammd.distance(convert(x), convert(y), kernel=kernel)
    expected = by_hand(np.where(x == x[5], 1e9, x), y, kind)  # so far that the kernel is zero
    assert estimate.value == pytest.approx(expected, rel=1e-5 if dtype == "float32" else 1e-9)
    assert np.isfinite(estimate.standard_error)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bandwidth", [1e-9, 1e9])
def test_a_bandwidth_far_from_the_scale_of_the_data_gives_the_limit(dtype, bandwidth):
    x, y = X.astype(dtype), Y.astype(dtype)
    mean = nammd.kernel_sums(x, y, nammd.Gaussian(bandwidth)).cross.mean
    assert mean == pytest.approx(0.0 if bandwidth < 1 else 1.0, abs=1e-12)
    assert nammd.distance(x, y, kernel=nammd.Gaussian(bandwidth)).value == pytest.approx(0.0, abs=1e-7)


def snapshot(data):
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, torch.Tensor):
        data = data.detach()
    return np.asarray(data).astype(np.float64)


@pytest.mark.parametrize("convert", cases(FORMS))
def test_the_data_is_never_modified(convert):
    x, y, z = (convert(a.copy()) for a in (X, Y, Z))
    everything(x, y, z)
    np.testing.assert_array_equal(snapshot(x), X)
    np.testing.assert_array_equal(snapshot(y), Y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [nammd.Gaussian(1.0), nammd.Laplace(1.0), Spy()], ids=["g", "l", "user"])
def test_arrays_keep_their_bytes_and_flags(dtype, kernel):
    x, y = X.astype(dtype), Y.astype(dtype)
    before = [(z.tobytes(), z.flags.writeable, z.dtype) for z in (x, y)]
    nammd.closeness_test(x, y, 0.2, kernel=kernel, alternative="greater")
    nammd.two_sample_test(x, y, kernel=kernel, permutations=9)
    assert [(z.tobytes(), z.flags.writeable, z.dtype) for z in (x, y)] == before


def test_a_tensor_with_gradient_keeps_it_and_gets_none():
    x, y = (torch.tensor(z, requires_grad=True) for z in (X, Y))
    estimate = nammd.distance(x, y)
    assert isinstance(estimate.witness_x, np.ndarray)
    assert x.requires_grad
    assert x.grad is None
