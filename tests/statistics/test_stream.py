"""Streams of batches against one reference: variances, evidence, levels and intervals as defined."""

from itertools import product
from math import erfc

import numpy as np
import pytest

import nammd
from nammd.evidence import gather, prepare
from nammd.statistics.alarms import Alarm, Proofs, watch
from nammd.statistics.atom_pair import pair_of_rows
from nammd.statistics.levels import Budget, Discoveries, Ever, share
from nammd.statistics.stream import BETS, GivenReference, factors, path, running_mean

KERNEL = nammd.Gaussian(1.0)


def pair_of(x, y):
    [evidence] = gather([tuple(prepare({"x": x, "y": y}, kernel=KERNEL))])
    return evidence.pair()


def u_of(x, y, eps):
    moments = pair_of_rows(nammd.kernel_sums(x, y, KERNEL)).moments
    return moments.mmd2 - eps * moments.denominator


@pytest.mark.parametrize(("m", "n"), [(5, 4), (4, 6), (30, 20)])
def test_variance_given_x_is_that_of_full_matrices(m, n):
    rng = np.random.default_rng(m * n)
    x, y, a = rng.normal(size=(m, 1)), rng.normal(0.5, 1.3, size=(n, 1)), 1.07
    kyy, kxy = KERNEL(y, y), KERNEL(x, y)
    rows, seen = kyy.sum(1) - 1, kxy.mean(0)
    s, squares, norm, n3 = rows.sum(), (kyy**2).sum() - n, rows @ rows, n * (n - 1) * (n - 2)
    yy2 = (s * s - 4 * norm + 2 * squares) / (n3 * (n - 3))
    v1, v2, c = (norm - squares) / n3 - yy2, squares / (n * (n - 1)) - yy2, seen.var(ddof=1)
    w = rows @ seen / (n * (n - 1)) - (s * seen.sum() - 2 * rows @ seen) / n3
    total, linear = pair_of_rows(nammd.kernel_sums(x, y, KERNEL)).moments.variances_given_x(a)
    assert linear == pytest.approx(4 * (a * a * v1 + c - 2 * a * w) / n, rel=1e-10, abs=1e-14)
    expected = a * a * (4 * (n - 2) * v1 + 2 * v2) / (n * (n - 1)) + 4 * c / n - 8 * a * w / n
    assert total == pytest.approx(expected, rel=1e-10, abs=1e-14)


def test_variance_given_x_is_unbiased_over_every_batch_that_there_can_be():
    """All samples of four rows from a law on three points, each with its probability."""
    x = np.array([[-0.5], [0.1], [0.4], [1.2], [2.0]])
    points, weights, eps = np.array([0.0, 0.7, 1.9]), np.array([0.5, 0.3, 0.2]), 0.2
    probability, values, variances = [], [], []
    for chosen in product(range(3), repeat=4):
        y = points[list(chosen), np.newaxis]
        probability.append(weights[list(chosen)].prod())
        values.append(u_of(x, y, eps))
        variances.append(pair_of_rows(nammd.kernel_sums(x, y, KERNEL)).moments.variances_given_x(1 + eps)[0])
    p, u = np.array(probability), np.array(values)
    true = p @ u**2 - (p @ u) ** 2
    assert p.sum() == pytest.approx(1.0)
    assert p @ np.array(variances) == pytest.approx(true, rel=1e-10)


def test_scores_vary_by_one_at_the_margin_of_their_reference():
    """Against one reference, scores are standard normal about the distance to this reference."""
    rng = np.random.default_rng(4)
    x, kk, shift = rng.normal(size=(60, 1)), 1 / np.sqrt(3.0), 0.9
    # E k(x, Y) and E k(Y, Y') of a normal law in closed form: the exact distance to these rows.
    seen = np.exp(-((x[:, 0] - shift) ** 2) / 4) / np.sqrt(2.0)
    xx = (KERNEL(x, x).sum() - 60) / (60 * 59)
    eps = (xx + kk - 2 * seen.mean()) / (4 - xx - kk)
    scores = [
        GivenReference.of(pair_of(x, rng.normal(shift, 1, size=(200, 1))), eps).score() for _ in range(400)
    ]
    assert abs(np.mean(scores)) < 4 / np.sqrt(400)
    assert np.std(scores) == pytest.approx(1.0, abs=0.12)


def test_paying_for_the_reference_takes_two_of_its_errors_off():
    rng = np.random.default_rng(1)
    x, y, a = rng.normal(size=(40, 1)), rng.normal(0.8, 1, size=(80, 1)), 1.05
    given = GivenReference.of(pair_of(x, y), 0.05)
    sums = nammd.kernel_sums(x, y, KERNEL)
    expected = np.sqrt(4 * pair_of_rows(sums).moments.x.linear(a) / 40)
    assert given.reference == pytest.approx(expected, rel=1e-12)
    assert given.score() - given.score(paid=True) == pytest.approx(
        1.96 * expected / given.deviation, rel=1e-4
    )
    assert given.score(below=True) == pytest.approx(-given.score())


def test_nothing_to_test_with_is_no_evidence():
    x = np.random.default_rng(0).normal(size=(30, 1))
    assert np.isnan(GivenReference.of(pair_of(x, x.copy()), 0.05).score())
    scores = np.array([1.0, np.nan, 2.0])
    steps = factors(scores)
    assert path(steps, Budget(0.01))[[0, 2]] == pytest.approx(path(steps[[0, 2]], Budget(0.01)))


@pytest.mark.parametrize("rate", [Budget(1 / 365), Ever(0.05)], ids=repr)
def test_evidence_is_over_every_start_of_the_change(rate):
    scores = np.random.default_rng(2).normal(0.3, 1, size=25)
    found = path(factors(scores), rate)
    for t in range(25):
        per_bet = []
        for bet in BETS:
            products = [np.exp(np.sum(bet * scores[s : t + 1] - bet**2 / 2)) for s in range(t + 1)]
            if isinstance(rate, Budget):
                per_bet.append(max(products))
            else:
                per_bet.append(sum(share(s + 1) * value for s, value in enumerate(products)))
        assert np.exp(found[t]) == pytest.approx(np.mean(per_bet), rel=1e-10)


def test_false_alarms_of_exact_scores_are_within_their_claims():
    """At the margin, scores are standard normal: the run length and the probability of ever an alarm."""
    scores = np.random.default_rng(5).normal(size=(2000, 365))
    budget, ever = Budget(1 / 100), Ever(0.05)
    alarms = (path(factors(scores), budget) >= np.log(budget.line)).any(axis=1).mean()
    assert alarms < 0.5  # a mean run length of 100 or more; in fact the evidence is cautious
    assert 0.001 < (path(factors(scores), ever) >= np.log(ever.line)).any(axis=1).mean() < 0.05


def test_levels_of_a_budget_are_all_the_same():
    assert Budget(1 / 365).levels([0.5, float("nan"), 0.001]) == [1 / 365] * 3
    assert Budget(1 / 365).line == pytest.approx(365)


def test_levels_of_ever_add_up_to_the_level():
    levels = Ever(0.05).levels([0.5] * 5000)
    assert sum(levels) == pytest.approx(0.05 * (1 - 1 / np.log2(5002)), rel=1e-10)
    assert levels == sorted(levels, reverse=True)


def test_levels_of_lond_grow_with_the_alarms_before():
    pvalues = [0.5, 1e-9, 1e-9, float("nan"), 0.9]
    levels = Discoveries(0.1).levels(pvalues)
    for t, before in enumerate([0, 0, 1, 2, 2], start=1):
        harmonic = sum(1 / j for j in range(1, t + 1))
        assert levels[t - 1] == pytest.approx(0.1 * share(t) / harmonic * (before + 1), rel=1e-12)


def test_share_of_false_discoveries_is_bounded_where_tests_depend_on_each_other():
    rng = np.random.default_rng(8)
    proportions = []
    for _ in range(2000):
        common = rng.normal()
        z = 0.9 * common + np.sqrt(1 - 0.81) * rng.normal(size=40)
        z[::4] += 4.0
        pvalues = 0.5 * np.vectorize(erfc)(z / np.sqrt(2))
        rejected = pvalues <= np.array(Discoveries(0.2).levels(pvalues.tolist()))
        false = rejected & (np.arange(40) % 4 != 0)
        proportions.append(false.sum() / max(rejected.sum(), 1))
    assert np.mean(proportions) < 0.2


def watched(scores, below, proofs, rate):
    return watch(factors(scores), factors(below), proofs, rate)


def no(scores):
    return [False] * len(scores)


def test_slow_drift_opens_an_alarm_and_says_since_when():
    scores = np.array([-1.0] * 20 + [1.5] * 10)
    seen = watched(scores, -scores, Proofs.of(no(scores), no(scores)), Budget(1 / 365))
    [alarm] = seen.alarms
    assert (alarm.cause, alarm.since, alarm.closed) == ("stream", 20, None)
    assert 22 < alarm.opened < 29
    assert seen.evidence[alarm.opened] >= np.log(365) > seen.evidence[alarm.opened - 1]


def test_alarm_is_closed_by_evidence_of_within_and_then_starts_anew():
    scores = np.array([2.5] * 6 + [-2.5] * 8 + [2.5] * 6)
    first, second = watched(scores, -scores, Proofs.of(no(scores), no(scores)), Budget(1 / 365)).alarms
    assert first.closed is not None
    assert 6 < first.closed < 14
    assert second.since == 14


def test_single_batch_opens_an_alarm_that_the_next_proof_closes():
    scores = np.zeros(6)
    far = [False, True, True, False, False, False]
    close = [False, False, False, False, True, False]
    seen = watched(scores, -scores, Proofs.of(far, close), Budget(1 / 365))
    assert seen.alarms == (Alarm("batch", 1, 1, 4, "batch", 4),)


def test_silence_closes_no_alarm():
    scores = np.full(5, np.nan)
    seen = watched(scores, scores, Proofs.of([True, *no(scores)[1:]], no(scores)), Budget(1 / 365))
    assert seen.alarms == (Alarm("batch", 0, 0, None),)


def test_running_mean_has_the_interval_of_a_normal_mixture():
    values, errors, eps = np.array([0.02, 0.04, np.nan, 0.03]), np.array([0.01, 0.02, np.nan, 0.01]), 0.05
    mean = running_mean(values, errors, eps, 0.95)
    v, rho = 0.01**2 + 0.02**2 + 0.01**2, eps**2 / 4
    half = np.sqrt((v + rho) * np.log((v + rho) / (rho * 0.05**2))) / 3
    assert mean.value[-1] == pytest.approx(0.03)
    assert (mean.low[-1], mean.high[-1]) == pytest.approx((0.03 - half, 0.03 + half))
    assert mean.value[2] == mean.value[1]


def test_running_mean_covers_the_truth_at_all_times():
    rng = np.random.default_rng(6)
    missed = 0
    for _ in range(1000):
        errors = rng.uniform(0.005, 0.02, size=100)
        mean = running_mean(0.03 + errors * rng.normal(size=100), errors, 0.04)
        missed += bool(((mean.low > 0.03) | (mean.high < 0.03)).any())
    assert missed / 1000 < 0.05


def test_alarm_of_a_column_is_not_closed_by_the_distance():
    scores = np.array([-3.0] * 12)
    far, close = no(scores), no(scores)
    far[1], close[9] = True, True
    apart = Proofs(far, close, far, [()] * 12)
    assert watched(scores, -scores, apart, Budget(1 / 365)).alarms == (Alarm("batch", 1, 1, 9, "batch", 9),)
    by_distance = watched(scores, -scores, Proofs.of(far, close), Budget(1 / 365)).alarms
    assert by_distance[0].closed < 9


def test_people_can_close_an_alarm():
    scores = np.array([3.0] * 8)
    hands = [()] * 8
    hands[4] = ("stream",)
    first, second = watched(
        scores, -scores, Proofs(no(scores), no(scores), no(scores), hands), Budget(1 / 365)
    ).alarms
    assert (first.cause, first.closed) == ("stream", 4)
    assert second.opened > 4  # it is beyond all the same, and so there is a new one
