"""Units instead of rows: the formulas against plain recomputation, and against rows by themselves."""

from dataclasses import replace

import numpy as np
import pytest

import nammd
from nammd.engines.units import Units, UnitSums
from nammd.questions.closeness import closeness_of
from nammd.questions.comparison import compare_estimates
from nammd.statistics.atom_pair import AtomPair, atoms_of_units
from nammd.statistics.atoms import effective_groups
from nammd.statistics.margin import margin
from nammd.statistics.moments import combined, freedom

KERNEL = nammd.Gaussian(1.0)


def drawn(rng, groups, correlation=0.5, shift=0.0, rows=(1, 6)):
    """Rows of a plane that go together within groups."""
    labels = np.repeat(np.arange(groups), rng.integers(*rows, size=groups))
    noise = rng.normal(size=(len(labels), 2)) * np.sqrt(1 - correlation)
    points = np.sqrt(correlation) * rng.normal(size=(groups, 2))[labels] + noise
    points[:, 0] += shift
    return points, labels


def summed(x, one, y, two):
    parts = nammd.Tiles().unit_sums(KERNEL, ((x, one),), ((y, two),), ((x, one), (y, two))).parts
    return UnitSums(*parts, (one, two), 1.0)


def plain_u(x, gx, wx, y, gy, wy, a):
    """U = a (xx + yy) - 2 xy, less what does not vary, from all pairs of rows of different groups."""

    def mean(one, g, u, two, h, v):
        weights = np.outer(u, v) * (g[:, None] != h)
        return np.sum(weights * KERNEL(one, two)) / weights.sum()

    own = mean(x, gx, wx, x, gx, wx) + mean(y, gy, wy, y, gy, wy)
    return a * own - 2 * mean(x, gx, wx, y, gy, wy)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_the_jackknife_leaves_out_one_group_at_a_time(weighted, shared):
    rng, a = np.random.default_rng(0), 1.1
    (x, gx), (y, gy) = drawn(rng, 7), drawn(rng, 6, shift=1.0)
    gy = gy + (4 if shared else 100)
    wx, wy = (rng.uniform(0.5, 2.0, len(g)) if weighted else np.ones(len(g)) for g in (gx, gy))
    sums = summed(x, Units(gx, wx), y, Units(gy, wy))
    atoms = atoms_of_units(sums, (len(x), len(y)), (np.nan, np.nan))
    found = AtomPair(atoms, sums.cross.squares, 1.0, common=sums.common if shared else None).moments
    whole = plain_u(x, gx, wx, y, gy, wy, a)
    assert found.mmd2 + (a - 1) * (found.x.mean + found.y.mean) == pytest.approx(whole, rel=1e-12)
    left = np.array(
        [
            plain_u(x[gx != g], gx[gx != g], wx[gx != g], y, gy, wy, a)
            - (a * found.y.mean if not shared else 0.0)
            for g in np.unique(gx)
        ]
    )
    if shared:  # the mean within y does not move
        left -= a * found.y.mean
    expected = 6 / 7 * np.sum((left - left.mean()) ** 2)
    assert atoms[0].jackknife.at(a) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("reach", [0, 1])
def test_what_is_due_to_pairs_is_what_is_left_of_them(reach):
    rng = np.random.default_rng(1)
    (x, gx), (y, gy) = drawn(rng, 12), drawn(rng, 9)
    sums = summed(x, Units(gx, None, reach), y, Units(gy + 50, None, reach))
    side, _ = atoms_of_units(sums, (len(x), len(y)), (np.nan, np.nan))
    adder = (gx == np.arange(12)[:, None]).astype(float)
    pairs, s, n = adder @ KERNEL(x, x) @ adder.T, adder.sum(axis=1), side.effective
    apart = np.abs(np.arange(12)[:, None] - np.arange(12)) > reach
    mean = pairs[apart].sum() / np.outer(s, s)[apart].sum()
    partners = apart @ s
    r = ((pairs * apart).sum(axis=1) - s * partners * mean) / partners * (n - 1) / (n - 2)
    rest = (pairs - mean * np.outer(s, s) - np.outer(r, s) - np.outer(s, r))[apart]
    total = np.outer(s, s)[apart].sum()
    expected = 2 * np.sum(rest**2) / total**2 * (n - 1) / (n - 3)
    assert side.by_pairs == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("shared", [False, True])
def test_third_order_terms_are_those_of_groups_and_of_all_that_a_group_does(shared):
    rng, a = np.random.default_rng(6), 1.1
    (x, gx), (y, gy) = drawn(rng, 9), drawn(rng, 8, shift=1.0)
    gy = gy + (5 if shared else 100)
    names = np.union1d(gx, gy)

    def totals(one, g, two, h):
        adders = [(names[:, None] == labels).astype(float) for labels in (g, h)]
        return adders[0] @ KERNEL(one, two) @ adders[1].T, np.outer(*(a.sum(axis=1) for a in adders))

    other, moved, form = ~np.eye(len(names), dtype=bool), 0.0, 0.0
    for values, pairs, factor in (
        (*totals(x, gx, x, gx), a),
        (*totals(y, gy, y, gy), a),
        (*totals(x, gx, y, gy), -1.0),
        (*totals(y, gy, x, gx), -1.0),
    ):
        weight = pairs[other].sum()
        rest = np.where(other, values - pairs * (values[other].sum() / weight), 0.0)
        moved = moved + 2 * factor * rest.sum(axis=1) / weight
        form = form + factor * rest / weight
    cubic, quadratic = np.sum(moved**3), 2 * moved @ form @ moved
    found = nammd.distance(x, y, groups=(gx, gy), kernel=KERNEL).pair.cubic_and_quadratic(a - 1, "greater")
    np.testing.assert_allclose(found, (cubic, quadratic), rtol=1e-9)


@pytest.mark.parametrize("together", [True, False])
def test_a_kind_of_group_not_met_yet_is_one_like_those_of_the_other_sample(together):
    rng, a = np.random.default_rng(7), 1.3
    (x, gx), (y, gy) = drawn(rng, 12), drawn(rng, 9, shift=1.0)
    found = nammd.distance(x, y, groups=(gx, gy + 50), kernel=KERNEL).pair.moments
    near = [
        np.mean(KERNEL(z, z)[(g[:, None] == g) & ~np.eye(len(g), dtype=bool)]) for z, g in ((x, gx), (y, gy))
    ]
    assert [found.x.in_unit, found.y.in_unit] == pytest.approx(near, rel=1e-12)
    if not together:
        found = replace(found, x=replace(found.x, in_unit=np.nan), y=replace(found.y, in_unit=np.nan))
    values = np.array([[found.x.mean, found.xy], [found.xy, found.y.mean]])

    def mixed(side, share):
        """The mean kernel values where so much of one law is like the other."""
        laws = np.eye(2)
        laws[side] += share * np.array([1, -1]) * (1 if side else -1)
        return laws @ values @ laws.T

    def u(means):
        return a * np.trace(means) - 2 * means[0, 1]

    expected = 0.0
    for side, (size, rows) in enumerate((side.size, side.per_unit) for side in (found.x, found.y)):
        moved = (u(mixed(side, 1e-6)) - u(values)) / 1e-6
        mean = mixed(side, 1 / size)[side, side]
        same = near[side] + (near[1 - side] - near[side]) / size
        correlation = (same - mean) / (1 - mean) if together else 1.0
        assert 0 < correlation <= 1
        # The variance of the mean of a group's rows, over that of one row.
        expected += (moved / size) ** 2 * (1 + (rows - 1) * correlation) / rows
    assert found.unmet(a) == pytest.approx(expected, rel=1e-4)


def test_weights_count_in_how_alike_the_rows_of_a_group_are():
    rng = np.random.default_rng(10)
    (x, gx), (y, gy) = drawn(rng, 12), drawn(rng, 9, shift=1.0)
    weights = [rng.uniform(0.5, 2.0, len(g)) for g in (gx, gy)]
    found = nammd.distance(x, y, groups=(gx, gy + 50), sample_weight=weights, kernel=KERNEL).pair.moments
    pairs = np.outer(weights[0], weights[0]) * (gx[:, None] == gx) * ~np.eye(len(gx), dtype=bool)
    assert found.x.in_unit == pytest.approx(np.sum(pairs * KERNEL(x, x)) / pairs.sum(), rel=1e-9)


def test_it_makes_a_difference_more_doubtful_and_the_likeness_no_less():
    rng = np.random.default_rng(8)
    (x, gx), (y, gy) = drawn(rng, 12), drawn(rng, 12, shift=1.5)
    estimate = nammd.distance(x, y, groups=(gx, gy + 50), kernel=KERNEL)
    a = 1.05
    for alternative, added in (("greater", estimate.pair.moments.unmet(a)), ("less", 0.0)):
        test = margin(estimate.pair, 0.05, "corrected", alternative)
        parts = estimate.pair.moments.linear_variance(a), estimate.pair.moments.variance(a)
        assert test.deviation**2 == pytest.approx(combined(*parts)[0] + added, rel=1e-12)


def test_neighbours_in_time_leave_a_variance_less_well_known():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(120, 1)), rng.normal(size=(120, 1))
    blocks = np.repeat(np.arange(20), 6)
    sums = [summed(x, Units(blocks, None, reach), y, Units(blocks, None, reach)) for reach in (0, 1)]
    alone, near = (atoms_of_units(each, (120, 120), (np.nan, np.nan))[0].components(0.0) for each in sums)
    assert alone.freedom == pytest.approx(19 * (19 / 3) ** 2)
    assert near.freedom == pytest.approx(19 / 3 * (19 / 9) ** 2)


def test_care_for_few_groups_meets_the_rule_of_rows_as_groups_become_rows_and_as_they_become_many():
    rng = np.random.default_rng(11)
    (x, gx), (y, gy) = drawn(rng, 40, rows=(4, 5)), drawn(rng, 40, shift=1.0, rows=(4, 5))
    moments = nammd.distance(x, y, groups=(gx, gy + 50), kernel=KERNEL).pair.moments

    def like(units, per_unit):
        sides = (
            replace(side, size=units, per_unit=per_unit, freedom=freedom(units, per_unit))
            for side in (moments.x, moments.y)
        )
        return replace(moments, **dict(zip("xy", sides, strict=True)))

    rows = like(40.0, 1.0)
    assert (rows.unmet(1.1), rows.degrees(1.1)) == (0.0, np.inf)
    nearly = [like(40.0, 1 + step) for step in (0.1, 0.01, 0.001)]
    assert [each.unmet(1.1) for each in nearly] == sorted((each.unmet(1.1) for each in nearly), reverse=True)
    assert nearly[-1].unmet(1.1) < 0.002 * like(40.0, 2.0).unmet(1.1)
    assert nearly[-1].degrees(1.1) > 500 * like(40.0, 2.0).degrees(1.1)
    shares = [like(n, 4.0).unmet(1.1) / like(n, 4.0).variance(1.1) for n in (12.0, 20.0, 100.0, 1000.0)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < shares[0] / 1000


@pytest.fixture(params=[(4, 5, 6), (40, 60, 50), (1300, 1200, 1100)], ids=str)
def alone(request):
    """Three datasets, and every row of them as a group of its own, in another order."""
    rng = np.random.default_rng(2)
    data = [rng.normal(loc=shift, size=(n, 2)) for n, shift in zip(request.param, (0, 0.7, 1), strict=True)]
    labels = [[f"{k}-{i}" for i in rng.permutation(len(d))] for k, d in enumerate(data)]
    return data, labels


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def test_rows_that_stand_for_themselves_give_the_numbers_without_groups(alone):
    (x, y, _), (gx, gy, _) = alone
    plain, grouped = nammd.distance(x, y), nammd.distance(x, y, groups=(gx, gy))
    same(grouped.value, plain.value)
    same(grouped.standard_error, plain.standard_error)
    same(grouped.confidence_interval(), plain.confidence_interval())
    same(grouped.witness_x, plain.witness_x)
    for alternative in ("greater", "less"):
        for variance in ("corrected", "delta", "paper"):
            tests = [closeness_of(e, 0.05, alternative, 0.05, variance) for e in (grouped, plain)]
            same(tests[0].pvalue, tests[1].pvalue)


def test_and_comparisons_too(alone):
    (x, y, z), (gx, gy, gz) = alone
    plain = nammd.compare_pairs((x, y), (x, z))
    grouped = nammd.compare_pairs((x, y), (x, z), groups=((gx, gy), (gx, gz)))
    for shared in (True, False):
        for alternative in ("greater", "less"):
            found = [
                compare_estimates(c.first, c.second, shared=shared, alternative=alternative, alpha=0.05)
                for c in (grouped, plain)
            ]
            if len(x) < 1024:  # of larger ones other rows stand for all, by another order
                same(found[0].pvalue, found[1].pvalue)
            same(found[0].standard_error, found[1].standard_error)


def test_a_weight_of_two_is_the_row_twice_in_its_group():
    rng = np.random.default_rng(3)
    (x, gx), (y, gy) = drawn(rng, 15), drawn(rng, 12, shift=0.5)
    gy = gy + 100
    times = [rng.integers(1, 4, len(g)) for g in (gx, gy)]
    kernel = nammd.Gaussian(1.0)
    weighted = nammd.distance(x, y, groups=(gx, gy), sample_weight=times, kernel=kernel)
    repeated = nammd.distance(
        np.repeat(x, times[0], axis=0),
        np.repeat(y, times[1], axis=0),
        groups=tuple(np.repeat(g, t) for g, t in zip((gx, gy), times, strict=True)),
        kernel=kernel,
    )
    same(weighted.value, repeated.value)
    same(weighted.standard_error, repeated.standard_error)
    # Terms of still higher order tell a row that is there twice from one of twice the weight.
    tests = [closeness_of(e, 0.05, "greater", 0.05, "delta") for e in (weighted, repeated)]
    same(tests[0].pvalue, tests[1].pvalue)


def test_the_order_of_rows_and_the_names_of_groups_do_not_matter():
    rng = np.random.default_rng(4)
    (x, gx), (y, gy) = drawn(rng, 30), drawn(rng, 25, shift=0.5)
    gy = gy + 100
    order, names = rng.permutation(len(x)), rng.permutation(1000)
    first = nammd.distance(x, y, groups=(gx, gy))
    other = nammd.distance(x[order], y, groups=(names[gx][order], names[gy]))
    same(first.value, other.value)
    same(first.standard_error, other.standard_error)
    same(first.confidence_interval(), other.confidence_interval())
    same(first.influence_x[order], other.influence_x)


def test_influences_of_rows_add_up_to_those_of_their_groups():
    rng = np.random.default_rng(5)
    (x, gx), (y, gy) = drawn(rng, 30), drawn(rng, 25, shift=0.5)
    weights = [rng.uniform(0.5, 2.0, len(g)) for g in (gx, gy)]
    names = np.array([f"{g:03d}" for g in gx])
    found = nammd.distance(x, y, groups=(names, gy + 100), sample_weight=weights)
    same(np.bincount(gx, found.influence_x), found.unit_influences(0))
    assert np.sum(found.unit_influences(0)) == pytest.approx(0.0, abs=1e-12)


def test_the_effective_number_of_groups_is_that_of_groups_of_equal_size():
    assert effective_groups(np.full(7, 3.0)) == pytest.approx(7.0)
    assert effective_groups(np.array([100.0, 1.0, 1.0, 1.0])) == pytest.approx(1.0, abs=0.01)


def test_exchanging_the_datasets_changes_nothing():
    rng = np.random.default_rng(6)
    (x, gx), (y, gy) = drawn(rng, 20), drawn(rng, 25, shift=0.5)  # groups in common
    kernel = nammd.Gaussian(1.0)
    one = nammd.distance(x, y, groups=(gx, gy), kernel=kernel)
    other = nammd.distance(y, x, groups=(gy, gx), kernel=kernel)
    same(one.value, other.value)
    same(one.standard_error, other.standard_error)
    same(one.confidence_interval(), other.confidence_interval())
