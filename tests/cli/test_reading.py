"""Files as people have them: numbers and dates as text, other encodings, words for missing values."""

import datetime
import json
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import nammd as library
from tests.cli.conftest import MEDIAN, program

ROWS = 300
QUICK = ("--margin", "noise=0.7", "--anyway", *MEDIAN)
"""Any tolerance, made without a ladder of them."""


def german(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def swiss(value):
    return f"CHF {value:,.2f}".replace(",", "'")


STYLES = {
    "European": (";", german, "%d.%m.%Y", "utf-8"),
    "European, euros": (";", lambda v: f"{german(v)} €", "%d.%m.%Y", "cp1252"),
    "European, tabs": ("\t", german, "%d/%m/%Y", "utf-16"),
    "British": (",", lambda v: f'"£{v:,.2f}"', "%d/%m/%Y", "utf-8"),
    "American": (",", lambda v: f'"${v:,.2f}"', "%m/%d/%Y", "utf-8"),
    "American, spelled": ("|", lambda v: f"USD {v:,.2f}", "%b %d %Y", "utf-8"),
    "Swiss": (";", swiss, "%d.%m.%y", "latin-1"),
    "accounting": (";", lambda v: f"({v - 25:,.2f})" if v > 25 else f"{25 - v:,.2f}", "%Y-%m-%d", "utf-8"),
    "SAP": (";", lambda v: german(v) + ("-" if v > 25 else ""), "%Y/%m/%d", "utf-8-sig"),
}


def month(path, style, seed, *, factor=1.0, years=0, rows=ROWS):
    """Write a month of orders; all that may differ between months is a factor of prices, and of ages."""
    delimiter, price, date, encoding = STYLES[style]
    rng = np.random.default_rng(seed)
    lines = [delimiter.join(["born", "land", "price", "count"])]
    values, days = rng.lognormal(3, 0.8, rows), rng.integers(0, 9000, rows)
    lands, counts = rng.choice(["DE", "FR", "Österreich"], rows), rng.integers(1, 9, rows)
    for value, day, land, count in zip(values, days.tolist(), lands, counts, strict=True):
        born = datetime.date(1970 + years, 1, 1) + datetime.timedelta(days=day)
        lines.append(delimiter.join([born.strftime(date), str(land), price(factor * value), str(count)]))
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


@pytest.mark.parametrize("style", STYLES)
def test_prices_and_dates_of_every_style_are_compared(nammd, tmp_path, style):
    reference = month(tmp_path / "reference.csv", style, 0)
    ran = nammd("calibrate", reference, *QUICK, "-o", "t.json")
    assert ran.code == 0, ran.err
    columns = {
        c["name"]: c["kind"] for c in json.loads((tmp_path / "t.json").read_text())["encoding"]["columns"]
    }
    assert columns == {"born": "datetime", "land": "categorical", "price": "numeric", "count": "numeric"}
    assert "read as" in ran.out
    assert "price: numbers with " in ran.out
    faults = {"good.csv": {}, "dear.csv": {"factor": 100}, "young.csv": {"years": 40}}
    for seed, (name, fault) in enumerate(faults.items(), 1):
        month(tmp_path / name, style, min(seed, 2), **fault)
    good, *bad = nammd("check", reference, *faults, "-t", "t.json", "--json").json["candidates"]
    assert good["exit_code"] in (0, 3), good
    assert good["inputs"]["columns"] == list(columns)
    assert [each["exit_code"] for each in bad] == [1, 1]


def test_a_small_rise_of_prices_is_found_in_a_european_file(nammd, tmp_path):
    reference = month(tmp_path / "reference.csv", "European", 0, rows=1000)
    nammd("calibrate", reference, "--margin", "noise=0.1", *MEDIAN, "-o", "t.json")
    dearer = month(tmp_path / "next.csv", "European", 1, factor=1.6, rows=1000)
    assert nammd("check", reference, dearer, "-t", "t.json").code == 1


def test_the_command_line_and_python_read_alike(nammd, tmp_path):
    one, two = (month(tmp_path / f"{k}.csv", "European", k) for k in range(2))
    shell = nammd("distance", one, two, "--json").json["value"]
    assert library.distance(one, two).value == shell
    frames = [pd.read_csv(path, sep=";", dtype=str) for path in (one, two)]
    assert library.distance(*frames).value == shell


DATES = "born,x\n03/04/2026,1.5\n05/06/2026,2.5\n07/08/2026,3.5\n01/02/2026,4.5\n"


def test_a_date_that_may_be_two_names_two_rows_and_the_option(nammd, tmp_path):
    (tmp_path / "x.csv").write_text(DATES)
    sentence = nammd("distance", "x.csv", "x.csv").sentence
    assert "row 1 has '03/04/2026' and row 2 has '05/06/2026'" in sentence
    assert "--date-format day-first or --date-format month-first" in sentence
    for option in ("day-first", "month-first", "%d/%m/%Y"):
        assert nammd("distance", "x.csv", "x.csv", "--date-format", option).code == 0
    assert nammd("distance", "x.csv", "x.csv", "--text", "born").code == 0


def test_numbers_that_may_be_two_name_the_option(nammd, tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n" + "1.200;x\n950;y\n12.500;x\n" * 4)
    assert "give --decimal '.' or --decimal ','" in nammd("distance", "x.csv", "x.csv").sentence
    assert nammd("distance", "x.csv", "x.csv", "--decimal", ",").code == 0
    assert nammd("distance", "x.csv", "x.csv", "--thousands", ".").code == 0


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--decimal", ";", "decimal must be '.' or ','"),
        ("--date-format", "dd.mm.yyyy", "date_format must be"),
        ("--encoding", "klingon", "there is no encoding 'klingon'"),
        ("--text", "nosuch", "has no column 'nosuch'"),
    ],
)
def test_wrong_options_have_their_sentence(nammd, tmp_path, option, value, words):
    (tmp_path / "x.csv").write_text("a,b\n1.5,x\n2.5,y\n")
    assert words in nammd("distance", "x.csv", "x.csv", option, value).sentence


def test_a_check_reads_the_next_file_as_the_reference(nammd, tmp_path):
    (tmp_path / "r.csv").write_text(
        "a;b\n" + "".join(f"{k},{k * k % 97};{'xyz'[k % 3]}\n" for k in range(300))
    )
    assert nammd("calibrate", "r.csv", *QUICK, "-o", "t.json").code == 0
    # Thousands by themselves look like decimals to everybody who does not know the reference.
    (tmp_path / "c.csv").write_text(
        "a;b\n" + "".join(f"1.{2 * k + 100};{'xyz'[k % 3]}\n" for k in range(300))
    )
    ran = nammd("check", "r.csv", "c.csv", "-t", "t.json")
    assert ran.code == 1
    for option in (["--decimal", "."], ["--na", ""], ["--text", "a"], ["--date-format", "day-first"]):
        assert "whose file fixes it" in nammd("check", "r.csv", "c.csv", "-t", "t.json", *option).sentence


def test_cells_that_cannot_be_read_are_counted_and_said(nammd, tmp_path):
    first, rows = ([f"{k},{(k + n) % 97};{'xyz'[k % 3]}" for k in range(300)] for n in (0, 50))
    (tmp_path / "r.csv").write_text("a;b\n" + "\n".join(first))
    (tmp_path / "c.csv").write_text("a;b\n" + "\n".join(["on request;x"] * 12 + rows[:288]))
    nammd("calibrate", "r.csv", *QUICK, "-o", "t.json")
    ran = nammd("check", "r.csv", "c.csv", "-t", "t.json")
    assert "c.csv: 12 of 300 values of 'a' cannot be read as numbers with decimal commas" in ran.out
    assert "such as 'on request'" in ran.out
    (tmp_path / "w.csv").write_text("a;b\n" + "\n".join(["on request;x"] * 200 + rows[:100]))
    sentence = nammd("check", "r.csv", "w.csv", "-t", "t.json").sentence
    assert "'a' of w.csv should hold numbers with decimal commas, as in the reference" in sentence
    assert "200 of its 300 values cannot be read so: row 1 has 'on request'" in sentence


def test_placeholders_are_reported(nammd, tmp_path):
    rng = np.random.default_rng(0)
    land = ["NA"] * 155 + ["DE"] * 200 + ["unknown"] * 145
    income = np.where(np.arange(500) % 10 == 0, -999, rng.integers(10, 100, 500))
    table = pd.DataFrame({"land": land, "income": income, "x": rng.normal(size=500)})
    table["large"] = np.where(np.arange(500) % 50 == 0, 9999999, rng.integers(10, 100, 500))
    table.to_csv(tmp_path / "x.csv", index=False)
    ran = nammd("calibrate", "x.csv", *QUICK, "-o", "t.json")
    assert "'land': 155 of 500 values read as missing: NA; use --na '' if that is a value" in ran.err
    assert "'land': 145 of 500 values are unknown, which counts as a category; use --na 'unknown'" in ran.err
    assert "'income': 50 of 500 values are -999, far from all others; use --na '-999'" in ran.err
    assert "'large': 10 of 500 values are 9999999, far from all others; use --na '9999999'" in ran.err
    encoding = json.loads((tmp_path / "t.json").read_text())["encoding"]
    assert encoding["columns"][0]["categories"] == ["DE", "unknown"]
    ran = nammd("calibrate", "x.csv", *QUICK, "-o", "n.json", "--na", "")
    encoding = json.loads((tmp_path / "n.json").read_text())["encoding"]
    assert set(encoding["columns"][0]["categories"]) == {"DE", "NA", "unknown"}
    assert encoding["reading"] == {"na": []}
    ran = nammd("calibrate", "x.csv", *QUICK, "-o", "m.json", "--na", "NA,unknown,-999")
    encoding = json.loads((tmp_path / "m.json").read_text())["encoding"]
    assert encoding["columns"][0]["categories"] == ["DE"]
    assert encoding["columns"][1]["center"] > 40


def test_words_among_numbers_are_reported_as_among_words(nammd, tmp_path):
    rng = np.random.default_rng(0)
    ages = [str(age) for age in rng.integers(18, 90, 500)]
    born = [f"{year}-01-31" for year in rng.integers(1950, 2000, 500)]
    for k in range(500):
        ages[k] = "NA" if k % 5 == 0 else "n/a" if k % 50 == 1 else "" if k % 50 == 2 else ages[k]
        born[k] = "NULL" if k % 25 == 0 else born[k]
    lines = [f"{age},{day},{x:.3f}" for age, day, x in zip(ages, born, rng.normal(size=500), strict=True)]
    (tmp_path / "x.csv").write_text("age,born,x\n" + "\n".join(lines))
    ran = nammd("calibrate", "x.csv", *QUICK, "-o", "t.json")
    assert "'age': 110 of 500 values read as missing: NA, n/a; use --na '' if that is a value" in ran.err
    assert "'born': 20 of 500 values read as missing: NULL" in ran.err
    assert "'x'" not in ran.err
    ran = nammd("calibrate", "x.csv", *QUICK, "-o", "t.json", "--force", "--sample", 300)
    assert "'age': 110 of 500 values read as missing" in ran.err  # all of the file was counted
    (tmp_path / "days").mkdir()
    for name, part in (("1.csv", lines[:250]), ("2.csv", lines[250:])):
        (tmp_path / "days" / name).write_text("age,born,x\n" + "\n".join(part))
    ran = nammd("calibrate", "days", *QUICK, "-o", "t.json", "--force")
    assert "'age': 110 of 500 values read as missing" in ran.err


def test_what_is_said_of_several_files_is_said_once(nammd, tmp_path):
    for k in range(6):
        month(tmp_path / f"{k}.csv", "European", k)
    ran = nammd("distance", "0.csv", "1.csv")
    assert ran.err.count("semicolons") == 1
    assert "0.csv and 1.csv: the columns are separated by semicolons, not by commas" in ran.err
    assert nammd("calibrate", "0.csv", *QUICK, "-o", "t.json").err.count("semicolons") == 1
    ran = nammd("check", *(f"{k}.csv" for k in range(6)), "-t", "t.json")
    assert ran.err.count("semicolons") == 1
    assert "0.csv, 1.csv, 2.csv and 3 others: the columns are separated by semicolons" in ran.err
    ran = nammd("rank", *(f"{k}.csv" for k in range(3)))
    assert "0.csv, 1.csv and 2.csv: the columns are separated by semicolons" in ran.err


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "utf-8"])
def test_encodings_are_recognised(nammd, tmp_path, encoding):
    text = "city,n\n" + "Köln,1.5\nZürich,2.5\nÅrhus,3.5\nNîmes,4.5\n" * 6
    (tmp_path / "x.csv").write_bytes(text.encode(encoding))
    (tmp_path / "y.csv").write_text(text)
    ran = nammd("distance", "x.csv", "y.csv", "--json")
    assert ran.json["value"] == pytest.approx(library.distance("y.csv", "y.csv").value)
    assert nammd("distance", "x.csv", "x.csv", "--encoding", encoding).code == 0


def test_an_encoding_that_is_not_known_is_asked_for(nammd, tmp_path):
    (tmp_path / "x.csv").write_bytes(("市,n\n" + "東京,1\n大阪,2\n" * 9).encode("shift-jis"))
    assert (
        "say which encoding it is in, for example --encoding latin-1"
        in nammd("distance", "x.csv", "x.csv").sentence
    )
    assert nammd("distance", "x.csv", "x.csv", "--encoding", "shift-jis").code == 0


def test_every_check_says_which_columns_it_compared(nammd, tmp_path):
    def table(path, note, fixed, rows=200):
        rng = np.random.default_rng(rows)
        columns = {"id": np.arange(rows), "x": rng.normal(size=rows), "note": note, "fixed": fixed}
        parquet.write_table(pa.table(columns | {"skip": rng.normal(size=rows)}), path)

    table(tmp_path / "r.parquet", [f"note {k}" for k in range(200)], ["a"] * 200)
    nammd("calibrate", "r.parquet", *QUICK, "--exclude", "skip", "-o", "t.json")
    table(tmp_path / "same.parquet", [f"note {k}" for k in range(300, 600)], ["a"] * 300, 300)
    ran = nammd("check", "r.parquet", "same.parquet", "-t", "t.json")
    [line] = [line for line in ran.out.splitlines() if line.lstrip().startswith("columns")]
    assert "1 compared; 4 left out: 'id' (it numbers the rows, like an identifier)" in line
    assert "'fixed' (every row has the same value), 'skip' (excluded)" in line
    assert "note: " not in ran.out
    table(tmp_path / "typed.parquet", np.arange(300) * 0.5, ["a"] * 300, 300)
    ran = nammd("check", "r.parquet", "typed.parquet", "-t", "t.json")
    assert ran.out.startswith("FAR: note: text in the reference, numbers now.")
    table(tmp_path / "usable.parquet", ["good", "bad", "good"] * 100, ["a"] * 300, 300)
    ran = nammd("check", "r.parquet", "usable.parquet", "-t", "t.json")
    assert "could be now: 'note' (every value is different, like an identifier in the reference)" in ran.out


def test_standard_input_is_a_file(nammd, tmp_path):
    month(tmp_path / "r.csv", "European", 0)
    month(tmp_path / "c.csv", "European", 1)
    expected = nammd("distance", "r.csv", "c.csv", "--json").json
    with (tmp_path / "c.csv").open("rb") as source:
        ran = program("distance", "r.csv", "-", "--json", cwd=tmp_path, stdin=source)
    assert ran.json["value"] == expected["value"]
    assert ran.json["inputs"]["files"][1]["path"] == "standard input"
    assert "standard input can be read once only" in nammd("distance", "-", "-").sentence


def test_databases_and_their_queries(nammd, tmp_path):
    rows = [
        (float(x), "ab"[k % 2], k // 200) for k, x in enumerate(np.random.default_rng(0).normal(size=400))
    ]
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("create table orders (x real, kind text, month integer)")
        database.executemany("insert into orders values (?, ?, ?)", rows)
    database.close()
    queries = [f"select x, kind from orders where month = {k}" for k in range(2)]
    address = "sqlite:///shop.db"
    ran = nammd("distance", address, address, "--query", queries[0], "--query", queries[1], "--json")
    months = [[row[:2] for row in rows if row[2] == k] for k in range(2)]
    first, second = (pa.table({"x": [r[0] for r in m], "kind": [r[1] for r in m]}) for m in months)
    assert ran.json["value"] == library.distance(first, second).value
    assert (
        f"{address} is a database; say what to read with --query"
        in nammd("distance", address, address).sentence
    )


def test_an_array_for_each_npz_file(nammd, tmp_path):
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=(50, 2)) for name in ("train", "test")}
    np.savez(tmp_path / "a.npz", **arrays)
    np.savez(tmp_path / "b.npz", other=arrays["test"], more=arrays["train"])
    ran = nammd("distance", "a.npz", "b.npz", "--key", "train", "--key", "other", "--json")
    assert ran.json["value"] == library.distance(arrays["train"], arrays["test"]).value
    assert "has no array 'train'" in nammd("distance", "a.npz", "b.npz", "--key", "train").sentence


def test_passwords_do_not_reach_the_output(nammd):
    address = "postgresql://me:secret@127.0.0.1:1/shop"
    sentence = nammd("distance", address, address, "--query", "select 1").sentence
    assert "secret" not in sentence
    assert "postgresql://127.0.0.1:1/shop" in sentence or "install" in sentence


def test_the_report_shows_numbers_and_dates_as_what_they_are(nammd, tmp_path):
    one = month(tmp_path / "one.csv", "European, euros", 0)
    two = month(tmp_path / "two.csv", "European, euros", 1, factor=3)
    assert nammd("check", one, two, "--epsilon", 0.001, "--html", "page.html").code == 1
    page = (tmp_path / "page.html").read_text()
    assert "€" not in page.split("<body", 1)[1].replace("the sign €", "")
    assert "median" in page


def test_sketches_read_files_as_the_tolerance_says(nammd, tmp_path):
    month(tmp_path / "r.csv", "European, euros", 0)
    month(tmp_path / "c.csv", "European, euros", 1, factor=100)
    assert nammd("calibrate", "r.csv", *QUICK, "-o", "t.json").code == 0
    for name in "rc":
        assert (
            nammd("sketch", f"{name}.csv", "-t", "t.json", "-o", f"{name}.sketch", "--n-features", 64).code
            == 0
        )
    assert nammd("check", "r.sketch", "c.sketch", "-t", "t.json").code == 1
