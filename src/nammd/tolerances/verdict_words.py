"""A verdict in words: its sentence, the rows of its table, why, and the code that gives it again."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.data.arrays import is_spread, to_numpy
from nammd.errors.checks import counted
from nammd.kernels.operations import as_code
from nammd.results import (
    ScaleCheck,
    estimated,
    fractions,
    interval,
    number,
    p_value,
    probability,
    share_of,
    with_error,
)
from nammd.spaces import Sample
from nammd.statistics.standardized import standardized_difference
from nammd.tolerances.bars import Accepted
from nammd.views.relation_limits import PairCheck
from nammd.views.relations import LEAST, MOST_PAIRS

if TYPE_CHECKING:
    from nammd.tolerances.verdict_details import VerdictDetails


MOST_REASONS = 3
"""So many columns are told of in words."""

MOST_FACTS = 8
"""So many facts are printed; `Verdict.facts` has all."""


def sentence(verdict: VerdictDetails) -> str:
    """Return the answer in one sentence."""
    if not verdict.other_reference:
        return _answer(verdict)
    some = "; ".join(verdict.other_reference[:MOST_REASONS])
    unlike = f"the reference given is not like the one of the tolerance: {some}"
    if not verdict.is_far:
        return f"UNDECIDED: {unlike}."
    return f"{_answer(verdict).removesuffix('.')}; but {unlike}."


def _answer(verdict: VerdictDetails) -> str:
    told = f"distance {estimated(verdict.distance)}, {verdict.share_told()} {number(verdict.epsilon)}"
    if verdict.is_close:
        return f"CLOSE: the candidate is within the tolerance ({told}, {p_value(verdict.pvalue_close)})."
    if verdict.is_far:
        facts = {fact.column for fact in verdict.failures}  # which say more
        beyond = _beyond_in_words(verdict, facts) if verdict.judged else ""
        whole = _beyond_as_a_whole(verdict, told)
        views = ", and ".join(part for part in (whole if verdict.jointly_far else "", beyond) if part)
        return _ended("FAR", [*([views] if views else []), *_failures(verdict)])
    if verdict.distrusted:
        return f"{_ended('UNDECIDED', _failures(verdict))} So the candidate proves nothing."
    if verdict.void:
        return "UNDECIDED: no valid test is possible with these data."
    if verdict.pvalue_close <= verdict.alpha:
        named = [each.name for each in verdict.doubtful]
        fine = f"it may be beyond at {_finest(verdict).name}"
        doubt = _may_be_beyond(named) if named else fine
        return f"UNDECIDED: the candidate is within the tolerance as a whole ({told}), but {doubt}."
    return f"UNDECIDED: {verdict.why_undecided()} ({told})."


def _beyond_as_a_whole(verdict: VerdictDetails, told: str) -> str:
    """Say that the candidate is beyond the tolerance, or at which finer scale it is."""
    fine = verdict.finest_beyond
    if fine is None:
        return f"the candidate is beyond the tolerance ({told}, {p_value(verdict.pvalue_far)})"
    return f"the difference is {fine.told}"


def _finest(verdict: VerdictDetails) -> ScaleCheck:
    """Return the scale at which a candidate is most surely beyond."""
    return min(verdict.scales.checks, key=lambda each: each.adjusted)


def _ended(word: str, parts: Sequence[str]) -> str:
    told = f"{word}: {'; '.join(parts)}"
    return told if told.endswith("?") else f"{told}."


def _failures(verdict: VerdictDetails) -> list[str]:
    """Return the facts that speak against the candidate, the first few of them."""
    found = [str(fact) for fact in verdict.failures]
    more = len(found) - MOST_REASONS
    return found[:MOST_REASONS] + ([f"and {counted(more, 'more fact')}"] if more > 0 else [])


def rows_of_table(verdict: VerdictDetails) -> list[tuple[str, str]]:
    """Return the rows of the printed table."""
    rows = [
        (
            "distance",
            f"NAMMD = {estimated(verdict.distance)}, {verdict.share_told()}, {_interval(verdict)}",
        ),
        *_like(verdict),
        ("tolerance", with_error(verdict.epsilon, verdict.epsilon_error)),
        ("p-value for CLOSE", probability(verdict.pvalue_close)),
        ("p-value for FAR", probability(verdict.pvalue_far)),
        *([("p-values", verdict.adjusted)] if verdict.adjusted else []),
        *_scales(verdict),
        *_ladder(verdict),
        ("level", _levels(verdict)),
        *[("changed", reason) for reason in verdict.reasons],
        *_further_changes(verdict),
        *_facts(verdict),
        ("rows", "{} reference, {} candidate".format(*verdict.estimate.rows_compared)),
        *verdict.estimate.describe_groups(),
        ("columns", verdict.tolerance.space.encoding.compared()),
        ("kernel", verdict.estimate.describe_kernel()),
    ]
    return [*rows, ("next", verdict.advice())] if not verdict.is_close else rows


def code_again(verdict: VerdictDetails) -> str:
    """Return the Python code that gives the result again."""
    level = "" if verdict.alpha == 0.05 else f", alpha={verdict.alpha:g}"
    made = 'load("tolerance.json")  # the file that tolerance.save wrote'
    x, y = (
        name if sample.dataset.source is None else repr(str(sample.dataset.source.path))
        for sample, name in zip(
            (verdict.estimate.evidence.x, verdict.estimate.evidence.y), verdict.datasets, strict=True
        )
    )
    if verdict.tolerance.origin.how == "given":
        kernel = as_code(verdict.tolerance.kernel) or "kernel"
        made = f"at({verdict.epsilon!r}, {kernel}, x={x})"
    lines = [
        f"tolerance = nammd.Tolerance.{made}",
        f"verdict = tolerance.check({x}, {y}{level})",
        'verdict.report("report.html")',
    ]
    return "\n".join(["import nammd", "", *lines])


def _interval(verdict: VerdictDetails) -> str:
    """Say what the tests leave: shares of a tolerance that is a number, or distances."""
    level = f"{100 * verdict.interval_level:.3g} % interval"
    # Accepted distances are compared with that of the candidate; shares of one would not show the rule.
    balls = any(isinstance(bar, Accepted) for bar in verdict.tolerance.bars)
    if balls or not all(map(math.isfinite, verdict.interval)):
        return f"{level} {interval(verdict.interval)}"
    low, high = (100 * end / verdict.epsilon for end in verdict.interval)
    return f"{level} {_percent(low)} to {_percent(high)} %"


def _percent(share: float) -> str:
    """Return a share so that it is on the same side of 100 as it is."""
    shown = f"{share:.3g}" if share < 1000 else f"{share:.0f}"
    if float(shown) == 100 and share != 100:
        return "just below 100" if share < 100 else "just above 100"
    return shown


def _like(verdict: VerdictDetails) -> list[tuple[str, str]]:
    """Return what the candidate is like, where other data than the reference were accepted."""
    if len(verdict.like) < 2:
        return []
    return [("like", like_in_words(verdict.like))]


def like_in_words(shares: Sequence[tuple[str, float]]) -> str:
    """Say what a candidate is like.

    >>> like_in_words([("reference", 0.7), ("christmas", 0.3), ("easter", 0.001)])
    '70 % reference and 30 % christmas'
    """
    told = [(name, round(100 * share)) for name, share in shares]
    parts = [f"{share} % {name}" for name, share in sorted(told, key=lambda each: -each[1]) if share > 0]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + f" and {parts[-1]}"


def _scales(verdict: VerdictDetails) -> list[tuple[str, str]]:
    """Return what was found at finer scales: what is beyond there is proven, that nothing is, is not."""
    (main, *finer), dropped = verdict.scales.checks, verdict.scales.dropped
    beyond = [each for each in finer if each.beyond and not main.beyond]
    rows = [(f"at {each.name}", each.found) for each in beyond]
    if finer and not any(each.beyond for each in finer):
        known = fractions([each.scale for each in finer])
        rows.append(("finer scales", f"not beyond at {known} of the bandwidth"))
    if dropped:
        why = "too few rows of the reference are so near each other"
        rows.append(("not compared", f"at {fractions(dropped)} of the bandwidth: {why}"))
    if verdict.scales.unknown:
        why = "a sketch does not keep them (scales='all', --scales all)"
        rows.append(("not compared", f"at {fractions(verdict.scales.unknown)} of the bandwidth: {why}"))
    return rows


def _levels(verdict: VerdictDetails) -> str:
    count = len(verdict.scales.checks)
    overall = "the overall test" + (f" at {count} scales" if count > 1 else "")
    if not verdict.judged:
        return f"{verdict.alpha:g}" + (f" for {overall}" if count > 1 else "")
    every = {"columns": counted(len(verdict.columns), "column"), "pairs": _pairs_compared(verdict)}
    parts = [
        f"{what} ({_share(verdict.family.level(kind, verdict.alpha))})"
        for kind in verdict.family.kinds
        for what in [every.get(kind, overall)]
    ]
    shared = ", ".join(parts[:-1]) + f" and {parts[-1]}"
    silent = "" if verdict.pairs or len(verdict.columns) < 2 else f"; {_why_no_pairs(verdict)}"
    return f"error rate {_share(verdict.alpha)}, shared by {shared}{silent}"


def _why_no_pairs(verdict: VerdictDetails) -> str:
    """Say why pairs of columns are not compared."""
    both = verdict.estimate.evidence.x, verdict.estimate.evidence.y
    if not all(each.keeps_rows for each in both):
        return "sketches do not know pairs of columns"
    if not all(each.dataset.in_memory for each in both):
        return "pairs of columns are not compared on a cluster"
    if min(verdict.estimate.m, verdict.estimate.n) < LEAST:
        return "too few rows to compare pairs of columns"
    return "pairs of columns are not compared here"


def _share(level: float) -> str:
    return f"{100 * level:g} %"


def _pairs_compared(verdict: VerdictDetails) -> str:
    """Say how many pairs are compared: all of them, or those that depend on each other most."""
    pairs = len(verdict.pairs)
    drawn = ""
    for dataset in (verdict.estimate.evidence.x.dataset, verdict.estimate.evidence.y.dataset):
        frame = dataset.frame_for_pairs() if pairs else None
        if frame is not None and frame.rows < (dataset.rows or 0):
            drawn = f" in {frame.rows} rows drawn at random"
    return counted(pairs, "pair" if pairs < MOST_PAIRS else "most dependent pair") + drawn


def _further_changes(verdict: VerdictDetails) -> list[tuple[str, str]]:
    """Return how many more columns and pairs are beyond than are told of."""
    rows = []
    for word, beyond in (("column", verdict.beyond), ("pair", verdict.pairs_beyond)):
        more = len(beyond) - MOST_REASONS
        if more > 0:
            rows.append(("changed", f"{counted(more, f'more {word}')} beyond the tolerance"))
    return rows


def _facts(verdict: VerdictDetails) -> list[tuple[str, str]]:
    """Return the facts: those that speak against the candidate first, then those to know of."""
    failures, reasons = verdict.failures, verdict.reasons
    beyond = [fact for fact in failures if str(fact) not in reasons]
    noted = [fact for fact in verdict.facts if fact not in failures and fact.chance != "likely"]
    rows = [("against it", str(fact)) for fact in beyond] + [("noticed", str(fact)) for fact in noted]
    more = len(rows) - MOST_FACTS
    return [*rows[:MOST_FACTS], ("noticed", f"and {counted(more, 'more fact')}")] if more > 0 else rows


def _ladder(verdict: VerdictDetails) -> list[tuple[str, str]]:
    """Return a row for each accepted dataset, where there are several, the nearest first."""
    if len(verdict.held) == 1:
        return []
    rows = []
    for each in sorted(verdict.held, key=lambda each: each.distance):
        told = with_error(max(each.distance, 0.0), each.standard_error)
        told += f", {share_of(each.distance, verdict.epsilon, 'tolerance')}"
        told += f": p = {probability(each.pvalue_close)} nearer, {probability(each.pvalue_far)} farther"
        decided = each.label == verdict.decided_by
        rows.append((f"against {each.label}", told + (", which decided" if decided else "")))
    return rows


def _beyond_in_words(verdict: VerdictDetails, known: Collection[str]) -> str:
    """Say which columns are beyond their own tolerances, and which pairs go together differently.

    Of columns that are `known` to have changed, nothing is said.
    """
    told, columns = [], [each.name for each in verdict.beyond if each.name not in known]
    if columns:
        own = "is beyond its own tolerance" if len(columns) == 1 else "are beyond their own tolerances"
        told.append(f"{_named(columns)} {own}")
    pairs = [each for each in verdict.pairs_beyond if not _explained(each, verdict)]
    if pairs:
        told.append(pairs[0].words() if len(pairs) == 1 else _pairs_in_words(pairs))
    return ", and ".join(told)


def _explained(pair: PairCheck, verdict: VerdictDetails) -> bool:
    """Tell whether a column of a pair is beyond its own tolerance, so that the pair is no news."""
    return any(each.name in pair.names for each in verdict.beyond)


def _pairs_in_words(pairs: Sequence[PairCheck]) -> str:
    """Say which pairs go together differently: by the column that all of them share, where there is one."""
    shared = set(pairs[0].names).intersection(*(each.names for each in pairs[1:]))
    if len(shared) == 1:
        [name] = shared
        others = [other for each in pairs for other in each.names if other != name]
        return f"{name} goes together differently with {_named(others)}"
    return f"{_named([each.name for each in pairs], '; ')} go together differently"


def _may_be_beyond(names: Sequence[str]) -> str:
    """Say which columns or pairs are doubtful."""
    if len(names) == 1:
        return f"{names[0]} may be beyond its own tolerance"
    return f"{_named(names)} may be beyond their own tolerances"


def _named(names: Sequence[str], between: str = ", ") -> str:
    """Return at most three names, and how many more there are."""
    shown, more = list(names[:MOST_REASONS]), len(names) - MOST_REASONS
    if more > 0:
        return between.join(shown) + f" and {more} more"
    return shown[0] if len(shown) == 1 else between.join(shown[:-1]) + f" and {shown[-1]}"


def differs_most(x: Any, y: Any) -> str:
    """Name the column that differs most between two samples of a space.

    That is a description, by the largest standardized difference in location or scale, and not a test. It
    is empty where no column stands out, and where the rows are not at hand.
    """
    if not (isinstance(x, Sample) and isinstance(y, Sample)) or any(map(is_spread, (x.points, y.points))):
        return ""
    encoding = x.space.encoding
    scores = standardized_difference(to_numpy(x.points), to_numpy(y.points))
    largest = [float(np.max(scores[encoding.slots(column.name)])) for column in encoding.columns]
    if not largest or not max(largest) > 0:
        return ""
    name = encoding.columns[int(np.argmax(largest))].name
    return f"column {name} differs most" if encoding.array_columns is not None else f"{name} differs most"
