"""Excel workbooks: one sheet, whose first row has the names of the columns, read row by row.

What a spreadsheet may hide is refused or said: several sheets, merged cells, formulas that were never
computed, cells with errors, columns without a name.
"""

from __future__ import annotations

import itertools
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nammd.errors.advice import Advice, refusal
from nammd.errors.checks import counted
from nammd.errors.limits import require_unpacked
from nammd.errors.naming import listed, quoted, suggestion
from nammd.reading.cell_columns import ERRORS, CellColumn
from nammd.reading.column_types import word_for_sums
from nammd.reading.formats import optional
from nammd.reading.sources import BATCH_ROWS, TableFile, sliced
from nammd.reading.text_formats.options import Reading

_BLOCK_ROWS = 4096
_ENCRYPTED = b"\xd0\xcf\x11\xe0"
_PIECE = 1 << 20
_LONGEST = 1 << 16
"""No formula, and no mark of merged cells, is longer."""

_FORMULA = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)>\s*<(?:\w+:)?f(?:\s[^>]*?)?(?:/>|>([^<]*)</(?:\w+:)?f>)\s*"
    rb"(?:</(?:\w+:)?c>|<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</)"
)
"""A cell with a formula, and without a value."""

_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=[\"']([A-Z0-9:]+)[\"']")
_PLACE = re.compile(rb"\br=[\"']([A-Z0-9]+)[\"']")
_TEXT = re.compile(rb"\bt=[\"']str[\"']")  # a formula that gives text may well give none


def open_workbook(path: Path, sheet: str | None = None, reading: Reading | None = None) -> TableFile:
    """Open a sheet of a workbook: the one that is named, or else the only one that has anything in it."""
    said = Reading.of(reading)
    openpyxl = optional("openpyxl", "excel", "reading Excel files")
    _require_workbook(path)
    with _explained(path):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        found, notes = _chosen_sheet(path, book, sheet)
        named = path if sheet is None else Path(f"{path}#{sheet}")
        with _explained(path):
            markup = book._archive.open(found._worksheet_path)  # there is no public way to it
        with markup:
            require_plain_cells(named, markup)
        names, columns, more = _columns(named, _rows(path, found))
    finally:
        book.close()
    table = _table(named, names, columns, said)
    notes += more + tuple(note for column in columns for note in column.notes)
    words = {name: column.words for name, column in zip(names, columns, strict=True) if column.words}
    last = word_for_sums(table.slice(table.num_rows - 1)) if table.num_rows else ""
    if last:
        notes += (f"the last row has {last!r}: if it sums up the others, take it out",)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        for batch in table.select(columns).to_batches(max_chunksize=BATCH_ROWS):
            yield from sliced(batch, batch_rows)

    return TableFile(named, tuple(names), stream, notes, table.num_rows, words)


def _require_workbook(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(4)
    if head == _ENCRYPTED:
        raise ValueError(
            f"{path} is locked with a password, or is an old workbook (.xls); save it as .xlsx "
            "without a password"
        )
    if head != b"PK\x03\x04":
        raise ValueError(f"{path} is not an Excel file; its content is something else")
    with _explained(path), zipfile.ZipFile(path) as archive:
        claimed = sum(entry.file_size for entry in archive.infolist())
    require_unpacked(claimed, path.stat().st_size, str(path), text=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn whatever the library raises about a damaged workbook into a sentence; its warnings are no news."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except MemoryError:
        raise
    except Exception as error:
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"{path} cannot be read as Excel: it is truncated or damaged ({detail[:200]})"
        ) from None


def _chosen_sheet(path: Path, book: Any, sheet: str | None) -> tuple[Any, tuple[str, ...]]:
    """Return the sheet to read, and what there is to say of the others."""
    with _explained(path):
        sheets = {each.title: each for each in book.worksheets}
    if sheet is not None:
        if sheet not in sheets:
            close = suggestion(sheet, list(sheets)).replace("its columns are", "its sheets are")
            raise ValueError(f"{path} has no sheet {quoted(sheet)}; {close}")
        return sheets[sheet], ()
    filled = [each for each in sheets.values() if next(_rows(path, each), None) is not None]
    seen = [each for each in filled if each.sheet_state == "visible"]
    hidden = [each.title for each in filled if each.sheet_state != "visible"]
    if len(seen) == 1:
        word = "sheet" if len(hidden) == 1 else "sheets"
        return seen[0], (f"the hidden {word} {listed(hidden)} is not read",) if hidden else ()
    if not filled:
        raise ValueError(f"{path} is empty: no sheet has anything in it")
    what = "hidden sheets only" if not seen else f"{len(seen)} sheets"
    example = f"{path}#{(seen or filled)[0].title}"
    raise refusal(
        ValueError,
        f"{path} has {what}: {listed([each.title for each in seen or filled], 10)}",
        Advice(f"say which to read, such as {example!r}", f"say which to read, such as {example!r}"),
    )


def _rows(path: Path, sheet: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the rows that have anything in them, with their numbers; cells without anything are None."""
    with _explained(path):
        # What a file says of its size is often wrong, and would hide what is beyond.
        sheet.reset_dimensions()
        rows = iter(sheet.iter_rows(values_only=True))
    start = 1
    while True:
        with _explained(path):
            block = list(itertools.islice(rows, _BLOCK_ROWS))
        for number, row in enumerate(block, start):
            if any(cell is not None and cell != "" for cell in row):
                yield number, row
        if not block:
            return
        start += len(block)


def _columns(
    path: Path, rows: Iterator[tuple[int, tuple[Any, ...]]]
) -> tuple[list[str], list[CellColumn], tuple[str, ...]]:
    """Return the names of the columns, their cells, and what there is to say of the rows."""
    start, header = next(rows, (0, ()))
    if not header:
        raise ValueError(f"{path} is empty: the sheet has nothing in it")
    places = {place: cell for place, cell in enumerate(header) if cell not in (None, "")}
    for place, cell in places.items():
        if cell in ERRORS:
            raise ValueError(f"{path} has the error {cell} for the name of column {_letters(place)}; name it")
    columns = {place: CellColumn(str(path), _name(cell)) for place, cell in places.items()}
    before, gaps = start, 0
    while block := list(itertools.islice(rows, _BLOCK_ROWS)):
        for number, row in block:
            gaps, before = gaps + number - before - 1, number
            unnamed = [p for p, cell in enumerate(row) if cell not in (None, "") and p not in places]
            if unnamed:
                raise _no_name(path, start, number, unnamed[0], len(places))
        numbers = [number for number, _ in block]
        for place, column in columns.items():
            column.add(numbers, [row[place] if place < len(row) else None for _, row in block])
    notes: tuple[str, ...] = ()
    if start > 1:
        notes += (f"the names of the columns are in row {start}",)
    if gaps:
        notes += (f"{counted(gaps, 'empty row')} among the others {'is' if gaps == 1 else 'are'} left out",)
    return [column.name for column in columns.values()], list(columns.values()), notes


def _table(path: Path, names: list[str], columns: Sequence[CellColumn], reading: Reading) -> Any:
    pa = optional("pyarrow", "app", "reading tables")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{path} has more than one column named {listed(twice)}; rename or drop one")
    return pa.table([column.values(reading) for column in columns], names=names)


def _name(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _no_name(path: Path, header: int, row: int, place: int, named: int) -> ValueError:
    title = f"; if row {header} is a title, take it out" if named == 1 else ""
    return ValueError(
        f"{path} has a value in {_letters(place)}{row}, but no name for that column in row {header}; name "
        f"the column, or take out what is beside the table{title}"
    )


def _letters(place: int) -> str:
    """Return what Excel calls a column.

    >>> _letters(0), _letters(27)
    ('A', 'AB')
    """
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def require_plain_cells(path: Path, markup: Any) -> None:
    """Refuse a sheet with merged cells, or with formulas that have no value; `markup` is read to its end."""
    empty, merged = 0, 0
    first_formula = first_merged = ""
    for text, new in _overlapping(markup):
        for found in _FORMULA.finditer(text):
            if found.end() > new and not _TEXT.search(found[1]):
                place = _PLACE.search(found[1])
                where = place[1].decode() if place else "a cell"
                first_formula = first_formula or f"{where} is ={(found[2] or b'...').decode()[:40]}"
                empty += 1
        for found in _MERGED.finditer(text):
            if found.end() > new:
                first_merged = first_merged or found[1].decode()
                merged += 1
    if merged:
        raise ValueError(
            f"{path} has {counted(merged, 'range')} of merged cells, such as {first_merged}, of which only "
            "the first cell has a value; take the merge back, and fill in the others"
        )
    if empty:
        raise ValueError(
            f"{path} has {counted(empty, 'formula')} without a value: {first_formula}; open it in Excel or "
            "LibreOffice, which compute formulas, and save it"
        )


def _overlapping(markup: Any) -> Iterator[tuple[bytes, int]]:
    """Yield pieces that overlap, so that nothing is cut, and how much of each was there before."""
    kept = b""
    while piece := markup.read(_PIECE):
        yield kept + piece, len(kept)
        kept = (kept + piece)[-_LONGEST:]
