"""What makes a tolerance meaningless, found before anybody relies on it.

Each is a refusal that says what to do. A person who knows better can keep a column (`keep`) or a tolerance
that hides nearly everything (`anyway`); the caution then travels with the tolerance.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from typing import Any

from nammd.data.arrays import is_spread, to_numpy
from nammd.data.blocks_in_time import TimeBlocks
from nammd.errors.advice import Advice, Caution, refusal
from nammd.errors.naming import listed
from nammd.results import number
from nammd.spaces import Sample
from nammd.tolerances.leaky_columns import Separating, ordered_by, separating

WIDE = 0.5
"""A tolerance as far as such a share of all values missing has hardly any fault beyond it."""

RESOLVED = 0.5
"""A fault-free file has to be called CLOSE with at least this probability."""


def refuse_no_difference(epsilon: float) -> None:
    """Refuse accepted data that cannot be told from the reference; `epsilon` is the largest distance."""
    if not epsilon > 0:
        raise refusal(
            ValueError,
            "the accepted data cannot be told apart from the reference (its estimated distance is "
            f"{epsilon:.3g}), so it sets no tolerance",
            Advice(
                "use Tolerance.from_split or Tolerance.from_noise instead, or an accepted dataset that "
                "really differs",
                "use --split or --noise instead, or an accepted dataset that really differs",
            ),
        )


def refuse_blocks(groups: Any) -> None:
    """Refuse blocks of time where the reference is compared with copies of it."""
    if isinstance(groups, TimeBlocks):
        raise refusal(
            ValueError,
            "a perturbed copy is no series of its own, so blocks of time do not go with a tolerance from "
            "noise",
            Advice("use Tolerance.from_reference or Tolerance.from_split", "use ACCEPTED or --split"),
        )


def refuse_separating_columns(
    reference: Sample,
    accepted: Mapping[str, Sample],
    keep: Collection[str],
    without: Callable[[tuple[str, ...]], float],
    epsilon: float,
) -> None:
    """Refuse accepted data that a single column tells from the reference.

    `without` returns the distance of the farthest accepted dataset with some columns left out.
    """
    encoding = reference.space.encoding
    if encoding.array_columns is not None or is_spread(reference.points):
        return
    found: dict[str, Separating] = {}
    which: list[str] = []
    for name, sample in accepted.items():
        told = [
            each
            for each in separating(encoding, to_numpy(reference.points), to_numpy(sample.points))
            if each.column not in keep
        ]
        if told:
            which.append(name)
            found |= {each.column: each for each in told}
    if not found:
        return
    names = tuple(found)
    words = "; ".join(each.sentence() for each in found.values())
    plural = len(names) > 1
    if len(names) < len(encoding.columns):
        compared = f"The distance is {number(epsilon)} with {'them' if plural else 'it'}, and "
        compared += f"{number(without(names))} without"
    else:
        compared = f"The distance is {number(epsilon)}, and no other column is left"
    chosen = ", ".join(repr(name) for name in names)
    raise refusal(
        ValueError,
        f"the {'columns' if plural else 'column'} {listed(names)} alone {'tell' if plural else 'tells'} "
        f"{listed(which)} from the reference: {words}. With such a column the others hardly count. "
        f"{compared}",
        Advice(
            f"leave {'them' if plural else 'it'} out with space={{'exclude': [{chosen}]}}, or, if "
            f"{'they are' if plural else 'it is'} meant, say keep=[{chosen}]",
            f"leave {'them' if plural else 'it'} out with {_options('--exclude', names)}, or, if "
            f"{'they are' if plural else 'it is'} meant, say {_options('--keep', names)}",
        ),
    )


def _options(option: str, names: tuple[str, ...]) -> str:
    return " ".join(f"{option} {shlex.quote(name)}" for name in names)


def refuse_ordered_rows(reference: Sample, keep: Collection[str]) -> None:
    """Refuse to split rows that are ordered by one of their columns."""
    encoding, points = reference.space.encoding, reference.points
    if encoding.array_columns is not None:
        return
    column = ordered_by(encoding, points)
    if column is None or column.name in keep:
        return
    name = column.name
    if column.kind == "datetime":
        raise refusal(
            ValueError,
            f"the rows of {reference.name} are in the order of {name!r}, which takes part in the comparison, "
            "so blocks of consecutive rows differ by that alone, and the tolerance would accept any fault "
            "elsewhere",
            Advice(
                f"leave it out with space={{'exclude': [{name!r}]}}",
                f"leave it out with {_options('--exclude', (name,))}",
            ),
        )
    orders = "give the rows in the order of time, or shuffled to see what sampling alone does"
    meant = f"if they are in the order of time and {name!r} really drifts so far, say"
    raise refusal(
        ValueError,
        f"the rows of {reference.name} are sorted by {name!r}, so blocks of consecutive rows differ by the "
        "sorting, and not by what changes in time",
        Advice(
            f"{orders}, or use Tolerance.from_noise; {meant} keep=[{name!r}]",
            f"{orders}, or use --noise; {meant} {_options('--keep', (name,))}",
        ),
    )


def drifting(block: str) -> Caution:
    """Return what to know of an epsilon that is the distance of a block from the others."""
    return Caution(
        "drift-within",
        f"{block} is farther from the other rows than random halves of them are from each other: the data "
        "drift, and as much drift is accepted; if the rows are not in the order of time, shuffle them first",
    )


def unresolved(epsilon: float, rows: int, close: float) -> tuple[Caution, ...]:
    """Return a caution where data without any fault would hardly ever be called CLOSE: that probability."""
    if close >= RESOLVED:
        return ()
    return (
        Caution(
            "unresolved-tolerance",
            f"the tolerance, {number(epsilon)}, is below what {rows} rows can resolve: without any fault, so "
            f"many would be called CLOSE with probability {close:.2f} only",
        ),
    )


def too_wide(levels: Mapping[str, float], anyway: bool) -> tuple[Caution, ...]:
    """Refuse a tolerance within which most faults are; where it is wanted anyway, return a caution."""
    if levels.get("missing", 0.0) < WIDE:
        return ()
    share = f"{100 * levels['missing']:.2g} %"
    caution = Caution(
        "wide-tolerance",
        f"the tolerance is very large, as far as {share} of all values missing: hardly any fault is "
        "beyond it, but for those that single columns show",
    )
    if anyway:
        return (caution,)
    raise refusal(
        ValueError,
        caution.message,
        Advice(
            "take a smaller margin, or accepted data that are nearer; or keep it with anyway=True",
            "take a smaller margin, or accepted data that are nearer; or keep it with --anyway",
        ),
    )
