"""MMD-D: a deep kernel is learned on one half of the rows and tested on the other.

F. Liu, W. Xu, J. Lu, G. Zhang, A. Gretton, D. J. Sutherland. Learning deep kernels for non-parametric
two-sample tests. ICML 2020.

The method has conventions of its own, which are kept here::

    k(x, y) = [(1 - e) exp(-|f(x) - f(y)|^2 / s0) + e] exp(-|x - y|^2 / s)

so its s is twice the square of this package's bandwidth; and its criterion is MMD2 / sqrt(v + 1e-8), MMD2
over the off-diagonal pairs and v from the matrix H *with* its diagonal. That v is biased, but a variance
of row means: it cannot be negative.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from nammd.data.arrays import Array, FloatArray
from nammd.engines import Engine
from nammd.kernels import Gaussian
from nammd.kernels.deep import Deep
from nammd.kernels.networks import mlp
from nammd.methods.permutation import MMDPermutation
from nammd.questions.two_sample import TwoSampleResult
from nammd.selecting.ascent import maximise, start_at_best_scale
from nammd.selecting.learners import learner_for
from nammd.selecting.splitting import train_test_split

FLOOR = 1e-8
_LEAST = 4  # rows: two for each half


@dataclass(frozen=True)
class MMDDeep:
    """The two-sample test with a learned deep kernel (Liu et al., 2020).

    Half of the rows train the kernel; the permutation test of MMD2 runs on the other half, so it is
    exact.

    Parameters
    ----------
    network : torch.nn.Module, optional
        The network to start from; by default a fresh perceptron with three Softplus layers.
        ``nammd.kernels.networks.convolutional`` is the paper's for images, with ``batch=100``.
    hidden : int
        The units in each layer of the perceptron: in the paper 50 for blob, three times the number of
        columns for hdgm, 20 for higgs.
    epochs : int
        How many times Adam passes over the rows.
    lr : float
        The step of Adam: in the paper 5e-4 for blob, 5e-5 for hdgm and higgs.
    s : float, optional
        The start of s: in the paper twice the number of columns for hdgm and higgs. By default twice the
        square of the median distance, times the power of four that the criterion likes best; in blob, of
        two scales, a start at the larger one is hardly ever left again.
    s0 : float
        The start of s0: in the paper 0.1 for hdgm and 0.005 for higgs.
    epsilon : float
        The start of e.
    batch : int, optional
        Rows of each sample per step; by default all.
    permutations : int
        The number of permutations.
    device : optional
        Where to train, such as ``"cuda"``; by default where the data is.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.methods.deep import MMDDeep
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(100, 2)), rng.normal(1.0, size=(120, 2))
    >>> method = MMDDeep(epochs=10, permutations=99)
    >>> nammd.two_sample_test(x, y, method=method, rng=0).rejected
    True
    """

    network: Any = None
    hidden: int = 50
    epochs: int = 1000
    lr: float = 5e-4
    s: float | None = None
    s0: float = 0.1
    epsilon: float = 1e-2
    batch: int | None = None
    permutations: int = 999
    device: Any = None
    name: ClassVar[str] = "mmd-deep"

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples."""
        for name, sample in (("x", x), ("y", y)):
            if sample.shape[0] < _LEAST:
                raise ValueError(
                    f"{name} has {sample.shape[0]} rows; the method 'mmd-deep' needs at least {_LEAST}, "
                    "since it learns on one half and tests on the other"
                )
        train, test = train_test_split(x, y, rng=rng)
        kernel, course = self.learn(*train, rng=rng)
        result = MMDPermutation(kernel, self.permutations).test(*test, alpha=alpha, rng=rng, engine=engine)
        return dataclasses.replace(
            result,
            method=self.name,
            m=int(x.shape[0]),
            n=int(y.shape[0]),
            details={
                "training_rows": [int(part.shape[0]) for part in train],
                "tested_rows": [int(part.shape[0]) for part in test],
                "epochs": len(course),
                "criterion": [float(value) for value in course[[0, -1]]],
            },
        )

    def learn(self, x: Array, y: Array, *, rng: np.random.Generator) -> tuple[Deep, FloatArray]:
        """Return the kernel learned from two samples, and the criterion in every epoch."""
        network = mlp(int(x.shape[1]), self.hidden, rng=rng) if self.network is None else self.network
        bandwidth = Gaussian.median(x, y).bandwidth if self.s is None else math.sqrt(self.s / 2)
        start = Deep(network, bandwidth, math.sqrt(self.s0 / 2), self.epsilon)
        learner = learner_for(start, x, self.device)
        learner.scales_lr = 1.0
        m, n = int(x.shape[0]), int(y.shape[0])
        training = [learner.tensor(x), learner.tensor(y)]
        if self.s is None:
            start_at_best_scale(learner, _objective, training)
        course = maximise(
            learner,
            _objective,
            training,
            None,
            epochs=self.epochs,
            lr=self.lr,
            # The criterion is for samples of equal size: of the larger one, other rows in every epoch.
            batch=min(m, n) if self.batch is None and m != n else self.batch,
            patience=self.epochs,
            generator=rng,
            progress=None,
        )
        return cast(Deep, learner.finish()), np.array(course.criterion)


def mmd2_and_variance(kxx: Array, kyy: Array, kxy: Array) -> tuple[Any, Any]:
    """Return the method's MMD2 and its variance from Gram matrices of samples of equal size.

    With ``H = Kxx + Kyy - Kxy - Kxy'``: the mean of H off its diagonal, and four times the variance of
    its row means, over all columns.

    Parameters
    ----------
    kxx, kyy, kxy : array of shape (m, m)
        The Gram matrices; NumPy arrays, or torch tensors that can be differentiated.

    Returns
    -------
    mmd2, variance
        Numbers, or tensors without dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.methods.deep import mmd2_and_variance
    >>> mmd2, variance = mmd2_and_variance(np.eye(3), np.eye(3), np.zeros((3, 3)))
    >>> float(mmd2), float(variance)
    (0.0, 0.0)
    """
    m = kxy.shape[0]
    h = kxx + kyy - kxy - kxy.T
    row_means = h.sum(1) / m
    mmd2 = (h.sum() - h.diagonal().sum()) / (m * (m - 1))
    # Centred first: the difference of two means of squares can come out negative, and has no root then.
    centred = row_means - row_means.mean()
    return mmd2, 4 * (centred @ centred) / m


def criterion(mmd2: Any, variance: Any) -> Any:
    """Return what the method maximises, ``MMD2 / sqrt(variance + 1e-8)``."""
    return mmd2 / (variance + FLOOR) ** 0.5


def _objective(kxx: Any, kyy: Any, kxy: Any) -> Any:
    return criterion(*mmd2_and_variance(kxx, kyy, kxy))
