"""Means and rates, whole and from chunks."""

import math

import numpy as np
import pytest
from experiments.summary import counted, mean, pooled_mean, pooled_rate, rate, shown


def test_chunks_of_a_mean_join_to_the_whole():
    values = np.random.default_rng(0).normal(size=100)
    joined, whole = pooled_mean([mean(values[:30]), mean(values[30:31]), mean(values[31:])]), mean(values)
    assert joined == pytest.approx(whole)
    assert whole["se"] == pytest.approx(values.std(ddof=1) / 10)


def test_chunks_of_a_rate_join_to_the_whole():
    hits = np.random.default_rng(0).random(200) < 0.1
    assert pooled_rate([rate(hits[:50]), rate(hits[50:])]) == rate(hits)
    assert rate(hits)["se"] == pytest.approx(math.sqrt(hits.mean() * (1 - hits.mean()) / 200))


def test_a_rate_of_one_is_not_certain():
    assert rate([True] * 100)["se"] == pytest.approx(0.00705, abs=1e-5)


def test_text():
    assert shown({"mean": 0.5, "se": 0.01}) == "0.500 ± 0.010"
    assert (counted(1, "cell"), counted(2, "cell")) == ("1 cell", "2 cells")
