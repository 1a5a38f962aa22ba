"""Options that take a list take it in one piece or one after the other, and mean the same."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        rows = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
        rows["word"] = rng.choice(["on request", "none yet", "1.5", "2.5", "3.5"], 80)
        rows["code"] = rng.choice(["1", "2", "3"], 80)
        rows["zip"] = rng.choice(["7", "8", "9"], 80)
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path / "one.csv", tmp_path / "two.csv"


@pytest.mark.parametrize(
    ("option", "first", "second"),
    [
        ("--columns", "a", "b"),
        ("--exclude", "a", "b"),
        ("--weights", "a=2", "b=3"),
        ("--na", "on request", "none yet"),
        ("--text", "code", "zip"),
    ],
)
def test_questions(nammd, tables, option, first, second):
    both = nammd("distance", *tables, "--json", option, f"{first},{second}").json
    again = nammd("distance", *tables, "--json", option, first, option, second).json
    only = nammd("distance", *tables, "--json", option, second).json
    assert both["value"] == again["value"]
    assert both["value"] != only["value"]  # the first one counts too


def test_columns_that_are_left_out_one_by_one_are_all_left_out(nammd, tables):
    left = nammd("distance", *tables, "--json", *(x for name in "abc" for x in ("--exclude", name))).json
    kept = nammd("distance", *tables, "--json", "--columns", "d,word,code,zip").json
    assert left["value"] == kept["value"]


def test_calibrating(nammd, tables):
    def calibrated(*more):
        ran = nammd("calibrate", tables[0], "--noise", 0.5, "--anyway", "--force", "--json", *more)
        return ran.json

    assert (
        calibrated("--negligible", "shift=0.3", "--negligible", "a:missing=0.2")["negligible"]
        == (calibrated("--negligible", "shift=0.3,a:missing=0.2")["negligible"])
    )
    both = calibrated("--fail-on", "new-categories", "--fail-on", "factor")["facts"]
    assert both == calibrated("--fail-on", "new-categories,factor")["facts"]
    assert both["fail_on"] == ["new-categories", "factor"]
    given = calibrated("--allow", "precision:a", "--allow", "pile-up", "--fact-share", "0.02,a=0.1")["facts"]
    assert given["allow"] == ["precision:a", "pile-up"]
    assert (given["share"], given["shares"]) == (0.02, {"a": 0.1})
