"""Ranking: order, intervals, and which orders are significant."""

import json

import numpy as np
import pytest

import nammd
from nammd.questions.ranking import holm


@pytest.fixture(scope="module")
def ranking():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    shifts = {"far": 1.0, "near": 0.1, "near too": 0.12, "middle": 0.5}
    return x, {name: rng.normal(s, 1, size=(250, 2)) for name, s in shifts.items()}


def test_candidates_are_ordered_by_distance(ranking):
    x, candidates = ranking
    result = nammd.rank(x, candidates)
    assert [e.name for e in result.entries][2:] == ["middle", "far"]
    kernel = nammd.Gaussian.median(x)
    for entry in result.entries:
        alone = nammd.distance(x, candidates[entry.name], kernel=kernel)
        assert entry.estimate.value == pytest.approx(alone.value, rel=1e-10)


def test_contrasts_equal_comparisons_with_a_shared_dataset(ranking):
    x, candidates = ranking
    result = nammd.rank(x, candidates, kernel=nammd.Gaussian(1.0))
    for contrast in result.contrasts:
        direct = nammd.compare_pairs(
            (x, candidates[contrast.nearer]),
            (x, candidates[contrast.farther]),
            kernel=nammd.Gaussian(1.0),
            alternative="two-sided",
        )
        assert contrast.comparison.pvalue == pytest.approx(direct.pvalue, rel=1e-9)
    orders = {(c.nearer, c.farther): c.significant for c in result.contrasts}
    assert len(orders) == 6
    close_pair = next(k for k in orders if set(k) == {"near", "near too"})
    assert not orders[close_pair]
    assert all(orders[k] for k in orders if k != close_pair)


def test_holm_matches_its_definition():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([float("nan"), 0.01]) == pytest.approx([1.0, 0.02])
    assert holm([]) == []


def test_holm_holds_the_familywise_level_among_equal_candidates():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(120):
        x = rng.normal(size=(60, 1))
        same = {str(k): rng.normal(0.8, 1, size=(60, 1)) for k in range(3)}
        hits += any(c.significant for c in nammd.rank(x, same, kernel=nammd.Gaussian(1.0)).contrasts)
    assert hits / 120 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)


def test_rankings_print_and_serialise(ranking):
    result = nammd.rank(*ranking)
    assert "orders are significant" in str(result)
    stored = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert [e["name"] for e in stored["entries"]] == [e.name for e in result.entries]


def test_bad_candidates_are_refused(ranking):
    x, candidates = ranking
    with pytest.raises(TypeError, match="mapping of names to datasets, or a list of datasets"):
        nammd.rank(x, next(iter(candidates.values())))
    for none in ({}, []):
        with pytest.raises(TypeError, match="at least one"):
            nammd.rank(x, none)
    with pytest.raises(ValueError, match="candidate 'bad'"):
        nammd.rank(x, {"bad": np.full((10, 2), np.nan)})
