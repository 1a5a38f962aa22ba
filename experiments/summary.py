"""Means and rates with their standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


def mean(values: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Return the mean of some values, its standard error, and their number."""
    array = np.asarray(values, dtype=float)
    spread = float(array.std(ddof=1)) if len(array) > 1 else math.nan
    return {"mean": float(array.mean()), "se": spread / math.sqrt(len(array)), "n": len(array)}


def rate(hits: Sequence[bool] | np.ndarray) -> dict[str, float]:
    """Return the share of hits, its standard error, and the number of tries."""
    return rate_of(int(np.count_nonzero(hits)), len(hits))


def rate_of(hits: int, tries: int) -> dict[str, float]:
    """Return a share from counts; at 0 and 1 the error is that of half a hit, not zero."""
    share = hits / tries
    inner = min(max(share, 0.5 / tries), 1 - 0.5 / tries)
    return {"mean": share, "se": math.sqrt(inner * (1 - inner) / tries), "n": tries}


def pooled_rate(parts: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Join the rates of chunks of repetitions."""
    rates = list(parts)
    return rate_of(round(sum(r["mean"] * r["n"] for r in rates)), sum(r["n"] for r in rates))


def pooled_mean(parts: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Join the means of chunks of repetitions."""
    means = [m for m in parts if m["n"] > 0]
    n = sum(m["n"] for m in means)
    centre = sum(m["mean"] * m["n"] for m in means) / n
    squares = sum(
        error_of(m) ** 2 * m["n"] * (m["n"] - 1) + m["n"] * (m["mean"] - centre) ** 2 for m in means
    )
    return {"mean": centre, "se": math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan, "n": n}


def joined(rates: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Join the rates of runs on different pairs: the error counts how much the pairs matter."""
    found = list(rates)
    pooled = pooled_rate(found)
    return pooled | {"se": max(pooled["se"], _between(found))}


def joined_mean(means: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Join the means of runs on different pairs: the error counts how much the pairs matter."""
    found = list(means)
    pooled = pooled_mean(found)
    return pooled | {"se": max(error_of(pooled), _between(found))}


def _between(runs: list[Mapping[str, Any]]) -> float:
    """Return the standard error of the mean of runs, from how they differ."""
    return mean([run["mean"] for run in runs])["se"] if len(runs) > 1 else 0.0


def shown(figure: Mapping[str, Any], digits: int = 3) -> str:
    """Return a mean with its standard error as text."""
    return f"{figure['mean']:.{digits}f} ± {error_of(figure):.{digits}f}"


def error_of(figure: Mapping[str, Any]) -> float:
    """Return the standard error of a figure; 0 where a single value has none."""
    error = figure["se"]
    return 0.0 if error is None or math.isnan(error) else float(error)


def counted(number: int, what: str, plural: str = "") -> str:
    """Return a number with its noun."""
    return f"{number} {what if number == 1 else plural or what + 's'}"
