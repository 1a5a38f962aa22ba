"""Seasons and long memories of series: found, told, remembered, and handled by blocks of time."""

from functools import cache
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtri

import nammd
from nammd.data.blocks_in_time import block_length, chosen_blocks
from nammd.data.memory_in_time import decay_of, period_of, ranked
from nammd.datasets import known_pair
from nammd.engines.blas import single_threaded_blas
from tests.simulate import noise, pvalue


def autoregressive(rng, rows, memory, period=1):
    """A normal series whose rows have something from the one a period before, of variance one."""
    before = 50 * period if memory < 0.9 else 500 * period
    steps = rng.normal(size=rows + before) * np.sqrt(1 - memory**2)
    for start in range(period):
        steps[start::period] = list(accumulate(steps[start::period], lambda last, step: memory * last + step))
    return steps[before:]


def fractional(rng, rows, order):
    """Fractional noise: correlations fade like a power of the lag."""
    lags = np.arange(1, 4 * rows)
    return np.convolve(rng.normal(size=8 * rows), np.r_[1, np.cumprod((lags - 1 + order) / lags)])[
        4 * rows : 5 * rows
    ]


def waves(rng, rows, period, height=1.5):
    """A season that never changes, from anywhere in it, and noise."""
    time = np.arange(rows) / period + rng.random()
    return height * np.sin(2 * np.pi * time) + autoregressive(rng, rows, 0.3)


@pytest.mark.parametrize("period", [7, 12, 24])
def test_the_period_is_found(period):
    rng = np.random.default_rng(period)
    for draw in (waves, lambda rng, rows, period: autoregressive(rng, rows, 0.6, period)):
        found = [chosen_blocks([draw(rng, 600, period)]) for _ in range(20)]
        assert np.mean([each.period == period for each in found]) >= 0.9
        assert all(each.length % each.period == 0 for each in found if each.period)


@cache
def plain_series(memory, rows):
    """Sixty series without a season, and the blocks that are chosen for them."""
    rng = np.random.default_rng(rows)
    series = [autoregressive(rng, rows, memory) for _ in range(60)]
    return series, [chosen_blocks([each]) for each in series]


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.7, 0.95])
@pytest.mark.parametrize("rows", [200, 1000])
def test_none_is_found_where_there_is_none(memory, rows):
    _, chosen = plain_series(memory, rows)
    assert np.count_nonzero([each.period for each in chosen]) <= 3


def test_and_of_several_columns_that_of_the_one_that_has_it():
    rng = np.random.default_rng(0)
    columns = [autoregressive(rng, 400, 0.3), waves(rng, 400, 7), np.zeros(400)]
    assert period_of([ranked(column) for column in columns[:2]], 50) == 7
    assert chosen_blocks(columns).period == 7


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("rows", [200, 1000])
def test_nothing_changes_for_a_plain_memory(memory, rows):
    series, chosen = plain_series(memory, rows)
    assert np.mean([c.length == block_length([x]) for c, x in zip(chosen, series, strict=True)]) >= 0.88
    assert np.mean([each.too_long for each in chosen]) <= 0.06


def test_a_power_of_the_lag_is_told_from_a_power_of_the_correlation():
    rng = np.random.default_rng(0)
    slow = [decay_of(ranked(fractional(rng, 600, 0.3))) for _ in range(20)]
    assert np.mean([each.power for each in slow]) == pytest.approx(0.3, abs=0.06)
    assert np.mean([each.evidence > 4 for each in slow]) >= 0.85
    fast = [decay_of(ranked(autoregressive(rng, 600, 0.8))) for _ in range(20)]
    assert np.mean([each.correlation for each in fast]) == pytest.approx(0.8, abs=0.05)
    assert np.mean([each.evidence > 4 for each in fast]) <= 0.1


@cache
def many_waves():
    rng = np.random.default_rng(1)
    return np.sort(1.5 * np.sin(2 * np.pi * rng.random(100_000)) + rng.normal(size=100_000))


def normal_waves(rng):
    """Waves that were brought to a normal law; theirs is that of many of them."""
    many = many_waves()
    return ndtri((np.searchsorted(many, waves(rng, 200, 12)) + 0.5) / (len(many) + 1))


SEASONS = {
    "alike from one to the next, of 12 rows": lambda rng: autoregressive(rng, 200, 0.5, 12),
    "alike from one to the next, of 7 rows": lambda rng: autoregressive(rng, 200, 0.7, 7),
    "always the same": normal_waves,
}


@pytest.mark.parametrize("season", SEASONS)
def test_tests_hold_their_level_with_a_season(season):
    """With blocks by the memory from row to row alone the first two have levels of .13 to .2."""
    pair, rng, found = known_pair("shifted normal", 0.05), np.random.default_rng(0), []
    shift, repetitions = np.array(pair.q.means) - np.array(pair.p.means), 140
    with single_threaded_blas:
        for _ in range(repetitions):
            x, y = (SEASONS[season](rng)[:, None] + move for move in (0.0, shift))
            how = {"kernel": pair.kernel, "engine": nammd.Tiles(threads=1)}
            both = nammd.distance(x.astype("f4"), y.astype("f4"), groups=nammd.TimeBlocks(), **how).pair
            found.append([pvalue(both, 0.05, side) <= 0.05 for side in ("greater", "less")])
    assert np.mean(found, axis=0).max() <= 0.05 + 2.6 * noise(0.05, repetitions)


def table(values):
    return pa.table({"a": values, "when": np.arange(len(values))})


def test_a_period_can_be_told():
    rng = np.random.default_rng(0)
    x, y = (autoregressive(rng, 300, 0.2) for _ in range(2))
    found = nammd.distance(x, y, groups=nammd.TimeBlocks(period=10))
    assert found.to_dict()["groups"]["periods"] == [10, 10]
    assert {length % 10 for length in found.to_dict()["groups"]["block_lengths"]} == {0}
    assert "whole seasons of 10 rows" in str(found)
    plain = nammd.distance(x, y, groups=nammd.TimeBlocks())
    assert plain.to_dict()["groups"]["periods"] == [None, None]
    assert "season" not in str(plain)


def test_a_season_of_one_dataset_alone_is_said():
    rng = np.random.default_rng(0)
    found = nammd.distance(waves(rng, 400, 12), autoregressive(rng, 400, 0.3), groups=nammd.TimeBlocks())
    assert "whole seasons of 12 rows and no season" in str(found)


def test_what_is_told_wrongly():
    with pytest.raises(ValueError, match="period must be a whole number of at least 2, not 1"):
        nammd.TimeBlocks(period=1)
    with pytest.raises(ValueError, match="a length or a period, by which their length is chosen; give one"):
        nammd.TimeBlocks(length=24, period=12)
    with pytest.raises(ValueError, match=r"the 100 rows of x are 3 seasons of 30; at least 4 are needed$"):
        nammd.distance(np.arange(100.0), np.arange(100.0), groups=nammd.TimeBlocks(period=30))


def test_a_tolerance_remembers_the_period(tmp_path):
    rng = np.random.default_rng(0)
    x, accepted, later = (table(waves(rng, 240, 12) + shift) for shift in (0.0, 1.0, 0.0))
    made = nammd.Tolerance.from_reference(x, accepted, groups=nammd.TimeBlocks("when", period=12))
    assert "chosen from the data in whole seasons of 12 rows, in order by when" in str(made)
    made.save(tmp_path / "tolerance.json")
    tolerance = nammd.Tolerance.load(tmp_path / "tolerance.json")
    assert tolerance.grouping_spec == made.grouping_spec
    assert tolerance.grouping_spec.period == 12
    assert "whole seasons of 12 rows" in str(tolerance.check(x, later))
    with pytest.raises(ValueError, match=r"made with groups by .*period=12.*, not by .*period=7"):
        tolerance.check(x, later, groups=nammd.TimeBlocks("when", period=7))


def codes(result):
    return [caution.code for caution in result.cautions]


def test_a_memory_that_is_too_long_is_told_of():
    rng = np.random.default_rng(0)
    long, short = fractional(rng, 600, 0.4), autoregressive(rng, 600, 0.3)
    found = nammd.distance(short, long, groups=nammd.TimeBlocks())
    assert found.to_dict()["groups"]["block_lengths"][1] == 75
    assert "long-memory" in codes(found)
    [caution] = [each for each in found.cautions if each.code == "long-memory"]
    assert str(caution).startswith("rows of y depend on rows so long before them")
    walk = nammd.distance(short, np.cumsum(rng.normal(size=600)), groups=nammd.TimeBlocks())
    assert "long-memory" in codes(walk)
    seasons = autoregressive(rng, 200, 0.9, 20)  # ten seasons, each much like the one before
    assert "long-memory" in codes(nammd.distance(short, seasons, groups=nammd.TimeBlocks(period=20)))
    assert codes(nammd.distance(short, autoregressive(rng, 600, 0.3), groups=nammd.TimeBlocks())) == []
    assert "long-memory" not in codes(nammd.distance(short, long, groups=nammd.TimeBlocks(length=20)))


def test_and_of_accepted_data_in_a_file_too(tmp_path):
    rng = np.random.default_rng(0)
    x, accepted = table(autoregressive(rng, 300, 0.3)), table(fractional(rng, 300, 0.45) + 1)
    made = nammd.Tolerance.from_reference(x, accepted, groups=nammd.TimeBlocks("when"), anyway=True)
    made.save(tmp_path / "tolerance.json")
    [kept] = nammd.Tolerance.load(tmp_path / "tolerance.json").accepted.datasets
    assert kept.units.too_long
    assert kept.units.length == 37


@pytest.mark.parametrize("rows", [3, 20, 60])
def test_few_rows_and_columns_without_any_variation(rows):
    rng = np.random.default_rng(0)
    assert chosen_blocks([np.zeros(rows)]) == (1, 0, False)
    assert chosen_blocks([rng.normal(size=rows), np.zeros(rows)]).length <= max(rows // 8, 1)
    assert decay_of(np.zeros(rows)).evidence == 0
