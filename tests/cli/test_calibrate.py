"""``nammd calibrate``: three ways to say what is acceptable."""

import json

import pytest

from tests.cli.conftest import MEDIAN, people, write_csv


def test_accepted_data_set_the_tolerance(nammd, tmp_path, files, reference):
    ran = nammd("calibrate", reference, files / "accepted.parquet", "-o", "t.json")
    assert ran.code == 0
    assert ran.out.startswith("Close enough means NAMMD below ")
    assert "written to" in ran.out
    assert json.loads((tmp_path / "t.json").read_text())["format"] == "nammd-tolerance"


def test_the_farthest_of_several_accepted_files_counts(nammd, files, reference):
    near, far = files / "accepted.parquet", files / "far.parquet"
    how = "--ball", "--anyway", *MEDIAN, "--force", "--json"
    both = nammd("calibrate", reference, near, far, *how).json
    far = nammd("calibrate", reference, far, *how).json
    assert both["epsilon"] == pytest.approx(far["epsilon"])
    assert both["origin"]["chosen"] == "far"
    assert len(both["origin"]["rungs"]) == 2


@pytest.mark.parametrize("way", [["--noise", "1"], ["--noise", "0.3", "--kind", "missing"], ["--split"], []])
def test_a_tolerance_from_the_reference_alone_accepts_more_of_the_same(nammd, files, reference, way):
    assert nammd("calibrate", reference, *way, "-o", "t.json").code == 0
    assert nammd("check", reference, files / "far.parquet", "-t", "t.json").out.startswith(
        ("FAR", "UNDECIDED")
    )


def test_the_number_of_blocks_can_be_chosen(nammd, reference):
    rungs = nammd("calibrate", reference, "--split", "--blocks", 3, *MEDIAN, "--json").json["origin"]["rungs"]
    assert sum(rung["kind"] == "block" for rung in rungs) == 3


def test_json_says_what_was_written_where(nammd, tmp_path, reference):
    ran = nammd("calibrate", reference, "--split", *MEDIAN, "-o", "t.json", "--json")
    found, stored = ran.json, json.loads((tmp_path / "t.json").read_text())
    assert ran.err == ""
    assert found["output"] == "t.json"
    assert found["epsilon"] == stored["epsilon"]
    assert found["kernel"] == stored["kernel"]
    assert "cross_means" not in ran.out


def test_options_of_the_data_are_frozen_into_the_tolerance(nammd, tmp_path, reference):
    ran = nammd("calibrate", reference, "--split", "--exclude", "city", "--weights", "age=2", "-o", "t.json")
    assert ran.code == 0
    write_csv(people(5, 0.1).drop_columns(["city", "id"]), tmp_path / "today.csv")
    found = nammd("check", reference, "today.csv", "-t", "t.json", "--json").checked
    assert found["inputs"]["columns"] == ["age", "income"]


def test_the_same_seed_gives_the_same_tolerance(nammd, reference):
    def epsilon(seed):
        words = "calibrate", reference, "--split", "--seed", seed, *MEDIAN, "--force", "--json"
        return nammd(*words).json["epsilon"]

    assert epsilon(1) == epsilon(1) != epsilon(2)


@pytest.mark.parametrize(
    ("way", "words"),
    [
        (["--split", "--noise", "0.1"], "not --noise and --split together"),
        (["--split", "--kind", "flips"], "--kind says"),
        (["--noise", "0.1", "--blocks", "3"], "--blocks says"),
        (["--noise", "-1"], "positive"),
        (["--noise", "2", "--kind", "flips"], "at most 1"),
        (["--noise", "0.1", "--kind", "earthquake"], "earthquake"),
    ],
)
def test_what_is_acceptable_must_be_said_in_one_way(nammd, tmp_path, reference, way, words):
    assert words in nammd("calibrate", reference, *way, "-o", "t.json").sentence
    assert list(tmp_path.iterdir()) == []


def test_accepted_data_that_do_not_differ_are_refused_in_words_of_the_command_line(nammd, reference):
    sentence = nammd("calibrate", reference, reference, "--ball").sentence
    assert "--split" in sentence
    assert "Tolerance." not in sentence
    assert "are the rows of the reference" in nammd("calibrate", reference, reference).sentence
