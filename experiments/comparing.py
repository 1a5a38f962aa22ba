"""Whether numbers of a second run are those of the first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

Rule: TypeAlias = Literal["digits", "single", "errors"]

RULES: dict[Rule, str] = {
    "digits": "every number equal to a relative 1e-9 or an absolute 1e-12",
    "single": "every number equal to a relative 1e-4 or an absolute 1e-6, rates to one case: for networks "
    "evaluated in float32",
    "errors": "means, rates and strings of hits within four joint standard errors, other numbers to a "
    "hundredth: for graphics cards and for what is learned by gradient descent",
}

_TOLERANCES: dict[Rule, tuple[float, float]] = {
    "digits": (1e-9, 1e-12),
    "single": (1e-4, 1e-6),
    "errors": (1e-2, 1e-6),
}
"""Relative and absolute."""

TIMES = frozenset({"seconds", "shortest", "all"})
"""Values that are times: no two runs agree on them."""


def differences(stored: Any, found: Any, rule: Rule, place: str = "") -> Iterator[str]:
    """Yield where two values differ, each in some words."""
    if isinstance(stored, Mapping) and isinstance(found, Mapping):
        if rule != "digits" and {"mean", "se", "n"} <= {*stored, *found}:
            if not _near(stored, found, rule):
                yield f"{place}: {stored['mean']} ± {stored['se']} before, {found['mean']} now"
            return
        for name in sorted({*stored, *found} - TIMES):
            if name not in stored or name not in found:
                yield f"{place}/{name}: only {'before' if name in stored else 'now'}"
            else:
                yield from differences(stored[name], found[name], rule, f"{place}/{name}")
    elif isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        for number, (one, other) in enumerate(zip(stored, found, strict=True)):
            yield from differences(one, other, rule, f"{place}[{number}]")
    elif not _same(stored, found, rule):
        yield f"{place}: {stored!r:.60} before, {found!r:.60} now"


def _same(one: Any, other: Any, rule: Rule) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        relative, absolute = _TOLERANCES[rule]
        return math.isclose(one, other, rel_tol=relative, abs_tol=absolute)
    if rule != "digits" and _hits(one) and _hits(other) and len(one) == len(other):
        first, second = (_share(text.count("1"), len(text)) for text in (one, other))
        return _near(first, second, rule)
    return bool(one == other)


def _hits(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and set(value) <= {"0", "1"}


def _share(hits: int, tries: int) -> dict[str, float]:
    inner = min(max(hits / tries, 0.5 / tries), 1 - 0.5 / tries)
    return {"mean": hits / tries, "se": math.sqrt(inner * (1 - inner) / tries), "n": tries}


def _near(one: Mapping[str, Any], other: Mapping[str, Any], rule: Rule) -> bool:
    if one["mean"] is None or other["mean"] is None:
        return bool(one["mean"] == other["mean"])
    if rule == "single":
        allowed = max(1e-4 * abs(one["mean"]), 1.0 / one["n"] if _is_rate(one) else 0.0)
    else:
        allowed = 4 * math.hypot(one["se"] or 0.0, other["se"] or 0.0)
    return bool(abs(one["mean"] - other["mean"]) <= allowed + 1e-6)


def _is_rate(figure: Mapping[str, Any]) -> bool:
    """Return whether a mean is a share of cases."""
    cases = figure["mean"] * figure["n"]
    return 0 <= figure["mean"] <= 1 and math.isclose(cases, round(cases), abs_tol=1e-5)
