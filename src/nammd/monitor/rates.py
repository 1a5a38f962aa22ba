"""How many false alarms are acceptable, in words and as levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from nammd.errors.checks import between, choice, positive
from nammd.statistics.levels import Budget, Discoveries, Ever

RateName: TypeAlias = Literal["budget", "ever", "discoveries"]

A_YEAR: Mapping[str, float] = {"hour": 8760.0, "day": 365.0, "week": 52.0, "month": 12.0, "year": 1.0}
"""How often these are in a year."""

SMALLEST = 1e-100
"""Levels below this one are beyond what p-values can be."""

_RATE = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?|\.\d+)\s*(?:/|per|an?)\s*(?P<period>[a-z]+)\s*")


@dataclass(frozen=True)
class Spending:
    """What may go wrong in a stream, and how often its batches come.

    Attributes
    ----------
    rate : {"budget", "ever", "discoveries"}
        What is bounded: false alarms for each year, the probability of ever one, or their share of all
        alarms.
    amount : float
        False alarms a year, or the bound.
    every : str
        How often batches come: ``"hour"``, ``"day"``, ``"week"``, ``"month"``, or a number of them a year.
    """

    rate: RateName
    amount: float
    every: str

    @classmethod
    def of(cls, false_alarms: str | float, every: str | float, rate: RateName, alpha: float) -> Spending:
        """Read what somebody asked for.

        >>> Spending.of("1/year", "day", "budget", 0.05).sentence()
        'at most 1 false alarm a year is expected (level 0.00274 for each batch)'
        """
        choice(rate, "rate", get_args(RateName))
        amount = per_year(false_alarms) if rate == "budget" else between(alpha, "alpha")
        found = cls(rate, amount, _every(every))
        if found.levels.level < SMALLEST:
            raise ValueError(
                f"a level below {SMALLEST:g} for each batch is never reached; allow more false alarms"
            )
        if found.levels.line <= 2:
            raise ValueError(
                f"{false_alarms} with a batch every {every} is a level of {1 / found.levels.line:.2g} for "
                "each batch, and it must be below 0.5; allow fewer false alarms"
            )
        return found

    @property
    def batches_a_year(self) -> float:
        """How many batches come in a year."""
        return A_YEAR[self.every] if self.every in A_YEAR else float(self.every)

    @property
    def levels(self) -> Budget | Ever:
        """The levels of the tests."""
        if self.rate == "budget":
            return Budget(self.amount / self.batches_a_year)
        return Ever(self.amount) if self.rate == "ever" else Discoveries(self.amount)

    def sentence(self) -> str:
        """Return it in words."""
        if self.rate == "budget":
            alarms = "false alarm" if self.amount == 1 else "false alarms"
            level = 1 / self.levels.line
            return f"at most {self.amount:g} {alarms} a year is expected (level {level:.3g} for each batch)"
        if self.rate == "ever":
            return f"the probability that there is ever a false alarm is at most {self.amount:g}"
        return f"of all alarms at most {self.amount:.0%} are expected to be false"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"rate": self.rate, "amount": self.amount, "every": self.every}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Spending:
        """Return what plain values describe, if it can be."""
        amount = stored["amount"]
        return cls.of(amount, stored["every"], stored["rate"], amount)


def per_year(text: str | float) -> float:
    """Return false alarms a year; a number is one a year.

    >>> per_year("1/year"), per_year("2 per month"), per_year(0.5)
    (1.0, 24.0, 0.5)
    """
    if not isinstance(text, str):
        return positive(text, "false_alarms")
    found = _RATE.fullmatch(text.lower())
    period = found["period"].removesuffix("s") if found else ""
    if found is None or period not in A_YEAR:
        raise ValueError(f"false alarms are given as 1/year or 2/month, not as {text[:40]!r}")
    return positive(float(found["number"]) * A_YEAR[period], "false alarms")


def _every(value: str | float) -> str:
    if isinstance(value, str) and value.strip().lower() in A_YEAR:
        return value.strip().lower()
    try:
        return f"{positive(float(value), 'every'):g}"
    except (TypeError, ValueError):
        names = ", ".join(A_YEAR)
        raise ValueError(
            f"every must be one of {names}, or a number of batches a year, not {value!r}"
        ) from None
