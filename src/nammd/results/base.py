"""What all results have in common: words, a dictionary, and a notebook view."""

from __future__ import annotations

import dataclasses
import html
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Caution:
    """Something the reader of a result should know before relying on it.

    Attributes
    ----------
    code : str
        A short name that does not change, for programs.
    message : str
        A sentence for people.
    """

    code: str
    message: str

    def __str__(self) -> str:
        return self.message


class Result:
    """Base of all results. Their fields are plain values; their ``str`` is a short text."""

    def headline(self) -> str:
        """Return the answer in one sentence."""
        raise NotImplementedError

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table: a label and a value each."""
        raise NotImplementedError

    def cautions(self) -> tuple[Caution, ...]:
        """Return the cautions to print below the table."""
        return getattr(self, "warnings", ())

    def to_dict(self) -> dict[str, Any]:
        """Return the public fields as numbers, strings, lists and dictionaries, ready for JSON.

        Arrays over the rows are left out; a number that does not exist (NaN) becomes None.
        """
        assert dataclasses.is_dataclass(self)
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self) if f.repr}

    def __str__(self) -> str:
        facts = self.facts()
        width = max(len(label) for label, _ in facts)
        lines = [self.headline(), *(f"  {label:<{width}}  {value}" for label, value in facts)]
        lines += [f"  Note: {caution.message}" for caution in self.cautions()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for label, value in self.facts()
        )
        notes = "".join(f"<p><em>{html.escape(c.message)}</em></p>" for c in self.cautions())
        return f"<p><strong>{html.escape(self.headline())}</strong></p><table>{rows}</table>{notes}"


class Reportable(Result):
    """A result that can be written as a page. Drawing is loaded when it is asked for."""

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


def number(value: float) -> str:
    """Write a number for people: some significant digits, and no exponent unless it is tiny."""
    if math.isnan(value):
        return "not available"
    size = abs(value)
    if 1e-7 <= size < 1e-4:  # four digits would bring the exponent
        return f"{value:.{2 - math.floor(math.log10(size))}f}"
    return f"{value:.4g}"


def probability(value: float) -> str:
    """Write a p-value for people."""
    if math.isnan(value):
        return "not available"
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def p_value(value: float) -> str:
    """Write a p-value as an equation, for sentences."""
    return f"p {probability(value)}" if value < 1e-4 else f"p = {probability(value)}"


def interval(ends: tuple[float, float]) -> str:
    """Write an interval for people."""
    return f"[{number(ends[0])}, {number(ends[1])}]"
