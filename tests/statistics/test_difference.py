"""Comparing two estimated distances: every term by its definition, in full matrices."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import nammd
from nammd.statistics.difference import Difference
from nammd.statistics.margin import SWITCH
from tests.simulate import KERNEL, pairs_of


def samples(seed, shifts, sizes):
    rng = np.random.default_rng(seed)
    return [
        rng.normal(shift, 1.0, (size, 2)) ** (3 if k == 1 else 1)
        for k, (shift, size) in enumerate(zip(shifts, sizes, strict=True))
    ]


class FullPair:
    """One pair, with its influences as they are defined."""

    def __init__(self, x, y):
        self.kx, self.ky, self.kxy = KERNEL(x, x), KERNEL(y, y), KERNEL(x, y)
        np.fill_diagonal(self.kx, 0.0)
        np.fill_diagonal(self.ky, 0.0)
        self.m, self.n = self.kxy.shape
        within = [k.sum(1) / (len(k) - 1) for k in (self.kx, self.ky)]
        self.norms = [mean.mean() for mean in within]
        self.d = 4 - sum(self.norms)
        self.mmd2 = sum(self.norms) - 2 * self.kxy.mean()
        self.value = self.mmd2 / self.d
        across = [self.kxy.mean(1), self.kxy.mean(0)]
        p = [w - w.mean() for w in within]
        q = [a - a.mean() for a in across]
        self.phi = [2 * ((1 + self.value) * a - b) / self.d for a, b in zip(p, q, strict=True)]
        self.eta = [2 * a / self.d for a in p]


def expansion(one, two, shared, variance):
    """The p-value of "the second is closer" by Hall's transformation, from influences in full."""
    moved = two.phi[0] - one.phi[0]
    of_x = (moved, moved) if shared else (-one.phi[0], two.phi[0])
    of_y = (-one.phi[1], two.phi[1])
    cubic = borrowed = np.mean(moved**3) / len(moved) ** 2 if shared else 0.0
    for a, b in [(one.phi[1], two.phi[1])] + ([] if shared else [(one.phi[0], two.phi[0])]):
        both = np.concatenate([a, b])
        for sign, own in ((-1, a), (1, b)):
            source, share = own, 1.0
            if np.mean(both**2) > np.mean(own**2):
                variance += (np.mean(both**2) - np.mean(own**2)) / len(own)
                source, share = both, len(own) / len(both)
            cubic += sign * np.mean(source**3) / len(own) ** 2
            borrowed += sign * share * np.mean(source**3) / len(own) ** 2
    meeting = bias = 0.0
    for sign, pair, fx, fy in ((-1, one, of_x[0], of_y[0]), (1, two, of_x[1], of_y[1])):
        m, n = pair.m, pair.n
        slope = 1 + pair.value
        # The second derivative of the distance along the influences of the difference.
        through = slope * fx @ pair.kx @ fx / (m * (m - 1) * m**2)
        through += slope * fy @ pair.ky @ fy / (n * (n - 1) * n**2)
        through -= 2 * fx @ pair.kxy @ fy / (m * n) ** 2
        value = np.mean(fx * pair.phi[0]) / m + np.mean(fy * pair.phi[1]) / n
        scale = np.mean(fx * pair.eta[0]) / m + np.mean(fy * pair.eta[1]) / n
        meeting += sign * (2 * through / pair.d + 2 * value * scale)
        bias += sign * sum(
            np.mean(f * e) / len(f) for f, e in zip(pair.phi, pair.eta, strict=True)
        )  # fmt: skip
    s = math.sqrt(variance)
    t = (two.value - one.value - bias) / s
    studentised = borrowed + 2 * meeting
    third = (cubic + 3 * meeting - 3 * studentised) / s**3
    p1, q1 = -third / 6, studentised / (2 * s**3) + third / 6
    return norm.cdf(t + p1 * t**2 + p1**2 * t**3 / 3 + q1)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("sizes", [(40, 31, 40, 23), (60, 20, 60, 90)])
def test_away_from_zero_the_rule_is_the_expansion_of_influences(shared, sizes):
    x1, y1, x2, y2 = samples(1, (0.0, 0.8, 0.0, 1.1), sizes)
    x2 = x1 if shared else x2
    rule = nammd.compare_pairs((x1, y1), (x2, y2), kernel=KERNEL).rule
    assert (rule.shared is not None) == shared
    variance = rule.variance_parts[1]
    assert variance > rule.variance_parts[0] > 0
    one, two = FullPair(x1, y1), FullPair(x2, y2)
    assert rule.closer(switch=1.0) == pytest.approx(expansion(one, two, shared, variance), rel=1e-9)
    assert rule.swapped.closer(switch=1.0) == pytest.approx(expansion(two, one, shared, variance), rel=1e-9)


def test_the_variance_with_a_shared_sample_is_that_over_redrawn_samples():
    rng = np.random.default_rng(2)
    values, variances = [], []
    for _ in range(400):
        x, y1, y2 = rng.normal(size=(60, 1)), rng.normal(0.9, size=(60, 1)), rng.normal(-0.5, 1, (60, 1))
        rule = Difference.of(*pairs_of(x, y1, y2), shared=True)
        values.append(rule.value)
        variances.append(rule.variance_parts[1])
    # The estimate of a variance from 400 draws has a standard error of 7 %.
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.2)


def test_what_small_samples_lack_is_borrowed_from_large_ones():
    """Twenty rows that happen to lack the rare ones look more certain than they are."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 1))
    many = np.where(rng.random((200, 1)) < 0.1, 4.0, rng.normal(0.3, 1, (200, 1)))
    few = rng.normal(0.3, 1.0, (20, 1))
    rule = nammd.compare_pairs((x, many), (x, few), kernel=KERNEL).rule
    assert rule.standard_error > 1.05 * math.sqrt(rule.variance_parts[1])


@pytest.mark.parametrize("shared", [True, False])
def test_near_zero_the_p_value_is_that_of_drawing_from_the_law(shared):
    """Both at the common margin: squared lengths of mean plus noise, and what is left normal."""
    rng = np.random.default_rng(4)
    x1, x2 = rng.normal(size=(2, 80, 1))
    y1, y2 = rng.normal(0.3, 1, (80, 1)), rng.normal(0.15, 1, (50, 1))
    rule = nammd.compare_pairs((x1, y1), (x1 if shared else x2, y2), kernel=KERNEL).rule
    assert rule.share > SWITCH
    one, two = rule.first, rule.second
    h1, h2 = one.effective_rows, two.effective_rows
    common = (h1 * one.value + h2 * two.value) / (h1 + h2)
    linear, total = rule.variance_parts
    draws = np.random.default_rng(5).normal(size=(3, 1_000_000))
    estimates, rest = [], max(total - linear, 0.0)
    for z, pair in zip(draws, (one, two), strict=False):
        along = rule._along(pair, common)
        estimates.append(((np.sqrt(common * pair.scale) + np.sqrt(along) * z) ** 2 - along) / pair.scale)
        rest -= 2 * along**2 / pair.scale**2
    rest = max(rest, 0.0)
    if shared:
        rest += rule._shared_variance(rule.shared, (common, common))
    drawn = np.mean(estimates[1] - estimates[0] + np.sqrt(rest) * draws[2] <= rule.value)
    assert rule._near_zero(0.0) == pytest.approx(drawn, abs=0.003)
    assert rule.closer() >= rule._near_zero(0.0)


def test_swapping_twice_changes_nothing():
    x, y1, _, y2 = samples(6, (0.0, 0.8, 0.0, 1.1), (40, 31, 40, 23))
    rule = nammd.compare_pairs((x, y1), (x, y2), kernel=KERNEL).rule
    other = nammd.compare_pairs((x, y2), (x, y1), kernel=KERNEL).rule
    assert rule.swapped.swapped.closer() == rule.closer()
    assert rule.swapped.closer() == pytest.approx(other.closer(), rel=1e-9)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0])
def test_the_interval_inverts_the_tests(shared, shift):
    rng = np.random.default_rng(7)
    x1, x2 = rng.normal(size=(2, 80, 1))
    y1, y2 = rng.normal(0.3, 1, (90, 1)), rng.normal(shift, 1, (70, 1))
    rule = nammd.compare_pairs((x1, y1), (x1 if shared else x2, y2), kernel=KERNEL).rule
    low, high = rule.confidence_interval(0.95)
    assert low < rule.value < high
    slack = 1e-6 * rule.standard_error
    assert rule.closer(high + slack) <= 0.025 + 1e-9
    assert rule.swapped.closer(-low + slack) <= 0.025 + 1e-9
    assert (low > 0) == (rule.swapped.closer() <= 0.025)
    assert (high < 0) == (rule.closer() <= 0.025)


def test_both_directions_at_once_are_never_significant():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, y1, y2 = rng.normal(size=(30, 1)), rng.normal(0.4, 1, (30, 1)), rng.normal(0.2, 1, (30, 1))
        rule = nammd.compare_pairs((x, y1), (x, y2), kernel=KERNEL).rule
        assert min(rule.closer(), rule.swapped.closer()) <= 1
        assert max(rule.closer(), rule.swapped.closer()) > 0.4


def test_two_pairs_of_the_same_constant_rows_have_no_p_value():
    ones, twos = np.ones((20, 1)), np.full((20, 1), 2.0)
    found = nammd.compare_pairs((ones, twos), (ones, twos + 1), kernel=KERNEL)
    assert math.isnan(found.pvalue)
    assert isinstance(found.rule, Difference)
    assert all(math.isnan(end) for end in found.confidence_interval())
