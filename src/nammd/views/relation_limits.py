"""How much a pair of columns may go together differently, and whether one does: `RelationLimits`.

A pair is beyond its tolerance if it goes together differently, by more than is negligible, from each mixture
of the reference and the accepted datasets that is tried: all of them by themselves, the mixture that the
candidate as a whole is nearest to, and some between them. Trying more can only make fewer pairs beyond.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.adjusting import holm
from nammd.statistics.relation import aligned, beyond, difference, relation_of
from nammd.views.limits import HOPELESS
from nammd.views.negligible import Negligible
from nammd.views.relations import SampleRelations, mixed

_STEPS = (0.5, 0.25, 0.75)


@dataclass(frozen=True)
class PairCheck:
    """Two columns, and whether they go together as what was accepted.

    Attributes
    ----------
    names : tuple of str
        What people call the columns.
    change : float
        How much the way they go together differs, about as a change of a correlation.
    tolerance : float
        How much it may.
    pvalue, adjusted : float
        Of "by more than that", alone and adjusted for the number of pairs by Holm's method.
    beyond : bool
        Whether that is proven.
    ordered : bool
        Whether both are numbers.
    tables : tuple of array
        The shares of rows by the classes of both columns, of the reference and of the candidate.
    """

    names: tuple[str, str]
    change: float
    tolerance: float
    pvalue: float
    ordered: bool
    tables: tuple[FloatArray, FloatArray] = field(repr=False, compare=False)
    adjusted: float = 1.0
    beyond: bool = False

    @property
    def name(self) -> str:
        """What people call the pair."""
        return f"{self.names[0]} and {self.names[1]}"

    @property
    def before(self) -> float:
        """How strongly they went together: rank correlation, or Cramér's V where labels are among them."""
        return self._strength(self.tables[0])

    @property
    def now(self) -> float:
        """How strongly they do in the candidate."""
        return self._strength(self.tables[1])

    def _strength(self, table: FloatArray) -> float:
        return rank_correlation(table) if self.ordered else cramers_v(table)

    def doubtful(self, alpha: float) -> bool:
        """Tell whether it would be beyond its tolerance if pairs were all that is looked at."""
        return self.adjusted <= alpha and not self.beyond

    @property
    def ratio(self) -> float:
        """The change over what it may be."""
        return self.change / self.tolerance

    def words(self) -> str:
        """Say how the two went together, and how they do now."""
        before, now = self.before, self.now
        told = "no longer go together" if abs(now) < abs(before) / 2 else "go together differently"
        if abs(before - now) < 0.05:
            return f"{self.name} {told}"
        what = "rank correlation" if self.ordered else "association"
        return f"{self.name} {told}: {what} {before:.2f} -> {now:.2f}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "columns": list(self.names),
            "change": self.change,
            "tolerance": self.tolerance,
            "ratio": self.ratio,
            "pvalue": self.pvalue,
            "adjusted": self.adjusted,
            "beyond": self.beyond,
            "measure": "rank correlation" if self.ordered else "association",
            "before": self.before,
            "now": self.now,
        }


@dataclass(frozen=True, eq=False)
class RelationLimits:
    """How much every pair of columns may go together differently.

    Attributes
    ----------
    reference : SampleRelations
        The reference, as it was when the limits were made.
    negligible : array of shape (pairs,)
        The change that is negligible.
    accepted : tuple of (str, SampleRelations)
        The accepted datasets, by their names.
    """

    reference: SampleRelations
    negligible: FloatArray = field(repr=False)
    accepted: tuple[tuple[str, SampleRelations], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, reference: SampleRelations, negligible: Negligible) -> RelationLimits:
        """Make them from a reference, and from what is negligible."""
        least = [
            max(negligible.of_column(name).relation for name in names) for names in reference.columns.pairs
        ]
        return cls(reference.kept(), np.array(least))

    def accepting(self, others: Mapping[str, SampleRelations]) -> RelationLimits:
        """Return the same, where columns may also go together as in other datasets."""
        more = tuple((label, each.kept()) for label, each in others.items())
        return replace(self, accepted=self.accepted + more)

    def perturbed(self, kind: str, level: float) -> RelationLimits:
        """Return the same, but columns may go together as much less as a perturbation makes them."""
        left = np.empty(len(self.negligible))
        for k in range(len(left)):
            factors = [_left(each.ordered, kind, level) for each in self.reference.both(k)]
            left[k] = factors[0] * factors[1]
        lost = (1 - left) * np.array([_strength(self.reference, k) for k in range(len(left))])
        return replace(self, negligible=np.maximum(self.negligible, lost))

    def apart(self, others: Sequence[SampleRelations]) -> RelationLimits:
        """Return the same, but columns may go together as differently as in some parts of the reference."""
        far = self.negligible.copy()
        for other in others:
            for pairs in (self.reference if other.grouped is None else other).stacks:
                apart = difference(self.reference.relation(pairs), other.relation(pairs)).tolist()
                changes = [_in_units(each, self.reference, k) for each, k in zip(apart, pairs, strict=True)]
                far[pairs] = np.maximum(far[pairs], changes)
        return replace(self, negligible=far)


def check_relations(
    limits: RelationLimits,
    reference: SampleRelations,
    candidate: SampleRelations,
    level: float,
    like: Mapping[str, float] | None = None,
    unlike: Collection[str] = (),
) -> tuple[PairCheck, ...]:
    """Hold every pair of columns of a candidate against its limit.

    Parameters
    ----------
    limits : RelationLimits
        The limits.
    reference : SampleRelations
        The reference of this check.
    candidate : SampleRelations
        The candidate.
    level : float
        The level for all pairs together.
    like : mapping of str to float, optional
        Which mixture of accepted datasets the candidate as a whole is nearest to.
    unlike : collection of str
        Moments in time that are others than in the reference: what goes together with them is others, too.

    Returns
    -------
    tuple of PairCheck
        Those beyond their tolerance first, then by their change over it; none where rows are too few.
    """
    if not (reference.enough and candidate.enough):
        return ()
    others = [each for _, each in limits.accepted if each.enough]
    labels = [label for label, each in limits.accepted if each.enough]
    tried = list(_mixtures(labels, like or {}))
    pvalues, changes = np.ones(len(limits.negligible)), np.zeros(len(limits.negligible))
    stacks = (reference if candidate.grouped is None else candidate).stacks
    for pairs in stacks:
        unit = reference.unit[pairs]
        margin = limits.negligible[pairs] ** 2 * unit
        [before], now = aligned([reference.cells(pairs)], candidate.cells(pairs))
        x, y = reference.relation(pairs, before), candidate.relation(pairs, now)
        apart, varies = np.maximum(difference(x, y), 0.0), unit > 0
        # A column of which nearly all rows are alike goes together with none.
        changes[pairs] = np.divide(apart, unit, out=np.zeros_like(apart), where=varies)
        pvalues[pairs] = np.where(varies, beyond(x, y, margin), 1.0)
    for k, names in enumerate(candidate.columns.pairs if unlike else ()):
        if any(name in unlike for name in names):
            pvalues[k] = 1.0
    for pairs in stacks if others else ():
        left = [k for k in pairs if pvalues[k] < HOPELESS]
        for shares in tried:
            if not left:
                break
            parts, now = aligned(mixed([reference, *others], shares, left), candidate.cells(left))
            mixture, y = relation_of(parts), candidate.relation(left, now)
            unit = reference.unit[left]
            apart = np.maximum(difference(mixture, y), 0.0) / unit
            found = beyond(mixture, y, limits.negligible[left] ** 2 * unit)
            for k, pvalue, change in zip(left, found.tolist(), apart.tolist(), strict=True):
                if pvalue > pvalues[k]:
                    pvalues[k], changes[k] = pvalue, change
            left = [k for k, pvalue in zip(left, found.tolist(), strict=True) if pvalue < HOPELESS]
    adjusted = holm(pvalues.tolist())
    checks = [
        PairCheck(
            names=(one.measure.title, two.measure.title),
            change=change,
            tolerance=tolerance,
            pvalue=pvalue,
            ordered=one.ordered and two.ordered,
            tables=(reference.table(k), candidate.table(k)),
            adjusted=p,
            beyond=p <= level,
        )
        for k, ((one, two), change, tolerance, pvalue, p) in enumerate(
            zip(
                map(reference.both, range(len(pvalues))),
                np.sqrt(changes).tolist(),
                limits.negligible.tolist(),
                pvalues.tolist(),
                adjusted,
                strict=True,
            )
        )
    ]
    return tuple(sorted(checks, key=lambda each: (-each.beyond, -each.ratio)))


def _mixtures(labels: Sequence[str], like: Mapping[str, float]) -> Iterator[list[float]]:
    """Yield the mixtures that are tried, as shares of the reference and of every accepted dataset."""
    count = len(labels)
    for k in range(count):
        yield [float(j == k + 1) for j in range(count + 1)]
    if count and like:
        shares = [like.get(label, 0.0) for label in ("reference", *labels)]
        total = sum(shares)
        if total > 0:
            yield [share / total for share in shares]
    for step in _STEPS:
        for k in range(count):
            yield [1 - step, *(step * (j == k) for j in range(count))]


def _strength(sample: SampleRelations, pair: int) -> float:
    """Return how strongly two columns go together, in the unit of changes."""
    return _in_units(float(sample.relation([pair]).squared[0]), sample, pair)


def _in_units(squared: float, sample: SampleRelations, pair: int) -> float:
    """Return the size of a squared covariance; a column that does not vary goes together with none."""
    unit = float(sample.unit[pair])
    return float(np.sqrt(max(squared, 0.0) / unit)) if unit > 0 else 0.0


def _left(ordered: bool, kind: str, level: float) -> float:
    """Return how much of its covariance with others a perturbation leaves of a column."""
    if kind == "noise":
        return 1 / np.sqrt(1 + level**2) if ordered else 1.0
    return 1.0 - level if kind == "missing" or not ordered else 1.0


def rank_correlation(table: FloatArray) -> float:
    """Return the rank correlation of two columns of numbers, by their classes."""
    inner = table[:-1, :-1]
    total = inner.sum()
    if total == 0:
        return 0.0
    ranks, spreads = [], []
    for axis in (1, 0):
        shares = inner.sum(axis=axis) / total
        ranks.append(np.cumsum(shares) - shares / 2 - 0.5)
        spreads.append(float(shares @ ranks[-1] ** 2))
    if spreads[0] * spreads[1] <= 0:
        return 0.0
    return float(ranks[0] @ (inner / total) @ ranks[1]) / float(np.sqrt(spreads[0] * spreads[1]))


def cramers_v(table: FloatArray) -> float:
    """Return Cramér's V of two columns, by their classes."""
    kept = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(kept.shape) < 2:
        return 0.0
    shares = kept / kept.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    squared = float(((shares - expected) ** 2 / expected).sum())
    return float(np.sqrt(squared / (min(kept.shape) - 1)))
