"""Made-up tables of mixed and correlated columns, as `nammd` sees them: values, an encoding, points.

Columns go round: normal, lognormal, few whole numbers, three labels, normal with missing values. What makes
a column differ is a shift of its numbers, another mix of its labels, more missing values; a factor says how
much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nammd.data.values import Values
from nammd.encoding.choosing import robust_scale
from nammd.encoding.columns import CategoricalColumn, Column, NumericColumn
from nammd.views.measure import Measure
from nammd.views.relations import Columns, RelationCounter, SampleRelations
from nammd.views.tally import ColumnTally

KINDS = ("normal", "lognormal", "few values", "labels", "missing")
LABELS = ("a", "b", "c")
SHARES = np.array([0.5, 0.3, 0.2])
CORRELATION = 0.3


@dataclass(frozen=True)
class Drawn:
    """A table that was drawn: the values of its columns by name."""

    columns: dict[str, Values]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())).missing)


def draw(rng: np.random.Generator, rows: int, columns: int, apart: dict[int, float] | None = None) -> Drawn:
    """Draw a table; `apart` says by how much which columns differ from those of the reference."""
    common = rng.normal(size=(rows, 1))
    latent = np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * rng.normal(size=(rows, columns))
    found = {}
    for k in range(columns):
        by = (apart or {}).get(k, 0.0)
        found[f"c{k}"] = _values(rng, KINDS[k % len(KINDS)], latent[:, k], by)
    return Drawn(found)


def _values(rng: np.random.Generator, kind: str, latent: np.ndarray, by: float) -> Values:
    nothing = np.zeros(len(latent), dtype=bool)
    if kind == "labels":
        from scipy.special import ndtr

        shares = SHARES + by * np.array([-0.15, 0.05, 0.1])
        codes = np.searchsorted(np.cumsum(shares)[:-1], ndtr(latent)).astype(np.intp)
        return Values("categorical", nothing, codes=codes, categories=LABELS)
    if kind == "lognormal":
        return Values("numeric", nothing, numbers=np.exp(0.5 * (latent + 0.3 * by)))
    if kind == "few values":
        return Values("numeric", nothing, numbers=np.round(2 * (latent + 0.3 * by)))
    if kind == "missing":
        gone = rng.random(len(latent)) < 0.1 + 0.1 * by
        return Values("numeric", gone, numbers=np.where(gone, np.nan, latent))
    return Values("numeric", nothing, numbers=latent + 0.3 * by)


@dataclass(frozen=True)
class Frozen:
    """What is fitted on a reference: how columns become points, and how they are counted."""

    encoders: tuple[Column, ...]
    measures: tuple[Measure, ...]

    @classmethod
    def fit(cls, reference: Drawn) -> Frozen:
        """Fit on a reference, as the encoding of a table does."""
        encoders: list[Column] = []
        measures = []
        for name, values in reference.columns.items():
            if values.numbers is None:
                encoders.append(CategoricalColumn(name, "categorical", 1.0, LABELS))
                measures.append(Measure(name, "categorical", "labels"))
                continue
            present = values.numbers[~values.missing]
            center, scale = float(np.median(present)), robust_scale(present)
            encoders.append(NumericColumn(name, "numeric", 1.0, center, scale))
            measures.append(Measure(name, "numeric", "numbers", center, scale))
        return cls(tuple(encoders), tuple(measures))

    def points(self, table: Drawn) -> np.ndarray:
        """Return rows as points."""
        parts = []
        for each in self.encoders:
            values = table.columns[each.name]
            parts.append(np.zeros((len(values.missing), each.width)))
            each.write(values, parts[-1])
        return np.hstack(parts)

    def tally(self, table: Drawn) -> dict[str, ColumnTally]:
        """Return the counts of all columns."""
        return {
            measure.name: ColumnTally(measure.count(table.columns[measure.name])) for measure in self.measures
        }

    def relations(self, table: Drawn, columns: Columns | None = None) -> SampleRelations:
        """Return how all columns go together; `columns` are those of the reference."""
        counter = RelationCounter(columns, None)
        for measure in self.measures:
            counter.add(measure, table.columns[measure.name])
        return counter.found()
