"""What all readers have in common: a file as a stream of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nammd.errors.naming import require_unique

BATCH_ROWS = 65_536
"""Rows of a batch, unless somebody asks for another number."""

BLOCK_BYTES = 1 << 20
"""Text files are read in pieces of this many bytes; Arrow reads some forty of them ahead."""


class TableStream(Protocol):
    """Yields record batches of at most `batch_rows` rows with the given columns.

    With `keep` the batches outlive the reading, so they must not be views into the file.
    """

    def __call__(self, columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        """Read the file from its beginning."""
        ...


@dataclass(frozen=True)
class TableFile:
    """A file of named columns; batches are Arrow record batches.

    Attributes
    ----------
    rows : int or None
        The number of rows, where it is known without reading them.
    words : mapping
        How often words for missing values stood among numbers and times, by column, where the reader has
        taken them out.
    """

    path: Path | str
    names: tuple[str, ...]
    stream: TableStream
    notes: tuple[str, ...] = ()
    rows: int | None = None
    words: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_unique(self.names, str(self.path))
        if not self.names:
            raise ValueError(f"{self.path} is empty: it has no columns")


@dataclass(frozen=True)
class ArrayFile:
    """A file of numbered columns with a known number of rows; batches are NumPy arrays.

    Attributes
    ----------
    rows : int
        The number of rows.
    names : tuple of str or None
        The names of the columns, or None where they mean nothing by themselves (pixels).
    take : callable
        ``take(positions)`` returns those rows.
    stream : callable
        ``stream(batch_rows)`` yields all rows.
    """

    path: Path
    rows: int
    names: tuple[str, ...] | None
    take: Callable[[NDArray[np.intp]], NDArray[Any]]
    stream: Callable[[int], Iterator[NDArray[Any]]]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError(f"{self.path} is empty: it has no rows")


def sliced(batch: Any, batch_rows: int) -> Iterator[Any]:
    """Yield a record batch in pieces of at most `batch_rows` rows."""
    for start in range(0, batch.num_rows, batch_rows):
        yield batch.slice(start, batch_rows)
