"""Data that are no data to test with: said in words, and never a p-value made of rounding."""

import math

import numpy as np
import pytest

import nammd
from nammd.data.repeats import KeyCounts, in_common, row_keys

KERNEL = nammd.Gaussian(1.0)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 2)), RNG.normal(0.5, 1.0, (90, 2))
LIMIT = nammd.Tolerance.at(0.05, KERNEL, n_columns=2)
ESTIMATED = nammd.Tolerance.from_reference(X, Y, kernel=KERNEL, how="ball")


def codes(result):
    return [caution.code for caution in result.cautions]


@pytest.mark.parametrize("tolerance", [LIMIT, ESTIMATED], ids=["given", "estimated"])
@pytest.mark.parametrize(
    ("candidate", "code"),
    [
        (X, "same-rows"),
        (X.copy(), "same-rows"),
        (X[::-1], "same-rows"),
        (np.concatenate([X[:60], Y[:20]]), "same-rows"),
        (np.repeat(Y, 2, axis=0), "copied-rows"),
        (np.tile(Y, (3, 1)), "copied-rows"),
    ],
    ids=["itself", "a copy", "in another order", "mostly the reference", "doubled", "three times"],
)
def test_what_is_not_a_second_sample_is_never_close(tolerance, candidate, code):
    verdict = tolerance.check(X, candidate)
    repeated = any(fact.code == "repeated-rows" for fact in verdict.failures)  # a fact, without a test
    assert verdict.decision == ("FAR" if repeated else "UNDECIDED")
    assert math.isnan(verdict.pvalue_close)
    assert math.isnan(verdict.pvalue_far)
    assert code in codes(verdict)
    if verdict.failures:
        assert str(verdict.failures[0]) in str(verdict).splitlines()[0]
    else:
        assert str(verdict).startswith("UNDECIDED: no valid test is possible with these data.")


def test_the_reference_may_not_be_doubled_either():
    verdict = LIMIT.check(np.repeat(X, 2, axis=0), Y)
    assert (verdict.decision, codes(verdict)) == ("UNDECIDED", ["copied-rows"])


def test_a_file_against_itself_is_said_in_words(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "\n".join(f"{a:.4f},{b:.4f}" for a, b in X))
    found = nammd.distance(path, path)
    assert "are the same rows, so no valid test is possible" in str(found)
    tested = nammd.closeness_test(path, path, 0.05, alternative="greater")
    assert math.isnan(tested.pvalue)
    assert "same-rows" in codes(tested)


def test_some_rows_in_common_are_told_and_a_verdict_is_given():
    verdict = LIMIT.check(X, np.concatenate([X[:4], Y[:70]]))
    assert "rows-in-common" in codes(verdict)
    assert "4 of the 74 rows of the candidate are rows of the reference too" in str(verdict)
    assert not math.isnan(verdict.pvalue_close)


def counted(points):
    return KeyCounts.of(np.sort(row_keys(points)))


def test_rows_that_repeat_by_chance_are_no_copies():
    """Rows of numbers with few digits are alike now and then, within datasets as between them."""
    told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = ((0.6 * rng.normal(size=(size, 3))).round(1) for size in (900, 300))
        told += in_common(counted(a), counted(b)) > 0
        assert in_common(counted(a), counted(np.concatenate([b[:200], a[:100]]))) > 0
    assert told <= 1


def test_rows_of_another_law_are_no_copies_either():
    told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = rng.normal(size=(2000, 3)).round(1), (0.5 * rng.normal(size=(400, 3))).round(1)
        told += in_common(counted(a), counted(b)) > 0
    assert told <= 1


def test_a_few_categories_repeat_by_chance():
    """Rows of small whole numbers are alike without being copies."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 3, (300, 2)).astype(float), rng.integers(0, 3, (280, 2)).astype(float)
    verdict = nammd.Tolerance.at(0.05, KERNEL, n_columns=2).check(a, b)
    assert verdict.decision == "CLOSE"
    assert codes(verdict) == []


@pytest.mark.parametrize("tolerance", [LIMIT, ESTIMATED], ids=["given", "estimated"])
def test_one_row_repeated_on_both_sides_has_no_p_value_of_rounding(tolerance):
    constant, other = np.ones((50, 2)) * 0.3, np.ones((60, 2)) * 0.3
    verdict = tolerance.check(constant, other)
    assert verdict.decision == "UNDECIDED"
    assert math.isnan(verdict.pvalue_close)
    assert math.isnan(verdict.pvalue_far)


@pytest.mark.parametrize("tolerance", [LIMIT, ESTIMATED], ids=["given", "estimated"])
def test_a_constant_candidate_far_from_data_is_far(tolerance):
    assert tolerance.check(X, np.full((60, 2), 5.0)).decision == "FAR"


def test_rounding_does_not_decide_between_equal_pairs():
    found = nammd.compare_pairs((X, Y), (X, Y[::-1]), kernel=KERNEL)
    assert abs(found.difference) < 1e-15
    assert not found.pvalue < 0.05
    low, high = found.confidence_interval()
    assert low <= 0 <= high


def test_keys_are_of_values_and_not_of_places():
    points = RNG.normal(size=(500, 4))
    keys = row_keys(points)
    assert len(np.unique(keys)) == 500
    assert (row_keys(points[::-1]) == keys[::-1]).all()
    assert (row_keys(points.astype("float32")) == row_keys(points.astype("float32").astype(float))).all()
    assert row_keys(np.array([[0.0]])) == row_keys(np.array([[-0.0]]))
    swapped = row_keys(points[:, ::-1])
    assert not np.isin(swapped, keys).any()


def test_whole_numbers_have_keys_of_their_own():
    """Their bits differ in few places, all at one end."""
    grid = np.stack(np.meshgrid(np.arange(60.0), np.arange(60.0), np.arange(20.0)), -1).reshape(-1, 3)
    assert len(np.unique(row_keys(grid))) == len(grid)


def test_copies_are_counted_only_where_they_are_no_chance():
    def counts(keys):
        return KeyCounts.of(np.sort(np.asarray(keys, dtype=np.uint64)))

    assert counts(np.repeat(np.arange(30), 3)).copies == 3
    assert counts(np.repeat(np.arange(5), 3)).copies == 1
    assert counts([*np.repeat(np.arange(30), 2), 7]).copies == 1
    assert in_common(counts(np.arange(50)), counts(np.arange(40, 100))) == 10
    assert in_common(counts(np.arange(40, 100)), counts(np.arange(50))) == 10
    assert in_common(counts(np.zeros(50)), counts(np.zeros(50))) == 0
    assert counts(np.zeros(500)).may_be_chance
    assert counts([3, 1, 3]).among(counts([3, 3, 3, 9])).tolist() == [0, 3]
