"""What was found at one scale, for people: `ScaleCheck`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nammd.results.words import p_value


@dataclass(frozen=True)
class ScaleCheck:
    """A candidate at one scale.

    Attributes
    ----------
    scale : float
        The bandwidth there, over that of the kernel; one for the main scale.
    distance : float
        The distance at this scale.
    margin : float
        What is within at this scale.
    pvalue, adjusted : float
        The p-value of the test there, and the same adjusted for all scales.
    beyond : bool
        Whether it is proven to be beyond the margin.
    """

    scale: float
    distance: float
    margin: float
    pvalue: float
    adjusted: float
    beyond: bool

    @property
    def ratio(self) -> float:
        """The distance over the margin."""
        return self.distance / self.margin

    @property
    def name(self) -> str:
        """The scale in words."""
        return scale_in_words(self.scale)

    @property
    def found(self) -> str:
        """What was found there, in words."""
        return f"{times(self.ratio)} what is negligible there, {p_value(self.adjusted)}"

    @property
    def told(self) -> str:
        """What a difference is that is beyond at this scale, and not at the main one."""
        much = f"at {self.name} between rows it is {times(self.ratio)} what is negligible there"
        return f"fine-grained: {much} ({p_value(self.adjusted)})"


def scale_in_words(scale: float) -> str:
    """Return a scale in words.

    >>> scale_in_words(1.0), scale_in_words(0.5), scale_in_words(0.125)
    ('the typical distance', 'half of the typical distance', 'an eighth of the typical distance')
    """
    parts = {0.5: "half", 0.25: "a quarter", 0.125: "an eighth", 0.0625: "a sixteenth"}
    if scale == 1:
        return "the typical distance"
    return f"{parts.get(scale, f'{scale:g}')} of the typical distance"


def fractions(scales: Sequence[float]) -> str:
    """Return some scales as fractions of the bandwidth.

    >>> fractions([0.5, 0.25, 0.125])
    '1/2, 1/4 and 1/8'
    """
    told = [f"1/{1 / scale:g}" for scale in scales]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def times(ratio: float) -> str:
    """Return how far something is, in multiples of what is negligible.

    >>> times(-0.1), times(0.254), times(3.14159), times(1e6)
    ('0 % of', '25 % of', '3.1 times', 'more than 100 times')
    """
    if ratio < 1:
        return f"{max(100 * ratio, 0.0):.2g} % of"
    return f"{ratio:.2g} times" if ratio < 100 else "more than 100 times"
