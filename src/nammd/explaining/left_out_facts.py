"""Facts about columns that are not compared: constants that changed, and other types."""

from __future__ import annotations

from collections.abc import Mapping

from nammd.encoding.constants import ChangedConstant, Value
from nammd.explaining.facts import Fact
from nammd.explaining.sentences import quoted
from nammd.explaining.writing import percent, readable

_NAMED = 3


def constant_facts(changed: Mapping[str, ChangedConstant]) -> tuple[Fact, ...]:
    """Tell of columns that had one value so far, and have others now."""
    return tuple(
        Fact("constant-changed", name, _other_values(each), each.share) for name, each in changed.items()
    )


def _other_values(changed: ChangedConstant) -> str:
    before = " or ".join(map(_written, changed.before[:_NAMED]))
    now = ", ".join(map(_written, changed.now[:_NAMED])) + (" ..." if len(changed.now) > _NAMED else "")
    share = "" if changed.share == 1 else f" in {percent(changed.share)} of rows"
    return f"was always {before} and is now {now}{share}"


def _written(value: Value) -> str:
    if value is None:
        return "missing"
    if isinstance(value, tuple):
        return f"[{', '.join(map(readable, value[:_NAMED]))}{', ...' if len(value) > _NAMED else ''}]"
    return quoted(value) if isinstance(value, str) else readable(value)


def type_facts(changed: Mapping[str, str]) -> tuple[Fact, ...]:
    """Tell of columns that hold something else now, and what."""
    return tuple(Fact("type-changed", name, words) for name, words in changed.items())
