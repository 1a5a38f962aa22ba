"""A year of days made by formulas: the orders of a shop, with a season, a slow drift and a broken week."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHANNELS = ("web", "app", "phone")
_REGIONS = ("north", "east", "south", "west")


def orders(
    day: datetime.date | str = "2026-01-01",
    rows: int = 200,
    *,
    rng: Any = None,
    drift: float = 0.0,
    cents: bool = False,
) -> dict[str, NDArray[Any]]:
    """Make the orders of a day: a mixed table with numbers, categories and missing values.

    Days differ a little by themselves: people spend more towards the end of the year.

    Parameters
    ----------
    day : date or str
        The day; it sets the season.
    rows : int
        The number of orders.
    rng : int, numpy.random.Generator or None
        Generator; by default it depends on the day alone, so that every day is reproducible.
    drift : float
        How far prices have risen: by a factor of ``exp(drift)``.
    cents : bool
        A fault to plant: a share of the amounts comes in cents.

    Returns
    -------
    dict of str to array
        A column per key: pass it to ``pandas.DataFrame``, ``polars.DataFrame`` or ``pyarrow.table``.

    Examples
    --------
    >>> from nammd.datasets import orders
    >>> sorted(orders("2026-03-01", rows=5))
    ['amount', 'channel', 'days', 'items', 'region']
    """
    when = datetime.date.fromisoformat(str(day))
    if rows < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    generator = np.random.default_rng([when.toordinal()] if rng is None else rng)
    season = 0.45 * np.cos(2 * np.pi * (when.timetuple().tm_yday - 350) / 365)
    items = 1 + generator.poisson(1.6, rows)
    amount = items * np.exp(generator.normal(2.9 + season + drift, 0.45, rows))
    if cents:
        amount = np.where(generator.random(rows) < 0.5, amount * 100, amount)
    channel = generator.choice(np.array(_CHANNELS, dtype=object), rows, p=[0.6, 0.3, 0.1])
    delivery = 1 + generator.poisson(2.5, rows).astype(float)
    delivery[generator.random(rows) < 0.05] = np.nan
    region = generator.choice(np.array(_REGIONS, dtype=object), rows, p=[0.3, 0.2, 0.27, 0.23])
    return {
        "amount": np.round(amount, 2),
        "items": items,
        "channel": channel,
        "days": delivery,
        "region": region,
    }
