"""Rows that belong together on the command line."""

import pyarrow as pa
import pytest
from pyarrow import parquet

import nammd as library
from nammd.datasets import applications
from tests.cli.conftest import MEDIAN


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    """Months of applications, several by each customer, without their dates."""
    folder = tmp_path_factory.mktemp("months")
    for name, month, shift in (("a", 0, None), ("b", 12, "income"), ("c", 1, None)):
        table = pa.table(applications(month, 600, customers=120, shift=shift))
        parquet.write_table(table, folder / f"{name}.parquet")
    return folder


WITHOUT = ("--exclude", "submitted,application")
FEW = ("--n-features", 256)


def test_a_group_is_that_of_the_library(nammd, months):
    a, b = months / "a.parquet", months / "b.parquet"
    found = nammd("distance", a, b, "--group", "customer", *WITHOUT, "--json").json
    tables = [parquet.read_table(path).drop_columns(["submitted", "application"]) for path in (a, b)]
    expected = library.distance(*tables, groups="customer")
    assert found["value"] == pytest.approx(expected.value, rel=1e-12)
    assert found["groups"]["x"] == 120
    assert "120 and 120 by customer" in nammd("distance", a, b, "--group", "customer", *WITHOUT).out


def test_columns_that_are_named_need_not_name_the_group(nammd, months):
    a, b = months / "a.parquet", months / "b.parquet"
    found = nammd("distance", a, b, "--columns", "amount,months", "--group", "customer", "--json").json
    assert found["inputs"]["columns"] == ["amount", "months"]


def test_a_tolerance_remembers_its_groups(nammd, months, tmp_path):
    a, b, c = (months / f"{name}.parquet" for name in "abc")
    file = tmp_path / "tolerance.json"
    made = nammd("calibrate", a, b, "--group", "customer", *WITHOUT, *MEDIAN, "-o", file)
    assert "rows of one customer belong together" in made.out
    close = nammd("check", a, c, "--tolerance", file)
    assert close.code == 0
    assert "120 and 120 by customer" in close.out
    again = nammd("check", a, c, "--tolerance", file, "--group", "customer", "--json")
    told = nammd("check", a, c, "--tolerance", file, "--json")
    assert again.checked["pvalue_close"] == told.checked["pvalue_close"]
    wrong = nammd("check", a, c, "--tolerance", file, "--group", "region")
    assert wrong.code == 2
    assert "made with groups by 'customer', not by 'region'" in wrong.err


def test_other_commands_take_groups_too(nammd, months):
    a, b, c = (months / f"{name}.parquet" for name in "abc")
    how = ("--group", "customer", *WITHOUT)
    assert "by customer" in nammd("test", a, b, *how, "--permutations", 99).out
    assert "by customer" in nammd("check", a, c, "--epsilon", 0.05, *how).out
    assert nammd("compare", a, b, c, *how).code == 0
    assert nammd("rank", a, b, c, *how).code == 0
    grouped, plain = (
        nammd("plan", "--epsilon", 0.05, "--distance", 0.01, a, b, *options, "--json").json
        for options in (how, ("--exclude", "submitted,application,customer"))
    )
    assert grouped["m"] > plain["m"]


def test_time_and_row_weights(nammd, months):
    a, b = months / "a.parquet", months / "b.parquet"
    exclude = ("--exclude", "application,customer")
    timed = nammd("distance", a, b, "--time", "submitted", *exclude)
    assert "length by Politis and White's rule" in timed.out
    fixed = nammd("distance", a, b, "--time", "submitted", "--block", 30, *exclude)
    assert "20 and 20, of 30 and 30 rows" in fixed.out
    seasons = nammd("distance", a, b, "--time", "submitted", "--period", 7, *exclude)
    assert "whole seasons of 7 rows" in seasons.out
    weighted = nammd(
        "distance", a, b, "--sample-weight", "amount", "--exclude", "submitted,application,customer"
    )
    assert "by amount" in weighted.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--group", "client"), "has no column 'client'"),
        (("--group", "customer", "--time", "submitted"), "by --group or by --time, not by both"),
        (("--group", "customer", "--period", 7), "by --group or by --time, not by both"),
        (("--block", 14, "--period", 7), "or whole seasons of --period rows; give one"),
        (("--sample-weight", "purpose"), "holds no numbers"),
        (("--time", "purpose"), "does not tell a time"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(nammd, months, options, sentence):
    ran = nammd("distance", months / "a.parquet", months / "b.parquet", *options)
    assert ran.code == 2
    assert sentence in ran.err


def test_a_column_that_looks_like_groups_is_told_of(nammd, months):
    found = nammd("distance", months / "a.parquet", months / "c.parquet", *WITHOUT)
    assert found.code == 0
    assert "customer has 120 different values in 600 rows" in found.out
    assert "--group customer" in found.out


@pytest.fixture(scope="module")
def tolerances(months):
    """A tolerance with groups, one without, and one of blocks of time; made by the library."""
    tables = [
        parquet.read_table(months / f"{name}.parquet").drop_columns(["application", "submitted"])
        for name in "ab"
    ]
    plain = [each.drop_columns(["customer"]) for each in tables]
    files = [months / f"{name}.json" for name in ("grouped", "plain", "blocks")]
    library.Tolerance.from_reference(*tables, groups="customer", scales="median").save(files[0])
    library.Tolerance.from_reference(*plain, scales="median").save(files[1])
    library.Tolerance.from_reference(*plain, groups=library.TimeBlocks(length=20), scales="median").save(
        files[2]
    )
    return files


def test_a_sketch_remembers_the_groups_of_its_tolerance(nammd, months, tmp_path, tolerances):
    sketches = [tmp_path / f"{name}.sketch" for name in "ac"]
    for name, sketch in zip("ac", sketches, strict=True):
        made = nammd("sketch", months / f"{name}.parquet", "--tolerance", tolerances[0], "-o", sketch, *FEW)
        assert made.code == 0
        assert "120 by customer" in made.out
    checked = nammd("check", *sketches, "--tolerance", tolerances[0])
    rows = nammd("check", months / "a.parquet", months / "c.parquet", "--tolerance", tolerances[0])
    for ran in (checked, rows):
        assert ran.code == 0
        assert "120 and 120 by customer" in ran.out
        assert "7 compared" in ran.out
    found = nammd("distance", *sketches, "--group", "customer", "--json").json
    assert found["groups"]["split"] == [0, 0]
    wrong = nammd("distance", *sketches, "--group", "region")
    assert wrong.code == 2
    assert "made with groups by customer, and not with groups by region" in wrong.err


def test_sketches_and_tolerances_must_agree_on_groups(nammd, months, tmp_path, tolerances):
    sketches = [tmp_path / f"{name}.sketch" for name in ("grouped", "plain")]
    for file, sketch in zip(tolerances, sketches, strict=False):
        assert (
            nammd("sketch", months / "a.parquet", "--tolerance", file, "-o", sketch, "--json", *FEW).code == 0
        )
    without = nammd("check", sketches[1], sketches[1], "--tolerance", tolerances[0])
    assert without.code == 2
    assert "made without groups, and not with groups by customer" in without.err
    assert "--group customer" in without.err
    other = nammd("check", sketches[0], sketches[0], "--tolerance", tolerances[1])
    assert other.code == 2
    assert "as if every row stood for itself" in other.err
    blocks = nammd("sketch", months / "a.parquet", "--tolerance", tolerances[2], "-o", tmp_path / "b.sketch")
    assert blocks.code == 2
    assert "does not keep the order of rows" in blocks.err
