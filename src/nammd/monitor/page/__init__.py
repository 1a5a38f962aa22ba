"""The page about a stream: a plain model, pictures in SVG, one HTML file without a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nammd.errors.writing import write_text
from nammd.monitor.page.html import render
from nammd.monitor.page.model import page_of
from nammd.monitor.pooling import Window
from nammd.monitor.state import State


def write_page(state: State, path: Path, errors: dict[int, float], windows: Sequence[Window] = ()) -> Path:
    """Write the page; it is complete or not there at all."""
    write_text(path, render(page_of(state, errors, windows)))
    return path


__all__ = ["page_of", "render", "write_page"]
