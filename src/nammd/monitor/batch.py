"""A batch, with all that was found of it, and how it is read from a record.

Whatever is read is checked against what it can be, field by field: a file may have been edited.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, get_args

from nammd.explaining.facts import Kind
from nammd.monitor.chain import Damaged, Record, content_of, damaged
from nammd.monitor.records import is_digest, require_key_of
from nammd.statistics.stream import BETS


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

    @property
    def told(self) -> str:
        """What became of it, in any case: where nothing is proven, that is said.

        >>> Moved("amount", "", 0.7).told
        'amount: 70 % of its tolerance, not proven'
        """
        if self.words:
            return self.words
        if not math.isfinite(self.ratio):
            return f"{self.name}: changed, not proven"
        much = f"{self.ratio:.2g} times" if self.ratio >= 10 else f"{100 * self.ratio:.3g} % of"
        return f"{self.name}: {much} its tolerance, not proven"


class Against(NamedTuple):
    """A fact that speaks against a batch.

    Attributes
    ----------
    kind : {"data", "trust"}
        What it is about.
    words : str
        The fact, in words.
    pvalue : float
        That of more rows than are allowed, where the fact is a matter of degree; adjusted for all facts, so
        that the level of the batch is what it is held against. Zero where the fact is new in kind.
    """

    kind: Kind
    words: str
    pvalue: float = 0.0


@dataclass(frozen=True)
class Details:
    """What of a batch is looked at now and then.

    Attributes
    ----------
    facts : tuple of (str, str)
        What can be counted and is worth knowing: codes and sentences.
    cautions : tuple of (str, str)
        What makes its numbers less sure, likewise.
    columns : tuple of Moved
        The columns that moved, the first most.
    settings : dict
        How it was computed, what it is like, the level of its interval, and the path of its file.
    """

    facts: tuple[tuple[str, str], ...] = ()
    cautions: tuple[tuple[str, str], ...] = ()
    columns: tuple[Moved, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    def read(self) -> Details:
        """Return it."""
        return self


@dataclass(frozen=True)
class StoredDetails:
    """Details as a record has them; they are read when they are asked for, since batches may be many.

    Attributes
    ----------
    text : str
        What the record has.
    record : Record
        The record.
    path : Path
        The file that it is in.
    """

    text: str
    record: Record = field(compare=False, repr=False)
    path: Path = field(compare=False, repr=False)

    @classmethod
    def of(cls, record: Record, path: Path) -> StoredDetails:
        """Return those of a record; quickly, since there may be many thousands."""
        details = object.__new__(cls)
        details.__dict__.update(text=record.details, record=record, path=path)
        return details

    def read(self) -> Details:
        """Return them, if they can be."""
        try:
            found = content_of(self.text)
            if found.keys() != {"facts", "cautions", "columns", "settings"}:
                raise Damaged("its details are not those of a batch")
            _require_settings(found["settings"])
            facts, cautions = (_pairs(found[name], name) for name in ("facts", "cautions"))
            return Details(facts, cautions, _moved(found["columns"]), found["settings"])
        except Damaged as error:
            raise damaged(self.path, Damaged(f"{self.record.told()} cannot be: {error}")) from None


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
        Of all tests of FAR: of the joint distance and of all columns that take part; adjusted for the facts,
        which share the level with them.
    pvalue_doubt : float
        The smallest of any view, were it the only one: nothing is CLOSE while one is in doubt.
    bets : tuple of float
        The logarithm of the evidence against "within" by bets on its rows, for each size of bet; empty where
        rows belong together or are not there any more, and normal scores serve.
    failures : tuple of Against
        The facts that speak against it.
    report : str
        The page about it; empty where there is none.
    sums : str
        The digest of its sums; empty where there are none.
    details : Details or StoredDetails
        What is looked at now and then.
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
    pvalue_doubt: float
    bets: tuple[float, ...] = ()
    failures: tuple[Against, ...] = ()
    report: str = ""
    sums: str = ""
    details: Details | StoredDetails = Details()

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What can be counted and is worth knowing: codes and sentences."""
        return self.details.read().facts

    @property
    def cautions(self) -> tuple[tuple[str, str], ...]:
        """What makes its numbers less sure: codes and sentences."""
        return self.details.read().cautions

    @property
    def columns(self) -> tuple[Moved, ...]:
        """The columns that moved, the first most."""
        return self.details.read().columns

    @property
    def settings(self) -> dict[str, Any]:
        """How it was computed."""
        return self.details.read().settings

    @property
    def fine(self) -> str:
        """That it is beyond at a finer scale only, in words; empty where it is not."""
        return str(self.settings.get("fine", ""))

    @property
    def moved(self) -> tuple[str, ...]:
        """What moved most, at most three, in words; never nothing: else it is all columns together."""
        columns = self.columns
        proven = [each for each in columns if each.words]
        fine = [self.fine] if self.fine else []
        found = [*fine, *(each.told for each in proven or columns)][:MOST_TOLD]
        share = 100 * max(self.distance, 0.0) / self.epsilon
        return tuple(found) or (f"all columns together: {share:.3g} % of the tolerance",)

    @property
    def pvalue(self) -> float:
        """The p-value of FAR as a whole: of all tests, and of facts that are a matter of degree."""
        facts = [fact.pvalue for fact in self.failures if fact.kind == "data" and fact.pvalue]
        return min(self.pvalue_beyond, *facts) if facts else self.pvalue_beyond

    def against(self, level: float) -> set[Kind]:
        """Return what kinds of facts speak against it, those that are a matter of degree at a level."""
        return {fact.kind for fact in self.failures if fact.pvalue <= level}

    def reasons(self, level: float, facts: int) -> tuple[str, ...]:
        """Return what speaks against it, in words, with so many facts at most.

        What is proven at the level comes first: where half of all values are missing, rows that are alike are
        what comes of it. If it is FAR by facts alone, these do.
        """
        # Of the facts those that make it FAR come first.
        ordered = sorted(self.failures, key=lambda fact: fact.kind != "data" or fact.pvalue > level)
        against = tuple(fact.words for fact in ordered[:facts])
        named = bool(self.fine) or any(each.words for each in self.columns)
        first = named and self.pvalue_beyond <= level
        return (*self.moved, *against) if first else (*against, *self.moved)

    def content(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return all but its key and its number, which its record tells, as plain values; details apart."""
        found: dict[str, Any] = {}
        for name in _CONTENT:
            value = getattr(self, name)
            found[name] = float(value) if name in _NUMBERS else value  # no scalar of NumPy
        return found, dataclasses.asdict(self.details.read())

    @classmethod
    def read(cls, key: str, number: int, content: Mapping[str, Any], details: StoredDetails) -> Batch:
        """Return the batch in a record, if it can be one."""
        if content.keys() != _CONTENT:
            raise Damaged(f"its fields are not those of a batch: {sorted(_CONTENT ^ content.keys())[:3]}")
        # There may be many thousands: what is wrong is looked for only where something is.
        if not _possible(content):
            raise Damaged(_impossible(content))
        require_key_of(key)
        failures = _against(content["failures"])
        bets = _bets(content["bets"])
        batch = object.__new__(cls)
        batch.__dict__.update(content, key=key, number=number, bets=bets, failures=failures, details=details)
        return batch


_CONTENT = {each.name for each in dataclasses.fields(Batch)} - {"key", "number", "details"}
_NUMBERS = tuple(each.name for each in dataclasses.fields(Batch) if each.type == "float")
_COUNTS, _TEXTS = ("m", "n", "era"), ("digest", "added", "source", "report", "sums")
_PROBABILITIES = ("pvalue_close", "pvalue_far", "pvalue_beyond", "pvalue_doubt")
_DEVIATIONS = ("deviation", "given", "reference", "features", "error")
_DISTANCES = ("u", "distance")
MOST_TOLD = 3
"""So many columns are told of a batch."""
FAILURES = get_args(Kind)
MOST_ROWS = 2**53
"""So many can be counted."""
_TYPED = itemgetter(*_NUMBERS, *_COUNTS, *_TEXTS)
_TYPES = [float] * len(_NUMBERS) + [int] * len(_COUNTS) + [str] * len(_TEXTS)
_SIGNED = itemgetter(*_PROBABILITIES, *_DEVIATIONS, *_DISTANCES)


def _possible(content: Mapping[str, Any]) -> bool:
    """Tell whether the fields of a batch can be; a number may be NaN, where a test could not be made."""
    if list(map(type, _TYPED(content))) != _TYPES:
        return False
    close, far, beyond, doubt, *deviations, u, distance = _SIGNED(content)
    for value in (close, far, beyond, doubt):
        if value < 0 or value > 1:
            return False
    for value in deviations:
        if value < 0 or value == math.inf:
            return False
    return (
        0 < content["epsilon"] < 1
        and abs(u) != math.inf
        and abs(distance) != math.inf
        and min(content["m"], content["n"], content["era"]) >= 1
        and max(content["m"], content["n"]) <= MOST_ROWS
        and (not content["sums"] or is_digest(content["sums"]))
    )


def _impossible(content: Mapping[str, Any]) -> str:
    """Say which field of a batch cannot be."""
    for name, value, kind in zip((*_NUMBERS, *_COUNTS, *_TEXTS), _TYPED(content), _TYPES, strict=True):
        if type(value) is not kind:
            return f"its {name} is no {_KINDS_OF_VALUES[kind]}"
    for name in (*_PROBABILITIES, *_DEVIATIONS):
        if content[name] < 0 or content[name] > (1 if name in _PROBABILITIES else sys.float_info.max):
            return f"its {name} is {content[name]:g}"
    for name in _COUNTS:
        if not 1 <= content[name] <= MOST_ROWS:
            return f"its {name} is not a whole number from 1 to {MOST_ROWS}"
    return "its distance, its tolerance or the digest of its sums is none"


_KINDS_OF_VALUES = {float: "number", int: "whole number", str: "text"}


def _bets(found: Any) -> tuple[float, ...]:
    """Return what bets on its rows made: as many numbers as there are bets, or none."""
    if type(found) is not list or len(found) not in (0, len(BETS)) or {*map(type, found)} - {float}:
        raise Damaged(f"its bets are not {len(BETS)} numbers, or none")
    if not all(map(math.isfinite, found)):
        raise Damaged("one of its bets is no number")
    return tuple(found)


def _against(found: Any) -> tuple[Against, ...]:
    """Return the facts against it."""
    if found == []:
        return ()
    kinds = [str, str, float]
    if type(found) is not list or not all(type(e) is list and [*map(type, e)] == kinds for e in found):
        raise Damaged("its failures are not kinds with words and numbers")
    failures = tuple(Against(*each) for each in found)
    if any(fact.kind not in FAILURES for fact in failures):
        raise Damaged("the facts against it are of no kind")
    if not all(0 <= fact.pvalue <= 1 for fact in failures):
        raise Damaged("the p-value of a fact against it is none")
    return failures


def _pairs(found: Any, name: str) -> tuple[tuple[str, str], ...]:
    """Return a list of pairs of texts."""
    if found == []:
        return ()
    if type(found) is not list or not all(type(e) is list and [*map(type, e)] == [str, str] for e in found):
        raise Damaged(f"its {name} are no pairs of texts")
    return tuple((first, second) for first, second in found)


def _moved(found: Any) -> tuple[Moved, ...]:
    if found == []:
        return ()
    kinds = [str, str, float]
    if type(found) is not list or not all(type(e) is list and [*map(type, e)] == kinds for e in found):
        raise Damaged("its columns are not names with words and numbers")
    return tuple(Moved(*each) for each in found)


def _require_settings(found: Any) -> None:
    """Refuse settings of a batch that cannot be; those that nobody reads may be anything."""
    if type(found) is not dict:
        raise Damaged("its settings are no mapping")
    like, level = found.get("like", {}), found.get("interval_level")
    if {type(found.get(name, "")) for name in ("path", "fine")} != {str}:
        raise Damaged("the path of its file, or what is said of it, is no text")
    if type(like) is not dict or not all(type(share) in (int, float) for share in like.values()):
        raise Damaged("what it is like are no numbers")
    if not all(-0.01 <= share <= 1.01 for share in like.values()):  # up to rounding
        raise Damaged("what it is like are no shares")
    if level is not None and not (type(level) is float and 0 < level < 1):
        raise Damaged("the level of its interval is none")
