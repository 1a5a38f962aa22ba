"""What a tolerance allows each column, beside the joint distance: `ColumnTolerances`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nammd.data.dataset import Dataset
from nammd.encoding import Encoding
from nammd.views.counting import count_columns, count_parts
from nammd.views.grouped import ColumnUnits, has_units, unit_columns
from nammd.views.limits import ColumnLimit, made_limits
from nammd.views.measure import measures_of
from nammd.views.negligible import Changes, Negligible
from nammd.views.perturbed import block_distances, perturbed_distances, unit_block_distances
from nammd.views.serial import (
    counts_from_dict,
    counts_to_dict,
    measure_from_dict,
    measure_to_dict,
    units_from_dict,
    units_to_dict,
)
from nammd.views.unit_negligible import negligible_by_groups


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
    """

    negligible: Negligible
    limits: tuple[ColumnLimit, ...] | None = field(default=None, repr=False)

    @classmethod
    def of_reference(
        cls,
        encoding: Encoding,
        reference: Dataset,
        negligible: Any,
        accepted: Mapping[str, Dataset] | None = None,
    ) -> ColumnTolerances | None:
        """Count a reference and accepted datasets; None where columns are to have no tolerances."""
        allowed = Negligible.of(negligible)
        if allowed is None:
            return None
        measures = measures_of(encoding, reference)
        counts = count_columns(reference, measures, encoding)
        accepted = accepted or {}
        others = {label: count_columns(data, measures, encoding) for label, data in accepted.items()}
        if not has_units(reference):
            return cls(allowed, made_limits(measures, counts, allowed, others))
        units = unit_columns(reference, measures, encoding)
        groups = {label: unit_columns(data, measures, encoding) for label, data in accepted.items()}
        least = negligible_by_groups(reference, measures, encoding, allowed)
        limits = made_limits(
            measures, counts, allowed, others, units=units, accepted_units=groups, by_groups=least
        )
        return cls(allowed, limits)

    def with_blocks(self, encoding: Encoding, reference: Dataset, edges: Sequence[int]) -> ColumnTolerances:
        """Return the same, but a column may be as far away as a block of the reference is from the rest."""
        limits = self.limits or ()
        units = reference.units
        if units is not None and has_units(reference) and not units.all_alike:
            measures = [limit.measure for limit in limits]
            far = unit_block_distances(reference, measures, edges, encoding)
            return replace(self, limits=tuple(replace(limit, fixed=far[limit.name]) for limit in limits))
        parts = count_parts(reference, [limit.measure for limit in limits], edges, encoding)
        return replace(
            self,
            limits=tuple(
                replace(limit, fixed=block_distances([part[limit.name] for part in parts]))
                for limit in limits
            ),
        )

    def perturbed(self, kind: str, level: float) -> ColumnTolerances:
        """Return the same, but a column may be as far away as a perturbation moves it."""
        limits = self.limits or ()
        return replace(
            self,
            limits=tuple(
                replace(limit, fixed=perturbed_distances(limit.reference, kind, level)) for limit in limits
            ),
        )

    def of_gate(self, encoding: Encoding, reference: Dataset) -> tuple[ColumnLimit, ...]:
        """Return the limits for checks with a reference."""
        if self.limits is not None:
            return self.limits
        measures = measures_of(encoding, reference)
        units = unit_columns(reference, measures, encoding) if has_units(reference) else None
        counts = count_columns(reference, measures, encoding)
        least = negligible_by_groups(reference, measures, encoding, self.negligible)
        return made_limits(measures, counts, self.negligible, units=units, by_groups=least)

    def tolerances(self) -> dict[str, float]:
        """Return the tolerance of every column: of its values, or of its labels."""
        found = {}
        for limit in self.limits or ():
            each = limit.tolerances()
            if each:
                found[limit.name] = each.get("values", next(iter(each.values())))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        limits = None if self.limits is None else [_limit_to_dict(limit) for limit in self.limits]
        changes = {name: _changes(each) for name, each in self.negligible.columns.items()}
        return {"negligible": _changes(self.negligible.changes), "for": changes, "limits": limits}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ColumnTolerances:
        """Return the tolerances that plain values describe."""
        changes = {str(name): Changes(**each) for name, each in stored["for"].items()}
        allowed = Negligible(Changes(**stored["negligible"]), changes)
        if stored["limits"] is None:
            return cls(allowed)
        return cls(allowed, tuple(_limit_from_dict(each) for each in stored["limits"]))


def _changes(changes: Changes) -> dict[str, float]:
    return {"shift": changes.shift, "categories": changes.categories, "missing": changes.missing}


def _limit_to_dict(limit: ColumnLimit) -> dict[str, Any]:
    groups = {}
    if limit.units is not None:
        accepted = [units_to_dict(units) for units in limit.accepted_units]
        groups = {"groups": units_to_dict(limit.units), "accepted_groups": accepted}
    return {
        **groups,
        **measure_to_dict(limit.measure),
        "negligible": dict(limit.negligible),
        "fixed": dict(limit.fixed),
        "reference": counts_to_dict(limit.reference),
        "accepted": [{"label": label, **counts_to_dict(counts)} for label, counts in limit.accepted],
    }


def _limit_from_dict(stored: Mapping[str, Any]) -> ColumnLimit:
    units: ColumnUnits | None = None
    groups: tuple[ColumnUnits, ...] = ()
    if "groups" in stored:
        units = units_from_dict(stored["groups"])
        groups = tuple(units_from_dict(each) for each in stored["accepted_groups"])
    return ColumnLimit(
        measure_from_dict(stored),
        counts_from_dict(stored["reference"]),
        {str(aspect): float(value) for aspect, value in stored["negligible"].items()},
        tuple((str(each["label"]), counts_from_dict(each)) for each in stored["accepted"]),
        {str(aspect): float(value) for aspect, value in stored["fixed"].items()},
        units,
        groups,
    )
