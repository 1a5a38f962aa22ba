"""A candidate against a reference and all that was accepted, at every scale of a tolerance: `Comparing`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.engines import Engine
from nammd.engines.progress import comparing, passes
from nammd.evidence.accepted import AcceptedRows
from nammd.evidence.bets import bets_on_rows
from nammd.evidence.evidence import Evidence
from nammd.evidence.gathering import gather_at, kernels_at
from nammd.evidence.nearest import nearest_accepted
from nammd.evidence.preparing import compared
from nammd.evidence.rows import Known, RowEvidence
from nammd.evidence.stand_ins import SampleStandIns
from nammd.kernels.operations import features_of
from nammd.questions.distance import Estimate
from nammd.spaces import Sample
from nammd.statistics.nearest import Nearest
from nammd.tolerances.accepted import AcceptedSet, fine_rows
from nammd.tolerances.scale_margins import ScaleMargin

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance


@dataclass(frozen=True, eq=False)
class Comparing:
    """Compares many candidates with one reference; what is known of that is summed once.

    Attributes
    ----------
    tolerance : Tolerance
        What close enough means.
    engine : Engine or None
        Which engine computes.
    exact : bool
        Whether all rows are compared with each other, however many they are.
    """

    tolerance: Tolerance
    engine: Engine | None
    exact: bool
    _known: dict[float, Known] = field(default_factory=dict, init=False, repr=False)
    _finer: dict[str, Sample] = field(default_factory=dict, init=False, repr=False)

    def margins(self, reference: Any, candidate: Any, shared: bool) -> list[ScaleMargin]:
        """Return the margins of the finer scales at which a candidate is compared.

        Of the very rows that the tolerance was made from, which are `shared`, it is known at which scales too
        few are near each other.
        """
        counted = shared and not self.exact and _plain(reference, candidate)
        return [each for each in self.tolerance.scales if not (counted and each.too_fine)]

    def gathered(
        self, reference: Any, candidate: Any, scales: Sequence[float], *, alone: bool = False
    ) -> list[Evidence]:
        """Compare a candidate with a reference at some scales; what is within the reference is summed once.

        Plain rows are compared with all that was accepted in the same run, unless the reference is meant
        `alone`.
        """
        sample = candidate if self.exact else compared(reference, candidate)
        by_rows = not alone and self._by_rows(reference, candidate)
        runs = [(tuple(scales), reference, sample)]
        if len(scales) > 1 and self._many_for_finer(reference, sample):
            some = self._fine(reference), sample.at_most(self._fine_rows)
            runs = [(tuple(scales[:1]), reference, sample), (tuple(scales[1:]), *some)]
        found: list[Evidence] = []
        with passes(*[1.0] * len(runs), what=comparing(reference.size, sample.size)):
            for some_scales, x, y in runs:
                if by_rows:
                    gathered: Sequence[Any] = self._around.compared(x, y, some_scales)
                else:
                    gathered = self._alone(x, y, some_scales)
                if found:  # what is to be said of the rows is said of all of them
                    gathered = [replace(each, main=found[0]) for each in gathered]
                found += gathered
        return found

    def _alone(self, reference: Any, sample: Any, scales: Sequence[float]) -> list[Any]:
        """Compare a candidate with the reference; what is within that is summed once for all candidates."""
        here = [self._known[s] for s in scales if s in self._known]
        known = [each for each in here if each.sample.points is reference.points]
        enough = known if len(known) == len(scales) else None
        found = gather_at(scales, [(reference, sample)], engine=self.engine, known=enough)
        for scale, [evidence] in zip(scales, found, strict=False):
            if evidence.known_x is not None:
                self._known[scale] = evidence.known_x
        return [evidence for [evidence] in found]

    def _many_for_finer(self, reference: Any, sample: Any) -> bool:
        """Tell whether finer scales are to have some of the rows: plain ones, compared in pairs."""
        if self.exact or not _plain(reference, sample):
            return False
        accepted, in_pairs = self.tolerance.accepted, features_of(self.tolerance.kernel) is None
        many = max(reference.size, sample.size) > self._fine_rows
        return many or (in_pairs and accepted is not None and not accepted.few)

    @property
    def _fine_rows(self) -> int:
        return fine_rows(self.tolerance.kernel)

    def _fine(self, reference: Sample) -> Sample:
        """Return the rows of the reference at finer scales, always the same object."""
        if self._finer.get("of") is not reference:
            self._finer.update({"of": reference, "some": reference.at_most(self._fine_rows)})
        return self._finer["some"]

    def _by_rows(self, reference: Any, candidate: Any) -> bool:
        """Tell whether there are accepted data, and all rows stand for themselves."""
        accepted = self.tolerance.accepted
        return _plain(reference, candidate) and accepted is not None and bool(accepted.datasets)

    @cached_property
    def _around(self) -> _Around:
        assert self.tolerance.accepted is not None
        return _Around(self.tolerance.accepted, self.engine)

    def nearest(
        self, reference: Any, candidate: Any, evidence: Sequence[Evidence], scales: Sequence[float]
    ) -> list[Nearest]:
        """Return a candidate with the mixture of what was accepted that is nearest to it, at every scale."""
        accepted = self.tolerance.accepted
        if accepted is None or not accepted.datasets or evidence[0].obstacle is not None:
            return [Nearest(np.ones(1), each.pair()) for each in evidence]
        if accepted.same_as(candidate):  # as for the reference itself, there is nothing to test with
            return [Nearest(np.ones(1), replace(each.pair(), void=True)) for each in evidence]
        around = self._around.at(scales) if self._by_rows(reference, candidate) else []
        return nearest_accepted(scales, evidence, accepted.datasets, around, self.engine)

    def bets(self, reference: Any, candidate: Any, estimate: Estimate) -> FloatArray | None:
        """Return the logarithm of the evidence of bets on rows; None where rows belong together."""
        evidence = estimate.evidence
        if not isinstance(evidence, RowEvidence) or estimate.pair.void:
            return None
        around = self._around.at((1.0,))[0] if self._by_rows(reference, candidate) else None
        return bets_on_rows(evidence, around, self.tolerance.epsilon, self.engine)


def _plain(*samples: Any) -> bool:
    """Tell whether all rows are there, and stand for themselves."""
    return all(sample.keeps_rows and sample.units is None for sample in samples)


@dataclass(frozen=True, eq=False)
class _Around:
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
    _known: dict[float, tuple[Known, AcceptedRows]] = field(default_factory=dict, init=False, repr=False)

    def at(self, scales: Sequence[float]) -> list[AcceptedRows]:
        """Return what is known at some scales, after a candidate has been compared there."""
        return [self._known[scale][1] for scale in scales]

    def compared(self, reference: Sample, sample: Sample, scales: Sequence[float]) -> list[RowEvidence]:
        """Compare a candidate with the reference, and with all that was accepted, at some scales.

        What these know of each other is summed in the same run, and once for all candidates.
        """
        pairs, engine = [(reference, sample)], self.engine
        inside = [self._known[scale][0] for scale in scales if scale in self._known]
        if len(inside) == len(scales) and all(known.sample is reference for known in inside):
            others = self.at(scales)[0].others
            found = gather_at(scales, pairs, engine=engine, known=inside, beside=others)
            return [evidence for [evidence] in found]  # type: ignore[misc]
        corners, sizes = self.accepted.corners(reference, scales)
        others = [corner.points for corner in corners[1:]]
        between = self.accepted.known(reference, corners, scales, engine)
        own = [each.within.get(0) for each in between]
        kernels = kernels_at(reference.space.kernel, scales)
        here = [
            Known(reference, sums, SampleStandIns(reference, kernel))
            for sums, kernel in zip(own, kernels, strict=True)
            if sums is not None
        ]
        # The pair itself tells what is within the reference.
        among = [part for part in between[0].parts if len(part) == 2 or part[0] is not reference.points]
        found = gather_at(scales, pairs, engine=engine, known=here or None, beside=others, among=among)
        kept: list[RowEvidence] = []
        for scale, [evidence], known in zip(scales, found, between, strict=True):
            assert isinstance(evidence, RowEvidence)
            first = [] if here else [evidence.kernel_sums.x]
            sums = known.completed([*first, *evidence.beside[len(others) :]])
            rows = AcceptedRows.of(evidence.kernel, corners, sizes, sums)
            self._known[scale] = rows.known(evidence.stand_ins[0]), rows
            # What the corners know of each other is in there now, and large.
            main = kept[0] if evidence.main is not None else None
            kept.append(replace(evidence, beside=evidence.beside[: len(others)], main=main))
        return kept
