"""From a result to everything a report says: `build`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from nammd.report.answer import answer_of, distance_of
from nammd.report.columns import DRAWN, WIDE, contributions
from nammd.report.examples import examples
from nammd.report.groups import groups_of
from nammd.report.model import ReportModel, Witness
from nammd.report.projection import projection
from nammd.report.settings import settings_of
from nammd.report.source import Source, reportable, source_of
from nammd.report.wide import WIDE_DRAWN
from nammd.views.measure import MOST_OF_ARRAYS

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
    estimate = reportable(result).measured
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
