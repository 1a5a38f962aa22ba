"""A tolerance and a reference together, ready for many candidates: `Gate`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.data.samples import between
from nammd.engines import Engine
from nammd.questions.distance import Estimate
from nammd.questions.planning import rows_for
from nammd.results.base import Caution
from nammd.sketches import Sketch
from nammd.statistics.difference import covariance_parts
from nammd.statistics.margin import KNOWN, NEAR_DEGENERATE, Blur, Pair, estimated_margin
from nammd.tolerances.encoded import EncodedReference
from nammd.tolerances.sketched import SketchedReference
from nammd.tolerances.verdict import Decision, Limit, Verdict

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance

POWER = 0.8
"""The power for which an undecided check says how many rows it would take."""


@dataclass(frozen=True, eq=False)
class Gate:
    """A tolerance together with a reference, ready for many candidates.

    The reference is encoded and summed once. Make one with `Tolerance.with_reference`.

    Attributes
    ----------
    tolerance : Tolerance
        What close enough means.
    reference : EncodedReference or SketchedReference
        What candidates are compared with.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> train = rng.normal(size=(500, 2))
    >>> gate = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), columns=2).with_reference(train)
    >>> [str(gate.check(rng.normal(loc=shift, size=(300, 2))).decision) for shift in (0.0, 0.1, 1.0)]
    ['CLOSE', 'CLOSE', 'FAR']
    """

    tolerance: Tolerance
    reference: EncodedReference | SketchedReference

    @classmethod
    def of(cls, tolerance: Tolerance, x: Any, engine: Engine | None) -> Gate:
        """Make the reference ready, whatever it is."""
        make = SketchedReference.of if isinstance(x, Sketch) else EncodedReference.of
        return cls(tolerance, make(x, tolerance.encoding, tolerance.kernel, engine))

    def __post_init__(self) -> None:
        if isinstance(self.reference, EncodedReference):
            _ = self.reference.within  # now, so that the first check costs no more than the others

    def check(self, candidate: Any, alpha: float = 0.05) -> Verdict:
        """Decide whether a candidate is close enough to the reference.

        Parameters
        ----------
        candidate : array or table
            The data in question.
        alpha : float
            The level of each of the two tests.

        Returns
        -------
        Verdict
        """
        alpha = between(alpha, "alpha", 0.5)  # above that, both tests could hold at once
        estimate = self.distance(candidate)
        eps, blur = self.tolerance.epsilon, self._blur(estimate)
        far = estimated_margin(estimate.pair, eps, "greater", blur)
        close = estimated_margin(estimate.pair, eps, "less", blur)
        p_far, p_close = far.pvalue("greater"), close.pvalue("less")
        decision = (
            Decision.FAR if p_far <= alpha else Decision.CLOSE if p_close <= alpha else Decision.UNDECIDED
        )
        needed, limit = None, None
        if decision is Decision.UNDECIDED:
            needed = self._rows_needed(estimate, estimate.pair, alpha)
            limit = self._limit(estimate, alpha) if needed is None else None
        return Verdict(
            decision=decision,
            distance=estimate.value,
            interval=estimate.confidence_interval(0.95),
            epsilon=eps,
            epsilon_error=self.tolerance.epsilon_error,
            pvalue_close=p_close,
            pvalue_far=p_far,
            alpha=alpha,
            rows_needed=needed,
            limited_by=limit,
            estimate=estimate,
            warnings=self._cautions(candidate, estimate, close.share, decision),
            reference=self.reference.raw,
            candidate=candidate,
            tolerance=self.tolerance,
        )

    def distance(self, candidate: Any) -> Estimate:
        """Estimate the distance of a candidate to the reference, without a verdict.

        Parameters
        ----------
        candidate : array, table or Sketch
            The data in question; a sketch if the reference is one.

        Returns
        -------
        Estimate
        """
        reference = self.reference
        if isinstance(reference, SketchedReference):
            return reference.distance(reference.encode(candidate, "the candidate"))
        if isinstance(candidate, Sketch):
            raise TypeError(
                "the candidate is a sketch, but the reference is not; sketch the reference with the same "
                "features: Sketch.of(reference, candidate.features, encoding=tolerance.encoding)"
            )
        return reference.distance(reference.encode(candidate, "the candidate"))

    def _rows_needed(self, estimate: Estimate, pair: Pair, alpha: float) -> tuple[int, int] | None:
        """Return the rows that would settle it, if the estimated distance is the true one."""
        eps, true = self.tolerance.epsilon, max(estimate.value, 0.0)
        if true == eps:
            return None
        # More candidate rows are easier to get than more of the reference, so they are tried first.
        # A larger reference would not be the one that epsilon was taken from.
        needed = rows_for(pair, eps, true, POWER, alpha, self._blur(estimate), keep_x=True)
        return needed or rows_for(pair, eps, true, POWER, alpha, self._blur(estimate, shared=False))

    def _limit(self, estimate: Estimate, alpha: float) -> Limit:
        """Return what keeps any number of rows from settling it."""
        pair = estimate.pair
        if pair.spread is not None and self._rows_needed(estimate, replace(pair, spread=None), alpha):
            return "features"
        return "tolerance" if self.tolerance.epsilon_error else "distance"

    def _blur(self, estimate: Estimate, shared: bool = True) -> Blur:
        """Return what the uncertainty of epsilon adds, less what a shared reference takes away."""
        reference = self.tolerance.reference
        if reference is None:
            return KNOWN
        parts = np.array([reference.linear, reference.total])
        if shared and reference.shared is not None and reference.digest == self.reference.digest:
            parts = parts - 2 * covariance_parts(reference.shared, estimate)
        return Blur(*parts.tolist())

    def _cautions(
        self, candidate: Any, estimate: Estimate, share: float, decision: Decision
    ) -> tuple[Caution, ...]:
        found = list(estimate.warnings)
        extra = self.tolerance.encoding.extra_columns(candidate)
        if extra:
            listed = ", ".join(map(repr, extra[:5])) + (", ..." if len(extra) > 5 else "")
            found.append(
                Caution("extra-columns", f"columns that the tolerance does not know were ignored: {listed}")
            )
        changed = self.tolerance.encoding.changed_constants(self.reference.raw, candidate)
        if changed:
            listed = ", ".join(map(repr, changed[:5])) + (", ..." if len(changed) > 5 else "")
            found.append(
                Caution(
                    "constant-changed",
                    f"columns with one value in the reference, which are therefore not compared, have others "
                    f"now: {listed}",
                )
            )
        made_from = self.tolerance.origin.digest
        # A digest of data on a cluster is a pass over them, so it is made only where it is needed.
        given = self.reference.digest if made_from or self.tolerance.reference is not None else ""
        if given is None and self.tolerance.reference is not None:
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
        if share > NEAR_DEGENERATE and decision is Decision.UNDECIDED:
            found.append(
                Caution("near-degenerate", "the tolerance is below what samples of this size can resolve")
            )
        return tuple(found)
