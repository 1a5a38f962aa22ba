"""Dask arrays and dataframes as datasets: the results of the same rows in memory, or the same objections."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.data.arrays import digest_of, is_constant
from nammd.data.blocks import some_rows
from nammd.data.dask_tables import FIT_ROWS, rows_to_fit
from nammd.data.opening import open_dataset
from nammd.tables import Encoding
from tests.cli.conftest import people

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(300, 3)), RNG.normal(0.3, 1.2, size=(260, 3))
SPREAD_X, SPREAD_Y = da.from_array(X, chunks=(70, 2)), da.from_array(Y, chunks=(100, 3))


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


def pandas_frame(values=X, names="abc"):
    return pd.DataFrame(values, columns=list(names))


def frame(values=X, partitions=3, names="abc"):
    return dd.from_pandas(pandas_frame(values, names), npartitions=partitions)


def blocks(data):
    """Return the Dask array of blocks that an opened array is."""
    return open_dataset(data, "x").array


def same(there, here):
    assert there.value == pytest.approx(here.value, abs=1e-12)
    assert there.standard_error == pytest.approx(here.standard_error, rel=1e-8)
    assert there.confidence_interval() == pytest.approx(here.confidence_interval(), abs=1e-10)
    assert there.kernel == here.kernel


def test_arrays_give_the_distance_of_the_same_rows_in_memory():
    there = nammd.distance(SPREAD_X, SPREAD_Y)
    same(there, nammd.distance(X, Y))
    assert there.engine == "Cluster()"
    assert all(isinstance(sample, da.Array) for sample in there.data)


def test_a_closeness_test_is_the_same():
    there, here = (
        nammd.closeness_test(x, y, 0.01, alternative="greater") for x, y in ((SPREAD_X, SPREAD_Y), (X, Y))
    )
    assert (there.pvalue, there.threshold) == pytest.approx((here.pvalue, here.threshold), abs=1e-10)
    assert there.rejected == here.rejected


def test_dataframes_are_encoded_like_tables_in_memory_and_matched_by_name():
    there = nammd.distance(frame(), frame(Y)[["c", "a", "b"]])
    same(there, nammd.distance(pandas_frame(), pandas_frame(Y)))
    assert there.columns == ("a", "b", "c")
    with pytest.raises(ValueError, match="y lacks columns that x has: 'b'"):
        nammd.distance(frame(), frame(Y, names="axc"))


def test_a_series_is_one_column_whatever_its_name():
    there = nammd.distance(frame()["a"], frame(Y)["b"])
    same(there, nammd.distance(pandas_frame()["a"], pandas_frame(Y)["b"]))


def test_a_sample_in_memory_may_meet_one_on_a_cluster():
    same(nammd.distance(SPREAD_X, Y), nammd.distance(X, Y))
    same(nammd.distance(X, SPREAD_Y), nammd.distance(X, Y))
    same(nammd.distance(frame(), pandas_frame(Y)), nammd.distance(pandas_frame(), pandas_frame(Y)))
    same(nammd.distance(pandas_frame(Y), frame()), nammd.distance(pandas_frame(Y), pandas_frame()))


def test_a_tensor_and_a_dask_array_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="live in different array libraries"):
        nammd.distance(SPREAD_X, torch.asarray(Y))


def test_a_table_and_an_array_are_refused():
    with pytest.raises(TypeError, match="x is a table and y is an array"):
        nammd.distance(frame(), SPREAD_Y)


def test_unknown_chunk_sizes_are_found_out():
    some = SPREAD_X[SPREAD_X[:, 0] > 0]
    assert np.isnan(some.shape[0])
    same(nammd.distance(some, SPREAD_Y), nammd.distance(X[X[:, 0] > 0], Y))


def test_partitions_without_rows_do_no_harm():
    without = frame(partitions=4).map_partitions(lambda part: part[(part.index < 60) | (part.index > 160)])
    kept = np.r_[0:60, 161:300]
    same(nammd.distance(without, frame(Y)), nammd.distance(pandas_frame(X[kept]), pandas_frame(Y)))


def test_types_are_those_of_arrays_in_memory():
    single = SPREAD_X.astype("float32")
    assert blocks(single).dtype == np.float32
    assert blocks(SPREAD_X.astype("float16")).dtype == np.float32
    assert blocks(SPREAD_X > 0).dtype == np.float64
    mixed = nammd.distance(single, SPREAD_Y)
    assert {sample.dtype for sample in mixed.data} == {np.dtype("float64")}
    np.testing.assert_array_equal(mixed.data[0].compute(), X.astype("float32"))


def test_some_rows_come_in_the_order_asked_for():
    rows = np.array([299, 0, 70, 69, 70, 5])
    np.testing.assert_array_equal(some_rows(blocks(SPREAD_X), rows), X[rows])
    assert some_rows(blocks(SPREAD_X), np.arange(0)).shape == (0, 3)


def test_constant_data_are_noticed():
    assert is_constant(blocks(da.ones((9, 2), chunks=4)))
    assert not is_constant(blocks(da.from_array(np.repeat([[0.0], [1.0]], 4, axis=0), chunks=4)))
    with pytest.raises(ValueError, match="the data is constant"):
        nammd.distance(da.ones((9, 2), chunks=4), da.ones((8, 2), chunks=4))


WITH_NAN = np.where(np.arange(300)[:, None] == [7, 250, 250], np.nan, X)
BAD = {
    "NaN": (
        da.from_array(WITH_NAN, chunks=40),
        ValueError,
        "x contains NaN or infinity in 2 of its 300 rows",
    ),
    "dimensions": (da.zeros((3, 2, 2)), ValueError, "x has 3 dimensions"),
    "no rows": (da.zeros((0, 3)), ValueError, r"x is empty: it has shape \(0, 3\)"),
    "no columns": (da.zeros((5, 0)), ValueError, "x is empty: it has no columns"),
    "complex": (da.ones((5, 3), dtype=complex), TypeError, "x has type complex128"),
    "few": (da.from_array(X[:3], chunks=2), ValueError, "x has 3 rows; at least 4 are needed"),
    "few, uncounted": (
        da.from_array(X, chunks=40)[da.from_array(X[:, 0] > np.sort(X[:, 0])[-3], chunks=40)],
        ValueError,
        "x has [123] rows?; at least 4 are needed",
    ),
    "width": (da.from_array(X[:, :2]), ValueError, "x has 2 columns but y has 3"),
    "delayed": (dask.delayed(X), TypeError, "x must be a Dask array or dataframe, not Delayed"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_are_named(case):
    data, error, words = BAD[case]
    with pytest.raises(error, match=words):
        nammd.distance(data, Y)


def test_a_kernel_of_ones_own_is_checked_on_some_rows():
    class Wrong(nammd.Kernel):
        bound = 0.1

        def __call__(self, x, y):
            assert isinstance(x, np.ndarray)
            return np.ones((len(x), len(y)))

    with pytest.raises(ValueError, match="beyond its bound"):
        nammd.distance(SPREAD_X, SPREAD_Y, kernel=Wrong())


def test_a_shared_reference_is_recognised():
    there = nammd.compare_pairs((SPREAD_X, SPREAD_Y), (SPREAD_X, SPREAD_Y + 1))
    here = nammd.compare_pairs((X, Y), (X, Y + 1))
    assert there.shared
    assert (there.difference, there.standard_error) == pytest.approx((here.difference, here.standard_error))


# How often the data are read.


class Reads:
    """Counts how often each block of a source is read."""

    def __init__(self, values, chunks=50):
        self.count = {}
        parts = [self.part(k, values[k : k + chunks]) for k in range(0, len(values), chunks)]
        self.array = da.concatenate(parts)

    def part(self, key, block):
        def read():
            self.count[key] = self.count.get(key, 0) + 1
            return block

        return da.from_delayed(dask.delayed(read, pure=False)(), block.shape, block.dtype)

    @property
    def most(self):
        assert self.count
        return max(self.count.values())


def counted():
    return Reads(X), Reads(Y)


def test_a_closeness_test_reads_every_block_twice_at_most():
    x, y = counted()
    nammd.closeness_test(x.array, y.array, 0.01, alternative="greater").confidence_interval()
    assert (x.most, y.most) == (2, 2)


@pytest.mark.parametrize("columns", [None, False], ids=["columns", "joint"])
def test_a_tolerance_reads_every_block_three_times_at_most(columns):
    """The columns of arrays are counted in one more pass."""
    x, y = counted()
    nammd.Tolerance.from_reference(x.array, y.array, negligible=columns)
    more = columns is None
    assert x.most <= 3 + more
    assert y.most <= 2 + more


@pytest.mark.parametrize("columns", [None, False], ids=["columns", "joint"])
def test_a_check_reads_every_block_three_times_at_most(columns):
    """The columns of the candidate are counted in one more pass; those of the reference are known.

    The reference is summed with what was accepted and with the candidate in one pass.
    """
    tolerance = nammd.Tolerance.from_reference(X, Y, negligible=columns)
    x, y = counted()
    assert tolerance.check(x.array, y.array + 0.1).pvalue_far == pytest.approx(
        tolerance.check(X, Y + 0.1).pvalue_far, abs=1e-10
    )
    assert (x.most, y.most) == (2, 2 + (columns is None))


def test_a_second_check_reads_the_reference_once_more():
    x, y = counted()
    gate = nammd.Tolerance.from_reference(X, Y).with_reference(x.array)
    gate.check(y.array)
    assert x.most == 2
    gate.check(Y + 1)
    assert x.most == 3


def test_opening_reads_nothing():
    x, _ = counted()
    dataset = open_dataset(x.array, "x")
    assert dataset.rows == len(X)
    assert x.count == {}


# Tables.

TABLES = {
    name: people(seed, older, rows=400).to_pandas().assign(version=version)
    for name, seed, older, version in (
        ("reference", 1, 0.0, 1),
        ("accepted", 2, 0.5, 1),
        ("close", 3, 0.1, 1),
        ("far", 4, 2.0, 2),
    )
}
SPREAD = {name: dd.from_pandas(table, npartitions=3) for name, table in TABLES.items()}


@pytest.fixture(scope="module")
def tolerance():
    return nammd.Tolerance.from_reference(TABLES["reference"], TABLES["accepted"])


def test_an_encoding_of_partitions_is_that_of_the_table():
    encoding = Encoding.fit(SPREAD["reference"])
    assert encoding == Encoding.fit(TABLES["reference"])
    there = encoding.transform(SPREAD["close"])
    assert isinstance(there, da.Array)
    np.testing.assert_array_equal(there.compute(), encoding.transform(TABLES["close"]))


def test_an_encoding_is_fitted_on_some_rows_of_many():
    many = dd.from_pandas(pd.DataFrame({"a": np.arange(FIT_ROWS + 5000.0)}), npartitions=4)
    dataset = open_dataset(many, "x")
    assert dataset.rows is None
    drawn = rows_to_fit(dataset).values("a").numbers
    assert len(drawn) == FIT_ROWS
    assert (np.diff(drawn) > 0).all()
    assert drawn.max() > FIT_ROWS
    assert dataset.rows == FIT_ROWS + 5000  # counted in the same pass


def test_an_encoding_is_fitted_in_one_pass_that_counts_the_rows():
    seen = []

    def watched(part):
        seen.append(len(part))
        return part

    table = frame().map_partitions(watched, meta=frame()._meta)
    dataset = open_dataset(table, "x")
    Encoding.fit(dataset)
    assert sum(seen) == len(X)
    assert dataset.rows == len(X)


@pytest.mark.parametrize("candidate", ["close", "far"])
@pytest.mark.parametrize("reference", [SPREAD, TABLES], ids=["both", "candidate"])
def test_a_check_is_the_same(tolerance, reference, candidate):
    there = tolerance.check(reference["reference"], SPREAD[candidate])
    here = tolerance.check(TABLES["reference"], TABLES[candidate])
    assert there.decision == here.decision
    assert there.distance == pytest.approx(here.distance, abs=1e-12)
    assert (there.pvalue_close, there.pvalue_far) == pytest.approx((here.pvalue_close, here.pvalue_far))
    assert [w.code for w in there.cautions] == [w.code for w in here.cautions]
    assert there.estimate.engine == "Cluster()"


def test_cautions_need_no_more_than_names_and_a_few_values(tolerance):
    verdict = tolerance.check(SPREAD["reference"], SPREAD["far"].assign(new=1.0))
    assert [w.code for w in verdict.cautions] == ["extra-columns"]
    assert [fact.column for fact in verdict.facts if fact.code == "constant-changed"] == ["version"]


def test_a_tolerance_of_partitions_is_that_of_the_tables(tolerance):
    there = nammd.Tolerance.from_reference(SPREAD["reference"], SPREAD["accepted"])
    assert there.epsilon == pytest.approx(tolerance.epsilon, abs=1e-12)
    assert there.origin.digest == tolerance.origin.digest
    assert there.encoding == tolerance.encoding


def test_arrays_are_checked_by_their_blocks():
    tolerance = nammd.Tolerance.from_reference(X, Y)
    there, here = tolerance.check(SPREAD_X, SPREAD_Y + 0.1), tolerance.check(X, Y + 0.1)
    assert there.distance == pytest.approx(here.distance, abs=1e-12)
    assert there.pvalue_far == pytest.approx(here.pvalue_far, abs=1e-10)  # the reference is recognised
    weighted = Encoding.fit(X, column_weights={"1": 2.0, "2": 0.0})
    np.testing.assert_array_equal(weighted.transform(SPREAD_X).compute(), weighted.transform(X))


@pytest.mark.parametrize("rows", [100, 65_536, 140_000])
def test_a_digest_does_not_depend_on_the_blocks(rows):
    x = np.random.default_rng(rows).normal(size=(rows, 2))
    digest = digest_of(x)
    assert digest == digest_of(da.from_array(x, chunks=(37_000, 1)))
    x[-1, -1] += 1
    assert digest_of(x) != digest


def test_the_digest_of_a_small_reference_is_the_sha256_of_its_numbers():
    assert digest_of(np.zeros((2, 1))) == "461ba705b966ce9dd77ec4076742c6473feeaf2b6eeb93672864eadc84ef875b"


@pytest.mark.parametrize("way", ["from_noise", "from_split"])
def test_calibrations_that_need_rows_say_so(way):
    with pytest.raises(TypeError, match=rf"Tolerance\.{way} .*spread over a Dask cluster; give a sample"):
        getattr(nammd.Tolerance, way)(SPREAD["reference"])


def test_a_report_says_that_it_needs_rows(tolerance, tmp_path):
    verdict = tolerance.check(SPREAD["reference"], SPREAD["close"])
    with pytest.raises(TypeError, match="spread over a Dask cluster; make the result from a sample"):
        verdict.report(tmp_path / "report.html")


@pytest.mark.parametrize(
    ("candidate", "error", "words"),
    [
        (SPREAD["close"].drop(columns=["age"]), ValueError, "the candidate has no column 'age'"),
        (SPREAD["close"].assign(age="old"), ValueError, "'age' of the candidate holds text"),
        (SPREAD["close"].assign(age=np.inf), ValueError, "'age' of the candidate contains infinity"),
        (SPREAD_X, TypeError, "the candidate must be a table"),
        (SPREAD["close"].loc[5000:], ValueError, "the candidate is empty: it has no rows"),
    ],
    ids=["column", "kind", "infinity", "array", "empty"],
)
def test_bad_candidates_are_named(tolerance, candidate, error, words):
    with pytest.raises(error, match=words):
        tolerance.check(SPREAD["reference"], candidate)
