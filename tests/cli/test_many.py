"""``nammd check`` with several candidates."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from pyarrow import parquet

from tests.cli.conftest import people


@pytest.fixture
def weeks(tmp_path):
    """Five files: three that are close, one that is far, and one that is no table."""
    paths = []
    for k, older in enumerate((0.0, 0.1, 2.0, 0.05)):
        paths.append(tmp_path / f"week-{k}.parquet")
        parquet.write_table(people(20 + k, older), paths[-1])
    (tmp_path / "week-9.parquet").write_bytes(b"PAR1 no, it is not")
    return [path.name for path in paths]


def table(out):
    """Return the lines of the table: name, verdict and the rest."""
    lines = out.splitlines()
    assert lines[1].split()[:2] == ["candidate", "verdict"]
    body = []
    for line in lines[2:]:
        words = line.split(maxsplit=2)
        if len(words) < 2 or words[1] not in ("CLOSE", "FAR", "UNDECIDED", "ERROR"):
            break
        body.append(words)
    return body


def test_a_line_for_each_candidate_and_the_exit_code_of_the_worst(nammd, weeks, reference, tolerance):
    ran = nammd("check", reference, *weeks, "-t", tolerance)
    assert ran.code == 1
    assert ran.out.startswith("FAR: 1 of 4 candidates is beyond the tolerance")
    assert [line[:2] for line in table(ran.out)] == [
        [name, "FAR" if name == "week-2.parquet" else "CLOSE"] for name in weeks
    ]
    assert "age: " in ran.out
    assert " higher at the median, " in ran.out
    assert ran.err == ""


def test_a_candidate_that_cannot_be_read_is_a_line_and_does_not_stop_the_others(
    nammd, weeks, reference, tolerance
):
    ran = nammd("check", reference, "week-9.parquet", *weeks, "gone.parquet", "-t", tolerance)
    assert ran.code == 2
    lines = {line[0]: line[1:] for line in table(ran.out)}
    assert lines["week-9.parquet"][0] == "ERROR"
    assert "week-9.parquet" in lines["week-9.parquet"][1]
    assert lines["gone.parquet"] == ["ERROR", "there is no file or folder 'gone.parquet'"]
    assert lines["week-0.parquet"][0] == "CLOSE"


@pytest.mark.parametrize(
    ("choice", "code"), [([], 3), (["--undecided", "ok"], 0), (["--undecided", "fail"], 1)]
)
def test_undecided_counts_as_it_does_for_one(nammd, files, tmp_path, choice, code):
    np.save(tmp_path / "same.npy", np.load(files / "x.npy")[::-1])
    np.save(tmp_path / "y.npy", np.load(files / "y.npy"))
    np.save(tmp_path / "y2.npy", np.load(files / "y.npy")[::-1])
    ran = nammd("check", files / "x.npy", "y.npy", "y2.npy", "-e", 0.002, *choice)
    assert ran.code == code
    assert ran.out.startswith("UNDECIDED: all 2 candidates are undecided")


def test_each_entry_is_that_of_a_check_alone(nammd, weeks, reference, tolerance):
    base = ("-t", tolerance, "--sample", 200, "--seed", 4, "--json")
    ran = nammd("check", reference, *weeks, *base)
    assert ran.err == ""
    assert [each["candidate"] for each in ran.json["candidates"]] == weeks
    assert ran.json["exit_code"] == ran.code
    for name, found in zip(weeks, ran.json["candidates"], strict=True):
        alone = nammd("check", reference, name, *base)
        assert alone.checked == found
        assert alone.json.keys() == ran.json.keys()
        assert found["exit_code"] == alone.code


def test_an_error_is_an_entry_among_the_others(nammd, weeks, reference, tolerance):
    ran = nammd("check", reference, *weeks, "gone.parquet", "-t", tolerance, "--json")
    assert ran.code == 2
    assert "error" not in ran.json
    last = ran.json["candidates"][-1]
    assert last["candidate"] == "gone.parquet"
    assert last["decision"] is None
    assert last["exit_code"] == 2
    assert last["error"] == {
        "kind": "FileNotFoundError",
        "message": "there is no file or folder 'gone.parquet'",
    }


def test_an_error_that_stops_all_is_told_for_each(nammd, weeks, tmp_path, tolerance):
    outputs = ("--json", "--junit", "out.xml", "--html", "out")
    ran = nammd("check", "gone.parquet", *weeks, "-t", tolerance, *outputs)
    assert ran.code == 2
    assert [each["error"]["kind"] for each in ran.json["candidates"]] == ["FileNotFoundError"] * 4
    [suite] = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("errors")) == ("4", "4")
    assert "there is no file or folder" in (tmp_path / "out" / "index.html").read_text()


def test_the_junit_suite_has_a_case_each(nammd, weeks, tmp_path, reference, tolerance):
    nammd("check", reference, *weeks, "week-9.parquet", "-t", tolerance, "--junit", "out.xml")
    [suite] = ElementTree.parse(tmp_path / "out.xml").getroot()
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "1", "errors": "1", "skipped": "0"}
    tags = [next((c.tag for c in case if c.tag != "system-out"), "passed") for case in suite]
    assert tags == ["passed", "passed", "failure", "passed", "error"]
    assert [case.get("name").split()[0] for case in suite] == [*weeks, "week-9.parquet"]


class Links(HTMLParser):
    """Collects links."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.found.append(dict(attrs)["href"])


def test_the_index_leads_to_a_page_for_each(nammd, weeks, tmp_path, reference, tolerance):
    ran = nammd("check", reference, *weeks[1:3], "week-9.parquet", "-t", tolerance, "--html", "out")
    assert "out/index.html" in ran.out.replace("\\", "/")
    index = (tmp_path / "out" / "index.html").read_text()
    links = Links(index).found
    assert len(links) == 3
    pages = [(tmp_path / "out" / link).read_text() for link in links]
    assert "FAR" in pages[1]
    assert "ERROR" in pages[2]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([*links, "index.html"])
    # Once more, into the folder that is there now.
    assert nammd("check", reference, *weeks[2:], "-t", tolerance, "--html", "out").code == 1
    assert (tmp_path / "out" / "index.html").read_text() != index


@pytest.mark.parametrize("place", ["a-file", "no/folder"])
def test_a_folder_that_cannot_be_made_is_refused_before_any_work(
    nammd, weeks, tmp_path, reference, tolerance, place
):
    (tmp_path / "a-file").write_text("keep me")
    words = nammd("check", reference, *weeks, "-t", tolerance, "--html", place).sentence
    assert "cannot write" in words
    assert (tmp_path / "a-file").read_text() == "keep me"


def test_holm_is_said_and_counts(nammd, weeks, reference, tolerance):
    base = ("check", reference, *weeks, "-t", tolerance)
    plain, adjusted = (nammd(*base, "--adjust", how, "--json").json["candidates"] for how in ("none", "holm"))
    assert all("Holm" in each["adjusted"] for each in adjusted)
    assert max(each["pvalue_far"] for each in plain) <= max(each["pvalue_far"] for each in adjusted)
    far = plain[2]["pvalue_far"], adjusted[2]["pvalue_far"]
    assert far[1] == pytest.approx(min(1.0, 4 * far[0]))
    assert "no CLOSE is wrong" in nammd(*base, "--adjust", "holm").out


def test_the_reference_is_read_once(nammd, weeks, reference, tolerance, monkeypatch):
    from nammd.data import opening

    read = []
    open_file = opening.open_file
    monkeypatch.setattr(opening, "open_file", lambda path, **how: read.append(path) or open_file(path, **how))
    nammd("check", reference, *weeks, "-t", tolerance)
    assert [path.name for path in read] == [reference.name, *weeks]


def test_without_a_tolerance_file_the_space_is_that_of_the_reference(nammd, weeks, reference):
    ran = nammd("check", reference, *weeks, "--epsilon", 0.1, "--json")
    for name, found in zip(weeks, ran.json["candidates"], strict=True):
        assert found["distance"] == nammd("check", reference, name, "-e", 0.1, "--json").checked["distance"]
    people_ran = nammd("check", reference, *weeks, "--epsilon", 0.1)
    assert people_ran.err.count("'id' is left out: ") == 1


def test_the_same_candidate_twice_is_refused(nammd, weeks, reference, tolerance):
    assert "given twice" in nammd("check", reference, weeks[0], weeks[0], "-t", tolerance).sentence


def test_cautions_name_those_that_they_are_about(nammd, weeks, tmp_path, reference, tolerance):
    more = people(30)
    parquet.write_table(more.append_column("new", more["age"]), tmp_path / "more.parquet")
    ran = nammd("check", reference, *weeks, "more.parquet", "-t", tolerance)
    assert "Note: more.parquet: columns that the tolerance does not know were ignored: 'new'" in ran.out


def test_colours_change_no_word(nammd, weeks, reference, tolerance, monkeypatch):
    plain = nammd("check", reference, *weeks, "-t", tolerance).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    coloured = nammd("check", reference, *weeks, "-t", tolerance).out
    assert "\x1b[" in coloured
    for name in weeks:
        assert name in coloured
    assert plain.splitlines()[0] in coloured


def test_sketches_are_checked_together(nammd, weeks, reference, tolerance):
    sketches = []
    for path in (reference, *weeks):
        sketches.append(f"{len(sketches)}.sketch")
        assert nammd("sketch", path, "-o", sketches[-1], "-t", tolerance, "--n-features", 256).code == 0
    ran = nammd("check", *sketches, "-t", tolerance)
    assert ran.code == 1
    assert [line[1] for line in table(ran.out)] == ["CLOSE", "CLOSE", "FAR", "CLOSE"]


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (["distance", "REF", "week-2.parquet"], "How far"),
        (["compare", "REF", "week-1.parquet", "week-2.parquet"], "week-2.parquet"),
        (["rank", "REF", "week-1.parquet", "week-2.parquet"], "nearest"),
    ],
)
def test_other_questions_write_pages_too(nammd, weeks, tmp_path, reference, command, word):
    filled = [reference if part == "REF" else part for part in command]
    plain = nammd(*filled)
    ran = nammd(*filled, "--html", "page.html")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == plain.out.splitlines()[0]
    assert "page.html" in ran.out
    page = (tmp_path / "page.html").read_text()
    assert word in page
    assert "<script" not in page
    assert nammd(*filled[:-1], "gone.csv", "--html", "error.html").sentence
    assert "gone.csv" in (tmp_path / "error.html").read_text()
    assert "named twice" in nammd(*filled, "--html", "week-2.parquet").sentence
    parquet.read_table(tmp_path / "week-2.parquet")


def test_json_is_the_only_thing_on_stdout_with_files_too(nammd, weeks, reference, tolerance):
    two = weeks[1:3]
    ran = nammd(
        "check", reference, *two, "-t", tolerance, "--json", "--html", "out", "--junit", "o.xml", "-v"
    )
    assert len(json.loads(ran.out)["candidates"]) == 2
    assert ran.err == ""
