"""The law of a distance near zero."""

import numpy as np
import pytest
from experiments.calibration.cases import case_of
from scipy.stats import chi2, ncx2, norm

import nammd
from nammd.statistics.near_zero import NearZero, Noise, _points_for, all_alike, chances_below, noise_at
from nammd.statistics.side import standardised
from tests.simulate import noise, pairs_of, pvalue


@pytest.mark.parametrize("value", [-0.5, 0.0, 0.7, 3.0])
def test_at_zero_with_nothing_left_it_is_a_chi_square(value):
    law = NearZero(centre=0.0, along=1.0, rest=1e-12)
    assert law.below(value) == pytest.approx(chi2(1).cdf(value + 1), abs=0.01)


@pytest.mark.parametrize("value", [-0.5, 0.5, 2.0, 6.0])
def test_away_from_zero_it_is_a_noncentral_chi_square(value):
    law = NearZero(centre=2.0, along=1.0, rest=1e-12)
    assert law.below(value) == pytest.approx(ncx2(1, 2.0).cdf(value + 1), abs=0.01)


def test_far_from_zero_it_is_normal():
    law = NearZero(centre=1.0, along=1e-6, rest=1e-6)
    sigma = np.sqrt(4e-6 + 2e-12 + 1e-6)
    for z in (-2.0, 0.0, 1.0):
        assert law.below(1.0 + z * sigma) == pytest.approx(norm.cdf(z), abs=1e-3)


@pytest.mark.parametrize("degrees", [np.inf, 8.0])
def test_quantiles_invert_it(degrees):
    law = NearZero(centre=0.01, along=0.004, rest=1e-5, degrees=degrees)
    for probability in (0.01, 0.05, 0.5, 0.95):
        assert law.below(law.quantile(probability)) == pytest.approx(probability, abs=1e-9)


def test_its_lower_tail_ends_before_that_of_a_normal_law_of_the_same_variance():
    """This is what the proof of closeness gains by it."""
    law = NearZero(centre=0.005, along=0.004, rest=1e-6)
    sigma = np.sqrt(4 * 0.005 * 0.004 + 2 * 0.004**2 + 1e-6)
    assert law.quantile(0.05) > 0.005 - 1.645 * sigma


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_noise_of_a_rare_value_grows_as_its_share_does(share):
    """Of a value with share p the variance is p (1 - p); at another share it is that of the other."""
    variance = share * (1 - share)
    skewness = standardised(variance, variance * (1 - 2 * share))
    moved = noise_at([Noise(variance, 50, skewness)], outward=0.1)
    exact = (share + 0.1) * (0.9 - share) / 50
    assert moved == pytest.approx(exact + 0.1**2 / 50, rel=1e-12)  # all but the square of the way


def test_noise_is_never_taken_off_and_is_shared_by_the_samples():
    one, other = Noise(0.3, 50, -1.0), Noise(0.1, 20, 0.0)
    assert noise_at([one, other], 0.2) == pytest.approx(0.3 / 50 + 0.1 / 20)
    assert noise_at([one, other], -0.2) > 0.3 / 50 + 0.1 / 20
    assert noise_at([one, one], 0.2) == 2 * noise_at([one], 0.1)
    assert noise_at([Noise(0.0, 50, 0.0)], 0.2) == 0.0


def test_rows_that_are_all_alike_are_as_rare_as_the_share_they_lack():
    """The bound is the chance itself where the other rows are as far away as they can be."""
    kernel, share, rows = nammd.Gaussian(1.0), 0.1, 20
    far = share * np.sqrt(2 * kernel.bound)  # a value with that share, where the kernel is zero
    assert all_alike(rows, far, kernel.bound) == pytest.approx((1 - share) ** rows)
    assert all_alike(rows, 5.0, kernel.bound) == 0.0


def test_few_equal_rows_are_not_close_and_many_are():
    rng, kernel = np.random.default_rng(0), nammd.Gaussian(1.0)
    x = 2.0 * (rng.random((500, 1)) < 0.05)
    few = nammd.closeness_test(x, np.zeros((20, 1)), 0.01, alternative="less", kernel=kernel)
    assert few.pvalue > 0.2
    assert few.estimate.confidence_interval()[1] > 0.02
    assert "no estimate from rows that are all equal" in str(few)
    many = nammd.closeness_test(x, np.zeros((400, 1)), 0.01, alternative="less", kernel=kernel)
    assert many.rejected


@pytest.mark.parametrize("margin", [0.005, 0.01])
def test_twenty_rows_with_too_few_rare_ones_are_not_called_close(margin):
    """With the variance as it is seen in such samples, one in six of them was."""
    case = case_of("rare value: more often or up, turned", margin)
    rng, repetitions, wrong = np.random.default_rng(5), 300, 0
    for _ in range(repetitions):
        x, y = case.reference.sample(rng, 500), case.candidate.sample(rng, 20)
        [pair] = pairs_of(x.reshape(500, -1), y.reshape(20, -1), kernel=case.kernel)
        wrong += pvalue(pair, margin, "less") <= 0.05
    assert wrong / repetitions <= 0.05 + 3 * noise(0.05, repetitions)


def test_without_a_direction_the_sign_of_skewness_does_not_count():
    sample = Noise(0.1, 24, -1.7)
    assert sample.unsigned(known=False).skewness == 1.7
    assert sample.unsigned(known=True).skewness == pytest.approx(1.7 - 0.5)
    assert Noise(0.1, 24, 0.3).unsigned(known=True).skewness == 0.0


@pytest.mark.parametrize("sizes", [(40, 800), (800, 40)])
def test_rows_that_are_all_equal_prove_no_difference_from_a_law_that_has_mostly_such_rows(sizes):
    """Of 97 % zeros 40 rows are often all zero; the other sample then seems to differ for certain."""
    rng, found = np.random.default_rng(5), []
    for k in range(300):
        x, y = (np.where(rng.random((n, 1)) < 0.97, 0.0, rng.normal(3.0, 1.0, (n, 1))) for n in sizes)
        found.append(pvalue(*pairs_of(x, y), 1e-4))
        if k < 10:
            public = nammd.closeness_test(x, y, 1e-4, kernel=nammd.Gaussian(1.0), alternative="greater")
            assert public.pvalue == pytest.approx(found[-1], rel=1e-6)
    assert np.mean(np.array(found) <= 0.05) <= 0.07


def test_a_margin_too_small_for_a_product_is_no_division_by_zero():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    test = nammd.closeness_test(x, y, 5e-324, kernel=1e-10 * nammd.Gaussian(1.0), alternative="less")
    assert test.pvalue > 0.05


def test_few_points_are_taken_only_where_they_have_the_digits_of_many(monkeypatch):
    rng, counts = np.random.default_rng(0), []
    for _ in range(400):
        along, centre = 10 ** rng.uniform(-6, -1), 10 ** rng.uniform(-6, 0)
        rest = 10 ** rng.uniform(-3, 3) * along * (along + centre)
        value = centre + 3 * rng.normal() * np.sqrt(4 * centre * along + 2 * along**2 + rest)
        law = NearZero(centre, along, rest)
        counts += _points_for(*(np.array([each]) for each in (value, along, rest, np.inf))).tolist()
        few = law.below(value)
        with monkeypatch.context() as patch:
            patch.setattr("nammd.statistics.near_zero._points_for", lambda *_: np.array([3201]))
            assert counts[-1] == 801 or few == pytest.approx(law.below(value), abs=2e-14)
    assert {count: counts.count(count) > 20 for count in (201, 401, 801)} == {201: True, 401: True, 801: True}


def test_many_laws_have_the_chances_of_each():
    rng, size = np.random.default_rng(1), 200
    along, centre = 10 ** rng.uniform(-6, -1, size), 10 ** rng.uniform(-6, 0, size)
    rest = np.where(rng.random(size) < 0.3, 0.0, 10 ** rng.uniform(-3, 3, size) * along * (along + centre))
    degrees = np.where(rng.random(size) < 0.3, 10.0, np.inf)
    values = centre + rng.normal(size=size) * np.sqrt(4 * centre * along + 2 * along**2 + rest)
    every = chances_below(values, centre, along, rest, degrees)
    alone = [
        NearZero(*law).below(value) for value, *law in zip(values, centre, along, rest, degrees, strict=True)
    ]
    assert every == pytest.approx(alone, abs=1e-14)
    sharp = rest == 0  # without a rest the chance is known
    reach = np.sqrt(np.maximum(values + along, 0.0))
    ends = [(sign * reach - np.sqrt(centre)) / np.sqrt(along) for sign in (1, -1)]
    known = np.where(values + along > 0, norm.cdf(ends[0]) - norm.cdf(ends[1]), 0.0)
    assert every[sharp] == pytest.approx(known[sharp], abs=0.01)  # a step between two points
