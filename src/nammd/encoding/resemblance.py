"""Which new column of a dataset looks like one that it lacks: by the values, since names are what differs.

It is asked only once it is known that columns do not match, to say so better. The work is bounded: some rows
of some columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.dataset import Dataset
from nammd.data.frames import Frame
from nammd.data.values import Values
from nammd.encoding.choosing import robust_scale
from nammd.encoding.columns import CategoricalColumn, Column, NumericColumn
from nammd.errors.naming import quoted

_ROWS, _COLUMNS = 10_000, 40
_COMMONEST = 20
_ALIKE = 0.75
"""Columns are alike where so much of the commonest values is in both, or of the spread of numbers."""

_APART = 0.03
"""One column is more alike than another by so much at least."""

_QUANTILES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def resembling(
    lacking: Mapping[str, Column | Values], dataset: Dataset, unknown: Sequence[str]
) -> dict[str, str]:
    """Return, for columns that a dataset lacks, the unknown one of its columns that looks like it.

    Parameters
    ----------
    lacking : mapping of str to Column or Values
        What is known of the columns that are lacking.
    dataset : Dataset
        The dataset that lacks them.
    unknown : sequence of str
        Those of its columns that nobody knows; each looks like one column at most.
    """
    frame = _some_rows(dataset)
    if frame is None or not unknown:
        return {}
    scores: list[tuple[float, str, str]] = []
    for new in unknown[:_COLUMNS]:
        try:
            values = frame.values(new)
        except (TypeError, ValueError):  # whatever is wrong with it is no news here
            continue
        some = list(lacking.items())[:_COLUMNS]
        scores += [(score, old, new) for old, known in some if (score := _likeness(values, known)) >= _ALIKE]
    # One that looks like several, or one of several that look like it, is no help.
    return {old: new for score, old, new in scores if _only(scores, score, old, new)}


def _only(scores: Sequence[tuple[float, str, str]], score: float, old: str, new: str) -> bool:
    rivals = (s for s, o, n in scores if (o == old) != (n == new))
    return all(rival < score - _APART for rival in rivals)


def resemblances(found: Mapping[str, str]) -> str:
    """Return it as the end of a sentence.

    >>> resemblances({"carrier": "airline"})
    "; 'airline' looks like 'carrier', by its values"
    """
    if not found:
        return ""
    pairs = " and ".join(f"{quoted(new)} looks like {quoted(old)}" for old, new in list(found.items())[:5])
    return f"; {pairs}, by {'its' if len(found) == 1 else 'their'} values"


def values_of(dataset: Dataset, names: Sequence[str]) -> dict[str, Column | Values]:
    """Return the values of some columns, as far as they can be read and are not too many."""
    frame = _some_rows(dataset)
    found: dict[str, Column | Values] = {}
    for name in names[:_COLUMNS] if frame is not None else ():
        try:
            found[name] = frame.values(name)  # type: ignore[union-attr]
        except (TypeError, ValueError):
            continue
    return found


def _some_rows(dataset: Dataset) -> Frame | None:
    frame = dataset.first_rows(1) if dataset.is_table else None
    if frame is None or frame.rows <= _ROWS:
        return frame
    return frame.take(np.linspace(0, frame.rows - 1, _ROWS).astype(np.intp))


def _likeness(values: Values, known: Column | Values) -> float:
    """Return how much alike two columns are, between 0 and 1."""
    if isinstance(known, Values):
        if values.kind != known.kind:
            return 0.0
        if values.kind == "numeric":
            return _near(_quantiles(values), _quantiles(known))
        return _in_both(_commonest(values), _commonest(known)) if values.kind == "categorical" else 0.0
    if values.kind == "numeric" and isinstance(known, NumericColumn) and known.kind == "numeric":
        # A space keeps the centre and the spread alone.
        present, steps = _present(values), np.array([-1.0, 0.0, 1.0])
        own = np.median(present) + robust_scale(present) * steps
        return _near(own, known.center + known.scale * steps)
    if values.kind == "categorical" and isinstance(known, CategoricalColumn) and known.kind == values.kind:
        return _in_both(_commonest(values), list(known.categories[:_COMMONEST]))
    return 0.0


def _present(values: Values) -> FloatArray:
    assert values.numbers is not None
    present: FloatArray = values.numbers[~values.missing]
    return present


def _quantiles(values: Values) -> FloatArray:
    found: FloatArray = np.quantile(_present(values), _QUANTILES)
    return found


def _near(one: FloatArray, two: FloatArray) -> float:
    """Return one less how far quantiles are apart, in units of their spread."""
    spread = max(float(np.ptp(one)), float(np.ptp(two)))
    if not 0 < spread < np.inf:
        return float(spread == 0 and (one == two).all())
    return max(0.0, 1.0 - float(np.abs(one - two).mean()) / spread)


def _commonest(values: Values) -> list[str]:
    assert values.codes is not None
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
    order = np.argsort(-counts, kind="stable")[:_COMMONEST]
    return [values.categories[place] for place in order if counts[place]]


def _in_both(one: Sequence[str], two: Sequence[str]) -> float:
    return len(set(one) & set(two)) / max(1, min(len(one), len(two)))
