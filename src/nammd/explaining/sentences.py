"""What changed in a column, as one short sentence: the first of some kinds that applies.

Every kind is one function that returns its words, or None where it does not apply.
"""

from __future__ import annotations

import re

from nammd.explaining.summaries import LabelSummary, NumberSummary, Summary, WordSummary
from nammd.explaining.unit_factors import factor_between
from nammd.explaining.writing import (
    MANY_DAYS,
    Writer,
    day,
    duration,
    moment,
    money,
    percent,
    readable,
    span,
)

LEAST_SHIFT = 0.04
"""A median that moves by less than this, in robust standard deviations, is not the news."""

LEAST_SPREAD = 1.1
"""A middle half that grows or shrinks by less than this factor is not the news."""

LEAST_SPIKE = 0.03
"""So much larger a share of the rows has a value that is the news."""

_LONG = 40

MOST_WORDS = 3
"""So many words of a text that changed are named."""

_SURELY = 4.0
"""So many standard errors are more than chance, also for the largest of thousands of words."""


def sentence(name: str, aspect: str, before: Summary, now: Summary) -> str:
    """Return what changed in a column, beginning with its name.

    Parameters
    ----------
    name : str
        The column.
    aspect : {"values", "missing", "labels"}
        Where the difference was found.
    before, now : Summary
        The column in the reference and in the candidate.
    """
    if isinstance(before, WordSummary) and isinstance(now, WordSummary):
        return f"{name}: {of_words(before, now)}"
    if isinstance(before, LabelSummary) and isinstance(now, LabelSummary):
        return f"{name}: {of_labels(before, now)}"
    assert isinstance(before, NumberSummary)
    assert isinstance(now, NumberSummary)
    if aspect == "missing":
        return f"{name}: {of_missing(before, now)}"
    return f"{name}: {of_numbers(name, before, now)}"


def of_missing(before: Summary, now: Summary) -> str:
    """Say how many values are missing."""
    return f"missing {percent(before.missing)} -> {percent(now.missing)}"


def of_labels(before: LabelSummary, now: LabelSummary) -> str:
    """Say which label, or missing ones, changed most."""
    new = {label: share for label, share in now.shares.items() if label not in before.shares}
    most = most_changed(before, now)
    if most is None:
        return of_missing(before, now)
    largest = abs(now.shares.get(most, 0.0) - before.shares.get(most, 0.0))
    total = sum(new.values())
    if len(new) > 1 and total > 1.5 * largest:
        return f"{len(new)} new categories, {percent(total)} of rows"
    # What is new says more than what has become rarer for it.
    if new and max(new.values()) >= 0.7 * largest:
        most = max(new, key=lambda label: (new[label], label))
        return f"{quoted(most)} is new, {percent(new[most])} of rows"
    if most not in now.shares:
        return f"{quoted(most)} is gone, {percent(before.shares[most])} of rows before"
    return f"{quoted(most)} {percent(before.shares[most])} -> {percent(now.shares[most])}"


def of_words(before: WordSummary, now: WordSummary) -> str:
    """Say which words of texts have become commoner and rarer, beyond chance; or missing ones."""
    if abs(now.missing - before.missing) >= LEAST_SPIKE:
        return of_missing(before, now)
    told = [
        f"{quoted(word)} in {percent(before.shares.get(word, 0.0))} -> {percent(now.shares.get(word, 0.0))}"
        for word in changed_words(before, now)[:MOST_WORDS]
    ]
    return f"{', '.join(told)} of texts" if told else "its words are distributed differently"


def changed_words(before: WordSummary, now: WordSummary) -> list[str]:
    """Return the words that changed beyond chance, by the share of texts with them; the most first."""
    found: dict[str, float] = {}
    sizes = max(before.texts, 1), max(now.texts, 1)
    for word in {*before.shares, *now.shares}:
        shares = before.shares.get(word, 0.0), now.shares.get(word, 0.0)
        both = (shares[0] * sizes[0] + shares[1] * sizes[1]) / sum(sizes)
        error = (both * (1 - both) * (1 / sizes[0] + 1 / sizes[1])) ** 0.5
        if abs(shares[1] - shares[0]) > _SURELY * error:
            found[word] = abs(shares[1] - shares[0])
    return sorted(found, key=lambda word: (-found[word], word))


def most_changed(before: LabelSummary, now: LabelSummary) -> str | None:
    """Return the label whose share changed most; None where missing ones did."""
    changes = {
        label: now.shares.get(label, 0.0) - before.shares.get(label, 0.0)
        for label in {*before.shares, *now.shares}
    }
    # Of two that changed alike, what has become commoner.
    most = max(changes, key=lambda k: (round(abs(changes[k]), 9), changes[k] > 0, k), default=None)
    if most is None:
        return None
    moved = abs(now.missing - before.missing)
    return None if moved > 0 and moved >= 0.7 * abs(changes[most]) else most


def of_numbers(name: str, before: NumberSummary, now: NumberSummary) -> str:
    """Say what changed in the values of a column."""
    if not now.present:
        return "no values any more"
    if not before.present:
        return f"no values before, now {percent(1 - now.missing)} of rows have one"
    write = writer_for(before, now)
    for words in (
        now_constant(before, now, write),
        now_larger(before, now, write),
        grain(name, before, now),
        spike(before, now, write),
        shift(before, now, write),
        spread(before, now, write),
        tail(before, now, write),
    ):
        if words is not None:
            return words
    return "its values are distributed differently"


def now_constant(before: NumberSummary, now: NumberSummary, write: Writer) -> str | None:
    """Say that all values are the same now."""
    if now.commonest[1] < 0.995 or before.share_of(now.commonest[0]) >= 0.9:
        return None
    return f"now always {write(now.commonest[0])}"


def now_larger(before: NumberSummary, now: NumberSummary, write: Writer) -> str | None:
    """Say that the values are larger or smaller by a factor of units."""
    factor = factor_between(before, now)
    if factor is None:
        return None
    return f"{factor.words()}, {write(before.median)} -> {write(now.median)} at the median"


_STEPS = ((1.0, "whole numbers"), (5.0, "multiples of 5"), (7.0, "multiples of 7"), (10.0, "multiples of 10"),
          (100.0, "multiples of 100"), (1000.0, "multiples of 1,000"))  # fmt: skip
_TIMES = ((60.0, "whole minutes"), (3600.0, "whole hours"), (86_400.0, "whole days"))


def grain(name: str, before: NumberSummary, now: NumberSummary) -> str | None:
    """Say that the values are multiples of something now, or no longer so."""
    if len(now.points) < 3:
        return None
    for step, words in reversed(_TIMES if before.clock else _STEPS):
        if now.only_multiples(step) and before.share_of_multiples(step) <= 0.8 and before.exact:
            if step == 7 and re.search(r"(?i)days?\b|days?_|_days?", name):
                words = "whole weeks"
            return f"now {words} only"
    step, words = (_TIMES if before.clock else _STEPS)[0]
    if before.only_multiples(step) and now.exact and now.share_of_multiples(step) <= 0.8:
        return f"no longer {words} only"
    return None


def spike(before: NumberSummary, now: NumberSummary, write: Writer) -> str | None:
    """Say that one value has become common: a default, a code for something else."""
    value, share = now.commonest
    was = before.share_of(value)
    if not now.exact or share < was + LEAST_SPIKE or share < 2 * was:
        return None
    if share < 3 / len(now.points):  # of few values one is always common
        return None
    return f"{write(value)} in {percent(share)} of rows, {percent(was)} before"


def shift(before: NumberSummary, now: NumberSummary, write: Writer) -> str | None:
    """Say that the values are higher or lower."""
    moved = now.median - before.median
    low, high = before.middle
    unit = (high - low) / 1.349 or (before.high - before.low)
    if abs(moved) < LEAST_SHIFT * unit or moved == 0:
        return None
    both = f"{write(before.median)} -> {write(now.median)}"
    if before.clock in ("local", "zoned"):
        return f"{span(abs(moved))} {'later' if moved > 0 else 'earlier'} at the median, {both}"
    way = "higher" if moved > 0 else "lower"
    if before.clock:
        return f"{'longer' if moved > 0 else 'shorter'} at the median, {both}"
    if before.median > 0 and now.median > 0 and before.quantile(0.05) >= 0:
        return f"{percent(abs(moved) / before.median)} {way} at the median, {both}"
    return f"{way} at the median, {both}"


def spread(before: NumberSummary, now: NumberSummary, write: Writer) -> str | None:
    """Say that the values are spread more or less widely."""
    old, new = before.middle[1] - before.middle[0], now.middle[1] - now.middle[0]
    if old <= 0 or new <= 0 or 1 / LEAST_SPREAD < new / old < LEAST_SPREAD:
        return None
    way = "more" if new > old else "less"
    ends = " to ".join(map(write, before.middle)), " to ".join(map(write, now.middle))
    return f"{way} spread out, the middle half {ends[0]} -> {ends[1]}"


def tail(before: NumberSummary, now: NumberSummary, write: Writer) -> str | None:
    """Say that values lie where the reference has none."""
    above, below = now.share_above(before.high), now.share_below(before.low)
    if max(above, below) < 0.005:
        return None
    if above >= below:
        return f"{percent(above)} of rows above {write(before.high)}, the largest before"
    return f"{percent(below)} of rows below {write(before.low)}, the smallest before"


def writer_for(before: NumberSummary, now: NumberSummary) -> Writer:
    """Return how values of a column are written: with as many decimals as they have."""
    if before.clock in ("local", "zoned"):
        ends = [s.quantile(q) for s in (before, now) for q in (0.0, 1.0)]
        return day if max(ends) - min(ends) > MANY_DAYS else moment
    if before.clock:
        return duration
    if all(s.only_multiples(0.01) and not s.only_multiples(1.0) and s.high < 1e6 for s in (before, now)):
        return money
    return readable


def quoted(label: str) -> str:
    """Write a label in quotes, cut where it is long."""
    return f"'{label if len(label) <= _LONG else label[: _LONG - 1] + '…'}'"
