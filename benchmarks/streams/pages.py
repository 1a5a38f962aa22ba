"""The table of the documentation on streams, from the result file alone."""

from __future__ import annotations

from typing import Any

_PREFIX = "streams, "


def overview(stored: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table: one for every tool."""
    tools: dict[str, list[dict[str, Any]]] = {}
    for one in stored["measurements"]:
        name, _, what = one["what"].removeprefix(_PREFIX).partition(": ")
        if one["what"].startswith(_PREFIX):
            tools.setdefault(name, []).append(one | {"what": what})
    rows = [
        [name, figures[0]["details"]["question"], *map(_told, figures)] for name, figures in tools.items()
    ]
    heads = [one["what"] for one in next(iter(tools.values()))]
    return ["", "an alarm says that", *heads], rows


def _told(one: dict[str, Any]) -> str:
    """Say a figure with what it is made of."""
    value, details = one["value"], one["details"]
    if value is None:
        return "not installed"
    if one["unit"] == "%":
        return f"{details['alarms']} of {details['batches']}{_by_facts(details.get('facts', 0))}"
    if "delays" not in details:
        facts = details.get("facts", {})
        return f"{value:.3g}{_by_facts(sum(facts.values()) / max(len(facts), 1))}"
    delays = [each for law in details["delays"].values() for each in law]
    never = delays.count(None)
    late = f", never in {never} of {len(delays)}" if never else ""
    return f"{'never' if 2 * never > len(delays) else f'{value:g}'}{late}"


def _by_facts(count: float) -> str:
    return f", of these {count:.3g} by facts" if count else ""
