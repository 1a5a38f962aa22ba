"""A year of batches against one reference: false alarms, and how soon a change is noticed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.calibration import grid
from experiments.calibration.grid import Spot
from experiments.calibration.stream_runs import (
    BEFORE,
    BEFORE_AT,
    LAWS,
    LEVELS,
    RATE,
    USUAL,
    Streams,
    cells,
    run,
)
from experiments.experiment import Experiment
from experiments.figures import COLOURS
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.summary import counted
from nammd.report.style import FAINT, INK, MUTED, SMALL, axes_or_new

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOW = {
    "stream": "stream",
    "paid": "stream, population",
    "batch": "single, 1/365",
    "usual": "single, 0.05",
}
"""How a change may be noticed, by the name of its delays."""


def _section(results: Results[Streams]) -> Section:
    settings = results.settings
    level, estimated = (grid.spots(results, kind=kind) for kind in ("level", "estimated"))
    years = grid.spots(results, kind="year")
    sizes = " or ".join(_size(settings, factor) for factor in settings.factors)
    body = (
        f"Batches of {settings.rows} rows against a reference of {sizes} rows, under "
        f"{counted(len(settings.laws) + len(settings.further), 'law')}, with a budget of one false alarm a "
        f"year and a batch a day. Every alarm below, but for the delays, is an error.{_fewer(settings)}\n\n"
        "**Far tails.** A budget needs single verdicts at the level 1/365. How often these are wrong exactly "
        "at the tolerance, times 365: how many false alarms a year that makes, where 1 is allowed. The "
        f"smallest, the mean and the largest over the laws; {_total(level)} verdicts with a given tolerance, "
        f"{_total(estimated)} with one that was measured on accepted data as large as the reference:\n\n"
        + _tails(level, estimated, settings)
        + f"\n**Years.** Streams of {settings.length} batches, all of them exactly at the tolerance "
        f"{settings.margin:g}; {settings.years} for each law and size. *FAR*: false alarms of single batches "
        f"a year; *at {USUAL:g}*: those of the usual level. *Stream*: the share of years with an alarm of "
        "the stream where the distance to *this* reference is at the tolerance, which is what it claims (an "
        "average run length of 365 or more allows up to 0.63); *population*: with the error of the reference "
        "taken off, where the distance to its population is. *Mean*: the share of years in which the "
        "interval of the running mean, at 0.95, ever missed the distance to this reference, which is itself "
        "known from as many other batches only. The mean over the laws, and the largest:\n\n"
        + _years_table(years, settings)
        + f"\n**Delays.** {BEFORE} batches at {BEFORE_AT:g} of the tolerance, and then {settings.after} at a "
        "multiple of it: the median number of batches until it is noticed, over all laws and streams, and in "
        f"brackets the share that never is. A usual level of {USUAL:g} is quick, and cries wolf: see the "
        "years above.\n\n" + _delays_table(results)
    )
    return Section(
        body=body,
        sentence=_sentence(level, years, results),
        pictures=[
            Picture(
                "calibration_monitor",
                "Delays until a change is noticed; each dot is the median of a law, and those at the top "
                "edge are not noticed in most streams.",
                lambda figure: _draw(figure, results),
                (8.4, 3.2),
            )
        ],
        notes=_notes(level, estimated),
    )


def _fewer(settings: Streams) -> str:
    """Say for which laws there are fewer repetitions."""
    if not settings.further:
        return ""
    left = [law for law in LAWS if law not in (*settings.laws, *settings.further)]
    lacking = f" Planned and not run, for want of machine time: {', '.join(left)}." if left else ""
    return (
        f" For {counted(len(settings.further), 'law')} ({', '.join(settings.further)}) there are fewer "
        f"repetitions, {settings.further_repetitions} verdicts and {settings.further_years} years for each "
        f"size, and no delays and measured tolerances.{lacking}"
    )


def _size(settings: Streams, factor: int) -> str:
    return str(settings.rows * factor)


def _total(spots: Iterable[Spot]) -> int:
    return sum(spot.tries for spot in spots)


def _a_year(spots: Sequence[Spot], name: str) -> str:
    rates = [365 * spot.rate(f"{name} 1/365") for spot in spots]
    return f"{min(rates):.2f}; {np.mean(rates):.2f}; {max(rates):.2f}"


def _tails(level: Sequence[Spot], estimated: Sequence[Spot], settings: Streams) -> str:
    rows = []
    for factor in settings.factors:
        size = f"{settings.rows * factor}+{settings.rows}"
        for at in settings.margins:
            here = [s for s in level if s.size == size and s.margin == at]
            rows.append(
                [_size(settings, factor), f"{at:g}", _a_year(here, "far"), _a_year(here, "close"), _off(here)]
            )
        here = [s for s in estimated if s.size == size]
        words = f"measured, {settings.margin:g}"
        rows.append(
            [_size(settings, factor), words, _a_year(here, "far"), _a_year(here, "close"), _off(here)]
        )
    return table(
        ["reference", "tolerance", "FAR a year", "CLOSE a year", "laws above 1 by more than chance"], rows
    )


def _off(spots: Sequence[Spot]) -> str:
    far, close = (sum(s.above(f"{name} 1/365", RATE.level) for s in spots) for name in ("far", "close"))
    return f"{far} / {close} of {len(spots)}"


def _years_table(years: Sequence[Spot], settings: Streams) -> str:
    names = ("far", "far, usual", "stream", "stream, paid", "mean missed")
    rows = []
    for factor in settings.factors:
        here = [s for s in years if s.size == f"{settings.rows * factor}+{settings.rows}"]
        row = [_size(settings, factor)]
        for name in names:
            rates = [spot.rate(name) for spot in here]
            row.append(f"{np.mean(rates):.2f}, at most {max(rates):.2f}")
        rows.append(row)
    return table(["reference", "FAR", "at 0.05", "stream", "population", "mean"], rows)


def _delays(results: Results[Streams], **wanted: object) -> dict[str, list[float]]:
    """Join the delays of all chunks; a change that is never noticed has an infinite one."""
    found: dict[str, list[float]] = {name: [] for name in HOW}
    for done in results.cells:
        if done.cell["kind"] != "change" or any(done.cell[key] != value for key, value in wanted.items()):
            continue
        for name in HOW:
            # An alarm before the change counts as one at once.
            found[name] += [np.inf if d == -1 else max(float(d), 1.0) for d in done.values[name]]
    return found


def _delays_table(results: Results[Streams]) -> str:
    settings, rows = results.settings, []
    for factor in settings.factors:
        for ratio in settings.ratios:
            size = f"{settings.rows * factor}+{settings.rows}"
            found = _delays(results, size=size, ratio=ratio)
            row = [_size(settings, factor), f"{ratio:g}"]
            for name in HOW:
                never = float(np.mean(np.isinf(found[name])))
                row.append(f"{_median(found[name])} ({never:.0%})")
            rows.append(row)
    return table(["reference", "distance over tolerance", *HOW.values()], rows)


def _median(delays: Sequence[float]) -> str:
    middle = float(np.median(delays))
    return "never" if np.isinf(middle) else f"{middle:g}"


def _draw(figure: Figure, results: Results[Streams]) -> None:
    settings = results.settings
    panels = figure.subplots(1, len(settings.factors), sharey=True, squeeze=False)[0]
    for panel, factor in zip(panels, settings.factors, strict=True):
        ax = axes_or_new(panel, 0)
        for k, name in enumerate(HOW):
            for j, ratio in enumerate(settings.ratios):
                size = f"{settings.rows * factor}+{settings.rows}"
                medians = [
                    min(
                        float(np.median(_delays(results, size=size, ratio=ratio, law=law)[name])),
                        settings.after,
                    )
                    for law in settings.laws
                ]
                place = [j + 0.18 * (k - 1.5)] * len(medians)
                ax.plot(
                    place,
                    medians,
                    "o",
                    ms=3,
                    color=COLOURS[k],
                    alpha=0.7,
                    label=HOW[name] if j == 0 else None,
                )
        ax.set_yscale("log")
        ax.axhline(settings.after, color=FAINT, lw=0.8)
        ax.set_xticks(range(len(settings.ratios)), [f"{ratio:g}" for ratio in settings.ratios])
        ax.set_title(f"reference of {_size(settings, factor)} rows", fontsize=SMALL, color=INK, loc="left")
        ax.set_xlabel("distance over tolerance", fontsize=SMALL, color=INK)
    panels[0].set_ylabel("batches until noticed", fontsize=SMALL, color=INK)
    panels[-1].legend(fontsize=SMALL, frameon=False, labelcolor=MUTED, loc="upper right")


def _sentence(level: Sequence[Spot], years: Sequence[Spot], results: Results[Streams]) -> str:
    rates = [365 * s.rate("far 1/365") for s in level]
    stream = [s.rate("stream") for s in years]
    settings = results.settings
    size = f"{settings.rows * settings.factors[-1]}+{settings.rows}"
    middle = settings.ratios[len(settings.ratios) // 2]
    found = _delays(results, size=size, ratio=middle)
    return (
        f"At the level 1/365 single verdicts make {np.mean(rates):.2f} false alarms a year on average over "
        f"the settings, and at most {max(rates):.2f} ({_where(level)}). The stream has a false alarm in "
        f"{np.mean(stream):.0%} of the years, and in at most {max(stream):.0%} under one law. At {middle:g} "
        f"times the tolerance it notices a change after {_median(found['stream'])} batches, single verdicts "
        f"after {_median(found['batch'])} (reference of {_size(settings, settings.factors[-1])} rows)."
    )


def _where(level: Sequence[Spot]) -> str:
    return max(level, key=lambda s: s.rate("far 1/365")).where


def _notes(level: Sequence[Spot], estimated: Sequence[Spot]) -> list[str]:
    notes = []
    for what, spots in (("given", level), ("measured", estimated)):
        for name, word in (("far", "FAR"), ("close", "CLOSE")):
            off = [s for s in spots if s.above(f"{name} 1/365", RATE.level)]
            if off:
                each = "; ".join(f"{365 * s.rate(f'{name} 1/365'):.1f} a year ({s.where})" for s in off)
                notes.append(
                    f"Where {word} at 1/365 with a {what} tolerance is wrong too often: {each}; "
                    f"{grid.by_chance(spots, RATE.level)}."
                )
    tries = _total(level)
    far = {
        name: sum(s.counts[f"far {name}"] for s in level) / tries / value for name, value in LEVELS.items()
    }
    notes.append(
        "The rate of FAR over its level, all laws and sizes together: "
        + ", ".join(f"{ratio:.2f} at {name}" for name, ratio in far.items())
        + "."
    )
    return notes


EXPERIMENT = Experiment(
    name="calibration_monitor",
    labels=("calibration-monitor",),
    title="A year of batches",
    seed=67,
    quick=Streams(repetitions=100, estimated=40, years=1, changes=2, laws=("shifted normal", "exponential")),
    full=Streams(
        repetitions=5000,
        estimated=500,
        years=30,
        changes=20,
        laws=LAWS[:8],
        further=LAWS[8:],
        further_repetitions=1250,
        further_years=10,
    ),
    tiny=Streams(
        repetitions=3, estimated=2, years=1, changes=1, rows=20, length=6, after=5, laws=("exponential",)
    ),
    cells=cells,
    run_cell=run,
    section=_section,
    page="calibration",
)
