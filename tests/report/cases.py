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


@cache
def crowded() -> Verdict:
    """Long names of columns and categories, large and tiny numbers, and times: what is wide on a page."""
    rng = np.random.default_rng(5)
    kinds = np.array(
        [
            "Commercial and industrial real-estate development loans (secured, floating rate)",
            "Verkehrsinfrastrukturfinanzierungsgesellschaft",
            "other",
        ],
        dtype=object,
    )

    def table(rows: int, shift: float) -> pd.DataFrame:
        times = np.datetime64("2026-01-01", "s") + rng.integers(0, 10**7, rows)
        return pd.DataFrame(
            {
                "turnover_of_the_last_twelve_months_in_minor_units": rng.lognormal(21 + shift, 2, rows),
                "last_contact_with_the_customer_service_department_at": times,
                "balance": rng.normal(-1e9, 4e11, rows),
                "tiny_rate": rng.normal(3.4e-7 + shift * 1e-8, 1e-8, rows),
                "contract_type": rng.choice(kinds, rows, p=[0.5 - shift / 4, 0.2, 0.3 + shift / 4]),
                "region": rng.choice(np.array(["Baden-Württemberg", "Bayern"], dtype=object), rows),
            }
        )

    reference = table(250, 0.0)
    return Tolerance.from_reference(reference, table(250, 0.0)).check(reference, table(220, 1.0))


@cache
def vectors() -> Verdict:
    """A column of vectors beside a column of numbers."""
    rng = np.random.default_rng(6)

    def table(rows: int, shift: float) -> pd.DataFrame:
        return pd.DataFrame(
            {"embedding": list(rng.normal(shift, 1, (rows, 8))), "score": rng.random(rows)},
        )

    reference = table(80, 0.0)
    return Tolerance.at(0.01, nammd.Gaussian(4.0), x=reference).check(reference, table(70, 0.6))


@cache
def households() -> nammd.ClosenessResult:
    """Rows that belong together."""

    def table(rows: int, seed: int) -> pd.DataFrame:
        return people(rows, seed).assign(household=[f"household-{seed}-{k // 4:05d}" for k in range(rows)])

    return nammd.closeness_test(table(120, 7), table(100, 8), 0.01, alternative="less", groups="household")
