"""The former layout of the file of a tolerance: what it keeps of columns had an entry for each column."""

from __future__ import annotations

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.stored import LARGEST, Stored
from nammd.tolerances.accepted import QUANTILES, ColumnMap, Quantiles
from nammd.tolerances.limits_file import with_units
from nammd.views.limits import ColumnLimit, aspects
from nammd.views.measure import Measure
from nammd.views.serial import CLOCKS, COUNTED, MAX, read_counts


def read_former_limits(stored: Stored) -> tuple[ColumnLimit, ...]:
    """Return the limits of columns that a file describes."""
    return tuple(map(_read_limit, stored.each()))


def read_former_home(stored: Stored, width: int) -> tuple[Quantiles, ...]:
    """Return where the numbers of columns of the reference are."""
    return tuple(_read_quantiles(each, width) for each in stored.each())


def read_former_maps(stored: Stored, width: int) -> tuple[ColumnMap, ...]:
    """Return where the numbers of columns go in an accepted dataset."""
    return tuple(_read_map(each, width) for each in stored.each())


def _read_limit(stored: Stored) -> ColumnLimit:
    measure = _read_measure(stored)
    reference = read_counts(stored["reference"], measure.counted)
    if reference.size < 1:
        raise stored["reference"].wrong("counts of at least one row")
    accepted = tuple(
        (each["label"].text(), read_counts(each, measure.counted)) for each in stored["accepted"].each()
    )
    allowed, fixed = (
        {aspect: each.number(0, 1) for aspect, each in stored[name].fields().items()}
        for name in ("negligible", "fixed")
    )
    for name, numbers in (("negligible", allowed), ("fixed", fixed)):
        if set(numbers) - set(aspects(reference)):
            raise stored[name].wrong(f"numbers for {' and '.join(aspects(reference))}")
    limit = ColumnLimit(measure, reference, allowed, accepted, fixed)
    return with_units(limit, stored["groups"], stored["accepted_groups"]) if "groups" in stored else limit


def _read_measure(stored: Stored) -> Measure:
    return Measure(
        stored["name"].text(),
        stored["kind"].text(),
        stored["counted"].one_of(*COUNTED),
        stored["center"].number(-MAX, MAX),
        stored["scale"].number(0, MAX, above=0),
        stored["clock"].one_of(*CLOCKS),
        stored["of_array"].truth(),
    )


def _read_map(stored: Stored, width: int) -> ColumnMap:
    before = _ascending(stored["before"])
    if not len(before):
        raise stored["before"].wrong("at least one number")
    return ColumnMap(*_slots(stored, width), before, stored["after"].unpacked(len(before)))


def _read_quantiles(stored: Stored, width: int) -> Quantiles:
    values = _ascending(stored["values"], len(QUANTILES))
    return Quantiles(*_slots(stored, width), stored["unit"].number(1 / LARGEST), values)


def _slots(stored: Stored, width: int) -> tuple[int, int]:
    return stored["slot"].whole(0, width - 1), stored["flag"].whole(-1, width - 1)


def _ascending(stored: Stored, size: int | None = None) -> FloatArray:
    found = stored.unpacked(size)
    if (np.diff(found) < 0).any():
        raise stored.wrong("numbers in ascending order")
    return found
