"""What all results have in common: words, a dictionary, and a notebook view."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from nammd.errors.advice import Caution
from nammd.results.scales import ScaleCheck

Tone: TypeAlias = Literal["close", "far", "undecided", "neutral"]
"""How an answer is coloured."""


class ConfidenceInterval(NamedTuple):
    """The ends of a confidence interval; it unpacks as ``low, high = ...``."""

    low: float
    high: float


class Result:
    """Base of all results. Their fields are plain values; their ``str`` is a short text."""

    def headline(self) -> str:
        """Return the answer in one sentence."""
        raise NotImplementedError

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table: a label and a value each."""
        raise NotImplementedError

    if TYPE_CHECKING:  # a field of some results, worked out in others; not here, where it would be a default

        @property
        def cautions(self) -> tuple[Caution, ...]:
            """What to know before relying on the result; printed below the table."""

    @property
    def tone(self) -> Tone:
        """How the answer is coloured; neutral where it is neither good nor bad."""
        return "neutral"

    def to_dict(self) -> dict[str, Any]:
        """Return the public fields as numbers, strings, lists and dictionaries, ready for JSON.

        Arrays over the rows are left out; a number that does not exist (NaN) becomes None.
        """
        assert dataclasses.is_dataclass(self)
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self) if f.repr}

    def __str__(self) -> str:
        lines = self.lines()
        width = max(len(label) for label, _ in lines)
        told = [self.headline(), *(f"  {label:<{width}}  {value}" for label, value in lines)]
        told += [f"  Note: {caution.message}" for caution in self.cautions]
        return "\n".join(told)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for label, value in self.lines()
        )
        notes = "".join(f"<p><em>{html.escape(c.message)}</em></p>" for c in self.cautions)
        return f"<p><strong>{html.escape(self.headline())}</strong></p><table>{rows}</table>{notes}"


class Tested(Result):
    """A result of a test, which unpacks as those of scipy.stats do: ``statistic, pvalue = ...``."""

    if TYPE_CHECKING:  # fields

        @property
        def statistic(self) -> float:
            """The statistic."""

        @property
        def pvalue(self) -> float:
            """The p-value."""

    def __iter__(self) -> Iterator[float]:
        yield self.statistic
        yield self.pvalue


@dataclass(frozen=True)
class Mark:
    """One of several distances that a limit was taken from.

    Attributes
    ----------
    label : str
        What was measured.
    value, error : float
        The distance, and its standard error.
    decided : bool
        Whether it decided the answer.
    """

    label: str
    value: float
    error: float
    decided: bool


@dataclass(frozen=True)
class Limit:
    """What a distance is held against.

    Attributes
    ----------
    name : str
        What epsilon is called: tolerance, or margin.
    epsilon : float or None
        The limit; None where nothing was tested.
    error : float
        Its standard error; zero where it is a given number.
    pvalues : tuple of (str, float)
        What each test is to show, and its p-value.
    alpha : float
        The level of each test.
    marks : tuple of Mark
        Where it was taken from several distances: all of them, the nearest first.
    """

    name: str = "tolerance"
    epsilon: float | None = None
    error: float = 0.0
    pvalues: tuple[tuple[str, float], ...] = ()
    alpha: float = 0.05
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Shown:
    """A distance that people are shown.

    Attributes
    ----------
    value, standard_error : float
        The estimate, and its standard error.
    interval : tuple of float
        An interval for it.
    level : float
        The confidence level of the interval.
    like : tuple of (str, float)
        What the data in question are like, where they are held against several datasets: how much of each.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    level: float = 0.95
    like: tuple[tuple[str, float], ...] = ()


class Reportable(Result):
    """A result that can be written as a page. Drawing is loaded when it is asked for.

    It tells all that the page says of it, so that the page need not know which result it is about.
    """

    datasets: tuple[str, str] = ("first dataset", "second dataset")
    """What the two datasets are called."""

    if TYPE_CHECKING:  # a field of some results; not here, where it would be a default

        @property
        def estimate(self) -> Any:
            """The distance that the result is about."""

    def shown(self) -> Shown:
        """Return the distance that people are shown."""
        found = self.estimate
        return Shown(found.value, found.standard_error, found.confidence_interval(0.95))

    def question(self) -> str:
        """Return the question that the result answers."""
        raise NotImplementedError

    @property
    def word(self) -> str:
        """The answer in a word; empty where nothing was tested."""
        return ""

    def answer(self) -> str:
        """Return the answer in one sentence, without the word."""
        return self.headline()

    def advice(self) -> str:
        """Return what to do next, in one sentence; empty where there is nothing to do."""
        return ""

    def limit(self) -> Limit:
        """Return what the distance is held against."""
        return Limit()

    def column_checks(self) -> tuple[Any, ...]:
        """Return the columns held against their own tolerances; none where there are no tolerances."""
        return ()

    @property
    def has_column_tolerances(self) -> bool:
        """Whether columns have tolerances of their own; else they are held against what is negligible."""
        return False

    def scale_checks(self) -> tuple[ScaleCheck, ...]:
        """Return what was found at every scale, the main one first; nothing where there is one alone."""
        return ()

    def column_pairs(self) -> tuple[Any, ...]:
        """Return pairs of columns that no longer go together, where no single column explains the answer."""
        return ()

    def column_reasons(self) -> tuple[str, ...]:
        """Return what changed in the columns that matter most, in words."""
        return ()

    def column_facts(self) -> tuple[tuple[str, bool], ...]:
        """Return facts that need no test, and whether each makes a check fail."""
        return ()

    def settings(self) -> list[tuple[str, str]]:
        """Return settings of this kind of result, as labels and values."""
        return []

    def reproduction(self) -> str:
        """Return the Python code that gives the result again."""
        raise NotImplementedError

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML page about the result.

        Parameters
        ----------
        path : str or Path
            The file to write; it is replaced if it is there.

        Returns
        -------
        Path
            The file.
        """
        from nammd.report import write_report

        written: Path = write_report(self, path)
        return written


def plain(value: Any) -> Any:
    """Turn a field into something JSON can hold."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Caution):
        return {"code": value.code, "message": value.message}
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, np.ndarray) and value.size <= 10_000:
        return plain(value.tolist())
    return repr(value)
