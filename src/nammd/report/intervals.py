"""The picture of a distance against its tolerance: `interval_plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nammd.report import style
from nammd.report.answer import distance_of
from nammd.report.model import Distance, ReportModel
from nammd.report.source import reportable
from nammd.results import estimated, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def interval_plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw the distance with its interval, against the tolerance if there is one.

    Parameters
    ----------
    result : Verdict, ClosenessResult, Estimate or ReportModel
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.report import interval_plot
    >>> x, y = np.random.default_rng(0).normal(size=(2, 100, 2))
    >>> ax = interval_plot(nammd.closeness_test(x, y, epsilon=0.05, alternative="greater"))
    >>> ax.get_xlabel()
    'NAMMD distance'
    >>> ax.figure.savefig("interval.png")  # doctest: +SKIP
    """
    distance = result.distance if isinstance(result, ReportModel) else distance_of(reportable(result))
    ax = style.axes_or_new(ax, 1.75)
    low, high = _reach(distance)
    ax.set_xlim(low, high)
    ax.set_ylim(-1.0, 1.0)
    if distance.epsilon is not None:
        _draw_tolerance(ax, distance, low, high)
        _draw_marks(ax, distance)
    measured = distance.measured
    ax.plot(
        [measured.low, measured.high], [0, 0], color=style.INK, linewidth=5, solid_capstyle="butt", zorder=3
    )
    ax.plot(
        [measured.value],
        [0],
        marker="o",
        markersize=11,
        color=style.INK,
        markeredgecolor="white",
        markeredgewidth=1.5,
        linestyle="none",
        zorder=4,
    )
    ax.annotate(
        f"distance {estimated(measured.value)}",
        (measured.value, 0),
        xytext=(0, -13),
        textcoords="offset points",
        ha=_alignment(measured.value, low, high),
        va="top",
        fontsize=style.FONT,
        fontweight="bold",
        color=style.INK,
    )
    style.hide_vertical(ax)
    style.few_ticks(ax)
    style.label(ax, f"{distance.name} distance")
    return ax


def _reach(distance: Distance) -> tuple[float, float]:
    """Return the ends of the axis: zero, everything there is to show, and some air."""
    measured = distance.measured
    ends = [0.0, measured.value, measured.low, measured.high]
    if distance.epsilon is not None:
        ends.append(distance.epsilon + 1.96 * distance.epsilon_error)
    ends += [mark.value + 1.96 * mark.error for mark in distance.marks]
    low, high = min(ends), max(ends)
    air = 0.12 * (high - low) or 0.01
    return low - (air if low < 0 else 0.0), high + air


def _draw_tolerance(ax: Axes, distance: Distance, low: float, high: float) -> None:
    assert distance.epsilon is not None
    eps, spread = distance.epsilon, 1.96 * distance.epsilon_error
    room_on_the_right = eps < (low + high) / 2
    ax.axvspan(low, eps, color=style.WITHIN, linewidth=0, zorder=0)
    if spread:
        ax.axvspan(max(eps - spread, low), eps + spread, color=style.FAINT, alpha=0.8, linewidth=0, zorder=1)
    ax.axvline(eps, color=style.MUTED, linewidth=1.6, zorder=2)
    for words, left, right in (("close enough", low, eps), ("too far", eps, high)):
        if right - left > 0.3 * (high - low):  # else there is no room for the words
            ax.text(
                (left + right) / 2,
                -0.96,
                words,
                ha="center",
                va="bottom",
                fontsize=style.SMALL,
                color=style.MUTED,
            )
    ax.annotate(
        f"{distance.limit} {number(eps)}",
        (eps, 0.97),
        xytext=(4 if room_on_the_right else -4, 0),
        textcoords="offset points",
        ha="left" if room_on_the_right else "right",
        va="top",
        fontsize=style.FONT,
        color=style.INK,
    )


def _draw_marks(ax: Axes, distance: Distance) -> None:
    """Draw every accepted dataset in a row above the distance; the one that decided is filled."""
    for mark in distance.marks:
        ends = [mark.value - 1.96 * mark.error, mark.value + 1.96 * mark.error]
        ax.plot(ends, [0.45, 0.45], color=style.MUTED, linewidth=1.0, zorder=2)
        ax.plot(
            [mark.value],
            [0.45],
            marker="D",
            markersize=6,
            markerfacecolor=style.MUTED if mark.decided else "white",
            markeredgecolor=style.MUTED,
            linestyle="none",
            zorder=3,
        )


def _alignment(value: float, low: float, high: float) -> Literal["left", "center", "right"]:
    """Return on which side a text must be flush, so that it does not leave the axes."""
    share = (value - low) / (high - low)
    return "left" if share < 0.15 else "right" if share > 0.85 else "center"
