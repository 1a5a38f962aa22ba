"""What the tables over finite supports, and the comparison of two-sample tests, are made of."""

from pathlib import Path

import numpy as np
import pytest
from experiments.experiment import Context
from experiments.paper.finite_supports import Closeness, SupportedPairs, numbers, unit_columns
from experiments.paper.tst_methods import NAMES, Effort, coarse, method_for, samples
from experiments.summary import joined

import nammd


@pytest.fixture
def context():
    return Context(np.random.default_rng(0), "cpu", Path("data"))


def test_pairs_have_half_the_total_variation_and_the_same_halves(context):
    pairs = SupportedPairs.of("blob", 0.3, context)
    assert pairs.boundary.total_variation == pytest.approx(0.15)
    assert pairs.beyond.total_variation == pytest.approx(0.25)
    assert np.array_equal(pairs.boundary.q > 1 / 50, pairs.beyond.q > 1 / 50)


def test_nammd_by_counting_is_that_of_the_points(context):
    pairs = SupportedPairs.of("hdgm", 0.5, context)
    test = Closeness.gaussian(pairs, 0.3)
    x, y = numbers(pairs.beyond, 60, context.rng)
    rows = [pairs.boundary.support[side[:, 0].astype(int)] for side in (x, y)]
    direct = nammd.paper.distance(*rows, kernel=nammd.Gaussian(0.3), cross="off-diagonal")
    assert test.value(x, y) == pytest.approx(direct.value, rel=1e-9)
    assert test.epsilon == pytest.approx(pairs.boundary.nammd(nammd.Gaussian(0.3)))


def test_joined_rates_count_how_much_runs_differ():
    alike = [{"mean": 0.5, "se": 0.05, "n": 100}] * 2
    apart = [{"mean": 0.1, "se": 0.03, "n": 100}, {"mean": 0.9, "se": 0.03, "n": 100}]
    assert joined(alike)["mean"] == joined(apart)["mean"] == 0.5
    assert joined(alike)["se"] == pytest.approx((0.25 / 200) ** 0.5)
    assert joined(apart)["se"] == pytest.approx(0.4)


def test_columns_are_brought_to_the_unit_interval():
    rows = unit_columns(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
    assert rows.tolist() == [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]]


def test_coarse_images_are_block_means():
    image = np.zeros((2, 8, 8))
    image[1, 4:, :4] = 1.0
    assert coarse(image.reshape(1, -1), (2, 8, 8)).tolist() == [[0, 0, 0, 0, 0, 0, 1, 0]]


def test_samples_of_equal_distributions_are_of_p_and_differ(context):
    x, y = samples("blob", 30, context, alternative=False)
    assert x.shape == y.shape == (30, 2)
    assert not len(np.intersect1d(x[:, 0], y[:, 0]))
    assert np.concatenate([x, y]).min() == 0
    assert np.concatenate([x, y]).max() == 1


@pytest.mark.parametrize("name", NAMES)
def test_methods_are_those_that_they_are_called(name, context):
    assert method_for(name, "blob", 100, Effort(19, 2), context).name == name


def test_me_mabid_has_no_more_locations_than_few_rows_allow(context):
    assert method_for("me-mabid", "blob", 400, Effort(19, 2), context).locations == 13
    assert method_for("me-mabid", "blob", 20, Effort(19, 2), context).locations == 9
