"""What a sketch keeps of rows that belong together: `SketchUnits`.

Totals over groups add up, as those over rows do. What does not is a group whose rows are in two parts that
were sketched apart: it counts as two groups, and pairs of its rows are compared. So a sketch keeps a short
trace of the labels of its groups, by which such groups are counted when sketches are added, and groups that
are in both of two sketches are found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.errors.checks import counted
from nammd.statistics.totals import UnitTotals
from nammd.views.grouped import AspectUnits, ColumnUnits

TRACED = 65_536
"""Of so many groups the trace is complete; of more it is a sample, and groups in common are estimated."""

_ALL = 2.0**64


@dataclass(frozen=True, eq=False)
class Trace:
    """Hashes of the labels of groups: all of them, or the smallest.

    Attributes
    ----------
    hashes : array of uint64
        The hashes, ascending.
    below : float
        Every label with a hash below this has it here.
    """

    hashes: NDArray[np.uint64] = field(repr=False)
    below: float = _ALL

    @classmethod
    def of(cls, labels: Iterable[str]) -> Trace:
        """Note labels.

        >>> one, two = Trace.of(["ann", "bob"]), Trace.of(["bob", "eve"])
        >>> one.common(two), len(one.joined(two).hashes)
        (1, 3)
        """
        texts = (label.encode("utf-8", "surrogatepass") for label in labels)
        digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
        return cls(np.unique(np.frombuffer(digests, dtype="<u8").astype(np.uint64)))._short()

    def joined(self, other: Trace) -> Trace:
        """Return the trace of both."""
        below = min(self.below, other.below)
        every = np.union1d(self.hashes, other.hashes)
        return Trace(every[every.astype(np.float64) < below], below)._short()

    def common(self, other: Trace) -> int:
        """Return how many labels are in both; estimated where a trace is not complete."""
        below = min(self.below, other.below)
        both = np.intersect1d(self.hashes, other.hashes, assume_unique=True)
        return round(int(np.count_nonzero(both.astype(np.float64) < below)) * (_ALL / below))

    def _short(self) -> Trace:
        if len(self.hashes) <= TRACED:
            return self
        return Trace(self.hashes[:TRACED], float(self.hashes[TRACED]))


@dataclass(frozen=True, eq=False)
class SketchUnits:
    """The groups of a sketch.

    Attributes
    ----------
    totals : UnitTotals
        Totals over groups: of random features and their products, and of sizes.
    by : str
        What the groups are: the name of a column, ``"group"`` for labels that came with the data, or empty
        where every row is one.
    weights_by : str
        Where the weights of rows came from; empty where all count alike.
    trace : Trace
        A trace of the labels.
    split : int
        How many groups were found again in a sketch that was added: each counts as one more group.
    columns : mapping of str to ColumnUnits, or None
        Totals over groups of the columns of a table by themselves.
    """

    totals: UnitTotals
    by: str
    weights_by: str
    trace: Trace
    split: int = 0
    columns: Mapping[str, ColumnUnits] | None = field(default=None, repr=False)

    def __add__(self, other: SketchUnits) -> SketchUnits:
        columns = None
        if self.columns is not None and other.columns is not None:
            columns = {name: _added(units, other.columns[name]) for name, units in self.columns.items()}
        return SketchUnits(
            self.totals + other.totals,
            self.by,
            self.weights_by,
            self.trace.joined(other.trace),
            self.split + other.split + self.trace.common(other.trace),
            columns,
        )

    @property
    def count(self) -> int:
        """The number of groups."""
        return self.totals.count

    @property
    def said(self) -> tuple[str, str]:
        """What the groups are and where the weights came from."""
        return self.by, self.weights_by

    def described(self) -> str:
        """Say what belongs together, for the sketch as text."""
        by = f" by {self.by}" if self.by != "group" else ""
        groups = f"in {counted(self.count, 'group')}{by}" if self.by else ""
        weights = f"weighted by {self.weights_by}" if self.weights_by else ""
        return " ".join(part for part in (groups, weights) if part)


def difference_in_units(one: SketchUnits | None, other: SketchUnits | None) -> str:
    """Say in what two sketches differ by how their rows belong together; empty where in nothing."""
    said = [("", "") if units is None else units.said for units in (one, other)]
    if said[0] == said[1]:
        return ""
    if said[0][0] != said[1][0]:
        words = [f"with groups by {by[:80]}" if by else "without groups" for by, _ in said]
    else:
        words = [f"with row weights by {by[:80]}" if by else "without row weights" for _, by in said]
    return f"one was made {words[0]}, the other {words[1]}"


def _added(one: ColumnUnits, other: ColumnUnits) -> ColumnUnits:
    return {aspect: _merged(units, other.get(aspect)) for aspect, units in one.items()}


def _merged(one: AspectUnits, other: Any) -> AspectUnits:
    return one if other is None else one.merged(other)
