"""What the tests are made of, counted: ``python -m tests.counts`` writes docs/tables/tested.md.

Every figure comes from the files that the tests read, so it changes only when they do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests import pages

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "tables" / "tested.md"


def table() -> str:
    """Return the table of figures."""
    golden = sorted((ROOT / "tests" / "golden").glob("*.json"))
    values = sum(_numbers(json.loads(path.read_text("utf-8"))) for path in golden)
    corpus = [path for path in (ROOT / "tests" / "fuzz" / "corpus").iterdir() if path.is_file()]
    rows = [
        ("Values of reference implementations", f"{_grouped(values)} numbers in {len(golden)} files"),
        ("Laws with a distance that is known exactly", str(_laws())),
        ("Hostile files that once did harm, tried again in every run", str(len(corpus))),
        ("Widths at which every page is shown in Chromium", ", ".join(f"{w} px" for w in pages.WIDTHS)),
    ]
    lines = ["| what | how many |", "|---|---|", *(f"| {what} | {count} |" for what, count in rows)]
    return "\n".join(lines) + "\n"


def _laws() -> int:
    from nammd.datasets import LAWS

    return len(LAWS)


def _numbers(value: Any) -> int:
    """Count the numbers in what a JSON file holds."""
    if isinstance(value, dict):
        return sum(map(_numbers, value.values()))
    if isinstance(value, list):
        return sum(map(_numbers, value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))


def _grouped(count: int) -> str:
    return f"{count:,}".replace(",", " ")


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
