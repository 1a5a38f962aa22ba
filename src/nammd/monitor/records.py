"""What a history holds: batches, events, and what the batches were held against."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

EventKind: TypeAlias = Literal[
    "created",
    "alarm opened",
    "alarm closed",
    "alarm withdrawn",
    "acknowledged",
    "closed by hand",
    "note",
    "tolerance changed",
    "reference changed",
    "batch replaced",
    "batch forgotten",
]


class Damaged(ValueError):
    """What a file holds is not what was written."""


class Moved(NamedTuple):
    """How far a column moved.

    Attributes
    ----------
    name : str
        The column.
    words : str
        What became of it, in a few words; empty where it is within its tolerance.
    ratio : float
        Its distance over its own tolerance.
    """

    name: str
    words: str
    ratio: float


@dataclass(frozen=True)
class Batch:
    """One batch, with all that was found of it.

    Attributes
    ----------
    key : str
        What it is called; its place in the stream.
    number : int
        How many batches had been tested when it came, with itself: the order of arrival.
    era : int
        What it was held against: the number of an `Era`.
    digest : str
        Of its rows, as points of the space of the tolerance.
    added : str
        When it came, in universal time.
    source : str
        The file it came from; empty where it was data in memory.
    m, n : int
        The rows of the reference and its own.
    epsilon : float
        The tolerance.
    u, deviation, share : float
        ``U = MMD2 - epsilon D``, the standard deviation that its test divides by, and the share of that
        variance due to pairs of rows.
    given, reference, features : float
        The standard deviation of U over draws of the batch alone, of the reference and the tolerance, and of
        random features.
    error : float
        The standard error of the distance over draws of the batch alone.
    distance, low, high : float
        The estimated distance, with the interval that the tests of the verdict leave.
    pvalue_close, pvalue_far : float
        Of "within the tolerance" and "beyond", of the joint distance.
    pvalue_beyond : float
        Of FAR as a whole: of the joint distance and of all columns that take part.
    cautions : tuple of (str, str)
        What to know before relying on it: codes and sentences.
    columns : tuple of Moved
        The columns that moved, the first most.
    settings : dict
        How it was computed.
    report : str
        The page about it; empty where there is none.
    """

    key: str
    number: int
    era: int
    digest: str
    added: str
    source: str
    m: int
    n: int
    epsilon: float
    u: float
    deviation: float
    share: float
    given: float
    reference: float
    features: float
    error: float
    distance: float
    low: float
    high: float
    pvalue_close: float
    pvalue_far: float
    pvalue_beyond: float
    cautions: tuple[tuple[str, str], ...] = ()
    columns: tuple[Moved, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    report: str = ""

    def to_row(self) -> tuple[Any, ...]:
        """Return the values as SQLite holds them, with a checksum at the end."""
        values = []
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if isinstance(value, float):
                value = None if math.isnan(value) else float(value)  # no scalar of NumPy
            elif isinstance(value, (tuple, dict)):
                value = json.dumps(value, sort_keys=True, allow_nan=False)
            values.append(value)
        return (*values, checksum(values))

    @classmethod
    @lru_cache(maxsize=10_000)  # a monitor reads its whole history with every batch
    def from_row(cls, row: tuple[Any, ...]) -> Batch:
        """Return the batch in a row, if it is what was written."""
        *values, sealed = row
        if checksum(values) != sealed:
            raise Damaged(f"the batch {values[0]!r} is not what was written")
        found = dict(zip(BATCH_COLUMNS, values, strict=True))
        for name in _FLOATS:
            found[name] = math.nan if found[name] is None else found[name]
        # Most batches have neither, and there may be many of them.
        cautions, columns = (
            () if found[name] == "[]" else json.loads(found[name]) for name in ("cautions", "columns")
        )
        found["cautions"] = tuple((str(code), str(message)) for code, message in cautions)
        found["columns"] = tuple(Moved(*each) for each in columns)
        found["settings"] = json.loads(found["settings"])
        return cls(**found)


BATCH_COLUMNS = tuple(each.name for each in dataclasses.fields(Batch))
_FLOATS = tuple(each.name for each in dataclasses.fields(Batch) if each.type == "float")


def checksum(values: list[Any]) -> str:
    """Return a short digest of the values of a row."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Event:
    """Something that happened; events are only ever added.

    Attributes
    ----------
    number : int
        In the order in which they happened.
    at : str
        When, in universal time.
    kind : str
        What.
    key : str
        The batch that it is about; empty where it is about none.
    cause : str
        Of an alarm: whether a batch or the stream opened it.
    text : str
        A sentence.
    """

    number: int
    at: str
    kind: EventKind
    key: str = ""
    cause: str = ""
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Era:
    """What batches are held against, from some moment on.

    Attributes
    ----------
    number : int
        In their order; the last one holds now.
    since : str
        From when on, in universal time.
    tolerance : str
        The tolerance, as its file has it.
    reference : int
        The number of the reference.
    """

    number: int
    since: str
    tolerance: str = field(repr=False)
    reference: int
