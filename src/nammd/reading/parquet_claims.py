"""What a Parquet file unpacks to, before it does: in it equal values take next to nothing, however many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nammd.errors.limits import allowed, require_unpacked
from nammd.reading.formats import optional
from nammd.reading.parquet_pages import require_pages_fit

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_OFFSET = 8
_FEW_ROWS = 64


def checked_footer(path: Path) -> Any:
    """Return the footer of a file, unless its values would take far more memory than it has bytes."""
    parquet = optional("pyarrow.parquet", "app", "reading Parquet files")
    require_pages_fit(path)
    footer = parquet.read_metadata(path.absolute())
    _require_values_fit(parquet, path, footer)
    return footer


def _require_values_fit(parquet: Any, path: Path, footer: Any) -> None:
    packed = path.stat().st_size
    _require_sound_groups(parquet, path, footer, packed)
    total, doubtful = 0, []
    for group in range(footer.num_row_groups):
        rows = footer.row_group(group)
        for column in range(rows.num_columns):
            chunk = rows.column(column)
            values = max(chunk.num_values, rows.num_rows)
            width = _WIDTHS.get(chunk.physical_type) or max(footer.schema.column(column).length, _OFFSET)
            total += values * width
            if chunk.physical_type == "BYTE_ARRAY":
                total += chunk.total_uncompressed_size
                # A word that is told once may be in every row.
                if values * chunk.total_uncompressed_size > allowed(packed):
                    doubtful.append((group, column, values))
    require_unpacked(total, packed, str(path))
    for group, column, values in doubtful:
        total += _text_bytes(parquet, path, footer, group, column, values, allowed(packed))
        require_unpacked(total, packed, str(path))


def _require_sound_groups(parquet: Any, path: Path, footer: Any, packed: int) -> None:
    """Refuse groups whose columns contradict themselves, by reading a row of each.

    Arrow ends the process where such a column is asked for its description, but not where it is read. What a
    group says of itself as a whole can be asked for before.
    """
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    require_unpacked(sum(max(group.total_byte_size, group.num_rows) for group in groups), packed, str(path))
    with parquet.ParquetFile(path.absolute(), pre_buffer=False) as file:
        for group in range(len(groups)):
            next(file.iter_batches(batch_size=1, row_groups=[group]), None)


def _text_bytes(
    parquet: Any, path: Path, footer: Any, group: int, column: int, values: int, most: int
) -> int:
    """Return how many bytes the words of a column in a row group take; counting ends at `most`."""
    pa = optional("pyarrow", "app", "reading Parquet files")
    compute = optional("pyarrow.compute", "app", "reading Parquet files")
    name = footer.schema.column(column).path
    coded = any("DICTIONARY" in encoding for encoding in footer.row_group(group).column(column).encodings)
    total = 0
    # As codes where they are such: then a word is there once, however often it is told.
    with parquet.ParquetFile(
        path.absolute(), pre_buffer=False, read_dictionary=[name] if coded else None
    ) as file:
        for batch in file.iter_batches(batch_size=_FEW_ROWS, row_groups=[group], columns=[name]):
            array = _innermost(pa, batch.column(0))
            if pa.types.is_dictionary(array.type):
                lengths = compute.binary_length(array.dictionary)
                if (compute.max(lengths).as_py() or 0) * values <= most:
                    return 0
                lengths = lengths.take(array.indices)
            else:
                lengths = compute.binary_length(array)
            total += compute.sum(lengths).as_py() or 0
            if total > most:
                break
    return total


def _innermost(pa: Any, array: Any) -> Any:
    """Return the values of a column within records and lists."""
    while True:
        if pa.types.is_struct(array.type):
            array = array.field(0)
        elif pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
            array = array.flatten()
        else:
            return array
