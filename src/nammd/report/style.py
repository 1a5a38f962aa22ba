"""What all figures have in common: colours, sizes and a blank sheet.

Nothing here touches pyplot or the global settings of matplotlib: a figure is made with its own canvas, and
sizes and colours are given to every artist. Text from the data is never read as mathematics (a column
may be called ``$cost$``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap

# Blue and vermillion of Okabe and Ito: told apart by colour-blind readers, and as greys in print.
FIRST = "#0072B2"
SECOND = "#D55E00"
INK = "#1d2733"
MUTED = "#5b6673"
FAINT = "#d5dbe1"
WITHIN = "#e3f1ec"

PAPER = "#ffffff"
DARK = {
    FIRST: "#5db5ee",
    SECOND: "#f0894a",
    INK: "#e8edf2",
    MUTED: "#a9b4c0",
    FAINT: "#3a4653",
    WITHIN: "#1d3f34",
    PAPER: "#1a222b",
}
"""What each colour is on a page that is dark."""

FONT = 10.0
SMALL = 9.0
WIDTH = 4.7
"""Inches; at this width the text is readable on a phone, where the figure is as wide as the screen."""


def axes_or_new(ax: Axes | None, height: float) -> Axes:
    """Return the axes given, or those of a new figure that belongs to nobody else."""
    if ax is None:
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError(
                "figures need matplotlib, which is not installed; run: pip install nammd[app]"
            ) from error
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
    _tidy(ax)
    return ax


def _tidy(ax: Axes) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
        ax.spines[side].set_linewidth(0.8)
    ax.tick_params(labelsize=SMALL, colors=MUTED, labelcolor=INK, width=0.8, length=3)


def label(ax: Axes, x: str = "", y: str = "") -> None:
    """Label the axes."""
    ax.set_xlabel(x, fontsize=FONT, color=INK)
    ax.set_ylabel(y, fontsize=FONT, color=INK)


def legend_inside(ax: Axes) -> None:
    """Add a legend in the upper left corner, for lines that rise to the right."""
    ax.legend(loc="upper left", fontsize=SMALL, frameon=False, labelcolor=INK, handlelength=1.4)


def legend_above(ax: Axes, flush: Literal["left", "right"] = "left") -> None:
    """Add a legend above the axes, where it hides nothing.

    Flush right it may grow over the names on the left, which take the room that it needs.
    """
    ax.legend(
        loc="lower left" if flush == "left" else "lower right",
        bbox_to_anchor=(0 if flush == "left" else 1, 1),
        borderaxespad=0,
        ncols=3 if flush == "left" else 2,
        columnspacing=1.2,
        fontsize=SMALL,
        frameon=False,
        labelcolor=INK,
        handlelength=1.8,
    )


def few_ticks(ax: Axes) -> None:
    """Have few enough numbers below the axis that they do not run into each other."""
    ax.locator_params(axis="x", nbins=5)
    from matplotlib.ticker import ScalarFormatter

    if isinstance(ax.xaxis.get_major_formatter(), ScalarFormatter):
        # 0.00002, not 2.0 with a small 1e-5 at the end of the axis, which people overlook.
        ax.ticklabel_format(axis="x", style="plain", useOffset=False)


def hide_vertical(ax: Axes) -> None:
    """Take away a vertical axis that measures nothing."""
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])


def diverging() -> LinearSegmentedColormap:
    """Return a scale from the second dataset's colour over grey to the first one's."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [(0.0, SECOND), (0.5, "#d9d9d9"), (1.0, FIRST)]
    return LinearSegmentedColormap.from_list("nammd-witness", stops)


def themed(svg: str) -> str:
    """Return a picture whose colours are those of a dark page where the page is dark.

    Examples
    --------
    >>> print(themed('<svg width="9"><path style="fill: #1d2733"/></svg>')[-42:])
    <path style="fill: var(--c1d2733)"/></svg>
    """
    light = "".join(f"{_variable(name)}:{name};" for name in DARK)
    dark = "".join(f"{_variable(name)}:{colour};" for name, colour in DARK.items())
    rules = f"svg{{{light}}}@media screen and (prefers-color-scheme:dark){{svg{{{dark}}}}}"
    for name in DARK:
        for what in ("fill", "stroke"):
            svg = svg.replace(f"{what}: {name.lower()}", f"{what}: var({_variable(name)})")
    opened = svg.index(">", svg.index("<svg")) + 1
    return f"{svg[:opened]}<style>{rules}</style>{svg[opened:]}"


def _variable(name: str) -> str:
    """Return the variable of the style sheet that holds a colour."""
    return f"--c{name[1:].lower()}"
