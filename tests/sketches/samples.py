"""Samples and features that the tests of sketches share."""

import numpy as np

import nammd

RNG = np.random.default_rng(21)
X, Y = RNG.normal(size=(700, 3)), RNG.normal(0.4, 1.2, size=(600, 3))
Z = RNG.normal(0.2, 1.0, size=(650, 3))
KERNEL = nammd.Gaussian(1.5)
FEATURES = nammd.RandomFeatures(KERNEL, 64, rng=4)


def same(one, other, rtol=1e-12):
    """Assert that two sketches are of the same rows, up to rounding."""
    assert (one.n, one.n_columns, one.features) == (other.n, other.n_columns, other.features)
    size = one.n * one.features.bound
    np.testing.assert_allclose(one.total, other.total, rtol=0, atol=rtol * size)
    np.testing.assert_allclose(one.products, other.products, rtol=0, atol=rtol * size)
