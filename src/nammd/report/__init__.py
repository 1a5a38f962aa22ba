"""What a result looks like: a plain model, matplotlib figures, and one self-contained page.

::

    result ──> build ──> ReportModel ──> figures (matplotlib)
                                    └──> page (Jinja2: HTML, CSS, the figures; no network, no scripts)

The model holds numbers and words and knows neither plotting nor HTML. matplotlib and Jinja2 are imported
when a figure or a page is asked for, not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nammd.report.builder import build
    from nammd.report.figures import (
        column_plot,
        interval_plot,
        ladder_plot,
        map_plot,
        ranking_plot,
        scales_plot,
        witness_plot,
    )
    from nammd.report.html import render, write_report
    from nammd.report.model import ReportModel
    from nammd.report.pages import failure_page, render_page, write_index, write_page

_HOMES = {
    "ReportModel": "model",
    "build": "builder",
    "column_plot": "figures",
    "failure_page": "pages",
    "interval_plot": "figures",
    "ladder_plot": "figures",
    "map_plot": "figures",
    "ranking_plot": "figures",
    "render": "html",
    "render_page": "pages",
    "scales_plot": "figures",
    "witness_plot": "figures",
    "write_index": "pages",
    "write_page": "pages",
    "write_report": "html",
}

__all__ = [
    "ReportModel",
    "build",
    "column_plot",
    "failure_page",
    "interval_plot",
    "ladder_plot",
    "map_plot",
    "ranking_plot",
    "render",
    "render_page",
    "scales_plot",
    "witness_plot",
    "write_index",
    "write_page",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
