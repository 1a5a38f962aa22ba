"""One column of an array that drowns the others is told of; and columns are scaled if asked for."""

import json

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.cli import main
from nammd.tables import Encoding

CODE = "one-column-dominates"


def people(seed, rows=400, shift=0.0):
    """Return age in years, and income in euros."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(40 + shift, 12, rows), rng.normal(4e4, 1e4, rows)])


X, Y = people(0), people(1)


def codes(result):
    return [caution.code for caution in result.cautions]


def scaled(*data):
    return nammd.Space.fit(*data, scale="robust")


def test_every_question_says_it():
    told = str(nammd.distance(X, Y))
    assert (
        "column 1 makes 99.99 % of the squared distance between rows, so the other one hardly counts" in told
    )
    assert "scale them with space=Space.fit(..., scale='robust') (--scale robust)" in told
    labels = np.repeat(np.arange(80), 5)
    results = [
        nammd.distance(X, Y),
        nammd.distance(X, Y, groups=(labels, labels + 80)),
        nammd.closeness_test(X, Y, 0.05, alternative="less"),
        nammd.two_sample_test(X, Y, permutations=19, rng=0),
        nammd.two_sample_test(X, Y, method="mmd-agg", permutations=19, rng=0),
        nammd.two_sample_test(X, Y, groups=(labels, labels + 80), permutations=19, rng=0),
    ]
    for result in results:
        assert codes(result).count(CODE) == 1


def test_a_tolerance_and_its_checks_say_it_once():
    tolerance = nammd.Tolerance.from_reference(X)
    assert CODE in [caution.code for caution in tolerance.origin.cautions]
    assert codes(tolerance.check(X, Y)).count(CODE) == 1
    fixed = nammd.Tolerance.at(0.05, nammd.Gaussian(1e4), n_columns=2)
    assert codes(fixed.check(X, Y)).count(CODE) == 1


@pytest.mark.parametrize(
    "data",
    [
        lambda k: people(k) / [12, 1e4],
        lambda k: people(k)[:, 1:],
        lambda k: pa.table({"age": people(k)[:, 0], "income": people(k)[:, 1]}),
        lambda k: np.random.default_rng(k).normal(size=(400, 30)),
    ],
    ids=["alike", "one column", "a table", "many columns"],
)
def test_it_is_not_said_where_it_is_not_so(data):
    assert CODE not in codes(nammd.distance(data(0), data(1)))


def test_kernels_that_weigh_columns_themselves_are_not_asked():
    assert CODE not in codes(nammd.distance(X, Y, kernel=nammd.Mahalanobis.median(X)))
    features = nammd.RandomFeatures(nammd.Gaussian(1e4), 64)
    assert CODE in codes(nammd.distance(X, Y, kernel=features))


def test_columns_are_scaled_if_asked_for():
    older = people(1, shift=8.0)
    space = scaled(X, older)
    assert CODE not in codes(nammd.distance(X, older, space=space))
    assert nammd.distance(X, older).value < 0.005
    found = nammd.distance(X, older, space=space)
    tables = [pa.table({"age": a[:, 0], "income": a[:, 1]}) for a in (X, older)]
    assert found.value == pytest.approx(nammd.distance(*tables).value, rel=1e-9)
    assert nammd.two_sample_test(X, older, space=space, permutations=99, rng=0).rejected


def test_a_tolerance_keeps_the_scales(tmp_path):
    tolerance = nammd.Tolerance.from_reference(X, space={"scale": "robust"})
    tolerance.save(tmp_path / "t.json")
    again = nammd.Tolerance.load(tmp_path / "t.json")
    assert again == tolerance
    verdict = again.check(X, people(1, shift=12.0))
    assert verdict.decision == "FAR"
    assert CODE not in codes(verdict)
    as_it_is = nammd.Tolerance.from_reference(X, negligible=False)
    assert as_it_is.check(X, people(1, shift=12.0)).decision != "FAR"


def test_scales_and_weights_go_together_and_constants_stay():
    data = np.column_stack([X, np.full(len(X), 7.0)])
    encoding = nammd.Space.fit(data, scale="robust", column_weights={"0": 2.0}).encoding
    points, robust = encoding.transform(data), scaled(data).encoding.transform(data)
    np.testing.assert_allclose(points[:, 0], 2 * robust[:, 0])
    np.testing.assert_allclose(points[:, 2], 7.0)
    assert Encoding.from_dict(encoding.to_dict()) == encoding
    with pytest.raises(ValueError, match="scale must be one of 'robust'"):
        nammd.Space.fit(X, scale="minmax")


def test_sketches_and_clusters_are_scaled_too():
    da = pytest.importorskip("dask.array")
    space = scaled(X, Y)
    expected = nammd.distance(X, Y, space=space)
    spread = [da.from_array(data, chunks=(150, 2)) for data in (X, Y)]
    found = nammd.distance(*spread, space=nammd.Space.fit(*spread, scale="robust"))
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    assert codes(nammd.distance(*spread)).count(CODE) == 1
    features = nammd.RandomFeatures(space.kernel, 2048)
    sketches = [nammd.Sketch.of(data, features, space=space) for data in (X, Y)]
    assert nammd.distance(*sketches).value == pytest.approx(expected.value, abs=0.01)


def test_tensors_stay_where_they_are():
    torch = pytest.importorskip("torch")
    x, y = (torch.from_numpy(data) for data in (X, Y))
    assert codes(nammd.distance(x, y)).count(CODE) == 1
    found = nammd.distance(x, y, space=nammd.Space.fit(x, y, scale="robust"))
    assert found.value == pytest.approx(nammd.distance(X, Y, space=scaled(X, Y)).value, rel=1e-9)


def test_the_command_line_has_it(tmp_path, capsys):
    for name, data in (("x", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", data)
    files = [str(tmp_path / f"{name}.npy") for name in "xy"]
    assert main(["distance", *files, "--json"]) == 0
    assert CODE in [each["code"] for each in json.loads(capsys.readouterr().out)["cautions"]]
    assert main(["distance", *files, "--scale", "robust", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cautions"] == []
    assert found["value"] == pytest.approx(nammd.distance(X, Y, space=scaled(X, Y)).value)
    limit = str(tmp_path / "t.json")
    assert main(["calibrate", files[0], "--scale", "robust", "--output", limit]) == 0
    assert main(["check", *files, "--tolerance", limit, "--scale", "robust"]) == 2
    assert "--scale cannot be combined with --tolerance" in capsys.readouterr().err
