"""What all checks of a test run came to: a line for the terminal, and an index of the reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nammd.report import write_page
from nammd.results import Cell, Page, Table, Tone, Track, interval, number, share

WORST_FIRST = ("ERROR", "FAR", "UNDECIDED", "CLOSE")
TONES: dict[str, Tone] = {"ERROR": "far", "FAR": "far", "UNDECIDED": "undecided", "CLOSE": "close"}


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say how many checks there were of each kind, the worst first."""
    found = Counter(row["decision"] for row in rows)
    told = ", ".join(f"{found[word]} {word}" for word in WORST_FIRST if found[word])
    return f"{len(rows)} {'check' if len(rows) == 1 else 'checks'} of datasets: {told}"


def write(collected: Mapping[str, Sequence[Mapping[str, Any]]], folder: Path) -> Path:
    """Write the index of a test run."""
    rows = [(test, row) for test, rows in collected.items() for row in rows]
    worst = min((row["decision"] for _, row in rows), key=WORST_FIRST.index)
    page = Page(
        title="Are the datasets of these tests close enough?",
        sentence=f"{summary([row for _, row in rows])}.",
        word=worst,
        tone=TONES[worst],
        tables=(
            Table(
                "The checks",
                ("candidate", "verdict", "of the tolerance", "distance, 95 % interval", "why", "test"),
                tuple(_cells(test, row) for test, row in rows),
                "Dot: the distance as a share of its tolerance, the dashed line. Bar: its 95 % interval.",
            ),
        ),
    )
    folder.mkdir(parents=True, exist_ok=True)
    return write_page(page, folder / "index.html")


def _cells(test: str, row: Mapping[str, Any]) -> tuple[Cell, ...]:
    name = Cell(row["candidate"], link=row.get("report", ""))
    word = Cell(row["decision"], tone=TONES[row["decision"]])
    if row.get("distance") is None:
        return name, word, Cell(), Cell(), Cell(row["reason"]), Cell(test)
    limit, value, ends = row["epsilon"], row["distance"], row["interval"]
    told = f"{number(value)}, {interval(ends)}"
    # In units of the tolerance, since tests may have different ones.
    track = Track(value / limit, ends[0] / limit, ends[1] / limit, 1.0)
    return name, word, Cell(share(value, limit)), Cell(told, track=track), Cell(row["reason"]), Cell(test)
