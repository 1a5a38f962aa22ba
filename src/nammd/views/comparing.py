"""One aspect of a column where rows belong together: as a pair of two samples, or against what was accepted.

Two samples are compared by the sums of each group, where these are there: with few groups third moments
matter. Of accepted datasets a tolerance keeps totals alone, and mixtures with them are known by totals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nammd.statistics.nearest import nearest_totals
from nammd.statistics.pair import Pair
from nammd.statistics.totals import TotalPair
from nammd.views.each_group import pair_of_groups
from nammd.views.features import united
from nammd.views.grouped import AspectUnits, ColumnUnits, pairs_by_totals

LEAST_GROUPS = 4
"""With fewer groups nothing can be said about how they vary."""


def group_pair(x: AspectUnits, y: AspectUnits) -> Pair:
    """Return the pair of two samples: by the sums of each group, where they are kept, else by totals."""
    each = x.each is not None and y.each is not None
    return pair_of_groups(x, y) if each else pairs_by_totals([x, y])(0, 1)


def nearest_group_pair(x: AspectUnits, accepted: Sequence[AspectUnits], y: AspectUnits) -> Pair:
    """Return the pair of a sample and the nearest mixture of a reference and accepted ones."""
    corners = [x, *(each for each in accepted if each.totals.count >= LEAST_GROUPS)]
    wanted = united(*(each.keys for each in (*corners, y)))
    totals, candidate = [each.on(wanted) for each in corners], y.on(wanted)
    weights, mixture, _ = nearest_totals(totals, candidate)
    used = np.flatnonzero(weights)
    if used.tolist() == [0]:
        return group_pair(x, y)
    per_unit = sum(weights[v] * corners[v].rows / totals[v].effective for v in used)
    alike = len(used) == 1 and corners[used[0]].constant, y.constant
    meeting = TotalPair(mixture, candidate, (round(per_unit * mixture.effective), y.rows), 1.0)
    return Pair(meeting, alike=alike)


def all_single(*samples: ColumnUnits) -> bool:
    """Tell whether every row stands for itself, in all samples of a column: then counts tell all of them."""
    return all(aspect.singles for units in samples for aspect in units.values())
