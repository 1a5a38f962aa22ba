"""Many two-sample tests at once are the tests one by one, and share what they can."""

import numpy as np
import pytest

import nammd
from nammd.methods.agg import MMDAgg, bandwidth_collection
from nammd.methods.bandwidths import fuse_bandwidths
from nammd.methods.fuse import MMDFuse, NAMMDFuse
from nammd.methods.many import two_sample_tests

SMALL = {"bandwidths": 3, "permutations": 60}
AGG = MMDAgg(bandwidths=3, permutations=60, level_permutations=50, bisections=20)


def pairs(count, m=25, n=25):
    rng = np.random.default_rng([count, m, n])
    return [(rng.normal(size=(m, 2)), rng.normal(0.6, size=(n, 2))) for _ in range(count)]


@pytest.mark.parametrize(("m", "n"), [(25, 25), (18, 30)])
@pytest.mark.parametrize("method", [NAMMDFuse(**SMALL), MMDFuse(**SMALL), AGG], ids=lambda m: m.name)
def test_one_of_many_is_the_test_by_itself(method, m, n):
    [(x, y)] = pairs(1, m, n)
    [[together]] = two_sample_tests([(x, y)], methods=[method], rng=7)
    alone = nammd.two_sample_test(x, y, method=method, rng=7)
    assert together.pvalue == alone.pvalue
    assert together.statistic == pytest.approx(alone.statistic, rel=1e-12)
    np.testing.assert_allclose(together.null, alone.null, rtol=1e-12)


def test_methods_that_plan_alike_share_what_is_computed():
    class Counting(nammd.Tiles):
        def many_forms(self, tasks):
            asked.append(len(tasks))
            return super().many_forms(tasks)

    asked = []
    found = two_sample_tests(
        pairs(4), methods=[NAMMDFuse(**SMALL), MMDFuse(**SMALL), AGG], rng=0, engine=Counting()
    )
    assert asked == [4, 4]
    assert [[one.method for one in each] for each in found] == [["nammd-fuse", "mmd-fuse", "mmd-agg"]] * 4
    # With one kernel the two fused tests rank permutations alike; with the same signs they are close.
    assert max(abs(a.pvalue - b.pvalue) for a, b, _ in found) < 0.2


def test_every_pair_has_signs_of_its_own():
    [(x, y)] = pairs(1)
    first, second = two_sample_tests([(x, y), (x, y)], methods=[NAMMDFuse(**SMALL)], rng=0)
    assert first[0].statistic == second[0].statistic
    assert (first[0].null != second[0].null).any()


def test_pairs_are_computed_in_parts_where_there_are_many(monkeypatch):
    whole = two_sample_tests(pairs(3), methods=[NAMMDFuse(**SMALL)], rng=0)
    monkeypatch.setattr("nammd.methods.many._SIGNS_AT_ONCE", 1)
    parts = two_sample_tests(pairs(3), methods=[NAMMDFuse(**SMALL)], rng=0)
    assert [one.pvalue for [one] in parts] == [one.pvalue for [one] in whole]


def test_other_methods_are_refused():
    from nammd.methods.permutation import NAMMDPermutation

    with pytest.raises(TypeError, match="takes NAMMDFuse, MMDFuse and MMDAgg"):
        two_sample_tests(pairs(1), methods=[NAMMDPermutation()])


@pytest.mark.parametrize("columns", [1, 7])
def test_bandwidths_are_the_same_where_the_data_are_tensors(columns):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(columns)
    x, y = rng.normal(size=(40, columns)), rng.normal(0.5, size=(30, columns))
    x[:3] = x[3]  # rows that are the same: their distances become the median
    for metric in ("euclidean", "cityblock"):
        ours = fuse_bandwidths(torch.asarray(x), metric, 5)
        np.testing.assert_allclose(ours, fuse_bandwidths(x, metric, 5), rtol=1e-12)
    there = bandwidth_collection(torch.asarray(x), torch.asarray(y), 4)
    for kind, widths in bandwidth_collection(x, y, 4).items():
        np.testing.assert_allclose(there[kind], widths, rtol=1e-12)
