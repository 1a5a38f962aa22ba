"""Learning a kernel from data: Adam on the studentized statistic.

The power of a test with kernel k is, in large samples, an increasing function of (paper, appendix
"Details of Optimization for Kernel Selecting")::

    NAMMD / sigma  =  MMD2 / sigma_M

where sigma is the standard deviation of one row's share in the estimate; the denominator D of NAMMD
cancels. For a closeness test with margin eps the same argument gives::

    (NAMMD - eps) / sigma  =  (MMD2 - eps D) / sqrt(N V(1 + eps)),        N = 2 m n / (m + n),

V being the variance of ``U = MMD2 - eps D`` that the test itself uses; eps = 0 gives the first criterion.
N takes the sample size out, so that values of samples of different sizes compare. Where accepted data set
the margin, it is another one under every kernel: `nammd.selecting.closeness` has the criterion for that.

The unbiased V can be negative where rows tell little. Dividing by its root would then fail, and dividing
by a small constant instead would reward kernels for a bad estimate. So, as in the tests, the part due to
single rows and the part due to pairs are kept at zero or above separately: the latter is of order 1/m
and practically never vanishes.

A kernel that was learned from rows fits their noise: a test on the same rows rejects far too often.
Learn on one part and test on the other; `train_test_split` makes the parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.checks import between, positive, whole
from nammd.evidence import prepare
from nammd.kernels import Gaussian, Kernel, Laplace, Mahalanobis, named_kernel
from nammd.kernels.deep import Deep
from nammd.results import Result, number
from nammd.selecting.ascent import EpochProgress, maximise_from, start_at_best_scale
from nammd.selecting.closeness import NEGLIGIBLE, named_accepted, require_apart
from nammd.selecting.criterion import beyond, moments_of_grams, studentized
from nammd.selecting.learners import learner_for
from nammd.spaces import Space

_LEAST = 4  # rows: the variance is an average over quadruples


@dataclass(frozen=True)
class LearnedKernel(Result):
    """What `learn_kernel` returns.

    Attributes
    ----------
    kernel : Kernel
        The learned kernel.
    start : float
        The criterion of the kernel that learning started from, on the held-out rows.
    value : float
        The criterion of the learned kernel, on the held-out rows.
    epochs : int
        The number of epochs that were run.
    best_epoch : int
        The epoch that the kernel was taken from; 0 where nothing was better than the start.
    rows : tuple of int
        How many rows of x and of y the kernel was learned from, those held out included. It must be
        tested on others.
    held_out_rows : tuple of int
        How many of these rows only decided when to stop.
    epsilon : float or None
        The margin in the criterion.
    accepted : tuple of int
        How many rows the kernel was learned from of every accepted dataset, if there were some.
    note : str
        What to keep in mind.
    criterion : array of shape (epochs,)
        The criterion on the training rows in every epoch, less the penalty if there is one.
    held_out : array of shape (epochs + 1,)
        The criterion on the held-out rows, before learning and after every epoch; empty without them.
    space : Space
        The space with that kernel; what tables have to be tested in.
    """

    kernel: Kernel
    start: float
    value: float
    epochs: int
    best_epoch: int
    rows: tuple[int, int]
    held_out_rows: tuple[int, int]
    epsilon: float | None
    note: str
    criterion: FloatArray = field(repr=False, compare=False)
    held_out: FloatArray = field(repr=False, compare=False)
    space: Space = field(repr=False, compare=False)
    accepted: tuple[int, ...] = ()
    cautions = ()

    def headline(self) -> str:
        """Return the answer in one sentence."""
        return f"Learned a kernel: {self.kernel}."

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        what = "NAMMD / sigma" if self.epsilon is None else f"(NAMMD - {self.epsilon:g}) / sigma"
        rows = f"{self.rows[0]} and {self.rows[1]}"
        if self.accepted:
            what = "beyond accepted / sigma"
            accepted = " and ".join(map(str, self.accepted))
            rows = f"{self.rows[0]} reference, {accepted} accepted and {self.rows[1]} far"
        return [
            (what, f"{number(self.value)}, at the start {number(self.start)}"),
            ("epochs", f"{self.epochs}, the best was {self.best_epoch}"),
            ("rows", f"{rows}, not to be tested again"),
        ]


def learn_kernel(
    x: Any,
    y: Any,
    kernel: Any = Deep,
    *,
    epsilon: float | None = None,
    accepted: Any = None,
    negligible: float = NEGLIGIBLE,
    epochs: int = 500,
    lr: float | None = None,
    batch: int | None = None,
    regularize_norm: float = 0.0,
    validation: float = 0.2,
    patience: int = 100,
    rng: Any = None,
    device: Any = None,
    progress: EpochProgress | None = None,
) -> LearnedKernel:
    """Learn the kernel that tells two datasets apart best, by Adam on the studentized statistic.

    Give it rows that will not be tested: see `train_test_split`.

    Parameters
    ----------
    x, y : dataset
        The datasets, of at least 8 rows each; see `distance`.
    kernel : Kernel or class
        What to learn, and where to start: a `Gaussian` or `Laplace` (the bandwidth is learned), a
        `Mahalanobis` (the matrix) or a `Deep` kernel (everything). A class starts from its ``median``,
        times the power of two that the criterion likes best: far from a good bandwidth it is flat. With
        accepted data also from the median itself; the better of the two is kept.
    epsilon : float, optional
        The margin of the closeness test that the kernel is for: the criterion is then
        ``(NAMMD - epsilon) / sigma``. A margin means something for one kernel only, so measure the
        margin of your application again with the kernel that comes out.
    accepted : dataset or mapping of str to dataset, optional
        What was accepted, at least 8 rows each, where the kernel is to tell y from it: is y farther from x?
        Both distances are measured with every kernel that is tried, so no epsilon is needed. The criterion
        is how far y is beyond, as in `select_bandwidth`; of several accepted datasets the least counts.
    negligible : float
        The share of rows that may move elsewhere without mattering. Only with accepted data.
    epochs : int
        The largest number of passes over the rows.
    lr : float, optional
        The step of Adam; by default 0.05 for bandwidths, 0.02 for a Mahalanobis matrix and 0.002 for a
        network. The bandwidths and the epsilon of a deep kernel move ten times as fast as its weights.
    batch : int, optional
        Rows of each dataset per step; by default all. With more than a few thousand rows a batch of
        some hundred saves time and memory, which grow with its square.
    regularize_norm : float
        The weight of a penalty on ``D / K = 4 - (xx + yy) / K``: the paper's regularisation towards
        kernels under which the distributions have large norms, where NAMMD exceeds MMD.
    validation : float
        The share of the rows that is held out to choose the best epoch; 0 for none.
    patience : int
        Stop after so many epochs without improvement on the held-out rows.
    rng : int, numpy.random.Generator or None
        Generator for the parts, the batches and a fresh network.
    device : optional
        Where to compute, such as ``"cuda"``; by default where the data is.
    progress : callable, optional
        Called as ``progress(done, total, what)`` before every epoch, and once at the end.

    Returns
    -------
    LearnedKernel

    Notes
    -----
    Dropout stays off: a kernel that changes from call to call has no power to estimate.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.selection import learn_kernel, train_test_split
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) * [1.0, 2.5]
    >>> train, test = train_test_split(x, y, rng=1)
    >>> learned = learn_kernel(*train, nammd.Mahalanobis, epochs=50, rng=2)
    >>> learned.value >= learned.start
    True
    >>> nammd.two_sample_test(*test, kernel=learned.kernel, rng=3).rejected
    True

    A shift of the first column was accepted. The second one must not spread, and the kernel learns to look
    there:

    >>> draws = rng.normal(size=(3, 600, 2))
    >>> x, accepted, y = draws[0], draws[1] + [1.2, 0.0], draws[2] * [1.0, 2.0] + [1.0, 0.0]
    >>> train, (x, y, accepted) = train_test_split(x, y, accepted, rng=1)
    >>> learned = learn_kernel(*train[:2], nammd.Mahalanobis, accepted=train[2], epochs=50, rng=2)
    >>> nammd.compare_pairs((x, accepted), (x, y), kernel=learned.kernel).rejected
    True
    >>> nammd.compare_pairs((x, accepted), (x, y)).rejected
    False
    """
    if accepted is not None and epsilon is not None:
        raise ValueError("give either epsilon or accepted: accepted data set the margin of every kernel")
    named, share = named_accepted(accepted, negligible)
    # Of the space only the points are used: the kernel is what is to be learned.
    samples = prepare({"x": x, "y": y, **named}, kernel=Gaussian(1.0), least=2 * _LEAST)
    require_apart(samples)
    points = [sample.points for sample in samples]
    margin = 0.0 if epsilon is None else between(epsilon, "epsilon")
    held_share = 0.0 if validation == 0 else between(validation, "validation")
    batch = None if batch is None else whole(batch, "batch", _LEAST)
    epochs, patience = whole(epochs, "epochs", 1), whole(patience, "patience", 1)
    if not (math.isfinite(regularize_norm) and regularize_norm >= 0):
        raise ValueError(f"regularize_norm must be zero or a positive number, not {regularize_norm!r}")
    generator = np.random.default_rng(rng)
    kernel = named_kernel(kernel)
    fresh = isinstance(kernel, type) and kernel in (Gaussian, Laplace, Mahalanobis, Deep)
    if fresh:
        kernel = kernel.median(*points[:2], rng=generator)
    learner = learner_for(kernel, points[0], device)
    orders = [generator.permutation(int(z.shape[0])) for z in points]
    counts = [max(_LEAST, round(held_share * len(o))) if held_share else 0 for o in orders]
    for sample, order, count in zip(samples, orders, counts, strict=True):
        if len(order) - count < _LEAST:
            raise ValueError(f"{sample.name} has {len(order)} rows, too few to hold out {count} of them")
    tensors = [learner.tensor(z) for z in points]
    training = [t[np.sort(o[c:])] for t, o, c in zip(tensors, orders, counts, strict=True)]
    held = [t[np.sort(o[:c])] for t, o, c in zip(tensors, orders, counts, strict=True)]

    def objective(kxx: Any, *grams: Any) -> Any:
        far, *good = zip(grams[::2], grams[1::2], strict=True)
        if good:
            value, moments = beyond(kxx, far, good, share)
        else:
            moments = moments_of_grams(kxx, *far)
            value = studentized(moments, margin)
        return value - regularize_norm * moments.denominator if regularize_norm else value

    # Beside an accepted drift a kernel that treats all columns alike may see nothing at any scale, and which
    # one looks best is chance. So learning starts from the median, too.
    starts = [learner.state()] if named or not fresh else []
    if fresh:
        start_at_best_scale(learner, objective, training)
        starts.append(learner.state())
    fitted = maximise_from(
        starts,
        learner,
        objective,
        training,
        held if held_share else None,
        epochs=epochs,
        lr=learner.lr if lr is None else positive(lr, "lr"),
        batch=batch,
        patience=patience,
        generator=generator,
        progress=progress,
    )
    sizes = [len(order) for order in orders]
    learned = learner.finish()
    return LearnedKernel(
        kernel=learned,
        start=fitted.start,
        value=fitted.value,
        epochs=len(fitted.criterion),
        best_epoch=fitted.best_epoch,
        rows=(sizes[0], sizes[1]),
        held_out_rows=(counts[0], counts[1]),
        epsilon=epsilon,
        note=(
            f"The kernel was learned from these {' and '.join(map(str, sizes))} rows. Test it on others: on "
            "the rows that it has seen, a test rejects far too often."
        ),
        criterion=np.array(fitted.criterion),
        held_out=np.array(fitted.held_out),
        space=Space(samples[0].space.encoding, learned),
        accepted=tuple(sizes[2:]),
    )
