"""Names of columns, as users give them and as sentences name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any


def quoted(name: str) -> str:
    """Return a name in quotes; of a very long one, how it begins and ends.

    Examples
    --------
    >>> quoted("age")
    "'age'"
    >>> len(quoted("x" * 5000))
    83
    """
    text = repr(name)
    return text if len(text) <= 100 else f"{text[:60]}...{text[-20:]}"


def listed(names: Iterable[str], limit: int = 5) -> str:
    """Return the first few names in quotes.

    Examples
    --------
    >>> listed(["age", "city", "income"], limit=2)
    "'age', 'city', ..."
    """
    names = list(names)
    return ", ".join(map(quoted, names[:limit])) + (", ..." if len(names) > limit else "")


def suggestion(name: str, available: Sequence[str], they: str = "its columns") -> str:
    """Return the closest names, or all the names there are, as the end of a sentence.

    Examples
    --------
    >>> suggestion("agee", ["age", "city"])
    "did you mean 'age'?"
    >>> suggestion("zzz", ["age", "city"])
    "its columns are 'age', 'city'"
    """
    # A name in the wrong case is the commonest slip, and the worst match letter by letter.
    folded = {other.casefold(): other for other in available}
    close = get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(quoted(folded[match]) for match in close)}?"
    return f"{they} are {listed(available, 10)}"


def but_for_case(lacking: Iterable[str], available: Iterable[str]) -> str:
    """Return which names differ from those that are lacking only in case or spaces, as the end of a sentence.

    Examples
    --------
    >>> but_for_case(["price", "size"], ["Price ", "colour"])
    "; it has 'Price ', which differs only in case or spaces"
    """
    wanted = {plain_name(name) for name in lacking}
    found = [name for name in available if plain_name(name) in wanted]
    differ = "differs" if len(found) == 1 else "differ"
    return f"; it has {listed(found)}, which {differ} only in case or spaces" if found else ""


def plain_name(name: str) -> str:
    """Return a name without case and spaces."""
    return "".join(name.split()).casefold()


def chosen_columns(columns: Any, available: Sequence[str], owner: str, least: int = 1) -> list[str]:
    """Return the names asked for, `least` of them or more, after checking that `owner` has each of them."""
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        raise TypeError(f"columns must be a list of names, such as ['age', 'city'], not {columns!r}")
    names = list(columns)
    if len(names) < least:
        raise ValueError("columns is empty; name at least one column, or leave it out to take all")
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise TypeError(f"columns must be names, and {wrong[0]!r} is not one; write {str(wrong[0])!r}")
    require_unique(names, "columns")
    known = set(available)
    for name in names:
        if name not in known:
            raise ValueError(f"{owner} has no column {quoted(name)}; {suggestion(name, available)}")
    return names


def checked_weights(weights: Mapping[str, float], names: Sequence[str], owner: str) -> dict[str, float]:
    """Return the weights as numbers, after checking that `owner` has a column for each."""
    known = set(names)
    checked = {}
    for name, weight in weights.items():
        if name not in known:
            raise ValueError(
                f"weights has {quoted(name)}, but {owner} has no such column; {suggestion(str(name), names)}"
            )
        try:
            checked[name] = float(weight)
        except (TypeError, ValueError):
            raise TypeError(f"the weight of {name!r} must be a number, not {weight!r}") from None
        if not (checked[name] == 0 or 1e-100 <= checked[name] <= 1e100):
            raise ValueError(f"the weight of {name!r} must be 0, or between 1e-100 and 1e100, not {weight}")
    return checked


def require_unique(names: Sequence[str], owner: str) -> None:
    """Raise an error where a name occurs twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{owner} has more than one column named {listed(twice)}; rename or drop one")
