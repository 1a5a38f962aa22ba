"""A page about a result, as plain values: an answer, tables and settings; no HTML.

For results that are told by a table rather than by the rows of two datasets. `nammd.report` draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nammd.results.base import Result, Tone


@dataclass(frozen=True)
class Track:
    """A distance and its interval, drawn on a line, with what it is held against, if anything."""

    value: float
    low: float
    high: float
    limit: float | None = None


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table.

    Attributes
    ----------
    text : str
        The words.
    link : str
        The page that they lead to, beside this one; empty for none.
    tone : {"close", "far", "undecided", "neutral"} or None
        The colour of a word that is an answer.
    track : Track or None
        What is drawn instead of words.
    """

    text: str = ""
    link: str = ""
    tone: Tone | None = None
    track: Track | None = None


@dataclass(frozen=True)
class Table:
    """A table with a title; where cells have tracks, one scale serves them all."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Page:
    """What a page says.

    Attributes
    ----------
    title : str
        The question.
    sentence : str
        The answer.
    word : str
        The answer in a word; empty where nothing was decided.
    tone : {"close", "far", "undecided", "neutral"}
        How it is coloured.
    advice : str
        What to do next, or what the answer claims; may be empty.
    tables : tuple of Table
        The tables.
    cautions : tuple of str
        What to know before relying on it.
    settings : tuple of (str, str)
        What was computed from what.
    """

    title: str
    sentence: str
    word: str = ""
    tone: Tone = "neutral"
    advice: str = ""
    tables: tuple[Table, ...] = ()
    cautions: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()


class Paged(Result):
    """A result that tells its own page."""

    def page(self) -> Page:
        """Return what a page says about the result."""
        raise NotImplementedError

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML page about the result; see `Reportable.report`."""
        from nammd.report import write_page

        written: Path = write_page(self.page(), path)
        return written


def text_cells(*words: Any) -> tuple[Cell, ...]:
    """Return cells of words."""
    return tuple(Cell(str(word)) for word in words)
