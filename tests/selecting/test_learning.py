"""Learning a kernel: the criterion, what is learned, and what the split is for."""

import math
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

torch = pytest.importorskip("torch", reason="learning a kernel needs torch")

import nammd  # noqa: E402
from nammd.kernels.deep import Deep  # noqa: E402
from nammd.kernels.networks import convolutional, mlp  # noqa: E402
from nammd.selecting.criterion import moments_of_grams, studentized  # noqa: E402
from nammd.selecting.learners import learner_for  # noqa: E402
from nammd.selection import learn_kernel, train_test_split  # noqa: E402
from nammd.statistics.atom_pair import pair_of_rows  # noqa: E402

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(31, 3)), RNG.normal(0.8, 1.2, size=(27, 3))
MATRIX = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.7]])
KERNELS = {
    "gaussian": nammd.Gaussian(1.3),
    "laplace": nammd.Laplace(2.1),
    "mahalanobis": nammd.Mahalanobis(MATRIX, 1.5),
    "deep": Deep(mlp(3, hidden=8, rng=0), 1.7, 0.3, 0.2),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def blobs(n, rng):
    """Nine clusters; within each, the second sample is correlated and the first is not."""
    centres, noise = rng.integers(0, 3, (2, n, 2)), rng.normal(size=(2, n, 2))
    cell = centres[1] @ [3, 1]
    rho = np.where(cell == 4, 0.0, np.sign(cell - 4) * 0.8)
    noise[1, :, 1] = rho * noise[1, :, 0] + np.sqrt(1 - rho**2) * noise[1, :, 1]
    return tuple(centres + math.sqrt(0.03) * noise)


def criterion_of(kernel, x, y, epsilon=0.0):
    """Return the criterion from the library's own sums, in NumPy."""
    moments = pair_of_rows(nammd.kernel_sums(x, y, kernel)).moments
    size = 2 * len(x) * len(y) / (len(x) + len(y))
    variance = moments.variance(1 + epsilon)
    assert 0 < moments.linear_variance(1 + epsilon) < variance
    return (moments.mmd2 - epsilon * moments.denominator) / math.sqrt(size * variance)


@every_kernel
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_the_criterion_is_that_of_the_moments(kernel, epsilon):
    learner = learner_for(kernel, X)
    grams = learner.grams(learner.tensor(X), learner.tensor(Y))
    rel = 1e-4 if isinstance(kernel, Deep) else 1e-6  # networks are trained in float32
    actual = float(studentized(moments_of_grams(*grams), epsilon).detach())
    assert actual == pytest.approx(criterion_of(kernel, X, Y, epsilon), rel=rel)


@pytest.mark.parametrize("cut", [4, 31])
def test_differentiable_moments_are_those_of_the_sums(cut):
    kernel, x = nammd.Gaussian(1.3), X[:cut]
    ours = moments_of_grams(*(torch.tensor(kernel(*pair)) for pair in ((x, x), (Y, Y), (x, Y))))
    theirs = pair_of_rows(nammd.kernel_sums(x, Y, kernel)).moments
    for name in ("mean", "v1", "v2", "c", "w"):
        for side in ("x", "y"):
            values = (float(getattr(getattr(m, side), name)) for m in (ours, theirs))
            assert next(values) == pytest.approx(next(values), rel=1e-9, abs=1e-12)
    assert float(ours.mmd2) == pytest.approx(theirs.mmd2, rel=1e-10)
    assert float(ours.variance(1.1)) == pytest.approx(theirs.variance(1.1), rel=1e-9, abs=1e-13)


@every_kernel
def test_the_gradient_is_the_slope_of_the_criterion(kernel):
    learner = learner_for(kernel, X)
    parameter = (learner.scales or learner.weights)[0]
    x, y = learner.tensor(X), learner.tensor(Y)

    def criterion():
        return studentized(moments_of_grams(*learner.grams(x, y)), 0.05)

    criterion().backward()
    slope, step = parameter.grad.flatten()[0].item(), 1e-2 if isinstance(kernel, Deep) else 1e-4
    values = []
    with torch.no_grad():
        for move in (step, -2 * step):
            parameter.view(-1)[0] += move
            values.append(criterion().item())
    assert (values[0] - values[1]) / (2 * step) == pytest.approx(slope, rel=1e-2, abs=1e-5)


def test_a_variance_that_is_not_positive_leaves_finite_values_and_gradients():
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(60):
        x, y = rng.normal(size=(2, 5, 2))
        learner = learner_for(nammd.Gaussian(1.0), x)
        moments = moments_of_grams(*learner.grams(learner.tensor(x), learner.tensor(y)))
        seen += moments.variance(1.0).item() <= 0
        value = studentized(moments)
        value.backward()
        assert math.isfinite(value.item())
        assert math.isfinite(learner.scales[0].grad.item())
    assert seen > 5
    constant = learn_kernel(np.zeros((20, 2)), np.zeros((20, 2)), nammd.Gaussian(1.0), epochs=3, rng=0)
    assert constant.kernel.bandwidth == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("start", "epochs"),
    [
        (nammd.Gaussian(0.4), 40),
        (nammd.Laplace(0.6), 40),
        (Deep(mlp(2, rng=0), 0.25, 0.1, 0.1), 15),
    ],
    ids=["gaussian", "laplace", "deep"],
)
def test_learning_improves_the_criterion_on_new_rows(start, epochs):
    rng = np.random.default_rng(1)
    train, new = blobs(400, rng), blobs(500, rng)
    learned = learn_kernel(*train, start, epochs=epochs, validation=0.3, rng=2)
    assert learned.value > learned.start
    assert learned.criterion[-1] > learned.criterion[0]
    before, after = (
        float(studentized(pair_of_rows(nammd.kernel_sums(*new, k)).moments)) for k in (start, learned.kernel)
    )
    assert after > before + 0.08


def test_a_class_starts_at_a_scale_that_sees_something():
    train = blobs(400, np.random.default_rng(1))
    for kind in (nammd.Gaussian, Deep):
        kernel = learn_kernel(*train, kind, epochs=1, rng=2).kernel
        assert 0.05 < kernel.bandwidth < 0.3 < kind.median(*train).bandwidth


def test_a_learned_mahalanobis_matrix_finds_the_direction_that_matters():
    rng = np.random.default_rng(2)
    direction = np.array([3.0, 4.0, 0.0]) / 5

    def sample(n):
        x, y = rng.normal(size=(2, n, 3))
        along = y @ direction
        return x, y + np.outer(np.where(along > 0, 1.0, -1.0), direction)  # a gap, and no change of mean

    start = nammd.Mahalanobis(np.eye(3), 2.0)
    learned = learn_kernel(*sample(300), start, epochs=80, lr=0.05, rng=3)
    matrix = learned.kernel.matrix
    assert direction @ matrix @ direction > 0.8 * np.trace(matrix)
    assert abs(np.linalg.eigh(matrix)[1][:, -1] @ direction) > 0.97
    new = sample(500)
    assert criterion_of(learned.kernel, *new) > 0.1 + criterion_of(start, *new)


def test_with_a_margin_the_kernel_is_the_better_one_for_that_margin():
    rng = np.random.default_rng(4)
    train, new = ((rng.normal(size=(300, 1)), rng.normal(1.0, 0.5, size=(300, 1))) for _ in range(2))
    plain, margin = (learn_kernel(*train, nammd.Gaussian, epsilon=e, epochs=40, rng=0) for e in (None, 0.15))
    assert criterion_of(margin.kernel, *new, 0.15) > criterion_of(plain.kernel, *new, 0.15)
    assert "(NAMMD - 0.15) / sigma" in str(margin)


def test_the_penalty_on_the_norms_makes_them_larger():
    plain, penalised = (learn_kernel(X, Y, nammd.Gaussian, regularize_norm=r, rng=0) for r in (0.0, 1.0))
    before, after = (
        pair_of_rows(nammd.kernel_sums(X, Y, learned.kernel)).moments.denominator
        for learned in (plain, penalised)
    )
    assert after < before - 0.1


def test_the_same_generator_gives_the_same_kernel_and_no_global_state_is_touched():
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    threads = torch.get_num_threads()
    settings = {"epochs": 3, "batch": 10}
    first, again, other = (learn_kernel(X, Y, rng=rng, **settings) for rng in (0, 0, 1))
    assert first.kernel == again.kernel != other.kernel
    np.testing.assert_array_equal(first.criterion, again.criterion)
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    assert torch.get_num_threads() == threads


def test_batch_normalisation_and_dropout_can_be_learned_through():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(2, 24, 64)) * np.array([1.0, 1.5])[:, None, None]
    network = convolutional((1, 8, 8), features=5, channels=(4, 8), rng=0)
    network.append(torch.nn.Dropout(0.5))
    start = Deep.median(*images, network=network)
    runs = [learn_kernel(*images, start, epochs=3, rng=0, validation=0) for _ in range(2)]
    assert runs[0].kernel == runs[1].kernel != start
    assert runs[0].best_epoch == 3
    assert not torch.equal(runs[0].kernel.network[3].running_mean, start.network[3].running_mean)


def pandas_table(values):
    return pd.DataFrame(values, columns=list("abc"))


def polars_table(values):
    return pl.DataFrame(values, list("abc"))


def test_tensors_tables_batches_and_unequal_sizes_are_accepted():
    expected = learn_kernel(X, Y, nammd.Gaussian(1.0), epochs=3, rng=0).kernel.bandwidth
    learned = learn_kernel(torch.asarray(X), torch.asarray(Y), nammd.Gaussian(1.0), epochs=3, rng=0)
    assert learned.kernel.bandwidth == pytest.approx(expected, rel=1e-12)
    pandas, polars = ([make(z) for z in (X, Y)] for make in (pandas_table, polars_table))
    one, other = (learn_kernel(*pair, nammd.Gaussian(1.0), epochs=3, rng=0) for pair in (pandas, polars))
    assert one.kernel == other.kernel
    assert one.space == nammd.Space.fit(*pandas, kernel=one.kernel)
    assert learn_kernel(X, Y, nammd.Gaussian(1.0), epochs=2, batch=8, rng=0).epochs == 2
    single = learn_kernel(X.astype("float32"), Y.astype("float32"), nammd.Gaussian(1.0), epochs=3, rng=0)
    assert single.kernel.bandwidth == pytest.approx(expected, rel=1e-3)


def test_learning_stops_early_and_says_where():
    calls = []
    learned = learn_kernel(
        X, Y, nammd.Gaussian, epochs=400, patience=5, rng=0, progress=lambda *a: calls.append(a)
    )
    assert learned.epochs == learned.best_epoch + 5 < 400
    assert learned.held_out[learned.best_epoch] == learned.held_out.max() == learned.value
    assert len(learned.held_out) == learned.epochs + 1
    assert calls[0] == (0, 400, "learning the kernel")
    assert calls[-1] == (400, 400, "done")
    assert learned.rows == (31, 27)
    assert learned.held_out_rows == (6, 5)
    assert "Test it on others" in learned.note
    assert "not to be tested again" in str(learned)
    assert learned.to_dict()["kernel"] == repr(learned.kernel)


@pytest.mark.parametrize("kind", ["numpy", "torch", "pandas", "polars", "series", "lazy", "list"])
def test_a_split_puts_every_row_into_one_part(kind):
    make = {
        "numpy": np.asarray,
        "torch": torch.asarray,
        "pandas": lambda v: pd.DataFrame({"a": v}),
        "polars": lambda v: pl.DataFrame({"a": v}),
        "series": pd.Series,
        "lazy": lambda v: pl.LazyFrame({"a": v}),
        "list": list,
    }[kind]
    x, y = np.arange(11.0), np.arange(6.0) + 100
    train, test = train_test_split(make(x), make(y), test_size=0.4, rng=0)
    for parts, whole, size in ((zip(train, test, strict=True), (x, y), (4, 2)),):
        for (learn, check), rows, count in zip(parts, whole, size, strict=True):
            learn, check = (np.asarray(part).ravel() for part in (learn, check))
            assert len(check) == count
            np.testing.assert_array_equal(np.sort(np.concatenate([learn, check])), rows)
    again = train_test_split(make(x), make(y), test_size=0.4, rng=0)
    np.testing.assert_array_equal(np.asarray(again[0][0]), np.asarray(train[0]))


REPETITIONS = 60
ALPHA = 0.1


@cache
def learned_from_equal_laws(seed):
    """Learn on rows of equal laws; return these rows, others, and the kernel."""
    rng = np.random.default_rng([7, seed])
    x, y = rng.normal(size=(2, 40, 6))
    train, test = train_test_split(x, y, rng=rng)
    start = nammd.Mahalanobis(np.eye(6), 3.0)
    return train, test, learn_kernel(*train, start, epochs=8, lr=0.1, validation=0, rng=rng).kernel


def rejection_rate(honest, repetitions):
    """Test on other rows than those learned from, or on the same."""
    rejected = []
    for seed in range(repetitions):
        train, test, kernel = learned_from_equal_laws(seed)
        how = {"kernel": kernel, "permutations": 39, "alpha": ALPHA, "rng": [8, seed]}
        rejected.append(nammd.two_sample_test(*(test if honest else train), **how).rejected)
    return np.mean(rejected)


def test_a_test_on_other_rows_keeps_its_level():
    rate = rejection_rate(True, REPETITIONS)
    assert rate <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / REPETITIONS)


def test_a_test_on_the_rows_learned_from_does_not():
    assert rejection_rate(False, 30) > 0.5


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"kernel": nammd.Gaussian(1.0) + nammd.Laplace(1.0)}, TypeError, "cannot be learned"),
        ({"kernel": 1.0}, TypeError, "kernel must be a Gaussian"),
        ({"kernel": "deep"}, ValueError, "kernel must be one of 'gaussian', 'rbf'"),
        ({"epsilon": 1.0}, ValueError, "epsilon must be strictly between"),
        ({"epochs": 0}, ValueError, "epochs must be a whole number of at least 1"),
        ({"batch": 3}, ValueError, "batch must be a whole number of at least 4"),
        ({"lr": -1.0}, ValueError, "lr must be positive"),
        ({"regularize_norm": -1.0}, ValueError, "regularize_norm must be zero or a positive"),
        ({"validation": 0.95}, ValueError, "too few to hold out"),
        ({"validation": 2}, ValueError, "validation must be strictly between"),
        ({"x": X[:7]}, ValueError, "at least 8 are needed"),
    ],
)
def test_mistakes_are_explained(changes, error, message):
    with pytest.raises(error, match=message):
        learn_kernel(**({"x": X, "y": Y, "kernel": nammd.Gaussian(1.0)} | changes))


def test_a_split_needs_two_rows():
    with pytest.raises(ValueError, match="y has 1 row; a split needs at least 2"):
        train_test_split(X, Y[:1])
