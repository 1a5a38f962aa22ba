"""``--text hashed``: free text on the command line."""

import pyarrow as pa
import pyarrow.csv
import pytest

from tests.cli.conftest import MEDIAN
from tests.encoding.text_samples import reviews


@pytest.fixture
def files(tmp_path):
    for name, seed, returns in (("old", 0, 0.2), ("fine", 1, 0.2), ("new", 2, 0.5)):
        pyarrow.csv.write_csv(pa.table(reviews(400, seed, returns)), tmp_path / f"{name}.csv")


def test_the_note_about_free_text_names_the_option(nammd, files):
    for command in (["distance", "old.csv", "new.csv"], ["calibrate", "old.csv", "fine.csv", "-o", "t.json"]):
        assert "to compare its words, give --text hashed" in nammd(*command).err
        command = [each.replace("t.json", "u.json") for each in command]
        assert "left out" not in nammd(*command, "--text", "hashed").err


def test_a_tolerance_with_free_text_finds_other_texts(nammd, files):
    assert nammd("calibrate", "old.csv", "fine.csv", "--text", "hashed", *MEDIAN, "-o", "t.json").code == 0
    ran = nammd("check", "old.csv", "new.csv", "-t", "t.json")
    assert ran.code == 1
    assert "changed" in ran.out
    assert "of texts" in ran.out
    refused = nammd("check", "old.csv", "new.csv", "-t", "t.json", "--text", "hashed")
    assert "--text cannot be combined with --tolerance" in refused.sentence


def test_the_word_stands_beside_names_of_columns(nammd, files):
    ran = nammd("distance", "old.csv", "new.csv", "--text", "stars,hashed", "--json")
    assert ran.code == 0
    assert ran.json["inputs"]["columns"] == ["stars", "price", "review"]
    refused = nammd("distance", "old.csv", "new.csv", "--text", "nosuch,hashed")
    assert "has no column 'nosuch'" in refused.sentence
