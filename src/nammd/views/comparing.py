"""What one aspect of a column is compared by, where rows belong together: `by_units`.

Against numbers the candidate is tested with the sums of each group, where these are there: with few groups
third moments matter. Beside accepted datasets, of which a tolerance keeps totals alone, it is known from
totals too, so that both are known in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nammd.statistics.pair import Pair
from nammd.views.each_group import pair_of_groups
from nammd.views.grouped import AspectUnits, ColumnUnits, pairs_by_totals

if TYPE_CHECKING:
    from nammd.views.limits import ColumnLimit

LEAST_GROUPS = 4
"""With fewer groups nothing can be said about how they vary."""


@dataclass(frozen=True, eq=False)
class Compared:
    """What one aspect of a column is known from.

    Attributes
    ----------
    pair : Pair
        The reference and the candidate.
    beside_bars : Pair
        The same as it is compared with accepted datasets.
    bars : sequence of Pair
        The reference and each of the accepted datasets.
    """

    pair: Pair
    beside_bars: Pair
    bars: Sequence[Pair]


def group_pair(x: AspectUnits, y: AspectUnits) -> Pair:
    """Return the pair of two samples: by the sums of each group, where they are kept, else by totals."""
    each = x.each is not None and y.each is not None
    return pair_of_groups(x, y) if each else pairs_by_totals([x, y])(0, 1)


def by_units(
    limit: ColumnLimit, mine: ColumnUnits, theirs: ColumnUnits, shared: bool, aspect: str
) -> Compared | None:
    """Return what an aspect of a column is known from; None where there are too few groups."""
    x, y = mine[aspect], theirs[aspect]
    if min(x.totals.count, y.totals.count) < LEAST_GROUPS:
        return None
    made_from = [] if shared or limit.units is None else [limit.units[aspect]]
    others = [each[aspect] for each in limit.accepted_units]
    between = pairs_by_totals([x, y, *made_from, *others])
    home, first = (2, 3) if made_from else (0, 2)
    kept = x if shared or limit.units is None else limit.units[aspect]
    enough = [k for k, other in enumerate(others, first) if _enough(kept, other)]
    beside = between(0, 1)
    return Compared(group_pair(x, y), beside, [between(home, k) for k in enough])


def all_single(*samples: ColumnUnits) -> bool:
    """Tell whether every row stands for itself, in all samples of a column: then counts tell all of them."""
    return all(aspect.singles for units in samples for aspect in units.values())


def accepted_pairs(home: ColumnUnits, others: Sequence[ColumnUnits], aspect: str) -> list[Pair]:
    """Return the pairs of the reference and each accepted dataset, but for those of too few groups."""
    samples: list[AspectUnits] = [home[aspect], *(each[aspect] for each in others)]
    between = pairs_by_totals(samples)
    return [between(0, k) for k in range(1, len(samples)) if _enough(samples[0], samples[k])]


def _enough(one: AspectUnits, two: AspectUnits) -> bool:
    return min(one.totals.count, two.totals.count) >= LEAST_GROUPS
