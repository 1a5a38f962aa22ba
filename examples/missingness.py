"""A shift that no average shows: more values are missing, and that is all.

Credit applications arrive every month: amounts, purposes, dates of birth, incomes, and gaps where somebody
left a field empty. One month the income became optional. The incomes that are given are drawn from the same
distribution as ever, so means and medians agree; but three times as many are missing. A gap is a signal of
its own to nammd, so it notices, and says which column it is.

Run it with ``python examples/missingness.py`` where nammd is installed with the extra ``app``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import nammd
from nammd.datasets import applications
from nammd.report import build

ROWS = 4000
TRAIN, ACCEPTED, TODAY = 24, 0, 25  # months, counted from January 2024


def month(number: int, shift: str | None = None) -> Any:
    """Make a month of applications, without the date of submission, which differs every month."""
    return pa.table(applications(number, ROWS, shift=shift)).drop_columns(["submitted"])


def print_averages(tables: dict[str, Any]) -> None:
    print("What averages say of the column 'income':")
    for name, table in tables.items():
        income = table["income"].to_numpy()
        middle = f"mean {np.nanmean(income):.0f}, median {np.nanmedian(income):.0f}"
        print(f"  {name:<22} {middle}")
    print("  They see nothing.\n")


def print_cause(verdict: nammd.Verdict) -> None:
    contributions = build(verdict).contributions
    print(contributions.sentence)
    for name in contributions.significant:
        shares = [
            np.isnan(table[name].to_numpy()).mean()
            for table in (verdict.details.reference, verdict.details.candidate)
        ]
        print(
            f"In {name!r}, {shares[0]:.0%} of the reference and {shares[1]:.0%} of the candidate is missing."
        )


def main() -> None:
    train = month(TRAIN)
    candidates = {"February, as usual": month(TODAY), "February, new form": month(TODAY, "missing")}
    print_averages({"January (reference)": train, **candidates})

    print("What was acceptable so far is the distance to the applications of two years ago:")
    tolerance = nammd.Tolerance.from_reference(train, month(ACCEPTED))
    print(f"  {tolerance.headline()}\n")

    gate = tolerance.with_reference(train)
    for name, candidate in candidates.items():
        verdict = gate.check(candidate)
        print(name)
        print(f"  {verdict.headline()}")
        print(f"  {verdict.advice()}\n")
        if verdict.is_far:
            print_cause(verdict)


if __name__ == "__main__":
    main()
