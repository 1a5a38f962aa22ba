"""The error rate over many candidates: by simulation, with every candidate exactly at the tolerance.

There every FAR is wrong, and every CLOSE too, so that any one of them counts. The candidates share the
reference, and so they depend on each other.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binom

import nammd
from nammd.tolerances.gate import Gate
from tests.simulate import only_decisions

ALPHA = 0.05
CANDIDATES = 12
ROWS = 60
REPETITIONS = 30
MOST = float(binom.isf(1e-3, REPETITIONS, ALPHA)) / REPETITIONS
"""More would be seen in one of a thousand runs, were the rate ALPHA."""


def _law(shift: float, bandwidth: float = 1.5) -> float:
    """Return the NAMMD of two normal laws that differ in their means, under a Gaussian kernel."""
    own = math.sqrt(bandwidth**2 / (bandwidth**2 + 2.0))
    across = own * math.exp(-(shift**2) / (2.0 * (bandwidth**2 + 2.0)))
    return (2 * own - 2 * across) / (4.0 - 2 * own)


@lru_cache(maxsize=1)
def _words() -> tuple[list[set[str]], list[set[str]]]:
    """Return the words of each run, without and with the adjustment."""
    shift = 2.0
    tolerance = nammd.Tolerance.at(_law(shift), nammd.Gaussian(1.5), n_columns=1)
    plain, adjusted = [], []
    with only_decisions():
        for run in range(REPETITIONS):
            rng = np.random.default_rng([7, run])
            gate = tolerance.with_reference(rng.normal(size=(4 * ROWS, 1)))
            weeks = {str(k): rng.normal(shift, 1.0, (ROWS, 1)) for k in range(CANDIDATES)}
            checked: dict[int, Any] = {}
            with patch.object(Gate, "check", partial(_once, checked, gate)):
                for found, adjust in ((plain, "none"), (adjusted, "holm")):
                    verdicts = gate.check_all(weeks, ALPHA, adjust=adjust, joint_only=True)  # type: ignore[arg-type]
                    found.append({entry.word for entry in verdicts})
            assert len(checked) == CANDIDATES
    return plain, adjusted


_check = Gate.check


def _once(known: dict[int, Any], gate: Gate, candidate: Any, *options: Any, **more: Any) -> Any:
    """Check a candidate, or say what is known of it: the two adjustments start from the same verdicts."""
    if id(candidate) not in known:
        known[id(candidate)] = _check(gate, candidate, *options, **more)
    return known[id(candidate)]


def _share(runs: list[set[str]], word: str) -> float:
    return float(np.mean([word in words for words in runs]))


@pytest.mark.parametrize("word", ["FAR", "CLOSE"])
def test_holm_keeps_the_chance_of_any_wrong_claim(word: str) -> None:
    plain, adjusted = _words()
    assert _share(adjusted, word) <= MOST
    assert _share(plain, word) > MOST  # so the bound tells one from the other


def test_the_law_is_what_the_data_say() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4000, 1)), rng.normal(2.0, 1.0, (4000, 1))
    found = nammd.distance(x, y, kernel=nammd.Gaussian(1.5))
    assert abs(found.value - _law(2.0)) < 3 * found.standard_error
