"""What a tolerance remembers of how rows belong together: `GroupingSpec`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nammd.data.blocks_in_time import TimeBlocks
from nammd.data.group_labels import Missing
from nammd.data.row_grouping import RowGrouping
from nammd.errors.advice import Advice, refusal


@dataclass(frozen=True)
class GroupingSpec:
    """How rows belonged together when a tolerance was made; every check has to say the same.

    Attributes
    ----------
    kind : {"", "column", "labels", "blocks"}
        Empty where nothing was said; a column of a table, labels that come with the data, or blocks of time.
    column : str or None
        The column of the groups, or of the time.
    length : int or None
        The rows of a block of time, where that was fixed.
    period : int or None
        The rows of a season, where that was said.
    sample_weight : str or None
        The column of the weights of rows; empty where they come with the data; None where there are none.
    missing : {"error", "own", "drop"}
        What is done with rows without a label of a group.
    """

    kind: str = ""
    column: str | None = None
    length: int | None = None
    period: int | None = None
    sample_weight: str | None = None
    missing: Missing = "error"

    @classmethod
    def of(cls, grouping: RowGrouping) -> GroupingSpec:
        """Note what was said."""
        weights = grouping.sample_weight
        stored = weights if weights is None or isinstance(weights, str) else ""
        if grouping.groups is None:
            return cls(sample_weight=stored)
        if isinstance(grouping.groups, TimeBlocks):
            blocks = grouping.groups
            return cls("blocks", blocks.time, blocks.length, blocks.period, stored)
        if isinstance(grouping.groups, str):
            return cls("column", grouping.groups, sample_weight=stored, missing=grouping.missing)
        return cls("labels", sample_weight=stored, missing=grouping.missing)

    @property
    def said(self) -> bool:
        """Whether anything was said."""
        return bool(self.kind) or self.sample_weight is not None

    def settled(self, grouping: RowGrouping, fixed: bool) -> RowGrouping:
        """Return what holds for a check; `fixed`: the tolerance is a number, which has nothing to remember.

        What was a column or blocks of time is looked up again without being asked for.
        """
        if not self.said:
            if grouping and not fixed:
                raise refusal(
                    ValueError,
                    "the tolerance was made as if every row stood for itself, so its error does not fit "
                    "checks of groups or weighted rows",
                    Advice(
                        "make it again with groups= (or sample_weight=)",
                        "calibrate again with --group, --time or --sample-weight",
                    ),
                )
            return grouping
        if grouping.missing not in ("error", self.missing):
            raise ValueError(
                f"the tolerance was made with missing={self.missing!r} for rows without a group, not with "
                f"{grouping.missing!r}"
            )
        groups, weights = self._groups(grouping.groups), self._weights(grouping.sample_weight)
        return RowGrouping(groups, weights, self.missing)

    def _groups(self, given: Any) -> Any:
        if not self.kind:
            if given is not None:
                raise ValueError("the tolerance was made without groups; make it again with groups")
            return None
        if self.kind == "labels":
            if given is None or isinstance(given, (str, TimeBlocks)):
                raise refusal(
                    ValueError,
                    "the tolerance was made with labels that say which rows belong together, and a check "
                    "needs them too",
                    Advice("give groups=(labels of the reference, labels of the candidate)", "use Python"),
                )
            return given
        own = self.column if self.kind == "column" else TimeBlocks(self.column, self.length, self.period)
        if given is not None and given != own:
            raise ValueError(f"the tolerance was made with groups by {own!r}, not by {given!r}")
        return own

    def _weights(self, given: Any) -> Any:
        if self.sample_weight == "":
            if given is None or isinstance(given, str):
                raise refusal(
                    ValueError,
                    "the tolerance was made with weights of rows, and a check needs them too",
                    Advice("give sample_weight=(of the reference, of the candidate)", "use Python"),
                )
            return given
        if given is not None and given != self.sample_weight:
            had = "without weights of rows" if self.sample_weight is None else f"with {self.sample_weight!r}"
            raise ValueError(f"the tolerance was made {had}, not with sample_weight={given!r}")
        return self.sample_weight

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of a printed table."""
        rows = []
        if self.kind == "column":
            rows.append(("groups", f"rows of one {self.column} belong together"))
        elif self.kind == "labels":
            rows.append(("groups", "by labels that come with the data"))
        elif self.kind == "blocks":
            order = f"by {self.column}" if self.column else "as the rows are"
            length = "of a length chosen from the data" if self.length is None else f"of {self.length} rows"
            seasons = f" in whole seasons of {self.period} rows" if self.period else ""
            rows.append(("groups", f"blocks of time {length}{seasons}, in order {order}"))
        if self.missing != "error":
            done = "left out" if self.missing == "drop" else "each a group of its own"
            rows.append(("rows without a group", done))
        if self.sample_weight is not None:
            rows.append(("row weights", self.sample_weight or "numbers that come with the data"))
        return rows


NO_GROUPING_SPEC = GroupingSpec()


def for_columns(negligible: Any, grouping: RowGrouping) -> Any:
    """Return what is negligible in single columns; nothing where rows follow each other in time.

    Of blocks of time not only the blocks are alike but neighbours too, which the sums of columns do not tell.
    """
    if not isinstance(grouping.groups, TimeBlocks):
        return negligible
    if negligible:
        raise refusal(
            ValueError,
            "single columns are held against their tolerances by rows or by groups, not by blocks of time",
            Advice("leave negligible out", "leave --negligible out"),
        )
    return False
