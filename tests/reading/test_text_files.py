"""CSV and JSON lines: types that only show late in a file, and what counts as missing."""

import datetime as dt

import numpy as np
import pyarrow.csv
import pyarrow.json
import pytest

from nammd.reading import batches, column_types, delimited, jsonlines, read
from nammd.reading.parsing import Style


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a hundred bytes, so that a small file has many."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 100)
    monkeypatch.setattr(jsonlines, "BLOCK_BYTES", 100)


LATE = {
    "number": (["1"] * 60, "2.5"),
    "text": (["1"] * 60, "unknown"),
    "missing at first": ([""] * 60, "7"),
    "text after missing": (["NA"] * 60, "seven"),
    "date, then time": (["2024-01-01"] * 60, "2024-01-01 10:00:00"),
    "time, then fraction": (["2024-01-01 10:00:00"] * 60, "2024-01-01 10:00:00.5"),
    "zone": (["2024-01-01T10:00:00Z"] * 60, "2024-01-01T10:00:00.5Z"),
    "zero, then true": (["0", "1"] * 30, "true"),
    "true, then text": (["true"] * 60, "maybe"),
    "never": (["1"] * 60, "2"),
    "quoted newline": (['"a\nb"'] * 60, '"c\n\n,d"'),
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("case", LATE)
def test_a_type_that_changes_late_is_found_as_if_the_file_were_read_whole(case, tmp_path):
    early, late = LATE[case]
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "".join(f"{value},x\n" for value in [*early, late]))
    whole = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        # Words for missing values stay in text, where somebody may want to know of them.
        convert_options=pyarrow.csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=False),
    )
    loaded = read(path)
    assert loaded.data.schema == whole.schema
    assert loaded.data.to_pydict() == whole.to_pydict()
    parts = list(batches(path, columns=["a"]))
    assert len(parts) > 1
    assert [value for part in parts for value in part["a"].to_pylist()] == whole["a"].to_pylist()


def test_empty_text_is_missing_in_csv(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\nx,1\n,\nNA,2\n")
    assert read(tmp_path / "x.csv").data.to_pydict() == {"a": ["x", None, "NA"], "b": [1, None, 2]}


def test_a_byte_order_mark_and_windows_lines_are_fine(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n")
    assert read(tmp_path / "x.csv").data.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(("delimiter", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_other_delimiters_are_recognised_and_noted(delimiter, name, tmp_path):
    (tmp_path / "x.csv").write_text(f"a{delimiter}b\n1{delimiter}x,y\n")
    loaded = read(tmp_path / "x.csv")
    assert loaded.data.to_pydict() == {"a": [1], "b": ["x,y"]}
    assert loaded.notes == (f"the columns are separated by {name}, not by commas",)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("early", "late", "expected"),
    [
        ('{"a": 1}', '{"a": 2.5}', 2.5),
        ('{"a": null}', '{"a": "x"}', "x"),
        ('{"a": "2024-01-01"}', '{"a": "later"}', "later"),
        ('{"a": "later"}', '{"a": "2024-01-01"}', "2024-01-01"),
        ('{"a": 1}', '{"b": 5, "a": 3}', 3),
    ],
)
def test_json_types_are_brought_together(early, late, expected, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join([early] * 40 + [""] + [late]))  # no newline at the end
    loaded = read(path)
    assert loaded.rows == 41
    values = loaded.data["a"].to_pylist()
    assert values[-1] == expected
    if "b" in loaded.data.column_names:
        assert loaded.data["b"].to_pylist() == [None] * 40 + [5]


def test_times_in_json_are_times(tmp_path):
    (tmp_path / "x.ndjson").write_text('{"t": "2024-01-01 10:00:00"}\n{"t": null}\n')
    assert read(tmp_path / "x.ndjson").data["t"].to_pylist() == [dt.datetime(2024, 1, 1, 10), None]


@pytest.mark.usefixtures("small_blocks")
def test_a_line_longer_than_a_block_is_read(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": "%s"}\n{"a": "y"}\n' % ("x" * 1000))
    assert read(tmp_path / "x.jsonl").data["a"].to_pylist() == ["x" * 1000, "y"]


@pytest.mark.parametrize("kept", [0, 16])
def test_words_among_numbers_are_counted_in_all_blocks(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 100)
    monkeypatch.setattr(delimited, "KEPT_BLOCKS", kept)
    cells = ["NA" if k % 10 == 3 else "" if k % 10 == 5 else str(k) for k in range(100)]
    cells[99] = "null"
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "".join(f"{cell},NA{k}\n" for k, cell in enumerate(cells)))
    loaded = read(path)
    assert loaded.words == {"a": {"NA": 10, "null": 1}}
    assert loaded.data["a"].null_count == 21
    assert loaded.data["b"].null_count == 0


UNSURE = ["00123", "1.250", "-12.500", "+999.000"]
SURE = ["", "0", "12", "12.5", "1.2500", "1000.250", "a0123", "0.125", "-00.1"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line", ["\n", "\r\n", "\r"])
def test_columns_of_cells_that_may_be_codes_or_thousands_are_known_by_the_bytes(delimiter, line, tmp_path):
    style, rng = Style(tmp_path, delimiter, "utf-8", (), 100), np.random.default_rng(0)
    for _ in range(50):
        rows = rng.choice([*UNSURE, *SURE], (rng.integers(1, 6), rng.integers(1, 9)))
        text = "".join(delimiter.join(row) + line for row in rows)
        known = {k for row in rows for k, cell in enumerate(row) if cell in UNSURE}
        assert column_types._places(style, text.encode()) == known
        quoted = [[f'"{cell}"' if rng.random() < 0.5 else cell for cell in (*row, 'a ""b""')] for row in rows]
        text = "".join(delimiter.join(row) + line for row in quoted)
        assert column_types._places(style, text.encode()) == known


@pytest.mark.parametrize("cell", ['"a, b"', '"a\nb"', '"a\rb"', '"a ""b"", c"', '"a ""b, c"""'])
def test_where_cells_are_separated_within_quotes_the_bytes_do_not_tell_the_column(cell, tmp_path):
    style = Style(tmp_path, ",", "utf-8", (), 100)
    text = f'"x",{cell},00123\n'.encode()
    assert column_types._places(style, text) is None
    assert column_types._places(style, text.replace(b"00123", b"0.123")) == set()


def test_empty_cells_of_text_are_missing_in_each_column_that_has_some(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\nUlm,x,NA\n,y,Bonn\nKiel,z,\n,x,\n")
    assert read(path).data.to_pydict() == {
        "a": ["Ulm", None, "Kiel", None],
        "b": ["x", "y", "z", "x"],
        "c": ["NA", "Bonn", None, None],
    }


def test_only_columns_that_may_hold_codes_are_read_as_text(tmp_path, monkeypatch):
    asked = []
    opened = column_types.opened

    def watched(style, types, *others):
        asked.append((len(types), *map(len, others[:1])))
        return opened(style, types, *others)

    monkeypatch.setattr(column_types, "opened", watched)
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\n1,00123,7\n2,00456,8\n")
    assert read(path).data.to_pydict() == {"a": [1, 2], "b": ["00123", "00456"], "c": [7, 8]}
    # All types are guessed once, and known the second time.
    assert asked == [(0,), (1, 1), (3,)]
