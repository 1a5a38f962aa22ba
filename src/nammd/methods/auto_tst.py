"""AutoTST: let a learner tell the datasets apart, and test whether it can.

On one half of the rows a learner is fitted to tell rows of x from rows of y. The statistic is how much
higher it scores fresh rows of x than fresh rows of y. It is linear in the labels, so all relabellings of
the other half together are one product of the scores with the matrix of their signs.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, to_numpy
from nammd.engines import Engine
from nammd.errors.checks import whole_settings
from nammd.questions.two_sample import TwoSampleResult
from nammd.statistics.permutations import random_signs

# Signs are held for this many (row, permutation) pairs at a time: 4 bytes each, and 8 in the product.
_SIGNS_AT_ONCE = 1 << 22

# Statistics closer than this share of the largest score count as equal. Trees give many rows the same
# score, so many relabellings give the same statistic up to rounding.
_TIE = 1e-10

# Fitted on fewer values than this, trees spend more time waiting for their threads than growing.
_WORTH_THREADS = 500_000


def mean_differences(scores: FloatArray, signs: NDArray[Any]) -> FloatArray:
    """Return, for every column of signs, the mean score of its +1 rows less that of its -1 rows.

    Parameters
    ----------
    scores : array of shape (rows,)
        What the learner says of each row.
    signs : array of shape (rows, columns)
        The labels, +1 or -1; the same number of each in every column.
    """
    ones = np.count_nonzero(signs[:, 0] > 0)
    # Centred scores of the two kinds add up to zero, so each sum is half of the signed one.
    centred = scores - scores.mean()
    return np.asarray((centred @ signs) / 2 * (1 / ones + 1 / (len(scores) - ones)))


def permutation_pvalue(scores: FloatArray, observed: float, null: FloatArray) -> float:
    """Return (1 + number of relabellings that reach the observed difference) / (1 + number of them)."""
    tie = _TIE * float(np.abs(scores - scores.mean()).max())
    return (1 + int(np.count_nonzero(null >= observed - tie))) / (len(null) + 1)


def balanced_weights(labels: NDArray[Any]) -> FloatArray:
    """Return weights that make both classes count the same: the share of the other class."""
    ones = float(np.mean(labels))
    return np.where(labels == 1, 1 - ones, ones)


@dataclass(frozen=True)
class AutoGluonLearner:
    """AutoGluon's tabular predictor, as the published AutoTST uses it.

    What it finds depends on the machine too, because its training is limited by time.

    Parameters
    ----------
    time_limit : float
        How many seconds to train.
    presets : str
        AutoGluon's name for the choice of models.
    """

    time_limit: float = 60.0
    presets: str = "best_quality"

    def scores(self, rows: FloatArray, labels: NDArray[Any], fresh: FloatArray) -> FloatArray:
        """Return the scores of fresh rows after training on labelled ones."""
        try:
            tabular, pandas = import_module("autogluon.tabular"), import_module("pandas")
        except ImportError:
            raise ImportError(
                'learner="autogluon" needs AutoGluon: pip install autogluon.tabular; or leave the learner '
                "out to use gradient-boosted trees, which need scikit-learn alone"
            ) from None
        columns = [f"column{i}" for i in range(rows.shape[1])]
        table = pandas.DataFrame(rows, columns=columns)
        table = table.assign(label=labels.astype(float), weight=balanced_weights(labels))
        with tempfile.TemporaryDirectory() as folder:  # its models live in files, until they have predicted
            predictor = tabular.TabularPredictor(
                label="label",
                sample_weight="weight",
                problem_type="regression",
                eval_metric="mean_squared_error",
                path=folder,
                verbosity=0,
            )
            predictor.fit(table, time_limit=self.time_limit, presets=self.presets)
            return np.asarray(predictor.predict(pandas.DataFrame(fresh, columns=columns)))


@dataclass(frozen=True)
class AutoTST:
    """The AutoML two-sample test of Kübler et al. (2022): whether a learner can tell the datasets apart.

    Half of the rows, drawn by `rng`, teach a learner to score rows of x with 1 and rows of y with 0. The
    statistic is the mean score of the other rows of x less that of the other rows of y, and its p-value
    comes from permuting their labels: the test is exact, whatever the learner.

    Parameters
    ----------
    learner : estimator, "autogluon" or None
        Any scikit-learn estimator: a regressor, or a classifier, whose score is the probability of x if it
        has ``predict_proba`` and its label otherwise. It is cloned, never changed. Where its ``fit`` takes
        ``sample_weight`` both datasets count the same, whatever their sizes; where it has a
        ``random_state`` of None it gets one from `rng`. By default gradient-boosted trees,
        ``HistGradientBoostingRegressor()``. ``"autogluon"``, or an `AutoGluonLearner` with settings of its
        own, searches over many kinds of models as the published method does.
    permutations : int
        The number of permutations. They cost little beside the learner.

    References
    ----------
    Kübler, Stimper, Buchholz, Muandet, Schölkopf (2022). "AutoML Two-Sample Test." Advances in Neural
    Information Processing Systems 35.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.methods.auto_tst import AutoTST
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(200, 3)), rng.normal(0.5, size=(150, 3))
    >>> result = nammd.two_sample_test(x, y, method=AutoTST(LogisticRegression()), rng=1)
    >>> result.rejected
    True
    >>> result.details["test_rows"]
    (100, 75)
    """

    learner: Any = None
    permutations: int = 10_000
    name: ClassVar[str] = "auto-tst"

    def __post_init__(self) -> None:
        known = self.learner is None or isinstance(self.learner, AutoGluonLearner)
        if not (known or _is_text(self.learner, "autogluon") or _is_estimator(self.learner)):
            raise TypeError(
                'learner must be a scikit-learn estimator, such as LogisticRegression(), or "autogluon", '
                f"not {self.learner!r}"
            )
        whole_settings(self, permutations=1)

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples."""
        train_x, test_x = _halves(to_numpy(x), rng)
        train_y, test_y = _halves(to_numpy(y), rng)
        rows, labels = np.concatenate([train_x, train_y]), np.repeat([1, 0], [len(train_x), len(train_y)])
        fresh, m, n = np.concatenate([test_x, test_y]), len(test_x), len(test_y)

        learner = AutoGluonLearner() if _is_text(self.learner, "autogluon") else self.learner
        if isinstance(learner, AutoGluonLearner):
            scores = _checked(learner.scores(rows, labels, fresh), m + n)
        else:
            learner = _seeded(learner, rng)
            scores = _checked(_estimator_scores(learner, rows, labels, fresh), m + n)

        observed = float(scores[:m].mean() - scores[m:].mean())
        null = _null(scores, m, n, self.permutations, rng)
        pvalue = permutation_pvalue(scores, observed, null)
        by = "autogluon" if isinstance(learner, AutoGluonLearner) else "scikit-learn"
        train = len(train_x), len(train_y)
        details = {"learner": repr(learner), "train_rows": train, "test_rows": (m, n)}
        return TwoSampleResult.by_permutations(
            self, observed, null, pvalue, alpha, (len(x), len(y)), by, details=details
        )


def _halves(rows: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return two disjoint halves of the rows, at random; the second has the odd row."""
    order = rng.permutation(len(rows))
    return rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]


def _seeded(learner: Any, rng: np.random.Generator) -> Any:
    """Return a fresh copy of the learner, its random states drawn where they were left open."""
    try:
        from sklearn.base import clone
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError:
        raise ImportError('auto-tst needs scikit-learn: pip install "nammd[baselines]"') from None

    copy = HistGradientBoostingRegressor() if learner is None else clone(learner, safe=False)
    settings = copy.get_params() if hasattr(copy, "get_params") else {}
    states = [
        key
        for key, value in sorted(settings.items())
        if value is None and key.rpartition("__")[2] == "random_state"
    ]
    return copy.set_params(**{key: int(rng.integers(2**31)) for key in states}) if states else copy


def _estimator_scores(learner: Any, rows: FloatArray, labels: NDArray[Any], fresh: FloatArray) -> FloatArray:
    """Fit a scikit-learn estimator to labelled rows and return its scores of fresh ones."""
    from sklearn.utils.validation import has_fit_parameter
    from threadpoolctl import threadpool_limits

    weighted = has_fit_parameter(learner, "sample_weight")
    weights = {"sample_weight": balanced_weights(labels)} if weighted else {}
    with threadpool_limits(1 if rows.size < _WORTH_THREADS else None, user_api="openmp"):
        learner.fit(rows, labels, **weights)
        if hasattr(learner, "predict_proba"):
            return np.asarray(learner.predict_proba(fresh)[:, list(learner.classes_).index(1)])
        return np.asarray(learner.predict(fresh))


def _checked(scores: FloatArray, rows: int) -> FloatArray:
    """Return one finite score per row, or say that the learner gave something else."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.size != rows:
        raise ValueError(f"the learner gave predictions of shape {scores.shape} for {rows} rows")
    if not np.all(np.isfinite(scores)):
        raise ValueError("the learner gave predictions that are NaN or infinite; use another learner")
    return scores.reshape(rows)


def _null(scores: FloatArray, m: int, n: int, permutations: int, rng: np.random.Generator) -> FloatArray:
    """Return the statistic of every random relabelling."""
    at_once = max(1, _SIGNS_AT_ONCE // (m + n))
    counts = (min(at_once, permutations - start) for start in range(0, permutations, at_once))
    return np.concatenate([mean_differences(scores, random_signs(m, n, count, rng)) for count in counts])


def _is_text(value: Any, text: str) -> bool:
    return isinstance(value, str) and value == text


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "fit") and hasattr(value, "predict") and not isinstance(value, type)
