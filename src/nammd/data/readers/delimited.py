"""CSV and TSV files, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nammd.data.readers.charsets import UTF8, charset_of
from nammd.data.readers.column_types import settled, without_blanks, words_in
from nammd.data.readers.formats import explained, open_text, require_text
from nammd.data.readers.parsing import Style, explained_rows, opened
from nammd.data.readers.quotes import require_closed_quotes
from nammd.data.readers.sources import BLOCK_BYTES, TableFile, sliced
from nammd.data.written.reading import Reading

KEPT_BLOCKS = 16
"""A file of no more blocks is read once, for the types of its columns and for its rows."""


def open_delimited(
    path: Path, tabs: bool = False, reading: Reading | None = None, keep: bool = True
) -> TableFile:
    """Open a CSV file, or with `tabs` a TSV file; `keep` its rows where they are few."""
    said = Reading.of(reading)
    with explained(path, "text"), open_text(path) as file:
        head = file.read(BLOCK_BYTES)
    require_text(path, head, wide=True)
    charset, remarks = charset_of(path, head, said.encoding)
    if charset != UTF8:
        with explained(path, "text"), open_text(path, charset) as file:
            head = file.read(BLOCK_BYTES)
    require_text(path, head)
    one_block = len(head) < BLOCK_BYTES
    if one_block and len(head.strip().splitlines()) == 1:
        raise ValueError(f"{path} has columns but no rows")
    delimiter, notes = ("\t", ()) if tabs else _delimiter(head)
    style = Style(path, delimiter, charset, tuple(said.missing), BLOCK_BYTES)
    require_closed_quotes(path, [head] if one_block else style.blocks(), delimiter)
    found = settled(style, head, said.text, KEPT_BLOCKS if keep else 0)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        if found.batches is not None:
            for batch in found.batches:
                yield from sliced(batch.select(columns), batch_rows)
            return
        with explained_rows(style, found.names), opened(style, found.types, columns) as reader:
            for batch in reader:
                yield from sliced(without_blanks(batch), batch_rows)

    return TableFile(path, found.names, stream, notes + remarks, words=words_in(style, found.gaps))


def _delimiter(head: bytes) -> tuple[str, tuple[str, ...]]:
    """Return what separates the columns: a comma, unless the header has none and something else."""
    header = head.lstrip().splitlines()[0].decode("utf-8", errors="replace")
    if "," not in header:
        for delimiter, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if delimiter in header:
                return delimiter, (f"the columns are separated by {name}, not by commas",)
    return ",", ()
