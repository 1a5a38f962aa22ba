"""Reference, accepted data, and fresh batches of rows that neither has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from benchmarks.real_tables.sources import Frame, Table

_MOST, _PART = 5000, 3
"""Reference and accepted data have at most so many rows, and one part in so many of what there is."""

_FRESH = 0.8
"""A batch takes at most this share of the rows that are left, so that batches differ from each other."""

LIKE = ("reference", "accepted")
"""What a good batch is like."""


def generator(*what: str | int) -> np.random.Generator:
    """Return a generator that depends on what it is for, and on nothing else."""
    return np.random.default_rng([crc32(str(each).encode()) for each in what])


@dataclass(frozen=True)
class Setup:
    """What a detector is given, and what its batches come from.

    Attributes
    ----------
    name : str
        The name of the table.
    reference, accepted : DataFrame
        What the detector is given.
    left : mapping of str to DataFrame
        The other rows, by what they are like.
    """

    name: str
    reference: Frame
    accepted: Frame
    left: Mapping[str, Frame]

    @classmethod
    def of(cls, table: Table) -> Setup:
        """Draw the two datasets; the other rows are for batches."""
        given, left = {}, {}
        for like, rows in zip(LIKE, (table.reference, table.accepted), strict=True):
            order = generator(table.name, like).permutation(len(rows))
            size = min(_MOST, len(rows) // _PART)
            given[like] = rows.iloc[order[:size]].reset_index(drop=True)
            left[like] = rows.iloc[order[size:]].reset_index(drop=True)
        return cls(table.name, given["reference"], given["accepted"], left)

    def has(self, like: str, rows: int) -> bool:
        """Return whether there are rows enough for such batches."""
        return rows <= _FRESH * len(self.left[like])

    def batch(self, like: str, rows: int, number: int | str) -> Frame:
        """Draw a fresh batch, the same one for the same number (or fault)."""
        rng = generator(self.name, like, rows, number)
        left = self.left[like]
        return left.iloc[rng.choice(len(left), size=rows, replace=False)].reset_index(drop=True)
