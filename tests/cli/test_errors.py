"""Whatever is wrong, one sentence says so."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from nammd import __version__
from tests.cli.conftest import people, write_csv


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["check", "REF", "nothing.parquet", "-e", "0.1"], "there is no file or folder 'nothing.parquet'"),
        (["check", "REF", "OK"], "either --tolerance FILE"),
        (["check", "REF", "OK", "-e", "0.1", "-t", "t.json"], "not with both"),
        (["check", "REF", "OK", "-t", "t.json"], "there is no tolerance file t.json"),
        (["check", "REF", "OK", "-e", "0"], "epsilon must be strictly between 0 and 1, not 0"),
        (["check", "REF", "OK", "-e", "1.5"], "epsilon must be strictly between 0 and 1, not 1.5"),
        (["check", "REF", "OK", "-e", "much"], "--epsilon"),
        (["check", "REF", "OK", "-e", "0.1", "--alpha", "1"], "alpha must be strictly between 0 and 1"),
        (["check", "REF", "OK", "-e", "0.1", "--columns", "age,size"], "has no column 'size'"),
        (["check", "REF", "OK", "-e", "0.1", "--exclude", "ages"], "did you mean 'age'?"),
        (["check", "REF", "OK", "-e", "0.1", "--weights", "ages=2"], "did you mean 'age'?"),
        (["check", "REF", "OK", "-e", "0.1", "--weights", "age=heavy"], "entries such as age=2"),
        (["check", "REF", "OK", "-e", "0.1", "--weights", "age=-1"], "must be 0, or between"),
        (["check", "REF", "OK", "-e", "0.1", "--columns", "age,,city"], "names separated by commas"),
        (["check", "REF", "OK", "-e", "0.1", "--bandwidth", "0"], "bandwidth must be positive"),
        (["check", "REF", "OK", "-e", "0.1", "--kernel", "cubic"], "cubic"),
        (["check", "REF", "OK", "-e", "0.1", "--sample", "3"], "--sample"),
        (["check", "REF", "OK", "-e", "0.1", "--key", "x"], "NPZ"),
        (["check", "REF", "OK", "-e", "0.1", "--features", "resnet18"], "images"),
        (["check", "REF", "OK", "-e", "0.1", "--undecided", "perhaps"], "perhaps"),
        (["check", "REF", "OK", "-e", "0.1", "--colour"], "--colour"),
        (["check", "REF", "OK", "-e", "0.1", "--html", "no/report.html"], "there is no folder 'no'"),
        (["check", "REF", "OK", "-e", "0.1", "--junit", "."], "it is a folder"),
        (["calibrate", "REF", "--split", "-o", "no/t.json"], "there is no folder 'no'"),
        (["check", "REF"], "CANDIDATE"),
        (["chekc"], "chekc"),
        (["test", "REF", "OK", "--permutations", "0"], "--permutations"),
        (["test", "REF", "OK", "--seed", "-1"], "--seed"),
        (["demo", "--keep", "REF"], "exists"),
    ],
)
def test_wrong_usage_is_one_sentence(nammd, reference, close, command, words):
    filled = [{"REF": reference, "OK": close}.get(word, word) for word in command]
    assert words in nammd(*filled).sentence


def test_usage_errors_say_where_to_read_on(nammd):
    assert nammd("check").sentence.endswith("see 'nammd check --help'\n")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("check", ["-e", 0.1]),
        ("distance", []),
        ("test", []),
        ("rank", []),
        ("plan", ["-e", 0.1]),
        ("calibrate", ["-o", "t.json"]),
    ],
)
def test_with_json_an_error_is_a_document_too(nammd, reference, command, options):
    ran = nammd(command, reference, "nothing.csv", *options, "--json")
    assert ran.code == 2
    error = {"kind": "FileNotFoundError", "message": "there is no file or folder 'nothing.csv'"}
    head = {"schema": f"nammd/{command}/1", "nammd": __version__, "command": command, "exit_code": 2}
    entry = {"candidate": "nothing.csv", "decision": None, "error": error, "exit_code": 2}
    entries = {"candidates": [entry]} if command == "check" else {}
    assert ran.json == {**head, "error": error, **entries}
    assert ran.err == "nammd: there is no file or folder 'nothing.csv'\n"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["check", "a.csv", "b.csv", "--colour", "--json"], "check"),
        (["distance", "a.csv", "--json"], "distance"),
        (["monitor", "status", "--json"], "monitor status"),
    ],
)
def test_with_json_wrong_usage_is_a_document_too(nammd, words, command):
    ran = nammd(*words)
    assert (ran.code, ran.json["command"], ran.json["exit_code"]) == (2, command, 2)
    assert ran.err == f"nammd: {ran.json['error']['message']}\n"


def test_a_file_that_is_called_like_an_option_asks_for_no_document(nammd):
    assert nammd("distance", "--colour", "--", "--json").sentence


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "is empty"),
        ("header.csv", b"age,income,city,id\n", "no rows"),
        ("short.csv", b"id,age,income,city\na,1,2,Ulm\nb,2,3,Ulm\nc,3,4,Ulm\n", "at least 4"),
        ("ragged.csv", b"id,age,income,city\na,1,2,Ulm\nb,2\n", "ragged.csv"),
        ("table.xyz", b"1,2\n", "unknown extension"),
        ("broken.jsonl", b'{"age": 1}\n{"age": \n', "broken.jsonl"),
        ("wrong.parquet", b"PK\x03\x04 something else", "wrong.parquet"),
        ("text.npy", b"not an array", "text.npy"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(nammd, tmp_path, reference, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert words in nammd("check", reference, name, "-e", 0.1).sentence


def test_a_truncated_parquet_file_is_named(nammd, tmp_path, reference):
    whole = reference.read_bytes()
    (tmp_path / "half.parquet").write_bytes(whole[: len(whole) // 2])
    assert "half.parquet" in nammd("check", reference, "half.parquet", "-e", 0.1).sentence


def test_mismatched_columns_are_named(nammd, tmp_path, reference):
    write_csv(people(1).drop_columns(["city"]), tmp_path / "fewer.csv")
    assert "no column 'city'" in nammd("check", reference, "fewer.csv", "-e", 0.1).sentence
    words = people(1).drop_columns(["age"]).append_column("age", pa.array(["old"] * 300))
    parquet.write_table(words, tmp_path / "words.parquet")
    assert "'age'" in nammd("check", reference, "words.parquet", "-e", 0.1).sentence
    assert "'age'" in nammd("test", reference, "words.parquet").sentence


def test_arrays_and_tables_do_not_mix(nammd, files, reference):
    assert "table" in nammd("check", reference, files / "x.npy", "-e", 0.1).sentence
    assert "table" in nammd("distance", files / "x.npy", reference).sentence


def test_arrays_of_different_widths_are_refused(nammd, tmp_path, files):
    np.save(tmp_path / "wide.npy", np.zeros((10, 3)))
    assert "columns" in nammd("distance", files / "x.npy", "wide.npy").sentence


def test_columns_of_an_array_can_be_excluded_by_number(nammd, files):
    assert nammd("distance", files / "x.npy", files / "z.npy", "--exclude", "1", "--json").json["inputs"][
        "columns"
    ] == ["0"]
    assert "no column '7'" in nammd("distance", files / "x.npy", files / "z.npy", "--exclude", "7").sentence


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda stored: "{", "not valid JSON"),
        (lambda stored: "[1, 2]", "not a tolerance file"),
        (lambda stored: json.dumps({"format": "something"}), "not a tolerance file"),
        (lambda stored: json.dumps(stored | {"version": 99}), "newer nammd"),
        (lambda stored: json.dumps(stored | {"epsilon": None}), "damaged"),
        (lambda stored: json.dumps({k: v for k, v in stored.items() if k != "encoding"}), "damaged"),
    ],
)
def test_a_damaged_tolerance_file_is_one_sentence(
    nammd, tmp_path, reference, close, tolerance, change, words
):
    (tmp_path / "t.json").write_text(change(json.loads(tolerance.read_text())))
    sentence = nammd("check", reference, close, "-t", "t.json").sentence
    assert words in sentence
    assert "t.json" in sentence


def test_a_tolerance_for_other_columns_names_them(nammd, files, tolerance):
    sentence = nammd("check", files / "x.npy", files / "y.npy", "-t", tolerance).sentence
    assert "table" in sentence


@pytest.mark.parametrize(
    "option", [("--weights", "age=1"), ("--exclude", "age"), ("--bandwidth", "1"), ("--kernel", "laplace")]
)
def test_what_a_tolerance_fixes_cannot_be_chosen_again(nammd, reference, close, tolerance, option):
    sentence = nammd("check", reference, close, "-t", tolerance, *option).sentence
    assert f"{option[0]} cannot be combined with --tolerance" in sentence


def test_an_unexpected_failure_offers_the_traceback(nammd, monkeypatch, reference, close):
    def explode(*arguments, **options):
        raise ZeroDivisionError("division by zero\n  somewhere")

    monkeypatch.setattr("nammd.reading.files.read", explode)
    sentence = nammd("distance", reference, close).sentence
    assert "ZeroDivisionError: division by zero somewhere (set NAMMD_DEBUG=1 for the traceback)" in sentence
    monkeypatch.setenv("NAMMD_DEBUG", "1")
    assert "Traceback" in nammd("distance", reference, close).err


def test_a_missing_package_is_named_with_its_remedy(nammd, monkeypatch, reference, close):
    def missing(*arguments, **options):
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr("nammd.reading.files.read", missing)
    assert "pip install 'nammd[app]'" in nammd("distance", reference, close).sentence


def test_too_little_memory_suggests_a_sample(nammd, monkeypatch, reference, close):
    def hungry(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("nammd.reading.files.read", hungry)
    assert "--sample" in nammd("distance", reference, close).sentence
