"""Rows are groups of one row each: every number is the same, whichever of the two is said."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import nammd
from nammd.questions.closeness import closeness_of
from nammd.tolerances import accepted as accepted_data
from tests.properties.numbers import ELSEWHERE, differences
from tests.properties.samples import FEATURES, KERNEL, LAWS, numbered, people, points, together

SAID = (*ELSEWHERE, "groups", "rows", "digest", "cautions", "pairs")
"""What tells of groups in words: a result names them, and calls few of them few groups instead of few rows.

Pairs of columns have a test of their own.
"""

SIZES = {"few": (7, 9), "some": (40, 30), "many": (200, 160)}
KERNELS = {
    "Gaussian": KERNEL,
    "narrow": nammd.Gaussian(0.2),
    "Laplace": nammd.Laplace(2.0),
    "sum": 0.3 * nammd.Gaussian(1.0) + 0.7 * nammd.Laplace(3.0),
    "features": FEATURES,
}


@pytest.fixture(autouse=True)
def no_rows_move(monkeypatch):
    """Move no rows towards accepted data: of rows that did, the variance is a bound, and of groups exact."""
    monkeypatch.setattr(accepted_data, "MOVED_COLUMN", 9.0)


def own_labels(*datasets):
    """One label for every row, and none twice."""
    ends = np.cumsum([0, *map(len, datasets)])
    return [np.arange(start, stop) for start, stop in pairwise(ends)]


def same(plain, grouped, rel=1e-9):
    assert differences(plain, grouped, rel=rel, absolute=1e-13, ignored=SAID) == []


def told(result, *more):
    """A result with its intervals at other levels."""
    return [result, *more, [result.confidence_interval(level) for level in (0.5, 0.99)]]


@pytest.mark.parametrize("statistic", ["nammd", "mmd2"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", SIZES)
def test_distances_and_their_influences(size, law, statistic):
    m, n = SIZES[size]
    x, y = points(1, m), points(2, n, **LAWS[law])
    how = {"kernel": KERNEL, "metric": statistic}
    plain, grouped = nammd.distance(x, y, **how), nammd.distance(x, y, groups=own_labels(x, y), **how)
    # Groups are in the order of their labels.
    rows = [
        (each.witness_x, each.witness_y, each.influence_x, np.sort(each.unit_influences(1)))
        for each in (plain, grouped)
    ]
    same(told(plain, rows[0]), told(grouped, rows[1]))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("law", ["equal", "apart"])
def test_distances_in_any_kernel(law, kernel):
    x, y = points(3, 50), points(4, 45, **LAWS[law])
    plain, grouped = (
        nammd.distance(x, y, kernel=KERNELS[kernel], groups=groups) for groups in (None, own_labels(x, y))
    )
    same(told(plain), told(grouped))


def outcome(test):
    """A test without the distance that it is of."""
    return [test.statistic, test.pvalue, test.threshold, test.standard_error, test.rejected]


@cache
def distances(size, law):
    """The distance of rows and that of groups, measured once for all tests of margins."""
    m, n = SIZES[size]
    x, y = points(1, m), points(2, n, **LAWS[law])
    return [nammd.distance(x, y, kernel=KERNEL, groups=groups) for groups in (None, own_labels(x, y))]


every_variance = pytest.mark.parametrize("variance", ["corrected", "delta", "paper"])


@every_variance
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", SIZES)
def test_tests_of_margins(size, law, variance):
    for epsilon, alternative in ((0.003, "greater"), (0.03, "greater"), (0.03, "less"), (0.3, "less")):
        plain, grouped = (
            closeness_of(distance, epsilon, alternative, 0.05, variance) for distance in distances(size, law)
        )
        same(outcome(plain), outcome(grouped))


@every_variance
def test_tests_of_margins_where_they_are_asked_for(variance):
    x, y = points(1, 40), points(2, 30, **LAWS["near"])
    for alternative in ("greater", "less"):
        how = {"kernel": KERNEL, "alternative": alternative, "variance": variance, "cross": "full"}
        plain, grouped = (
            nammd.paper.closeness_test(x, y, 0.03, groups=groups, **how)
            for groups in (None, own_labels(x, y))
        )
        same(outcome(plain), outcome(grouped))
        own = closeness_of(distances("some", "near")[1], 0.03, alternative, 0.05, variance)
        assert outcome(own) == outcome(grouped)


SMALL = st.floats(-4, 4, allow_subnormal=False).map(lambda value: round(value, 3))


@settings(max_examples=40)
@given(arrays(np.float64, (9, 2), elements=SMALL), arrays(np.float64, (12, 2), elements=SMALL))
def test_any_rows_at_all(x, y):
    """Ties and constants too; where there is no variance but rounding, its size means nothing."""
    plain, grouped = (
        nammd.distance(x, y, kernel=KERNEL, groups=groups) for groups in (None, own_labels(x, y))
    )
    assert grouped.value == pytest.approx(plain.value, rel=1e-9, abs=1e-12)
    assert grouped.standard_error == pytest.approx(plain.standard_error, rel=1e-6, abs=1e-7)
    if plain.standard_error > 1e-4:
        assert grouped.confidence_interval() == pytest.approx(plain.confidence_interval(), rel=1e-6, abs=1e-9)


def test_single_precision():
    """Sums in single precision keep six digits, in whatever order."""
    x, y = (each.astype("float32") for each in (points(5, 200), points(6, 180, loc=0.4)))
    plain, grouped = (
        nammd.distance(x, y, kernel=KERNEL, groups=groups) for groups in (None, own_labels(x, y))
    )
    assert grouped.value == pytest.approx(plain.value, abs=1e-7)
    assert grouped.standard_error == pytest.approx(plain.standard_error, rel=1e-5)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_rows_that_all_weigh_the_same_have_the_distance_of_rows(weight):
    x, y = points(1, 40), points(2, 30, loc=0.4)
    plain = nammd.distance(x, y, kernel=KERNEL)
    weighted = nammd.distance(x, y, kernel=KERNEL, sample_weight=[np.full(len(z), weight) for z in (x, y)])
    same([plain.value, plain.standard_error], [weighted.value, weighted.standard_error])


@pytest.mark.parametrize("weight", [1.0, 3.0])
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_rows_that_all_weigh_the_same_have_the_tests_of_rows(alternative, weight):
    x, y = points(1, 40), points(2, 30, loc=0.4)
    weights = [np.full(len(z), weight) for z in (x, y)]
    plain, weighted = (
        nammd.closeness_test(x, y, 0.02, kernel=KERNEL, alternative=alternative, sample_weight=given)
        for given in (None, weights)
    )
    same(outcome(plain), outcome(weighted))


@pytest.mark.parametrize(
    ("size", "statistic", "shared"),
    [
        ("few", "nammd", True),
        ("few", "mmd2", False),
        ("some", "nammd", False),
        ("some", "mmd2", True),
        ("many", "nammd", True),
        ("many", "mmd2", False),
    ],
)
def test_comparisons(size, statistic, shared):
    m, n = SIZES[size]
    x, y, z, w = points(1, m), points(2, n, loc=0.2), points(3, n + 1, loc=0.6), points(4, m)
    gx, gy, gz, gw = own_labels(x, y, z, w)
    second, labels = ((x, z), (gx, gz)) if shared else ((w, z), (gw, gz))
    for alternative in ("greater", "two-sided"):
        how = {"kernel": KERNEL, "metric": statistic, "alternative": alternative}
        plain = nammd.compare_pairs((x, y), second, **how)
        grouped = nammd.compare_pairs((x, y), second, groups=((gx, gy), labels), **how)
        assert plain.shared is shared
        same(plain, grouped)
    same(told(plain), told(grouped))  # an interval has two sides, whatever was asked


def test_rankings_plans_and_permutation_statistics():
    x, near, far = points(1, 80), points(2, 60, loc=0.2), points(3, 70, loc=0.7)
    gx, gn, gf = own_labels(x, near, far)
    candidates = {"near": near, "far": far}
    same(
        nammd.rank(x, candidates, kernel=KERNEL),
        nammd.rank(x, candidates, kernel=KERNEL, groups=[gx, gn, gf]),
    )
    for rows in (None, 200):
        plain, grouped = (
            nammd.plan(0.02, 0.05, pilot=(x, far), rows=rows, groups=groups) for groups in (None, (gx, gf))
        )
        same(plain, grouped)
    # Groups are exchanged by other draws than rows, so p-values are the same up to these.
    for y, labels in ((near, gn), (far, gf)):
        plain, grouped = (
            nammd.two_sample_test(x, y, kernel=KERNEL, permutations=199, rng=0, groups=groups)
            for groups in (None, (gx, labels))
        )
        assert grouped.statistic == pytest.approx(plain.statistic, rel=1e-9)
        assert grouped.pvalue == pytest.approx(plain.pvalue, abs=0.1)


def test_sketches():
    x, y, z = points(1, 300), points(2, 250, loc=0.3), points(3, 260, loc=0.6)
    plain = [nammd.Sketch.of(each, FEATURES, threads=1) for each in (x, y, z)]
    grouped = [
        nammd.Sketch.of(each, FEATURES, groups=labels, threads=1)
        for each, labels in zip((x, y, z), own_labels(x, y, z), strict=True)
    ]
    for how in ({"kernel": None}, {"kernel": FEATURES}, {"kernel": FEATURES, "metric": "mmd2"}):
        same(*(told(nammd.distance(a, b, **how)) for a, b, _ in (plain, grouped)))
        same(*(nammd.compare_pairs((a, b), (a, c), **how) for a, b, c in (plain, grouped)))
        for alternative in ("greater", "less"):
            tests = (
                nammd.closeness_test(a, b, 0.02, alternative=alternative, **how)
                for a, b, _ in (plain, grouped)
            )
            same(*map(outcome, tests))


X, ACCEPTED, OTHER = points(11, 120), points(12, 100, loc=0.9), points(13, 110, loc=1.0)
NEAR, NEARER = points(17, 100, loc=0.2), points(18, 110, loc=0.1)

CANDIDATES = {"equal": points(14, 90), "between": points(15, 95, loc=0.6), "far": points(16, 100, loc=2.5)}


def from_arrays(groups):
    """Every way to a tolerance of arrays, with groups or without."""
    of_x, both, three = (
        {"groups": labels} if groups else {}
        for labels in (np.arange(len(X)), own_labels(X, ACCEPTED), own_labels(X, ACCEPTED, OTHER))
    )
    how = {"anyway": True, "kernel": KERNEL}
    several, near = {"one": ACCEPTED, "other": OTHER}, {"one": NEAR, "other": NEARER}
    return {
        "accepted": lambda: nammd.Tolerance.from_reference(X, NEAR, **how, **both),
        "several": lambda: nammd.Tolerance.from_reference(X, near, **how, **three),
        "ball": lambda: nammd.Tolerance.from_reference(X, ACCEPTED, how="ball", **how, **both),
        "balls": lambda: nammd.Tolerance.from_reference(X, several, how="ball", **how, **three),
        "noise": lambda: nammd.Tolerance.from_noise(X, level=0.5, levels=(0.2, 0.5), **how, **of_x),
        "split": lambda: nammd.Tolerance.from_split(X, n_splits=4, **how, **of_x),
        "given": lambda: nammd.Tolerance.at(0.03, KERNEL, n_columns=2),
        "given, columns": lambda: nammd.Tolerance.at(0.03, KERNEL, n_columns=2, negligible=True),
    }


@cache
def made(data, groups, way):
    """Make one of them, once for all tests; no rows move in any."""
    return data(groups)[way]()


def power_of(tolerance):
    """All that is forecast of checks, by several sizes and distances."""
    if tolerance.to_dict()["origin"]["how"] == "given":
        return []
    return [tolerance.power(rows, factor * tolerance.epsilon) for rows, factor in ((30, 0.0), (200, 0.5))]


@pytest.mark.parametrize(
    "way",
    [
        "accepted",
        "several",
        "ball",
        "balls",
        "split",
        "given",
        "given, columns",
    ],
)
def test_tolerances_of_arrays(way):
    plain, grouped = (made(from_arrays, groups, way) for groups in (False, True))
    same(plain, grouped)


@pytest.mark.parametrize(
    "way",
    [
        "accepted",
        "several",
        "ball",
        "balls",
        "split",
        "given",
        "given, columns",
    ],
)
def test_forecasts_and_checks_of_arrays(way):
    plain, grouped = (made(from_arrays, groups, way) for groups in (False, True))
    same(power_of(plain), power_of(grouped))
    gates = plain.with_reference(X), grouped.with_reference(X, groups=np.arange(len(X)))
    for candidate in CANDIDATES.values():
        labels = 10_000 + np.arange(len(candidate))  # none that accepted rows have
        same(gates[0].check(candidate), gates[1].check(candidate, groups=labels))


TABLE, TABLE_ACCEPTED, TABLE_OTHER = (
    numbered(people(seed, older=older), seed) for seed, older in ((21, 0.0), (22, 1.3), (23, 1.2))
)
TABLE_NEAR, TABLE_NEARER = (numbered(people(seed, older=0.3), seed) for seed in (27, 28))
TABLE_CANDIDATES = {
    "equal": numbered(people(24), 24),
    "older": numbered(people(25, older=2.2), 25),
    "missing": numbered(people(26, missing=0.5, cities=(0.1, 0.2, 0.7)), 26),
}


def plain_rows(table):
    return table.drop(columns="row")


def from_tables(groups):
    """Every way to a tolerance of tables, with the column of groups or without it."""
    said = {"groups": "row"} if groups else {}
    x, accepted, other = (
        table if groups else plain_rows(table) for table in (TABLE, TABLE_ACCEPTED, TABLE_OTHER)
    )
    several = {"one": accepted, "other": other}
    near = {
        "one": TABLE_NEAR if groups else plain_rows(TABLE_NEAR),
        "other": TABLE_NEARER if groups else plain_rows(TABLE_NEARER),
    }
    make = nammd.Tolerance
    space = nammd.Space.fit(plain_rows(TABLE))
    return {
        "accepted": lambda: make.from_reference(x, near["one"], **said),
        "several": lambda: make.from_reference(x, near, **said),
        "ball": lambda: make.from_reference(x, accepted, how="ball", anyway=True, **said),
        "balls": lambda: make.from_reference(x, several, how="ball", anyway=True, **said),
        "noise": lambda: make.from_noise(x, level=0.5, levels=(0.5,), anyway=True, **said),
        "flips": lambda: make.from_noise(x, level=0.3, levels=(0.3,), kind="flips", anyway=True, **said),
        "missing": lambda: make.from_noise(x, level=0.3, levels=(0.3,), kind="missing", anyway=True, **said),
        "split": lambda: make.from_split(x, n_splits=4, anyway=True, **said),
        "given": lambda: make.at(0.02, space=space, negligible=True, **said),
    }


@pytest.mark.parametrize(
    "way",
    [
        "accepted",
        "several",
        "ball",
        "balls",
        "split",
        "given",
    ],
)
def test_tolerances_of_tables_and_all_that_is_made_of_them(way):
    plain, grouped = (made(from_tables, groups, way) for groups in (False, True))
    same(plain, grouped)
    same(power_of(plain), power_of(grouped))
    for name in TABLE_CANDIDATES if way in ("accepted", "ball") else ["missing"]:
        candidate = TABLE_CANDIDATES[name]
        expected = plain.check(plain_rows(TABLE), plain_rows(candidate))
        found = grouped.check(TABLE, candidate)
        assert found.column_checks
        same(expected, found)


NEARLY = (
    "epsilon_error",
    "standard_error",
    "low",
    "high",
    "rows_needed",
    "pvalue_close",
    "pvalue_far",
    "pvalue",
    "adjusted",
    "interval",
    "interval_of_tolerance",
)
"""What differs where rows have copies: by rows such a pair is left out of a mean, by groups of all sums."""


@pytest.mark.parametrize(
    ("data", "way"),
    [(from_arrays, "noise"), (from_tables, "noise"), (from_tables, "flips"), (from_tables, "missing")],
)
def test_tolerances_of_rows_and_their_copies(data, way):
    """Epsilon is the same; its error is somewhat smaller by groups, and little follows from that."""
    plain, grouped = (made(data, groups, way) for groups in (False, True))
    assert differences(plain, grouped, rel=1e-9, absolute=1e-13, ignored=(*SAID, *NEARLY)) == []
    assert 0.85 * plain.epsilon_error < grouped.epsilon_error < plain.epsilon_error
    assert differences(power_of(plain), power_of(grouped), absolute=0.03, ignored=SAID) == []
    x, candidate = (X, CANDIDATES["between"]) if data is from_arrays else (TABLE, TABLE_CANDIDATES["missing"])
    if data is from_arrays:
        verdicts = plain.check(x, candidate), grouped.check(x, candidate, groups=own_labels(x, candidate))
    else:
        verdicts = plain.check(plain_rows(x), plain_rows(candidate)), grouped.check(x, candidate)
    assert differences(*verdicts, rel=1e-9, absolute=1e-13, ignored=(*SAID, *NEARLY)) == []
    pvalues = [[each.pvalue_close, each.pvalue_far] for each in verdicts]
    assert pvalues[0] == pytest.approx(pvalues[1], abs=0.01)


@pytest.mark.parametrize("way", ["noise", "flips", "missing", "split"])
def test_single_columns_are_the_same_whatever_the_tolerance_was_made_from(way):
    plain, grouped = (made(from_tables, groups, way) for groups in (False, True))
    for candidate in TABLE_CANDIDATES.values():
        expected = plain.check(plain_rows(TABLE), plain_rows(candidate))
        found = grouped.check(TABLE, candidate)
        same(
            [each.to_dict() for each in expected.column_checks],
            [each.to_dict() for each in found.column_checks],
        )


def test_pairs_of_columns():
    """How two columns go together is tested, too."""
    x, candidate = (numbered(together(seed, rho), seed) for seed, rho in ((31, 0.9), (33, 0.2)))
    space = nammd.Space.fit(plain_rows(x))
    plain = nammd.Tolerance.at(0.001, space=space)
    grouped = nammd.Tolerance.at(0.001, space=space, groups="row")
    expected = plain.check(plain_rows(x), plain_rows(candidate)).pair_checks
    if [each.names for each in expected if each.beyond] != [("a", "b")]:
        pytest.fail("there is nothing to compare")
    same(expected, grouped.check(x, candidate).pair_checks)


def test_pairs_of_columns_of_whole_numbers():
    """Their classes are not the same in both datasets: here they go together as before."""
    x, candidate = numbered(people(49), 49), numbered(people(50, older=1.5), 50)
    space, allowed = nammd.Space.fit(plain_rows(x)), {"shift": 3.0, "categories": 0.5, "missing": 0.5}
    plain = nammd.Tolerance.at(0.001, space=space, negligible=allowed)
    grouped = nammd.Tolerance.at(0.001, space=space, negligible=allowed, groups="row")
    expected, found = plain.check(plain_rows(x), plain_rows(candidate)), grouped.check(x, candidate)
    if not expected.details.jointly_far or expected.details.beyond:
        pytest.fail("pairs of columns are not looked for")
    same(expected.pair_checks, found.pair_checks)


def test_monitors(tmp_path):
    plain, grouped = (made(from_tables, groups, "accepted") for groups in (False, True))
    # About the reference alone rows are bet on, and groups have normal scores: that evidence differs.
    how = {"title": "stream", "claim": "population"}
    rows = nammd.Monitor.create(tmp_path / "rows.monitor", plain, plain_rows(TABLE), **how)
    groups = nammd.Monitor.create(tmp_path / "groups.monitor", grouped, TABLE, **how)
    for key, candidate in enumerate(TABLE_CANDIDATES.values()):
        same(rows.add(plain_rows(candidate), key=key), groups.add(candidate, key=key))
