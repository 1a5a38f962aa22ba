"""CSV and TSV files, in blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nammd.reading.charsets import UTF8, charset_of
from nammd.reading.column_types import settled, without_blanks, words_in
from nammd.reading.formats import explained, open_text, require_text
from nammd.reading.parsing import Style, explained_rows, opened
from nammd.reading.quotes import require_closed_quotes
from nammd.reading.sources import BLOCK_BYTES, TableFile, sliced
from nammd.reading.text_formats.options import Reading

_MOST_COMMENTS = 1000

_DECLARED = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
"""How Excel says in a first line what separates the columns."""

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
    if head.lstrip(b"\xef\xbb\xbf").startswith((b'{"', b'[{"')):
        raise ValueError(f"{path} holds JSON, by its content; give it the extension .jsonl")
    one_block = len(head) < BLOCK_BYTES
    if one_block and len(head.strip().splitlines()) == 1:
        raise ValueError(f"{path} has columns but no rows")
    declared = _DECLARED.match(head)
    comments = _comments(head) if declared is None else 1
    delimiter, notes = ("\t", ()) if tabs else _delimiter(head, comments)
    if declared is not None:
        delimiter = declared[1].decode()
    elif comments:
        lines = (
            "the first line is a comment and is"
            if comments == 1
            else f"the first {comments} lines are comments and are"
        )
        notes += (f"{lines} left out",)
    style = Style(path, delimiter, charset, tuple(said.missing), BLOCK_BYTES, comments)
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

    if found.sum_in_last_row:
        notes += (f"the last row has {found.sum_in_last_row!r}: if it sums up the others, take it out",)
    return TableFile(path, found.names, stream, notes + remarks, words=words_in(style, found))


def _comments(head: bytes) -> int:
    """Return how many lines before the header are comments; a header may begin with # itself."""
    lines = head.removeprefix(b"\xef\xbb\xbf").splitlines()[:_MOST_COMMENTS]
    first = next((k for k, line in enumerate(lines) if not line.startswith(b"#")), 0)
    if not first:
        return 0
    delimiter = _delimiter(lines[first], 0)[0].encode()
    # The names of the columns have as many delimiters as the rows below them.
    named = lines[first - 1].count(delimiter) == lines[first].count(delimiter) > 0
    return first - 1 if named else first


def _delimiter(head: bytes, comments: int) -> tuple[str, tuple[str, ...]]:
    """Return what separates the columns: a comma, unless the header has none and something else."""
    header = head.lstrip().splitlines()[comments].decode("utf-8", errors="replace")
    if "," not in header:
        for delimiter, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if delimiter in header:
                return delimiter, (f"the columns are separated by {name}, not by commas",)
    return ",", ()
