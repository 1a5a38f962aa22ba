"""What people who know scipy and scikit-learn expect: names of kernels, NaN, unpacking, dicts and lists."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import nammd
from nammd.datasets import applications
from nammd.methods.canonne import canonne_test

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 2)), RNG.normal(0.4, size=(50, 2))


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gaussian", nammd.Gaussian),
        ("rbf", nammd.Gaussian),
        ("laplace", nammd.Laplace),
        ("laplacian", nammd.Laplace),
    ],
)
def test_kernels_go_by_their_names(name, family):
    assert nammd.distance(X, Y, kernel=name).value == nammd.distance(X, Y, kernel=family).value
    assert nammd.Space.fit(X, kernel=name) == nammd.Space.fit(X, kernel=family)
    assert nammd.two_sample_test(X, Y, kernel=name, rng=0).kernel == family.median(X, Y)
    assert (
        nammd.selection.select_bandwidth(X, Y, name).kernel
        == nammd.selection.select_bandwidth(X, Y, family).kernel
    )
    assert nammd.Tolerance.from_reference(X, kernel=name).kernel == family.median(X)


def test_an_unknown_name_of_a_kernel_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match="kernel must be one of 'gaussian', 'rbf', 'laplace', 'laplacian', not"
    ):
        nammd.distance(X, Y, kernel="linear")


TESTS = {
    "closeness": lambda: nammd.closeness_test(X, Y, 0.1, alternative="less"),
    "published": lambda: nammd.paper.closeness_test(X[:50], Y, 0.1),
    "two samples": lambda: nammd.two_sample_test(X, Y, rng=0),
    "pairs": lambda: nammd.compare_pairs((X, Y), (X, Y + 1)),
    "finite support": lambda: canonne_test([1, 2, 2, 1], [2, 2, 1, 3], 0.1, rng=0),
}


@pytest.mark.parametrize("name", TESTS)
def test_results_of_tests_unpack(name):
    result = TESTS[name]()
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)


def test_other_results_do_not_unpack():
    with pytest.raises(TypeError):
        iter(nammd.distance(X, Y))


def test_an_interval_has_named_ends():
    ends = nammd.distance(X, Y).confidence_interval(confidence_level=0.9)
    assert (ends.low, ends.high) == tuple(ends)


def with_nan(data, rows):
    broken = data.copy()
    broken[rows, 1] = np.nan
    return broken


BROKEN = with_nan(X, [3, 17]), with_nan(Y, [0])
WHOLE = np.delete(X, [3, 17], axis=0), Y[1:]


@pytest.mark.parametrize("library", [np.asarray, np.ndarray.tolist, torch.from_numpy])
def test_rows_with_nan_are_refused_or_omitted(library):
    broken = [library(each) for each in BROKEN]
    with pytest.raises(
        ValueError, match=r"x contains NaN or infinity in 2 of its 60 rows.*nan_policy='omit'"
    ):
        nammd.distance(*broken)
    found = nammd.distance(*broken, nan_policy="omit")
    assert found.value == pytest.approx(nammd.distance(*WHOLE).value, rel=1e-12)
    told = [caution.message for caution in found.cautions if caution.code == "rows-omitted"]
    assert told == ["2 rows of x with NaN left out", "1 row of y with NaN left out"]


def test_every_question_omits_rows():
    x, y = BROKEN
    one, two = WHOLE
    omit = {"nan_policy": "omit"}
    same = [
        (
            nammd.closeness_test(x, y, 0.1, alternative="less", **omit),
            nammd.closeness_test(one, two, 0.1, alternative="less"),
        ),
        (nammd.two_sample_test(x, y, rng=0, **omit), nammd.two_sample_test(one, two, rng=0)),
        (nammd.compare_pairs((x, y), (x, Y), **omit), nammd.compare_pairs((one, two), (one, Y))),
    ]
    for found, expected in same:
        assert tuple(found) == tuple(expected)
        assert "rows-omitted" in {caution.code for caution in found.cautions}
    ranking = nammd.rank(x, [y, Y], **omit)
    assert [e.estimate.value for e in ranking.entries] == [
        e.estimate.value for e in nammd.rank(one, [two, Y]).entries
    ]
    assert "rows-omitted" in {caution.code for caution in ranking.cautions}


def test_groups_and_weights_lose_the_same_rows():
    groups = np.arange(60) // 4, np.arange(50) // 5 + 100
    weights = np.linspace(1, 2, 60), np.linspace(2, 1, 50)
    found = nammd.distance(*BROKEN, groups=groups, sample_weight=weights, nan_policy="omit")
    kept = {
        option: (np.delete(one, [3, 17]), two[1:])
        for option, (one, two) in {"groups": groups, "sample_weight": weights}.items()
    }
    assert found.value == nammd.distance(*WHOLE, **kept).value
    series = {option: tuple(map(pd.Series, both)) for option, both in {"groups": groups}.items()}
    assert nammd.distance(*BROKEN, **series, nan_policy="omit").m == 58
    with pytest.raises(ValueError, match="groups of x has 61 entries, but x has 60 rows"):
        nammd.distance(*BROKEN, groups=(np.arange(61) // 4, groups[1]), nan_policy="omit")


def test_a_missing_value_of_a_table_is_a_value():
    x, y = (pd.DataFrame(each, columns=["a", "b"]) for each in BROKEN)
    assert nammd.distance(x, y).m == 60
    with pytest.raises(TypeError, match="in a table a missing value is a value"):
        nammd.distance(x, y, nan_policy="omit")
    with pytest.raises(ValueError, match="every row of x has a NaN"):
        nammd.distance(np.full((5, 2), np.nan), Y, nan_policy="omit")


def test_a_dict_of_columns_is_a_table():
    one, two = applications(0, 200, rng=0), applications(1, 200, rng=1)
    frames = pd.DataFrame(one), pd.DataFrame(two)
    options = {"exclude": ["submitted", "application"]}
    assert nammd.distance(one, two, space=options).value == pytest.approx(
        nammd.distance(*frames, space=options).value, rel=1e-9
    )
    tolerance = nammd.Tolerance.from_reference(one, two, space=options, anyway=True)
    assert [each.label for each in tolerance.accepted.datasets] == ["accepted"]
    several = nammd.Tolerance.from_reference(one, {"later": two}, space=options, anyway=True)
    assert [each.label for each in several.accepted.datasets] == ["later"]
    wider = several.accepting(applications(2, 200, rng=2), reason="fine").accepting(
        {"next": pd.DataFrame(two)}
    )
    assert [each.label for each in wider.accepted.datasets] == ["later", "accepted", "next"]
    (train, _), (test, _) = nammd.selection.train_test_split(one, two, rng=0)
    assert len(train["income"]) + len(test["income"]) == 200


@pytest.mark.parametrize("library", [pd.Series, pl.Series, pa.array, np.asarray, list])
def test_several_datasets_of_one_column_go_by_their_names(library):
    one, two, three = (library(list(RNG.normal(shift, 1, 60))) for shift in (0.0, 1.0, 2.0))
    tolerance = nammd.Tolerance.from_reference(one, {"two": two, "three": three})
    assert [each.label for each in tolerance.accepted.datasets] == ["two", "three"]
    wider = nammd.Tolerance.from_reference(one).accepting({"two": two})
    assert [each.label for each in wider.accepted.datasets] == ["two"]
    assert nammd.distance({"a": one}, {"a": two}).columns == ("a",)


@pytest.mark.parametrize(
    ("broken", "error", "words"),
    [
        (
            {"a": [1.0, 2.0], "b": [1.0]},
            ValueError,
            "the columns of x differ in length: 'a' has 2 rows, 'b' has 1",
        ),
        (
            {"a": np.eye(4)},
            TypeError,
            "every entry must be a column, a one-dimensional array or list; 'a' is",
        ),
        ({}, ValueError, "x is empty: it has no columns"),
        ({"a": [1.0, "b", {}, 2.0]}, (TypeError, ValueError), "x"),
    ],
)
def test_a_dict_that_is_no_table_is_refused(broken, error, words):
    with pytest.raises(error, match=words):
        nammd.distance(broken, {"a": [1.0, 2.0, 3.0, 4.0]})


def test_lists_of_candidates_are_called_by_their_places():
    ranking = nammd.rank(X, [Y + 1, Y])
    assert [entry.name for entry in ranking.entries] == ["1", "0"]
    gate = nammd.Tolerance.at(0.05, nammd.Gaussian(1.0), n_columns=2).with_reference(X)
    assert [entry.name for entry in gate.check_all([Y, Y + 1]).entries] == ["0", "1"]
    with pytest.raises(TypeError, match="candidates must be a mapping of names to datasets, or a list"):
        nammd.rank(X, Y)
