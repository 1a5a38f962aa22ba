"""Columns that are read in several threads tell the same as in one, to the last bit."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

from nammd import Tolerance
from nammd.data import threads
from nammd.encoding import fitting


def table(rows, seed):
    rng = np.random.default_rng(seed)
    gaps = rng.random(rows) < 0.05
    prices = np.char.mod("%.2f", rng.lognormal(2.0, 1.0, rows)).astype(object)
    prices[::701] = "oops"
    sizes = np.char.mod("%d", rng.integers(0, 999, rows)).astype(object)
    sizes[::907] = "large"
    return pa.table(
        {
            "number": rng.normal(size=rows),
            "gaps": pa.array(rng.normal(size=rows), mask=gaps),
            "whole": rng.poisson(20.0, rows),
            "few": rng.integers(0, 5, rows),
            "place": pa.array(np.array(["Ulm", "Bonn", "Jena"])[rng.choice(3, rows, p=[0.6, 0.3, 0.1])]),
            "code": pa.array([f"code {k}" for k in rng.integers(0, 80, rows)]),
            "true": pa.array(rng.random(rows) < 0.3, mask=gaps),
            "day": pa.array(rng.integers(19_000, 19_500, rows).astype(np.int32)).cast(pa.date32()),
            "price": pa.array(prices),
            "size": pa.array(sizes),
        }
    )


def everything(x, y):
    tolerance = Tolerance.from_reference(x, anyway=True)
    verdict = tolerance.check(x, y)
    told = {"tolerance": tolerance.to_dict(), "verdict": verdict.to_dict(), "cautions": verdict.cautions}
    return re.sub(r'"created": "[^"]*"', "", json.dumps(told, default=repr))


@pytest.mark.parametrize("kind", ["table", "array"])
def test_results_are_the_same_in_any_number_of_threads(monkeypatch, kind):
    if kind == "table":
        x, y = (table(3000, seed) for seed in range(2))
        y = y.select(y.column_names[::-1])
    else:
        x, y = (np.random.default_rng(seed).normal(size=(3000, 6)) for seed in range(2))
    monkeypatch.setattr(threads, "_THREADS_PAY", 1)
    monkeypatch.setattr(fitting, "_MANY_ROWS", 1)
    found = []
    for cpus in (1, 2, 5):
        monkeypatch.setattr(threads, "cpu_count", lambda cpus=cpus: cpus)
        found.append(everything(x, y))
    assert found[0] == found[1] == found[2]
