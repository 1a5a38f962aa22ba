"""What is negligible at finer scales than the main one, and a candidate held against it.

A tolerance has the joint view at several bandwidths: that of its kernel, which is the main scale, and halves
of it (`nammd.statistics.scales`). CLOSE is proven at the main scale; at the others a candidate may only be
found to be beyond.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nammd.errors.checks import choice
from nammd.evidence.evidence import Evidence
from nammd.kernels import Kernel
from nammd.kernels.operations import at_scale
from nammd.questions.distance import Estimate
from nammd.questions.scales import ScaleTest, scale_checks
from nammd.results import ScaleCheck
from nammd.statistics.nearest import Nearest
from nammd.statistics.pair import Pair
from nammd.statistics.scales import (
    CONTACTS,
    MOVED,
    SCALES,
    JointScales,
    Scales,
    contacts,
    influences,
    mean_and_bound,
    moved_margin,
    share_moved,
)
from nammd.tolerances.bars import Accepted
from nammd.tolerances.reference import Reference


@dataclass(frozen=True)
class ScaleMargin:
    """What is negligible at a finer scale.

    Attributes
    ----------
    scale : float
        The bandwidth there, over that of the kernel.
    share : float
        The share of rows that may be elsewhere.
    made : float
        The distance that the margin makes at this scale, where it is a perturbation; else zero.
    accepted : tuple of Accepted
        The distances of accepted data at that scale, where candidates may be as far as these.
    contacts : float
        How many pairs of rows of the reference are near each other; infinite where they were not counted.
    """

    scale: float
    share: float = MOVED
    made: float = 0.0
    accepted: tuple[Accepted, ...] = field(default=(), repr=False, compare=False)
    contacts: float = math.inf

    @property
    def too_fine(self) -> bool:
        """Whether hardly any two rows of the reference are near each other, so that nothing is compared."""
        return self.contacts < CONTACTS

    def negligible(self, reference: Pair) -> float:
        """Return the distance that is negligible, for the reference x of a pair.

        By all of its rows: at a fine scale few of them are near each other, and a part of them may have none.
        """
        mean, bound = mean_and_bound(reference)
        return max(moved_margin(mean, self.share, bound), self.made)

    def within(self, reference: Pair) -> float:
        """Return the largest distance that is within."""
        return max(self.negligible(reference), *(bar.value for bar in self.accepted), 0.0)

    def pvalue_far(self, evidence: Evidence, shared: bool, nearest: Nearest) -> float:
        """Return the p-value of "beyond", which is beyond everything that is within; see `Bar`."""
        pair = evidence.pair()
        if not nearest.value > self.within(pair):  # higher orders would cost more than all the rest
            return 1.0
        found = [nearest.pvalue(self.negligible(pair), "greater")]
        found += [bar.pvalue_far(Estimate.of(evidence), shared, nearest) for bar in self.accepted]
        return 1.0 if any(map(math.isnan, found)) else max(found)

    def times(self, factor: float) -> ScaleMargin:
        """Return the same for a multiple of the distance."""
        share = min(self.share * math.sqrt(factor), 1.0)
        return ScaleMargin(self.scale, share, min(self.made * factor, 1.0), contacts=self.contacts)


@dataclass(frozen=True, eq=False)
class ScaledCheck:
    """A candidate at all scales that can be judged.

    Attributes
    ----------
    checks : tuple of ScaleCheck
        The main scale first.
    law : JointScales
        How they go together.
    dropped : tuple of float
        The scales at which too few rows of the reference are near each other, in descending order.
    unknown : tuple of float
        The scales that a sketch does not keep.
    """

    checks: tuple[ScaleCheck, ...]
    law: JointScales
    dropped: tuple[float, ...] = ()
    unknown: tuple[float, ...] = ()

    @property
    def pvalue(self) -> float:
        """The p-value of "beyond at some scale"; NaN where there is none at the main scale."""
        found = [check.adjusted for check in self.checks]
        return math.nan if math.isnan(found[0]) else min(found)

    @classmethod
    def of(
        cls,
        margins: Sequence[ScaleMargin],
        evidence: Sequence[Evidence],
        nearest: Sequence[Nearest],
        shared: bool,
        main: tuple[float, float],
        level: float,
        too_fine: Sequence[float] = (),
    ) -> ScaledCheck:
        """Hold a candidate against the margins of finer scales.

        Parameters
        ----------
        margins : sequence of ScaleMargin
            Those of the finer scales that were looked at.
        evidence, nearest : sequence
            What is known at all scales, the main one first: of the reference, and of the nearest mixture. Of
            sketches at those that both keep.
        shared : bool
            Whether the reference is the one of the tolerance.
        main : tuple of float
            The margin at the main scale, and the p-value of "beyond" there.
        level : float
            The level of all scales together.
        too_fine : sequence of float
            Scales that were not looked at, since the reference is known to have too few rows for them.
        """

        def test(scale: float, each: Evidence, near: Nearest, eps: float, pvalue: float) -> ScaleTest:
            x, y = ((s.positions, s.drawn_from or 0) for s in (each.x, each.y))
            moved = influences(near.pair, eps, x if near.places is None else (near.places, near.every), y)
            return ScaleTest(scale, near.value, eps, pvalue, moved)

        tests, dropped = [test(1.0, evidence[0], nearest[0], *main)], list(too_fine)
        for margin, each, near in zip(margins, evidence[1:], nearest[1:], strict=False):
            # By the reference alone, so that no candidate chooses its own tests.
            if contacts(each.pair()) < CONTACTS:
                dropped.append(margin.scale)
                continue
            pvalue = margin.pvalue_far(each, shared, near)
            tests.append(test(margin.scale, each, near, margin.within(each.pair()), pvalue))
        unknown = tuple(margin.scale for margin in margins[len(evidence) - 1 :])
        return cls(*scale_checks(tests, "greater", level), tuple(sorted(dropped, reverse=True)), unknown)


def scales_of(kernel: Kernel, scales: Scales) -> tuple[float, ...]:
    """Return the scales of a tolerance: those that were asked for, if its kernel has a bandwidth."""
    choice(scales, "scales", ("all", "median"))
    return SCALES if scales == "all" and at_scale(kernel, 0.5) is not None else SCALES[:1]


def scale_margins(
    bench: Reference,
    scales: Sequence[float],
    main: float | None,
    made: Sequence[float] = (),
    estimates: Mapping[str, Sequence[Estimate]] | None = None,
) -> tuple[ScaleMargin, ...]:
    """Return what is negligible at each finer scale.

    Parameters
    ----------
    bench : Reference
        The reference.
    scales : sequence of float
        The scales, the main one first.
    main : float or None
        The margin at the main scale, where it is a number: then as many rows moved are negligible at others.
    made : sequence of float
        The distance that what is negligible makes at each finer scale, where it is a perturbation.
    estimates : mapping of str to sequence of Estimate, optional
        The distances of accepted data at every scale, where candidates may be as far as they.
    """
    if len(scales) == 1:
        return ()
    share = MOVED
    if main is not None:
        share = max(share, share_moved(main, bench.mean_similarity, bench.space.kernel.bound))
    found, contacts = [], bench.contacts(scales[1:])
    for number, scale in enumerate(scales[1:], 1):
        bars = [Accepted(name, each[number].pair.kept()) for name, each in (estimates or {}).items()]
        # An unbiased estimate of next to nothing may be below zero.
        distance = max(made[number - 1], 0.0) if made else 0.0
        found.append(ScaleMargin(scale, share, distance, tuple(bars), contacts[number - 1]))
    return tuple(found)
