"""From datasets to columns with parameters: what is written is understood first, then scaled.

Columns that tell by themselves how they are written come first; those that do not are settled by what these
have told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nammd.data.arrays import rows_at
from nammd.data.dataset import Dataset
from nammd.data.frames import Frame
from nammd.data.magnitudes import LARGEST
from nammd.data.sampling import sample_positions
from nammd.data.threads import each_in_threads
from nammd.data.values import Values, pooled
from nammd.encoding.choosing import fit_column, robust_scale
from nammd.encoding.columns import (
    ArrayColumn,
    CategoricalColumn,
    Column,
    LeftOut,
    NumericColumn,
)
from nammd.encoding.matching import named_columns, require_kind, require_same_columns
from nammd.errors.naming import checked_weights, chosen_columns
from nammd.reading.text_formats.deciding import Habits, Look, Texts, look, settle
from nammd.reading.text_formats.forms import Form
from nammd.reading.text_formats.options import Reading
from nammd.reading.text_formats.understanding import (
    Remark,
    converted,
    nearly_all,
    placeholders,
    texts_of,
    without_words,
)

EXCLUDED = "excluded"

SCALE_ROWS = 10_000
"""So many rows tell the scales of columns of arrays."""

_MANY_ROWS = 16_384
"""Of fewer rows columns are fitted one after the other: there may be very many."""


class Fitted(NamedTuple):
    """Columns with their parameters, those left out, the width of arrays, and what there is to say."""

    columns: tuple[Column, ...]
    left_out: tuple[LeftOut, ...]
    array_columns: int | None
    remarks: tuple[Remark, ...]


def fitted_columns(
    datasets: Sequence[Dataset],
    weights: Mapping[str, float] | None,
    columns: Sequence[str] | None,
    exclude: Sequence[str] | None,
    reading: Reading,
    scale: str | None = None,
    hash_text: bool = False,
) -> Fitted:
    """Fit columns on datasets that are open, all of them alike; see `Encoding.fit`."""
    names, first = named_columns(datasets), datasets[0]
    dropped = [] if exclude is None else chosen_columns(exclude, names, first.name, 0)
    if reading.text:
        chosen_columns(reading.text, names, first.name)
    frames = frames_of(datasets, dropped)
    factors = checked_weights(weights or {}, names, first.name)
    chosen = set(names if columns is None else chosen_columns(columns, names, first.name)) - set(dropped)
    fitting = _Fitting(frames, reading, factors, hash_text)
    units = [1.0] * len(names) if frames or scale is None else array_scales(datasets)
    fitting.fit_numbers([name for name in names if name in chosen and factors.get(name, 1.0) != 0])
    for place, column in enumerate(names):
        weight = factors.get(column, 1.0)
        if column in dropped:
            fitting.found[column] = LeftOut(column, EXCLUDED)
        elif column not in chosen:
            fitting.found[column] = LeftOut(column, "not among the chosen columns")
        elif weight == 0:
            fitting.found[column] = LeftOut(column, "weight 0")
        elif not frames:
            fitting.found[column] = ArrayColumn(column, "numeric", weight, units[place])
        else:
            fitting.add(column)
    fitting.finish()
    found = [fitting.found[name] for name in names]
    kept = tuple(entry for entry in found if isinstance(entry, Column))
    left_out = tuple(entry for entry in found if isinstance(entry, LeftOut))
    if not kept:
        reasons = "; ".join(f"{entry.column!r}: {entry.reason}" for entry in left_out[:5])
        raise ValueError(f"no column of {first.name} can be compared ({reasons})")
    return Fitted(kept, left_out, None if frames else first.width, tuple(fitting.remarks))


def array_scales(datasets: Sequence[Dataset]) -> list[float]:
    """Return a robust spread of every column of arrays, all of them together; 1 where nothing varies."""
    arrays = [dataset.array for dataset in datasets]
    edges = np.cumsum([0, *(int(array.shape[0]) for array in arrays if array is not None)])
    chosen = sample_positions(int(edges[-1]), SCALE_ROWS, 0)
    each = [chosen[(chosen >= start) & (chosen < stop)] - start for start, stop in pairwise(edges)]
    rows = rows_at([array for array in arrays if array is not None], each, [d.name for d in datasets])
    found = [robust_scale(column) for column in rows.astype(np.float64).T]
    for column, unit in enumerate(found):
        if 0 < unit < 1 / LARGEST:
            raise ValueError(
                f"the values of column {column} differ by {unit:.3g}, less than a number can be scaled by; "
                "multiply the column by a number such as 1e200 in all datasets"
            )
    return [unit if unit > 0 else 1.0 for unit in found]


def fit_alone(frame: Frame, name: str, reading: Reading) -> Column | LeftOut:
    """Fit a column of one table by itself; text that may be read in two ways is text."""
    fitting = _Fitting([frame], reading, {})
    try:
        fitting.add(name)
        fitting.finish()
    except ValueError:
        fitting = _Fitting([frame], reading.with_text([name]), {})
        fitting.add(name)
    return fitting.found[name]


class _Parts(NamedTuple):
    """A column in every table without words for missing values, its texts if it is text, and these words.

    The words are counted in so many rows: all of a file, where some of them were drawn.
    """

    values: list[Values]
    texts: list[Texts | None]
    words: dict[str, int]
    rows: int


@dataclass
class _Fitting:
    """The columns of tables, one after the other; those that do not tell how they are written wait."""

    frames: Sequence[Frame]
    reading: Reading
    factors: Mapping[str, float]
    hash_text: bool = False
    found: dict[str, Column | LeftOut] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    habits: Habits = field(default_factory=Habits)
    waiting: list[tuple[str, list[Look]]] = field(default_factory=list)
    ready: dict[str, _Fitting] = field(default_factory=dict)

    def fit_numbers(self, names: Sequence[str]) -> None:
        """Fit those columns whose type is one of numbers, which tell nothing of others, for `add` to take."""

        def alone(name: str) -> _Fitting:
            fitting = _Fitting(self.frames, self.reading, self.factors)
            fitting.add(name)
            return fitting

        rows = sum(frame.rows for frame in self.frames)
        if rows < _MANY_ROWS:
            return
        numbers = [name for name in names if all(frame.holds_numbers(name) for frame in self.frames)]
        fitted = each_in_threads(alone, numbers, values=len(numbers) * rows)
        self.ready = dict(zip(numbers, fitted, strict=True))

    def add(self, name: str) -> None:
        """Fit a column, or let it wait."""
        if name in self.ready:
            self.found |= self.ready[name].found
            self.remarks += self.ready[name].remarks
            return
        found = self._parts(name)
        looks = [Look() if text is None else look(text, self.reading) for text in found.texts]
        if any(each.unsure for each in looks):
            self.waiting.append((name, looks))
            return
        self._fit(name, found, looks)

    def finish(self) -> None:
        """Fit the columns that have been waiting, with what the others have told."""
        for name, looks in self.waiting:
            self._fit(name, self._parts(name), looks)

    def _parts(self, name: str) -> _Parts:
        """Return the column in every table."""
        parts, texts, words, rows = [], list[Texts | None](), dict[str, int](), 0
        for frame in self.frames:
            values, found = without_words(frame.values(name), name, self.reading)
            taken, of_rows = frame.words.get(name, ({}, frame.rows))
            for word, times in (*found.items(), *taken.items()):
                words[word] = words.get(word, 0) + times
            rows += of_rows
            parts.append(values)
            is_text = values.text and values.kind == "categorical" and name not in self.reading.text
            texts.append(texts_of(values, frame.owner, name) if is_text else None)
        return _Parts(parts, texts, words, rows)

    def _fit(self, name: str, found: _Parts, looks: Sequence[Look]) -> None:
        parts, texts = found.values, found.texts
        known = [(each, text) for each, text in zip(looks, texts, strict=True) if text is not None]
        form: Form | None = None
        if known:
            form = settle([each for each, _ in known], [text for _, text in known], self.habits)
            self.habits.note(form)
            if form is None:
                self.remarks += [
                    r for each, text in known if each.nearly for r in nearly_all(text, each.nearly)
                ]
        if form is not None:
            for k, text in enumerate(texts):
                if text is not None:
                    parts[k], unread = converted(parts[k], text, form)
                    if unread is not None:
                        self.remarks.append(unread.remark())
        for frame, part in zip(self.frames[1:], parts[1:], strict=True):
            require_kind(part, parts[0], frame.owner, name, self.frames[0].owner)
        weight = self.factors.get(name, 1.0)
        values = _all_rows(parts)
        fitted = fit_column(
            name, values, parts, weight, insist=name in self.factors, hash_text=self.hash_text
        )
        if isinstance(fitted, (NumericColumn, CategoricalColumn)) and form is not None:
            fitted = replace(fitted, form=form)
        elif isinstance(fitted, LeftOut):
            fitted = replace(
                fitted, holds=next((p.holds for p in parts if p.kind is not None), parts[0].holds)
            )
        self.found[name] = fitted
        self.remarks += placeholders(values, found.words, name, found.rows)


def _all_rows(parts: Sequence[Values]) -> Values:
    if len(parts) == 1:
        return parts[0]
    if any(part.trouble for part in parts):
        return Values(None, np.concatenate([part.missing for part in parts]))
    return pooled(parts)


def frames_of(datasets: Sequence[Dataset], dropped: Sequence[str]) -> list[Frame]:
    """Return the rows to fit on, table by table, after checking that all have the same columns.

    There are none of arrays.
    """
    require_same_columns(datasets, dropped)
    frames = [frame for dataset in datasets if (frame := dataset.frame_to_fit()) is not None]
    first = datasets[0]
    if all(dataset.one_column for dataset in datasets) and frames:
        frames = [frame.renamed(first.names[0]) for frame in frames]
    return frames
