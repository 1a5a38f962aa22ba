"""A measured figure, the bar it has to clear, and how both are shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.scale import Scale

_WIDTHS = (81, 10, 10)


@dataclass(frozen=True)
class Bar:
    """A limit: the most that a cost may be, or the least that a gain must be."""

    limit: float
    at_least: bool = False

    def cleared_by(self, value: float) -> bool:
        """Return whether a figure is on the right side of the limit."""
        return value >= self.limit if self.at_least else value <= self.limit


def at_most(limit: float) -> Bar:
    return Bar(limit)


def at_least(limit: float) -> Bar:
    return Bar(limit, at_least=True)


@dataclass(frozen=True)
class Measurement:
    """One row of the table.

    Attributes
    ----------
    what : str
        What was measured, in words.
    value : float or None
        The figure; None where it could not be measured, and `skipped` says why.
    unit : str
        ``"x"`` for ratios, or ``"MB"`` or ``"s"``.
    bar : Bar or None
        None for figures that are shown for information.
    details : mapping
        What the figure was made from: sizes, seconds, settings.
    skipped : str
        Why there is no figure.
    """

    what: str
    value: float | None
    unit: str
    bar: Bar | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    skipped: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether the bar is cleared; None without a bar or without a figure."""
        if self.bar is None or self.value is None:
            return None
        return self.bar.cleared_by(self.value)


def print_header() -> None:
    print(_line("what", "measured", "bar", "ok?"))
    first, second, third = _WIDTHS
    print(_line("-" * first, "-" * second, "-" * third, "-" * 6))


def print_row(measurement: Measurement, judged: bool) -> None:
    """Print a row as soon as it is known: the whole table takes minutes."""
    bar = measurement.bar if judged else None
    limit = f"{'>=' if bar.at_least else '<='} {bar.limit:g}{_unit(measurement)}" if bar else "-"
    verdict = {True: "ok", False: "MISSED", None: "-"}[measurement.ok if judged else None]
    if measurement.value is None:
        figure, verdict = "-", f"skipped: {measurement.skipped}"
    else:
        figure = _figure(measurement.value, measurement)
    print(_line(measurement.what, figure, limit, verdict), flush=True)


def write_json(
    path: Path, measurements: Sequence[Measurement], scale: Scale, environment: Mapping[str, Any]
) -> None:
    rows = [{**asdict(one), "ok": one.ok if scale.judged else None} for one in measurements]
    document = {"environment": environment, "scale": asdict(scale), "measurements": rows}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _figure(value: float, measurement: Measurement) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{_unit(measurement)}"


def _unit(measurement: Measurement) -> str:
    return "x" if measurement.unit == "x" else f" {measurement.unit}"


def _line(what: str, measured: str, bar: str, verdict: str) -> str:
    first, second, third = _WIDTHS
    return f"{what:<{first}} | {measured:>{second}} | {bar:>{third}} | {verdict}"
