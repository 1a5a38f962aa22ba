"""What is negligible in a column, in a unit that people know, and the distance that it makes: `Negligible`.

Each change is made to the reference itself, in its counts, so the distance is exact for these data: that of
the rows to what they would be if the change had happened to them. A row is not compared with its own copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.checks import between
from nammd.errors.naming import suggestion
from nammd.views.counts import Counts, LabelCounts, NumberCounts
from nammd.views.lattice import bent, straight
from nammd.views.stacked import stacked_samples
from nammd.views.support import APART, Labels


@dataclass(frozen=True)
class Changes:
    """How much may change in one column without mattering.

    Attributes
    ----------
    shift : float
        Of numbers and times: by how many robust standard deviations all may move.
    categories : float
        Of labels: the share of the rows that may have another one.
    missing : float
        The share of the rows that may lose, or gain, a value.
    relation : float
        By how much it may go together differently with another column: about a change of a correlation. Of
        two columns the larger one counts.
    """

    shift: float = 0.1
    categories: float = 0.01
    missing: float = 0.01
    relation: float = 0.1

    def distance(self, aspect: str, reference: Counts) -> float:
        """Return the distance that these changes make in one aspect of a column."""
        if isinstance(reference, NumberCounts):
            return float(shifted_distances([(reference, self.shift)])[0])
        lost = _lost(reference, self.missing)
        return lost if aspect == "missing" else max(lost, _relabelled(reference, self.categories))


@dataclass(frozen=True)
class Negligible:
    """What is negligible, in all columns or in one of them.

    Attributes
    ----------
    changes : Changes
        In columns that are not named.
    columns : mapping of str to Changes
        In those that are.

    Examples
    --------
    >>> from nammd.views.negligible import Negligible
    >>> allowed = Negligible.of({"shift": 0.2, "income": {"missing": 0.05}})
    >>> allowed.of_column("age").shift, allowed.of_column("income").missing
    (0.2, 0.05)
    """

    changes: Changes = Changes()
    columns: Mapping[str, Changes] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any) -> Negligible | None:
        """Read what somebody passed: None or True for the defaults, False for nothing, or a mapping."""
        if given is None or given is True:
            return cls()
        if given is False:
            return None
        if isinstance(given, Negligible):
            return given
        if not isinstance(given, Mapping):
            raise TypeError(f"negligible must be a mapping such as {{'shift': 0.1}}, or False, not {given!r}")
        every = {str(name): value for name, value in given.items() if not isinstance(value, Mapping)}
        changes = _changed(Changes(), every)
        columns = {
            str(name): _changed(changes, value) for name, value in given.items() if isinstance(value, Mapping)
        }
        return cls(changes, columns)

    def of_column(self, name: str) -> Changes:
        """Return what is negligible in a column."""
        return self.columns.get(name, self.changes)

    def require_known(self, names: tuple[str, ...]) -> None:
        """Refuse columns that are not there."""
        for name in self.columns:
            if name not in names:
                raise ValueError(
                    f"negligible names a column {name!r} that is not compared; {suggestion(name, names)}"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self.changes) | {name: asdict(changes) for name, changes in self.columns.items()}


def _changed(changes: Changes, given: Mapping[str, Any]) -> Changes:
    known = [each.name for each in fields(Changes)]
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"negligible has no {name!r}; {suggestion(str(name), known)}")
        if name != "shift":
            between(value, f"negligible {name}")
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 8:
            raise ValueError(
                f"negligible shift must be a number of standard deviations above 0, not {value!r}"
            )
    return replace(changes, **{str(name): float(value) for name, value in given.items()})


def moved_by(reference: NumberCounts, shift: float) -> NumberCounts:
    """Return counts with every number moved by so many units."""
    places = bent(straight(reference.places) + shift)
    return NumberCounts(places, reference.rows, reference.missing, True).on_lattice()


def shifted_distances(columns: Sequence[tuple[NumberCounts, float]]) -> FloatArray:
    """Return the distances of columns of numbers to the same moved: those of a row and of another one's copy.

    All at once: there may be very many columns.
    """
    if not columns:
        return np.empty(0)
    lengths = [len(reference.places) for reference, _ in columns]
    every = np.concatenate([reference.places for reference, _ in columns])
    moved = bent(straight(every) + np.repeat([shift for _, shift in columns], lengths))
    alike, ends = np.exp(-0.5 * (moved - every) ** 2), np.cumsum(lengths).tolist()
    samples, pairs = list[tuple[Counts, Counts]](), np.zeros(len(columns))
    for k, (reference, _) in enumerate(columns):
        here = slice(ends[k] - lengths[k], ends[k])
        pairs[k] = reference.rows @ alike[here]
        copy = NumberCounts(moved[here], reference.rows, reference.missing, True)
        if not reference.exact:
            copy = copy.on_lattice()
        samples.append((reference, copy))  # of values the copies have places of their own
    found = np.zeros(len(columns))
    filled = [k for k, (reference, _) in enumerate(columns) if reference.places.size]
    for some, x, y in stacked_samples([samples[k] for k in filled]):
        which, m = np.array(filled)[some], x.size
        xx, yy = ((np.vecdot(s.rows, s.seen) - m) / (m * (m - 1)) for s in (x, y))
        xy = (np.vecdot(x.rows, y.seen) - pairs[which]) / (m * (m - 1))
        found[which] = (xx + yy - 2 * xy) / (4.0 - xx - yy)
    return found


def _lost(reference: LabelCounts, share: float) -> float:
    """Return the distance to the same rows of which a share, drawn at random, has lost its value."""
    own, missing = _means(tuple(reference.rows.values()), reference.missing)
    return distance_to_mixture(own, missing, share)


def _relabelled(reference: LabelCounts, share: float) -> float:
    """Return the distance to the same rows of which a share has another label, one that was not there."""
    own, _ = _means(tuple(reference.rows.values()), reference.missing)
    return distance_to_mixture(own, APART, share)


@lru_cache(maxsize=4096)  # whether values are there is alike in most columns of a table
def _means(labels: tuple[float, ...], missing: float) -> tuple[float, float]:
    """Return the mean kernel value of two rows with some labels, and of a row and a missing label."""
    rows = np.array([*labels, missing])
    seen = Labels({}).apply(rows[:, None])[:, 0]
    m = round(float(rows.sum()))
    return (float(rows @ seen) - m) / (m * (m - 1)), float(seen[-1]) / m


def distance_to_mixture(own: float, across: float, share: float) -> float:
    """Return the distance of P to (1 - s) P + s Q, Q one label, by mean kernel values: of P, and of both."""
    squared = share**2 * (own + 1.0 - 2 * across)
    mixed = (1 - share) ** 2 * own + 2 * share * (1 - share) * across + share**2
    return squared / (4.0 - own - mixed)
