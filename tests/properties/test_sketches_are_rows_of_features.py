"""A sketch is the rows of its feature kernel: all that it keeps of them gives the numbers of the rows.

Third moments are not kept. So the distance, its standard error and the tests without a correction for
skewness agree, what is corrected for skewness does not, and a forecast, which knows no skewness, does again.
"""

import numpy as np
import pytest

import nammd
from tests.properties.numbers import differences
from tests.properties.samples import FEATURES, LAWS, groups_of_points, people, points


class Rows:
    """Three samples as rows, with their groups and weights, and as sketches."""

    def __init__(self, rows, groups=None, weights=None, features=FEATURES):
        self.rows, self.groups, self.weights = rows, groups, weights
        self.features = features
        said = [
            {"groups": self._of(groups, k), "sample_weight": self._of(weights, k)} for k in range(len(rows))
        ]
        self.sketches = [
            nammd.Sketch.of(each, features, threads=1, **how) for each, how in zip(rows, said, strict=True)
        ]

    @staticmethod
    def _of(values, k):
        return None if values is None else values[k]

    def how(self, *numbers, **more):
        """The options of a question about some of the samples as rows."""
        groups, weights = (
            None if values is None else [values[k] for k in numbers] for values in (self.groups, self.weights)
        )
        return {"kernel": self.features, "groups": groups, "sample_weight": weights, **more}


def grouped(shift, weighted=False, labelled=True):
    rows, groups, weights = zip(*(groups_of_points(k, shift=shift * (k - 1)) for k in (1, 2, 3)), strict=True)
    return Rows(rows, groups if labelled else None, weights if weighted else None)


def samples(law, rows=(200, 150, 170)):
    return Rows([points(k, size, **(LAWS[law] if k > 1 else {})) for k, size in enumerate(rows, 1)])


SAMPLES = {
    **{law: (lambda law=law: samples(law)) for law in LAWS},
    "few rows": lambda: samples("apart", (12, 9, 10)),
    "another kernel": lambda: Rows(
        [points(k, 60, loc=0.2 * k) for k in range(3)],
        features=nammd.RandomFeatures(nammd.Laplace(2.0), 32, rng=1),
    ),
    "groups of one row": lambda: Rows(
        [points(k, 60, loc=0.2 * k) for k in range(3)], [100 * k + np.arange(60) for k in range(3)]
    ),
    "equal weights": lambda: Rows(
        [points(k, 60, loc=0.2 * k) for k in range(3)], weights=[np.full(60, 2.0)] * 3
    ),
    "equal groups": lambda: Rows(
        [points(k, 60, loc=0.2 * k) for k in range(3)],
        [100 * k + np.repeat(np.arange(20), 3) for k in range(3)],
    ),
    "groups": lambda: grouped(0.4),
    "groups, nearly one law": lambda: grouped(0.15),
    "weights": lambda: grouped(0.4, weighted=True, labelled=False),
    "groups and weights": lambda: grouped(0.4, weighted=True),
}
UNEQUAL = {"groups", "groups, nearly one law", "weights", "groups and weights"}
"""Leaving out one of these groups divides by what is left, of which totals know the average alone."""


def same(rows, sketched, name=""):
    """The same to nine digits; of groups of unequal sizes within three percent, as is documented."""
    rel, absolute = (0.03, 1e-3) if name in UNEQUAL else (1e-9, 1e-13)
    assert differences(rows, sketched, rel=rel, absolute=absolute) == []


@pytest.mark.parametrize("name", SAMPLES)
def test_distances(name):
    found = SAMPLES[name]()
    for statistic in ("nammd", "mmd2"):
        rows = nammd.distance(*found.rows[:2], **found.how(0, 1, metric=statistic))
        sketched = nammd.distance(*found.sketches[:2], kernel=found.features, metric=statistic)
        assert sketched.value == pytest.approx(rows.value, rel=1e-9, abs=1e-13)
        assert (sketched.m, sketched.n, sketched.kernel) == (rows.m, rows.n, rows.kernel)


@pytest.mark.parametrize("name", SAMPLES)
def test_standard_errors(name):
    found = SAMPLES[name]()
    for statistic in ("nammd", "mmd2"):
        rows = nammd.distance(*found.rows[:2], **found.how(0, 1, metric=statistic))
        sketched = nammd.distance(*found.sketches[:2], kernel=found.features, metric=statistic)
        near = 0.03 if name in UNEQUAL else 1e-9
        assert sketched.standard_error == pytest.approx(rows.standard_error, rel=near)


@pytest.mark.parametrize("variance", ["delta", "paper"])
@pytest.mark.parametrize("name", SAMPLES)
def test_tests_without_a_correction_for_skewness(name, variance):
    found = SAMPLES[name]()
    for epsilon in (0.003, 0.03, 0.3):
        for alternative in ("greater", "less"):
            how = {"alternative": alternative, "variance": variance, "cross": "full"}
            rows = nammd.paper.closeness_test(*found.rows[:2], epsilon, **found.how(0, 1, **how))
            sketched = nammd.paper.closeness_test(*found.sketches[:2], epsilon, kernel=found.features, **how)
            same(*([each.pvalue, each.threshold, each.standard_error] for each in (rows, sketched)), name)


@pytest.mark.parametrize("name", ["equal", "apart", "groups of one row"])
def test_corrected_tests_have_the_standard_error_of_rows(name):
    """The third moment moves the threshold, and not the standard error."""
    found = SAMPLES[name]()
    for epsilon in (0.003, 0.03, 0.3):
        for alternative in ("greater", "less"):
            rows = nammd.closeness_test(*found.rows[:2], epsilon, **found.how(0, 1, alternative=alternative))
            sketched = nammd.closeness_test(
                *found.sketches[:2], epsilon, kernel=found.features, alternative=alternative
            )
            assert sketched.standard_error == pytest.approx(rows.standard_error, rel=1e-9)


@pytest.mark.parametrize("name", SAMPLES)
def test_differences_of_distances_and_their_standard_errors(name):
    found = SAMPLES[name]()
    x, y, z = found.rows
    a, b, c = found.sketches
    for second, sketched, numbers in (((x, z), (a, c), (0, 1, 0, 2)), ((z, x), (c, a), (0, 1, 2, 0))):
        rows = nammd.compare_pairs((x, y), second, **found.how(*numbers))
        totals = nammd.compare_pairs((a, b), sketched, kernel=found.features)
        assert rows.shared
        assert totals.shared
        same(*([each.difference, each.standard_error, each.statistic] for each in (rows, totals)), name)


@pytest.mark.parametrize(("number", "name"), list(enumerate(SAMPLES)))
def test_plans(number, name):
    """Of a size that is given, and in turns of a size that is looked for on either side of the margin."""
    found = SAMPLES[name]()
    rows = nammd.distance(*found.rows[:2], **found.how(0, 1))
    sketched = nammd.distance(*found.sketches[:2], kernel=found.features)
    for epsilon, distance, size in ((0.02, (0.0, 0.06)[number % 2], None), (0.1, 0.05, 80)):
        one, two = (nammd.plan(epsilon, distance, pilot=pilot, rows=size) for pilot in (rows, sketched))
        # Totals do not know third moments, which a forecast has a little of.
        assert [one.m, one.n] == pytest.approx([two.m, two.n], rel=0.2)
        assert one.power == pytest.approx(two.power, abs=0.06)
        assert (one.epsilon, one.distance, one.alternative) == (two.epsilon, two.distance, two.alternative)


def test_sketches_that_were_added_or_kept_in_a_file(tmp_path):
    x, y = points(1, 200), points(2, 150, loc=0.4)
    first = nammd.Sketch.of(x[:70], FEATURES, threads=1) + nammd.Sketch.of(x[70:], FEATURES, threads=1)
    second = nammd.Sketch.load(nammd.Sketch.of(y, FEATURES, threads=1).save(tmp_path / "y.sketch"))
    rows, sketched = nammd.distance(x, y, kernel=FEATURES), nammd.distance(first, second, kernel=FEATURES)
    same(*([each.value, each.standard_error] for each in (rows, sketched)))


@pytest.mark.parametrize("customers", [None, 40])
def test_single_columns_of_checks(customers):
    """They are counted on a lattice, which keeps seven digits.

    Of groups totals are kept: without third moments the test is not readier to call a column beyond.
    """
    said = {} if customers is None else {"groups": "customer", "sample_weight": "w"}
    x, candidate = (people(seed, older=older, customers=customers) for seed, older in ((1, 0.0), (3, 0.9)))
    space = nammd.Space.fit(x.drop(columns=["customer", "w"], errors="ignore"))
    made = nammd.Tolerance.at(0.02, space=space, negligible=True, **said)
    first, second = (
        nammd.Sketch.of(each, nammd.RandomFeatures(space.kernel, 64, rng=0), space=space, threads=1, **said)
        for each in (x, candidate)
    )
    rows, sketched = made.check(x, candidate), made.check(first, second)
    assert rows.column_checks
    found, expected = ([each.to_dict() for each in verdict.column_checks] for verdict in (sketched, rows))
    if customers is None:
        # A sketch does not know pairs of columns, so single ones have their part of the level.
        assert differences(expected, found, rel=1e-6, absolute=1e-9, ignored=("beyond",)) == []
        return
    ours, theirs = ({each.name: each for each in verdict.column_checks} for verdict in (rows, sketched))
    for name, column in ours.items():
        assert theirs[name].distance == pytest.approx(column.distance, rel=1e-9)
        assert theirs[name].standard_error == pytest.approx(column.standard_error, rel=0.06)
        assert theirs[name].tolerance == pytest.approx(column.tolerance, rel=0.06)
        assert theirs[name].pvalue >= column.pvalue - 0.03
