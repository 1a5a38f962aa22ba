"""Which rows belong together: taken from columns and arrays, and what is wrong with bad ones."""

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.data.blocks_in_time import block_length, cut


def frame(seed=0, groups=10, rows=60, **columns):
    rng = np.random.default_rng(seed)
    table = {"a": rng.normal(size=rows), "b": rng.normal(size=rows)}
    table["customer"] = [f"{seed}-{k}" for k in rng.integers(0, groups, rows)]
    table["weight"] = rng.uniform(0.5, 2.0, rows)
    table["when"] = np.arange(rows)
    return pa.table(table | columns)


def test_a_column_of_groups_is_left_out_of_the_space():
    found = nammd.distance(frame(0), frame(1), groups="customer", sample_weight="weight")
    assert set(found.columns) & {"customer", "weight"} == set()
    assert {"a", "b"} <= set(found.columns)
    assert found.to_dict()["groups"]["by"] == "customer"


def test_a_column_and_arrays_say_the_same():
    x, y = frame(0), frame(1)
    by_column = nammd.distance(x, y, groups="customer", sample_weight="weight")
    arrays = [[t[name].to_pylist() for t in (x, y)] for name in ("customer", "weight")]
    rest = [t.drop_columns(["customer", "weight"]) for t in (x, y)]
    by_arrays = nammd.distance(*rest, groups=arrays[0], sample_weight=arrays[1])
    assert by_arrays.value == by_column.value
    assert by_arrays.standard_error == by_column.standard_error


def test_a_file_of_text_says_the_same(tmp_path):
    from pyarrow import csv

    tables = frame(0), frame(1)
    for name, table in zip("xy", tables, strict=True):
        csv.write_csv(table, tmp_path / f"{name}.csv")
    paths = [tmp_path / f"{name}.csv" for name in "xy"]
    for how in (
        {"groups": "customer", "sample_weight": "weight"},
        {"groups": nammd.TimeBlocks("when", 5), "sample_weight": "weight"},
    ):
        found, expected = nammd.distance(*paths, **how), nammd.distance(*tables, **how)
        assert found.value == pytest.approx(expected.value, rel=1e-9)
        assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)


def test_long_numbers_of_accounts_stay_apart():
    base = 2**60
    ids = np.repeat(base + np.arange(20), 3)
    x = pa.table({"a": np.random.default_rng(0).normal(size=60), "account": ids})
    assert nammd.distance(x, frame(1).select(["a"]).append_column(
        "account", pa.array(np.repeat(np.arange(20), 3))
    ), groups="account").to_dict()["groups"]["x"] == 20  # fmt: skip


def test_whole_numbers_are_the_same_groups_whatever_their_type():
    rng = np.random.default_rng(0)
    x, y, labels = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), np.repeat(np.arange(12), 5)
    found = nammd.distance(x, y, groups=(labels, [str(v) for v in labels]))
    assert found.to_dict()["groups"]["in_both"] == 12
    assert found.to_dict() == nammd.distance(x, y, groups=(labels.astype(float), labels)).to_dict()


x60 = np.random.default_rng(1).normal(size=(60, 2))
y60 = np.random.default_rng(2).normal(size=(60, 2))
labels60 = np.repeat(np.arange(12), 5)
none60 = np.array([None, *"b" * 59], dtype=object)

BAD_ARRAYS = {
    "missing label": ({"groups": (none60, labels60)}, "the group of 1 row of x is missing"),
    "missing number": (
        {"groups": (labels60, np.r_[np.nan, labels60[1:]])},
        "the group of 1 row of y is missing",
    ),
    "wrong length": ({"groups": (labels60[:-1], labels60)}, "groups of x has 59 labels for 60 rows"),
    "one group": ({"groups": (np.zeros(60), labels60)}, "all 60 rows of x are in one group ('0')"),
    "one group in y": ({"groups": (labels60, np.zeros(60))}, "all 60 rows of y are in one group"),
    "three groups": ({"groups": (np.arange(60) % 3, labels60)}, "in 3 groups; at least 4 are needed"),
    "table of labels": (
        {"groups": (np.ones((60, 2)), labels60)},
        "must have one label for every row, but has 2 dimensions",
    ),
    "one array for two": ({"groups": labels60}, "a pair of arrays, one for each dataset"),
    "column of an array": ({"groups": "customer"}, "x is an array, whose columns have no names"),
    "negative weight": (
        {"sample_weight": (-np.ones(60), np.ones(60))},
        "must be positive, but is -1 in 60 rows",
    ),
    "zero weight": (
        {"sample_weight": (np.ones(60), np.r_[0.0, np.ones(59)])},
        "sample_weight of y must be positive, but is 0 in 1 row",
    ),
    "missing weight": (
        {"sample_weight": (np.r_[np.nan, np.ones(59)], np.ones(60))},
        "sample_weight of x is missing in 1 row",
    ),
    "infinite weight": ({"sample_weight": (np.r_[np.inf, np.ones(59)], np.ones(60))}, "must be positive"),
    "words for weights": ({"sample_weight": (["a"] * 60, np.ones(60))}, "must be numbers"),
    "blocks too long": ({"groups": nammd.TimeBlocks(length=20)}, "are 3 blocks of 20; at least 4 are needed"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays_are_told_in_a_sentence(case):
    options, sentence = BAD_ARRAYS[case]
    with pytest.raises((ValueError, TypeError)) as error:
        nammd.distance(x60, y60, **options)
    assert sentence in str(error.value)


BAD_COLUMNS = {
    "no such column": ({}, {"groups": "client"}, "x has no column 'client'; it has"),
    "missing label": (
        {"customer": [None, *["c"] * 59]},
        {"groups": "customer"},
        "the group of 1 row of x is missing",
    ),
    "text as weight": ({"weight": ["much"] * 60}, {"sample_weight": "weight"}, "holds no numbers"),
    "no weight": (
        {"weight": [None, *[1.0] * 59]},
        {"sample_weight": "weight"},
        "the column 'weight' of x, which gives the weights of rows, is missing in 1 row",
    ),
    "no time": (
        {"when": ["soon"] * 60},
        {"groups": nammd.TimeBlocks("when")},
        "the column 'when' of x does not tell a time: 'soon' is no date",
    ),
    "missing time": (
        {"when": [None, *range(59)]},
        {"groups": nammd.TimeBlocks("when")},
        "the column 'when' of x, which tells the time, is missing in 1 row",
    ),
    "lists": ({"customer": [[1, 2]] * 60}, {"groups": "customer"}, "which name no groups"),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_bad_columns_are_told_in_a_sentence(case):
    columns, options, sentence = BAD_COLUMNS[case]
    with pytest.raises((ValueError, TypeError)) as error:
        nammd.distance(frame(0, **columns), frame(1), **options)
    assert sentence in str(error.value)


def test_nothing_to_compare_but_the_groups():
    only = frame(0).select(["customer"])
    with pytest.raises(ValueError, match="no other columns than customer"):
        nammd.distance(only, only, groups="customer")


def autoregressive(memory, rows, seed=0):
    noise, value, found = np.random.default_rng(seed).normal(size=rows), 0.0, []
    for step in noise:
        value = memory * value + step
        found.append(value)
    return np.array(found)


def test_blocks_are_as_long_as_the_memory_of_the_data():
    lengths = {
        m: np.median([block_length([autoregressive(m, 800, s)]) for s in range(9)]) for m in (0, 0.5, 0.8)
    }
    assert lengths[0] <= 4
    # The optimum for a series of this kind, by its formula, is (6 r² / (1 - r²)²)^(1/3) n^(1/3).
    for memory in (0.5, 0.8):
        best = (6 * memory**2 / (1 - memory**2) ** 2 * 800) ** (1 / 3)
        assert 0.6 * best < lengths[memory] < 1.7 * best


def test_several_columns_ask_for_the_longest_and_an_eighth_is_the_most():
    long, short = autoregressive(0.9, 400), autoregressive(0.0, 400)
    assert block_length([short, long]) == block_length([long]) > block_length([short])
    assert block_length([np.arange(80.0)]) == 10
    assert block_length([np.zeros(50)]) == 1


def test_the_last_rows_join_the_last_block():
    assert cut(10, 4).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("times", ["numbers", "dates", "text"])
def test_rows_are_ordered_by_the_time(times):
    rng = np.random.default_rng(0)
    tables, ordered = [], []
    for seed in (0, 1):
        values, order = autoregressive(0.7, 200, seed), rng.permutation(200)
        days = np.datetime64("2024-01-01") + np.arange(200)
        when = {"numbers": np.arange(200), "dates": days, "text": np.array([str(d) for d in days])}[times]
        tables.append(pa.table({"a": values[order], "when": pa.array(when[order])}))
        ordered.append(pa.table({"a": values}))
    found = nammd.distance(*tables, groups=nammd.TimeBlocks("when"))
    expected = nammd.distance(*ordered, groups=nammd.TimeBlocks())
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
    assert "length by Politis and White's rule" in str(found)


def test_and_not_where_it_was_said_or_where_nothing_looks_like_it():
    assert nammd.distance(frame(0), frame(1), groups="customer").cautions[0].code == "few-groups"
    plain = [frame(seed).drop_columns(["customer"]) for seed in (0, 1)]
    assert nammd.distance(*plain).cautions == ()
    cities = [t.append_column("city", pa.array(["Ulm", "Bonn", "Kiel"] * 20)) for t in plain]
    assert nammd.distance(*cities).cautions == ()
    numbered = [t.append_column("customer_id", pa.array([f"c{k}" for k in range(60)])) for t in plain]
    assert nammd.distance(*numbered).cautions == ()
