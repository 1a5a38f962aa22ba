"""Several candidates against one tolerance: `Verdicts`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nammd.errors.checks import between, choice, counted
from nammd.results import (
    Caution,
    Cell,
    Page,
    Paged,
    Table,
    Tone,
    Track,
    aligned,
    estimated,
    interval,
    share,
    with_error,
)
from nammd.statistics.adjusting import holm
from nammd.tolerances.decision import Decision
from nammd.tolerances.many_datasets import in_turn
from nammd.tolerances.verdict import Verdict
from nammd.tolerances.verdict_details import VerdictDetails
from nammd.views.family import COLUMNS, WHOLE

Adjustment: TypeAlias = Literal["none", "holm"]
"""How the p-values of several candidates are adjusted for their number."""

CheckProgress: TypeAlias = Callable[[int, int, str], None]
"""Called as ``progress(done, total, name)`` before every candidate."""

FAILED = "ERROR"
"""The word of a candidate that could not be checked."""

SHOWN = 3
"""So many candidates are named where several have the same to say."""

_WORST_FIRST = (FAILED, Decision.FAR.value, Decision.UNDECIDED.value, Decision.CLOSE.value)
_TONES: dict[str, Tone] = {FAILED: "far", "FAR": "far", "UNDECIDED": "undecided", "CLOSE": "close"}
_COUNTED = {
    "CLOSE": "within the tolerance",
    "FAR": "beyond the tolerance",
    "UNDECIDED": "undecided",
    FAILED: "not be checked",
}


@dataclass(frozen=True)
class Checked:
    """One of several candidates.

    Attributes
    ----------
    name : str
        What it is called.
    verdict : Verdict or None
        What its check came to; None where it could not be made.
    error : Exception or None
        Why it could not be made.
    seconds : float
        How long it took.
    """

    name: str
    verdict: Verdict | None
    error: Exception | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def word(self) -> str:
        """CLOSE, FAR, UNDECIDED or ERROR."""
        return FAILED if self.verdict is None else self.verdict.details.word

    @property
    def tone(self) -> Tone:
        """How the word is coloured."""
        return _TONES[self.word]

    @property
    def share(self) -> str:
        """The distance as a share of the tolerance."""
        return "" if self.verdict is None else share(self.verdict.distance, self.verdict.epsilon)

    @property
    def reason(self) -> str:
        """Why, in a few words: what differs most, what is missing, or what went wrong."""
        return str(self.error) if self.verdict is None else self.verdict.details.reason()

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict or the error, with the name, ready for JSON."""
        if self.verdict is not None:
            return {"candidate": self.name, **self.verdict.to_dict()}
        return {"candidate": self.name, "decision": None, "error": error_to_dict(self.error)}


@dataclass(frozen=True)
class Verdicts(Paged):
    """Several candidates against one tolerance, in the order in which they were given.

    Attributes
    ----------
    entries : tuple of Checked
        The candidates.
    alpha : float
        The level of each of the two tests: of each candidate, or of all of them together where the
        p-values are adjusted.
    adjust : {"none", "holm"}
        How the p-values are adjusted for the number of candidates.
    """

    entries: tuple[Checked, ...]
    alpha: float
    adjust: Adjustment = "none"

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> Checked:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)

    @property
    def worst(self) -> Checked:
        """The first of the worst: what could not be checked, then FAR, UNDECIDED and CLOSE."""
        return min(self.entries, key=lambda entry: _WORST_FIRST.index(entry.word))

    @property
    def all_close(self) -> bool:
        """Whether every candidate is proven to be within the tolerance."""
        return all(entry.verdict is not None and entry.verdict.is_close for entry in self.entries)

    @property
    def counts(self) -> dict[str, int]:
        """How many candidates there are of each word, the worst first."""
        found = Counter(entry.word for entry in self.entries)
        return {word: found[word] for word in _WORST_FIRST if found[word]}

    @property
    def tone(self) -> Tone:
        """How the answer is coloured: like the worst."""
        return self.worst.tone

    def table(self) -> list[tuple[str, str, str, str]]:
        """Return a row for each candidate: its name, the word, the share of the tolerance, and the reason."""
        return [(entry.name, entry.word, entry.share, entry.reason) for entry in self.entries]

    def headline(self) -> str:
        """Return the answer in one sentence."""
        total, counts = len(self.entries), self.counts
        (word, number), *others = counts.items()
        verb = "could" if word == FAILED else "is" if number == 1 else "are"
        if not others:
            which = "the candidate" if total == 1 else f"all {total} candidates"
            return f"{word}: {which} {verb} {_COUNTED[word]}."
        rest = ", ".join(f"{number} {_COUNTED[word]}" for word, number in others)
        return f"{word}: {number} of {total} candidates {verb} {_COUNTED[word]} ({rest})."

    def lines(self) -> list[tuple[str, str]]:
        """Return a row for each candidate."""
        return [(name, ", ".join(part for part in rest if part)) for name, *rest in self.table()]

    def claim(self) -> str:
        """Return what the verdicts say together about the chance of an error."""
        if self.adjust == "none" or len(self.entries) == 1:
            return f"Each CLOSE and each FAR is wrong with a probability of at most {self.alpha:g}."
        return (
            f"With a probability of at least {1 - self.alpha:g} no CLOSE is wrong, and likewise no FAR: "
            f"p-values are adjusted for {counted(self._tested, 'candidate')} by Holm's method."
        )

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """The cautions of all candidates, each with those that it is about."""
        found: dict[Caution, list[str]] = {}
        for entry in self.entries:
            for caution in () if entry.verdict is None else entry.verdict.cautions:
                found.setdefault(caution, []).append(entry.name)
        return tuple(Caution(c.code, f"{_some(names)}: {c.message}") for c, names in found.items())

    def settings(self) -> list[tuple[str, str]]:
        """Return what the candidates were held against, as labels and values."""
        verdict = next((entry.verdict for entry in self.entries if entry.verdict is not None), None)
        if verdict is None:
            return []
        x = verdict.estimate.evidence.x.dataset
        return [
            ("tolerance", with_error(verdict.epsilon, verdict.details.epsilon_error)),
            (
                "level",
                f"{self.alpha:g}" + (f", {verdict.details.adjusted}" if verdict.details.adjusted else ""),
            ),
            ("reference", f"{'' if x.source is None else f'{x.name}, '}{counted(verdict.estimate.m, 'row')}"),
            ("columns", verdict.details.tolerance.space.encoding.compared()),
            ("kernel", verdict.estimate.describe_kernel()),
        ]

    def page(self, links: Mapping[str, str] | None = None) -> Page:
        """Return what an index of the candidates says.

        Parameters
        ----------
        links : mapping of str to str, optional
            The page of each candidate, by its name.

        Returns
        -------
        Page
        """
        links, told = links or {}, self.headline().removeprefix(f"{self.worst.word}: ")
        table = Table(
            "The candidates",
            ("candidate", "verdict", "of the tolerance", "distance, 95 % interval", "why"),
            tuple(_cells(entry, links.get(entry.name, "")) for entry in self.entries),
            "Dot: the distance. Bar: its 95 % interval. The dashed line is the tolerance.",
        )
        return Page(
            title="Are the candidates close enough to the reference?",
            sentence=told[:1].upper() + told[1:],
            word=self.worst.word,
            tone=self.tone,
            advice=self.claim(),
            tables=(table,),
            cautions=tuple(caution.message for caution in self.cautions),
            settings=tuple(self.settings()),
        )

    def report(self, path: str | Path) -> Path:
        """Write an index of the candidates, and a report on each of them.

        Parameters
        ----------
        path : str or Path
            The folder to write to; it is made if it is not there.

        Returns
        -------
        Path
            The index, ``index.html`` in that folder.
        """
        from nammd.report import write_index

        written: Path = write_index(self, path)
        return written

    @property
    def _tested(self) -> int:
        return sum(entry.verdict is not None for entry in self.entries)

    def to_dict(self) -> dict[str, Any]:
        """Return all verdicts, ready for JSON."""
        return {
            "worst": self.worst.word,
            "counts": self.counts,
            "alpha": self.alpha,
            "adjust": self.adjust,
            "candidates": [entry.to_dict() for entry in self.entries],
        }

    def __str__(self) -> str:
        lines = aligned([("candidate", "verdict", "of the tolerance", "why"), *self.table()])
        lines += [self.claim(), *(f"Note: {caution.message}" for caution in self.cautions)]
        return "\n  ".join([self.headline(), *lines])


def _cells(entry: Checked, link: str) -> tuple[Cell, ...]:
    """Return a row of the index."""
    name, word = Cell(entry.name, link=link), Cell(entry.word, tone=entry.tone)
    verdict = entry.verdict
    if verdict is None:
        return name, word, Cell(), Cell(), Cell(entry.reason)
    told = f"{estimated(verdict.distance)}, {interval(verdict.confidence_interval())}"
    track = Track(verdict.distance, *verdict.confidence_interval(), verdict.epsilon)
    return name, word, Cell(entry.share), Cell(told, track=track), Cell(entry.reason)


def _some(names: list[str]) -> str:
    """Return the first few names."""
    if len(names) <= SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"


def error_to_dict(error: BaseException | None) -> dict[str, str]:
    """Return an error as plain values."""
    return {"kind": type(error).__name__, "message": str(error)}


def check_each(
    check: Callable[[Any, float], Verdict],
    candidates: Mapping[str, Any],
    alpha: float,
    adjust: Adjustment,
    errors: Literal["raise", "keep"],
    progress: CheckProgress | None,
) -> Verdicts:
    """Check candidates one after the other, and decide when all of them are known; see `Gate.check_all`."""
    alpha = between(alpha, "alpha", 0.5)
    choice(adjust, "adjust", ("none", "holm"))
    turns = in_turn(candidates, lambda candidate, _: check(candidate, alpha), "candidate", errors, progress)
    entries = [Checked(turn.name, turn.result, turn.error, seconds=turn.seconds) for turn in turns]
    if adjust == "holm":
        entries = _adjusted(entries, alpha)
    return Verdicts(tuple(entries), alpha, adjust)


def _adjusted(entries: list[Checked], alpha: float) -> list[Checked]:
    """Adjust the p-values of all candidates for their number, each of the two directions for itself.

    The candidates that are truly beyond are those whose CLOSE would be wrong, and the others those whose FAR
    would be. In each direction Holm's method keeps the chance of a wrong claim among all of them at alpha,
    however the candidates depend on each other through the reference and the tolerance.
    """
    tested = [entry.verdict.details for entry in entries if entry.verdict is not None]
    close = holm([verdict.pvalue_close for verdict in tested])
    far = holm([verdict.pvalue_beyond for verdict in tested])
    told = f"adjusted for {counted(len(tested), 'candidate')} by Holm's method"
    adjusted = iter(
        replace(
            _farther_by(verdict, p_far, len(tested), alpha),
            pvalue_close=math.nan if verdict.void else p_close,
            setting=replace(verdict.setting, alpha=alpha / len(tested)),  # what is sure to be enough
            adjusted=told,
        ).decided_again()
        for verdict, p_close, p_far in zip(tested, close, far, strict=True)
    )
    return [e if e.verdict is None else replace(e, verdict=Verdict(next(adjusted))) for e in entries]


def _farther_by(verdict: VerdictDetails, pvalue: float, most: int, alpha: float) -> VerdictDetails:
    """Return a verdict whose p-values of "beyond" are adjusted, all others by the same factor."""
    own, levels = verdict.pvalue_beyond, WHOLE if verdict.pairs else COLUMNS
    factor = pvalue / own if own > 0 else float(most)
    columns = tuple(
        replace(each, adjusted=p, beyond=p <= levels.level("columns", alpha))
        for each in verdict.columns
        for p in [min(1.0, factor * each.adjusted)]
    )
    pairs = tuple(
        replace(each, adjusted=p, beyond=p <= levels.level("pairs", alpha))
        for each in verdict.pairs
        for p in [min(1.0, factor * each.adjusted)]
    )
    far = math.nan if verdict.void else min(1.0, factor * verdict.pvalue_far)
    return replace(verdict, pvalue_far=far, columns=columns, pairs=pairs)
