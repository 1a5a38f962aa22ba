"""Figures as SVG files whose bytes depend on what they show alone."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from experiments.section import Picture
from nammd.report.style import FAINT, INK, SMALL, axes_or_new, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6b6b6b", "#1d2733")
"""After Okabe and Ito: told apart by colour-blind readers."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def svg(picture: Picture) -> bytes:
    """Draw a picture and return it as SVG."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # Identifiers are random by default, and text would be drawn as the outlines of some font.
    with matplotlib.rc_context({"svg.hashsalt": picture.name, "svg.fonttype": "none"}):
        figure = Figure(figsize=picture.size, layout="constrained")
        FigureCanvasSVG(figure)
        picture.draw(figure)
        stream = io.BytesIO()
        metadata: Any = {"Date": None, "Creator": f"matplotlib {matplotlib.__version__}"}
        figure.savefig(stream, format="svg", metadata=metadata)
    lines = stream.getvalue().splitlines()
    return b"\n".join(line.rstrip() for line in lines) + b"\n"


def panels(figure: Figure, rows: int, columns: int, **options: Any) -> list[Axes]:
    """Return tidy axes, row by row."""
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    return [axes_or_new(ax, 0) for line in grid for ax in line]


def titled(ax: Axes, title: str, x: str = "", y: str = "") -> None:
    """Give axes a title and labels."""
    ax.set_title(title, fontsize=SMALL, color=INK, loc="left")
    label(ax, x, y)


def line(
    ax: Axes, x: Any, y: Any, index: int = 0, name: str = "", *, errors: Any = None, dashed: bool = False
) -> None:
    """Draw a line with markers, and a band of two standard errors where there are errors."""
    style: dict[str, Any] = {
        "color": COLOURS[index],
        "marker": MARKERS[index],
        "markersize": 3.5,
        "linewidth": 1.3,
    }
    ax.plot(x, y, label=name or None, linestyle="--" if dashed else "-", **style)
    if errors is not None:
        low = [v - 2 * e for v, e in zip(y, errors, strict=True)]
        high = [v + 2 * e for v, e in zip(y, errors, strict=True)]
        ax.fill_between(x, low, high, color=COLOURS[index], alpha=0.15, linewidth=0)


def level_line(ax: Axes, level: float = 0.05) -> None:
    """Draw where the level of a test should be."""
    ax.axhline(level, color=FAINT, linewidth=1, zorder=0)


def legend(ax: Axes, **options: Any) -> None:
    """Add a legend."""
    ax.legend(fontsize=SMALL, frameon=False, labelcolor=INK, **options)
