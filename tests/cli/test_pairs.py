"""Joins that went wrong: every column is as it was, and the check fails all the same."""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import MEDIAN

WORDS = "net and tax no longer go together: rank correlation 0.9"


def joined(seed, rows, columns=10):
    """Ten columns, two of which have a correlation of .95."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows)
    b = 0.95 * a + np.sqrt(1 - 0.95**2) * rng.normal(size=rows)
    others = {f"x{k}": rng.normal(size=rows).round(3) for k in range(columns - 3)}
    kind = rng.choice(["shop", "web"], rows)
    return pd.DataFrame(
        {"net": np.exp(4 + a).round(2), "tax": np.exp(2 + b).round(3), "kind": kind, **others}
    )


def broken(table):
    return table.assign(tax=table["tax"].sample(frac=1, random_state=0).to_numpy())


def slipped(table):
    return table.assign(tax=np.roll(table["tax"], 1))


FAULTS = {"broken": broken, "slipped": slipped}


@pytest.mark.parametrize(
    ("rows", "columns", "kind", "fault"),
    [
        (300, 10, "csv", "broken"),
        (300, 20, "parquet", "slipped"),
        (600, 10, "csv", "slipped"),
        (600, 5, "parquet", "broken"),
    ],
)
def test_a_join_that_went_wrong_is_far_and_named(nammd, rows, columns, kind, fault):
    tables = [joined(seed, rows, columns) for seed in range(3)]
    for name, table in zip("xay", (*tables[:2], FAULTS[fault](tables[2])), strict=True):
        table.to_csv(f"{name}.csv", index=False) if kind == "csv" else table.to_parquet(f"{name}.parquet")
    assert nammd("calibrate", f"x.{kind}", f"a.{kind}", *MEDIAN, "-o", "t.json").code == 0
    ran = nammd("check", f"x.{kind}", f"y.{kind}", "-t", "t.json", "--junit", "r.xml")
    assert ran.code == 1
    assert WORDS in ran.out.splitlines()[0]
    assert WORDS in ElementTree.parse("r.xml").find(".//failure").text
    said = nammd("check", f"x.{kind}", f"y.{kind}", "-t", "t.json", "--json").checked
    assert [each["columns"] for each in said["pairs"] if each["beyond"]] == [["net", "tax"]]
    assert said["pairs_compared"] == columns * (columns - 1) // 2
    assert all(each["beyond"] is False for each in said["columns"])


def test_a_good_join_passes(nammd):
    for name, seed in zip("xay", range(3), strict=True):
        joined(seed, 600).to_parquet(f"{name}.parquet")
    nammd("calibrate", "x.parquet", "a.parquet", "-o", "t.json")
    ran = nammd("check", "x.parquet", "y.parquet", "-t", "t.json")
    assert ran.code == 0
    assert "10 columns (1.25 %) and 45 pairs (1.25 %)" in ran.out


def test_what_is_negligible_can_be_said(nammd):
    for name, table in (("x", joined(0, 300)), ("y", broken(joined(1, 300)))):
        table.to_parquet(f"{name}.parquet")
    nammd("calibrate", "x.parquet", *MEDIAN, "-o", "t.json", "--negligible", "relation=0.99")
    said = nammd("check", "x.parquet", "y.parquet", "-t", "t.json", "--json").checked
    assert said["pairs"] == []
    refused = nammd("calibrate", "x.parquet", "-o", "u.json", "--negligible", "relation=2").sentence
    assert "negligible relation must be" in refused


def test_sketches_say_that_they_do_not_know_pairs(nammd):
    for name, table in (("x", joined(0, 300)), ("y", joined(1, 300))):
        table.to_parquet(f"{name}.parquet")
    nammd("calibrate", "x.parquet", *MEDIAN, "-o", "t.json")
    for name in "xy":
        nammd("sketch", f"{name}.parquet", "-t", "t.json", "-o", f"{name}.sketch", "--n-features", 64)
    said = nammd("check", "x.sketch", "y.sketch", "-t", "t.json").out
    assert "sketches do not know pairs of columns" in said


def test_a_monitor_names_the_pair(nammd):
    for name, table in (("x", joined(0, 300)), ("good", joined(1, 300)), ("bad", broken(joined(2, 300)))):
        table.to_parquet(f"{name}.parquet")
    nammd("calibrate", "x.parquet", *MEDIAN, "-o", "t.json")
    nammd("monitor", "init", "m.monitor", "-r", "x.parquet", "-t", "t.json")
    nammd("monitor", "add", "m.monitor", "good.parquet", "--key", "1")
    assert nammd("monitor", "add", "m.monitor", "bad.parquet", "--key", "2").code == 1
    assert "net and tax no longer go together" in nammd("monitor", "status", "m.monitor", "--json").out
