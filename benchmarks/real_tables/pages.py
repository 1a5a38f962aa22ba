"""The tables of the documentation on real tables, from the result file alone."""

from __future__ import annotations

from typing import Any

from benchmarks.real_tables.batches import LIKE
from benchmarks.real_tables.scoring import OF_SIZE
from benchmarks.real_tables.sources import SOURCES

_PREFIX = "real tables, "
_WORDS = ("CLOSE", "UNDECIDED", "FAR")


def pages(stored: dict[str, Any]) -> dict[str, tuple[list[str], list[list[str]]]]:
    """Return the head and the rows of every table by the name of its file."""
    found = _details(stored)
    return {
        "real-tables.md": overview(found),
        "real-tables-sizes.md": by_size(found["nammd"]),
        "real-tables-kinds.md": by_kind(found),
        "real-tables-each.md": by_table(found["nammd"]),
        "real-tables-cautions.md": by_caution(found["nammd"]),
    }


def _details(stored: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return by detector the details of its first figure, and all its figures by name."""
    found: dict[str, dict[str, Any]] = {}
    for one in stored["measurements"]:
        name, _, what = one["what"].removeprefix(_PREFIX).partition(": ")
        if one["what"].startswith(_PREFIX) and one["value"] is not None:
            found.setdefault(name, {"figures": {}, **one["details"]})["figures"][what] = one["value"]
    return found


def overview(found: dict[str, dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return one row for every detector."""
    columns = (
        "false alarms, like the reference",
        "false alarms, like the accepted data",
        "faults found, like the reference",
        "faults found, like the accepted data",
        "right column named, of faults found",
        "right column named, of all faults",
    )
    rows = []
    for name, details in found.items():
        figures = details["figures"]
        told = [_percent(figures.get(what)) for what in columns]
        rows.append([name, *told, f"{figures['a check, median']:.2g}"])
    return ["", *columns, "seconds a check"], rows


def by_size(details: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return what nammd says of batches, good ones and those with a fault, by size."""
    head = ["batches", "like the", "rows", "number", *_WORDS]
    rows = []
    for what, words in (("good", "good"), ("faulty", "with a fault")):
        for like, sizes in details[what].items():
            for size, shares in sizes.items():
                told = [_percent(100 * shares[word]) for word in _WORDS]
                rows.append([words, like, f"{int(size):,}", str(shares["batches"]), *told])
    return head, rows


def by_kind(found: dict[str, dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return how often every kind of fault is found.

    Of peers only in batches like the reference: where the good ones are called FAR already, nothing is found.
    """
    peers = [name for name in found if name != "nammd"]
    head = ["fault", "batches", "nammd, like the reference", "nammd, like the accepted data", "right column"]
    rows = []
    for kind, parts in found["nammd"]["kinds"].items():
        batches = str(sum(part["batches"] for part in parts.values()))
        both = [_together([parts[like]], "FAR") if like in parts else "" for like in LIKE]
        others = [_together([found[name]["kinds"][kind]["reference"]], "FAR") for name in peers]
        rows.append([kind, batches, *both, _together(list(parts.values()), "right column"), *others])
    return [*head, *(f"{name}, like the reference" for name in peers)], rows


def by_table(details: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return what nammd says of every table."""
    head = [
        "table",
        "reference; accepted data",
        "package",
        "false alarms",
        "good batches UNDECIDED",
        "faults found",
        "seconds a check",
    ]
    rows = []
    for source in SOURCES:
        if source.name in details["tables"]:
            table = details["tables"][source.name]
            good = [table["reference"], table["accepted"]]
            rows.append(
                [
                    source.name,
                    source.told,
                    source.package,
                    _together(good, "FAR"),
                    _together(good, "UNDECIDED"),
                    _percent(100 * table["faulty"]["FAR"]),
                    f"{table['seconds']:.2g}",
                ]
            )
    return head, rows


def by_caution(details: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return how often each caution about the data was given."""
    rates = details["cautions"]
    codes = sorted({*rates["good"], *rates["faulty"]} - OF_SIZE)
    told = [[_percent(100 * rates[kind].get(code, 0.0)) for kind in ("good", "faulty")] for code in codes]
    rows = [[f"`{code}`", *each] for code, each in zip(codes, told, strict=True)]
    return ["caution", "of good batches", "of batches with a fault"], rows


def _together(parts: list[dict[str, float]], word: str) -> str:
    """Return one share for several parts."""
    batches = sum(part["batches"] for part in parts)
    return _percent(100 * sum(part[word] * part["batches"] for part in parts) / batches)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.1f} %"
