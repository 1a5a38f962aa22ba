"""The types of the columns of a delimited file, settled by reading all of it.

Arrow's streaming reader takes the types of the columns from the first block and fails where a later one
disagrees. A file is therefore read once for its types: where a value does not fit, the type of its column is
relaxed, in the order in which Arrow itself tries types on a file that it reads whole, and the file is begun
again. What is small is kept, so that most files are opened once.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.to_float64 import as_numpy, stacked_floats
from nammd.errors.naming import require_unique
from nammd.reading.formats import optional
from nammd.reading.parsing import MISFIT, Style, Types, explained_rows, opened, require_utf8

_CODE = r"0[0-9]+"
_GROUPED = r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}"
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")
_BEGINS_WITH_A_YEAR = re.compile(r"\s*[0-9]{4}-")


_MOST_CELLS = 5000
"""Of so many cells the columns are looked up in the bytes of a file."""

_SUMS = frozenset(
    [
        "total",
        "totals",
        "grand total",
        "subtotal",
        "sum",
        "summe",
        "gesamt",
        "insgesamt",
        "gesamtsumme",
        "somme",
    ]
)
"""What stands in a row below a table that sums it up."""


@dataclass(frozen=True)
class Settled:
    """A file whose columns have types.

    Attributes
    ----------
    names : tuple of str
        All columns.
    types : dict
        Their types.
    batches : list of pyarrow.RecordBatch or None
        All rows, where they are few enough to be kept.
    gaps : tuple of str
        Columns of something else than text in which values are missing.
    sum_in_last_row : str
        A word such as Total that stands in the last row; empty where there is none.
    """

    names: tuple[str, ...]
    types: Types
    batches: list[Any] | None
    gaps: tuple[str, ...]
    sum_in_last_row: str


def settled(style: Style, head: bytes, text: Iterable[str], most_blocks: int) -> Settled:
    """Read a file for the types of its columns.

    Parameters
    ----------
    style : Style
        The file, and how it is written.
    head : bytes
        Its first block.
    text : iterable of str
        Columns that are to stay text; those that the file does not have do not matter.
    most_blocks : int
        How much may be kept, in blocks.
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    ladder = _ladder(pa)
    names: list[str] = []
    types = _decimals(style, head)
    while True:
        with explained_rows(style, names):
            try:
                with opened(style, types) as reader:
                    batches = iter(reader)
                    first = []
                    if not names:
                        names += reader.schema.names
                        require_unique(names, str(style.path))
                        first = [without_blanks(batch) for batch in islice(batches, 1)]
                        types = _not_as_arrow_has_them(style, head, first, text)
                        if types:
                            # From the beginning with these; the others need not be guessed again.
                            types = dict(zip(names, reader.schema.types, strict=True)) | types
                            continue
                    require_utf8(style.path, reader.schema)
                    types = dict(zip(names, reader.schema.types, strict=True))
                    kept = _Kept(most_blocks)
                    for batch in first:
                        kept.add(batch)
                    for batch in batches:
                        kept.add(batch if kept.batches is None else without_blanks(batch))
                gaps = tuple(name for name in names if name in kept.gaps)
                return Settled(tuple(names), types, kept.batches, gaps, word_for_sums(kept.last))
            except pa.ArrowInvalid as error:
                misfit = MISFIT.search(str(error))
                if not names and types:  # not all of the first block is as its first row
                    types = {}
                    continue
                if misfit is None or not names:
                    raise
                name = names[int(misfit[1])]
                rung = ladder.index(types[name]) if types.get(name) in ladder else len(ladder)
                if rung + 1 >= len(ladder):
                    raise
                types[name] = ladder[rung + 1]


class _Kept:
    """Batches, until they are too many."""

    def __init__(self, most: int) -> None:
        self.batches: list[Any] | None = []
        self.gaps: set[str] = set()
        self.last: Any = None
        self._most = most

    def add(self, batch: Any) -> None:
        pa = optional("pyarrow", "app", "reading CSV files")
        if batch.num_rows:
            self.last = batch
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if column.null_count and not pa.types.is_string(column.type):
                self.gaps.add(name)
        if self.batches is not None and len(self.batches) < self._most:
            self.batches.append(batch)
        else:
            self.batches = None


def word_for_sums(last: Any) -> str:
    """Return a word in the last row which says that it sums up the others."""
    if last is None:
        return ""
    cells = [last.column(k)[-1].as_py() for k in _texts_in(last)]
    return next((cell for cell in cells if cell and cell.strip(" :.").lower() in _SUMS), "")


def without_blanks(batch: Any) -> Any:
    """Return a batch whose empty cells are missing values in columns of text too.

    Arrow would do it by itself, together with all other words for missing values. These stay in text until
    somebody has counted them: NA may be Namibia.
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    pc = optional("pyarrow.compute", "app", "reading CSV files")
    texts = _texts_in(batch)
    if not texts or not batch.num_rows:
        return batch
    columns, empty, rows = list(batch.columns), _texts([""])[0], batch.num_rows
    blank = pc.equal(pa.concat_arrays([columns[k] for k in texts]), empty)
    if gaps := list(compress(texts, _any_of_each(blank, len(texts)))):
        cells = pa.concat_arrays([columns[k] for k in gaps])
        filled = pc.if_else(pc.equal(cells, empty), pa.nulls(1, cells.type)[0], cells)
        for place, k in enumerate(gaps):
            columns[k] = filled.slice(place * rows, rows)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _texts_in(batch: Any) -> list[int]:
    """Return the places of columns of text."""
    pa = optional("pyarrow", "app", "reading CSV files")
    return [k for k, kind in enumerate(batch.schema.types) if pa.types.is_string(kind)]


def _any_of_each(cells: Any, columns: int) -> list[bool]:
    """Return whether any cell is true in each of some columns, whose cells follow one another.

    There may be thousands of columns of a few rows: one call of Arrow's for all takes far less time than one
    for each.
    """
    return list(np.logical_or.reduce(_of_each(cells, columns), axis=1).tolist())


def _of_each(cells: Any, columns: int) -> NDArray[np.bool_]:
    pa = optional("pyarrow", "app", "reading CSV files")
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    return as_numpy(cells.cast(pa.uint8())).reshape(columns, -1).astype(bool)


def _texts(texts: Sequence[str]) -> Any:
    """Return texts as Arrow has them.

    Arrow's own way imports pandas where that is installed, which takes longer than a small check.
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    each = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, each)], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(each), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(each))]
    )


def words_in(style: Style, found: Settled) -> dict[str, dict[str, int]]:
    """Return how often words for missing values stand in columns of something else than text.

    The file is opened once more for it, which takes less time than to look through it for the words.
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    pc = optional("pyarrow.compute", "app", "reading CSV files")
    words = [word for word in style.missing if word]
    columns = found.gaps
    if not columns or not words:
        return {}
    counts: dict[str, dict[str, int]] = {}
    with explained_rows(style), opened(style, dict.fromkeys(columns, pa.string()), columns) as reader:
        for batch in reader:
            known = pc.is_in(_cells(batch), _texts(words))
            some = _any_of_each(known, len(columns)) if batch.num_rows else []
            for name in compress(columns, some):
                column = batch.column(name)
                there = column.filter(pc.is_in(column, _texts(words)))
                for entry in there.value_counts().to_pylist():
                    of_column = counts.setdefault(name, {})
                    of_column[entry["values"]] = of_column.get(entry["values"], 0) + entry["counts"]
    return counts


def _ladder(pa: Any) -> list[Any]:
    return [
        pa.null(),
        pa.int64(),
        pa.bool_(),
        pa.date32(),
        pa.time32("s"),
        pa.timestamp("s"),
        pa.timestamp("ns"),
        pa.timestamp("us"),
        pa.timestamp("s", "UTC"),
        pa.timestamp("ns", "UTC"),
        pa.timestamp("us", "UTC"),
        pa.float64(),
        pa.string(),
    ]


def _decimals(style: Style, head: bytes) -> Types:
    """Return columns whose first value has a decimal point, which are of no other numbers, nor of times.

    Arrow would try all that on each of them first, which takes longer than to read them.
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    text = io.TextIOWrapper(io.BytesIO(head), "utf-8-sig", "replace", newline="")
    rows = csv.reader(text, delimiter=style.delimiter)
    try:
        names, values = islice(rows, style.comments, style.comments + 2)
    except (csv.Error, ValueError):  # whatever is wrong is found by those who read all of it
        return {}
    return {
        name: pa.float64() for name, value in zip(names, values, strict=False) if _DECIMAL.fullmatch(value)
    }


def _not_as_arrow_has_them(style: Style, head: bytes, first: Sequence[Any], text: Iterable[str]) -> Types:
    """Return the types of columns that Arrow takes for something else by its first block."""
    pa = optional("pyarrow", "app", "reading CSV files")
    types: Types = {}
    for batch in first:
        types |= _distant_moments(batch)
        known = dict(zip(batch.schema.names, batch.schema.types, strict=True))
        # What Arrow takes for text as well is no reason to begin again.
        types |= {name: pa.string() for name in text if known.get(name, pa.string()) != pa.string()}
        types |= {name: pa.string() for name in _doubtful(style, head, batch)}
    return types


def _distant_moments(batch: Any) -> Types:
    """Return columns of moments too far for nanoseconds (the years 1 or 9999), which Arrow takes for text.

    Only the first block is looked at; where a later one disagrees the type is relaxed like any other.
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    types: Types = {}
    for k in _texts_in(batch):
        column = batch.column(k)
        if column.null_count == len(column):
            continue
        if not _BEGINS_WITH_A_YEAR.match(column.drop_null()[0].as_py()):  # tells nearly always, at once
            continue
        for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                column.cast(kind)
            except pa.ArrowInvalid:
                continue
            types[batch.schema.field(k).name] = kind
            break
    return types


def _doubtful(style: Style, head: bytes, batch: Any) -> list[str]:
    """Return columns that look like numbers to Arrow, and may be something else.

    00123 is a code. 1.250 beside 800, or in a file that is not separated by commas, may be a thousand and
    some. They are left as text, and all of the column decides (`nammd.reading.text_formats`).
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    pc = optional("pyarrow.compute", "app", "reading CSV files")
    names, kinds = batch.schema.names, batch.schema.types
    numbers = [k for k, kind in enumerate(kinds) if pa.types.is_integer(kind) or pa.types.is_floating(kind)]
    lines = head if len(head) < style.block_bytes else head[: head.rfind(b"\n") + 1]
    places = _places(style, lines)
    numbers = _of_few_decimals(batch, [k for k in numbers if places is None or k in places])
    if not numbers:
        return []
    asked = [names[k] for k in numbers]
    try:
        types = dict.fromkeys(asked, pa.string())
        with opened(style, types, asked, pa.BufferReader(lines)) as reader:
            table = reader.read_all()
    except pa.ArrowException:  # whatever is wrong is found by those who read all of it
        return []
    looks = pc.match_substring_regex(_cells(table), f"^{_CODE}$|^{_GROUPED}$")
    names = list(compress(asked, _any_of_each(looks, len(asked))))
    if not names:
        return []
    cells = _cells(table.select(names))
    filled = _of_each(pc.not_equal(cells, _texts([""])[0]), len(names))

    def share(pattern: str) -> FloatArray:
        fitting = _of_each(pc.match_substring_regex(cells, pattern), len(names)) & filled
        found: FloatArray = fitting.sum(axis=1) / filled.sum(axis=1)
        return found

    grouped, short = share(f"^{_GROUPED}$"), share(r"^[-+]?[0-9]{1,3}$")
    doubtful = (grouped > 0) & (grouped + short == 1) & ((short > 0) | (style.delimiter != ","))
    found = (share(f"^{_CODE}$") > 0) | doubtful
    found &= share(r"^\s*[-+]?[0-9.]+\s*$") >= 0.5
    return [name for name, each in zip(names, found.tolist(), strict=True) if each]


def _of_few_decimals(batch: Any, numbers: list[int]) -> list[int]:
    """Return columns of numbers that may be codes or have thousands: with whole numbers, or few decimals."""
    pa = optional("pyarrow", "app", "reading CSV files")
    floats = [k for k in numbers if pa.types.is_floating(batch.schema.field(k).type)]
    if not floats:
        return numbers
    values = stacked_floats([batch.column(k) for k in floats])
    with np.errstate(over="ignore", invalid="ignore"):
        longer = np.abs(values * 1000 - np.rint(values * 1000)) > 1e-3
    plain = ~(values == np.rint(values)).any(axis=1, keepdims=True) & longer.any(axis=1, keepdims=True)
    gone = {floats[k] for k in np.flatnonzero(plain).tolist()}
    return [k for k in numbers if k not in gone]


def _cells(table: Any) -> Any:
    """Return the cells of columns of text, one column after the other."""
    pa = optional("pyarrow", "app", "reading CSV files")
    columns = [getattr(column, "chunks", [column]) for column in table.columns]
    return pa.chunked_array([chunk for chunks in columns for chunk in chunks], pa.string())


def _places(style: Style, lines: bytes) -> set[int] | None:
    """Return the columns in which a cell may be a code or have thousands, by a look at the bytes.

    None where these may be any: there are too many such cells, or something that separates cells in quotes.
    """
    edge = re.escape(style.delimiter) + r'"\r\n'
    pattern = f"(?:^|[{edge}])(?:{_CODE}|{_GROUPED})(?=[{edge}]|$)"
    found, places, column, start, end = re.finditer(pattern.encode(), lines), set[int](), 0, 0, 0
    for number, match in enumerate(found):
        if number == _MOST_CELLS:
            return None
        start, end = end, match.end() - 1
        if newest := 1 + max(lines.rfind(b"\n", start, end), lines.rfind(b"\r", start, end)):
            start, column = newest, 0
        column += lines.count(style.delimiter.encode(), start, end)
        places.add(column)
    # In quotes a delimiter is none. A pair of them that is none leads from one cell to another.
    quoted = b"".join(re.findall(rb'"[^"]*"', lines)) if places else b""
    return None if any(each in quoted for each in (style.delimiter.encode(), b"\n", b"\r")) else places
