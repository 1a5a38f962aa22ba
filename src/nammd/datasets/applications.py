"""A mixed table made by formulas: monthly credit applications."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.errors.checks import choice, whole

_PURPOSES = ("car", "kitchen", "furniture", "holiday", "education", "wedding")
_REGIONS = ("north", "east", "south", "west")
SHIFTS = ("income", "purpose", "missing")


def applications(
    month: int = 0,
    rows: int = 2000,
    *,
    rng: Any = None,
    shift: str | None = None,
    customers: int | None = None,
) -> dict[str, NDArray[Any]]:
    """Make a month of credit applications: a mixed table with dates, categories and missing values.

    Months differ a little by themselves: amounts follow the season, and incomes grow slowly.

    Parameters
    ----------
    month : int
        The month, counted from January 2024; it sets the dates of submission and the season.
    rows : int
        The number of applications.
    rng : int, numpy.random.Generator or None
        Generator; by default it depends on the month alone, so that every month is reproducible.
    shift : {None, "income", "purpose", "missing"}
        A fault to plant. ``"income"``: incomes are reported in another currency. ``"purpose"``: the mix
        of purposes changes and a new one appears. ``"missing"``: a form field became optional, so more
        incomes are missing; the values that are there are as before.
    customers : int, optional
        By how many customers the applications are made, each by at least one where there are enough rows:
        the column ``customer`` says which. A customer has one date of birth, region and employment, and
        nearly one income, so the rows belong together. By default every application stands for itself.

    Returns
    -------
    dict of str to array
        A column per key: pass it to ``pandas.DataFrame``, ``polars.DataFrame`` or ``pyarrow.table``.
        Missing numbers are NaN, missing categories None.

    Examples
    --------
    >>> from nammd.datasets import applications
    >>> january = applications(month=0, rows=5)
    >>> sorted(january)[:4]
    ['amount', 'application', 'born', 'employed']
    >>> len(january["income"])
    5
    """
    if shift is not None:
        choice(shift, "shift", SHIFTS)
    if rows < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    generator = np.random.default_rng([2024, month] if rng is None else rng)
    season = 0.05 * np.sin(2 * np.pi * month / 12)
    start = np.datetime64("2024-01", "M") + month
    seconds = (start + 1).astype("datetime64[s]") - start.astype("datetime64[s]")
    submitted = start.astype("datetime64[s]") + np.sort(generator.integers(0, seconds.astype(int), rows))
    years = np.clip(generator.gamma(9, 4.5, rows), 18, 90)
    born = start.astype("datetime64[D]") - (years * 365.25).astype("timedelta64[D]")
    employed = generator.random(rows) < 0.86
    earning = generator.normal(10.4 + 0.002 * month, 0.35, rows)
    customer = None if customers is None else _customers(whole(customers, "customers"), rows, month)
    if customer is not None:  # the first row of each speaks for all that stays the same
        born, employed = born[customer], employed[customer]
        earning = earning[customer] + generator.normal(0.0, 0.03, rows)
    income = np.exp(earning) * np.where(employed, 1.0, 0.5)
    amount = income * np.exp(generator.normal(-1.3 + season, 0.5, rows))
    chances = np.array([0.32, 0.2, 0.18, 0.15, 0.1, 0.05])
    purposes: tuple[str, ...] = _PURPOSES
    if shift == "purpose":
        purposes, chances = (*_PURPOSES, "heat pump"), np.array([0.2, 0.2, 0.12, 0.12, 0.1, 0.05, 0.21])
    purpose = generator.choice(np.array(purposes, dtype=object), rows, p=chances)
    region = generator.choice(np.array(_REGIONS, dtype=object), rows, p=[0.3, 0.2, 0.27, 0.23])
    region[generator.random(rows) < 0.03] = None
    if customer is not None:
        region = region[customer]
    absent = generator.random(rows) < (0.3 if shift == "missing" else 0.08)
    if shift == "income":
        income = income * 1.35
    income = np.where(absent, np.nan, np.round(income, 2))
    named = {}
    if customer is not None:
        named["customer"] = np.array([f"C{month:03d}-{k:05d}" for k in customer], dtype=object)
    return named | {
        "application": np.array([f"A{month:03d}-{k:06d}" for k in range(rows)], dtype=object),
        "submitted": submitted,
        "born": born,
        "employed": employed,
        "income": income,
        "amount": np.round(amount, -2),
        "months": generator.choice(np.array([12, 24, 36, 48, 60]), rows, p=[0.1, 0.2, 0.3, 0.25, 0.15]),
        "purpose": purpose,
        "region": region,
    }


def _customers(customers: int, rows: int, month: int) -> NDArray[np.intp]:
    """Return the customer of each row: each has one at least, and a few have many."""
    generator = np.random.default_rng([1024, month])
    share = generator.gamma(1.5, size=customers)
    more = generator.choice(customers, max(rows - customers, 0), p=share / share.sum())
    every = np.concatenate([np.arange(customers), more])[:rows]
    return generator.permutation(every)
