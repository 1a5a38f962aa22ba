"""The pictures of the data behind a result: `witness_plot`, `column_plot`, `map_plot` and `scales_plot`.

Each draws on the axes it is given, or on those of a new figure, and returns them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.report import style
from nammd.report.builder import build
from nammd.report.intervals import interval_plot
from nammd.report.ladders import ladder_plot, ranking_plot
from nammd.report.model import ReportModel, Witness
from nammd.report.profiles import shortened
from nammd.report.source import reportable
from nammd.results import fractions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "column_plot",
    "interval_plot",
    "ladder_plot",
    "map_plot",
    "ranking_plot",
    "scales_plot",
    "witness_plot",
]

NAME_LENGTH = 24
_LEAST, _MOST = 0.1, 1000.0
"""Ratios beyond these are drawn at the edge."""


def witness_plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the witness function over the rows of both datasets.

    The witness function says how much more of the first dataset than of the second is around a row. Two
    datasets of the same kind have the same distribution of it, around zero.

    Parameters
    ----------
    result : Estimate, ClosenessResult, Verdict or ReportModel
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
    >>> from nammd.report import witness_plot
    >>> x, y = np.random.default_rng(0).normal(size=(2, 100, 2))
    >>> ax = witness_plot(nammd.distance(x, y))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['first dataset', 'second dataset']
    """
    if isinstance(result, ReportModel):
        witness, names = result.witness, result.datasets
    else:
        found = reportable(result)
        estimate, names = found.estimate, found.datasets
        witness = Witness(estimate.witness_x, -estimate.witness_y)
    ax = style.axes_or_new(ax, 3.3)
    pooled = np.concatenate([witness.x, witness.y])
    bins = int(np.clip(2 * np.sqrt(len(pooled) / 2), 6, 40))
    edges = np.linspace(float(pooled.min()), float(pooled.max()), bins + 1)
    if not edges[-1] > edges[0]:
        edges = np.array([edges[0] - 0.5, edges[0] + 0.5])
    for values, name, colour, fill, line in (
        (witness.x, names[0], style.FIRST, 0.45, "solid"),
        (witness.y, names[1], style.SECOND, 0.30, (0, (4, 1.5))),
    ):
        share = np.histogram(values, edges)[0] / len(values)
        ax.stairs(share, edges, fill=True, color=colour, alpha=fill)
        # The outline carries the name: fills of half transparency are no good in a legend.
        ax.stairs(share, edges, color=colour, linewidth=1.6, linestyle=line, label=name)
    ax.axvline(0, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    style.few_ticks(ax)
    style.label(ax, f"← more {names[1]} around      more {names[0]} around →", "share of rows")
    style.legend_above(ax)
    return ax


def column_plot(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the distance of every column alone, and of all the others without it.

    Columns that differ significantly on their own have filled markers; the dashed line is the distance
    of all columns together.

    Parameters
    ----------
    model : ReportModel, Verdict, ClosenessResult or Estimate
        What to draw. A model is ready; from a result the columns are worked out first, which takes
        seconds.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    model = _as_model(model)
    parts = model.contributions.columns
    ax = style.axes_or_new(ax, 1.1 + 0.32 * len(parts))
    together = model.contributions.together
    ax.axvline(together.value, color=style.MUTED, linewidth=1, linestyle=(0, (4, 3)), label="all columns")
    rows = np.arange(len(parts))
    for offset, colour, name, shown in (
        (-0.13, style.FIRST, "this column alone", [(k, p.alone) for k, p in enumerate(parts)]),
        (
            0.13,
            style.MUTED,
            "all columns but this one",
            [(k, p.without) for k, p in enumerate(parts) if p.without is not None],
        ),
    ):
        if not shown:
            continue
        at = np.array([k for k, _ in shown]) + offset
        value, low, high = np.array([(m.value, m.low, m.high) for _, m in shown]).T
        ax.hlines(at, low, high, color=colour, linewidth=2)
        filled = [colour if parts[k].significant and colour == style.FIRST else "white" for k, _ in shown]
        ax.scatter(value, at, s=26, c=filled, edgecolors=colour, linewidths=1.4, zorder=3, label=name)
    names = [shortened(part.name, NAME_LENGTH) for part in parts]
    ax.set_yticks(rows, names, parse_math=False)
    ax.set_ylim(len(parts) - 0.5, -0.5)
    style.few_ticks(ax)
    style.label(ax, f"{model.distance.name} distance, 95 % interval")
    style.legend_above(ax, "right")
    return ax


def map_plot(model: Any, ax: Axes | None = None) -> Axes:
    """Draw both samples in two dimensions, coloured by the witness function.

    Parameters
    ----------
    model : ReportModel, Verdict, ClosenessResult or Estimate
        What to draw; see `column_plot`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    model = _as_model(model)
    if model.map is None:
        raise ValueError("there is no map of data that vary in one dimension only")
    ax = style.axes_or_new(ax, 4.3)
    points = np.concatenate([model.map.x, model.map.y])
    witness = np.concatenate([model.map.witness_x, model.map.witness_y])
    second = np.arange(len(points)) >= len(model.map.x)
    # Weak witness values first, so that what stands out is not hidden below what does not.
    order = np.argsort(np.abs(witness), kind="stable")
    reach = float(np.abs(witness).max()) or 1.0
    drawn = None
    for mask, marker, name in (
        (~second, "o", model.datasets[0]),
        (second, "^", model.datasets[1]),
    ):
        chosen = order[mask[order]]
        drawn = ax.scatter(
            points[chosen, 0],
            points[chosen, 1],
            c=witness[chosen],
            cmap=style.diverging(),
            vmin=-reach,
            vmax=reach,
            marker=marker,
            s=13,
            linewidths=0.25,
            edgecolors="white",
            rasterized=True,  # thousands of points would make a heavy page
        )
        ax.scatter([], [], marker=marker, s=22, color=style.MUTED, label=name)
    _limit(ax, points)
    first, other = model.map.shares
    style.few_ticks(ax)
    style.label(ax, f"first component ({100 * first:.0f} % of the variance)", f"second ({100 * other:.0f} %)")
    style.legend_above(ax)
    if drawn is not None and ax.figure is not None:
        bar = ax.figure.colorbar(drawn, ax=ax, orientation="horizontal", shrink=0.8, aspect=36, pad=0.02)
        bar.set_ticks(
            [-reach, 0, reach], labels=[f"more {model.datasets[1]}", "0", f"more {model.datasets[0]}"]
        )
        bar.ax.tick_params(labelsize=style.SMALL, length=0, labelcolor=style.INK)
        bar.outline.set_visible(False)
    return ax


def _as_model(model: Any) -> ReportModel:
    return model if isinstance(model, ReportModel) else build(model)


def _limit(ax: Axes, points: FloatArray) -> None:
    """Show the middle 99 % of the points and some air, so that one outlier does not empty the map."""
    for setter, values in ((ax.set_xlim, points[:, 0]), (ax.set_ylim, points[:, 1])):
        low, high = np.quantile(values, [0.005, 0.995])
        air = 0.15 * (high - low) or 1.0
        setter(max(low - air, values.min() - air / 3), min(high + air, values.max() + air / 3))


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
