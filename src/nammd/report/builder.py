"""From a result to everything a report says: `build`."""

from __future__ import annotations

import platform
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.report.answer import answer_of, distance_of
from nammd.report.columns import DRAWN, WIDE, WIDE_DRAWN, contributions
from nammd.report.examples import examples
from nammd.report.groups import groups_of
from nammd.report.model import Map, ReportModel, Witness
from nammd.report.source import Source, evenly, reportable, source_of
from nammd.results import NAMES, Reportable
from nammd.views.measure import MOST_OF_ARRAYS

POINTS = 1500
"""So many rows of each sample are on the map."""

ReportProgress: TypeAlias = Callable[[int, int, str], None]
"""Called as ``progress(done, total, what)`` before every step, and once at the end."""


def build(result: Any, progress: ReportProgress | None = None) -> ReportModel:
    """Work out everything a report says about a result.

    Parameters
    ----------
    result : Verdict, ClosenessResult or Estimate
        The result; it carries the data that it was made from.
    progress : callable, optional
        Called as ``progress(done, total, what)`` before every step, and once at the end.

    Returns
    -------
    ReportModel
        Plain values: what a page or a figure shows.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.report import build
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(200, 3)), rng.normal((0.0, 1.0, 0.0), size=(200, 3))
    >>> model = build(nammd.distance(x, y))
    >>> model.contributions.columns[0].name
    'column 1'
    >>> print(model.contributions.sentence)
    1 of 3 columns differs by more than is negligible (adjusted p ≤ 0.05): column 1.
    """
    result = reportable(result)
    estimate = result.estimate
    source = source_of(result)
    columns = len(source.variables)
    steps = _Steps(2 + _drawn(source), progress)
    steps("distance")
    distance = distance_of(result)
    parts = contributions(source, result, distance.alpha, steps)
    steps("rows and map")
    witness = Witness(estimate.witness_x, -estimate.witness_y)
    model = ReportModel(
        title=result.question(),
        answer=answer_of(result),
        datasets=(source.x.name, source.y.name),
        distance=distance,
        contributions=parts,
        examples=examples(source, estimate.witness_x, estimate.witness_y, parts),
        witness=witness,
        map=projection(source, witness),
        settings=settings_of(result, columns),
        left_out=source.left_out,
        reproduce=result.reproduction(),
        groups=groups_of(estimate, (source.x.name, source.y.name)),
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    steps.finish()
    return model


def _drawn(source: Source) -> int:
    """Return how many columns will be drawn."""
    columns = len(source.variables)
    tables = any(variable.key is not None for variable in source.variables)
    return WIDE_DRAWN if columns > WIDE and not tables and columns > MOST_OF_ARRAYS else min(columns, DRAWN)


class _Steps:
    """Counts the steps for whoever wants to watch."""

    def __init__(self, total: int, progress: ReportProgress | None) -> None:
        self.done, self.total, self.progress = 0, total, progress

    def __call__(self, what: str) -> None:
        if self.progress:
            self.progress(self.done, self.total, what)
        self.done += 1

    def finish(self) -> None:
        if self.progress:
            self.progress(self.total, self.total, "done")


def projection(source: Source, witness: Witness) -> Map | None:
    """Return a map of evenly spaced rows of both samples; None where they have but one dimension."""
    at = [evenly(side.rows, POINTS) for side in source.sides]
    parts = [side.encoded[rows] for side, rows in zip(source.sides, at, strict=True)]
    coordinates, shares = principal(np.concatenate(parts))
    if coordinates is None:
        return None
    split = len(parts[0])
    return Map(
        x=coordinates[:split],
        y=coordinates[split:],
        witness_x=witness.x[at[0]],
        witness_y=witness.y[at[1]],
        shares=shares,
    )


def principal(rows: FloatArray) -> tuple[FloatArray | None, tuple[float, float]]:
    """Return the first two principal components of the rows, and their shares of the variance.

    None where the rows do not vary in two dimensions. The sign of a component is arbitrary; it is
    fixed by making its largest loading positive, so that the same data give the same picture.
    """
    centred = rows - rows.mean(axis=0)
    scale = float(np.abs(centred).max())
    if rows.shape[1] < 2 or scale == 0:
        return None, (1.0, 0.0)
    _, singular, loadings = np.linalg.svd(centred / scale, full_matrices=False)
    if len(singular) < 2 or singular[1] <= 1e-9 * singular[0]:
        return None, (1.0, 0.0)
    axes = loadings[:2]
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])
    share = singular[:2] ** 2 / (singular**2).sum()
    return centred @ (axes * signs[:, None]).T, (float(share[0]), float(share[1]))


def settings_of(result: Reportable, columns: int) -> tuple[tuple[str, str], ...]:
    """Return the settings of a result as labels and values."""
    from nammd import __version__

    estimate = result.estimate
    first, second = result.datasets
    x, y = estimate.evidence.x, estimate.evidence.y
    rows = [
        ("rows", f"{estimate.m:,} in the {first}, {estimate.n:,} in the {second}"),
        *estimate.describe_groups(),
        ("columns", f"{columns:,} compared"),
        ("distance", f"{NAMES[estimate.metric]}, {_cross(estimate.cross)}"),
        ("kernel", str(estimate.kernel)),
        ("computed", _by(estimate.engine)),
        (f"digest of the {first}", x.digest[:16]),
        (f"digest of the {second}", y.digest[:16]),
        *result.settings(),
    ]
    now = (("nammd", __version__), ("numpy", np.__version__), ("python", platform.python_version()))
    return (*rows, ("this report made with", ", ".join(f"{name} {version}" for name, version in now)))


_BY = {
    "tiles": "on the cores of this machine",
    "cluster": "on a Dask cluster",
    "cuda": "on a GPU",
    "sketch": "from sketches",
}


def _by(engine: str) -> str:
    """Say who computed it, in words; the engine's own name where there are none."""
    return next((words for name, words in _BY.items() if name in engine.lower()), engine)


def _cross(cross: str) -> str:
    return "all pairs of rows" if cross == "full" else "all pairs of rows but those of the same number"
