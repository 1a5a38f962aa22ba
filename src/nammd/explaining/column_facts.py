"""Facts about single columns, read off counts of all rows: `column_facts`.

So they cost next to nothing, and are the same for files, clusters and sketches. What the reference or any
accepted dataset has is no news.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nammd.errors.naming import plain_name
from nammd.explaining.chance import Chance, Counted, Share, Together, above_chance, much_more, never_so_far
from nammd.explaining.facts import Fact
from nammd.explaining.number_facts import number_facts
from nammd.explaining.quiet_columns import NumberColumn, possible_facts
from nammd.explaining.sentences import quoted
from nammd.explaining.writing import percent
from nammd.reading.text_formats.understanding import SUSPECTED_WORDS
from nammd.views.counts import Counts, LabelCounts, NumberCounts
from nammd.views.measure import Measure

GONE = 20
"""A category is missed where so many rows of it are expected."""

_NAMED = 3


def column_facts(
    measures: Sequence[Measure],
    reference: Mapping[str, Counts],
    accepted: Mapping[str, Sequence[Counts]],
    candidate: Mapping[str, Counts],
    together: Together,
) -> tuple[Fact, ...]:
    """Return the facts about the columns of a candidate.

    Parameters
    ----------
    measures : sequence of Measure
        The columns, and how they are counted.
    reference, candidate : mapping of str to Counts
        The counts of both, by column.
    accepted : mapping of str to sequence of Counts
        The counts of accepted datasets, by column.
    together : Together
        How many rows belong together.
    """
    every = [[reference[measure.name], *accepted.get(measure.name, ())] for measure in measures]
    numbers = [
        NumberColumn(measure, [n for n in known if isinstance(n, NumberCounts) and n.present], now)
        for measure, known in zip(measures, every, strict=True)
        if isinstance(now := candidate[measure.name], NumberCounts)
    ]
    loud = {
        column.measure.name: (column, possible)
        for column, possible in zip(numbers, possible_facts(numbers, together), strict=True)
        if any(possible)
    }
    found: list[Fact] = []
    for measure, known in zip(measures, every, strict=True):
        now = candidate[measure.name]
        found += missing_values(measure.title, known, now, together)
        if measure.name in loud:
            column, possible = loud[measure.name]
            found += number_facts(*column, together, possible)
        elif isinstance(now, LabelCounts):
            labels = [each for each in known if isinstance(each, LabelCounts)]
            words = {} if measure.in_cells else _suspected(now)
            found += placeholder_words(measure.title, labels, words, now.size, together)
            if measure.counted != "words":  # new ones come with every text
                found += new_categories(measure, labels, now, words, together)
            if measure.counted == "labels":
                found += vanished_categories(measure.title, labels, now, together)
    return tuple(found)


def missing_values(name: str, known: Sequence[Counts], now: Counts, together: Together) -> list[Fact]:
    """Tell of missing values where there were none."""
    if any(each.missing for each in known) or not now.missing:
        return []
    share = Share(now.missing, now.size).per(together.now)
    message = f"{percent(share.value)} of the values are missing, none so far"
    before = known[0].size / together.known
    counted = Counted(share, none_of=before)
    return [Fact("missing-values", name, message, share.value, never_so_far(share, before), counted)]


def new_categories(
    measure: Measure,
    known: Sequence[LabelCounts],
    now: LabelCounts,
    words: Iterable[str],
    together: Together,
) -> list[Fact]:
    """Tell of categories that neither the reference nor accepted data have."""
    new = {
        label: rows
        for label, rows in now.rows.items()
        if label not in words and not any(label in each.rows for each in known)
    }
    if not new or not known[0].rows:
        return []
    share = Share(sum(new.values()), now.size).per(together.now)
    # Of rows to come, as large a share is of an unknown category as was seen once (Good and Turing).
    once = max(
        (
            Share(sum(n <= together.known for n in each.rows.values()), each.size / together.known)
            for each in known
        ),
        key=lambda each: each.at_most(),
    )
    message = _new_words(measure, known, new, share.value)
    chance: Chance = "likely" if once.rows else "possible"
    if above_chance(share, once.at_most()):
        chance = "none"
    # Where every category was seen often, a new one is new in kind.
    counted = Counted(share, once.at_most()) if once.rows else None
    return [Fact("new-categories", measure.title, message, share.value, chance, counted)]


def _new_words(measure: Measure, known: Sequence[LabelCounts], new: Mapping[str, float], share: float) -> str:
    if measure.counted == "cells":  # of which the names are not known
        return f"{percent(share)} of rows have a new category"
    largest = sorted(new, key=lambda label: (-new[label], label))
    message = f"{_listed(largest)} {'is' if len(new) == 1 else 'are'} new, {percent(share)} of rows"
    plain = {plain_name(label) for each in known for label in each.rows}
    return message + (
        ", and known but for case or spaces" if all(plain_name(label) in plain for label in new) else ""
    )


def vanished_categories(
    name: str, known: Sequence[LabelCounts], now: LabelCounts, together: Together
) -> list[Fact]:
    """Tell of categories that no row has any more, though many should, and all data so far had some."""
    gone = {}
    for label in known[0].rows if now.rows else ():
        share = min(each.rows.get(label, 0.0) / each.size for each in known)
        if label not in now.rows and share * now.size >= GONE * together.now:
            gone[label] = share
    if not gone:
        return []
    total = sum(gone.values())
    named = _listed(sorted(gone, key=lambda label: (-gone[label], label)))
    message = f"no row has {named} any more, {percent(total)} of the reference"
    return [Fact("vanished-categories", name, message, total)]


def _suspected(now: LabelCounts) -> dict[str, float]:
    return {label: n for label, n in now.rows.items() if label.strip().lower() in SUSPECTED_WORDS}


def placeholder_words(
    name: str, known: Sequence[LabelCounts], words: Mapping[str, float], size: int, together: Together
) -> list[Fact]:
    """Tell of words such as "unknown" in more rows than before."""
    found = []
    for word, rows in words.items():
        share = Share(rows, size).per(together.now)
        most = max((Share(each.rows.get(word, 0.0), each.size) for each in known), key=lambda s: s.value)
        before = most.per(together.known)
        if much_more(share, before):
            message = f"{quoted(word)} in {percent(share.value)} of rows, {percent(before.value)} before"
            more, counted = share.value - before.value, Counted(share, before.at_most())
            found.append(Fact("placeholders", name, message, more, counted=counted))
    return found


def _listed(labels: Sequence[str]) -> str:
    named = ", ".join(map(quoted, labels[:_NAMED]))
    return named + (f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else "")
