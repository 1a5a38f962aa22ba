"""The picture of a distance at several scales: `scales_plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nammd.report import style
from nammd.report.model import ReportModel
from nammd.report.source import reportable
from nammd.results import fractions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST, _MOST = 0.1, 1000.0
"""Ratios beyond these are drawn at the edge."""


def scales_plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw how far a candidate is at every scale, over what is negligible there.

    Parameters
    ----------
    result : Verdict, ClosenessResult or ReportModel
        What to draw; it must have been compared at several scales.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.report import scales_plot
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(400, 1)), rng.normal(size=(400, 1)).round(1)
    >>> result = nammd.closeness_test(x, y, epsilon=0.01, alternative="greater", scales="all")
    >>> [text.get_text() for text in scales_plot(result).get_yticklabels()]
    ['bandwidth', '1/2', '1/4', '1/8', '1/16']
    """
    checks = result.distance.scales if isinstance(result, ReportModel) else reportable(result).scale_checks()
    if not checks:
        raise ValueError("this result is about one scale; ask for scales='all'")
    ax = style.axes_or_new(ax, 0.9 + 0.3 * len(checks))
    ax.set_xscale("log")
    ax.axvline(1.0, color=style.MUTED, linewidth=1.6, zorder=1)
    ax.axvspan(_LEAST / 2, 1.0, color=style.WITHIN, linewidth=0, zorder=0)
    for row, check in enumerate(checks):
        ratio = min(max(check.ratio, _LEAST), _MOST)
        filled = style.INK if check.beyond else "white"
        ax.hlines(row, 1.0, ratio, color=style.MUTED, linewidth=1.2, zorder=2)
        ax.scatter([ratio], [row], s=40, c=[filled], edgecolors=style.INK, linewidths=1.4, zorder=3)
    names = ["bandwidth" if check.scale == 1 else fractions([check.scale]) for check in checks]
    ax.set_yticks(range(len(checks)), names)
    ax.set_ylim(len(checks) - 0.5, -0.5)
    ax.set_xlim(_LEAST / 2, 2 * _MOST)
    ax.set_xticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1000"])
    ax.minorticks_off()
    style.label(ax, "times what is negligible")
    return ax
