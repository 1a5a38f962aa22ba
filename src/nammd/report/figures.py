"""The pictures of a result: `interval_plot`, `witness_plot`, `column_plot` and `map_plot`.

Each draws on the axes it is given, or on those of a new figure, and returns them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nammd._arrays import FloatArray
from nammd.report import style
from nammd.report.answer import distance_of
from nammd.report.builder import build
from nammd.report.model import Distance, ReportModel, Witness
from nammd.report.profiles import shortened
from nammd.report.source import dataset_names, estimate_in
from nammd.results import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME_LENGTH = 28


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
    >>> ax = interval_plot(nammd.closeness_test(x, y, epsilon=0.05))
    >>> ax.get_xlabel()
    'NAMMD distance'
    >>> ax.figure.savefig("interval.png")  # doctest: +SKIP
    """
    distance = result.distance if isinstance(result, ReportModel) else distance_of(result)
    ax = style.axes_or_new(ax, 1.75)
    low, high = _reach(distance)
    ax.set_xlim(low, high)
    ax.set_ylim(-1.0, 1.0)
    if distance.epsilon is not None:
        _draw_tolerance(ax, distance, low, high)
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
        f"distance {number(measured.value)}",
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
        estimate, names = estimate_in(result), dataset_names(result)
        witness = Witness(estimate.witness_x, -estimate.witness_y)
    ax = style.axes_or_new(ax, 3.3)
    pooled = np.concatenate([witness.x, witness.y])
    edges = np.linspace(float(pooled.min()), float(pooled.max()), 41)
    if not edges[-1] > edges[0]:
        edges = np.array([edges[0] - 0.5, edges[0] + 0.5])
    for values, name, colour, fill in (
        (witness.x, names[0], style.FIRST, 0.45),
        (witness.y, names[1], style.SECOND, 0.30),
    ):
        share = np.histogram(values, edges)[0] / len(values)
        ax.stairs(share, edges, fill=True, color=colour, alpha=fill)
        # The outline carries the name: fills of half transparency are no good in a legend.
        ax.stairs(share, edges, color=colour, linewidth=1.6, label=name)
    ax.axvline(0, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    style.label(
        ax, f"← more of the {names[1]} around        more of the {names[0]} around →", "share of rows"
    )
    style.legend(ax)
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
    style.legend_above(ax)
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
            *points[chosen].T,
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
    style.label(
        ax, f"first component ({100 * first:.0f} % of the variance)", f"second ({100 * other:.0f} %)"
    )
    style.legend_above(ax)
    if drawn is not None and ax.figure is not None:
        bar = ax.figure.colorbar(drawn, ax=ax, orientation="horizontal", shrink=0.8, aspect=36, pad=0.02)
        bar.set_ticks(
            [-reach, 0, reach], labels=[f"more {model.datasets[1]}", "0", f"more {model.datasets[0]}"]
        )
        bar.ax.tick_params(labelsize=style.SMALL, length=0, labelcolor=style.INK)
        bar.outline.set_visible(False)  # type: ignore[operator]
    return ax


def _as_model(model: Any) -> ReportModel:
    return model if isinstance(model, ReportModel) else build(model)


def _reach(distance: Distance) -> tuple[float, float]:
    """Return the ends of the axis: zero, everything there is to show, and some air."""
    measured = distance.measured
    ends = [0.0, measured.value, measured.low, measured.high]
    if distance.epsilon is not None:
        ends.append(distance.epsilon + 1.96 * distance.epsilon_error)
    low, high = min(ends), max(ends)
    air = 0.12 * (high - low) or 0.01
    return low - (air if low < 0 else 0.0), high + air


def _draw_tolerance(ax: Axes, distance: Distance, low: float, high: float) -> None:
    assert distance.epsilon is not None
    eps, spread = distance.epsilon, 1.96 * distance.epsilon_error
    ax.axvspan(low, eps, color=style.WITHIN, linewidth=0, zorder=0)
    if spread:
        ax.axvspan(max(eps - spread, low), eps + spread, color=style.FAINT, alpha=0.8, linewidth=0, zorder=1)
    ax.axvline(eps, color=style.MUTED, linewidth=1.6, zorder=2)
    ax.annotate(
        f"tolerance {number(eps)}",
        (eps, 0.97),
        xytext=({"left": 4, "right": -4, "center": 4}[_side(eps, low, high)], 0),
        textcoords="offset points",
        ha="left" if _side(eps, low, high) != "right" else "right",
        va="top",
        fontsize=style.FONT,
        color=style.INK,
    )


def _side(value: float, low: float, high: float) -> str:
    """Tell on which side of a mark its text has room."""
    return "left" if value < (low + high) / 2 else "right"


def _alignment(value: float, low: float, high: float) -> str:
    share = (value - low) / (high - low)
    return "left" if share < 0.15 else "right" if share > 0.85 else "center"


def _limit(ax: Axes, points: FloatArray) -> None:
    """Show the middle 99 % of the points and some air, so that one outlier does not empty the map."""
    for setter, values in ((ax.set_xlim, points[:, 0]), (ax.set_ylim, points[:, 1])):
        low, high = np.quantile(values, [0.005, 0.995])
        air = 0.15 * (high - low) or 1.0
        setter(max(low - air, values.min() - air / 3), min(high + air, values.max() + air / 3))
