"""The pictures of a tolerance and of a ranking: `ladder_plot` and `ranking_plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.report import style
from nammd.report.profiles import shortened
from nammd.results import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nammd.tolerances.ladder import Rung

NAME_LENGTH = 32

# A line for each kind of perturbation: colour, dashes and marker all differ, so any one is enough.
_LINES = {
    "noise": (style.FIRST, "solid", "o"),
    "flips": (style.SECOND, (0, (5, 2)), "s"),
    "missing": (style.MUTED, (0, (1, 1.5)), "D"),
}


def ladder_plot(tolerance: Any, ax: Axes | None = None) -> Axes:
    """Draw the distances that a tolerance was chosen from, and the one that was chosen.

    Perturbations are drawn over their level, a line for each kind; accepted datasets and splits one
    below the other.

    Parameters
    ----------
    tolerance : Tolerance
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.tolerances.tolerance import Tolerance
    >>> from nammd.report import ladder_plot
    >>> x = np.random.default_rng(0).normal(size=(400, 2))
    >>> tolerance = Tolerance.from_noise(x, level=1.0, levels=[0.5, 1.0, 2.0])
    >>> ladder_plot(tolerance).get_xlabel()
    'level of the perturbation'
    """
    rungs: tuple[Rung, ...] = tolerance.origin.rungs
    chosen = tolerance.origin.chosen
    if rungs and all(rung.level is not None for rung in rungs):
        ax = style.axes_or_new(ax, 3.2)
        _draw_levels(ax, rungs, chosen, tolerance.epsilon)
        return ax
    ax = style.axes_or_new(ax, 1.3 + 0.3 * len(rungs))
    _draw_list(
        ax,
        [rung.label for rung in rungs],
        np.array([(r.value, r.low, r.high) for r in rungs]).reshape(-1, 3),
        [rung.label == chosen for rung in rungs],
    )
    ax.axvline(
        tolerance.epsilon,
        color=style.INK,
        linewidth=1.2,
        linestyle=(0, (4, 3)),
        label=f"tolerance {number(tolerance.epsilon)}",
    )
    style.legend_above(ax, "right")
    style.few_ticks(ax)
    style.label(ax, "NAMMD distance, 95 % interval")
    return ax


def ranking_plot(ranking: Any, ax: Axes | None = None) -> Axes:
    """Draw the distances of a ranking, the nearest first.

    Parameters
    ----------
    ranking : Ranking
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.questions.ranking import rank
    >>> from nammd.report import ranking_plot
    >>> x, a, b = np.random.default_rng(0).normal(size=(3, 100, 2))
    >>> ax = ranking_plot(rank(x, {"a": a, "b": b + 1}))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b']
    """
    entries = ranking.entries
    ax = style.axes_or_new(ax, 1.1 + 0.32 * len(entries))
    measured = [(e.estimate.value, *e.estimate.confidence_interval(0.95)) for e in entries]
    _draw_list(ax, [e.name for e in entries], np.array(measured), [True] * len(entries))
    style.few_ticks(ax)
    style.label(ax, f"{_name(entries[0])} distance, 95 % interval")
    return ax


def _draw_levels(ax: Axes, rungs: tuple[Rung, ...], chosen: str, epsilon: float) -> None:
    for kind in dict.fromkeys(rung.kind for rung in rungs):
        mine = sorted((r for r in rungs if r.kind == kind), key=lambda r: r.level or 0.0)
        levels = [float(r.level or 0.0) for r in mine]
        colour, dashes, marker = _LINES.get(kind, _LINES["missing"])
        ax.fill_between(levels, [r.low for r in mine], [r.high for r in mine], color=colour, alpha=0.13, lw=0)
        ax.plot(
            levels,
            [r.value for r in mine],
            color=colour,
            linestyle=dashes,
            marker=marker,
            markersize=5,
            linewidth=1.6,
            label=kind,
        )
    for rung in rungs:
        if rung.label == chosen:
            ax.plot(
                [float(rung.level or 0.0)],
                [rung.value],
                marker="o",
                markersize=13,
                markerfacecolor="none",
                markeredgecolor=style.INK,
                markeredgewidth=1.6,
                linestyle="none",
                label=f"chosen: tolerance {number(epsilon)}",
            )
    ax.axhline(epsilon, color=style.INK, linewidth=0.8, linestyle=(0, (4, 3)))
    style.label(ax, "level of the perturbation", "NAMMD distance, 95 % interval")
    style.legend_inside(ax)


def _draw_list(ax: Axes, names: list[str], measured: Any, filled: list[bool]) -> None:
    """Draw named distances one below the other."""
    at = np.arange(len(names))
    if len(names):
        value, low, high = measured.T
        ax.hlines(at, low, high, color=style.FIRST, linewidth=2.4)
        faces = [style.FIRST if full else "white" for full in filled]
        ax.scatter(value, at, s=38, c=faces, edgecolors=style.FIRST, linewidths=1.6, zorder=3)
    ax.set_yticks(at, [shortened(name, NAME_LENGTH) for name in names], parse_math=False)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ends = [0.0, *measured.ravel().tolist()]
    air = 0.03 * (max(ends) - min(ends))  # half a marker
    ax.set_xlim(min(ends) - air, max(ends) + air or 1.0)


def _name(entry: Any) -> str:
    from nammd.results import NAMES

    return NAMES[entry.estimate.metric]
