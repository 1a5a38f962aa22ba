"""The options about single columns, and facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from nammd.cli.options import names

_COLUMNS = "Single columns"

NegligibleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--negligible",
        metavar="SHIFT=0.1,...",
        help="What does not matter in a single column: shift (in standard deviations), categories and "
        "missing (shares of rows), relation (a change of its correlation with another column), by default "
        "'shift=0.1,categories=0.01,missing=0.01,relation=0.1'; of one column with its name, as in "
        "'income:missing=0.05'. 'none': columns have no tolerances of their own.",
        rich_help_panel=_COLUMNS,
    ),
]

JointOnly = Annotated[
    bool,
    typer.Option(
        "--joint-only",
        help="Leave single columns, and pairs of them, out of the verdict; they still explain it.",
        rich_help_panel=_COLUMNS,
    ),
]

_FACTS = "Facts"

FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="FACT,...",
        help="Facts that count however few rows they are about: new-categories, vanished-categories, "
        "missing-values, placeholders, outside-range, pile-up, precision, factor, unit-changed, "
        "type-changed, constant-changed, repeated-rows, vanished-groups; same-data, rows-in-reference, "
        "near-copies. Of one column: new-categories:city.",
        rich_help_panel=_FACTS,
    ),
]

Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="FACT,...",
        help="Facts that never count, likewise; 'all' for every one.",
        rich_help_panel=_FACTS,
    ),
]

FactShareOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fact-share",
        metavar="0.01,...",
        help="The share of rows from which on a fact counts; of one column with its name, as in 'city=0.05'.",
        rich_help_panel=_FACTS,
    ),
]


def negligible(texts: Sequence[str] | None) -> Any:
    """Read ``shift=0.2,income:missing=0.05``; True where nothing is said, False for ``none``."""
    if not texts:
        return True
    if [text.strip() for text in texts] == ["none"]:
        return False
    found: dict[str, Any] = {}
    for entry in names(texts, "--negligible") or []:
        what, _, value = entry.rpartition("=")
        column, _, change = what.rpartition(":")
        try:
            amount = float(value)
        except ValueError:
            what = ""
        if not what or not change:
            raise ValueError(
                f"--negligible takes entries such as shift=0.2 or income:missing=0.05, not {entry!r}"
            )
        (found.setdefault(column, {}) if column else found)[change] = amount
    return found


def facts(
    fail_on: Sequence[str] | None, allow: Sequence[str] | None, shares: Sequence[str] | None
) -> dict[str, Any]:
    """Read which facts count, and from which share of rows on, as `Gate.check` takes it."""
    from nammd.explaining.facts import EVERY, FactRules

    found: dict[str, float] = {}
    for entry in names(shares, "--fact-share") or []:
        column, _, value = entry.rpartition("=")
        try:
            found[column or EVERY] = float(value)
        except ValueError:
            raise ValueError(f"--fact-share takes entries such as 0.02 or city=0.05, not {entry!r}") from None
    said: dict[str, Any] = {
        "fail_on": tuple(names(fail_on, "--fail-on") or ()),
        "allow": tuple(names(allow, "--allow") or ()),
        "fact_share": found or None,
    }
    FactRules().changed(*said.values())  # refuses what is wrong before anything is read
    return said
