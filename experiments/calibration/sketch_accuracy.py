"""How close distances of sketches come to those of the exact kernel, as the number of features grows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

import nammd
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import legend, line, panels, titled
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from experiments.summary import mean, pooled_mean
from nammd.data.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KERNELS = {"Gaussian": nammd.Gaussian(3.0), "Laplace": nammd.Laplace(6.0)}
ERRORS = ("measured", "stated")
_COLUMNS, _SHIFT = 5, 0.3


@dataclass(frozen=True)
class _Sizes(Settings):
    """Settings.

    Attributes
    ----------
    rows : int
        The rows of either sample.
    sizes : tuple of int
        The numbers of features.
    """

    rows: int = 4000
    sizes: tuple[int, ...] = (32, 64, 128, 256, 512, 1024, 2048)


def _cells(settings: _Sizes) -> Iterator[Cell]:
    for kernel in KERNELS:
        for features in settings.sizes:
            for chunk, count in chunks(settings.repetitions, 20):
                yield {"kernel": kernel, "features": features, "chunk": chunk, "count": count}


@cache
def _samples(rows: int) -> tuple[FloatArray, FloatArray]:
    """Return the two samples, the same in all cells: what varies are the frequencies."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, _COLUMNS)), rng.normal(loc=_SHIFT, size=(rows, _COLUMNS))


def _run(settings: _Sizes, cell: Cell, context: Context) -> Values:
    x, y = _samples(settings.rows)
    kernel = KERNELS[str(cell["kernel"])]
    exact = nammd.distance(x, y, kernel=kernel, engine=context.engine)
    squares: dict[str, list[float]] = {name: [] for name in ERRORS}
    for _ in range(int(cell["count"])):
        features = nammd.RandomFeatures(kernel, int(cell["features"]), rng=context.rng)
        one, two = (nammd.Sketch.of(side, features, threads=1) for side in (x, y))
        estimate = nammd.distance(one, two)
        squares["measured"].append((estimate.value - exact.value) ** 2)
        squares["stated"].append(estimate.pair.approximation(estimate.value) / estimate.pair.scale**2)
    exactly = {"value": exact.value, "standard error": exact.standard_error}
    return {**exactly, **{name: mean(found) for name, found in squares.items()}}


def _error(results: Results[_Sizes], kernel: str, features: int, which: str) -> float:
    """Return a root mean square over all draws of the frequencies."""
    parts = [values[which] for values in results.where(kernel=kernel, features=features)]
    return math.sqrt(pooled_mean(parts)["mean"])


def _section(results: Results[_Sizes]) -> Section:
    shown = _table(results)
    body = (
        "Two samples, whose distance under the exact kernel is known, are sketched with random features, "
        "again and again with others. *Measured* is how far the distance of the sketches is from the exact "
        "one; *stated* is the part of its standard error that the result itself puts down to the "
        "frequencies. Both are root mean squares over the draws:\n\n" + shown
    )
    return Section(
        body=body,
        sentence=_sentence(results),
        pictures=[
            Picture(
                "sketch-accuracy",
                "Error of the distance against the number of features: dots and lines as measured, dashes "
                "as the results state it.",
                lambda figure: _draw(figure, results),
                (6.4, 3.8),
                folder="tables",
            )
        ],
        tables={"sketch-accuracy.md": shown},
    )


def _table(results: Results[_Sizes]) -> str:
    settings = results.settings
    head = ["features", "file"]
    for kernel in KERNELS:
        head += [f"{kernel}: measured error", "as stated"]
    rows = []
    for size in settings.sizes:
        megabytes = size * (size + 3) / 2 * 8 / 1e6
        errors = [f"{_error(results, kernel, size, which):.5f}" for kernel in KERNELS for which in ERRORS]
        rows.append([str(size), f"{megabytes:.2g} MB", *errors])
    exact = {kernel: results.where(kernel=kernel)[0] for kernel in KERNELS}
    values = ", ".join(f"{v['value']:.4f} ± {v['standard error']:.4f} ({k})" for k, v in exact.items())
    note = (
        f"Root mean square over {settings.repetitions} draws of frequencies, for two normal samples of "
        f"{settings.rows} rows and {_COLUMNS} columns whose exact distances are {values}."
    )
    return table(head, rows) + f"\n{note}\n"


def _sentence(results: Results[_Sizes]) -> str:
    sizes = results.settings.sizes
    ratios, slopes = [], {}
    for kernel in KERNELS:
        measured, stated = ([_error(results, kernel, size, which) for size in sizes] for which in ERRORS)
        ratios += [m / s for m, s in zip(measured, stated, strict=True)]
        slopes[kernel] = float(np.polyfit(np.log(sizes), np.log(measured), 1)[0])
    told = " and ".join(f"{slope:.2f} ({kernel})" for kernel, slope in slopes.items())
    return (
        f"The measured error is {min(ratios):.2f} to {max(ratios):.2f} times the stated one. It falls with "
        f"the number of features to the power {told}; the square root would be -0.50."
    )


def _draw(figure: Figure, results: Results[_Sizes]) -> None:
    sizes = results.settings.sizes
    [ax] = panels(figure, 1, 1)
    for index, kernel in enumerate(KERNELS):
        measured, stated = ([_error(results, kernel, size, which) for size in sizes] for which in ERRORS)
        line(ax, sizes, measured, index, f"{kernel}: measured")
        line(ax, sizes, stated, index, f"{kernel}: as stated", dashed=True)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(sizes, [str(size) for size in sizes])
    titled(ax, "", "number of features", "error of the distance")
    legend(ax)


EXPERIMENT = Experiment(
    name="calibration_sketch_accuracy",
    labels=("calibration-sketch-accuracy",),
    title="Accuracy of sketches",
    seed=67,
    quick=_Sizes(repetitions=10, rows=2000, sizes=(32, 128, 512)),
    full=_Sizes(repetitions=200),
    tiny=_Sizes(repetitions=2, rows=100, sizes=(8, 16)),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
