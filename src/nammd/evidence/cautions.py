"""Where an estimate is known to be less sure than it says: few rows, few frequencies."""

from __future__ import annotations

from nammd.data.advice import Caution
from nammd.statistics.spread import Spread

FEW_ROWS = 20
"""Below this the tests and intervals are known not to hold their level exactly."""

FEW_SKETCHED_ROWS = 500
"""Below this the skewness that sketches do not know was seen to matter: up to .074 at .05 with 200 rows."""

FEW_FREQUENCIES = 15
"""Below this a distance under the exact kernel rests on too few frequencies. At level .05 "closer" was
wrongly proven, and without this caution, in at most .06 of all draws (benchmarks/sketch_level.py)."""


def few_rows(m: int, n: int) -> tuple[Caution, ...]:
    """Return a caution where a sample is too small for the tests to hold their level."""
    if min(m, n) >= FEW_ROWS:
        return ()
    return (
        Caution(
            "few-rows",
            f"with fewer than {FEW_ROWS} rows on a side ({m} and {n} here) the error rates of "
            "tests and intervals are only approximate",
        ),
    )


def few_sketched_rows(m: int, n: int) -> tuple[Caution, ...]:
    """Return a caution where the skewness that sketches do not know could matter."""
    if min(m, n) >= FEW_SKETCHED_ROWS:
        return ()
    return (
        Caution(
            "sketch-skewness",
            f"with fewer than {FEW_SKETCHED_ROWS} rows on a side ({m} and {n} here) tests need the third "
            "moment of the rows, which sketches do not keep: error rates are only approximate",
        ),
    )


def few_frequencies(spread: Spread | None, features: int) -> tuple[Caution, ...]:
    """Return a caution where so few frequencies carry a distance that others may have been missed."""
    if spread is None or spread.carriers >= FEW_FREQUENCIES:
        return ()
    few, all_of_them = max(round(spread.carriers), 1), features // 2
    return (
        Caution(
            "few-frequencies",
            f"about {few} of the {all_of_them} random frequencies carry this distance, so it may be larger "
            "under the exact kernel than they tell, and a proof that it is small may be wrong; take more "
            "features, or an epsilon from the same features",
        ),
    )
