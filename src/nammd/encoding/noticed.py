"""What was noticed of rows while they were encoded, for those that do not stay: `Noticed`.

A table in memory can be looked at again. Of rows on a cluster, and of those that went into a sketch, only
what is written down here is known later; what parts of a dataset tell adds up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from nammd.data.dataset import Dataset
from nammd.data.frames import Frame
from nammd.encoding.changes import NOW_USABLE, TYPE_CHANGED, UNKNOWN, changes
from nammd.errors.checks import counted
from nammd.errors.naming import listed
from nammd.errors.stored import Stored
from nammd.reading.text_formats.understanding import Unread

if TYPE_CHECKING:
    from nammd.encoding.encoding import Encoding

Cells = dict[str, Unread]
"""What could not be read, by column."""


@dataclass(frozen=True)
class Noticed:
    """What there is to say of rows.

    Attributes
    ----------
    unread : mapping of str to Unread
        Cells that could not be read, by column.
    types : mapping of str to str
        Columns left out that hold something else now, and what.
    usable : tuple of str
        Those that could be compared now.
    extra : tuple of str
        Columns that nobody knew.
    left_out : int
        Rows that were left out, since nobody said to which group they belong.
    """

    unread: Mapping[str, Unread] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    usable: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    left_out: int = 0

    @classmethod
    def of(cls, encoding: Encoding, dataset: Dataset, first: bool = True) -> Noticed:
        """Look at rows that have been encoded; at the types of columns only in the `first` part of them."""
        cells, gone = unread(encoding, dataset), rows_left_out(dataset)
        if not first:
            return cls(cells, left_out=gone)
        types, usable = changes(encoding.left_out, encoding.reading, dataset)
        return cls(cells, types, usable, encoding.unknown_columns(dataset), gone)

    def __add__(self, other: Noticed) -> Noticed:
        usable, extra = (
            tuple(dict.fromkeys([*getattr(self, name), *getattr(other, name)]))
            for name in ("usable", "extra")
        )
        cells = _together([self.unread, other.unread])
        types = {**other.types, **self.types}
        return Noticed(cells, types, usable, extra, self.left_out + other.left_out)

    def sentences(self, rows: int) -> list[str]:
        """Say it, of so many rows in all."""
        found = [str(replace(cells, rows=rows)) for cells in self.unread.values()]
        found += [UNKNOWN.format(listed(self.extra))] if self.extra else []
        if self.left_out:
            found.append(f"without a group, and left out: {counted(self.left_out, 'row')}")
        types = [f"{name!r} ({words})" for name, words in self.types.items()]
        for words, columns in ((TYPE_CHANGED, types), (NOW_USABLE, self.usable)):
            found += [words.format(", ".join(columns))] if columns else []
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; empty where there is nothing to say."""
        found = {
            "unread": [asdict(cells) for cells in self.unread.values()],
            "types": dict(self.types),
            "usable": list(self.usable),
            "extra": list(self.extra),
            "left_out": self.left_out,
        }
        return {name: value for name, value in found.items() if value}

    @classmethod
    def read(cls, stored: Stored) -> Noticed:
        """Return what `to_dict` wrote; a ValueError names the field that is wrong."""
        stored.only("unread", "types", "usable", "extra", "left_out")
        cells = [_read_unread(each) for each in stored["unread"].each()] if "unread" in stored else []
        types = stored["types"].fields() if "types" in stored else {}
        usable, extra = (stored[name].texts() if name in stored else () for name in ("usable", "extra"))
        left_out = stored["left_out"].whole() if "left_out" in stored else 0
        held = {name: each.text() for name, each in types.items()}
        return cls({each.column: each for each in cells}, held, usable, extra, left_out)


def _read_unread(stored: Stored) -> Unread:
    column, example, words = (stored[name].text() for name in ("column", "example", "words"))
    return Unread(column, stored["cells"].whole(), stored["rows"].whole(), example, words)


def rows_left_out(dataset: Dataset) -> int:
    """Return how many rows of a dataset are left out, since nobody said to which group they belong."""
    units = dataset.units
    return units.unlabelled if units is not None and units.missing == "drop" else 0


def unread(encoding: Encoding, dataset: Dataset) -> Cells:
    """Return which cells of a dataset that has been encoded could not be read, by column.

    On a cluster the columns of text that are to be numbers or times are read once more, to count them.
    """
    if dataset.summary is not None:
        kept: Cells = dataset.summary.noticed.unread
        return {name: replace(each, rows=dataset.summary.n) for name, each in kept.items()}
    if dataset.frame is not None:
        return dict(dataset.frame.unread)
    if not dataset.is_table or encoding.array_columns is not None:
        return {}
    cells: Cells = dataset.looked_at(encoding, lambda: _on_cluster(encoding, dataset))
    return cells


def _on_cluster(encoding: Encoding, dataset: Dataset) -> Cells:
    known = _readable(encoding)
    some = dataset.first_rows(1) if known & set(dataset.names) else None
    texts = [] if some is None else [n for n in dataset.names if n in known and some.values(n).text]
    if not texts:
        return {}
    return _of_pieces(dataset.each_frame(partial(_read, texts=texts, encoding=encoding)))


def _read(frame: Frame, texts: list[str], encoding: Encoding) -> tuple[int, Cells]:
    for name in texts:
        encoding.values(frame, name)
    return unread_in(frame)


def unread_in(frame: Frame) -> tuple[int, Cells]:
    """Return how many rows a table has, and which of its cells could not be read, of columns that were."""
    return frame.rows, dict(frame.unread)


def note_unread(
    encoding: Encoding, dataset: Dataset, names: Collection[str], parts: Sequence[tuple[int, Cells]]
) -> None:
    """Note what could not be read in the pieces of a table on a cluster, for those who will ask.

    `names` are the columns that were read; if some of those that matter were not, nothing is noted.
    """
    if _readable(encoding) <= set(names):
        dataset.looked_at(encoding, lambda: _of_pieces(parts))


def _readable(encoding: Encoding) -> set[str]:
    """Return the columns with numbers or times, which texts may stand for."""
    return {
        column.name for column in encoding.columns if column.kind not in ("categorical", "vector", "text")
    }


def _of_pieces(parts: Sequence[tuple[int, Cells]]) -> Cells:
    rows = sum(size for size, _ in parts)
    return {name: replace(each, rows=rows) for name, each in _together(cells for _, cells in parts).items()}


def _together(parts: Iterable[Mapping[str, Unread]]) -> Cells:
    def added(found: Cells, part: Mapping[str, Unread]) -> Cells:
        return found | {n: found[n] + cells if n in found else cells for n, cells in part.items()}

    return reduce(added, parts, {})
