"""Sheets of Excel workbooks, read with the care that CSV files get."""

import datetime
import io
import json
import re
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest

from nammd import Space
from nammd.cli import main
from nammd.cli.paths import file_of
from nammd.tables import Reading, batches, read


def book(path, **sheets):
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    workbook.save(path)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.xlsx"


def columns(path, **options):
    return read(path, **options).data.to_pydict()


def notes(path):
    return list(read(path).notes)


def test_the_only_sheet_is_read(path):
    when = datetime.datetime(2026, 1, 31, 12, 30)
    rows = [["n", "x", "when", "city", "at", "ok"], [1, 1.5, when, "Ulm", datetime.time(8, 30), True]]
    rows += [[2, None, None, None, None, False], [3, 2, when, "Bonn", datetime.time(9), None]]
    book(path, Sheet=rows, empty=[])
    assert columns(path) == {
        "n": [1, 2, 3],
        "x": [1.5, None, 2.0],
        "when": [when, None, when],
        "city": ["Ulm", None, "Bonn"],
        "at": [datetime.time(8, 30), None, datetime.time(9)],
        "ok": [True, False, None],
    }
    assert not notes(path)
    assert [part.num_rows for part in batches(path, columns=["x"], batch_rows=2)] == [2, 1]


def test_one_of_several_sheets_is_named(path):
    book(path, may=[["a"], [1]], June=[["a"], [2]])
    assert columns(f"{path}#may") == {"a": [1]}
    assert columns(Path(f"{path}#June")) == {"a": [2]}
    assert read(f"{path}#June").path == Path(f"{path}#June")
    with pytest.raises(ValueError, match=re.escape("has 2 sheets: 'may', 'June'; say which to read")):
        read(path)
    with pytest.raises(ValueError, match="has no sheet 'june'; did you mean 'June'"):
        read(f"{path}#june")
    assert [column.name for column in Space.fit(f"{path}#may", f"{path}#June").encoding.columns] == ["a"]
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Space.fit("nowhere.xlsx#may")


def test_a_file_may_have_the_sign_in_its_name(tmp_path):
    path = book(tmp_path / "a.xlsx#b.xlsx", s=[["a"], [1]])
    assert columns(path) == {"a": [1]}
    assert file_of(path) == path


def test_hidden_sheets_are_not_read_by_themselves(path):
    book(path, seen=[["a"], [1]], old=[["a"], [2]])
    workbook = openpyxl.load_workbook(path)
    workbook["old"].sheet_state = "hidden"
    workbook.save(path)
    assert columns(path) == {"a": [1]}
    assert notes(path) == ["the hidden sheet 'old' is not read"]
    assert columns(f"{path}#old") == {"a": [2]}


def test_many_rows_come_in_blocks(path):
    book(path, s=[["a", "b"], *([k, k / 2 if k > 6000 else k] for k in range(9000)), [None, ""]])
    found = columns(path)
    assert found["a"] == list(range(9000))
    assert found["b"][6000:6003] == [6000.0, 3000.5, 3001.0]


def test_empty_rows_are_left_out_and_said(path):
    book(path, s=[[], ["a", "b"], [1, 2], [], [None, ""], [3, None], [], []])
    assert columns(path) == {"a": [1, 3], "b": [2, None]}
    assert notes(path) == [
        "the names of the columns are in row 2",
        "2 empty rows among the others are left out",
    ]


def test_errors_are_missing_and_said(path):
    book(path, s=[["a", "b"], [1, "x"], ["#DIV/0!", "#N/A"], [3, "y"]])
    assert columns(path) == {"a": [1, None, 3], "b": ["x", None, "y"]}
    assert notes(path) == [
        "'a': 1 cell with an error (#DIV/0!) counts as missing",
        "'b': 1 cell with an error (#N/A) counts as missing",
    ]


def test_text_among_numbers_is_read_as_text_files_are(path):
    written = ["1.234,50", "12,25", "n/a", "7,00"]
    book(path, s=[["price"], *([k + 0.5] for k in range(4)), *([text] for text in written)])
    assert columns(path) == {"price": [0.5, 1.5, 2.5, 3.5, 1234.5, 12.25, None, 7.0]}
    assert notes(path) == ["'price': 3 cells of text read as numbers with decimal commas"]
    assert read(path).words == {"price": {"n/a": 1}}
    assert columns(path, reading=Reading(text=["price"]))["price"][3:5] == ["3.5", "1.234,50"]


def test_text_that_can_be_read_in_two_ways_is_refused(path):
    # That the cells which are numbers have decimals does not tell what the text means.
    book(path, s=[["price"], [12.5], [13.5], ["1.200"], ["950"]])
    with pytest.raises(ValueError, match=re.escape("row 4 has '1.200'")):
        read(path)
    assert columns(path, reading=Reading(decimal=","))["price"] == [12.5, 13.5, 1200.0, 950.0]


def test_text_among_dates_is_read(path):
    day = datetime.datetime(2026, 1, 31)
    book(path, s=[["when"], *([day] for _ in range(3)), ["30.12.1990"]])
    assert columns(path) == {"when": [day, day, day, datetime.datetime(1990, 12, 30)]}


def test_a_few_words_among_numbers_are_missing_and_said(path):
    book(path, s=[["a"], *([k] for k in range(20)), ["unknown"]])
    assert columns(path)["a"][-2:] == [19, None]
    assert notes(path) == ["'a': 1 cell of text, such as 'unknown', counts as missing"]


def test_labels_some_of_which_are_numbers_are_text(path):
    book(path, s=[["size"], [38], ["S"], [40.0], ["M"], ["L"]])
    assert columns(path) == {"size": ["38", "S", "40", "M", "L"]}


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            [1, datetime.datetime(2026, 1, 31)],
            "numbers (row 2 has '1') and dates (row 3 has '2026-01-31 00:00:00')",
        ),
        ([True, 3], "true and false (row 2 has 'True') and numbers (row 3 has '3')"),
        ([True, "maybe"], "true and false (row 2 has 'True') and text (row 3 has 'maybe')"),
    ],
)
def test_mixed_types_are_refused(path, cells, words):
    book(path, s=[["a"], *([cell] for cell in cells)])
    with pytest.raises(ValueError, match=re.escape(f"{path} mixes {words}")):
        read(path)


def test_numbers_beyond_64_bits_are_numbers(path):
    book(path, s=[["a"], [2**70], [1]])
    assert columns(path)["a"] == pytest.approx([2.0**70, 1.0])


def test_merged_cells_are_refused(path):
    workbook = openpyxl.Workbook()
    for row in [["shop", "x"], ["a", 1], [None, 2], [None, 3]]:
        workbook.active.append(row)
    workbook.active.merge_cells("A2:A4")
    workbook.save(path)
    with pytest.raises(ValueError, match="has 1 range of merged cells, such as A2:A4"):
        read(path)


def test_formulas_that_nobody_computed_are_refused(path):
    book(path, s=[["a", "b"], *([k, f"=A{k}*2"] for k in range(2, 40))])
    with pytest.raises(ValueError, match=re.escape("has 38 formulas without a value: B2 is =A2*2; open")):
        read(path)


def test_formulas_with_values_are_values(path):
    book(path, s=[["a", "b", "c"], [1, "=A2*2", "=T(1)"]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    sheet = re.sub(r'(<c r="B2"[^>]*><f>A2\*2</f>)<v ?/>', r"\1<v>2</v>", sheet.replace("<v></v>", "<v/>"))
    sheet = re.sub(r'<c r="C2"[^>]*><f>T\(1\)</f><v ?/>', '<c r="C2" t="str"><f>T(1)</f><v></v>', sheet)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (parts | {"xl/worksheets/sheet1.xml": sheet.encode()}).items():
            archive.writestr(name, content)
    assert columns(path) == {"a": [1], "b": [2], "c": [None]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "a"], [1, 2]], "has more than one column named 'a'"),
        (
            [["a", None, "c"], [1, 2, 3]],
            "has a value in B2, but no name for that column in row 1",
        ),
        ([["Sales"], ["a", "b"], [1, 2]], "if row 1 is a title, take it out"),
        ([["a", "#REF!"], [1, 2]], "has the error #REF! for the name of column B"),
        ([["a", "b"]], "has columns but no rows"),
        ([], "is empty: no sheet has anything in it"),
    ],
)
def test_what_is_wrong_with_a_sheet_is_said(path, rows, message):
    book(path, s=rows)
    with pytest.raises(ValueError, match=re.escape(message)):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04", "cannot be read as Excel: it is truncated or damaged"),
        (b"\xd0\xcf\x11\xe0 secret", "is locked with a password, or is an old workbook"),
        (b"a,b\n1,2\n", "is not an Excel file"),
        (b"", "is empty"),
    ],
)
def test_what_is_no_workbook_is_refused(path, content, message):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(f"{path} {message}")):
        read(path)


def test_a_cut_workbook_is_refused(path):
    book(path, s=[["a"], *([k] for k in range(5000))])
    whole = path.read_bytes()
    for size in (len(whole) // 3, len(whole) - 20):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="cannot be read as Excel"):
            read(path)


def test_columns_beside_the_table_without_anything_do_not_matter(path):
    book(path, s=[["a", None, "b", ""], [1, None, 2], [3, "", 4]])
    assert columns(path) == {"a": [1, 3], "b": [2, 4]}


def test_a_row_of_sums_is_named(path):
    book(path, s=[["city", "x"], ["Ulm", 1], ["Bonn", 2], ["Total", 3]])
    assert notes(path) == ["the last row has 'Total': if it sums up the others, take it out"]


def test_what_to_install_is_said(path, monkeypatch):
    book(path, s=[["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'nammd[excel]'")):
        read(path)


def test_a_workbook_may_come_through_standard_input(path, monkeypatch):
    book(path, s=[["a"], [1]])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert columns("-") == {"a": [1]}


def test_the_command_line_reads_sheets_and_spares_the_workbook(path, capsys):
    rows = [[k % 7, k / 3] for k in range(60)]
    book(path, one=[["a", "b"], *rows], two=[["a", "b"], *rows[30:], *rows[:30]])
    assert main(["distance", f"{path}#one", f"{path}#two", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["inputs"]["files"]
    assert [file["path"] for file in files] == [f"{path}#one", f"{path}#two"]
    before = path.read_bytes()
    assert main(["distance", f"{path}#one", f"{path}#two", "--html", str(path)]) == 2
    assert path.read_bytes() == before
