"""ME_MaBiD: mean embeddings at learned locations, each with a Mahalanobis kernel of its own.

A location v with a width g and a matrix M gives every row one feature, its similarity to v::

    f(x) = exp(-(x - v)' M (x - v) / (2 g))

and J of them turn the question into whether two clouds in J dimensions have the same mean, which is
Hotelling's. Where to look is learned on one half of the rows; the other half is tested.

The gradient of the statistic is short enough to write down (`_gradients`), so NumPy is all it needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from nammd.data.arrays import Array, FloatArray, is_constant, to_numpy
from nammd.engines import Engine
from nammd.errors.checks import choice, positive, whole_settings
from nammd.kernels.bandwidth import drawn_rows, median_distance
from nammd.questions.two_sample import TwoSampleResult

# Added to the diagonal of the covariance, so that features which hardly vary do not decide alone.
RIDGE = 1e-5

# The smallest eigenvalue that a learned matrix may have, and how many epochs may pass unchecked.
_SMALLEST_EIGENVALUE = 1e-5
_EPOCHS_PER_PROJECTION = 5

# The first widths that are tried, in units of the squared median distance.
_WIDTH_FACTORS = 2.0 ** np.linspace(-3, 4, 30)


@dataclass(frozen=True, eq=False)
class LocalFeatures:
    """Similarities to J locations.

    Parameters
    ----------
    locations : array of shape (J, d)
        Where to look.
    widths : array of shape (J,)
        How far to look from each location: g, a squared length.
    matrices : array of shape (J, d, d)
        The shape of the neighbourhood of each location: M, symmetric and positive definite.
    """

    locations: FloatArray
    widths: FloatArray
    matrices: FloatArray

    @classmethod
    def gaussian(cls, locations: FloatArray, width: float) -> LocalFeatures:
        """Return round neighbourhoods of one width: exp(-|x - v|² / (2 width))."""
        count, columns = locations.shape
        return cls(locations, np.full(count, width), np.tile(np.eye(columns), (count, 1, 1)))

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return the features of every row, of shape (rows, J)."""
        apart = rows - self.locations[:, None, :]
        squares = np.einsum("jnd,jnd->jn", apart @ self.matrices, apart)
        return np.asarray(np.exp(-squares / (2 * self.widths[:, None])).T)


def direction(fx: FloatArray, fy: FloatArray) -> FloatArray:
    """Return the difference of the mean features in units of their spread: (S + ridge I)^(-1/2) d.

    S is the covariance within the samples, pooled with the divisor n1 + n2 - 2.
    """
    difference = fx.mean(axis=0) - fy.mean(axis=0)
    values, vectors = np.linalg.eigh(_covariance(fx, fy))
    return np.asarray(vectors @ (vectors.T @ difference / np.sqrt(values)))


def separation(fx: FloatArray, fy: FloatArray) -> float:
    """Return T = n1 n2 / (n1 + n2) d' (S + ridge I)^-1 d; chi-squared with J degrees of freedom if P = Q."""
    toward = direction(fx, fy)
    return float(_effective_size(len(fx), len(fy)) * toward @ toward)


def null_distribution(reference: str, count: int, rows: int) -> Any:
    """Return the distribution of `separation` if P = Q, as SciPy has it.

    Chi-squared takes the covariance as known; Hotelling's T² counts that it is estimated from `rows` rows,
    exactly so for normal features. They agree as the rows increase.
    """
    from scipy.stats import chi2, f

    if reference == "chi-squared":
        return chi2(count)
    rest = rows - count - 1
    return f(count, rest, scale=count * (rows - 2) / rest)


def learn_features(
    x: FloatArray, y: FloatArray, count: int, *, epochs: int, learning_rate: float, rng: np.random.Generator
) -> LocalFeatures:
    """Return the features that separate two training samples best: Adam on `separation`.

    Columns are brought to the unit interval first, so that a step means the same whatever their units;
    the result is in the units of the data.
    """
    rows = np.concatenate([x, y])
    low, span = rows.min(axis=0), np.ptp(rows, axis=0)
    span = np.where(span > 0, span, 1.0)
    rows = (rows - low) / span
    features = _climb(_starting_features(rows, len(x), count, rng), rows, len(x), epochs, learning_rate)
    return LocalFeatures(
        low + span * features.locations, features.widths, features.matrices / np.multiply.outer(span, span)
    )


@dataclass(frozen=True)
class MEMaBiD:
    """The ME_MaBiD test of Zhou, Ni, Yao and Gao (2023): differences at learned locations.

    Half of the rows, drawn by `rng`, are used to learn where the samples differ most and the other
    half to test it there, so the level does not suffer from the learning. It does from the published
    reference distribution, chi-squared, where there are few rows for each location: see `reference`.

    Parameters
    ----------
    locations : int
        The number of locations, J. The experiments of the NAMMD paper use 13 for blob, 9 for higgs and
        hdgm, and 2 for images.
    epochs : int
        The number of steps of Adam; each costs time and memory proportional to rows x J x columns, and
        time proportional to J x columns² more.
    learning_rate : float
        The length of a step, with the columns scaled to the unit interval; 0.005 for blob, 0.001 for
        higgs and hdgm in those experiments.
    beta : float
        How the level is shared between the two directions, from 0 to 2. Where the difference in the
        test half points to the same side as the one that was learned the level is ``beta * alpha``,
        otherwise ``(2 - beta) * alpha``. Under equal distributions both happen equally often, so the
        level stays alpha; above 1 differences that the training half has seen are found more easily.
        1, the default and the choice in the experiments, ignores the direction.
    reference : {"chi-squared", "hotelling"}
        What the statistic is compared with. Chi-squared, as published, is a limit for many rows: with 13
        locations and alpha = 0.05 it rejected 21, 11 and 7 % of 1500 or more pairs of equal distributions
        (blob) with 50, 100 and 200 rows in each dataset. Hotelling's T² is as quick to compute and
        rejected 3.3, 4.1 and 4.3 %.

    Notes
    -----
    The p-value is divided by beta or by 2 - beta, so that it is at most alpha exactly where the test rejects.

    References
    ----------
    Zhou, Ni, Yao, Gao (2023). "On the Exploration of Local Significant Differences For Two-Sample
    Test." Advances in Neural Information Processing Systems 36.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.methods.mabid import MEMaBiD
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(200, 2)), rng.normal(scale=1.5, size=(150, 2))
    >>> result = nammd.two_sample_test(x, y, method=MEMaBiD(locations=3, epochs=100), rng=1)
    >>> result.rejected
    True
    >>> result.details["locations"].shape
    (3, 2)
    """

    locations: int = 5
    epochs: int = 1000
    learning_rate: float = 0.005
    beta: float = 1.0
    reference: Literal["chi-squared", "hotelling"] = "chi-squared"
    name: ClassVar[str] = "me-mabid"

    def __post_init__(self) -> None:
        whole_settings(self, locations=1, epochs=0)
        positive(self.learning_rate, "learning_rate")
        if not 0 <= self.beta <= 2:
            raise ValueError(f"beta must be between 0 and 2, not {self.beta}")
        choice(self.reference, "reference", ("chi-squared", "hotelling"))

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples."""
        train_x, test_x = _halves(to_numpy(x), rng)
        train_y, test_y = _halves(to_numpy(y), rng)
        self._require_enough_rows(len(x), len(y), len(test_x) + len(test_y))
        features = learn_features(
            train_x,
            train_y,
            self.locations,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            rng=rng,
        )
        fx, fy = features(test_x), features(test_y)
        learned = direction(features(train_x), features(train_y))
        agrees = bool(learned @ direction(fx, fy) > 0)
        share = self.beta if agrees else 2 - self.beta
        statistic = separation(fx, fy)
        null = null_distribution(self.reference, self.locations, len(fx) + len(fy))
        pvalue = min(1.0, float(null.sf(statistic)) / share) if share > 0 else 1.0
        return TwoSampleResult(
            statistic=statistic,
            pvalue=pvalue,
            threshold=float(null.isf(min(1.0, share * alpha))),
            rejected=pvalue <= alpha,
            alpha=alpha,
            method=self.name,
            permutations=0,
            m=len(x),
            n=len(y),
            kernel=None,
            engine="numpy",
            null=np.empty(0),
            details={
                "locations": features.locations,
                "widths": features.widths,
                "matrices": features.matrices,
                "train_rows": (len(train_x), len(train_y)),
                "test_rows": (len(test_x), len(test_y)),
                "agrees_with_training": agrees,
            },
        )

    def _require_enough_rows(self, m: int, n: int, tested: int) -> None:
        if min(m, n) < 4:
            raise ValueError(
                f"{self.name} learns on one half of the rows and tests the other, so at least 4 rows "
                f"are needed in each dataset; x has {m} and y has {n}"
            )
        if tested - 2 < 2 * self.locations:
            raise ValueError(
                f"{self.name} has only {tested} rows to test {self.locations} locations with; "
                f"give more rows, or use fewer locations: MEMaBiD(locations={(tested - 2) // 2})"
            )


def _halves(rows: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return two disjoint halves of the rows, at random; the second has the odd row."""
    order = rng.permutation(len(rows))
    return rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]


def _covariance(fx: FloatArray, fy: FloatArray) -> FloatArray:
    centred = np.concatenate([fx - fx.mean(axis=0), fy - fy.mean(axis=0)])
    return np.asarray(centred.T @ centred / (len(centred) - 2) + RIDGE * np.eye(centred.shape[1]))


def _effective_size(n1: int, n2: int) -> float:
    return n1 * n2 / (n1 + n2)


def _starting_features(rows: FloatArray, n1: int, count: int, rng: np.random.Generator) -> LocalFeatures:
    """Return locations from Gaussians fitted to both samples, with the one width that separates best."""
    from_x = (count + 1) // 2
    locations = np.concatenate(
        [_fitted_gaussian(rows[:n1], from_x, rng), _fitted_gaussian(rows[n1:], count - from_x, rng)]
    )
    scale = 1.0 if is_constant(rows) else median_distance(drawn_rows([rows], []), "euclidean") ** 2
    candidates = (LocalFeatures.gaussian(locations, scale * factor) for factor in _WIDTH_FACTORS)
    # With the number of locations given, power grows with T alone.
    return max(candidates, key=lambda f: separation(f(rows[:n1]), f(rows[n1:])))


def _fitted_gaussian(rows: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw from the Gaussian with the mean and covariance of the rows.

    Random combinations of the centred rows have that covariance; it is never formed, nor factored.
    """
    mean = rows.mean(axis=0)
    combinations = rng.normal(size=(count, len(rows))) / math.sqrt(len(rows) - 1)
    return np.asarray(mean + combinations @ (rows - mean))


def _climb(
    features: LocalFeatures, rows: FloatArray, n1: int, epochs: int, learning_rate: float
) -> LocalFeatures:
    """Maximise `separation` by Adam, with the matrices brought back to positive ones on the way.

    Widths are moved on a logarithmic scale, which keeps them positive.
    """
    parameters = [features.locations, np.log(features.widths), features.matrices]
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    for epoch in range(1, epochs + 1):
        # The usual constants of Adam (Kingma and Ba, 2015): 0.9, 0.999, 1e-8.
        step = learning_rate * math.sqrt(1 - 0.999**epoch) / (1 - 0.9**epoch)
        for p, a, b, gradient in zip(parameters, first, second, _gradients(features, rows, n1), strict=True):
            a += 0.1 * (gradient - a)
            b += 0.001 * (gradient**2 - b)
            p += step * a / (np.sqrt(b) + 1e-8)
        if epoch % _EPOCHS_PER_PROJECTION == 0 or epoch == epochs:
            parameters[2] = _positive_definite(parameters[2])
        features = LocalFeatures(parameters[0], np.exp(parameters[1]), parameters[2])
    return features


def _gradients(features: LocalFeatures, rows: FloatArray, n1: int) -> tuple[FloatArray, ...]:
    """Return the gradients of `separation` in the locations, the logarithms of the widths, the matrices.

    With c = n1 n2 / (n1 + n2), s = 1/n1 for rows of x and -1/n2 for rows of y, F the features, G the
    features less the means of their samples and w = (S + ridge I)^-1 d,

        dT/dF = 2 c (s - G w / (n1 + n2 - 2)) w',

    since d = F's, S = G'G / (n1 + n2 - 2) and G's columns sum to zero in each sample.
    """
    n2 = len(rows) - n1
    apart = rows - features.locations[:, None, :]
    shaped = apart @ features.matrices
    exponents = np.einsum("jnd,jnd->jn", shaped, apart) / (2 * features.widths[:, None])
    values = np.exp(-exponents)

    f = values.T
    fx, fy = f[:n1], f[n1:]
    weights = np.linalg.solve(_covariance(fx, fy), fx.mean(axis=0) - fy.mean(axis=0))
    centred = np.concatenate([(fx - fx.mean(axis=0)) @ weights, (fy - fy.mean(axis=0)) @ weights])
    signs = np.repeat([1 / n1, -1 / n2], [n1, n2])
    by_row = 2 * _effective_size(n1, n2) * (signs - centred / (n1 + n2 - 2))

    # The derivative in the logarithm of every feature; the rest is the derivative of its exponent.
    by_exponent = weights[:, None] * by_row * values
    scaled = by_exponent / features.widths[:, None]
    return (
        np.einsum("jn,jnd->jd", scaled, shaped),
        np.sum(by_exponent * exponents, axis=1),
        -np.swapaxes(scaled[:, :, None] * apart, 1, 2) @ apart / 2,
    )


def _positive_definite(matrices: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(matrices)
    raised = np.maximum(values, _SMALLEST_EIGENVALUE)
    return np.asarray((vectors * raised[:, None, :]) @ np.swapaxes(vectors, 1, 2))
