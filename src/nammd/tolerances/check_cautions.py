"""What to know of a check before relying on it: columns, references and sizes that are not as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nammd.encoding.changes import NOW_USABLE, UNKNOWN
from nammd.errors.advice import Caution
from nammd.errors.naming import listed
from nammd.questions.distance import Estimate
from nammd.statistics.margin import NEAR_DEGENERATE
from nammd.tolerances.bars import Fixed
from nammd.tolerances.decision import Decision

if TYPE_CHECKING:
    from nammd.tolerances.gate import Gate
    from nammd.tolerances.tolerance import Tolerance


def cautions_of(
    gate: Gate, estimate: Estimate, decision: Decision, usable: Sequence[str], by_columns: bool
) -> tuple[Caution, ...]:
    """Return what to know before relying on a verdict.

    `usable` are columns left out that could be compared now; `by_columns`: whether columns could be compared.
    """
    found = _accepted_itself(gate.tolerance, estimate.evidence.y)
    known = {caution.code for caution in estimate.cautions}
    found += estimate.cautions
    found += [caution for caution in gate.tolerance.origin.cautions if caution.code not in known]
    candidate, encoding = estimate.evidence.y.dataset, gate.tolerance.space.encoding
    extra = encoding.unknown_columns(candidate)
    if extra:
        found.append(Caution("extra-columns", UNKNOWN.format(listed(extra))))
    if usable:
        found.append(Caution("now-usable", NOW_USABLE.format(", ".join(usable))))
    made_from = gate.tolerance.origin.digest
    # A digest of data on a cluster is a pass over them, so it is made only where it is needed.
    given = gate.reference.digest if made_from else ""
    if given is None and not isinstance(gate.tolerance.farthest, Fixed):
        found.append(
            Caution(
                "sketched-reference",
                "a sketch does not tell whether its rows are those that the tolerance was made from; "
                "epsilon is taken as independent of it",
            )
        )
    if made_from and given is not None and made_from != given:
        found.append(
            Caution(
                "other-reference",
                "the reference is not the data that the tolerance was made from; epsilon is taken as "
                "independent of it",
            )
        )
    pair = estimate.pair
    if decision is Decision.UNDECIDED and pair.share > NEAR_DEGENERATE and not pair.void:
        found.append(
            Caution("near-degenerate", "the tolerance is below what samples of this size can resolve")
        )
    return (*found, *(() if by_columns else _ungrouped(gate.tolerance)))


def _accepted_itself(tolerance: Tolerance, candidate: Any) -> list[Caution]:
    """Say that a candidate is one of the accepted datasets, row by row: then there is nothing to test."""
    same = "" if tolerance.accepted is None else tolerance.accepted.same_as(candidate)
    if not same:
        return []
    told = f"the candidate is {same!r} itself, which was accepted; was the right file given?"
    return [Caution("accepted-itself", told)]


def _ungrouped(tolerance: Tolerance) -> tuple[Caution, ...]:
    """Return a caution that columns take no part: how their rows belong together is not known."""
    if tolerance.column_tolerances is None:
        return ()
    message = (
        "rows belong together in a way that single columns do not know of (blocks of time, or groups or "
        "weights that the tolerance was made without), so columns are not held against their own tolerances"
    )
    return (Caution("columns-not-judged", message),)
