"""Results to report on, made once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import nammd
from nammd.report import ReportModel, build
from nammd.tolerances.tolerance import Tolerance
from nammd.tolerances.verdict import Verdict

SCRIPT = "<script>alert(1)</script>"
MARKUP = "<img src=x onerror=alert(2)> & \"quoted\" 'text' $x^2$ naïve 日本語 🙂"
LONG = "an_identifier_without_any_space_" * 6


def people(rows: int, seed: int, income: float = 0.0, missing: float = 0.1) -> pd.DataFrame:
    """Make a mixed table with numbers, times, categories and missing values."""
    rng = np.random.default_rng(seed)
    earned = rng.normal(30_000, 5_000, rows) + income
    earned[rng.random(rows) < missing] = np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "income": earned,
            "joined": np.datetime64("2024-01-01", "s") + rng.integers(0, 10**7, rows),
            "city": rng.choice(np.array(["Ulm", "Bonn", "Jena"], dtype=object), rows, p=[0.5, 0.3, 0.2]),
            "member": rng.random(rows) < 0.4,
        }
    )


@cache
def shifted() -> Verdict:
    """A check of a mixed table in which only the income has changed."""
    x, y = people(400, 1), people(350, 2, income=4_000)
    return Tolerance.at(0.002, nammd.Gaussian(2.5), x=x).check(x, y)


@cache
def shifted_model() -> ReportModel:
    return build(shifted())


@cache
def estimate() -> nammd.Estimate:
    """Three columns of an array, the second of which is shifted."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(120, 3)), rng.normal((0.0, 1.0, 0.0), size=(90, 3))
    return nammd.distance(x, y, kernel=nammd.Gaussian(1.7))


@cache
def estimate_model() -> ReportModel:
    return build(estimate())


@cache
def hostile() -> Verdict:
    """Names and values that a page must not trust, some of them too long for a phone."""
    rng = np.random.default_rng(4)

    def table(rows: int, shift: float) -> pd.DataFrame:
        values: dict[str, Any] = {
            SCRIPT: rng.normal(shift, 1, rows),
            LONG: rng.normal(size=rows),
            "values": rng.choice(np.array([MARKUP, SCRIPT, LONG], dtype=object), rows),
            "$cost$ {{ 7 * 7 }}": rng.normal(1e9, 1e6, rows),
        }
        return pd.DataFrame(values)

    x, y = table(60, 0.0), table(50, 1.5)
    return Tolerance.at(0.01, nammd.Gaussian(2.0), x=x).check(x, y)
