"""What was accepted, together with a reference, ready for many candidates: `Around`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nammd.engines import Engine
from nammd.evidence.accepted import AcceptedRows
from nammd.evidence.gathering import gather_at
from nammd.evidence.rows import RowEvidence
from nammd.spaces import Sample
from nammd.tolerances.accepted import AcceptedSet


@dataclass(frozen=True, eq=False)
class Around:
    """All that was accepted by rows, and what it knows of each other and of a reference, by scale.

    Attributes
    ----------
    accepted : AcceptedSet
        What was accepted.
    engine : Engine or None
        Which engine computes.
    """

    accepted: AcceptedSet
    engine: Engine | None
    _known: dict[float, tuple[Sample, AcceptedRows]] = field(default_factory=dict, init=False, repr=False)

    def at(self, scales: Sequence[float]) -> list[AcceptedRows]:
        """Return what is known at some scales, after a candidate has been compared there."""
        return [self._known[scale][1] for scale in scales]

    def compared(self, reference: Sample, sample: Sample, scales: Sequence[float]) -> list[RowEvidence]:
        """Compare a candidate with the reference, and with all that was accepted, at some scales.

        What these know of each other is summed in the same run, and once for all candidates.
        """
        pairs, engine = [(reference, sample)], self.engine
        if all(scale in self._known and self._known[scale][0] is reference for scale in scales):
            around = self.at(scales)
            known, others = [one.known(reference) for one in around], around[0].others
            found = gather_at(scales, pairs, engine=engine, known=known, beside=others)
            return [evidence for [evidence] in found]  # type: ignore[misc]
        corners, sizes = self.accepted.corners(reference, scales)
        others = [corner.points for corner in corners[1:]]
        between = self.accepted.sums_between(corners, several=len(scales) > 1)
        # The pair itself tells what is within the reference.
        among = [part for part in between.parts if len(part) == 2 or part[0] is not reference.points]
        found = gather_at(scales, pairs, engine=engine, beside=others, among=among)
        for scale, [evidence] in zip(scales, found, strict=False):
            assert isinstance(evidence, RowEvidence)
            sums = between.completed([evidence.kernel_sums.x, *evidence.beside[len(others) :]])
            rows = AcceptedRows.of(evidence.kernel, corners, sizes, sums)
            self._known[scale] = reference, rows
        return [evidence for [evidence] in found]  # type: ignore[misc]
