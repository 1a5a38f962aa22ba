"""A kernel for closeness: the criterion that knows the accepted data, its floor and its error."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.selecting.bandwidth import FINE_GRID, select_bandwidth
from nammd.selecting.closeness import Excess
from nammd.selection import learn_kernel
from nammd.statistics.atom_pair import pair_of_rows
from nammd.statistics.scales import moved_margin

RNG = np.random.default_rng(3)
X, GOOD, FAR = RNG.normal(size=(23, 2)), RNG.normal(0.4, size=(19, 2)), RNG.normal(0.9, 1.3, size=(21, 2))
OTHER = np.round(RNG.normal(0.0, 1.2, size=(17, 2)))  # far from near by, near from far


def average(value, *sizes, apart=()):
    """Average over all places in samples of these sizes; some of them must differ."""
    places = itertools.product(*map(range, sizes))
    return np.mean([value(*p) for p in places if all(p[i] != p[j] for i, j in apart)])


def components(k, cross):
    """Return the variances of a row's means, of a kernel value, and the covariance, by distinct rows."""
    m, n = cross.shape
    three, four = list(itertools.combinations(range(3), 2)), list(itertools.combinations(range(4), 2))
    none = average(lambda i, j, h, g: k[i, j] * k[h, g], m, m, m, m, apart=four)
    crossed = average(lambda i, j, s, t: cross[i, s] * cross[j, t], m, m, n, n, apart=[(0, 1), (2, 3)])
    return {
        "v1": average(lambda i, j, h: k[i, j] * k[i, h], m, m, m, apart=three) - none,
        "v2": average(lambda i, j: k[i, j] ** 2, m, m, apart=[(0, 1)]) - none,
        "c": average(lambda i, s, t: cross[i, s] * cross[i, t], m, n, n, apart=[(1, 2)]) - crossed,
        "d": (cross**2).mean() - crossed,
        "w": average(lambda i, j, s: k[i, j] * cross[i, s], m, m, n, apart=[(0, 1)])
        - average(lambda i, j, h, s: k[i, j] * cross[h, s], m, m, m, n, apart=three),
    }


def own(side, m):
    """Return the variance of the mean kernel value within a sample."""
    return (4 * (m - 2) * side["v1"] + 2 * side["v2"]) / (m * (m - 1))


def mean_within(k):
    return (k.sum() - np.trace(k)) / (len(k) * (len(k) - 1))


def measured(kx, ky, cross):
    """Return the distance, its denominator, both parts of its variance, and the components of x."""
    (m, n), scale = cross.shape, 4 - mean_within(kx) - mean_within(ky)
    value = (mean_within(kx) + mean_within(ky) - 2 * cross.mean()) / scale
    a, x, y = 1 + value, components(kx, cross), components(ky, cross.T)
    single = sum(4 * (a * a * z["v1"] + z["c"] - 2 * a * z["w"]) / size for z, size in ((x, m), (y, n)))
    pairs = 4 * (x["d"] + (n - 1) * x["c"] + (m - 1) * y["c"]) / (m * n)
    total = a * a * (own(x, m) + own(y, n)) + pairs - 8 * a * (x["w"] / m + y["w"] / n)
    return value, scale, (single / scale**2, total / scale**2), x


def enumerated(kernel, x, good, far, share=0.05):
    """Return the criterion by averages over distinct rows, one by one."""
    kx, crosses, m = kernel(x, x), (kernel(x, good), kernel(x, far)), len(x)
    one, two = (measured(kx, kernel(y, y), c) for y, c in zip((good, far), crosses, strict=True))
    a1, a2 = 1 + one[0], 1 + two[0]
    together = np.cov(*(c.mean(axis=1) for c in crosses))[0, 1]
    shared = 4 / m * (together - a1 * two[3]["w"] - a2 * one[3]["w"])
    parts = [
        one[2][k] + two[2][k] - 2 * (a1 * a2 * within + shared) / (one[1] * two[1])
        for k, within in enumerate((4 * one[3]["v1"] / m, own(one[3], m)))
    ]
    variance = max(parts[0], 0.0) + max(parts[1] - parts[0], 0.0)
    negligible = 2 * share**2 * mean_within(kx) / (4 - 2 * mean_within(kx))
    return (two[0] - max(one[0], negligible)) / math.sqrt(variance)


@pytest.mark.parametrize("kind", [nammd.Gaussian, nammd.Laplace])
def test_the_scores_are_averages_over_distinct_rows(kind):
    x, good, far = X[:6], GOOD[:5], FAR[:7]
    found = select_bandwidth(x, far, kind, grid=[0.7, 2.0], accepted=good)
    for bandwidth, score in zip(found.bandwidths, found.scores, strict=True):
        assert score == pytest.approx(enumerated(kind(bandwidth), x, good, far), rel=1e-7)


def excess_of(kernel, x, good, far):
    """Return the excess from the library's sums, in NumPy."""
    one, two = (pair_of_rows(nammd.kernel_sums(x, y, kernel)) for y in (good, far))
    q1, q2 = (pair.atoms[0].influences[:, 1] for pair in (one, two))
    return Excess(one.moments, two.moments, q1 @ q2 / (len(x) - 1))


@pytest.mark.parametrize("bandwidth", [0.1, 1.0, 5.0])
def test_the_variance_is_that_of_the_tested_difference(bandwidth):
    kernel = nammd.Gaussian(bandwidth)
    rule = nammd.compare_pairs((X, GOOD), (X, FAR), kernel=kernel).rule
    excess = excess_of(kernel, X, GOOD, FAR)
    np.testing.assert_allclose(excess.variance_parts(), rule.variance_parts, rtol=1e-9)
    assert excess.beyond(1e-6) == pytest.approx(rule.value)
    assert excess.size() == pytest.approx(3 / (1 / 23 + 1 / 19 + 1 / 21))


def test_what_is_negligible_counts_where_the_accepted_data_show_less():
    excess = excess_of(nammd.Gaussian(1.0), X, GOOD, FAR)
    mean = excess.far.x.mean
    assert moved_margin(mean, 0.3) == pytest.approx(0.09 * 2 * mean / (4 - 2 * mean))
    # A share moved to an equally smooth law without overlap is that far, but for the norm of the mixture.
    beyond = [excess.beyond(share) for share in (0.01, 0.05, 0.5, 0.9)]
    assert beyond[0] == beyond[1] > beyond[2] > beyond[3]
    assert excess.beyond(0.9) + moved_margin(mean, 0.9) == pytest.approx(
        excess.far.mmd2 / excess.far.denominator
    )


def drifted(rows, rng):
    """A reference, a shift that was accepted, and half of the shift with values on a grid."""
    shifts = rng.normal(size=(3, rows, 2)) + np.array([0.0, 0.5, 0.25])[:, None, None]
    return shifts[0], shifts[1], 0.5 * np.round(shifts[2] / 0.5)


def test_a_fine_fault_is_found_beside_a_coarse_drift_that_was_accepted():
    rng = np.random.default_rng(1)
    (x, good, far), (x_new, good_new, far_new) = drifted(150, rng), drifted(150, rng)
    median = nammd.Gaussian.median(x, good)
    chosen = select_bandwidth(x, far, accepted=good)
    assert chosen.bandwidth < 0.2 * median.bandwidth < 0.5 * select_bandwidth(x, good).bandwidth
    pairs = (x_new, good_new), (x_new, far_new)
    assert nammd.compare_pairs(*pairs, kernel=chosen.kernel).rejected
    assert not nammd.compare_pairs(*pairs, kernel=median).rejected


def test_of_several_accepted_datasets_the_least_criterion_counts():
    grid = [0.2, 1.0, 3.0]
    alone = [select_bandwidth(X, FAR, grid=grid, accepted=each).scores for each in (GOOD, OTHER)]
    both = select_bandwidth(X, FAR, grid=grid, accepted={"May": GOOD, "June": OTHER})
    np.testing.assert_allclose(both.scores, np.minimum(*alone), rtol=1e-9)
    assert both.scores not in [tuple(a) for a in alone]
    assert both.accepted == (19, 17)
    assert "23 reference, 19 and 17 accepted, 21 far rows; do not test on the same rows" in str(both)


def test_what_it_says():
    chosen = select_bandwidth(X, FAR, accepted=GOOD)
    assert len(chosen.bandwidths) == len(FINE_GRID) == 15
    assert chosen.bandwidths[4] == pytest.approx(nammd.Gaussian.median(np.vstack([X, FAR, GOOD])).bandwidth)
    assert "tells the far data from the accepted ones best." in str(chosen)
    nearer = select_bandwidth(X, X + 0.01 * RNG.normal(size=X.shape), accepted=FAR)
    assert "At no bandwidth are the far data beyond the accepted ones" in str(nearer)
    assert select_bandwidth(X, FAR).accepted == ()


def test_tables_are_compared_in_one_space():
    x, good, far = (pd.DataFrame(z, columns=["a", "b"]) for z in (X, GOOD, FAR))
    chosen = select_bandwidth(x, far, accepted={"May": good})
    assert chosen.space.kernel == chosen.kernel
    compared = nammd.compare_pairs((x, good), (x, far), space=chosen.space)
    assert compared.difference / compared.standard_error == pytest.approx(max(chosen.scores), rel=0.3)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"accepted": {}}, ValueError, "accepted has no dataset; give one, or a mapping"),
        ({"accepted": FAR}, ValueError, "accepted is given twice|y is given twice"),
        ({"accepted": {"May": GOOD, "June": GOOD}}, ValueError, "is given twice, as accepted data and as"),
        ({"accepted": X}, ValueError, "is given twice"),
        ({"negligible": 0.0}, ValueError, "negligible must be strictly between 0 and 1"),
        ({"negligible": "much"}, TypeError, "negligible must be a number"),
        ({"accepted": GOOD[:3]}, ValueError, "accepted has 3 rows; at least"),
        ({"accepted": {"May": GOOD[:, :1]}}, ValueError, "accepted 'May'"),
        ({"accepted": GOOD * np.nan}, ValueError, "accepted contains NaN"),
    ],
)
@pytest.mark.parametrize("choose", [select_bandwidth, learn_kernel])  # none of them gets as far as torch
def test_mistakes_are_explained(choose, changes, error, message):
    options = {"accepted": GOOD, "kernel": nammd.Gaussian} | changes
    with pytest.raises(error, match=message):
        choose(X, FAR, **options)


def test_rows_that_are_all_alike_choose_nothing():
    same = [np.zeros((9, 2)) for _ in range(3)]
    with pytest.raises(ValueError, match="at no bandwidth does anything vary"):
        select_bandwidth(same[0], same[1], accepted=same[2], grid=[1.0, 2.0])


def test_accepted_data_set_the_margin():
    with pytest.raises(ValueError, match="give either epsilon or accepted"):
        learn_kernel(X, FAR, accepted=GOOD, epsilon=0.1)
