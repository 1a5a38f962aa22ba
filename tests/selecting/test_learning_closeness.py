"""Learning a kernel for closeness: the criterion as a tensor, and what is learned by it."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="learning a kernel needs torch")

import nammd  # noqa: E402
from nammd.kernels.deep import Deep  # noqa: E402
from nammd.kernels.networks import mlp  # noqa: E402
from nammd.selecting.criterion import FLOOR, beyond  # noqa: E402
from nammd.selecting.learners import learner_for  # noqa: E402
from nammd.selection import learn_kernel  # noqa: E402
from tests.selecting.test_closeness_kernels import FAR, GOOD, OTHER, X, drifted, excess_of  # noqa: E402

KERNELS = {
    "gaussian": nammd.Gaussian(1.3),
    "laplace": nammd.Laplace(2.1),
    "mahalanobis": nammd.Mahalanobis(np.array([[2.0, 0.5], [0.5, 1.0]]), 1.5),
    "deep": Deep(mlp(2, hidden=8, rng=0), 1.7, 0.3, 0.2),
}


def value_of(learner):
    kxx, *grams = learner.grams(*map(learner.tensor, (X, FAR, GOOD, OTHER)))
    far, *good = zip(grams[::2], grams[1::2], strict=True)
    return beyond(kxx, far, good, 0.05)[0]


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_value_is_that_of_numpy_and_the_gradient_is_its_slope(kernel):
    deep, learner = isinstance(kernel, Deep), learner_for(kernel, X)  # networks are trained in float32
    value, expected = value_of(learner), []
    for good in (GOOD, OTHER):
        excess = excess_of(kernel, X, good, FAR)
        expected.append(excess.beyond(0.05) / math.sqrt(excess.variance() * excess.size() + FLOOR))
    assert value.item() == pytest.approx(min(expected), rel=1e-4 if deep else 1e-6)
    value.backward()
    parameter = (learner.scales or learner.weights)[0]
    slope, step, values = parameter.grad.view(-1)[0].item(), 1e-2 if deep else 1e-4, []
    with torch.no_grad():
        for move in (step, -2 * step):
            parameter.view(-1)[0] += move
            values.append(value_of(learner).item())
    assert (values[0] - values[1]) / (2 * step) == pytest.approx(slope, rel=1e-2, abs=1e-5)


def test_a_learned_bandwidth_finds_a_fine_fault_beside_an_accepted_drift():
    x, good, far = drifted(150, np.random.default_rng(1))
    learned = learn_kernel(x, far, nammd.Gaussian, accepted=good, epochs=10, rng=0)
    assert learned.kernel.bandwidth < 0.2 * nammd.Gaussian.median(x, good).bandwidth


def test_a_learned_matrix_looks_where_nothing_was_accepted():
    rng = np.random.default_rng(1)

    def triple(rows):
        x, good, far = rng.normal(size=(3, rows, 2))
        return x, good + np.array([1.2, 0.0]), far * [1.0, 1.8] + np.array([1.0, 0.0])

    (x, good, far), (new, new_good, new_far) = triple(200), triple(400)
    start = nammd.Mahalanobis(np.eye(2), 1.0)
    plain, knowing = (
        learn_kernel(x, far, start, accepted=accepted, epochs=60, lr=0.05, rng=0) for accepted in (None, good)
    )
    first, second = (k.kernel.matrix[0, 0] / np.trace(k.kernel.matrix) for k in (plain, knowing))
    assert second < 0.05 < 0.2 < first
    pairs = (new, new_good), (new, new_far)
    assert nammd.compare_pairs(*pairs, kernel=knowing.kernel).pvalue < 1e-3
    assert nammd.compare_pairs(*pairs, kernel=plain.kernel).pvalue > 0.1
    assert knowing.value > knowing.start
    assert "beyond accepted / sigma" in str(knowing)
    assert "200 reference, 200 accepted and 200 far, not to be tested again" in str(knowing)
    assert "200 and 200 and 200 rows" in knowing.note


def test_a_class_starts_from_the_median_too():
    rng, calls = np.random.default_rng(9), []
    x, good, far = rng.normal(size=(3, 120, 2))
    good, far = good + np.array([1.2, 0.0]), far * [1.0, 1.8] + np.array([1.0, 0.0])
    options = {"accepted": good, "epochs": 15, "rng": 0}
    learned = learn_kernel(x, far, nammd.Mahalanobis, progress=lambda *told: calls.append(told), **options)
    alone = learn_kernel(x, far, nammd.Mahalanobis.median(x, far), **options)
    assert learned.value >= alone.value
    assert [done for done, _, _ in calls] == [*range(16), *range(15, 31)]
    assert {total for _, total, _ in calls} == {30}


def test_batches_networks_and_few_rows():
    learned = learn_kernel(X, FAR, accepted=GOOD.tolist(), epochs=2, batch=8, rng=0)
    assert isinstance(learned.kernel, Deep)
    assert learned.accepted == (19,)
    constant = [np.zeros((20, 2)) for _ in range(3)]
    kept = learn_kernel(constant[0], constant[1], nammd.Gaussian(1.0), accepted=constant[2], epochs=3)
    assert kept.kernel.bandwidth == pytest.approx(1.0)
    with pytest.raises(ValueError, match="accepted 'May' has 8 rows, too few to hold out 5 of them"):
        learn_kernel(X, FAR, nammd.Gaussian, accepted={"May": GOOD[:8]}, validation=0.6)
