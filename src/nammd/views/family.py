"""One decision over a family of views: `Family`.

A view is what of a dataset is compared: all columns together (the joint view), or one column: its values, or
whether they are there. Each has a margin of its own, and all of them share one error rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["joint", "columns"]

WEIGHTS: dict[Kind, int] = {"joint": 2, "columns": 2}
"""How the kinds of views share the level of "beyond", where all of them take part."""


@dataclass(frozen=True)
class Family:
    """The kinds of views that take part in a decision.

    Attributes
    ----------
    kinds : tuple of str
        Which: the joint view always, columns where they have tolerances.

    Examples
    --------
    >>> from nammd.views.family import Family
    >>> both = Family(("joint", "columns"))
    >>> both.level("joint", 0.05), both.pvalue(joint=0.04, columns=[0.2, 0.008])
    (0.025, 0.016)
    >>> Family().pvalue(joint=0.04, columns=[0.2, 0.008])
    0.04
    """

    kinds: tuple[Kind, ...] = ("joint",)

    def level(self, kind: Kind, alpha: float) -> float:
        """Return the part of the level that a kind of views has."""
        return alpha * WEIGHTS[kind] / sum(WEIGHTS[each] for each in self.kinds)

    def pvalue(self, joint: float, columns: Sequence[float] = ()) -> float:
        """Return the p-value of "one of the views is beyond its margin".

        Those of `columns` are adjusted for their number. Where there is none for the joint view, there is
        none at all: NaN.
        """
        found: dict[Kind, Sequence[float]] = {"joint": [joint], "columns": columns}
        parts = [min(found[kind], default=1.0) / self.level(kind, 1.0) for kind in self.kinds]
        return math.nan if math.isnan(joint) else min(1.0, *parts)


WHOLE = Family(("joint", "columns"))
"""All kinds of views."""

JOINT = Family()
"""The joint view alone."""
