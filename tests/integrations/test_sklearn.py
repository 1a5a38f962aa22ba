"""`DistributionGate` is an estimator of scikit-learn that judges datasets."""

import importlib
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import nammd
from nammd.integrations.sklearn import DistributionGate

NOT_APPLICABLE = {
    "check_methods_subset_invariance": "a decision is about all rows together, and one row proves nothing",
    "check_methods_sample_order_invariance": "predict has one decision, not one for each row",
    "check_estimators_pickle": "it subtracts predictions, and a decision is a word",
    "check_fit_idempotent": "it subtracts predictions, and a decision is a word",
    "check_sample_weight_equivalence_on_dense_data": "rows with weight 0 are refused, and a row that is "
    "there twice is not a row of weight 2: weights say how much a row stands for, not how often it came",
}
"""Checks that cannot hold, with reasons; what is meant by them is tested below."""

RNG = np.random.default_rng(0)
TRAIN, TODAY, BROKEN = (RNG.normal(10 + shift, 2, size=(400, 3)) for shift in (0, 0, 2))
NAMES = ["age", "income", "size"]


@parametrize_with_checks(
    [DistributionGate(epsilon=0.3)], expected_failed_checks=lambda estimator: NOT_APPLICABLE
)
def test_what_scikit_learn_asks_of_estimators(estimator, check):
    check(estimator)


def gate(**options):
    return DistributionGate(**{"epsilon": 0.02} | options)


def test_it_gives_the_digits_of_the_library():
    fitted = DistributionGate(margin=0.02).fit(TRAIN)
    expected = nammd.Tolerance.from_reference(TRAIN, margin=0.02).check(TRAIN, TODAY)
    verdict = fitted.check(TODAY)
    assert str(verdict) == str(expected)
    assert fitted.predict(TODAY) == expected.decision == "CLOSE"
    assert fitted.score(TODAY) == 1 - max(expected.distance, 0.0) / expected.epsilon
    assert fitted.predict(BROKEN) == "FAR"
    assert fitted.score(BROKEN) < 0 < fitted.score(TODAY) <= 1


def test_in_a_pipeline_it_comes_after_a_scaler():
    pipeline = make_pipeline(StandardScaler(), gate()).fit(TRAIN)
    assert (pipeline.predict(TODAY), pipeline.predict(BROKEN)) == ("CLOSE", "FAR")
    scaler = StandardScaler().fit(TRAIN)
    alone = gate().fit(scaler.transform(TRAIN))
    assert pipeline.score(TODAY) == alone.score(scaler.transform(TODAY))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_keep_their_names_through_a_pipeline(library):
    table = pd.DataFrame if library == "pandas" else lambda data, columns: pl.DataFrame(data, schema=columns)
    train, broken = (table(data, columns=NAMES) for data in (TRAIN, BROKEN))
    scaled = ColumnTransformer([("scaled", StandardScaler(), NAMES)], verbose_feature_names_out=False)
    pipeline = make_pipeline(scaled, gate(negligible=True)).set_output(transform=library).fit(train)
    assert pipeline[-1].feature_names_in_.tolist() == NAMES
    assert pipeline[-1].n_features_in_ == 3
    assert pipeline.predict(broken) == "FAR"
    verdict = pipeline[-1].check(pipeline[:-1].transform(broken))
    assert {each.name for each in verdict.column_checks} == set(NAMES)


def test_tables_have_categories_and_missing_values():
    def table(seed, wrong=False):
        rng = np.random.default_rng(seed)
        city = rng.choice(["Ulm", "Bonn"], 400, p=[0.1, 0.9] if wrong else [0.7, 0.3])
        age = np.where(rng.random(400) < 0.1, np.nan, rng.normal(40, 10, 400))
        return pd.DataFrame({"city": city, "age": age})

    fitted = gate().fit(table(0))
    assert fitted.predict(table(1)) == "CLOSE"
    assert fitted.predict(table(2, wrong=True)) == "FAR"
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(table(1)[["age"]])


def test_accepted_data_are_accepted():
    shifted = TRAIN + 1.0
    plain, wider = (DistributionGate(margin=0.01, accepted=each).fit(TRAIN) for each in (None, shifted))
    candidate = RNG.normal(11, 2, size=(400, 3))
    assert plain.predict(candidate) == "FAR"
    assert wider.predict(candidate) != "FAR"
    assert wider.score(candidate) > plain.score(candidate)


def test_weights_of_rows_count():
    both = np.concatenate([TRAIN, BROKEN])
    weights = np.repeat([1.0, 1e-3], 400)
    plain, weighted = gate().fit(both), gate().fit(both, sample_weight=weights)
    assert weighted.score(TODAY) > plain.score(TODAY)
    assert weighted.score(TODAY, sample_weight=np.ones(400)) == weighted.score(TODAY)
    expected = weighted.gate_.check(both, sample_weight=weights)
    assert weighted.score(both, sample_weight=weights) == 1 - max(expected.distance, 0) / expected.epsilon
    with pytest.raises(ValueError, match=r"nammd\.Tolerance\.from_reference"):
        DistributionGate(accepted=TODAY).fit(TRAIN, sample_weight=np.ones(400))
    with pytest.raises(ValueError, match="must be positive"):
        gate().fit(TRAIN, sample_weight=np.arange(400.0))


def test_it_is_copied_stored_and_fitted_again_without_a_change():
    fitted = gate().fit(TRAIN)
    expected = fitted.predict(BROKEN), fitted.score(BROKEN)
    stored = pickle.loads(pickle.dumps(fitted))
    again = clone(fitted).fit(TRAIN)
    twice = fitted.fit(TRAIN)
    for each in (stored, again, twice):
        assert (each.predict(BROKEN), each.score(BROKEN)) == expected
    order = RNG.permutation(400)
    assert fitted.predict(BROKEN[order]) == expected[0]
    assert fitted.score(BROKEN[order]) == pytest.approx(expected[1])


def test_scores_serve_model_selection():
    scores = cross_val_score(gate(), TRAIN, cv=4)
    assert scores.shape == (4,)
    assert scores.min() > 0
    found = GridSearchCV(gate(), {"epsilon": [0.01, 0.1]}, cv=2).fit(TRAIN)
    assert found.best_params_["epsilon"] == 0.1


def test_wrong_options_are_refused_when_it_is_fitted():
    with pytest.raises(ValueError, match="leave out accepted and margin, or epsilon"):
        gate(accepted=TODAY, margin=0.1).fit(TRAIN)
    with pytest.raises(TypeError, match="either space or kernel"):
        gate(space=nammd.Space.fit(TRAIN), kernel="laplace").fit(TRAIN)
    with pytest.raises(ValueError, match="alpha"):
        gate(alpha=0.7).fit(TRAIN).predict(TODAY)
    with pytest.raises(NotFittedError):
        gate().predict(TODAY)


def test_without_scikit_learn_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "nammd.integrations.sklearn")
    with pytest.raises(ImportError, match=r"pip install 'nammd\[sklearn\]'"):
        importlib.import_module("nammd.integrations.sklearn")
