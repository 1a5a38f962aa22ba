"""Spaces: where a distance is measured, the same for everybody."""

import json

import numpy as np
import pyarrow as pa
import pytest
import torch

import nammd
from nammd.data import opening
from nammd.encoding import encoding, fitting
from tests.encoding.samples import mixed_columns

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 3)), RNG.normal(0.4, size=(70, 3))
ONE, TWO = (pa.table(mixed_columns(rows=200, seed=seed)) for seed in (1, 2))


def test_arrays_are_taken_as_they_are():
    space = nammd.Space.fit(X, Y)
    assert space.encoding.is_identity
    assert space.kernel == nammd.Gaussian.median(X, Y)
    assert space.sample(X).points is X
    tensor = torch.asarray(X, dtype=torch.float32)
    assert space.sample(tensor).points.data_ptr() == tensor.data_ptr()


def test_a_reference_is_frozen_and_several_are_treated_alike():
    own, both = nammd.Space.fit(ONE), nammd.Space.fit(ONE, TWO)
    assert both == nammd.Space.fit(TWO, ONE)
    assert own != both
    assert own.kernel == nammd.Gaussian.median(ONE)
    assert both.kernel == nammd.Gaussian.median(ONE, TWO)


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({"exclude": ["seen", "zoned"]}, {"age", "income", "city", "member", "joined", "stay"}),
        ({"columns": ["age", "city"]}, {"age", "city"}),
        (
            {"column_weights": {"age": 2.0, "stay": 0.0}},
            {"age", "income", "city", "member", "joined", "seen", "zoned"},
        ),
    ],
    ids=["exclude", "columns", "weights"],
)
def test_columns_can_be_chosen(options, columns):
    space = nammd.Space.fit(ONE, TWO, **options)
    assert {column.name for column in space.encoding.columns} == columns
    assert set(nammd.distance(ONE, TWO, space=space).columns) == columns


def test_what_is_asked_of_columns_must_be_there():
    with pytest.raises(ValueError, match="has no column 'agee'; did you mean 'age'"):
        nammd.Space.fit(ONE, exclude=["agee"])
    with pytest.raises(ValueError, match="weights has 'agee'"):
        nammd.Space.fit(ONE, column_weights={"agee": 1})
    with pytest.raises(TypeError, match="columns must be a list of names"):
        nammd.Space.fit(ONE, columns="age")
    with pytest.raises(TypeError, match="at least one dataset"):
        nammd.Space.fit()


def test_a_kernel_may_be_a_class_or_an_object():
    assert nammd.Space.fit(X, Y, kernel=nammd.Laplace).kernel == nammd.Laplace.median(X, Y)
    assert nammd.Space.fit(X, Y, kernel=nammd.Laplace(3.0)).kernel == nammd.Laplace(3.0)
    assert nammd.distance(X, Y, kernel=nammd.Laplace).kernel == nammd.Laplace.median(X, Y)
    mahalanobis = nammd.Space.fit(X, kernel=nammd.Mahalanobis).kernel
    assert mahalanobis == nammd.Mahalanobis.median(X)
    with pytest.raises(TypeError, match="kernel must be a kernel object"):
        nammd.Space.fit(X, kernel=nammd.Kernel)


QUESTIONS = {
    "distance": lambda **o: nammd.distance(ONE, TWO, **o),
    "closeness": lambda **o: nammd.closeness_test(ONE, TWO, 0.1, alternative="greater", **o),
    "comparison": lambda **o: nammd.compare_pairs((ONE, TWO), (ONE, ONE.slice(50)), **o).first,
    "two samples": lambda **o: nammd.two_sample_test(ONE, TWO, permutations=19, rng=0, **o),
    "ranking": lambda **o: nammd.rank(ONE, {"two": TWO}, **o).entries[0].estimate,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_can_be_asked_in_a_given_space(question):
    space = nammd.Space.fit(ONE, exclude=["seen"], kernel=nammd.Gaussian(2.5))
    found = QUESTIONS[question](space=space)
    assert found.kernel == nammd.Gaussian(2.5)
    value = getattr(found, "value", None) or found.statistic
    assert value == pytest.approx(nammd.distance(ONE, TWO, space=space).value, rel=1e-6)
    with pytest.raises(TypeError, match="give either space or kernel, not both"):
        QUESTIONS[question](space=space, kernel=nammd.Gaussian(1.0))
    with pytest.raises(TypeError, match="space must be a space such as"):
        QUESTIONS[question](space=nammd.Gaussian(1.0))


def test_a_tolerance_keeps_its_space(tmp_path):
    space = nammd.Space.fit(ONE, exclude=["seen"])
    tolerance = nammd.Tolerance.from_reference(ONE, TWO, space=space, anyway=True)
    assert tolerance.space == space
    tolerance.save(tmp_path / "t.json")
    assert nammd.Tolerance.load(tmp_path / "t.json").space == space
    with pytest.raises(TypeError, match="give either space or kernel, not both"):
        nammd.Tolerance.from_reference(ONE, TWO, space=space, kernel=nammd.Laplace)


def test_a_space_is_fitted_with_options_where_one_is_asked_for():
    options = {"exclude": ["seen", "zoned"], "column_weights": {"age": 2.0}}
    fitted = nammd.Space.fit(ONE, TWO, **options)
    assert nammd.distance(ONE, TWO, space=options).value == nammd.distance(ONE, TWO, space=fitted).value
    laplace = nammd.distance(ONE, TWO, space=options, kernel=nammd.Laplace)
    assert laplace.space == nammd.Space.fit(ONE, TWO, kernel=nammd.Laplace, **options)
    assert nammd.two_sample_test(ONE, TWO, space=options, rng=0).kernel == fitted.kernel
    tolerance = nammd.Tolerance.from_reference(ONE, space=options, anyway=True)
    assert tolerance.space == nammd.Space.fit(ONE, **options)
    with pytest.raises(TypeError, match="space has no option 'excluded'; it has 'kernel', 'exclude'"):
        nammd.distance(ONE, TWO, space={"excluded": ["age"]})
    with pytest.raises(TypeError, match="the kernel is given twice"):
        nammd.distance(ONE, TWO, space={"kernel": nammd.Laplace}, kernel=nammd.Gaussian)
    sketch = nammd.Sketch.of(np.eye(9), nammd.RandomFeatures(nammd.Gaussian(1.0), 8))
    with pytest.raises(TypeError, match="sketches were made in a space already"):
        nammd.distance(sketch, sketch, space={"exclude": ["0"]})


def test_a_space_is_stored_as_plain_values():
    space = nammd.Space.fit(ONE, TWO, column_weights={"age": 2})
    assert nammd.Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space


def test_a_space_tells_in_words_what_becomes_of_each_column():
    table = ONE.append_column("id", pa.array([f"p{k}" for k in range(200)]))
    text = str(nammd.Space.fit(table, exclude=["seen"], column_weights={"age": 2}))
    for words in (
        "Space of 7 columns in ",
        "age     numeric      centred at ",
        ", weight 2",
        "city    categorical  '",
        "Left out",
        "seen    excluded",
        "id      every value is different, like an identifier",
        "Kernel: Gaussian, bandwidth ",
    ):
        assert words in text, words
    assert str(nammd.Space.fit(X)).startswith("Space of an array: 3 of its 3 columns as they are")


def test_the_permutation_test_does_not_see_which_rows_are_whose():
    """Rows exchanged between the two tables leave the space as it is, so the test stays exact."""
    both = pa.concat_tables([ONE, TWO])
    order = np.random.default_rng(3).permutation(400)
    halves = both.take(order[:200]), both.take(order[200:])
    assert nammd.Space.fit(*halves) == nammd.Space.fit(ONE, TWO)


def counting(monkeypatch, module, name):
    """Count the calls of a function."""
    calls, plain = [], getattr(module, name)

    def counted(*arguments, **options):
        calls.append(arguments)
        return plain(*arguments, **options)

    monkeypatch.setattr(module, name, counted)
    return calls


def test_a_sample_is_checked_once(monkeypatch):
    calls = counting(monkeypatch, opening, "_require_finite")
    nammd.closeness_test(X, Y, 0.1, alternative="greater").confidence_interval()
    assert len(calls) == 2
    calls.clear()
    tolerance = nammd.Tolerance.from_reference(X, Y, anyway=True)
    assert len(calls) == 2
    calls.clear()
    tolerance.check(X, Y)
    assert len(calls) == 2


def test_calibrating_fits_the_encoding_once_and_encodes_each_dataset_once(monkeypatch, tmp_path):
    from pyarrow import parquet

    from nammd.cli import main

    fitted = counting(monkeypatch, fitting, "fit_column")
    encoded = counting(monkeypatch, encoding.Encoding, "encode")
    names = []
    for name, table in (("one", ONE), ("two", TWO)):
        parquet.write_table(table, tmp_path / f"{name}.parquet")
        names.append(str(tmp_path / f"{name}.parquet"))
    assert main(["calibrate", *names, "-o", str(tmp_path / "t.json"), "--json", "--anyway"]) == 0
    assert sorted(arguments[0] for arguments in fitted) == sorted(ONE.column_names)
    assert len(encoded) == 2
