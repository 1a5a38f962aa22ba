"""Finer scales from the shell: fine structure is FAR and named, and can be left out."""

import numpy as np
import pandas as pd


def values(seed, rows=800):
    a, b = np.random.default_rng(seed).normal(size=(2, rows))
    return pd.DataFrame({"a": a, "b": b})


def comb(table):
    """Values that avoid every other strip: no fact tells of it, and each column has nearly its law."""
    return table + 0.12 * np.sign(np.sin(10 * table))


def test_fine_structure_is_far_and_named(nammd):
    for name, table in {"x": values(0), "good": values(1), "bad": comb(values(2))}.items():
        table.to_parquet(f"{name}.parquet")
    assert nammd("calibrate", "x.parquet", "--margin", "noise=0.1", "-o", "all.json").code == 0
    made = nammd(
        "calibrate", "x.parquet", "--margin", "noise=0.1", "--scales", "median", "-o", "median.json", "--json"
    )
    assert made.code == 0
    good = nammd("check", "x.parquet", "good.parquet", "--tolerance", "all.json")
    assert "finer scales       not beyond at 1/2, 1/4, 1/8 and 1/16 of the bandwidth" in good.out
    assert "the overall test at 5 scales (2.5 %)" in good.out
    bad = nammd("check", "x.parquet", "bad.parquet", "--tolerance", "all.json", "--joint-only")
    assert bad.code == 1
    assert "FAR: the difference is fine-grained: at a" in bad.out
    told = nammd("check", "x.parquet", "bad.parquet", "--tolerance", "all.json", "--joint-only", "--json")
    assert [each["scale"] for each in told.checked["scales"]] == [1.0, 0.5, 0.25, 0.125, 0.0625]
    assert [each["beyond"] for each in told.checked["scales"]].count(True) >= 1
    before = nammd(
        "check", "x.parquet", "bad.parquet", "--tolerance", "median.json", "--joint-only", "--json"
    )
    assert before.checked["decision"] != "FAR"
    assert len(before.checked["scales"]) == 1


def test_one_distance_per_scale(nammd):
    for name, table in {"x": values(0), "y": comb(values(1))}.items():
        table.to_parquet(f"{name}.parquet")
    found = nammd("distance", "x.parquet", "y.parquet", "--scales", "all", "--json").json["scales"]
    assert [each["scale"] for each in found] == [0.5, 0.25, 0.125, 0.0625]
    shown = nammd("distance", "x.parquet", "y.parquet", "--scales", "all").out
    assert "at a quarter of the typical distance" in shown
    assert "typical distance" not in nammd("distance", "x.parquet", "y.parquet").out
