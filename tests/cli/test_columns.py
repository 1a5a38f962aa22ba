"""Columns and facts in the shell: what makes a check fail, and what it says."""

from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from nammd.cli import main
from tests.cli.conftest import MEDIAN

ROWS = 600


def orders(folder, name, seed, new=0.0, age=40.0):
    rng = np.random.default_rng(seed)
    purpose = rng.choice(["car", "house", "study"], ROWS).astype(object)
    purpose[rng.random(ROWS) < new] = "crypto"
    columns = {"age": rng.normal(age, 10, ROWS), "price": rng.lognormal(3, 0.4, ROWS), "purpose": purpose}
    columns["order"] = [f"{name}-{k}" for k in range(ROWS)]
    path = folder / f"{name}.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("orders")
    return {
        "train": orders(folder, "train", 0),
        "accepted": orders(folder, "accepted", 1, age=46.0),
        "today": orders(folder, "today", 2),
        "spoiled": orders(folder, "spoiled", 3, new=0.1),
        "hardly": orders(folder, "hardly", 4, new=0.005),
    }


@pytest.fixture(scope="module")
def limit(made):
    # At the main scale alone: what is found there leaves more to columns.
    calibrate = "calibrate", made["train"], made["accepted"], *MEDIAN
    path = made["train"].with_name("t.json")
    assert main([*map(str, calibrate), "-o", str(path)]) == 0
    return path


def test_a_column_beyond_its_own_tolerance_is_far_and_told_in_words(nammd, made, limit, tmp_path):
    ran = nammd("check", made["train"], made["spoiled"], "-t", limit, "--junit", tmp_path / "j.xml")
    assert ran.code == 1
    assert ran.out.startswith("FAR: purpose: 'crypto' is new, 12 % of rows.\n")
    failure = ElementTree.parse(tmp_path / "j.xml").getroot().find(".//failure")
    assert failure.get("message") == "FAR: purpose: 'crypto' is new, 12 % of rows."
    assert "purpose: 'crypto' is new" in failure.text
    assert nammd("check", made["train"], made["today"], "-t", limit).code == 0


def test_joint_only_leaves_columns_out_of_the_verdict(nammd, made, limit):
    ran = nammd("check", made["train"], made["spoiled"], "-t", limit, "--joint-only")
    assert not ran.out.startswith("FAR")
    assert "purpose: 'crypto' is new, 12 % of rows" in ran.out


def test_json_has_the_columns(nammd, made, limit):
    told = nammd("check", made["train"], made["spoiled"], "-t", limit, "--json").checked
    assert told["columns"][0]["name"] == "purpose"
    assert [column["beyond"] for column in told["columns"]] == [True, False, False]
    assert told["reasons"] == ["purpose: 'crypto' is new, 12 % of rows"]
    assert (told["decision"], told["exit_code"]) == ("FAR", 1)


def test_what_is_negligible_is_said_when_calibrating(nammd, made, tmp_path):
    found = {}
    for wanted in ("categories=0.2", "purpose:categories=0.2", "age:shift=1", "none"):
        given = ["--negligible", wanted, "--margin", "missing=0.3", "-o", tmp_path / "n.json", "--force"]
        assert nammd("calibrate", made["train"], made["accepted"], *MEDIAN, *given).code == 0
        checked = "check", made["train"], made["spoiled"], "-t", tmp_path / "n.json"
        found[wanted] = nammd(*checked).code
    assert found.pop("none") == 1
    assert nammd(*checked, "--allow", "new-categories").code != 1
    assert found == {"categories=0.2": 0, "purpose:categories=0.2": 0, "age:shift=1": 1}


def test_a_number_has_columns_only_with_negligible(nammd, made):
    given = "check", made["train"], made["spoiled"], "--epsilon", 0.05, "--allow", "new-categories"
    assert nammd(*given).code == 0
    assert nammd(*given[:-2]).code == 1
    assert nammd(*given, "--negligible", "shift=0.1").code == 1


@pytest.mark.parametrize(
    "text", ["shift", "shift=much", "=0.1", "purpose:=0.1", "shfit=0.1", "prize:shift=0.1"]
)
def test_what_cannot_be_negligible_is_refused(nammd, made, text):
    said = nammd("check", made["train"], made["today"], "--epsilon", 0.05, "--negligible", text).sentence
    assert "negligible" in said


def test_negligible_belongs_to_a_tolerance_file(nammd, made, limit):
    said = nammd("check", made["train"], made["today"], "-t", limit, "--negligible", "shift=1").sentence
    assert "--negligible goes with --epsilon" in said


def test_a_check_fails_on_a_fact_and_a_tolerance_remembers_it(nammd, made, limit, tmp_path):
    plain = nammd("check", made["train"], made["hardly"], "-t", limit)
    assert (plain.code, plain.out[:5]) == (0, "CLOSE")
    assert "purpose: 'crypto' is new, 0.8 % of rows" in plain.out
    given = "--fail-on", "factor,new-categories"
    strict = nammd("check", made["train"], made["hardly"], "-t", limit, *given, "--junit", tmp_path / "j.xml")
    assert strict.code == 1
    assert strict.out.startswith("FAR: purpose: 'crypto' is new, 0.8 % of rows.")
    assert ElementTree.parse(tmp_path / "j.xml").getroot().find(".//failure").get("type") == "FAR"
    kept = tmp_path / "kept.json"
    assert nammd("calibrate", made["train"], made["accepted"], "-o", kept, *MEDIAN, *given).code == 0
    assert nammd("check", made["train"], made["hardly"], "-t", kept).code == 1
    assert nammd("check", made["train"], made["today"], "-t", kept).code == 0
    several = nammd("check", made["train"], made["today"], made["hardly"], "-t", kept)
    assert several.code == 1


def test_a_fact_that_does_not_exist_is_refused(nammd, made, limit):
    said = nammd("check", made["train"], made["today"], "-t", limit, "--fail-on", "new-category").sentence
    assert "'new-categories'" in said


def test_the_report_has_a_command_that_gives_it_again(nammd, made, limit, tmp_path):
    page = tmp_path / "r.html"
    nammd(
        "check", made["train"], made["spoiled"], "-t", limit, "--alpha", 0.01, "--joint-only", "--html", page
    )
    text = page.read_text(encoding="utf-8")
    given = f"nammd check {made['train']} {made['spoiled']} --tolerance {limit} --alpha 0.01 --joint-only"
    assert f"{given} --html {page}" in text
    assert "spoiled-" in text  # the orders of rows that stand out
    words = f"{given} --html {page}".split()[1:]
    assert nammd(*words).code in (0, 1, 3)
