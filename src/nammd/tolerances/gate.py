"""A tolerance and a reference together, ready for many candidates: `Gate`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.data.checks import between
from nammd.data.naming import listed
from nammd.data.opening import open_dataset
from nammd.engines import Engine, require_engine
from nammd.engines.sums import WithinSums
from nammd.evidence import MIN_ROWS, gather, prepare
from nammd.questions.distance import Estimate
from nammd.results import Caution
from nammd.spaces import Sample
from nammd.statistics.difference import Shared, covariance_parts
from nammd.statistics.margin import KNOWN, NEAR_DEGENERATE, Blur, Pair, estimated_margin
from nammd.statistics.power import rows_for
from nammd.tolerances.verdict import Decision, Obstacle, Verdict

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance

POWER = 0.8
"""The power for which an undecided check says how many rows it would take."""


@dataclass(frozen=True, eq=False)
class Gate:
    """A tolerance together with a reference, ready for many candidates.

    The reference is encoded once, and summed once, with the first check. Make one with
    `Tolerance.with_reference`.

    Attributes
    ----------
    tolerance : Tolerance
        What close enough means.
    reference : Sample
        What candidates are compared with, as points of the space of the tolerance.

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
    reference: Sample
    engine: Engine | None = None
    _known: list[tuple[Sample, WithinSums]] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(cls, tolerance: Tolerance, x: Any, engine: Engine | None) -> Gate:
        """Make the reference ready, whatever it is."""
        require_engine(engine)
        dataset = open_dataset(x, "the reference", by_workers=bool(getattr(engine, "reads_files", False)))
        wanted = bool(tolerance.origin.digest) or tolerance.uncertainty is not None
        [reference] = prepare(
            {"the reference": dataset}, space=tolerance.space, engine=engine, digest=wanted, least=MIN_ROWS
        )
        return cls(tolerance, reference, engine)

    def check(self, candidate: Any, alpha: float = 0.05) -> Verdict:
        """Decide whether a candidate is close enough to the reference.

        Parameters
        ----------
        candidate : dataset
            The data in question; see `distance`.
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
            warnings=self._cautions(estimate, close.share, decision),
            tolerance=self.tolerance,
        )

    def distance(self, candidate: Any) -> Estimate:
        """Estimate the distance of a candidate to the reference, without a verdict.

        Parameters
        ----------
        candidate : dataset
            The data in question; see `distance`. A sketch if the reference is one.

        Returns
        -------
        Estimate
        """
        named = {"the reference": self.reference.dataset, "the candidate": candidate}
        reference, sample = prepare(named, space=self.tolerance.space, engine=self.engine)
        known = self._known[0] if self._known else None
        if known is not None and reference.keeps_rows and known[0].points is not reference.points:
            known = None  # the points were brought to another type, to meet those of the candidate
        [evidence] = gather([(reference, sample)], engine=self.engine, known=known)
        if reference.keeps_rows and not self._known and reference.points is self.reference.points:
            self._known.append((reference, evidence.sums.x))
        return Estimate.of(evidence)

    def _rows_needed(self, estimate: Estimate, pair: Pair, alpha: float) -> tuple[int, int] | None:
        """Return the rows that would settle it, if the estimated distance is the true one."""
        eps, true = self.tolerance.epsilon, max(estimate.value, 0.0)
        if true == eps:
            return None
        # More candidate rows are easier to get than more of the reference, so they are tried first.
        # A larger reference would not be the one that epsilon was taken from.
        needed = rows_for(pair, eps, true, POWER, alpha, self._blur(estimate), keep_x=True)
        return needed or rows_for(pair, eps, true, POWER, alpha, self._blur(estimate, shared=False))

    def _limit(self, estimate: Estimate, alpha: float) -> Obstacle:
        """Return what keeps any number of rows from settling it."""
        pair = estimate.pair
        if pair.spread is not None and self._rows_needed(estimate, replace(pair, spread=None), alpha):
            return "features"
        return "tolerance" if self.tolerance.epsilon_error else "distance"

    def _blur(self, estimate: Estimate, shared: bool = True) -> Blur:
        """Return what the uncertainty of epsilon adds, less what a shared reference takes away."""
        uncertainty = self.tolerance.uncertainty
        if uncertainty is None:
            return KNOWN
        parts = np.array([uncertainty.linear, uncertainty.total])
        if shared and uncertainty.shared is not None and uncertainty.digest == self.reference.digest:
            own = Shared.of(estimate.pair, estimate.evidence.cross_means)
            parts = parts - 2 * covariance_parts(uncertainty.shared, own, estimate.pair)
        return Blur(*parts.tolist())

    def _cautions(self, estimate: Estimate, share: float, decision: Decision) -> tuple[Caution, ...]:
        found = list(estimate.warnings)
        reference, candidate = estimate.evidence.x.dataset, estimate.evidence.y.dataset
        encoding = self.tolerance.space.encoding
        extra = encoding.extra_columns(candidate)
        if extra:
            found.append(
                Caution(
                    "extra-columns", f"columns that the tolerance does not know were ignored: {listed(extra)}"
                )
            )
        changed = encoding.changed_constants(reference, candidate)
        if changed:
            found.append(
                Caution(
                    "constant-changed",
                    f"columns with one value in the reference, which are therefore not compared, have others "
                    f"now: {listed(changed)}",
                )
            )
        made_from = self.tolerance.origin.digest
        # A digest of data on a cluster is a pass over them, so it is made only where it is needed.
        given = self.reference.digest if made_from or self.tolerance.uncertainty is not None else ""
        if given is None and self.tolerance.uncertainty is not None:
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
