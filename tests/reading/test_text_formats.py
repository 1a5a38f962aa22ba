"""Numbers, dates and truth values that are written as text are read as what they are."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nammd.reading.text_formats import BooleanForm, DateForm, NumberForm, TimeForm
from nammd.reading.text_formats.numbers import Cell
from nammd.tables import Encoding, Reading, read

RNG = np.random.default_rng(0)
ROWS = 120


def form_of(texts, **said):
    """Return how a column of text is read, beside a column that is always compared."""
    texts = list(texts)
    data = pa.table({"kept": RNG.normal(size=len(texts)), "text": pa.array(texts, pa.string())})
    encoding = Encoding.fit(data, reading=Reading(**said))
    left_out = [entry for entry in encoding.left_out if entry.column == "text"]
    return None if left_out else getattr(encoding.column("text"), "form", None)


def numbers_of(texts, **said):
    form = form_of(texts, **said)
    assert isinstance(form, NumberForm)
    return form.read(texts)[0].tolist()


NUMBERS = {
    "plain": (["1", "2.5", "-3", "+4", ".5", "1e3"], [1, 2.5, -3, 4, 0.5, 1000]),
    "decimal commas": (["1,5", "2,25", "-3,125", "0,5", "12"], [1.5, 2.25, -3.125, 0.5, 12]),
    "commas between thousands": (["1,234.50", "999.00", "12,345,678.90"], [1234.5, 999, 12345678.9]),
    "points between thousands": (["1.234,50", "999,00", "12.345.678,90"], [1234.5, 999, 12345678.9]),
    "spaces between thousands": (["1 234,50", "999,00", "12\u00a0345,00"], [1234.5, 999, 12345]),
    "thin spaces": (["1\u202f234,50", "999,00", "12\u2009345,25"], [1234.5, 999, 12345.25]),
    "apostrophes": (["1'234.50", "999.00", "12’345.25"], [1234.5, 999, 12345.25]),
    "only thousands, twice": (["1,234,567", "890", "12,345"], [1234567, 890, 12345]),
    "only thousands, points": (["1.234.567", "890", "12.345"], [1234567, 890, 12345]),
    "in India": (["12,34,567.5", "1,00,000", "90"], [1234567.5, 100000, 90]),
    "currency before": (["€12.30", "€ 1,234.00", "-€5.10"], [12.3, 1234, -5.1]),
    "currency behind": (["12,30 €", "1.234,00€", "5,10 EUR"], [12.3, 1234, 5.1]),
    "dollars": (["$12.30", "US$1,234.00", "USD 7.5"], [12.3, 1234, 7.5]),
    "francs": (["CHF 1'234.50", "CHF 20.00", "12.5 CHF"], [1234.5, 20, 12.5]),
    "crowns": (["12,50 kr", "1 200 kr", "7 kr"], [12.5, 1200, 7]),
    "percent": (["12.5%", "3 %", "-0.25 %"], [0.125, 0.03, -0.0025]),
    "percent, commas": (["12,5 %", "3 %", "100,0 %"], [0.125, 0.03, 1]),
    "brackets": (["(12.50)", "3.20", "(€1,000.00)"], [-12.5, 3.2, -1000]),
    "minus behind": (["12,50-", "3,20", "1.000,00-"], [-12.5, 3.2, -1000]),
    "another minus": (["−12.5", "–3.25", "4.5"], [-12.5, -3.25, 4.5]),
    "powers": (["1,5E+03", "2,5e-1", "7,0"], [1500, 0.25, 7]),
    "blanks around": (["  1.5", "2.5  ", "\t3.5"], [1.5, 2.5, 3.5]),
    "three decimals, told by zero": (["1,234", "0,125", "17"], [1.234, 0.125, 17]),
    "three decimals, told by length": (["1,234", "1234,500", "17"], [1.234, 1234.5, 17]),
    "as programs write": (["1.234", "5.678", "9.125"], [1.234, 5.678, 9.125]),
    "kilograms": (["12.5 kg", "3 kg", "1,234.75 kg"], [12.5, 3, 1234.75]),
    "kilograms, close by": (["12.5kg", "3kg", "0.75kg"], [12.5, 3, 0.75]),
    "degrees": (["12,5 °C", "-3 °C", "40 °C"], [12.5, -3, 40]),
    "speeds": (["50 km/h", "72 km/h", "130 km/h"], [50, 72, 130]),
    "areas": (["50 m²", "72.5 m²", "130 m²"], [50, 72.5, 130]),
    "pieces": (["5 Stück", "7 Stück", "12 Stück"], [5, 7, 12]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers(case):
    texts, expected = NUMBERS[case]
    np.testing.assert_allclose(numbers_of(texts), expected, rtol=1e-15)


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_have_the_encoding_of_the_numbers_that_they_are(case):
    texts, expected = NUMBERS[case]
    texts, expected = texts * 5, expected * 5
    as_text = Encoding.fit(pa.table({"a": texts})).transform(pa.table({"a": texts}))
    plain = pa.table({"a": pa.array(expected, pa.float64())})
    np.testing.assert_allclose(as_text, Encoding.fit(plain).transform(plain), atol=1e-12)


TEXT = {
    "codes": ["00123", "00456", "01789"],
    "postcodes": ["01067", "80331", "10115"],
    "versions": ["1.2.3", "1.10.4", "2.0.0"],
    "addresses": ["10.0.0.1", "10.0.12.7", "192.168.0.1"],
    "telephones": ["+49 170 1234567", "+49 30 7654321", "030 123 456"],
    "words": ["one", "two", "three"],
    "half of them": ["12", "13", "a", "b"],
    "two currencies": ["€12", "$13", "£14", "€15"],
    "ranges": ["10-20", "20-30", "30-40"],
    "sizes": ["1x2", "3x4", "5x6"],
    "months": ["2026-01", "2026-02", "2026-03"],
    "doors": ["10a", "11a", "12a"],
    "clothes": ["2XL", "3XL", "4XL"],
    "stars": ["1 star", "2 stars", "3 stars"],
    "memories": ["8 GB", "16 GB", "1 TB"],
    "ordinals": ["1st", "2nd", "3rd"],
    "streets": ["12 Main Street", "14 Main Street"],
    "genes": ["1q21", "2q34", "3q12"],
}


@pytest.mark.parametrize("case", TEXT)
def test_text_that_is_no_number_stays_text(case):
    assert form_of(TEXT[case] * 4) is None


def test_categories_that_somebody_declared_stay_categories():
    data = pd.DataFrame({"a": pd.Categorical(["1,5", "2,5"] * 20)})
    assert Encoding.fit(data).column("a").kind == "categorical"


UNSURE_NUMBERS = {
    "commas": ["1,234", "5,678", "9,012"],
    "points beside short ones": ["1.200", "950", "12.500"],
    "both": ["1.234", "5,678", "9.012"],
}


@pytest.mark.parametrize("case", UNSURE_NUMBERS)
def test_numbers_that_nobody_can_read_for_sure_are_an_error_with_two_rows_and_the_option(case):
    with pytest.raises(ValueError, match="no row tells which") as caught:
        form_of(["", *UNSURE_NUMBERS[case]])
    first, second = [text for text in UNSURE_NUMBERS[case] if len(text) > 3][:2]
    assert f"row 2 has {first!r}" in str(caught.value)
    assert f"has {second!r}" in str(caught.value)
    assert "Reading(decimal='.')" in str(caught.value)
    assert "--decimal ','" in caught.value.advice.shell


@pytest.mark.parametrize(
    ("other", "expected"),
    [(["7,5", "1,25", "3,5"], [1200, 950, 12500]), (["7.5", "1.25", "3.5"], [1.2, 950, 12.5])],
)
def test_other_columns_tell_how_numbers_are_written(other, expected):
    texts = ["1.200", "950", "12.500"]
    encoding = Encoding.fit(pa.table({"unsure": texts, "sure": other}))
    assert encoding.column("unsure").form.read(texts)[0].tolist() == expected


def test_options_say_how_numbers_are_written():
    assert numbers_of(["1,234", "5,678"], decimal=",") == [1.234, 5.678]
    assert numbers_of(["1,234", "5,678"], decimal=".") == [1234, 5678]
    assert numbers_of(["1,234", "5,678"], thousands=",") == [1234, 5678]
    assert form_of(["1,234", "5,678"] * 20, text=["text"]) is None


def test_cells_that_cannot_be_read_are_missing_and_counted():
    texts = [f"{k},5" for k in range(95)] + ["on request"] * 5
    encoding = Encoding.fit(pa.table({"price": texts}))
    encoded = encoding.transform(pa.table({"price": texts}))
    assert encoded[:, 1].sum() == 5
    [remark] = encoding.remarks
    assert "'price': 5 of 100 values cannot be read as numbers with decimal commas" in str(remark)
    assert "such as 'on request'" in str(remark)


DATES = {
    "ISO": (["2026-01-31", "1990-12-24"], "", ["2026-01-31", "1990-12-24"]),
    "ISO with time": (["2026-01-31T10:30:00", "1990-12-24 00:00"], "", ["2026-01-31 10:30", "1990-12-24"]),
    "points": (["31.12.1990", "01.02.2000"], "dmy", ["1990-12-31", "2000-02-01"]),
    "points, nothing told": (["03.04.2026", "05.06.2026"], "dmy", ["2026-04-03", "2026-06-05"]),
    "day first": (["31/12/1990", "01/02/2000"], "dmy", ["1990-12-31", "2000-02-01"]),
    "month first": (["12/31/1990", "02/01/2000"], "mdy", ["1990-12-31", "2000-02-01"]),
    "month first, evening": (
        ["12/31/1990 5:30 PM", "2/1/2000 12:00 am"],
        "mdy",
        ["1990-12-31 17:30", "2000-02-01"],
    ),
    "hyphens": (["31-12-1990", "01-02-2000"], "dmy", ["1990-12-31", "2000-02-01"]),
    "slashes, year first": (["1990/12/31", "2000/02/01"], "", ["1990-12-31", "2000-02-01"]),
    "two digits": (["31.12.90", "01.02.00"], "dmy", ["1990-12-31", "2000-02-01"]),
    "names": (["31 Dec 1990", "1 February 2000"], "", ["1990-12-31", "2000-02-01"]),
    "names, month first": (["Dec 31, 1990", "February 1, 2000"], "", ["1990-12-31", "2000-02-01"]),
    "names and hyphens": (["31-Dec-90", "01-Feb-00"], "", ["1990-12-31", "2000-02-01"]),
    "weekday": (["Mon, 31 Dec 1990", "Tue, 1 Feb 2000"], "", ["1990-12-31", "2000-02-01"]),
    "far": (["0001-01-01", "9999-12-31"], "", ["0001-01-01", "9999-12-31"]),
}


@pytest.mark.parametrize("case", DATES)
def test_dates(case):
    texts, order, expected = DATES[case]
    form = form_of(texts)
    assert isinstance(form, DateForm)
    assert form.order == order
    seconds = np.array(expected, dtype="datetime64[s]").astype(np.int64)
    assert form.read(texts)[0].tolist() == seconds.tolist()


def test_zones_are_taken_into_account():
    texts = ["2026-01-31T10:00:00+02:00", "2026-01-31T08:00:00Z", "2026-01-31 03:30:00-0430"]
    form = form_of([*texts, "2026-02-01T00:00Z"])
    assert form.clock == "zoned"
    assert len(set(form.read(texts)[0])) == 1
    assert form_of(["2026-01-31T10:00:00Z", "2026-01-31T10:00:00"] * 10) is None


def test_dates_that_nobody_can_read_for_sure_are_an_error_with_two_rows_and_the_option():
    with pytest.raises(ValueError, match="with the day first or with the month first") as caught:
        form_of([None, "03/04/2026", "05/06/2026", "07/08/2026"])
    assert "row 2 has '03/04/2026' and row 3 has '05/06/2026'" in str(caught.value)
    assert "--date-format day-first or --date-format month-first" in caught.value.advice.shell


def test_dates_in_both_orders_are_an_error_with_two_rows():
    with pytest.raises(ValueError, match="dates in different orders") as caught:
        form_of(["01/02/2026", "31/12/1990", "12/31/1990"])
    assert "row 2 has '31/12/1990' and row 3 has '12/31/1990'" in str(caught.value)


def test_another_column_tells_the_order():
    unsure, sure = ["03/04/2026", "05/06/2026"], ["12/31/2026", "01/02/2026"]
    assert Encoding.fit(pa.table({"a": unsure, "b": sure})).column("a").form.order == "mdy"


def test_options_say_how_dates_are_written():
    texts = ["03/04/2026", "05/06/2026"]
    assert form_of(texts, date_format="day-first").order == "dmy"
    assert form_of(texts, date_format="month-first").order == "mdy"
    for dates in (["20260403", "20260605"], pa.array([20260403, 20260605])):
        data = pa.table({"day": dates, "count": [3, 17]})
        encoding = Encoding.fit(data, reading=Reading(date_format="%Y%m%d"))
        assert [column.kind for column in encoding.columns] == ["datetime", "numeric"]
        assert encoding.transform(data)[:, 1].sum() == 0
    form = form_of(["3. 4. um 2026", "5. 6. um 2026"], date_format="%d. %m. um %Y")
    assert form.read(["3. 4. um 2026"])[0] == datetime.datetime(2026, 4, 3, tzinfo=datetime.UTC).timestamp()


def test_times_of_day_and_truth_values():
    form = form_of(["17:45", "5:45 PM", "08:00:30.5"])
    assert isinstance(form, TimeForm)
    assert form.read(["17:45", "5:45 PM", "08:00:30.5"])[0].tolist() == [63900, 63900, 28830.5]
    assert isinstance(form_of(["true", "False", "TRUE"]), BooleanForm)


@pytest.mark.parametrize(
    "options",
    [
        {"decimal": ";"},
        {"thousands": "x"},
        {"decimal": ",", "thousands": ","},
        {"date_format": "dd.mm.yyyy"},
        {"encoding": "klingon"},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Reading(**options)


def test_lists_of_words_are_not_a_word():
    with pytest.raises(TypeError, match="na must be a list of texts"):
        Reading(na="NA")


COLUMNS = {
    "price": [f"{1000 + 7.25 * k:,.2f}".translate(str.maketrans(",.", ".,")) for k in range(ROWS)],
    "share": [f"{k % 37},5 %" for k in range(ROWS)],
    "born": [f"{1 + k % 28:02}.{1 + k % 12:02}.{1950 + k % 50}" for k in range(ROWS)],
    "open": ["true" if k % 3 else "false" for k in range(ROWS)],
    "from": [f"{k % 24:02}:15" for k in range(ROWS)],
    "city": [["Ulm", "Bonn", "Köln"][k % 3] for k in range(ROWS)],
    "code": [f"{k % 7:05}" for k in range(ROWS)],
    "count": [str(k * k % 1013) for k in range(ROWS)],
    "note": ["" if k % 5 else "x" for k in range(ROWS)],
    "day": [f"2026-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(ROWS)],
}


def csv_of(columns, path, delimiter=";", encoding="utf-8"):
    rows = [delimiter.join(columns), *(delimiter.join(row) for row in zip(*columns.values(), strict=True))]
    path.write_bytes("\n".join(rows).encode(encoding))
    return path


HOLDERS = {
    "Arrow": lambda path: pa.table(COLUMNS),
    "pandas": lambda path: pd.DataFrame(COLUMNS),
    "pandas, objects": lambda path: pd.DataFrame(COLUMNS).astype(object),
    "pandas, read": lambda path: pd.read_csv(
        csv_of(COLUMNS, path), sep=";", dtype=str, keep_default_na=False
    ),
    "polars": lambda path: pl.DataFrame(COLUMNS),
    "polars, lazy": lambda path: pl.LazyFrame(COLUMNS),
    "CSV": lambda path: csv_of(COLUMNS, path),
    "CSV, tabs": lambda path: csv_of(COLUMNS, path, "\t"),
    "CSV, Latin-1": lambda path: csv_of(COLUMNS, path, encoding="latin-1"),
    "CSV, UTF-16": lambda path: csv_of(COLUMNS, path, encoding="utf-16"),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_the_same_data_have_the_same_encoding_wherever_they_are(holder, tmp_path):
    expected = Encoding.fit(pa.table(COLUMNS))
    held = HOLDERS[holder](tmp_path / "x.csv")
    encoding = Encoding.fit(held)
    kinds = {column.name: column.kind for column in encoding.columns}
    assert kinds == {
        "price": "numeric", "share": "numeric", "born": "datetime", "open": "boolean", "from": "datetime",
        "city": "categorical", "code": "categorical", "count": "numeric", "note": "categorical",
        "day": "datetime",
    }  # fmt: skip
    np.testing.assert_array_equal(encoding.transform(held), expected.transform(pa.table(COLUMNS)))
    np.testing.assert_array_equal(expected.transform(held), expected.transform(pa.table(COLUMNS)))


def test_an_encoding_keeps_how_columns_are_written():
    encoding = Encoding.fit(pa.table(COLUMNS), reading=Reading(na=["x"], text=["code"]))
    again = Encoding.from_dict(encoding.to_dict())
    assert again == encoding
    assert again.column("price").form == NumberForm(",")
    assert again.column("born").form == DateForm("dmy")
    assert again.reading == Reading(na=["x"], text=["code"])


def test_a_candidate_is_read_as_the_reference_was(tmp_path):
    encoding = Encoding.fit(pa.table({"a": [f"{k},5" for k in range(50)]}))
    candidate = csv_of({"a": ["1.234", "2.345", "3.456"], "b": ["x", "y", "z"]}, tmp_path / "next.csv")
    expected = encoding.transform(pa.table({"a": [1234.0, 2345.0, 3456.0]}))
    np.testing.assert_array_equal(encoding.transform(candidate), expected)


def test_what_the_reference_did_not_show_the_candidate_tells():
    encoding = Encoding.fit(pa.table({"a": [f"€{k}" for k in range(50)]}))
    expected = encoding.transform(pa.table({"a": [1.5, 2.25]}))
    np.testing.assert_array_equal(encoding.transform(pa.table({"a": ["€1,5", "€2,25"]})), expected)
    np.testing.assert_array_equal(encoding.transform(pa.table({"a": ["1.5", "2.25"]})), expected)


def test_text_beside_plain_numbers_is_read_as_numbers():
    encoding = Encoding.fit(pa.table({"a": np.arange(30) * 0.5}))
    expected = encoding.transform(pa.table({"a": [1.5, 2.25]}))
    np.testing.assert_array_equal(encoding.transform(pa.table({"a": ["1,5", "2,25"]})), expected)


def test_a_candidate_in_another_style_is_an_error_that_names_a_row():
    encoding = Encoding.fit(pa.table({"born": ["31.12.1990", "24.12.1991"] * 9}))
    with pytest.raises(ValueError, match="should hold dates, the day first") as caught:
        encoding.transform(pa.table({"born": ["12/31/1990", "12/24/1991", "01/02/2000"]}), name="next.csv")
    assert "2 of its 3 values cannot be read so: row 1 has '12/31/1990'" in str(caught.value)
    assert "next.csv" in str(caught.value)


def test_datasets_in_different_styles_are_refused_together():
    commas, points = pa.table({"a": ["1,5", "2,75"] * 9}), pa.table({"a": ["1.5", "2.75"] * 9})
    with pytest.raises(ValueError, match=r"decimal commas in dataset 1 .* decimal points in dataset 2"):
        Encoding.fit(commas, points)
    days, months = (
        pa.table({"a": ["31/12/1990", "1/2/1990"] * 9}),
        pa.table({"a": ["12/31/1990", "1/2/1990"] * 9}),
    )
    with pytest.raises(ValueError, match=r"the day first in dataset 1 .* the month first in dataset 2"):
        Encoding.fit(days, months)


def test_datasets_that_are_not_sure_follow_the_one_that_is():
    sure, unsure = pa.table({"a": ["1,5", "2,75"] * 9}), pa.table({"a": ["1.200", "950"] * 9})
    for pair in ((sure, unsure), (unsure, sure)):
        assert Encoding.fit(*pair).column("a").form.decimal == ","


def test_another_unit_is_refused_and_a_factor_is_seen():
    rng = np.random.default_rng(0)
    weights = rng.lognormal(0, 0.5, 300)
    reference = pa.table({"weight": [f"{w:.3f} kg" for w in weights], "n": rng.normal(size=300)})
    encoding = Encoding.fit(reference)
    assert encoding.read_as() == {"weight": "numbers with decimal points and the unit kg"}
    grams = pa.table({"weight": [f"{1000 * w:.0f} g" for w in weights], "n": reference["n"]})
    with pytest.raises(
        ValueError, match="should hold numbers with decimal points and the unit kg, as in the"
    ):
        encoding.transform(grams)
    with pytest.raises(ValueError, match=r"the unit kg, as elsewhere|in one way"):
        Encoding.fit(reference, grams)
    assert Encoding.from_dict(encoding.to_dict()) == encoding
    plain = pa.table({"weight": weights.round(3), "n": reference["n"]})
    np.testing.assert_allclose(Encoding.fit(plain).transform(reference), Encoding.fit(plain).transform(plain))


def test_numbers_beside_words_are_no_numbers():
    numbers, words = pa.table({"a": ["1", "2"] * 9}), pa.table({"a": ["one", "two"] * 9})
    with pytest.raises(ValueError, match="should hold numbers, as elsewhere, but 18 of its 18 values"):
        Encoding.fit(numbers, words)


def test_codes_in_csv_keep_their_zeros(tmp_path):
    loaded = read(csv_of({"code": ["007", "010"], "n": ["1", "2"]}, tmp_path / "x.csv", ","))
    assert loaded.data.to_pydict() == {"code": ["007", "010"], "n": [1, 2]}


@pytest.mark.parametrize("word", ["", "NA", " n/a "])
def test_a_column_of_words_for_missing_values_meets_text(word):
    rng = np.random.default_rng(0)
    x = pa.table({"city": rng.choice(["Ulm", "Bonn"], 40), "n": rng.normal(size=40)})
    y = pa.table({"city": [word] * 40, "n": rng.normal(size=40)})
    for tables in ([x, y], [y, x]):
        encoding = Encoding.fit(*tables)
        assert set(encoding.column("city").categories) == {"Ulm", "Bonn"}
        assert encoding.transform(y)[:, encoding.slots("city")].tolist() == [[0.0, 0.0, 0.0, 1.0]] * 40
    numbers = pa.table({"city": pa.array([-999] * 40), "n": x["n"]})
    mixed = pa.table({"city": pa.array(rng.normal(size=40)), "n": x["n"]})
    encoding = Encoding.fit(mixed, numbers, reading=Reading(na=["-999"]))
    assert any("40 of 80 values read as missing: -999" in str(remark) for remark in encoding.remarks)


def test_a_cell_that_is_no_number_is_none():
    for text in ("", "abc", "1-2", "(5", "5)", "--5", "€5$", "1.2.", "5e", "0x10", "12:30"):
        cell = Cell.of(text)
        assert cell is None or cell.value(".", None, "") is None, text
