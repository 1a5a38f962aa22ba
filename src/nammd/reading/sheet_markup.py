"""What the cells of a worksheet do not show: that they are merged, or formulas that nobody computed.

The reader of rows gives None for both, as for an empty cell, so the markup itself is looked through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nammd.errors.checks import counted

_PIECE = 1 << 20
_LONGEST = 1 << 16
"""No formula, and no mark of merged cells, is longer."""

_FORMULA = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)>\s*<(?:\w+:)?f(?:\s[^>]*?)?(?:/>|>([^<]*)</(?:\w+:)?f>)\s*"
    rb"(?:</(?:\w+:)?c>|<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</)"
)
"""A cell with a formula, and without a value."""

_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=[\"']([A-Z0-9:]+)[\"']")
_PLACE = re.compile(rb"\br=[\"']([A-Z0-9]+)[\"']")
_TEXT = re.compile(rb"\bt=[\"']str[\"']")  # a formula that gives text may well give none


def require_plain_cells(path: Path, markup: Any) -> None:
    """Refuse a sheet with merged cells, or with formulas that have no value; `markup` is read to its end."""
    empty, merged = 0, 0
    first_formula = first_merged = ""
    for text, new in _overlapping(markup):
        for found in _FORMULA.finditer(text):
            if found.end() > new and not _TEXT.search(found[1]):
                place = _PLACE.search(found[1])
                where = place[1].decode() if place else "a cell"
                first_formula = first_formula or f"{where} is ={(found[2] or b'...').decode()[:40]}"
                empty += 1
        for found in _MERGED.finditer(text):
            if found.end() > new:
                first_merged = first_merged or found[1].decode()
                merged += 1
    if merged:
        raise ValueError(
            f"{path} has {counted(merged, 'range')} of merged cells, such as {first_merged}, of which only "
            "the first cell has a value; take the merge back, and fill in the others"
        )
    if empty:
        raise ValueError(
            f"{path} has {counted(empty, 'formula')} without a value: {first_formula}; open it in Excel or "
            "LibreOffice, which compute formulas, and save it"
        )


def _overlapping(markup: Any) -> Iterator[tuple[bytes, int]]:
    """Yield pieces that overlap, so that nothing is cut, and how much of each was there before."""
    kept = b""
    while piece := markup.read(_PIECE):
        yield kept + piece, len(kept)
        kept = (kept + piece)[-_LONGEST:]
