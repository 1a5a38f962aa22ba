"""One question at several scales: which ones, and what comes of all of them together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from nammd.data.arrays import FloatArray
from nammd.errors.advice import Advice, refusal
from nammd.errors.checks import choice
from nammd.kernels.operations import at_scale
from nammd.results import ScaleCheck
from nammd.statistics.margin import margin
from nammd.statistics.pair import Alternative, Pair
from nammd.statistics.scales import (
    CONTACTS,
    SCALES,
    JointScales,
    Scales,
    contacts,
    influences,
    moved_margin,
    share_moved,
)


@dataclass(frozen=True, eq=False)
class ScaleTest:
    """The test of a margin at one scale.

    Attributes
    ----------
    scale : float
        The bandwidth there, over that of the kernel; one for the main scale.
    distance, margin, pvalue : float
        The distance, the margin, and the p-value.
    moved : array or None
        How far each unit moves the distance; None where units are not told apart.
    """

    scale: float
    distance: float
    margin: float
    pvalue: float
    moved: FloatArray | None = field(repr=False)


def scale_checks(
    tests: Sequence[ScaleTest], alternative: Alternative, level: float
) -> tuple[tuple[ScaleCheck, ...], JointScales]:
    """Return tests at several scales, the main one first, adjusted for all of them, and how they go together.

    To be within at each scale, each has to be shown, and nothing is paid for their number.
    """
    law = JointScales.of([test.scale for test in tests], [test.moved for test in tests])
    pvalues = [test.pvalue for test in tests]
    adjusted = law.adjusted(pvalues).tolist() if alternative == "greater" else pvalues
    checks = tuple(
        ScaleCheck(
            test.scale, test.distance, test.margin, test.pvalue, p, alternative == "greater" and p <= level
        )
        for test, p in zip(tests, adjusted, strict=True)
    )
    return checks, law


def margins_at(
    main: Pair, finer: Sequence[Pair], epsilon: float, alternative: Alternative
) -> list[ScaleTest]:
    """Test a margin at the main scale and, for as many rows moved as make it there, at finer ones.

    Scales at which hardly any two rows of x are near each other are left out.
    """
    bound = main.moments.bound
    share = share_moved(epsilon, main.moments.x.mean, bound)
    found = []
    for scale, pair in zip(SCALES, [main, *finer], strict=False):
        if scale < 1 and contacts(pair) < CONTACTS:
            continue
        eps = epsilon if scale == 1 else moved_margin(pair.moments.x.mean, share, bound)
        pvalue = margin(pair, eps, "corrected", alternative).pvalue(alternative)
        known = 1.0 if math.isnan(pvalue) else pvalue
        found.append(ScaleTest(scale, pair.value, eps, known, influences(pair, eps)))
    return found


def scales_wanted(scales: Scales, *samples: Any) -> tuple[float, ...]:
    """Return the scales that were asked for, if samples of these kinds have them."""
    choice(scales, "scales", ("median", "all"))
    if scales == "median":
        return SCALES[:1]
    kernel = samples[0].space.kernel
    if at_scale(kernel, 0.5) is None:
        raise ValueError(f"the kernel {kernel!r} has no bandwidth, and so no scales; leave scales out")
    for sample in samples:
        if not sample.keeps_rows and sample.scales != SCALES:
            raise refusal(
                ValueError,
                f"{sample.name} was sketched at one scale",
                Advice(
                    "make it with Sketch.of(data, features, scales='all'), or leave scales out",
                    "make it with 'nammd sketch --scales all', or leave --scales out",
                ),
            )
    return SCALES
