"""Pages of tables: a result that tells its own page, many verdicts with an index, and what went wrong."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nammd.errors.writing import write_text
from nammd.report.builder import ReportProgress
from nammd.report.drawing import Scale
from nammd.report.html import environment, require_place, write_report
from nammd.results.page import Page, Table, Track

INDEX = "index.html"
ROOM = 3.0
"""A line of distances ends at so many tolerances, so that one that is very far leaves room for the others."""


def write_page(page: Page, path: str | Path) -> Path:
    """Write a page of tables: one HTML file that needs nothing else.

    Parameters
    ----------
    page : Page
        What it says.
    path : str or Path
        The file to write. It is complete or not there at all; one that is there is replaced.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    require_place(path)
    write_text(path, render_page(page))
    return path


def render_page(page: Page) -> str:
    """Return a page of tables as a whole HTML document."""
    text = (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            tables=[(table, _scale(table)) for table in page.tables],
            created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )
    )
    # Lone surrogates, which broken files can bring into Python, do not exist in UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8")


def write_index(
    verdicts: Any, folder: str | Path, progress: Callable[[str], ReportProgress] | None = None
) -> Path:
    """Write an index of several verdicts, and a page for each of them.

    Parameters
    ----------
    verdicts : Verdicts
        What `Gate.check_all` returned.
    folder : str or Path
        Where to write: ``index.html`` and a page for each candidate. It is made if it is not there.
    progress : callable, optional
        Called with the name of every candidate, returns the `progress` of its page.

    Returns
    -------
    Path
        The index.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(
            f"cannot write the report {folder}: it is a file; several candidates need a folder"
        )
    if not folder.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write the report {folder}: there is no folder {folder.parent}; create it first"
        )
    folder.mkdir(exist_ok=True)
    links = file_names(entry.name for entry in verdicts)
    for entry in verdicts:
        path = folder / links[entry.name]
        if entry.verdict is None:
            write_page(failure_page(entry.name, str(entry.error)), path)
        else:
            write_report(entry.verdict, path, progress and progress(entry.name))
    # The index comes last: it never leads to a page that is not there.
    return write_page(verdicts.page(links), folder / INDEX)


def failure_page(name: str, message: str) -> Page:
    """Return the page of something that could not be done."""
    return Page(
        title=name,
        sentence=message,
        word="ERROR",
        tone="far",
        advice="Nothing was compared, so nothing is known about these data.",
    )


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return names of pages that any file system takes and no two of which are the same.

    >>> file_names(["week 1.parquet", "über/week?.csv", "..."])
    {'week 1.parquet': '1-week-1.html', 'über/week?.csv': '2-week.html', '...': '3.html'}
    """
    found = {}
    for k, name in enumerate(names, 1):
        stem = unicodedata.normalize("NFKD", Path(name).stem)
        slug = re.sub(r"[^A-Za-z0-9]+", "-", stem).strip("-")[:60]
        found[name] = f"{k}-{slug}.html" if slug else f"{k}.html"
    return found


def _scale(table: Table) -> Scale:
    """Return a scale on which all distances of a table have room, except those that are very far."""
    tracks = [cell.track for row in table.rows for cell in row if cell.track is not None]
    ends = [end for track in tracks for end in _ends(track) if math.isfinite(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    limits = [track.limit for track in tracks if track.limit is not None]
    if limits:
        high = min(max(high, 1.2 * max(limits)), ROOM * max(limits))
    return Scale(low, high if high > low else low + 1.0)


def _ends(track: Track) -> tuple[float, float, float]:
    return track.value, track.low, track.high
