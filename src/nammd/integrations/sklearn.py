"""A reference and a tolerance as an estimator of scikit-learn: `DistributionGate`."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw

from nammd.evidence import MIN_ROWS
from nammd.integrations.gates import missing
from nammd.spaces import Space
from nammd.spaces.space import settled
from nammd.tolerances.decision import Decision
from nammd.tolerances.tolerance import Tolerance
from nammd.tolerances.verdict import Verdict

__all__ = ["DistributionGate"]

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise missing("sklearn", "sklearn", error) from None


class DistributionGate(BaseEstimator):
    """Tells whether a dataset is close enough to the one it was fitted on.

    It judges datasets, not rows: `predict` and `score` return one value for all rows of X together. Use it
    as the last step of a pipeline, after the steps that prepare the rows.

    Arrays are compared as they are, so scale their columns first. Tables (pandas, Polars, PyArrow) are
    encoded as everywhere in nammd: columns are scaled robustly, categories and missing values are compared.

    Parameters
    ----------
    accepted : dataset, mapping or sequence of datasets, optional
        Data that differ and are still acceptable. Steps of a pipeline do not transform them: give them as
        they come out of the step before.
    margin : float or mapping, optional
        What is negligible, such as ``{"missing": 0.05}``; see `nammd.Tolerance.from_reference`.
    rows : int, optional
        How many rows candidates will have; by default as many as the reference.
    epsilon : float, optional
        Instead of these three: the largest acceptable NAMMD.
    space : Space or dict, optional
        Where to measure, or options of `nammd.Space.fit` such as ``{"exclude": ["id"]}``.
    kernel : Kernel, class or str, optional
        By default the Gaussian kernel with the median bandwidth of the reference.
    scales : {"all", "median"}
        Whether candidates are compared at finer scales too; with `epsilon` they are not.
    negligible : mapping or bool, optional
        What does not matter in a single column. By default as in `nammd.Tolerance.from_reference`; with
        `epsilon` columns have no tolerances of their own.
    exact : bool
        Whether all pairs of rows are compared, however many there are.
    alpha : float
        The level of each of the two tests.

    Attributes
    ----------
    tolerance_ : Tolerance
        What close enough means.
    gate_ : Gate
        The tolerance with the reference.
    n_features_in_ : int
        The number of columns of the reference.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where the reference is a table with names of type str.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from nammd.integrations.sklearn import DistributionGate
    >>> rng = np.random.default_rng(0)
    >>> train, today, broken = (rng.normal(10 + shift, 2, size=(2000, 3)) for shift in (0, 0, 2))
    >>> pipeline = make_pipeline(StandardScaler(), DistributionGate()).fit(train)
    >>> str(pipeline.predict(today)), str(pipeline.predict(broken))
    ('CLOSE', 'FAR')
    >>> pipeline.score(today) > 0 > pipeline.score(broken)
    True
    """

    def __init__(
        self,
        *,
        accepted: Any = None,
        margin: Any = None,
        rows: int | None = None,
        epsilon: float | None = None,
        space: Any = None,
        kernel: Any = None,
        scales: Any = "all",
        negligible: Any = None,
        exact: bool = False,
        alpha: float = 0.05,
    ) -> None:
        self.accepted = accepted
        self.margin = margin
        self.rows = rows
        self.epsilon = epsilon
        self.space = space
        self.kernel = kernel
        self.scales = scales
        self.negligible = negligible
        self.exact = exact
        self.alpha = alpha

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take a dataset as the reference, and fix what is close enough to it.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The reference.
        y : ignored
            Not used; part of the interface of scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        DistributionGate
            Itself.
        """
        X, weights = self._validated(X, sample_weight, reset=True)
        if weights is not None and self.accepted is not None:
            raise ValueError(
                "sample_weight has no weights for accepted data; leave one of them out, or use "
                "nammd.Tolerance.from_reference, which takes weights for each dataset"
            )
        self._weighted = weights is not None
        self.tolerance_ = self._tolerance(X, weights)
        self.gate_ = self.tolerance_.with_reference(X, exact=self.exact, sample_weight=weights)
        return self

    def check(self, X: Any, sample_weight: Any = None) -> Verdict:
        """Return the verdict about a dataset: the decision, its reasons, p-values, and a report.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The dataset in question.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        Verdict
        """
        check_is_fitted(self)
        X, weights = self._validated(X, sample_weight, reset=False)
        return self.gate_.check(X, self.alpha, sample_weight=weights)

    def predict(self, X: Any) -> Decision:
        """Return the decision about a dataset.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The dataset in question.

        Returns
        -------
        Decision
            ``"CLOSE"``, ``"FAR"`` or ``"UNDECIDED"``: one for the dataset, not one for each row.
        """
        return self.check(X).decision

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return how much of the tolerance a dataset leaves: 1 less its distance over the tolerance.

        It is 1 where no distance is found, 0 at the tolerance and negative beyond. It is an estimate, for
        ordering datasets; `predict` says what is proven, and looks at columns and facts too.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The dataset in question.
        y : ignored
            Not used; part of the interface of scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        float
            At most 1; higher is closer.
        """
        verdict = self.check(X, sample_weight)
        return 1.0 - max(verdict.distance, 0.0) / verdict.epsilon

    def _validated(self, X: Any, sample_weight: Any, reset: bool) -> tuple[Any, Any]:
        """Return data and weights as nammd takes them, after what scikit-learn checks of both."""
        if nw.dependencies.is_into_dataframe(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
        else:
            X = validate_data(self, X, reset=reset, ensure_min_samples=MIN_ROWS)
        if sample_weight is None and (reset or not self._weighted):
            return X, None
        # Of a reference with weights, rows of a candidate that has none count alike.
        return X, _check_sample_weight(sample_weight, X)

    def _tolerance(self, X: Any, weights: Any) -> Tolerance:
        if self.epsilon is None:
            return Tolerance.from_reference(
                X,
                self.accepted,
                margin=self.margin,
                rows=self.rows,
                space=self.space,
                kernel=self.kernel,
                scales=self.scales,
                negligible=self.negligible,
                exact=self.exact,
                sample_weight=None if weights is None else [weights],
            )
        others = {"accepted": self.accepted, "margin": self.margin, "rows": self.rows}
        given = [name for name, value in others.items() if value is not None]
        if given:
            raise ValueError(f"epsilon is the tolerance itself; leave out {' and '.join(given)}, or epsilon")
        fixed, options = settled(self.space, self.kernel)
        space = Space.fit(X, **options) if fixed is None else fixed
        return Tolerance.at(self.epsilon, space=space, negligible=self.negligible or False)
