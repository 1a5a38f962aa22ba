"""Names of files and columns are printed as they are: no markup, no control characters."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from nammd.cli.printing import printable
from tests.cli.conftest import MEDIAN, people

MARKUP = ["[red]x[/red]", "<script>alert(1)</script>", "[/]", "a&b", ":smile:"]


def renamed(table: pa.Table, name: str) -> pa.Table:
    return table.rename_columns({"id": name, "age": f"{name} age"})


@pytest.fixture
def pair(tmp_path):
    """Two files with a column of a given name."""

    def make(name, file="candidate"):
        for stem, seed in {"reference": 1, file: 2}.items():
            parquet.write_table(renamed(people(seed, rows=100), name), tmp_path / f"{stem}.parquet")
        return "reference.parquet", f"{file}.parquet"

    return make


@pytest.mark.parametrize("colour", ["", "1"])
@pytest.mark.parametrize("name", MARKUP)
def test_markup_in_a_column_name_is_printed_as_it_is(nammd, pair, monkeypatch, name, colour):
    monkeypatch.setenv("FORCE_COLOR", colour)
    monkeypatch.setenv("COLUMNS", "200")
    files = pair(name)
    assert f"'{name}' is left out" in nammd("check", *files, "-e", 0.2).err
    ran = nammd("calibrate", "reference.parquet", "--margin", 0.02, *MEDIAN)
    assert f"{name} age" in ran.out
    assert ran.code == 0


@pytest.mark.parametrize("colour", ["", "1"])
@pytest.mark.parametrize("name", ["[red]x[_red]", "[bold]", "<script>", "a&b"])
def test_markup_in_a_file_name_is_printed_as_it_is(nammd, pair, monkeypatch, name, colour):
    monkeypatch.setenv("FORCE_COLOR", colour)
    monkeypatch.setenv("COLUMNS", "200")
    files = pair("id", name)
    ran = nammd("check", *files, "-e", 0.2, "--junit", "out.xml", "--verbose")
    assert f"{name}.parquet, 100 rows" in ran.out
    assert ElementTree.parse("out.xml").find("*/testcase").get("name").startswith(f"{name}.parquet is close")
    assert f"{name}-2.csv" in nammd("check", files[0], f"{name}-2.csv", "-e", 0.2).sentence


def test_control_characters_are_shown_not_obeyed(nammd, pair):
    files = pair("\x1b[31mred\x07")
    ran = nammd("check", *files, "-e", 0.2)
    assert "\x1b" not in ran.out + ran.err
    assert "\\x1b[31mred" in ran.err
    assert (
        nammd("check", *files, "-e", 0.2, "--json").checked["inputs"]["left_out"][0]["column"]
        == "\x1b[31mred\x07"
    )


def test_a_file_name_with_line_breaks_keeps_an_error_on_one_line(nammd):
    assert nammd("check", "a\nb.csv", "c.csv", "-e", 0.2).sentence


def test_a_name_with_a_comma_stands_in_quotes(nammd, pair):
    files = pair("a,b")
    found = nammd("check", *files, "-e", 0.2, "--columns", '"a,b age",city', "--json").checked
    assert found["inputs"]["columns"] == ["a,b age", "city"]


def test_colour_is_for_terminals_and_those_who_ask(nammd, files, monkeypatch):
    command = ("check", files / "x.npy", files / "z.npy", "-e", 0.01)
    assert "\x1b[" not in nammd(*command).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31mFAR" in nammd(*command).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in nammd(*command).out


def test_json_is_never_coloured(nammd, files, monkeypatch):
    command = ("check", files / "x.npy", files / "z.npy", "-e", 0.01, "--json")
    plain = nammd(*command)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert nammd(*command) == plain
    assert plain.checked["decision"] == "FAR"


def test_text_from_right_to_left_cannot_turn_the_line():
    assert printable("evil\u202egnp.exe") == "evil\\u202egnp.exe"
    assert printable("Zoë 漢字 👩‍👩‍👧") == "Zoë 漢字 👩‍👩‍👧"


def write_as(table, path):
    """Write a table in the format that the name of a file tells."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.endswith("folder"):
        path.mkdir()
        parquet.write_table(table, path / "part.parquet")
    elif ".csv" in path.name:
        with pa.output_stream(str(path), compression="gzip" if path.suffix == ".gz" else None) as file:
            csv.write_csv(table, file)
    elif path.suffix == ".arrow":
        feather.write_feather(table, str(path))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        parquet.write_table(table, path)


NAMES = (
    "2026-03-01T10:00:00.parquet",
    "a::b.parquet",
    "https://host/x.parquet",
    "sqlite:///x.parquet",
    "~nobody.parquet",
    "~~~.parquet",
    "-o.parquet",
    "--epsilon=1.parquet",
    "me:pw@db.parquet",
    "a=1;b=2.parquet",
    "https://host/x.csv",
    "me:pw@db.csv.gz",
    "s3:x.arrow",
    "file:x.jsonl",
    "memory:folder",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_that_of_a_file_where_there_is_one(nammd, tmp_path, name):
    for path, seed in (("reference.parquet", 1), (name, 2)):
        write_as(people(seed, rows=60), tmp_path / path)
    ran = nammd("distance", "--json", "--", "reference.parquet", name)
    assert ran.code == 0, ran
    assert ran.json["inputs"]["files"][1]["path"] == str(Path(name))


def test_in_a_hook_no_file_is_an_option(nammd, tmp_path):
    for name in ("reference.parquet", "--json", "--json.parquet"):
        parquet.write_table(people(len(name), rows=60), tmp_path / name)
    ran = nammd("hook", "distance", "reference.parquet", "--json.parquet")
    assert ran.code == 0, ran
    assert "--json.parquet, 60 rows" in ran.out
    assert nammd("hook", "distance", "reference.parquet", "--json.parquet", "--json").code == 2
