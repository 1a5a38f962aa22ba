"""Mistakes that people make when they calibrate: none of them may end in CLOSE without a word."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import compute, parquet

import nammd as library
from nammd.cli import main
from nammd.datasets import applications

ROWS = 600


def month(k, rows=ROWS, **options):
    return pa.table(applications(k, rows, **options))


def replaced(table, name, values):
    return table.set_column(table.column_names.index(name), name, values)


def broken(table):
    """Incomes a hundred times as large, every purpose the same, and a region blanked."""
    table = replaced(table, "income", compute.multiply(table["income"], 100.0))
    table = replaced(table, "purpose", pa.array(["car"] * len(table)))
    blanked = [None if name == "north" else name for name in table["region"].to_pylist()]
    return replaced(table, "region", pa.array(blanked, pa.string()))


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    folder = tmp_path_factory.mktemp("months")
    made = {"january": month(24), "accepted": month(0), "february": month(25), "twin": month(24, rng=1)}
    made["sorted"] = made["january"].sort_by("income")
    made["by-region"] = made["january"].sort_by("region")
    counter = pa.array(np.arange(ROWS) + 0.5)
    made["counted"] = made["january"].append_column("ticket", counter)
    made["counted-before"] = made["accepted"].append_column("ticket", compute.subtract(counter, float(ROWS)))
    made["broken"] = broken(made["february"])
    for name, table in made.items():
        parquet.write_table(table, folder / f"{name}.parquet")
    return folder


def files(months, *names):
    return [months / f"{name}.parquet" for name in names]


@pytest.fixture(scope="module")
def limit(months):
    """The tolerance of months, without their time of arrival."""
    path = months / "limit.json"
    pair = map(str, files(months, "january", "accepted"))
    assert main(["calibrate", *pair, "--exclude", "submitted", "-o", str(path)]) == 0
    return path


def test_a_forgotten_time_of_arrival_stops_calibrating(nammd, tmp_path, months):
    sentence = nammd("calibrate", *files(months, "january", "accepted"), "-o", "t.json").sentence
    assert "'submitted' alone tells" in sentence
    assert "a time that only moves forward, as that of arrival does" in sentence
    assert "The distance is 0.4" in sentence
    assert "and 0.0" in sentence
    assert sentence.strip().endswith("with --exclude submitted, or, if it is meant, say --keep submitted")
    assert list(tmp_path.iterdir()) == []


def test_each_of_the_two_ways_on_works(nammd, months, limit):
    pair = files(months, "january", "accepted")
    ran = nammd("check", *files(months, "january", "broken"), "-t", limit)
    assert (ran.code, ran.out[:3]) == (1, "FAR")
    assert nammd("calibrate", *pair, "--keep", "submitted", "-o", "kept.json").code == 0


def test_a_counter_is_recognised_too(nammd, months):
    pair = files(months, "counted", "counted-before")
    sentence = nammd("calibrate", *pair, "--exclude", "submitted", "-o", "t.json").sentence
    assert "'ticket' is a number that only moves forward, as a counter does" in sentence


def test_two_such_columns_are_named_together(nammd, months):
    sentence = nammd("calibrate", *files(months, "counted", "counted-before"), "-o", "t.json").sentence
    assert "the columns 'submitted', 'ticket' alone tell " in sentence
    assert "--exclude submitted --exclude ticket" in sentence


@pytest.mark.parametrize("name", ["income", "region"])
def test_categories_and_numbers_that_do_not_overlap_are_found(name):
    reference, accepted = month(24).drop_columns("submitted"), month(0).drop_columns("submitted")
    values = compute.add(accepted["income"], 1e7) if name == "income" else pa.array(["elsewhere"] * ROWS)
    moved = replaced(accepted, name, values)
    with pytest.raises(ValueError, match=f"the values of '{name}' hardly overlap") as refused:
        library.Tolerance.from_reference(reference, {"moved": moved})
    assert f"space={{'exclude': ['{name}']}}" in str(refused.value)
    assert f"keep=['{name}']" in str(refused.value)
    assert (
        library.Tolerance.from_reference(reference, moved, keep=[name], how="ball", anyway=True).epsilon
        > 0.01
    )


def test_a_column_that_only_shifts_is_no_such_column():
    reference, accepted = month(24).drop_columns("submitted"), month(0).drop_columns("submitted")
    shifted = replaced(accepted, "income", compute.multiply(accepted["income"], 1.5))
    assert library.Tolerance.from_reference(reference, shifted).epsilon > 0


@pytest.mark.parametrize(("name", "column"), [("sorted", "income"), ("by-region", "region")])
@pytest.mark.parametrize("way", [["--split"], []])
def test_a_sorted_file_is_not_split(nammd, tmp_path, months, name, column, way):
    words = [*files(months, name), *way, "--exclude", "submitted", "-o", "t.json"]
    sentence = nammd("calibrate", *words).sentence
    assert f" are sorted by '{column}', so blocks of consecutive rows differ by the sorting" in sentence
    assert f"say --keep {column}" in sentence
    assert list(tmp_path.iterdir()) == []


def test_rows_in_the_order_of_their_time_of_arrival_are_split_without_it(nammd, months):
    [january] = files(months, "january")
    sentence = nammd("calibrate", january, "-o", "t.json").sentence
    assert " are in the order of 'submitted', which takes part in the comparison" in sentence
    assert sentence.strip().endswith("leave it out with --exclude submitted")
    assert nammd("calibrate", january, "--exclude", "submitted", "-o", "t.json").code == 0
    ran = nammd("check", *files(months, "january", "february"), "-t", "t.json")
    assert ran.out.startswith("CLOSE")
    assert nammd("check", *files(months, "january", "broken"), "-t", "t.json").out.startswith("FAR")


def test_drift_within_the_reference_is_accepted_and_said(nammd, tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=2000) + np.repeat([0.0, 0.0, 0.0, 1.0], 500)
    parquet.write_table(pa.table({"a": values, "b": rng.normal(size=2000)}), tmp_path / "drift.parquet")
    ran = nammd("calibrate", "drift.parquet", "-o", "t.json")
    assert ran.code == 0
    assert "block 4 of 4 is farther from the other rows than random halves" in ran.out


def test_accepted_data_like_the_reference_do_no_harm(nammd, months):
    pair = files(months, "january", "february")
    assert nammd("calibrate", *pair, "--exclude", "submitted", "-o", "t.json").code == 0
    january, twin, broken = files(months, "january", "twin", "broken")
    assert not nammd("check", january, twin, "-t", "t.json").out.startswith("FAR")
    assert nammd("check", january, broken, "-t", "t.json").out.startswith("FAR")


def test_what_cannot_be_resolved_carries_its_caution(nammd, tmp_path):
    rng = np.random.default_rng(0)
    parquet.write_table(
        pa.table({"a": rng.normal(size=30), "b": rng.normal(size=30)}), tmp_path / "x.parquet"
    )
    ran = nammd("calibrate", "x.parquet", "--noise", "0.7", "-o", "t.json")
    assert ran.code == 0
    assert "Note: the tolerance" in ran.out
    parquet.write_table(
        pa.table({"a": rng.normal(size=40), "b": rng.normal(size=40)}), tmp_path / "y.parquet"
    )
    checked = nammd("check", "x.parquet", "y.parquet", "-t", "t.json")
    assert "Note: the tolerance" in checked.out
    found = nammd("check", "x.parquet", "y.parquet", "-t", "t.json", "--json").checked
    assert "unresolved-tolerance" in {each["code"] for each in found["cautions"]}


def test_below_one_half_means_below_one_half():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 1))
    made = [library.Tolerance.from_noise(x, level=level, anyway=True) for level in (0.8, 1.0, 2.0, 4.0)]
    for tolerance in made:
        few = tolerance.power(60, 0.0).close < 0.5
        assert bool(tolerance.cautions) == few
    assert {bool(tolerance.cautions) for tolerance in made} == {True, False}


def test_the_tolerance_is_told_in_units_that_people_know(nammd, months):
    words = [*files(months, "january", "accepted"), "--exclude", "submitted", "-o", "t.json"]
    [line] = [line for line in nammd("calibrate", *words).out.splitlines() if "about as far as" in line]
    assert "of all values missing, or " in line
    assert "of all categories drawn anew, or noise of " in line


def test_those_units_are_what_they_say():
    """A tolerance that was made by removing values is as far as removing so many."""
    table = month(24).drop_columns("submitted")
    made = library.Tolerance.from_noise(table, level=0.1, kind="missing")
    assert dict(made.origin.equivalents)["missing"] == pytest.approx(0.1, rel=0.2)
    noisy = library.Tolerance.from_noise(table, level=0.8)
    assert dict(noisy.origin.equivalents)["noise"] == pytest.approx(0.8, rel=0.2)


def test_no_help_suggests_a_number_that_accepts_everything(nammd):
    for command in ("check", "calibrate", "compare", "distance"):
        assert "0.02" not in nammd(command, "--help").out


@pytest.mark.parametrize("times", [1, 2])
def test_a_file_against_itself_or_doubled_is_never_close(nammd, tmp_path, months, limit, times):
    [reference] = files(months, "january")
    table = parquet.read_table(reference if times == 1 else months / "february.parquet")
    parquet.write_table(pa.concat_tables([table] * times), tmp_path / "again.parquet")
    ran = nammd("check", reference, "again.parquet", "-t", limit)
    assert ran.code == (3 if times == 1 else 1)
    assert ran.out.startswith("UNDECIDED" if times == 1 else "FAR: 50 % of rows repeat an earlier row")
    assert ("are the same rows" if times == 1 else "twice, or a multiple of that") in ran.out
