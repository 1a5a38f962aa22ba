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
        "missing (shares of rows), by default 'shift=0.1,categories=0.01,missing=0.01'; of one column with "
        "its name, as in 'income:missing=0.05'. 'none': columns have no tolerances of their own.",
        rich_help_panel=_COLUMNS,
    ),
]

JointOnly = Annotated[
    bool,
    typer.Option(
        "--joint-only",
        help="Leave single columns out of the verdict; they still explain it.",
        rich_help_panel=_COLUMNS,
    ),
]

FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="FACT,...",
        help="Facts that make a check fail with exit code 1, whatever the distance: new-categories, "
        "missing-values, placeholders, constant-changed, type-changed, ranges-apart, factor, repeated-rows, "
        "rows-in-reference, same-data, empty-group.",
        rich_help_panel=_COLUMNS,
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


def facts(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Read the names of facts."""
    from nammd.explaining.facts import known_facts

    return known_facts(names(texts, "--fail-on") or ())
