"""A verdict in words: its sentence, the rows of its table, why, and the code that gives it again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.data.arrays import is_spread, to_numpy
from nammd.errors.checks import counted
from nammd.kernels.operations import as_code
from nammd.results import interval, number, p_value, probability, share_of, with_error
from nammd.spaces import Sample
from nammd.statistics.standardized import standardized_difference
from nammd.tolerances.bars import Accepted

if TYPE_CHECKING:
    from nammd.tolerances.verdict import Verdict


MOST_REASONS = 3
"""So many columns are told of in words."""

MOST_ALERTS = 8
"""So many alerts are printed; `Verdict.alerts` has all."""


def sentence(verdict: Verdict) -> str:
    """Return the answer in one sentence."""
    if not verdict.other_reference:
        return _answer(verdict)
    some = "; ".join(verdict.other_reference[:MOST_REASONS])
    unlike = f"the reference given is not like the one of the tolerance: {some}"
    if not verdict.is_far:
        return f"UNDECIDED: {unlike}."
    return f"{_answer(verdict).removesuffix('.')}; but {unlike}."


def _answer(verdict: Verdict) -> str:
    told = f"distance {number(verdict.distance)}, {verdict.share_told()} {number(verdict.epsilon)}"
    if verdict.is_close:
        return f"CLOSE: the candidate is within the tolerance ({told}, {p_value(verdict.pvalue_close)})."
    also = _are_beyond([each.name for each in verdict.beyond]) if verdict.judged and verdict.beyond else ""
    if verdict.is_far and not verdict.jointly_far:
        return f"FAR: {also}."
    if verdict.is_far:
        more = f", and {also}" if also else ""
        return f"FAR: the candidate is beyond the tolerance ({told}, {p_value(verdict.pvalue_far)}){more}."
    if verdict.void:
        return "UNDECIDED: no test is possible with these data."
    if verdict.pvalue_close <= verdict.alpha:
        named = [each.name for each in verdict.doubtful]
        doubt = _may_be_beyond(named)
        return f"UNDECIDED: the candidate is within the tolerance as a whole ({told}), but {doubt}."
    return f"UNDECIDED: these rows do not settle whether the candidate is within the tolerance ({told})."


def rows_of_table(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the rows of the printed table."""
    rows = [
        (
            "distance",
            f"NAMMD = {number(verdict.distance)}, {verdict.share_told()}, {_interval(verdict)}",
        ),
        *_like(verdict),
        ("tolerance", with_error(verdict.epsilon, verdict.epsilon_error)),
        ("p-value, within", probability(verdict.pvalue_close)),
        ("p-value, beyond", probability(verdict.pvalue_far)),
        *([("p-values", verdict.adjusted)] if verdict.adjusted else []),
        *_ladder(verdict),
        ("level", _levels(verdict)),
        *[("changed", reason) for reason in verdict.reasons],
        *_unexplained(verdict),
        *_alerts(verdict),
        ("rows", f"{verdict.estimate.m} reference, {verdict.estimate.n} candidate"),
        *verdict.estimate.describe_groups(),
        ("columns", verdict.tolerance.space.encoding.compared()),
        ("kernel", verdict.estimate.describe_kernel()),
    ]
    return [*rows, ("next", verdict.advice())] if not verdict.is_close else rows


def code_again(verdict: Verdict) -> str:
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


def _interval(verdict: Verdict) -> str:
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


def _like(verdict: Verdict) -> list[tuple[str, str]]:
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


def _levels(verdict: Verdict) -> str:
    if not verdict.judged:
        return f"{verdict.alpha:g}"
    columns = counted(len(verdict.columns), "column")
    return f"{verdict.alpha:g}, for FAR half of it for the joint distance and half for {columns}"


def _unexplained(verdict: Verdict) -> list[tuple[str, str]]:
    """Return how many more columns are beyond than are told of, or which pairs are, where none is."""
    if verdict.pairs:
        rows = [("changed", "no single column explains it; these pairs do")]
        return rows + [("changed", pair.words()) for pair in verdict.pairs[:MOST_REASONS]]
    more = len(verdict.beyond) - MOST_REASONS
    return [("changed", f"{counted(more, 'more column')} beyond the tolerance")] if more > 0 else []


def _alerts(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the alerts, those that fail the check first, and none that says what was said already."""
    shown = [
        alert for alert in verdict.alerts if alert in verdict.failures or str(alert) not in verdict.reasons
    ]
    shown.sort(key=lambda alert: alert not in verdict.failures)
    rows = [
        ("alert", f"{alert}" + (", which fails the check" if alert in verdict.failures else ""))
        for alert in shown[:MOST_ALERTS]
    ]
    more = len(shown) - MOST_ALERTS
    return [*rows, ("alert", f"and {more} more")] if more > 0 else rows


def _ladder(verdict: Verdict) -> list[tuple[str, str]]:
    """Return a row for each accepted dataset, where there are several, the nearest first."""
    if len(verdict.held) == 1:
        return []
    rows = []
    for each in sorted(verdict.held, key=lambda each: each.distance):
        told = with_error(each.distance, each.standard_error)
        told += f", {share_of(each.distance, verdict.epsilon, 'tolerance')}"
        told += f": p = {probability(each.pvalue_close)} nearer, {probability(each.pvalue_far)} farther"
        decided = each.label == verdict.decided_by
        rows.append((f"against {each.label}", told + (", which decided" if decided else "")))
    return rows


def _are_beyond(names: Sequence[str]) -> str:
    """Say which columns are beyond their own tolerances."""
    if len(names) == 1:
        return f"{names[0]} is beyond its own tolerance"
    shown = names[:MOST_REASONS]
    more = len(names) - len(shown)
    told = (
        ", ".join(shown) + (f" and {more} more" if more else "")
        if more
        else (", ".join(shown[:-1]) + f" and {shown[-1]}")
    )
    return f"{told} are beyond their own tolerances"


def _may_be_beyond(names: Sequence[str]) -> str:
    """Say which columns are doubtful."""
    if len(names) == 1:
        return f"{names[0]} may be beyond its own tolerance"
    shown = list(names[:MOST_REASONS])
    more = len(names) - len(shown)
    told = ", ".join(shown) + f" and {more} more" if more else ", ".join(shown[:-1]) + f" and {shown[-1]}"
    return f"{told} may be beyond their own tolerances"


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
