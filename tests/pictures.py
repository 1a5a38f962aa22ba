"""Reports without their pictures, which take longest; tests/report draws all kinds of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

PLOTS = ("interval_plot", "map_plot", "scales_plot", "witness_plot")


@contextmanager
def left_out() -> Iterator[None]:
    """Write reports without them for a while."""
    with ExitStack() as stack:
        for name in PLOTS:
            stack.enter_context(patch(f"nammd.report.figures.{name}", lambda model: None))
        stack.enter_context(patch("nammd.report.html._image", lambda axes: "data:,"))
        yield
