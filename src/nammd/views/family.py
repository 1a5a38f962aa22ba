"""One decision over a family of views: `Family`.

A view is what of a dataset is compared: all columns together (the joint view), one column (its values, or
whether they are there), or how two columns go together. Each has a margin of its own, and all of them share
one error rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["joint", "columns", "pairs"]


@dataclass(frozen=True)
class Family:
    """The kinds of views that take part in a decision.

    Attributes
    ----------
    kinds : tuple of str
        Which: the joint view always, columns where they have tolerances, pairs where these can be compared.

    Examples
    --------
    >>> from nammd.views.family import Family
    >>> both = Family(("joint", "columns"))
    >>> both.level("joint", 0.05), both.pvalue(joint=0.04, columns=[0.2, 0.008])
    (0.025, 0.016)
    >>> Family(("joint", "columns", "pairs")).pvalue(joint=0.04, columns=[0.2, 0.008], pairs=[0.02])
    0.032
    >>> Family().pvalue(joint=0.04, columns=[0.2, 0.008])
    0.04
    """

    kinds: tuple[Kind, ...] = ("joint",)

    def level(self, kind: Kind, alpha: float) -> float:
        """Return the part of the level that a kind of views has: half of it the joint one, if not alone."""
        if len(self.kinds) == 1:
            return alpha
        return alpha / 2 if kind == "joint" else alpha / 2 / (len(self.kinds) - 1)

    def pvalue(self, joint: float, columns: Sequence[float] = (), pairs: Sequence[float] = ()) -> float:
        """Return the p-value of "one of the views is beyond its margin".

        Those of `columns` and `pairs` are adjusted for their number. Where there is none for the joint view,
        there is none at all: NaN.
        """
        found: dict[Kind, Sequence[float]] = {"joint": [joint], "columns": columns, "pairs": pairs}
        parts = [min(found[kind], default=1.0) / self.level(kind, 1.0) for kind in self.kinds]
        return math.nan if math.isnan(joint) else min(1.0, *parts)


WHOLE = Family(("joint", "columns", "pairs"))
"""All kinds of views."""

COLUMNS = Family(("joint", "columns"))
"""Without pairs of columns, where these cannot be compared."""

JOINT = Family()
"""The joint view alone."""
