"""Random features: frequencies that stay the same for years, and the kernels that they approximate."""

import json
import pickle

import numpy as np
import pytest

import nammd
from nammd.kernels.operations import from_dict, to_dict
from nammd.kernels.random_features import FLOAT32_PHASE

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(0.5, 1.0, size=(30, 2))
MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])

GOLDEN = {
    "gaussian": (
        nammd.Gaussian(2.0),
        [0.15944556757414874, 0.6329171697663835, -0.37736218587170167, -0.26196116000502206],
    ),
    "laplace": (
        nammd.Laplace(2.0),
        [0.2072824904388663, 1.4942111073950153, -0.5846537570598652, -0.3628723377044413],
    ),
    "mahalanobis": (
        nammd.Mahalanobis(MATRIX, 1.5),
        [0.5102227586707587, 0.868355547131232, -0.7887429121794809, -0.434012633134677],
    ),
    "sum": (
        nammd.Gaussian(1.0) + 3 * nammd.Laplace(1.0),
        [0.4145649808777326, 2.9884222147900306, -1.1693075141197304, -0.7257446754088825],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_frequencies_are_those_of_the_first_version(name):
    """A file from today must be readable in ten years: never change these numbers."""
    kernel, expected = GOLDEN[name]
    features = nammd.RandomFeatures(kernel, 4, rng=7)
    np.testing.assert_allclose(features.frequencies(2).ravel(), expected, rtol=1e-12)
    assert features.digest == "8c2cfb38b0aefdf20d7007c0599a0b66dfd194e52453e709875db768f26d092f"


@pytest.mark.parametrize(
    "kernel",
    [
        nammd.Gaussian(1.2),
        nammd.Laplace(2.0),
        nammd.Mahalanobis(MATRIX, 1.5),
        nammd.Mahalanobis(np.diag([4e6, 1e-6]), 1.0),
        2.5 * nammd.Gaussian(0.8),
        0.5 * (nammd.Gaussian(0.6) + 2 * nammd.Laplace(1.0)),
    ],
    ids=str,
)
def test_many_features_come_close_to_the_kernel(kernel):
    scale = np.array([5e-4, 1e3]) if str(kernel) == "Mahalanobis, 2 columns, bandwidth 1" else 1.0
    x, y = X * scale, Y * scale
    exact = kernel(x, y)
    errors = []
    for n_features in (256, 256 * 64):
        approximate = nammd.RandomFeatures(kernel, n_features, rng=1)(x, y)
        errors.append(np.sqrt(np.mean((approximate - exact) ** 2)) / kernel.bound)
    assert errors[0] < 3 / np.sqrt(256)
    assert errors[1] < errors[0] / 4  # it falls like the square root


def test_a_generator_gives_a_seed_that_can_be_used_again():
    drawn = nammd.RandomFeatures(nammd.Gaussian(1.0), 8, np.random.default_rng(5))
    again = nammd.RandomFeatures(nammd.Gaussian(1.0), 8, np.random.default_rng(5))
    assert drawn == again
    assert drawn == nammd.RandomFeatures(nammd.Gaussian(1.0), 8, drawn.seed)
    assert drawn != nammd.RandomFeatures(nammd.Gaussian(1.0), 8, drawn.seed + 1)


def test_the_kernel_is_the_product_of_the_features():
    features = nammd.RandomFeatures(2.5 * nammd.Laplace(1.0), 32)
    np.testing.assert_allclose(features(X, Y), features.features(X) @ features.features(Y).T, atol=1e-15)
    np.testing.assert_allclose((features.features(X) ** 2).sum(axis=1), 2.5)


def test_float32_features_are_as_exact_as_their_data_far_from_the_origin():
    features = nammd.RandomFeatures(nammd.Gaussian(1.0), 64)
    for offset in (0.0, 20.0, 1000.0):
        x = (X + offset).astype(np.float32)
        error = np.abs(features.features(x) - features.features(x.astype(np.float64))).max()
        assert error / features.scale < 1e-7 * FLOAT32_PHASE
        assert features.features(x).dtype == np.float32


def test_rows_beyond_all_precision_are_refused():
    features = nammd.RandomFeatures(nammd.Gaussian(1.0), 8)
    for offset in (1e14, 1e300):
        with pytest.raises(ValueError, match="so far from the origin"):
            features(X + offset, Y)


def test_frequencies_know_in_what_they_differ():
    one = nammd.RandomFeatures(nammd.Gaussian(1.0), 8, 1)
    assert one.difference(nammd.RandomFeatures(nammd.Gaussian(1.0), 8, 1)) == ""
    assert "kernels differ" in one.difference(nammd.RandomFeatures(nammd.Gaussian(2.0), 8, 1))
    assert "8 and 10 features" in one.difference(nammd.RandomFeatures(nammd.Gaussian(1.0), 10, 1))
    assert "seeds (1 and 2)" in one.difference(nammd.RandomFeatures(nammd.Gaussian(1.0), 8, 2))


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in GOLDEN.values()], ids=str)
def test_random_features_survive_files_and_processes(kernel):
    features = nammd.RandomFeatures(kernel, 16, rng=9)
    assert from_dict(json.loads(json.dumps(to_dict(features)))) == features
    assert pickle.loads(pickle.dumps(features)) == features


def test_a_stream_of_another_making_is_noticed():
    stored = to_dict(nammd.RandomFeatures(nammd.Gaussian(1.0), 16))
    with pytest.raises(ValueError, match="not those that this version"):
        from_dict(stored | {"seed": 3})


def test_a_tolerance_can_be_meant_under_random_features(tmp_path):
    features = nammd.RandomFeatures(nammd.Gaussian(1.5), 64, rng=2)
    tolerance = nammd.Tolerance.at(0.02, features, n_columns=2)
    tolerance.save(tmp_path / "tolerance.json")
    assert nammd.Tolerance.load(tmp_path / "tolerance.json").kernel == features


@pytest.mark.parametrize("n_features", [0, 2, 7, 8.0, True, "8"])
def test_the_number_of_features_is_checked(n_features):
    with pytest.raises(ValueError, match="even number of at least 4"):
        nammd.RandomFeatures(nammd.Gaussian(1.0), n_features)


@pytest.mark.parametrize("rng", [None, -1, 0.5, "seed", True])
def test_a_seed_that_cannot_be_kept_is_refused(rng):
    with pytest.raises(TypeError, match="made again"):
        nammd.RandomFeatures(nammd.Gaussian(1.0), 8, rng)


class Ramp(nammd.Kernel):
    bound = 1.0

    def __call__(self, x, y, /):
        return 1 / (1 + ((x[:, None] - y[None]) ** 2).sum(-1))


@pytest.mark.parametrize(
    "kernel", [Ramp(), nammd.Gaussian(1.0) + Ramp(), nammd.RandomFeatures(nammd.Gaussian(1.0), 8), 1.0]
)
def test_kernels_without_known_frequencies_are_refused(kernel):
    with pytest.raises(TypeError, match="no random features for the kernel"):
        nammd.RandomFeatures(kernel, 8)


def test_a_matrix_for_other_columns_is_refused():
    with pytest.raises(ValueError, match="matrix for 2 columns, but the data has 3"):
        nammd.RandomFeatures(nammd.Mahalanobis(MATRIX), 8).frequencies(3)
