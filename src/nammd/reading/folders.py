"""Folders of text files: CSV, TSV or JSON lines, one after the other as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nammd.errors.naming import listed
from nammd.reading.formats import optional
from nammd.reading.sources import TableFile
from nammd.reading.text_formats.options import Reading

Opener = Callable[[Path, Reading], TableFile]


def open_text_folder(
    folder: Path, files: Sequence[Path], open_one: Opener, reading: Reading | None
) -> TableFile:
    """Open files that have the same columns; where their types differ, all of them are read as text."""
    pa = optional("pyarrow", "app", "reading tables")
    said = Reading.of(reading)
    parts = [open_one(path, said) for path in files]
    first = parts[0]
    for part in parts[1:]:
        lacking = [name for name in first.names if name not in set(part.names)]
        extra = [name for name in part.names if name not in set(first.names)]
        if lacking or extra:
            which = f"lacks {listed(lacking)}" if lacking else f"has {listed(extra)} besides"
            raise ValueError(
                f"the files in {folder} differ in their columns: {part.path} {which}, unlike {first.path}"
            )
    schemas = [_schema(part) for part in parts]
    doubtful = [name for name in first.names if _type(name, schemas) is None]
    if doubtful:
        parts = [open_one(path, said.with_text(doubtful)) for path in files]
        schemas = [_schema(part) for part in parts]
    kinds = {name: _type(name, schemas) for name in first.names}
    for name, kind in kinds.items():
        if kind is None:
            raise ValueError(
                f"the files in {folder} disagree about the type of the column {name!r}; write it with "
                "one type"
            )

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        schema = pa.schema([(name, kinds[name]) for name in columns])
        for part in parts:
            for batch in part.stream(columns, batch_rows, keep):
                arrays = [batch.column(name).cast(kinds[name], safe=False) for name in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    notes = dict.fromkeys(note for part in parts for note in part.notes)
    words: dict[str, dict[str, int]] = {}
    for part in parts:
        for name, found in part.words.items():
            counts = words.setdefault(name, {})
            for word, times in found.items():
                counts[word] = counts.get(word, 0) + times
    return TableFile(folder, first.names, stream, tuple(notes), words=words)


def _schema(part: TableFile) -> Any:
    for batch in part.stream(list(part.names), 1 << 16, False):
        return batch.schema
    raise ValueError(f"{part.path} has columns but no rows")


def _type(name: str, schemas: Sequence[Any]) -> Any:
    """Return a type that suits a column in all files; None where there is none."""
    pa = optional("pyarrow", "app", "reading tables")
    kinds = {schema.field(name).type for schema in schemas}
    known = {kind for kind in kinds if not pa.types.is_null(kind)}
    if len(known) == 1:
        return next(iter(known))
    if not known:
        return pa.null()
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in known):
        return pa.float64()
    if all(pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None) for kind in known):
        return pa.timestamp("us")
    return None
