"""Runs that are learned and tested side by side are each what it would be by itself."""

import numpy as np
import pytest

import nammd

torch = pytest.importorskip("torch")

from experiments.paper.stacked_networks import StackedNetwork  # noqa: E402
from experiments.paper.stacked_runs import deep_criterion, learn, power_criterion, start  # noqa: E402
from experiments.paper.stacked_tests import generator_for, permutation_pvalues  # noqa: E402

from nammd.kernels.networks import convolutional, mlp  # noqa: E402
from nammd.selecting.criterion import moments_of_grams, studentized  # noqa: E402


def samples(runs=3, rows=20, columns=3):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(runs, rows, columns)), rng.normal(0.5, 1.3, (runs, rows, columns))
    return (torch.tensor(z, dtype=torch.float32) for z in (x, y))


@pytest.mark.parametrize("kind", ["Gaussian", "Laplace", "Mahalanobis", "Deep"])
def test_a_stack_learns_what_each_run_would(kind):
    x, y = samples()
    criterion = deep_criterion if kind == "Deep" else power_criterion

    def learned(part):
        networks = [mlp(3, hidden=6, rng=run) for run in range(3)][part] if kind == "Deep" else []
        kernel = start(kind, x[part], y[part], criterion, networks, feature_bandwidth=0.3, epsilon=0.1)
        before = criterion(*kernel.grams(x[part], y[part]))
        learn(kernel, criterion, x[part], y[part], epochs=8, lr=0.02)
        after = criterion(*kernel.grams(x[part], y[part]))
        assert (after >= before - 1e-6).all()
        return after.detach().numpy()

    np.testing.assert_allclose(learned(slice(0, 3))[1:2], learned(slice(1, 2)), rtol=1e-4)


def test_the_criterion_is_that_of_nammd():
    x, y = samples()
    kernel = start("Gaussian", x, y, power_criterion)
    grams = [gram.detach() for gram in kernel.grams(x, y)]
    each = [float(studentized(moments_of_grams(*(g[run] for g in grams)))) for run in range(3)]
    np.testing.assert_allclose(power_criterion(*grams).numpy(), each, rtol=1e-9)


def test_held_out_rows_choose_the_epoch():
    x, y = samples(rows=30)
    held = (x[:, 20:], y[:, 20:])
    x, y = x[:, :20].contiguous(), y[:, :20].contiguous()
    kernel = start("Mahalanobis", x, y, power_criterion)
    before = power_criterion(*kernel.grams(*held))
    learn(kernel, power_criterion, x, y, epochs=40, lr=0.1, held=held)
    assert (power_criterion(*kernel.grams(*held)) >= before - 1e-6).all()


def test_stacked_networks_are_the_networks_in_training_and_after():
    networks = [convolutional((1, 8, 8), features=5, channels=(4, 8), rng=run) for run in range(2)]
    rows = torch.rand(2, 12, 64)
    stack = StackedNetwork(networks, "cpu")
    for training in (True, False):
        stack.training = training
        for network in networks:
            network.train(training)
        together = stack(rows)
        for run, network in enumerate(networks):
            torch.testing.assert_close(together[run], network(rows[run]), rtol=1e-4, atol=1e-5)


def test_stacked_permutation_tests_are_the_permutation_test():
    rng = np.random.default_rng(1)
    grams, expected = [], []
    for shift in (0.0, 0.5, 1.0):
        x, y = rng.normal(size=(20, 2)), rng.normal(shift, size=(20, 2))
        pooled = np.concatenate([x, y])
        grams.append(nammd.Gaussian(1.0)(pooled, pooled))
        test = nammd.two_sample_test(x, y, kernel=nammd.Gaussian(1.0), permutations=4000, rng=0)
        expected.append(test.pvalue)
    found = permutation_pvalues(torch.tensor(np.array(grams)), 1.0, 4000, generator_for(rng, "cpu"))
    np.testing.assert_allclose(found["mmd"], expected, atol=0.04)
    np.testing.assert_array_equal(found["mmd"], found["nammd"])
    for statistic in ("mmd", "nammd"):
        by_hand = [without_paired(gram, statistic, rng) for gram in grams]
        np.testing.assert_allclose(found[f"off-diagonal {statistic}"], by_hand, atol=0.05)


def without_paired(gram, statistic, rng, permutations=1500):
    """The permutation test that leaves out the cross pairs (i, i), by its definition."""
    m = len(gram) // 2
    off = ~np.eye(m, dtype=bool)

    def value(order):
        one, other = order[:m], order[m:]
        xx, yy, xy = (gram[np.ix_(a, b)][off].mean() for a, b in ((one, one), (other, other), (one, other)))
        mmd2 = xx + yy - 2 * xy
        return mmd2 if statistic == "mmd" else mmd2 / (4 - xx - yy)

    observed = value(np.arange(2 * m))
    return np.mean([value(rng.permutation(2 * m)) >= observed for _ in range(permutations)])
