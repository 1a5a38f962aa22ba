"""The history as a chain: every record carries the digest of the one before it.

The order is that of writing, not that of the stream: a batch that comes late, takes the place of another or
is forgotten is one more record at the end. So a record that is taken out, changed, put in or moved leaves a
place where the chain does not hold, and that place is named. Each record carries the name of the one before
too, so that one that is gone can be named. The `Head` says where the chain ends.

With a key the digests are HMACs: who does not have it can write no record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nammd.errors.seal_key import fingerprint

START = ""
"""What stands before the first record."""

PLAIN, KEYED = "sha256", "hmac"


class Damaged(ValueError):
    """What a file holds is not what was written."""


def damaged(path: Path, error: Exception) -> ValueError:
    """Return the error about a file, with what to do about it."""
    words = " ".join(str(error).split())
    return ValueError(
        f"the monitor {path} is damaged ({words}); take it from a backup, or move what can be read of "
        "it into a new file with 'nammd monitor repair'"
    )


class Record(NamedTuple):
    """Something that was written.

    Attributes
    ----------
    number : int
        Its place, from 1.
    kind : str
        What it is: ``"batch"``, or an event such as ``"acknowledged"``.
    key : str
        The batch that it is about; empty where it is about none.
    body, details : str
        All else, as JSON: what the state of the stream needs, and what is looked at now and then.
    follows, before : str
        The name and the digest of the record before.
    digest : str
        Of all the others.
    """

    number: int
    kind: str
    key: str
    body: str
    details: str
    follows: str
    before: str
    digest: str

    @property
    def name(self) -> str:
        """What it is called in the record after it."""
        return f"{self.kind} {self.key}".rstrip()

    def told(self) -> str:
        """Return what it is called in messages."""
        return told(self.number, self.name)


def content_of(text: str) -> dict[str, Any]:
    """Return what the body or the details of a record hold."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Damaged("it is no mapping")
    return found


def _written(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


COLUMNS = ", ".join(Record._fields)
_FIELDS = len(Record._fields) - 1
_TYPES = [int] + [str] * _FIELDS


def told(number: int, name: str) -> str:
    """Return what a record is called in messages.

    >>> told(7, "batch 2026-03-01")
    'record 7 (batch 2026-03-01)'
    """
    shown = "".join(letter if letter.isprintable() else "?" for letter in name[:250])
    return f"record {number} ({shown})" if shown else f"record {number}"


class Head(NamedTuple):
    """The end of a chain.

    Attributes
    ----------
    number : int
        How many records there are.
    name, digest : str
        The name and the digest of the last one.
    """

    number: int = 0
    name: str = ""
    digest: str = START

    def sealed(self, key: bytes | None) -> str:
        """Return its seal, which says whether there is a key."""
        text = f"{self.number}\0{self.name}\0{self.digest}"
        return f"{PLAIN if key is None else KEYED}:{fingerprint(key, text.encode())}"

    def next(self, kind: str, key: str, content: Any, seal: bytes | None, details: Any = None) -> Record:
        """Return the record that comes after it."""
        body = _written(content)
        more = "" if details is None else _written(details)
        begun = Record(self.number + 1, kind, key, body, more, self.name, self.digest, "")
        return begun._replace(digest=digest_of(begun, seal))


def digest_of(record: Sequence[Any], key: bytes | None) -> str:
    """Return the digest that a record must have; `record` may be a row of the table."""
    number, kind, name, body, details, follows, before, _ = record
    text = f"{number}\0{kind}\0{name}\0{follows}\0{before}\0{body}\0{details}"
    if text.count("\0") != _FIELDS - 1:  # no field may reach into the next one
        return ""
    return fingerprint(key, text.encode("utf-8", "surrogatepass"))


def is_whole(row: Sequence[Any], key: bytes | None) -> bool:
    """Tell whether a row is, by itself, what was written."""
    return list(map(type, row)) == _TYPES and digest_of(row, key) == row[-1]


def require_chain(
    rows: Iterable[Sequence[Any]], after: Head, head: Head, key: bytes | None
) -> Iterator[Record]:
    """Yield the records after those that are known, up to the head; refuse what does not belong there."""
    last: Head | Record = after
    for row in rows:
        if not is_whole(row, key):
            raise Damaged(_changed(row, last.number + 1))
        record = Record(*row)
        if record.number != last.number + 1:
            raise Damaged(gone(last.number + 1, record.number - 1, record.follows))
        if record.number > head.number:
            raise Damaged(f"{record.told()} was put in after the last one")
        if record.before != last.digest:
            raise Damaged(f"{record.told()} does not follow the one before it, which was changed or put in")
        yield record
        last = record
    if last.number < head.number:
        raise Damaged(gone(last.number + 1, head.number, head.name))
    if (last.name, last.digest) != (head.name, head.digest):
        raise Damaged(f"{told(last.number, last.name)} is not what was written")


def _changed(row: Sequence[Any], number: int) -> str:
    """Say that a row was changed; what is left of it may tell which it was."""
    found, kind, key, *_ = row
    where = found if isinstance(found, int) else number
    name = f"{kind} {key}".rstrip() if isinstance(kind, str) and isinstance(key, str) else ""
    return f"{told(where, name)} is not what was written"


def gone(first: int, last: int, name: str) -> str:
    """Say which records are gone; the name is that of the last of them."""
    if first == last:
        return f"{told(first, name)} is missing"
    return f"records {first} to {last} are missing, the last of them {told(last, name)}"
