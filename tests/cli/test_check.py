"""``nammd check``: verdicts, exit codes and the files it writes."""

from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tests.cli.conftest import people, write_csv


def test_a_close_candidate_exits_with_0_and_says_so_first(nammd, reference, close, tolerance):
    ran = nammd("check", reference, close, "--tolerance", tolerance)
    assert ran.code == 0
    assert ran.out.startswith("CLOSE: ")
    assert ran.err == ""


def test_a_far_candidate_exits_with_1(nammd, reference, far, tolerance):
    ran = nammd("check", reference, far, "-t", tolerance)
    assert ran.code == 1
    assert ran.out.startswith("FAR: ")


@pytest.mark.parametrize(
    ("choice", "code"), [([], 3), (["--undecided", "ok"], 0), (["--undecided", "fail"], 1)]
)
def test_an_undecided_check_exits_with_3_unless_told_otherwise(nammd, files, choice, code):
    ran = nammd("check", files / "x.npy", files / "y.npy", "--epsilon", 0.002, *choice)
    assert ran.out.startswith("UNDECIDED: ")
    assert "not enough rows to tell" in ran.out
    assert ran.code == code


@pytest.mark.parametrize(("epsilon", "code"), [(0.9, 0), (1e-3, 1)])
def test_undecided_does_not_change_what_is_decided(nammd, files, epsilon, code):
    for choice in ("ok", "fail"):
        ran = nammd("check", files / "x.npy", files / "z.npy", "-e", epsilon, "--undecided", choice)
        assert ran.code == code


def test_without_a_tolerance_the_columns_left_out_are_named_on_stderr(nammd, reference, close):
    ran = nammd("check", reference, close, "--epsilon", 0.1)
    assert ran.code == 0
    assert "'id' is left out: " in ran.err
    assert "1 left out: 'id' (every value is different, like an identifier)" in ran.out


def test_the_exit_code_is_explained_only_to_those_who_ask(nammd, reference, close):
    command = ("check", reference, close, "--epsilon", 0.1)
    assert "Exit code" not in nammd(*command).out
    assert nammd(*command, "--verbose").out.endswith("Exit code 0.\n")


def test_json_has_the_verdict_and_where_it_came_from(nammd, reference, far, tolerance):
    ran = nammd("check", reference, far, "--tolerance", tolerance, "--json", "--verbose")
    assert (ran.code, ran.err) == (1, "")
    assert (ran.json["command"], ran.json["exit_code"]) == ("check", 1)
    found = ran.checked
    assert (found["candidate"], found["decision"], found["exit_code"]) == (str(far), "FAR", 1)
    assert found["pvalue_far"] < 0.05 < found["pvalue_close"]
    assert found["inputs"]["columns"] == ["age", "income", "city"]
    assert [entry["column"] for entry in found["inputs"]["left_out"]] == ["id"]
    assert found["inputs"]["files"][1] == {
        "role": "candidate",
        "path": str(far),
        "rows": 300,
        "total_rows": 300,
        "sampled": False,
    }


def test_the_same_check_gives_the_same_json(nammd, reference, close):
    command = ("check", reference, close, "--epsilon", 0.1, "--sample", 100, "--seed", 3, "--json")
    assert nammd(*command).out == nammd(*command).out


def write(table, path):
    """Write a table in the format of the extension."""
    match path.suffix:
        case ".csv":
            write_csv(table, path)
        case ".tsv":
            path.write_text(table.to_pandas().to_csv(sep="\t", index=False))
        case ".jsonl":
            path.write_text(table.to_pandas().to_json(orient="records", lines=True))
        case ".feather":
            feather.write_feather(table, path)
        case ".arrow":
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
        case "":
            path.mkdir()
            parquet.write_table(table.slice(0, 100), path / "part-1.parquet")
            parquet.write_table(table.slice(100), path / "part-2.parquet")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".feather", ".arrow", ""])
def test_every_format_of_tables_gives_the_same_distance(nammd, tmp_path, reference, close, ending):
    candidate = tmp_path / f"candidate{ending}"
    write(people(5, 0.1), candidate)
    expected = nammd("check", reference, close, "--epsilon", 0.1, "--json").checked
    found = nammd("check", reference, candidate, "--epsilon", 0.1, "--json").checked
    assert found["distance"] == pytest.approx(expected["distance"], rel=1e-9)


def test_arrays_in_npz_files_are_chosen_by_key(nammd, tmp_path, files):
    arrays = {name: np.load(files / f"{name}.npy") for name in ("x", "z")}
    np.savez(tmp_path / "both.npz", **arrays, x2=arrays["x"])
    np.savez(tmp_path / "other.npz", x2=arrays["z"])
    assert nammd("check", "both.npz", "other.npz", "-e", 0.01, "--key", "x2").code == 1
    assert "'x', 'z', 'x2'" in nammd("check", "both.npz", "other.npz", "-e", 0.01).sentence


def test_columns_can_be_chosen_excluded_and_weighted(nammd, reference, far):
    base = ("check", reference, far, "--epsilon", 0.01, "--json")
    assert nammd(*base, "--columns", "income,city").checked["decision"] != "FAR"
    without = nammd(*base, "--exclude", "age")
    assert without.checked["decision"] != "FAR"
    assert without.checked["inputs"]["columns"] == ["income", "city"]
    plain, heavy = nammd(*base).checked["distance"], nammd(*base, "--weights", "age=3").checked["distance"]
    assert heavy > plain


def test_a_column_that_was_excluded_is_no_news(nammd, reference, close):
    assert nammd("check", reference, close, "--epsilon", 0.1, "--exclude", "id").err == ""


def test_kernel_and_bandwidth_can_be_chosen(nammd, files):
    base = ("check", files / "x.npy", files / "z.npy", "--epsilon", 0.01, "--json")
    assert nammd(*base, "--bandwidth", 2).checked["estimate"]["kernel"] == "Gaussian(bandwidth=2.0)"
    laplace = nammd(*base, "--kernel", "laplace", "--bandwidth", 2).checked["estimate"]["kernel"]
    assert laplace.startswith("Laplace")
    assert nammd(*base, "--kernel", "laplace").checked["decision"] == "FAR"
    one, two = (nammd(*base, "--threads", threads).checked["distance"] for threads in (1, 2))
    assert one == two


def test_a_sample_says_of_how_many_rows_it_is(nammd, reference, close):
    ran = nammd("check", reference, close, "--epsilon", 0.2, "--sample", 100)
    assert "100 of 300 rows" in ran.out


def test_more_columns_than_the_tolerance_knows_are_a_note(nammd, tmp_path, reference, tolerance):
    table = people(5, 0.1)
    parquet.write_table(table.append_column("new", table["age"]), tmp_path / "more.parquet")
    ran = nammd("check", reference, "more.parquet", "--tolerance", tolerance)
    assert ran.code == 0
    assert "Note: columns that the tolerance does not know were ignored: 'new'" in ran.out


def suite(path):
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites"
    [testsuite] = root
    [case] = testsuite
    return testsuite, case


def test_junit_passes_a_close_candidate(nammd, tmp_path, reference, close, tolerance):
    nammd("check", reference, close, "-t", tolerance, "--junit", "out.xml")
    testsuite, case = suite(tmp_path / "out.xml")
    assert (testsuite.get("tests"), testsuite.get("failures"), testsuite.get("skipped")) == ("1", "0", "0")
    assert case.find("failure") is None
    assert "CLOSE" in case.findtext("system-out")


def test_junit_fails_a_far_candidate_with_the_verdict_in_words(nammd, tmp_path, reference, far, tolerance):
    nammd("check", reference, far, "-t", tolerance, "--junit", "out.xml")
    testsuite, case = suite(tmp_path / "out.xml")
    assert testsuite.get("failures") == "1"
    assert case.find("failure").get("message").startswith("FAR: ")
    assert "p-value for FAR" in case.findtext("failure")


@pytest.mark.parametrize(("choice", "tag"), [([], "failure"), (["ok"], "skipped"), (["fail"], "failure")])
def test_junit_follows_what_undecided_counts_as(nammd, tmp_path, files, choice, tag):
    options = ["--undecided", *choice] if choice else []
    nammd("check", files / "x.npy", files / "y.npy", "-e", 0.002, "--junit", "out.xml", *options)
    _, case = suite(tmp_path / "out.xml")
    assert case.find(tag).get("message").startswith("UNDECIDED")


def test_the_report_is_written_and_named(nammd, tmp_path, reference, far, tolerance):
    ran = nammd("check", reference, far, "-t", tolerance, "--html", "report.html")
    assert ran.code == 1
    assert "report.html" in ran.out
    page = (tmp_path / "report.html").read_text()
    assert "<html" in page
    assert "FAR" in page


@pytest.mark.parametrize(
    "wrong", [["nothing.csv"], ["CLOSE", "--alpha", 2], ["CLOSE", "--columns", "nothing"]]
)
def test_an_error_is_written_where_the_result_was_to_be(nammd, tmp_path, reference, close, wrong):
    filled = [close if word == "CLOSE" else word for word in wrong]
    outputs = ("--html", "report.html", "--junit", "out.xml")
    words = nammd("check", reference, *filled, "-e", 0.1, *outputs).sentence
    testsuite, case = suite(tmp_path / "out.xml")
    assert (testsuite.get("errors"), testsuite.get("failures"), testsuite.get("tests")) == ("1", "0", "1")
    assert f"nammd: {case.find('error').get('message')}\n" == words
    page = (tmp_path / "report.html").read_text()
    assert "ERROR" in page
    assert "CLOSE" not in page.split("<body>")[1]


def test_an_error_is_never_written_over_what_is_read(nammd, tmp_path, reference, close):
    copy = tmp_path / "close.parquet"
    copy.write_bytes(close.read_bytes())
    for option in ("--html", "--junit"):
        assert "named twice" in nammd("check", reference, copy, "-e", 0.1, option, copy).sentence
        assert copy.read_bytes() == close.read_bytes()
    assert "named twice" in nammd("check", reference, copy, "-e", 0.1, "--html", "a", "--junit", "a").sentence
    assert nammd("check", reference, "nothing.csv", "-e", 0.1, "--html", "no/a", "--junit", ".").sentence
