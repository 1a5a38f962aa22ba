"""Shifts of every kind are found on the encoded space, and none where there is none."""

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.tables import Encoding
from tests.encoding.samples import table

ROWS = 400


def applications(rng, missing=0.1, third=0.3, rows=ROWS):
    income = rng.lognormal(10, 0.5, rows)
    return table(
        income=pa.array(income, mask=rng.random(rows) < missing),
        city=rng.choice(["Ulm", "Bonn", "Köln"], rows, p=[0.4, 0.6 - third, third]),
    )


def pvalue(reference, candidate, permutations=199):
    encoding = Encoding.fit(reference)
    x, y = encoding.transform(reference), encoding.transform(candidate)
    return nammd.two_sample_test(x, y, permutations=permutations, rng=0).pvalue


def test_a_shift_in_missingness_alone_is_detected():
    rng = np.random.default_rng(0)
    reference, candidate = applications(rng), applications(rng, missing=0.3)
    assert pvalue(reference, candidate) < 0.01
    # Filled with the median and not flagged, nothing of it is left.
    encoding = Encoding.fit(reference)
    flag = encoding.slots("income").stop - 1
    x, y = (np.delete(encoding.transform(t), flag, axis=1) for t in (reference, candidate))
    assert nammd.two_sample_test(x, y, permutations=199, rng=0).pvalue > 0.05


def test_missing_values_that_only_the_candidate_has_are_detected():
    rng = np.random.default_rng(0)
    assert pvalue(applications(rng, missing=0), applications(rng, missing=0.15)) < 0.01


def test_a_shift_of_categories_is_detected():
    rng = np.random.default_rng(0)
    assert pvalue(applications(rng), applications(rng, third=0.5)) < 0.01


def test_a_new_category_is_detected():
    rng = np.random.default_rng(0)
    reference = applications(rng)
    cities = np.array(applications(rng)["city"].to_pylist(), dtype=object)
    cities[rng.random(ROWS) < 0.2] = "Bremen"
    candidate = applications(rng).set_column(1, "city", pa.array(cities))
    assert pvalue(reference, candidate) < 0.01


def test_a_shift_of_the_joint_distribution_alone_is_detected():
    rng = np.random.default_rng(0)

    def paired(sign):
        a = rng.normal(size=ROWS)
        return table(a=a, b=np.where(sign * a + rng.normal(size=ROWS) > 0, "up", "down"))

    assert pvalue(paired(1), paired(-1)) < 0.01


@pytest.mark.parametrize(("names", "common"), [(3, 0), (30, 0), (100, 0), (3000, 0.5), (3000, 0.85)])
def test_the_same_distribution_is_not_called_different(names, common):
    # Slots for common, rare and new categories, chosen by their counts in the reference, would fail here:
    # the reference has no new ones, and its rare ones are partly rare by luck.
    rng = np.random.default_rng(0)

    def draw():
        labels = [f"n{i}" for i in rng.integers(0, names, 250)]
        return table(
            a=[label if rng.random() >= common else "common" for label in labels],
            b=pa.array(rng.normal(size=250), mask=rng.random(250) < 0.05),
        )

    small = [pvalue(draw(), draw(), permutations=19) <= 0.1 for _ in range(60)]  # at exactly this level
    assert np.mean(small) <= 0.22  # 0.1 and three standard errors


def test_a_shift_among_many_categories_is_detected():
    rng = np.random.default_rng(0)
    draw = [[f"n{i}" for i in rng.integers(0, names, 2000)] for names in (100, 60)]
    assert pvalue(table(a=draw[0]), table(a=draw[1])) < 0.01


def test_closeness_on_a_mixed_table():
    rng = np.random.default_rng(0)
    reference, near, far = (applications(rng, missing, rows=1000) for missing in (0.1, 0.12, 0.7))
    encoding = Encoding.fit(reference)
    x, y, z = map(encoding.transform, (reference, near, far))
    kernel = nammd.Gaussian.median(x)
    assert nammd.closeness_test(x, y, 0.01, kernel=kernel, alternative="less").rejected
    assert nammd.closeness_test(x, z, 0.01, kernel=kernel, alternative="greater").rejected


def test_one_absurd_value_does_not_drown_the_others():
    rng = np.random.default_rng(0)
    reference, candidate = (rng.normal(loc=shift, size=500) for shift in (0, 1))
    plain = pvalue(table(a=reference), table(a=candidate))
    candidate[0] = 9.99e99
    assert plain <= 0.01
    assert pvalue(table(a=reference), table(a=candidate)) <= 0.01
