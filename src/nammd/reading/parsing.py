"""Arrow's reader of delimited text, opened in one way, and its complaints as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nammd.errors.checks import counted
from nammd.errors.naming import quoted
from nammd.reading.charsets import UTF8, not_utf8
from nammd.reading.formats import explained, open_text, optional

Types = dict[str, Any]

MISFIT = re.compile(r"In CSV column #(\d+): .*CSV conversion error to ([^:]*):")
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True)
class Style:
    """How a file is written.

    Attributes
    ----------
    path : Path
        The file.
    delimiter : str
        What separates its columns.
    charset : str
        Its encoding.
    missing : tuple of str
        Its words for missing values.
    block_bytes : int
        In pieces of what size it is read.
    comments : int
        How many lines before the names of the columns are comments.
    """

    path: Path
    delimiter: str
    charset: str
    missing: tuple[str, ...]
    block_bytes: int
    comments: int = 0

    def blocks(self) -> Iterator[bytes]:
        """Yield its content, unpacked and in UTF-8."""
        with explained(self.path, "CSV"), open_text(self.path, self.charset) as file:
            while block := file.read(self.block_bytes):
                yield block


@contextmanager
def opened(
    style: Style,
    types: Types,
    columns: Sequence[str] = (),
    source: Any = None,
    threads: bool = True,
) -> Iterator[Any]:
    """Open a file, or something else that is written so; all columns where none are named."""
    csv = optional("pyarrow.csv", "app", "reading CSV files")
    with ExitStack() as stack:
        if source is None:
            source = str(style.path)
            if style.charset != UTF8 or style.path.suffix.lower() == ".xz":  # Arrow knows neither
                source = stack.enter_context(open_text(style.path, style.charset))
        yield stack.enter_context(
            csv.open_csv(
                source,
                read_options=csv.ReadOptions(
                    block_size=style.block_bytes, use_threads=threads, skip_rows=style.comments
                ),
                parse_options=csv.ParseOptions(delimiter=style.delimiter, newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types=types, include_columns=list(columns), null_values=list(style.missing)
                ),
            )
        )


@contextmanager
def explained_rows(style: Style, names: Sequence[str] = ()) -> Iterator[None]:
    """Say what is wrong with the rows of a file, where Arrow says what it could not do."""
    pa = optional("pyarrow", "app", "reading CSV files")
    with explained(style.path, "CSV"):
        try:
            yield
        except pa.ArrowInvalid as error:
            misfit = MISFIT.search(str(error))
            if misfit and "UTF8" in str(error):
                raise not_utf8(style.path, _in_column(names[int(misfit[1])])) from None
            if _RAGGED.search(str(error)):
                raise _ragged(style, str(error)) from None
            raise


def require_utf8(path: Path, schema: Any) -> None:
    """Refuse text that could not be decoded."""
    for name, kind in zip(schema.names, schema.types, strict=True):
        if str(kind) == "binary":  # what Arrow makes of it
            raise not_utf8(path, _in_column(name))


def _ragged(style: Style, message: str) -> ValueError:
    # Only a reader without threads knows the number of the line; the error is worth a second look.
    try:
        with opened(style, {}, threads=False) as reader:
            for _ in reader:
                pass
    except ValueError as error:
        message = str(error) if _RAGGED.search(str(error)) else message
    found = _RAGGED.search(message)
    assert found is not None
    row, expected, got = found.groups()
    where = f"row {row}" if row else "a row"
    return ValueError(
        f"{style.path} is ragged: {where} has {counted(int(got), 'column')} where the header has {expected}; "
        + _likely(style, int(expected), int(got))
    )


def _likely(style: Style, expected: int, got: int) -> str:
    """Say what is likely to be wrong, and what to do about it."""
    if got < expected:
        return "it is cut short, or a note that is no row of the table: complete it, or take it out"
    head = next(style.blocks(), b"").decode("utf-8", "replace").splitlines()[style.comments :]
    before = next((k for k, line in enumerate(head) if line.count(style.delimiter) + 1 >= got), 0)
    if expected == 1 and before:
        lines = "its first line" if before == 1 else f"its first {before} lines"
        return f"{lines}, {quoted(head[0])}, should be the names of the columns: take out what is before them"
    if got == expected + 1 and head[1:2] and head[1].endswith(style.delimiter):
        return "rows end with a delimiter, and the header does not: take it out there, or add one here"
    return "look for a delimiter inside a value that is not in quotes"


def _in_column(name: str) -> str:
    return f" in the column {name!r}"
