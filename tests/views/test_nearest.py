"""The kernel between places of a column, where these are so many that a lattice stands for them."""

import numpy as np
import pytest

from nammd.views.lattice import STEP, binned
from nammd.views.nearest import Placed, Places


@pytest.fixture(scope="module")
def places():
    rng = np.random.default_rng(0)
    found = [np.sort(rng.normal(shift, 1.0, size)) for shift, size in ((0.0, 900), (0.7, 500), (-0.2, 120))]
    samples = tuple(Placed(each, np.ones(len(each)), number) for number, each in enumerate(found))
    return Places(samples, labels=False)


def test_sums_over_all_places_are_those_of_the_kernel(places):
    values = np.random.default_rng(1).random((len(places.every), 3))
    kernel = np.exp(-0.5 * (places.every[:, None] - places.every) ** 2)
    plain, squared = places.sums(values, False, True)
    np.testing.assert_allclose(plain, kernel @ values, rtol=1e-5)
    np.testing.assert_allclose(squared, kernel**2 @ values, rtol=1e-5)
    np.testing.assert_array_equal(places.sums(values, True)[0], squared)


def test_between_points_of_the_lattice_sums_are_interpolated(places):
    values = np.random.default_rng(2).random((len(places.every), 2))
    support, found = places._support, places.sums(values, False)[0]
    for column, seen in zip(values.T, found.T, strict=True):
        start, rows = binned(places.every, column)
        spread = np.zeros((support.size, 1))
        spread[start - support.start :][: len(rows), 0] = rows
        points = (np.arange(support.size) + support.start) * STEP
        expected = np.interp(places.every, points, support.apply(spread)[:, 0])
        np.testing.assert_allclose(seen, expected, rtol=1e-14)
