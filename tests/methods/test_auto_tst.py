"""AutoTST: reference values, level, power, the learners it takes, and what it promises about its split."""

import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nammd
from nammd.methods import auto_tst
from nammd.methods.auto_tst import AutoGluonLearner, AutoTST, mean_differences, permutation_pvalue
from nammd.statistics.permutations import random_signs

pytest.importorskip("sklearn", reason="AutoTST needs scikit-learn: pip install 'nammd[baselines]'")
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "autotst.json").read_text())
TREE = DecisionTreeRegressor(max_leaf_nodes=6)


def blob(rng, rows, turned=False):
    """Nine round clusters on a grid; `turned` ones are stretched along a diagonal each."""
    cells = rng.integers(9, size=rows)
    covariances = np.array(
        [-0.02 - 0.002 * i for i in range(4)] + [0.0] + [0.02 + 0.002 * i for i in range(4)]
    )
    correlation = covariances[cells] / 0.03 if turned else np.zeros(rows)
    first, second = rng.normal(size=(2, rows))
    second = correlation * first + np.sqrt(1 - correlation**2) * second
    return np.stack([cells // 3, cells % 3], axis=1) + np.sqrt(0.03) * np.stack([first, second], axis=1)


def shifted(m=120, n=90, by=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(by, size=(m, 2)), rng.normal(size=(n, 2))


@pytest.mark.parametrize("case", GOLDEN["cases"].values(), ids=GOLDEN["cases"])
def test_the_p_value_matches_the_published_function(case):
    scores, labels = np.array(case["predictions"]), np.array(case["labels"])
    # The published function shuffles the predictions in place, again and again; follow the rows.
    shuffle, order, signs = np.random.RandomState(case["numpy_seed"]).shuffle, np.arange(len(scores)), []
    for _ in range(case["permutations"]):
        shuffle(order)
        column = np.empty(len(scores))
        column[order] = 2 * labels - 1
        signs.append(column)
    [observed] = mean_differences(scores, (2 * labels - 1)[:, None])
    null = mean_differences(scores, np.stack(signs, axis=1))
    assert observed == pytest.approx(case["tau"], rel=1e-12)
    assert permutation_pvalue(scores, observed, null) == pytest.approx(case["p_value"], rel=1e-12)


def test_weights_match_the_published_function():
    expected = GOLDEN["get_weights for 3 ones then 1 zero"]
    np.testing.assert_allclose(auto_tst.balanced_weights(np.array([1, 1, 1, 0])), expected)


def test_differences_of_means_are_those_of_the_labels():
    rng = np.random.default_rng(0)
    scores, signs = rng.normal(3.0, size=12), random_signs(5, 7, 40, rng)
    expected = [scores[s > 0].mean() - scores[s < 0].mean() for s in signs.T]
    np.testing.assert_allclose(mean_differences(scores, signs), expected, atol=1e-12)


def test_equal_statistics_count_however_they_are_rounded():
    scores = np.array([0.1, 0.2, 0.3, 0.6] * 25)  # sums of these depend on their order
    signs = np.repeat([[1.0], [-1.0]], 50, axis=0)
    [observed] = mean_differences(scores, signs)
    assert permutation_pvalue(scores, observed + 1e-15, np.array([observed])) == 1.0


@pytest.mark.parametrize(("m", "n"), [(60, 60), (35, 90)])
def test_equal_distributions_are_rejected_no_more_often_than_alpha(m, n):
    rng = np.random.default_rng([m, n])
    method, repetitions = AutoTST(TREE, permutations=199), 150
    results = [
        nammd.two_sample_test(blob(rng, m), blob(rng, n), method=method, rng=rng) for _ in range(repetitions)
    ]
    rate = np.mean([result.rejected for result in results])
    assert 0.01 <= rate <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repetitions)


def test_blob_is_told_apart_by_the_default_learner():
    rng = np.random.default_rng(1)
    method = AutoTST(permutations=499)
    results = [
        nammd.two_sample_test(blob(rng, 900), blob(rng, 900, turned=True), method=method, rng=rng)
        for _ in range(5)
    ]
    assert np.mean([result.rejected for result in results]) > 0.9


@pytest.mark.parametrize(
    "learner",
    [
        LinearRegression(),
        LogisticRegression(),
        GaussianNB(),
        KNeighborsClassifier(),  # takes no weights
        LinearSVC(),  # has no probabilities
        make_pipeline(StandardScaler(), LogisticRegression()),
        HistGradientBoostingClassifier(max_iter=10),
        AutoTST().learner,
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_any_estimator_finds_a_shift(learner):
    result = nammd.two_sample_test(*shifted(), method=AutoTST(learner), rng=0)
    assert result.rejected
    assert result.statistic > 0
    assert result.permutations == len(result.null) == 10_000
    assert result.statistic > result.threshold
    assert (result.m, result.n) == (120, 90)


def test_the_statistic_does_not_know_which_dataset_comes_first():
    x, y = shifted()
    assert nammd.two_sample_test(y, x, method=AutoTST(LinearRegression()), rng=0).rejected


def test_batches_of_permutations_keep_their_number(monkeypatch):
    monkeypatch.setattr(auto_tst, "_SIGNS_AT_ONCE", 1000)
    result = nammd.two_sample_test(*shifted(), method=AutoTST(TREE, permutations=123), rng=0)
    assert result.null.shape == (123,)
    assert result.pvalue == 1 / 124


def test_permutations_can_be_given_to_the_test():
    result = nammd.two_sample_test(*shifted(), method=AutoTST(TREE), permutations=99, rng=0)
    assert result.pvalue == 0.01


def test_the_same_rng_gives_the_same_result_also_with_a_random_learner():
    x, y = shifted(by=0.3)
    method = AutoTST(make_pipeline(StandardScaler(), ExtraTreeRegressor(max_depth=3)), permutations=99)
    first, again, other = (nammd.two_sample_test(x, y, method=method, rng=seed) for seed in (1, 1, 2))
    assert first == again
    np.testing.assert_array_equal(first.null, again.null)
    assert first.statistic != other.statistic


def test_the_learner_that_was_given_is_not_changed():
    learner = ExtraTreeRegressor()
    nammd.two_sample_test(*shifted(), method=AutoTST(learner, permutations=9), rng=0)
    assert learner.random_state is None
    assert not hasattr(learner, "tree_")


class Recorder:
    """A learner that is no scikit-learn estimator, and keeps what it is shown."""

    seen = ()

    def fit(self, rows, labels, sample_weight):
        Recorder.seen = (rows, labels, sample_weight)

    def predict(self, rows):
        Recorder.seen += (rows,)
        return rows[:, 0]


def test_rows_that_are_learned_from_are_not_tested():
    x, y = shifted(31, 44)
    result = nammd.two_sample_test(x, y, method=AutoTST(Recorder(), permutations=9), rng=0)
    rows, labels, weights, fresh = Recorder.seen
    both = np.concatenate([rows, fresh])
    np.testing.assert_array_equal(np.sort(both[:, 0]), np.sort(np.concatenate([x, y])[:, 0]))
    assert result.details["train_rows"] == (15, 22)
    assert result.details["test_rows"] == (16, 22)
    assert set(rows[labels == 1, 0]) < set(x[:, 0])
    assert weights[labels == 1].sum() == pytest.approx(weights[labels == 0].sum())
    assert result.statistic == pytest.approx(fresh[:16, 0].mean() - fresh[16:, 0].mean())


def test_constant_data_is_not_told_apart():
    method = AutoTST(TREE, permutations=99)
    assert nammd.two_sample_test(np.ones((20, 2)), np.ones((30, 2)), method=method, rng=0).pvalue == 1.0


def test_autogluon_is_asked_for_by_name_and_explained_if_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "autogluon.tabular", None)
    with pytest.raises(ImportError, match=r"pip install autogluon\.tabular"):
        nammd.two_sample_test(*shifted(), method=AutoTST("autogluon"), rng=0)


def test_scikit_learn_is_explained_if_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(ImportError, match=r"nammd\[baselines\]"):
        nammd.two_sample_test(*shifted(), method=AutoTST(), rng=0)


def test_autogluon_gets_weighted_labels_and_its_own_settings(monkeypatch):
    """With a stand-in for AutoGluon, which is too large to install for a test."""
    pytest.importorskip("pandas", reason="AutoGluon works on pandas tables")
    calls = {}

    class TabularPredictor:
        def __init__(self, **settings):
            calls.update(settings)

        def fit(self, table, **settings):
            calls.update(settings, table=table)

        def predict(self, table):
            assert Path(calls["path"]).is_dir()
            return table["column0"]

    stand_in = ModuleType("autogluon.tabular")
    stand_in.TabularPredictor = TabularPredictor
    monkeypatch.setitem(sys.modules, "autogluon", ModuleType("autogluon"))
    monkeypatch.setitem(sys.modules, "autogluon.tabular", stand_in)
    method = AutoTST(AutoGluonLearner(time_limit=5.0), permutations=99)
    result = nammd.two_sample_test(*shifted(), method=method, rng=0)
    assert result.rejected
    assert result.engine == "autogluon"
    assert calls["time_limit"] == 5.0
    assert list(calls["table"]) == ["column0", "column1", calls["label"], calls["sample_weight"]]
    assert not Path(calls["path"]).exists()


@pytest.mark.parametrize("learner", ["forest", 3, LogisticRegression])
def test_something_else_than_a_learner_is_explained(learner):
    with pytest.raises(TypeError, match="learner must be a scikit-learn estimator"):
        AutoTST(learner)


def test_no_permutations_are_refused():
    with pytest.raises(ValueError, match="permutations must be a whole number of at least 1"):
        AutoTST(permutations=0)


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        (lambda rows: rows[:, 0] * np.nan, "NaN or infinite"),
        (lambda rows: rows, r"shape \(105, 2\) for 105 rows"),
    ],
)
def test_useless_predictions_are_refused(monkeypatch, prediction, message):
    monkeypatch.setattr(Recorder, "predict", lambda self, rows: prediction(rows))
    with pytest.raises(ValueError, match=message):
        nammd.two_sample_test(*shifted(), method=AutoTST(Recorder()), rng=0)
