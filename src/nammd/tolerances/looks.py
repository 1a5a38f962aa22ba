"""What a check looks at beside its sums: `Looks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nammd.data.arrays import beside_device
from nammd.explaining.facts import Fact
from nammd.statistics.nearest import Nearest
from nammd.views.family import COLUMNS, WHOLE
from nammd.views.limits import ColumnCheck
from nammd.views.relation_limits import PairCheck

if TYPE_CHECKING:
    from nammd.tolerances.gate import Candidate, Gate
    from nammd.tolerances.gate_columns import GateColumns


@dataclass(frozen=True, eq=False)
class Looks:
    """The columns of a candidate, two of them together, and facts: nothing that needs sums.

    Where another device sums they go on in the meantime, each in a thread of its own.

    Attributes
    ----------
    columns : callable
        Returns every column held against its tolerance, as if no pairs were asked about.
    facts : callable
        Returns what is counted.
    pairs : callable
        Returns every pair of columns held against its tolerance, given the mixture that is nearest.
    comparable : bool
        Whether columns can be compared, as far as groups go.
    """

    columns: Callable[[], tuple[ColumnCheck, ...]]
    facts: Callable[[], tuple[Fact, ...]]
    pairs: Callable[[Nearest], tuple[PairCheck, ...]]
    comparable: bool

    @classmethod
    def begin(cls, gate: Gate, columns: GateColumns, candidate: Candidate, alpha: float) -> Looks:
        """Begin to look at a candidate."""
        tolerance, sample = gate.tolerance, candidate.sample
        points = sample.points if sample.keeps_rows else None
        columns.read(candidate.tally)  # once, before several threads ask for it
        comparable = columns.comparable(sample.dataset)

        def checked() -> tuple[ColumnCheck, ...]:
            return columns.check(candidate.tally, COLUMNS.level("columns", alpha)) if comparable else ()

        checked_columns = beside_device(checked, points)

        def checked_pairs(like: Mapping[str, float]) -> tuple[PairCheck, ...]:
            level = WHOLE.level("pairs", alpha)
            return columns.check_pairs(candidate.tally, level, like, checked_columns) if comparable else ()

        facts = beside_device(partial(gate.facts, candidate), points)
        if tolerance.accepted is not None and tolerance.accepted.datasets:

            def when_summed(nearest: Nearest) -> tuple[PairCheck, ...]:
                return checked_pairs(dict(tolerance.like(nearest)))

            return cls(checked_columns, facts, when_summed, comparable)
        # The reference is all that the candidate could be like.
        alone = beside_device(partial(checked_pairs, {"reference": 1.0}), points)
        return cls(checked_columns, facts, lambda _: alone(), comparable)
