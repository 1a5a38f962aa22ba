"""Facts about a candidate: counted, not tested. `Fact`, which there are, and which of them speak against it.

A fact has a share of rows, or is about a whole column. It fails a check where its share is large enough,
unless it was allowed, or good data could have it by chance.

Some facts are a matter of degree: rows outside the range, or with a value that is rare. Data that have
drifted a little, within what is tolerated, have a few more of them. Where many batches are watched these are
tested against the share from which on they matter (`FactRules.pvalue`). Others are new in kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from nammd.errors.naming import suggestion
from nammd.errors.stored import Stored
from nammd.explaining.chance import Chance, Counted

Kind: TypeAlias = Literal["data", "trust"]
"""What a fact is about: the data, or whether they prove anything, being copies of others."""

FactShare: TypeAlias = float | Mapping[str, float] | None
"""The share of rows from which on facts fail: one number, or one for each of some columns."""

EVERY = "all"
"""The name of all facts together."""

SHARE = 0.01
"""From this share of rows on a fact fails a check."""


class FactType(NamedTuple):
    """What a fact is about, in words, and of which kind it is."""

    words: str
    kind: Kind = "data"


FACTS: dict[str, FactType] = {
    "new-categories": FactType("categories that neither the reference nor accepted data have"),
    "vanished-categories": FactType("a category of the reference that no row has any more"),
    "missing-values": FactType("missing values in a column that had none"),
    "placeholders": FactType("-999, 'unknown' and the like in more rows than before"),
    "outside-range": FactType("values far outside the range so far, or below zero where none was"),
    "pile-up": FactType("one value in many rows that hardly any had: a default, or a column that is cut off"),
    "precision": FactType("values that are rounded more coarsely, or have more decimals than any before"),
    "factor": FactType("values larger or smaller by a power of ten, or by the factor of common units"),
    "offset": FactType("whole numbers that look as if all of them had been moved by one"),
    "unit-changed": FactType("numbers written with another unit, with one, or without"),
    "type-changed": FactType("another type of values in a column that is not compared"),
    "constant-changed": FactType("another value in a column that had one value"),
    "repeated-rows": FactType("more rows that are there several times"),
    "vanished-groups": FactType("a group of rows that is not there any more, where groups are given"),
    "same-data": FactType("a candidate that is the reference", "trust"),
    "rows-in-reference": FactType("more rows of the reference among the candidate's than chance", "trust"),
    "near-copies": FactType("rows that are those of the reference but for tiny changes", "trust"),
}
"""The facts by name."""


@dataclass(frozen=True)
class Fact:
    """Something that was counted, and that people should know.

    Attributes
    ----------
    code : str
        Its name, one of `FACTS`.
    column : str
        The column that it is about; empty where it is about rows.
    message : str
        The fact, in words.
    share : float
        The share of the rows that it is about; 1 where it is about a whole column, or all rows.
    chance : {"none", "possible", "likely"}
        Whether good data could have it by chance. If so, it never fails a check by its share; and where it is
        likely it is not printed.
    counted : Counted or None
        The rows, where the fact is a matter of degree; None where it is new in kind.
    """

    code: str
    column: str
    message: str
    share: float = 1.0
    chance: Chance = "none"
    counted: Counted | None = field(default=None, compare=False, repr=False)

    @property
    def kind(self) -> Kind:
        """Whether it is about the data, or about trust in them."""
        return FACTS[self.code].kind

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "code": self.code,
            "column": self.column,
            "message": self.message,
            "share": self.share,
            "kind": self.kind,
        }

    def __str__(self) -> str:
        return f"{self.column}: {self.message}" if self.column else self.message


@dataclass(frozen=True)
class FactRules:
    """Which facts fail a check.

    What is said of one column (``"new-categories:city"``) comes before what is said of a fact in all columns,
    and that before shares.

    Attributes
    ----------
    fail_on : tuple of str
        Facts that fail, however small their share.
    allow : tuple of str
        Facts that do not, however large it is; ``"all"`` for every one.
    share : float
        The share of rows from which on a fact fails.
    shares : tuple of (str, float)
        The same for single columns.
    negligible : tuple of (str, float)
        Shares that are negligible by themselves, by the names of facts, of one column or of all.
    joint_only : bool
        Whether facts about single columns fail only where they are named.
    level : float
        The level at which facts fail that are a matter of degree; 1 where they are counted, and not tested.

    Examples
    --------
    >>> rules = FactRules().changed(allow=["new-categories:city"], share={"age": 0.05})
    >>> city, age = (Fact("new-categories", name, "", share=0.02) for name in ("city", "age"))
    >>> rules.fails(city), rules.fails(age), rules.fails(Fact("new-categories", "job", "", share=0.02))
    (False, False, True)
    """

    fail_on: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    share: float = SHARE
    shares: tuple[tuple[str, float], ...] = ()
    negligible: tuple[tuple[str, float], ...] = ()
    joint_only: bool = False
    level: float = 1.0

    def changed(
        self,
        fail_on: Iterable[str] = (),
        allow: Iterable[str] = (),
        share: FactShare = None,
    ) -> FactRules:
        """Return the same, with what is said now, which comes before what was said earlier."""
        fails, allowed = known_facts(fail_on), known_facts(allow)
        both = sorted(set(fails) & set(allowed))
        if both:
            raise ValueError(f"the fact {both[0]!r} cannot both fail a check and be allowed")
        one, columns = self.share, dict(self.shares)
        if isinstance(share, Mapping):
            columns |= {str(name): _share(value) for name, value in share.items() if name != EVERY}
            one = _share(share[EVERY]) if EVERY in share else one
        elif share is not None:
            one = _share(share)
        return replace(
            self,
            fail_on=tuple(dict.fromkeys([*(name for name in self.fail_on if name not in allowed), *fails])),
            allow=tuple(dict.fromkeys([*(name for name in self.allow if name not in fails), *allowed])),
            share=one,
            shares=tuple(columns.items()),
        )

    def fails(self, fact: Fact) -> bool:
        """Tell whether a fact fails a check."""
        return self._found(fact) and (self.level >= 1.0 or self.pvalue(fact) <= self.level)

    def doubts(self, fact: Fact) -> bool:
        """Tell whether a fact would fail a check if it were not tested: then nothing is close, nor far."""
        return self._found(fact) and not self.fails(fact)

    def counting(self) -> FactRules:
        """Return the same where facts are counted, and not tested."""
        return replace(self, level=1.0)

    def _found(self, fact: Fact) -> bool:
        """Tell whether a fact is there in enough rows, and is not allowed."""
        said = self._said(fact)
        if said is not None:
            return said
        if fact.chance != "none" or (self.joint_only and fact.column):
            return False
        return fact.share >= self._allowed(fact)

    def pvalue(self, fact: Fact) -> float:
        """Return the p-value of a fact that fails: that more rows have it than the share that is allowed.

        It is zero where the fact is new in kind, or somebody said that it fails in any case.
        """
        if fact.counted is None or self._said(fact):
            return 0.0
        return fact.counted.pvalue(self._allowed(fact))

    def _said(self, fact: Fact) -> bool | None:
        """Return whether somebody said that a fact fails; None where nobody said anything."""
        for name in (f"{fact.code}:{fact.column}", fact.code, EVERY):
            if name in self.allow or name in self.fail_on:
                return name not in self.allow
        return None

    def _allowed(self, fact: Fact) -> float:
        """Return the share of rows from which on a fact fails."""
        least = dict(self.negligible)
        share = dict(self.shares).get(fact.column, self.share)
        return max(share, least.get(f"{fact.code}:{fact.column}", least.get(fact.code, 0.0)))

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse columns that are not there."""
        said = [name.partition(":")[2] for name in (*self.fail_on, *self.allow)]
        for name in (*said, *dict(self.shares)):
            if name and name not in names:
                raise ValueError(
                    f"there is no column {name!r} that a fact could be about; {suggestion(name, names)}"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {
            "fail_on": list(self.fail_on),
            "allow": list(self.allow),
            "share": self.share,
            "shares": dict(self.shares),
        }

    @classmethod
    def read(cls, stored: Stored) -> FactRules:
        """Return the rules that a file describes."""
        shares = {name: each.number(0, 1, above=0) for name, each in stored["shares"].fields().items()}
        share = {EVERY: stored["share"].number(0, 1, above=0), **shares}
        try:
            return cls().changed(stored["fail_on"].texts(), stored["allow"].texts(), share)
        except ValueError as error:
            raise ValueError(f"{stored.said}{stored.path}.fail_on and .allow: {error}") from None


def known_facts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of facts, of one column or of all, after checking that there are such."""
    chosen = tuple(dict.fromkeys(map(str, names)))
    for name in chosen:
        code = name.partition(":")[0]
        if code not in FACTS and name != EVERY:
            raise ValueError(f"there is no fact {code!r}; {suggestion(code, list(FACTS), 'the facts')}")
    return chosen


def _share(value: Any) -> float:
    share = float(value)
    if not 0 < share <= 1:
        raise ValueError(f"the share of rows from which on a fact fails is between 0 and 1, not {share:g}")
    return share
