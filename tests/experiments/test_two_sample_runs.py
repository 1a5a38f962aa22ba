"""Where the rows of the two-sample tests come from, and how many they learn on."""

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest
from experiments.data import HIGGS
from experiments.experiment import Context
from experiments.paper import tst_power
from experiments.paper.pools import POOLS, Source, enough
from experiments.paper.tst_runs import AS_MANY, AUTOGLUON, LEARNED, Effort, auto_gluon
from experiments.registry import named

DATA = Path(os.environ.get("NAMMD_DATA") or "data")
needs_higgs = pytest.mark.skipif(
    not any((DATA / name).exists() for name in HIGGS), reason="no rows of higgs in the data folder"
)


def rows_of(*samples):
    return [set(map(bytes, np.ascontiguousarray(sample))) for sample in samples]


@needs_higgs
def test_equal_distributions_draw_both_samples_from_all_rows():
    source = Source("higgs", DATA, np.random.default_rng(0), alternative=False)
    seen = [set(), set()]
    for _ in range(40):
        x, y = rows_of(*source.draw(500))
        assert not x & y
        seen = [before | now for before, now in zip(seen, (x, y), strict=True)]
    # Every row gets into either sample; from halves of the data set each would have a half of its own.
    every = seen[0] | seen[1]
    assert len(every) > 0.95 * 2 * POOLS["higgs", False]
    assert len(seen[0] & seen[1]) > 0.95 * len(every)


@needs_higgs
@pytest.mark.parametrize("alternative", [True, False])
def test_rows_that_were_learned_on_are_not_tested_on(alternative):
    source = Source("higgs", DATA, np.random.default_rng(0), alternative=alternative)
    trained, draw = source.split(1000)
    x, y = rows_of(*trained)
    for _ in range(5):
        u, v = rows_of(*draw(900))
        assert not (u & x) | (v & y)
        if not alternative:
            assert not (u & v) | (u & y) | (v & x)


def test_methods_learn_on_as_many_rows_where_there_are_enough():
    sizes = (500, 1500, 3500)
    settings = dataclasses.replace(named("tst_power").full, as_many=True, higgs=sizes)
    cells = list(tst_power._cells(settings))
    many = {(c["data"], c["rows"]) for c in cells if str(c["group"]).endswith(AS_MANY)}
    every = {(c["data"], c["rows"]) for c in cells}
    assert ("higgs", 1500) in many
    assert ("higgs", 3500) in every - many
    assert {data for data, _ in every - many} == {"higgs"}
    assert enough("hdgm", 10**6)
    assert not enough("higgs", 3513)
    groups = {str(c["group"]) for c in cells}
    assert {f"{name}{AS_MANY}" for name in (*LEARNED, AUTOGLUON)} <= groups


@pytest.mark.parametrize("group", ["auto-tst", f"auto-tst{AS_MANY}"])
def test_learning_on_as_many_rows_tests_on_all(group, monkeypatch):
    sizes = []
    split = Source.split
    monkeypatch.setattr(Source, "split", lambda self, rows: (sizes.append(rows), split(self, rows))[1])
    cell = {"data": "blob", "rows": 40, "group": group, "chunk": 0, "count": 1}
    context = Context(np.random.default_rng(0), "cpu", DATA)
    found = tst_power.decisions(cell, Effort(19, 1, 3, 0.01), context, null=False)
    assert list(found["hits"]) == [group]
    assert len(found["hits"][group]) == 3
    assert sizes == [40 if group.endswith(AS_MANY) else 20]


def test_without_autogluon_there_are_no_decisions_by_it(monkeypatch):
    monkeypatch.setattr("experiments.paper.tst_runs.find_spec", lambda name: None)
    context = Context(np.random.default_rng(0), "cpu", DATA)
    assert auto_gluon("blob", 10, Effort(19, 1, 1, 0.01), context, False) == {}
