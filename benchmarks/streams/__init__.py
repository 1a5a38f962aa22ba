"""Streams of batches, beside peers: how soon a change is noticed, and how many alarms there are without one.

Each tool is asked in its own way (the dependency group ``peers``); what is not installed says so:

- `sources`: streams with known laws, and batches of real flights;
- `watchers`: nammd's monitor, evidently's preset for drift, and ADWIN and KSWIN of river;
- `scoring`: every tool on every stream, and the figures that come of it;
- `pages`: the table of the documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from benchmarks.results import Measurement
from benchmarks.scale import Scale


def measure(scale: Scale) -> Iterator[Measurement]:
    """Yield the figures of every tool that is installed."""
    if find_spec("pandas") is None:
        yield Measurement("streams", None, "batches", skipped="pandas is not installed")
        return
    from benchmarks.streams.scoring import figures  # it imports pandas, which other topics do not need

    yield from figures(scale)
