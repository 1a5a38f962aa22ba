"""What a history holds beside batches: events, and what the batches were held against.

Whatever is read is checked against what it can be, field by field: a file may have been edited.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from nammd.monitor.chain import Damaged
from nammd.monitor.keys import LONGEST

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
    "batch refused",
    "calendar changed",
    "repaired",
]
EVENTS: frozenset[str] = frozenset(get_args(EventKind))
CAUSES = ("", "batch", "stream", "silence", "refused")
KINDS = ("table", "column", "array", "sketch", "file", "elsewhere")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def require_key_of(key: str) -> None:
    """Refuse a key that `as_key` could not have made."""
    if key != key.strip() or not 0 < len(key) <= LONGEST or not key.isprintable():
        raise Damaged("its key is none")


def require_texts(content: Mapping[str, Any], *names: str) -> None:
    """Refuse a record of which some fields are no text."""
    for name in names:
        if type(content.get(name)) is not str:
            raise Damaged(f"its {name} is no text")


def require_digests(content: Mapping[str, Any], *names: str) -> None:
    """Refuse a record of which some fields are neither empty nor a digest."""
    for name in names:
        if content[name] and not is_digest(content[name]):
            raise Damaged(f"its {name} is no digest")


def is_digest(text: str) -> bool:
    """Tell whether a text is a digest."""
    return _DIGEST.fullmatch(text) is not None


@dataclass(frozen=True)
class Event:
    """Something that happened; events are only ever added.

    Attributes
    ----------
    number : int
        Its place among all that was ever written.
    at : str
        When, in universal time.
    kind : str
        What.
    key : str
        The batch that it is about; empty where it is about none.
    cause : str
        Of an alarm: a batch, the stream, silence, or that a batch was refused.
    text : str
        A sentence.
    """

    number: int
    at: str
    kind: EventKind
    key: str = ""
    cause: str = ""
    text: str = ""

    @classmethod
    def read(cls, number: int, kind: Any, key: str, content: Mapping[str, Any]) -> Event:
        """Return the event in a record, if it can be one."""
        require_texts(content, "at", "cause", "text")
        if content["cause"] not in CAUSES:
            raise Damaged("its cause is none")
        if key:
            require_key_of(key)
        return cls(number, content["at"], kind, key, content["cause"], content["text"])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Kept:
    """A reference as it is kept.

    Attributes
    ----------
    name : str
        What it is called.
    rows : int
        How many rows it has.
    digest : str
        Of its rows, as points of the space of its tolerance; empty where there is none, as of a sketch.
    kind : {"table", "column", "array", "sketch", "file", "elsewhere"}
        How: its content inside, or the path of a file, or nothing at all.
    path : str
        Where it came from; empty where it was data in memory.
    content, sums : str
        The digests of what is kept inside, and of its sums; empty where that is nothing.
    """

    name: str
    rows: int
    digest: str
    kind: str
    path: str
    content: str = ""
    sums: str = ""

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Kept:
        """Return the reference in a record, if it can be one."""
        require_texts(content, "name", "digest", "kind", "path", "content", "sums")
        require_digests(content, "content", "sums")
        if content["kind"] not in KINDS:
            raise Damaged("its kind is not known")
        if type(content.get("rows")) is not int or content["rows"] < 1:
            raise Damaged("its number of rows is none")
        return cls(**{each.name: content[each.name] for each in dataclasses.fields(cls)})


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
    tests : int
        How many tests there had been before it: what may go wrong is spent anew from here on.
    """

    number: int
    since: str
    tolerance: str = field(repr=False)
    reference: int
    tests: int = 0

    @classmethod
    def read(cls, references: int, tests: int, content: Mapping[str, Any]) -> Era:
        """Return the era in a record, if it can be one after so many references and tests."""
        require_texts(content, "since", "tolerance")
        reference = content.get("reference")
        if type(reference) is not int or not 1 <= reference <= references:
            raise Damaged("its reference is not there")
        return cls(content["number"], content["since"], content["tolerance"], reference, tests)
