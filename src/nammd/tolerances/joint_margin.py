"""What is negligible for a whole table, so that calibrating always works: `joint_margin`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nammd.data.arrays import to_numpy
from nammd.engines.progress import aside
from nammd.errors.checks import between, choice, whole
from nammd.evidence import MIN_ROWS, gather
from nammd.questions.distance import Estimate
from nammd.statistics.pair import Pair
from nammd.statistics.power import power_at
from nammd.tolerances.accepted import AcceptedSet
from nammd.tolerances.bars import Fixed
from nammd.tolerances.equivalents import in_words
from nammd.tolerances.perturbation import KINDS, applies
from nammd.tolerances.reference import Reference

NEGLIGIBLE = {"missing": 0.02}
"""What is negligible by default: so many of all values missing."""

_OF_NUMBERS = {"noise": 0.1}
"""The same where nothing can be missing."""

SHOWN = 0.9
"""How often data without any fault are to be proven within the margin."""

ALPHA = 0.05


def joint_margin(
    bench: Reference,
    estimates: Mapping[str, Estimate],
    accepted: AcceptedSet,
    given: Any,
    rows: int | None,
    made: float = 0.0,
) -> Fixed:
    """Return the margin of the joint distance, with where it came from.

    Parameters
    ----------
    bench : Reference
        The reference.
    estimates : mapping of str to Estimate
        The distances of accepted datasets.
    accepted : AcceptedSet
        What is kept of them.
    given : float, mapping or None
        A distance, or a perturbation, where somebody said what is negligible.
    rows : int or None
        How many rows candidates will have.
    made : float
        The distance that what is negligible makes, where it is a perturbation.
    """
    pilot = _pilot(bench, estimates)
    if given is not None and not isinstance(given, Mapping):
        return Fixed("a number that was given", between(given, "margin"), pilot)
    m = bench.reference.size
    rows = m if rows is None else whole(rows, "rows", MIN_ROWS)
    kind, level = negligible_perturbation(bench, given)
    if given is not None:
        if not made > 0:
            raise ValueError(
                f"{in_words(((kind, level),))} make no measurable distance; take a larger margin"
            )
        return Fixed(in_words(((kind, level),)), made, pilot)
    # Candidates may be like any of the datasets, also like the smallest; and their mixture is fitted.
    smallest = min([m, *(len(each.points) for each in accepted.datasets)])
    resolved = resolution(pilot, smallest, rows)
    if accepted.datasets:
        # A few rows of the reference show how much: this is about what to expect.
        some = bench.reference.taken(bench.reference.representatives[0])
        with aside():
            around = accepted.around(replace(some, points=to_numpy(some.points)))
        # Of rows that belong together, so many tell as much as one.
        alike = max(pilot.moments.x.per_unit, pilot.moments.y.per_unit)
        resolved += around.hull.expected_bias(rows / alike, m / alike) / pilot.scale
    if made >= resolved:
        return Fixed(in_words(((kind, level),)), made, pilot)
    return Fixed(f"what {rows} rows without any fault are proven to be within", resolved, pilot)


def resolution(pilot: Pair, m: int, n: int) -> float:
    """Return the smallest margin within which n rows without any fault are proven to be often enough."""
    low, high = 1e-7, 0.5
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        enough = power_at(pilot, middle, 0.0, m, n, ALPHA) >= SHOWN
        low, high = (low, middle) if enough else (middle, high)
    return high


def negligible_perturbation(bench: Reference, given: Mapping[str, float] | None) -> tuple[str, float]:
    """Return the kind and the level of what is negligible for the whole table."""
    columns = bench.space.encoding.columns
    if given is None:
        given = NEGLIGIBLE if any(applies("missing", column) for column in columns) else _OF_NUMBERS
    if len(given) != 1:
        raise ValueError(f"margin is one perturbation, such as {{'missing': 0.02}}, not {dict(given)!r}")
    [(kind, level)] = given.items()
    choice(kind, "margin", KINDS)
    if not any(applies(kind, column) for column in columns):
        raise ValueError(f"no column can be perturbed by {kind!r}")
    return kind, between(level, f"margin {kind}")


def _pilot(bench: Reference, estimates: Mapping[str, Estimate]) -> Pair:
    """Return how rows vary: of the reference and of the farthest accepted data, or of its own halves."""
    if estimates:
        farthest = max(estimates.values(), key=lambda estimate: estimate.value)
        return farthest.pair.kept(units=False)
    reference = bench.reference
    some = reference.representatives[0]
    pair = reference.taken(some[::2]), reference.taken(some[1::2])
    [evidence] = gather([pair], engine=bench.engine)
    return evidence.pair().kept(units=False)
