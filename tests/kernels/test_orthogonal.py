"""Orthogonal frequencies with stratified lengths, and kernels for large data."""

import numpy as np
import pytest

import nammd
from nammd.kernels.large import MOST_ROWS, kernel_for_rows
from nammd.kernels.operations import as_code, at_scale, for_columns, from_dict, row_by_row, to_dict
from nammd.kernels.orthogonal import normal_frequencies, number_of_features


@pytest.mark.parametrize(("count", "columns"), [(24, 4), (26, 4), (3, 10), (16, 1)])
def test_blocks_are_at_right_angles_and_lengths_are_strata(count, columns):
    w = normal_frequencies(np.random.default_rng(0).normal(size=(count, columns)))
    assert w.shape == (count, columns)
    for start in range(0, count, columns):
        block = w[start : start + columns]
        gram = block @ block.T
        np.testing.assert_allclose(gram, gram[0, 0] * np.eye(len(block)), atol=1e-12)
    lengths = np.linalg.norm(w, axis=1)
    assert np.all(np.diff(lengths) >= -1e-12)
    assert (lengths**2).mean() == pytest.approx(columns)


def test_frequencies_are_those_of_the_first_version():
    """A tolerance from today must be readable in ten years: never change these numbers."""
    features = nammd.RandomFeatures(nammd.Gaussian(2.0), 8, rng=7, orthogonal=True)
    near, far = (0.10127116264566885, 0.4019946030223789), (-0.8563145529540311, 0.3080095406905642)
    expected = [*near, -near[1], near[0], *far, -far[1], far[0]]
    np.testing.assert_allclose(features.frequencies(2).ravel(), expected, rtol=1e-10)


def test_directions_are_uniform():
    """No column is seen better than another, over seeds."""
    every = [
        nammd.RandomFeatures(nammd.Gaussian(1.0), 6, rng=seed, orthogonal=True).frequencies(3)
        for seed in range(300)
    ]
    directions = np.array([w / np.linalg.norm(w, axis=1)[:, None] for w in every])
    np.testing.assert_allclose((directions**2).mean(axis=0), np.full((3, 3), 1 / 3), atol=0.06)
    np.testing.assert_allclose(directions.mean(axis=0), np.zeros((3, 3)), atol=0.11)


def normal_distance(features, shift):
    """Return the distance of two normal laws under a feature kernel, by the laws of the waves."""
    w = features.frequencies(len(shift))
    damped = np.exp(-(w * w).sum(axis=1))
    across = (damped * np.cos(w @ shift)).mean()
    return (2 * damped.mean() - 2 * across) / (4 - 2 * damped.mean())


def test_distances_are_nearer_to_those_of_the_kernel_than_with_independent_frequencies():
    shift, bandwidth = np.array([0.3, 0.0, 0.0, 0.0, 0.0]), 3.0
    ratio = (bandwidth**2 / (bandwidth**2 + 2)) ** 2.5
    true = 2 * ratio * (1 - np.exp(-0.09 / 2 / (bandwidth**2 + 2))) / (4 - 2 * ratio)
    found = {
        apart: [
            normal_distance(
                nammd.RandomFeatures(nammd.Gaussian(bandwidth), 200, rng=seed, orthogonal=apart), shift
            )
            for seed in range(40)
        ]
        for apart in (False, True)
    }
    assert np.mean(found[True]) == pytest.approx(true, rel=0.01)
    assert np.std(found[True]) < 0.3 * np.std(found[False])


def test_a_kernel_is_stored_told_and_scaled():
    features = nammd.RandomFeatures(nammd.Gaussian(2.0), 12, rng=3, orthogonal=True)
    assert from_dict(to_dict(features)) == features
    assert as_code(features) == (
        "nammd.RandomFeatures(nammd.Gaussian(bandwidth=2.0), 12, rng=3, orthogonal=True)"
    )
    assert str(features) == "12 orthogonal features (seed 3) of Gaussian, bandwidth 2"
    half = at_scale(features, 0.5)
    np.testing.assert_array_equal(half.frequencies(3), 2 * features.frequencies(3))
    independent = nammd.RandomFeatures(nammd.Gaussian(2.0), 12, rng=3)
    assert features.digest != independent.digest
    assert "orthogonal" in features.difference(independent)
    rows = np.random.default_rng(0).normal(size=(50, 3))
    part = for_columns(features, rows, np.array([0, 2]))
    assert part.orthogonal
    assert part.kernel == for_columns(features.kernel, rows, np.array([0, 2]))
    with pytest.raises(ValueError, match="orthogonal must be true or false"):
        from_dict(to_dict(features) | {"orthogonal": "yes"})
    with pytest.raises(ValueError, match="not those that this version"):
        from_dict(to_dict(features) | {"orthogonal": False})


def test_row_by_row():
    x, y = np.random.default_rng(1).normal(size=(2, 300, 3))
    for kernel in (nammd.Gaussian(2.0), nammd.RandomFeatures(3 * nammd.Laplace(2.0), 40)):
        np.testing.assert_allclose(row_by_row(kernel, x, y), np.diagonal(kernel(x, y)), rtol=1e-9)
    assert len(row_by_row(nammd.Gaussian(2.0), x[:0], y[:0])) == 0


def test_row_by_row_of_many_rows_is_float32():
    x, y = np.random.default_rng(1).normal(size=(2, 3_000, 3))
    y[7] += 1e4  # such rows go through float64
    features = nammd.RandomFeatures(nammd.Gaussian(2.0), 40)
    found = row_by_row(features, x, y)
    parts = [slice(k, k + 500) for k in range(0, 3_000, 500)]
    exact = np.concatenate([row_by_row(features, x[part], y[part]) for part in parts])
    np.testing.assert_allclose(found, exact, atol=2e-6)
    assert (found != exact).any()


def test_the_kernel_for_many_rows():
    gaussian = nammd.Gaussian(1.0)
    assert MOST_ROWS == 89_442
    assert kernel_for_rows(gaussian, 5, MOST_ROWS) is gaussian
    large = kernel_for_rows(gaussian, 5, MOST_ROWS + 1)
    assert large == nammd.RandomFeatures(gaussian, 1030, rng=0, orthogonal=True)
    assert kernel_for_rows(large, 5, 10**9) is large

    class Odd(nammd.Kernel):
        bound = 1.0

        def __call__(self, x, y, /):
            return np.ones((len(x), len(y)))

    odd = Odd()
    assert kernel_for_rows(odd, 5, 10**9) is odd
    assert [number_of_features(d, 1024) for d in (1, 10, 256, 257, 5000)] == [1024, 1040, 1024, 1024, 1024]
