"""Rows of which nobody says to which group they belong: refused, groups of their own, or left out."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import nammd
from nammd.cli import main


def table(seed, missing=6, rows=120):
    rng = np.random.default_rng(seed)
    labels = [f"{seed}-{k}" for k in rng.integers(0, 15, rows)]
    labels[:missing] = [None] * missing
    numbers = rng.normal(size=(rows, 2))
    return pa.table(
        {"a": numbers[:, 0], "b": numbers[:, 1], "customer": labels, "w": rng.uniform(1, 2, rows)}
    )


def labelled(found, seed):
    own = [f"own {seed} {k}" if v is None else v for k, v in enumerate(found["customer"].to_pylist())]
    return found.set_column(2, "customer", pa.array(own))


X, Y = table(0), table(1, missing=4)


def test_missing_labels_are_refused_by_default():
    message = "the group of 6 rows of x is missing; .* groups=nammd.Groups"
    for groups in ("customer", nammd.Groups("customer")):
        with pytest.raises(ValueError, match=message):
            nammd.distance(X, Y, groups=groups)
    with pytest.raises(ValueError, match="missing must be one of 'error', 'own', 'drop'"):
        nammd.Groups("customer", missing="none")


def test_each_may_be_a_group_of_its_own():
    found = nammd.distance(X, Y, groups=nammd.Groups("customer", missing="own"), sample_weight="w")
    expected = nammd.distance(labelled(X, 0), labelled(Y, 1), groups="customer", sample_weight="w")
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-12)
    assert found.to_dict()["groups"]["rows_without_group"] == [6, 4]
    assert found.to_dict()["groups"]["in_both"] == 0
    assert dict(found.lines())["rows without a group"] == "6 and 4, each a group of its own"
    assert "groups=nammd.Groups('customer', missing='own')" in found.evidence.options_as_code()


def test_they_may_be_left_out():
    groups = nammd.Groups("customer", missing="drop")
    found = nammd.distance(X, Y, groups=groups, sample_weight="w")
    expected = nammd.distance(X.slice(6), Y.slice(4), groups="customer", sample_weight="w")
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert (found.m, found.n) == (114, 116)
    assert dict(found.lines())["rows without a group"] == "6 and 4, left out"
    every = X.set_column(2, "customer", pa.array([None] * len(X), pa.string()))
    with pytest.raises(ValueError, match="no row of x has a group"):
        nammd.distance(every, Y, groups=groups)


@pytest.mark.parametrize("missing", ["own", "drop"])
def test_labels_beside_arrays_say_the_same(missing):
    arrays = [np.column_stack([t["a"], t["b"]]) for t in (X, Y)]
    labels = [t["customer"].to_pylist() for t in (X, Y)]
    kernel = nammd.Gaussian(1.0)
    found = nammd.distance(*arrays, kernel=kernel, groups=nammd.Groups(labels, missing=missing))
    if missing == "drop":
        arrays, labels = (
            [a[[v is not None for v in k]] for a, k in zip(arrays, labels, strict=True)],
            [[v for v in k if v is not None] for k in labels],
        )
    else:
        labels = [labelled(t, n)["customer"].to_pylist() for n, t in enumerate((X, Y))]
    expected = nammd.distance(*arrays, kernel=kernel, groups=labels)
    assert found.value == pytest.approx(expected.value, rel=1e-12)


def test_pairs_and_tests_take_it_too():
    groups = nammd.Groups("customer", missing="drop")
    compared = nammd.compare_pairs((X, Y), (X, table(2, 3)), groups=groups)
    assert (
        compared.to_dict()["before"]["m"] == 114 if "before" in compared.to_dict() else compared is not None
    )
    result = nammd.two_sample_test(X, Y, groups=groups, permutations=99, rng=0)
    assert "rows without a group" in str(result)


def test_long_numbers_with_gaps_stay_apart():
    base = 2**60
    ids = pa.array([None, *(base + k // 3 for k in range(59))], pa.int64())
    x = pa.table({"a": np.arange(60.0), "account": ids})
    y = pa.table({"a": np.arange(60.0) / 2, "account": pa.array(np.arange(60) // 3)})
    found = nammd.distance(x, y, groups=nammd.Groups("account", missing="drop"))
    assert found.to_dict()["groups"]["x"] == 20


def test_a_tolerance_remembers_it(tmp_path):
    groups = nammd.Groups("customer", missing="drop")
    made = nammd.Tolerance.from_noise(table(0, 6, 400), groups=groups)
    made.save(tmp_path / "t.json")
    read = nammd.Tolerance.load(tmp_path / "t.json")
    assert dict(read.lines())["rows without a group"] == "left out"
    verdict = read.check(table(0, 6, 400), table(1, 4, 400))
    assert verdict.estimate.n == 396
    with pytest.raises(ValueError, match="made with missing='drop' for rows without a group"):
        read.check(table(0, 6, 400), Y, groups=nammd.Groups("customer", missing="own"))


@pytest.mark.parametrize("missing", ["own", "drop"])
def test_sketches_of_batches_are_those_of_the_whole(missing, tmp_path):
    features = nammd.RandomFeatures(nammd.Gaussian(1.0), 64)
    groups = nammd.Groups("customer", missing=missing)
    space = nammd.Space.fit(X.drop_columns(["customer"]), kernel=nammd.Gaussian(1.0))
    rows = X.slice(0, 3), X.slice(3, 3), X.slice(6)
    batches = nammd.Sketch.of_batches(rows, features, space=space, groups=groups)
    whole = nammd.Sketch.of(X, features, space=space, groups=groups)
    assert batches.units.count == whole.units.count
    assert batches.n == whole.n == (120 if missing == "own" else 114)
    batches.save(tmp_path / "x.sketch")
    left_out = 6 * (missing == "drop")
    assert nammd.Sketch.load(tmp_path / "x.sketch").noticed.left_out == left_out
    said = " ".join(batches.noticed.sentences(batches.n))
    assert ("without a group, and left out: 6 rows" in said) == bool(left_out)


def test_the_command_line_has_it(tmp_path, capsys):
    paths = [tmp_path / "x.csv", tmp_path / "y.csv"]
    for path, content in zip(paths, (X, Y), strict=True):
        csv.write_csv(content, path)
    files = list(map(str, paths))
    assert main(["distance", *files, "--group", "customer"]) == 2
    assert "--group-missing own" in capsys.readouterr().err
    assert main(["distance", *files, "--group", "customer", "--group-missing", "drop", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["groups"]["rows_without_group"] == [6, 4]
    assert main(["distance", *files, "--group-missing", "drop"]) == 2
    assert "--group-missing is about the groups of --group COLUMN" in capsys.readouterr().err
