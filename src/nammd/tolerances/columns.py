"""What a tolerance allows each column, beside the joint distance: `ColumnTolerances`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from nammd.encoding.constants import Value
from nammd.errors.stored import Stored
from nammd.explaining.facts import SHARE
from nammd.tolerances.former_file import read_former_limits
from nammd.tolerances.limits_file import limits_to_dict, read_limits
from nammd.views.counts import Counts
from nammd.views.limits import ColumnLimit, accepting, made_limits
from nammd.views.measure import Measure
from nammd.views.negligible import Changes, Negligible
from nammd.views.perturbed import perturbed_distances
from nammd.views.relation_file import limits_to_dict as pairs_to_dict
from nammd.views.relation_file import read_limits as read_pairs
from nammd.views.relation_limits import RelationLimits
from nammd.views.serial import MAX
from nammd.views.tally import Tally


@dataclass(frozen=True, eq=False)
class ColumnTolerances:
    """How far each column may be from the reference.

    Attributes
    ----------
    negligible : Negligible
        What is negligible.
    limits : tuple of ColumnLimit or None
        The columns; None where they are made from the reference of every check, since the joint tolerance is
        a number that was made from none.
    pairs : RelationLimits or None
        How differently two columns may go together; None where that is not known, or made likewise.
    constants : mapping of str to tuple of values
        Of columns with one value in the reference: the values that they have in accepted datasets.
    """

    negligible: Negligible
    limits: tuple[ColumnLimit, ...] | None = field(default=None, repr=False)
    pairs: RelationLimits | None = field(default=None, repr=False)
    constants: Mapping[str, tuple[Value, ...]] = field(default_factory=dict, repr=False)

    @property
    def accepted(self) -> dict[str, list[Counts]]:
        """The counts of accepted datasets, by column."""
        return {limit.name: [counts for _, counts in limit.accepted] for limit in self.limits or ()}

    @classmethod
    def of_tallies(
        cls,
        measures: Sequence[Measure],
        negligible: Negligible,
        reference: Tally,
        accepted: Mapping[str, Tally] | None = None,
    ) -> ColumnTolerances:
        """Make them from what the columns of a reference, and of accepted datasets, tell."""
        others = {label: each.columns for label, each in (accepted or {}).items()}
        limits = made_limits(measures, reference.columns, negligible, others)
        constants = _constants({}, accepted or {})
        return cls(negligible, limits, made_pairs(reference, negligible, accepted or {}), constants)

    def accepting(self, tallies: Mapping[str, Tally]) -> ColumnTolerances:
        """Return the same, where columns may also be like those of more datasets."""
        if self.limits is None:
            return self
        limits = accepting(self.limits, {name: each.columns for name, each in tallies.items()})
        pairs, constants = _accepting(self.pairs, tallies), _constants(self.constants, tallies)
        return replace(self, limits=limits, pairs=pairs, constants=constants)

    def perturbed(self, kind: str, level: float) -> ColumnTolerances:
        """Return the same, but a column may be as far away as a perturbation moves it."""
        limits = self.limits or ()
        return replace(
            self,
            limits=tuple(
                replace(limit, fixed=perturbed_distances(limit.reference, kind, level)) for limit in limits
            ),
            pairs=None if self.pairs is None else self.pairs.perturbed(kind, level),
        )

    def tolerances(self) -> dict[str, float]:
        """Return the tolerance of every column: of its values, or of its labels."""
        found = {}
        for limit in self.limits or ():
            each = limit.tolerances()
            if each:
                found[limit.name] = each.get("values", next(iter(each.values())))
        return found

    def negligible_facts(self) -> tuple[tuple[str, float], ...]:
        """Return shares of rows that facts about columns may have, where more than usual is negligible."""
        found = {}
        said = [("", self.negligible.changes), *self.negligible.columns.items()]
        for column, changes in said:
            for code, share in (
                ("new-categories", changes.categories),
                ("vanished-categories", changes.categories),
                ("missing-values", changes.missing),
            ):
                found[f"{code}:{column}" if column else code] = share if share > SHARE else 0.0
        return tuple(found.items())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        changes = {name: _changes(each) for name, each in self.negligible.columns.items()}
        pairs = None if self.pairs is None else pairs_to_dict(self.pairs)
        constants = {name: list(values) for name, values in self.constants.items()}
        return {
            "negligible": _changes(self.negligible.changes),
            "for": changes,
            "limits": None if self.limits is None else limits_to_dict(self.limits),
            "pairs": pairs,
            "constants": constants,
        }

    @classmethod
    def read(cls, stored: Stored) -> ColumnTolerances:
        """Return the tolerances that a file describes."""
        changes = {name: _read_changes(each) for name, each in stored["for"].fields().items()}
        allowed = Negligible(_read_changes(stored["negligible"]), changes)
        if not stored["limits"].there:
            return cls(allowed)
        former = isinstance(stored["limits"].value, list)
        limits = (read_former_limits if former else read_limits)(stored["limits"])
        measures = {limit.name: limit.measure for limit in limits}
        pairs = read_pairs(stored["pairs"], measures) if stored["pairs"].there else None
        constants = {
            name: tuple(_read_value(value) for value in values.each())
            for name, values in stored["constants"].fields().items()
        }
        return cls(allowed, limits, pairs, constants)


def made_pairs(
    reference: Tally, negligible: Negligible, accepted: Mapping[str, Tally]
) -> RelationLimits | None:
    """Return how differently two columns may go together; None where that was not counted."""
    if reference.relations is None:
        return None
    made = RelationLimits.of(reference.relations, negligible).apart(reference.parts)
    return _accepting(made, accepted)


def _accepting(pairs: RelationLimits | None, accepted: Mapping[str, Tally]) -> RelationLimits | None:
    """Return limits of pairs with more datasets; None where one of them was not counted."""
    relations = {label: each.relations for label, each in accepted.items()}
    known = {label: each for label, each in relations.items() if each is not None}
    if pairs is None or len(known) != len(relations):
        return None
    return pairs.accepting(known)


def _constants(
    known: Mapping[str, tuple[Value, ...]], tallies: Mapping[str, Tally]
) -> dict[str, tuple[Value, ...]]:
    """Return the values of constant columns in accepted datasets, with those of more of them."""
    found = {name: dict.fromkeys(values) for name, values in known.items()}
    for tally in tallies.values():
        for name, constant in tally.constants.items():
            found.setdefault(name, {}).update(dict.fromkeys(constant.rows))
    return {name: tuple(values) for name, values in found.items()}


def _changes(changes: Changes) -> dict[str, float]:
    return asdict(changes)


def _read_changes(stored: Stored) -> Changes:
    names = [each.name for each in fields(Changes)]
    return Changes(**{name: stored.only(*names)[name].number(0, 1e6, above=0) for name in names})


def _read_value(stored: Stored) -> Value:
    if isinstance(stored.value, list):
        return tuple(stored.numbers(least=-MAX, most=MAX).tolist())
    if stored.value is None or isinstance(stored.value, str):
        return stored.value
    return stored.number(-MAX, MAX)
