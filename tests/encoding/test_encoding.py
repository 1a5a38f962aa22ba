"""What the encoding does with each kind of column."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nammd.tables import Column, Encoding
from tests.encoding.samples import LIBRARIES, mixed_columns, table

COLUMNS = mixed_columns()


@pytest.mark.parametrize("library", LIBRARIES)
def test_all_libraries_give_the_same_numbers(library):
    expected = Encoding.fit(pa.table(COLUMNS))
    encoding = Encoding.fit(LIBRARIES[library](COLUMNS))
    assert encoding == expected
    assert [c.kind for c in encoding.columns] == [
        *("numeric", "numeric", "categorical", "boolean"),
        *("datetime", "datetime", "datetime", "datetime"),
    ]
    other = mixed_columns(seed=1)
    np.testing.assert_array_equal(
        encoding.transform(LIBRARIES[library](other)), expected.transform(pa.table(other))
    )


def test_fitted_on_one_library_it_transforms_another():
    encoding = Encoding.fit(pd.DataFrame(COLUMNS))
    np.testing.assert_array_equal(
        encoding.transform(pl.DataFrame(COLUMNS)), encoding.transform(pd.DataFrame(COLUMNS))
    )


def test_the_order_of_columns_and_rows_does_not_matter():
    encoding = Encoding.fit(pa.table(COLUMNS))
    frame = pd.DataFrame(COLUMNS)
    turned = frame[frame.columns[::-1]].iloc[::-1]
    np.testing.assert_array_equal(encoding.transform(turned)[::-1], encoding.transform(frame))


def test_a_numeric_column_is_centred_and_scaled_by_its_middle():
    values = np.r_[np.random.default_rng(0).normal(5, 3, 1000), 1e9]
    encoded = Encoding.fit(table(a=values)).transform(table(a=values))[:, 0]
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(encoded[:-1], (values[:-1] - median) / ((high - low) / 1.349))
    assert encoded[:-1].std() == pytest.approx(1, abs=0.1)


def test_where_the_quartiles_agree_the_standard_deviation_scales():
    values = np.r_[np.zeros(900), np.arange(1.0, 101.0)]
    encoded = Encoding.fit(table(a=values)).transform(table(a=values))[:, 0]
    np.testing.assert_allclose(encoded, values / values.std())


def test_values_absurdly_far_out_stay_finite_ordered_and_apart():
    reference = table(a=np.random.default_rng(0).normal(size=100))
    far = np.array([-1.7e308, -1e20, -2e6, 1e6, 1e7, 1e20, 2e20, 1e300, 1.7e308])
    encoded = Encoding.fit(reference).transform(table(a=far))[:, 0]
    assert np.isfinite(encoded).all()
    assert (np.diff(encoded) > 1e4).all()
    assert abs(encoded).max() < 1e10  # so that the mean, and all other digits with it, survive


def test_numbers_of_any_size_can_be_scaled():
    values = np.random.default_rng(0).normal(size=200)
    expected = Encoding.fit(table(a=values)).transform(table(a=values))
    for unit in (1e-300, 1e-20, 1e20, 1e306):
        scaled = table(a=values * unit)
        np.testing.assert_allclose(Encoding.fit(scaled).transform(scaled), expected, rtol=1e-9)


def test_two_different_categories_differ_like_two_numbers():
    rng = np.random.default_rng(0)
    data = table(a=rng.normal(size=5000), b=rng.choice(["x", "y"], 5000), c=rng.random(5000) < 0.5)
    encoding = Encoding.fit(data)
    encoded = encoding.transform(data)
    numbers = encoded[:, encoding.slots("a")]
    typical = np.mean(np.sum((numbers[:2500] - numbers[2500:]) ** 2, axis=1))
    assert typical == pytest.approx(2, rel=0.1)
    for name in "bc":
        part = encoded[:, encoding.slots(name)]
        assert {round(d, 12) for d in np.sum((part[:2500] - part[2500:]) ** 2, axis=1)} == {0.0, 2.0}


def test_a_missing_category_differs_from_every_category_as_they_do_from_one_another():
    data = table(a=["x", "y", None] * 10)
    x, y, missing = Encoding.fit(data).transform(data)[:3]
    distances = [np.sum((u - v) ** 2) for u, v in ((x, y), (x, missing), (y, missing))]
    assert distances == [2, 2, 2]


def test_a_missing_number_is_at_the_median_and_flagged():
    data = table(a=[1.0, 2.0, 4.0, None, float("nan")])
    encoded = Encoding.fit(data).transform(data)
    np.testing.assert_array_equal(encoded[1], [0, 0])
    np.testing.assert_array_equal(encoded[3:], [[0, 1], [0, 1]])
    np.testing.assert_array_equal(encoded[:3, 1], 0)


def test_values_missing_only_in_the_candidate_are_flagged():
    encoding = Encoding.fit(table(a=[1.0, 2.0, 4.0], b=["x", "y", "x"], c=[True, False, True]))
    encoded = encoding.transform(table(a=[None, 2.0], b=["x", None], c=pa.array([None, None], pa.bool_())))
    for name, expected in (("a", [1, 0]), ("b", [0, 1]), ("c", [1, 1])):
        np.testing.assert_array_equal(encoded[:, encoding.slots(name)][:, -1], expected)


def test_categories_have_slots_and_new_ones_share_another():
    names = ["x"] * 600 + ["y"] * 380 + ["rare"] * 4 + ["x"] * 16
    encoding = Encoding.fit(table(a=names))
    assert encoding.columns[0].labels == ("x", "y", "rare", "unseen", "missing")
    encoded = encoding.transform(table(a=["y", "rare", "new", "newer", None, "x"]))
    assert encoded.argmax(axis=1).tolist() == [1, 2, 3, 3, 4, 0]
    np.testing.assert_array_equal(encoded.sum(axis=1), 1)


MANY = [f"c{i % 60:02}" for i in range(6000)]
FEW_BUT_SINGLE = ["x"] * 70 + [f"n{i}" for i in range(30)]
SINGLES = ["x"] * 500 + [f"n{i}" for i in np.random.default_rng(0).integers(0, 2000, 500)]


@pytest.mark.parametrize("names", [MANY, SINGLES, FEW_BUT_SINGLE], ids=["many", "many single", "few single"])
def test_many_categories_are_codes_about_as_far_apart_as_slots(names):
    encoding = Encoding.fit(table(a=names))
    new = [None, *(f"new {i}" for i in range(40))]
    encoded = encoding.transform(table(a=[*new, *names[:59]]))
    np.testing.assert_allclose(np.sum(encoded**2, axis=1), 1)
    distances = np.sum((encoded[:, None] - encoded[None]) ** 2, axis=2)
    np.testing.assert_array_equal(distances[0, 1:], 2)
    different = distances[np.triu_indices(41, 1)]
    assert different.mean() == pytest.approx(2, abs=0.05)
    assert different.min() > 1
    np.testing.assert_array_equal(encoding.transform(table(a=["new 3"])), encoded[4:5])


def test_the_code_of_a_category_never_changes():
    # Tolerances are kept in files: the same name must have the same code in every version.
    code = Encoding.fit(table(a=MANY)).transform(table(a=["Köln"]))[0, :-1]
    assert "".join("+" if c > 0 else "-" for c in code[:16]) == "+-+-+--++-+++---"
    assert set(abs(code)) == {0.125}


MOMENTS = [dt.datetime(2024, 1, day, 12) for day in range(1, 11)]
ZONED = [m.replace(tzinfo=dt.UTC) for m in MOMENTS]


def test_times_with_a_zone_are_seconds_whatever_the_zone():
    berlin = dt.timezone(dt.timedelta(hours=1))
    reference = table(t=pa.array(ZONED, pa.timestamp("ms", "UTC")))
    encoding = Encoding.fit(reference)
    shifted = [m.astimezone(berlin) for m in ZONED]
    np.testing.assert_array_equal(
        encoding.transform(pd.DataFrame({"t": shifted})), encoding.transform(reference)
    )
    one, other = encoding.transform(table(t=pa.array(ZONED[:2])))[:, 0] * encoding.columns[0].scale
    assert other - one == pytest.approx(86400)


CLOCKS = {
    "times without a time zone": pa.array(MOMENTS),
    "times with a time zone": pa.array(ZONED, pa.timestamp("us", "UTC")),
    "durations": pa.array([m - MOMENTS[0] for m in MOMENTS]),
    "times of day": pa.array([dt.time(m.day) for m in MOMENTS]),
}


@pytest.mark.parametrize("one", CLOCKS)
@pytest.mark.parametrize("other", CLOCKS)
def test_times_by_different_clocks_never_meet_silently(one, other):
    first, second = table(t=CLOCKS[one]), table(t=CLOCKS[other])
    if one == other:
        assert Encoding.fit(first).transform(second).shape == (10, 2)
        assert Encoding.fit(first, second).columns[0].clock
        return
    with pytest.raises(ValueError, match=f"'t' of the data holds {other}, but {one} in the reference"):
        Encoding.fit(first).transform(second)
    with pytest.raises(ValueError, match=f"'t' of dataset 2 holds {other}, but {one} in dataset 1"):
        Encoding.fit(first, second)


def test_dates_and_times_without_a_zone_go_together():
    days = table(t=pa.array([m.date() for m in MOMENTS]))
    encoding = Encoding.fit(table(t=CLOCKS["times without a time zone"]))
    half_a_day = 43200 / encoding.columns[0].scale
    moved = (
        encoding.transform(table(t=CLOCKS["times without a time zone"]))[:, 0]
        - encoding.transform(days)[:, 0]
    )
    np.testing.assert_allclose(moved, half_a_day, rtol=1e-9)


def test_times_with_and_without_a_zone_in_one_column_are_left_out():
    mixed = pd.DataFrame({"t": [MOMENTS[0], ZONED[1], MOMENTS[2]], "n": [1.0, 2.0, 4.0]}, dtype=object)
    [left] = Encoding.fit(mixed).left_out
    assert left.reason == "it holds times with and without a time zone, which cannot be compared"


# Lists of numbers.

VECTORS = np.random.default_rng(5).normal([0.0, 5.0, -3.0], [1.0, 2.0, 0.5], size=(200, 3))


def lists(values, library="fixed"):
    rows = values.tolist()
    return {
        "fixed": lambda: pa.table({"v": pa.FixedSizeListArray.from_arrays(values.ravel(), values.shape[1])}),
        "variable": lambda: pa.table({"v": rows}),
        "polars": lambda: pl.DataFrame({"v": rows}),
        "polars array": lambda: pl.DataFrame({"v": pl.Series(values)}),
        "pandas lists": lambda: pd.DataFrame({"v": rows}),
        "pandas arrays": lambda: pd.DataFrame({"v": list(values)}),
    }[library]()


@pytest.mark.parametrize("library", ["variable", "polars", "polars array", "pandas lists", "pandas arrays"])
def test_lists_of_one_length_become_numbers(library):
    encoding = Encoding.fit(lists(VECTORS, library))
    assert encoding == Encoding.fit(lists(VECTORS))
    assert encoding.columns[0].labels == ("0", "1", "2", "missing")
    np.testing.assert_array_equal(
        encoding.transform(lists(VECTORS, library)), encoding.transform(lists(VECTORS))
    )


def test_a_vector_counts_like_one_column():
    points = Encoding.fit(lists(VECTORS)).transform(lists(VECTORS))
    apart = points[:100] - points[100:]
    assert np.mean((apart**2).sum(axis=1)) == pytest.approx(2.0, rel=0.25)
    assert np.median(points[:, :3], axis=0) == pytest.approx(0.0, abs=1e-12)


def test_missing_vectors_are_flagged_and_gaps_count_as_missing():
    rows = VECTORS.tolist()
    encoding = Encoding.fit(lists(VECTORS))
    holed = pa.table({"v": [None, [1.0, None, 2.0], *rows[2:]]})
    points = encoding.transform(holed)
    assert points[:2].tolist() == [[0.0, 0.0, 0.0, 1.0]] * 2
    assert (points[2:, 3] == 0).all()
    rows[1] = [1.0, float("nan"), 2.0]
    assert encoding.transform(pd.DataFrame({"v": rows}))[1].tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("library", ["fixed", "pandas arrays", "polars"])
def test_vectors_of_another_length_are_refused(library):
    with pytest.raises(
        ValueError, match="'v' of the data holds lists of 2 numbers, but lists of 3 numbers in"
    ):
        Encoding.fit(lists(VECTORS)).transform(lists(VECTORS[:, :2], library))


def test_infinity_in_a_vector_is_refused():
    bad = VECTORS.copy()
    bad[7, 1] = np.inf
    with pytest.raises(ValueError, match="'v' of the data contains infinity in 1 of its 200 rows"):
        Encoding.fit(lists(VECTORS)).transform(lists(bad))


# Several datasets together.


def test_a_pooled_fit_is_the_fit_of_all_rows_and_does_not_depend_on_the_order():
    one, other = (mixed_columns(seed=seed) for seed in (1, 2))
    first, second = table(**one), table(**other)
    both = pa.concat_tables([first, second])
    assert Encoding.fit(first, second) == Encoding.fit(second, first)
    assert Encoding.fit(first, second).columns == Encoding.fit(both).columns


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(200), np.arange(200)),
        (np.arange(200), np.arange(200, 400)),
        (np.arange(200), np.arange(5000, 5200)),
        (np.arange(0, 600, 3), np.arange(0, 600, 3) + 1),
    ],
    ids=["the same", "going on", "elsewhere", "with gaps"],
)
def test_running_numbers_of_each_dataset_are_left_out(one, other):
    rng = np.random.default_rng(0)
    tables = [table(n=numbers, kept=rng.normal(size=200)) for numbers in (one, other)]
    assert [entry.column for entry in Encoding.fit(*tables).left_out] == ["n"]


def test_identifiers_that_both_datasets_have_are_left_out():
    names = [f"p{k}" for k in range(200)]
    rng = np.random.default_rng(0)
    tables = [table(n=names, kept=rng.normal(size=200)) for _ in range(2)]
    [left] = Encoding.fit(*tables).left_out
    assert left.reason == "every value is different, like an identifier"


def test_all_datasets_must_have_the_same_columns():
    one, other = table(a=[1.0, 2.0], b=[1.0, 3.0]), table(a=[1.0, 2.0], c=[1.0, 3.0], b=[0.0, 1.0])
    with pytest.raises(ValueError, match="dataset 2 has columns that dataset 1 lacks: 'c'; leave them out"):
        Encoding.fit(one, other)
    with pytest.raises(ValueError, match="dataset 2 lacks columns that dataset 1 has: 'c'"):
        Encoding.fit(other, one)
    assert Encoding.fit(one, other, exclude=["c"]) == Encoding.fit(other, one, exclude=["c"])


def test_a_column_must_hold_the_same_in_all_datasets():
    with pytest.raises(ValueError, match="'a' of dataset 2 holds text, but numbers in dataset 1; convert it"):
        Encoding.fit(table(a=[1.0, 2.0], b=[0, 1]), table(a=["x", "y"], b=[0, 1]))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, None, False] * 10, "boolean"),
        ([1, None, 2.5] * 10, "numeric"),
        ([decimal.Decimal("1.5"), decimal.Decimal("2"), None] * 10, "numeric"),
        ([dt.date(2024, 1, 1), None, dt.date(2024, 1, 5)] * 10, "datetime"),
        ([dt.time(1, 2), None, dt.time(3, 4)] * 10, "datetime"),
        (["x", None, "y"] * 10, "categorical"),
    ],
)
def test_columns_of_python_objects_are_recognised(values, kind):
    objects = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    encoding = Encoding.fit(objects)
    assert encoding.columns[0].kind == kind
    if kind != "boolean":  # Arrow refuses nothing here, and must agree
        np.testing.assert_array_equal(
            encoding.transform(objects),
            encoding.transform(pl.DataFrame({"a": pl.Series(values, strict=False)})),
        )


def test_categories_and_enums_are_categories():
    names = ["x", "y", None] * 10
    plain = Encoding.fit(table(a=names))
    forms = [
        pd.DataFrame({"a": pd.Categorical(names)}),
        pl.DataFrame({"a": pl.Series(names, dtype=pl.Categorical)}),
        pl.DataFrame({"a": pl.Series(names, dtype=pl.Enum(["y", "x"]))}),
        table(a=pa.array(names).dictionary_encode()),
    ]
    assert [Encoding.fit(form) for form in forms] == [plain] * 4


def test_numbered_categories_have_one_name_with_and_without_missing_values():
    numbers = [1, 2, None] * 10
    one = Encoding.fit(pd.DataFrame({"a": pd.Series(numbers).astype("category")}))
    assert one.columns[0].labels[:2] == ("1", "2")
    assert one == Encoding.fit(pd.DataFrame({"a": pd.Categorical(numbers)}))
    assert one == Encoding.fit(table(a=pa.array(numbers).dictionary_encode()))


def test_an_array_is_taken_as_it_is():
    array = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32) * 100
    encoding = Encoding.fit(array)
    assert [c.name for c in encoding.columns] == ["0", "1", "2"]
    assert encoding.width == 3
    encoded = encoding.transform(array)
    assert encoded is array
    listed = encoding.transform(array.tolist())
    assert listed.dtype == np.float64
    np.testing.assert_array_equal(listed, array)


def test_columns_of_an_array_can_be_chosen_and_weighted():
    array = np.random.default_rng(0).normal(size=(10, 4))
    encoding = Encoding.fit(array, columns=["0", "2", "3"], column_weights={"2": 3.0, "3": 0})
    np.testing.assert_array_equal(encoding.transform(array), array[:, [0, 2]] * [1, 3])


def test_other_array_libraries_are_welcome():
    strict = pytest.importorskip("array_api_strict")
    array = strict.asarray([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(Encoding.fit(array).transform(array), [[1, 2], [3, 4]])


def test_weights_multiply_the_slots_of_a_column():
    plain = Encoding.fit(pa.table(COLUMNS))
    encoding = Encoding.fit(pa.table(COLUMNS), column_weights={"age": 2.0, "city": 0.5})
    one, other = plain.transform(pa.table(COLUMNS)), encoding.transform(pa.table(COLUMNS))
    for column in encoding.columns:
        slots = encoding.slots(column.name)
        factor = {"age": 2.0, "city": 0.5}.get(column.name, 1.0)
        assert column.weight == factor
        np.testing.assert_array_equal(other[:, slots], factor * one[:, slots])


def test_an_empty_list_leaves_out_nothing():
    table = pd.DataFrame({"a": np.arange(9.0), "b": list("xyzxyzxyz")})
    assert Encoding.fit(table, exclude=[]) == Encoding.fit(table)
    with pytest.raises(TypeError, match="columns must be a list of names"):
        Encoding.fit(table, exclude="")


def test_chosen_columns_keep_the_order_of_the_table():
    encoding = Encoding.fit(pa.table(COLUMNS), columns=["city", "age"])
    assert [c.name for c in encoding.columns] == ["age", "city"]
    assert "not among the chosen columns" in {entry.reason for entry in encoding.left_out}


def test_slots_follow_one_another_and_fill_the_width():
    encoding = Encoding.fit(pa.table(COLUMNS))
    end = 0
    for column in encoding.columns:
        assert isinstance(column, Column)
        slots = encoding.slots(column.name)
        assert (slots.start, slots.stop) == (end, end + len(column.labels))
        end = slots.stop
    assert end == encoding.width == encoding.transform(pa.table(COLUMNS)).shape[1]


def test_extra_columns_are_ignored_and_reported():
    encoding = Encoding.fit(table(a=[1.0, 2.0], same=[1, 1]))
    wider = table(new=["x", "y"], a=[1.0, 2.0], same=[1, 1], b=[1, 2])
    assert encoding.extra_columns(wider) == ("new", "b")
    np.testing.assert_array_equal(encoding.transform(wider), encoding.transform(wider.select(["a"])))
    assert Encoding.fit(np.zeros((2, 2))).extra_columns(np.zeros((2, 2))) == ()


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "é\u202e\u0000名", "", "a\nb", "{x}", "%s"])
def test_odd_names_work(name):
    encoding = Encoding.fit(table(**{name: ["x", "y", "x"]}))
    assert encoding.columns[0].name == name
    assert encoding.transform(table(**{name: ["x", None]})).shape == (2, encoding.width)
    assert Encoding.from_dict(encoding.to_dict()) == encoding
    assert name in encoding.describe()


def test_numbered_columns_of_pandas_are_named_by_their_numbers():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 2)))
    assert [c.name for c in Encoding.fit(frame).columns] == ["0", "1"]


def test_it_describes_itself():
    encoding = Encoding.fit(table(a=[1.0, 2.0] * 2, b=["x", "y"] * 2, same=[1] * 4), column_weights={"a": 2})
    text = str(encoding)
    assert text.startswith("Encoding of 2 columns in 6 slots\n")
    assert "centred at 1.5" in text
    assert "weight 2" in text
    assert "same  every row has the same value" in text
    assert repr(encoding) == "Encoding(columns: 'a', 'b'; width 6; 1 left out)"
    assert "array" in Encoding.fit(np.zeros((2, 2))).describe()


def test_it_is_frozen_and_can_be_compared():
    one, same = Encoding.fit(pa.table(COLUMNS)), Encoding.fit(pa.table(COLUMNS))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Encoding.fit(pa.table(COLUMNS), column_weights={"age": 2})
    with pytest.raises(AttributeError):
        one.columns = ()
