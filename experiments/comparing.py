"""Whether numbers of a second run are those of the first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

Rule: TypeAlias = Literal["digits", "errors"]

RULES: dict[Rule, str] = {
    "digits": "every number equal to a relative 1e-9 or an absolute 1e-12",
    "errors": "means, rates and strings of hits within four joint standard errors, other numbers to a "
    "hundredth: for graphics cards, kernels learned by gradient descent, and sums by features",
}

TIMES = frozenset({"seconds", "shortest", "all"})
"""Values that are times: no two runs agree on them."""


def differences(stored: Any, found: Any, rule: Rule, place: str = "") -> Iterator[str]:
    """Yield where two values differ, each in some words."""
    if isinstance(stored, Mapping) and isinstance(found, Mapping):
        if rule == "errors" and {"mean", "se", "n"} <= {*stored, *found}:
            if not _near(stored, found):
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
        if rule == "digits":
            return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
        return math.isclose(one, other, rel_tol=1e-2, abs_tol=1e-6)
    if rule == "errors" and _hits(one) and _hits(other) and len(one) == len(other):
        return _near(*(_share(text.count("1"), len(text)) for text in (one, other)))
    return bool(one == other)


def _hits(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and set(value) <= {"0", "1"}


def _share(hits: int, tries: int) -> dict[str, float]:
    inner = min(max(hits / tries, 0.5 / tries), 1 - 0.5 / tries)
    return {"mean": hits / tries, "se": math.sqrt(inner * (1 - inner) / tries), "n": tries}


def _near(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if one["mean"] is None or other["mean"] is None:
        return bool(one["mean"] == other["mean"])
    error = math.hypot(one["se"] or 0.0, other["se"] or 0.0)
    return bool(abs(one["mean"] - other["mean"]) <= 4 * error + 1e-6)
