"""A linear classifier, to see how well a network's features serve on other data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax


@dataclass(frozen=True, eq=False)
class SoftmaxClassifier:
    """Logits that are linear in the features.

    Attributes
    ----------
    weights : array of shape (features + 1, classes)
        The last row belongs to the constant.
    """

    weights: NDArray[np.float64]

    @classmethod
    def trained(cls, features: NDArray[Any], labels: NDArray[Any], penalty: float = 1.0) -> SoftmaxClassifier:
        """Maximise the likelihood of the labels, less half a penalty on the squared weights."""
        x, classes = _with_constant(features), int(labels.max()) + 1
        truth = np.eye(classes)[labels]

        def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            weights = flat.reshape(-1, classes)
            logits, free = x @ weights, weights.copy()
            free[-1] = 0.0  # the constant is not penalised
            slope = x.T @ (softmax(logits, axis=1) - truth) + penalty * free
            value = -np.sum(truth * log_softmax(logits, axis=1)) + penalty / 2 * np.sum(free**2)
            return float(value), slope.ravel()

        start = np.zeros(x.shape[1] * classes)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
        return cls(found.x.reshape(-1, classes))

    def probabilities(self, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability of every class for every row."""
        given: NDArray[np.float64] = softmax(_with_constant(features) @ self.weights, axis=1)
        return given


def _with_constant(features: NDArray[Any]) -> NDArray[np.float64]:
    return np.column_stack([features.astype(np.float64), np.ones(len(features))])
