"""Tables of any library as columns of numbers and labels.

narwhals hides which library a table comes from. What is left to do here is to give every column one
of a few kinds, whatever its exact type, and to say in one way where values are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.series import is_number, is_text, numbers_together, plain_values, texts_together, values_of
from nammd.data.to_float64 import is_arrow
from nammd.data.values import Values
from nammd.errors.advice import Advice, naming, refusal
from nammd.errors.naming import require_unique

_KEPT_CELLS = 1 << 20
"""A table keeps the values of so many cells once they are found: of many columns, the look takes the time."""

FEW_ROWS = 256
"""Columns of no more rows are read together."""


class Frame:
    """A table of any library that narwhals knows, with its column names as text."""

    def __init__(
        self,
        table: Any,
        owner: str,
        names: tuple[str, ...] | None = None,
        again: Callable[[Sequence[str]], Any] | None = None,
    ) -> None:
        self._held = table
        self._again = again
        self.owner = owner
        self.names = tuple(map(column_name, table.columns)) if names is None else names
        self.rows = len(table)
        self._seen: dict[str, Values] = {}
        self._taken: dict[str, Any] = {}
        self._places = {name: place for place, name in enumerate(self.names)}
        self.read: dict[str, tuple[object, Values]] = {}
        """Columns of text that have been read as something else, and by whom."""
        self.unread: dict[str, Any] = {}
        """What could not be read, by column."""
        self.words: Mapping[str, tuple[Mapping[str, int], int]] = {}
        """Words for missing values that the reader of a file took out of a column, and of how many rows."""
        # The integer 1 and the text '1' are different names in pandas, but not here.
        require_unique(self.names, owner)
        if not self.names:
            raise ValueError(f"{owner} is empty: it has no columns")
        if not self.rows:
            raise ValueError(f"{owner} is empty: it has no rows")

    def values(self, name: str) -> Values:
        """Return the values of a column, after checking that they are finite."""
        if name in self._seen:
            return self._seen[name]
        values = self._checked(name)
        if (len(self._seen) + 1) * self.rows <= _KEPT_CELLS:
            self._seen[name] = values
        return values

    def _checked(self, name: str) -> Values:
        known = self._of_few_rows.get(self._places[name])
        if known is not None:
            return known
        with naming(f"the column {name!r} of {self.owner}"):
            plain = None if self._of_arrow is None else plain_values(self._column(name))
            values = plain or values_of(self.series(name))
        if values.numbers is not None and np.isinf(values.numbers).any():
            infinite = np.isinf(values.numbers).reshape(self.rows, -1).any(axis=1)
            raise refusal(
                ValueError,
                f"the column {name!r} of {self.owner} contains infinity in {int(infinite.sum())} of its "
                f"{self.rows} rows",
                Advice(
                    f"make those values missing, or leave the column out with exclude=[{name!r}]",
                    f"make those values missing, or leave the column out with --exclude {name}",
                ),
            )
        return values

    def holds_numbers(self, name: str) -> bool:
        """Tell whether the type of a column is one of numbers, without a look at them."""
        if self._of_arrow is None:
            return bool(self.series(name).dtype.is_numeric())
        column = self._of_arrow[self._places[name]]
        return column is None or is_number(column.type)

    @cached_property
    def _of_few_rows(self) -> dict[int, Values]:
        """The columns of numbers and of text of a short table, by their places; all numbers are finite.

        There may be very many: one look at all of a type takes far less time than one at each.
        """
        columns = self._of_arrow or [] if self.rows <= FEW_ROWS else []
        alike: dict[Any, list[int]] = {}
        for place, column in enumerate(columns):
            if column is not None and (is_number(column.type) or is_text(column.type)):
                alike.setdefault(column.type, []).append(place)
        found = dict[int, Values]()
        for kind, places in alike.items():
            together = texts_together if is_text(kind) else numbers_together
            each = zip(places, together([columns[k] for k in places]), strict=True)
            found.update((place, values) for place, values in each if values is not None)
        return found

    @cached_property
    def _of_arrow(self) -> list[Any] | None:
        native = self._table.to_native()
        return list(native.columns) if is_arrow(native) else None

    def _column(self, name: str) -> Any:
        """Return a column as Arrow has it."""
        assert self._of_arrow is not None
        place = self._places[name]
        if self._of_arrow[place] is None:
            assert self._again is not None
            self._of_arrow[place] = self._again([name]).column(0)
        return self._of_arrow[place]

    @property
    def _table(self) -> Any:
        """The table, as narwhals has it."""
        if self._held is None:
            import narwhals as nw

            assert self._again is not None
            self._held = nw.from_native(self._again(self.names))
        return self._held

    def let_go(self, names: Sequence[str]) -> None:
        """Let go of columns of numbers, where they can be read again; whoever asks for one gets it as before.

        As points they are there a second time, and few want to see them as they were.
        """
        if self._again is None or self._of_arrow is None:
            return
        for name in filter(self.holds_numbers, names):
            self._of_arrow[self._places[name]] = None
            self._taken.pop(name, None)
            self._seen.pop(name, None)
        self._held = None
        import pyarrow as pa

        pa.default_memory_pool().release_unused()

    def series(self, name: str) -> Any:
        """Return a column as it is, as a narwhals series."""
        if self._of_arrow is not None:
            import narwhals as nw

            if name not in self._taken:
                self._taken[name] = nw.from_native(self._column(name), series_only=True)
            return self._taken[name]
        return self._columns[self._places[name]]

    @cached_property
    def _columns(self) -> list[Any]:
        # All at once: libraries look through the names of all columns to find one of them.
        return list(self._table.iter_columns())

    def to_arrow(self) -> Any:
        """Return the table as Arrow has it."""
        return self._table.to_arrow().rename_columns(list(self.names))

    def take(self, positions: NDArray[np.intp]) -> Frame:
        """Return some of the rows."""
        found = Frame(self._table[positions.tolist()], self.owner, self.names)
        found.words = self.words
        return found

    def without(self, names: Sequence[str]) -> Frame:
        """Return the table without some columns."""
        kept = [name for name in self.names if name not in names]
        if not kept:
            raise ValueError(f"{self.owner} has no other columns than {', '.join(names)}: nothing to compare")
        places = [self._places[name] for name in kept]
        found = Frame(self._table[:, places], self.owner, tuple(kept), self._again)
        found.unread = {name: cells for name, cells in self.unread.items() if name in kept}
        found.words = self.words
        return found

    def renamed(self, name: str) -> Frame:
        """Return a table of one column under another name."""
        found = Frame(self._table, self.owner, (name,))
        found.unread, found.read = self.unread, self.read
        return found


def column_name(name: Any) -> str:
    """Return the name of a column as text; the levels of a pandas MultiIndex are joined."""
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)
