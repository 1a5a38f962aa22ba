"""Small pictures for the page, as geometry: areas of histograms and positions on a common scale.

They are drawn by the template as plain SVG and CSS. Nothing here is text from the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.report.model import Contributions, DistanceInterval, Histogram
from nammd.results.page import Track

WIDTH, HEIGHT = 240.0, 60.0


@dataclass(frozen=True)
class Areas:
    """The outlines of two overlaid histograms, as SVG paths in a box of WIDTH by HEIGHT."""

    x: str
    y: str


@dataclass(frozen=True)
class Mark:
    """A distance with its interval, in percent of the width of a common scale."""

    dot: float
    left: float
    width: float


@dataclass(frozen=True)
class Scale:
    """A horizontal scale that all columns share, from `low` to `high`."""

    low: float
    high: float

    @classmethod
    def of(cls, parts: Contributions) -> Scale:
        """Return the scale on which all distances of all columns have room."""
        measured = [parts.together, *(p.alone for p in parts.columns)]
        measured += [p.without for p in parts.columns if p.without is not None]
        low = min(0.0, *(m.value for m in measured))
        high = max(m.high for m in measured)
        return cls(low, high if high > low else low + 1.0)

    def mark(self, measured: DistanceInterval | Track) -> Mark:
        """Return where a distance and its interval lie."""
        left, right = self.percent(measured.low), self.percent(measured.high)
        return Mark(self.percent(measured.value), left, round(right - left, 2))

    def write(self, value: float) -> str:
        """Write a distance with the digits that matter on this scale, not more.

        Examples
        --------
        >>> Scale(0.0, 0.0368).write(0.01234567), Scale(0.0, 0.0368).write(-1e-7)
        ('0.0123', '0.0000')
        """
        digits = int(np.clip(2 - np.floor(np.log10(self.high - self.low)), 2, 9))
        return f"{value:.{digits}f}".replace(f"{-0.0:.{digits}f}", f"{0.0:.{digits}f}")

    def percent(self, value: float) -> float:
        """Return where a value lies."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)


def areas(histogram: Histogram) -> Areas:
    """Return the outlines of both samples of a histogram, on one vertical scale."""
    largest = max(float(histogram.x.max()), float(histogram.y.max())) or 1.0
    return Areas(_outline(histogram.x / largest), _outline(histogram.y / largest))


def _outline(heights: FloatArray) -> str:
    """Return the path of a histogram whose tallest possible bar is 1, closed along the bottom.

    All bars are equally wide: bins are, and where each bin is a value of its own, order is what counts.
    """
    edges = np.linspace(0, WIDTH, len(heights) + 1)
    tops = HEIGHT * (1 - 0.96 * heights)
    steps = [f"M0,{HEIGHT:g}"]
    for k, top in enumerate(tops):
        steps.append(f"L{edges[k]:.1f},{top:.1f} L{edges[k + 1]:.1f},{top:.1f}")
    return " ".join([*steps, f"L{WIDTH:g},{HEIGHT:g} Z"])
