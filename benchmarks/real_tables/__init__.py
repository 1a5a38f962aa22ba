"""Real tables: false alarms, faults found, the right column, and time, beside other tools.

Tables come from packages that ship data (the dependency group ``tables``); what is not installed is left out,
and says so. Of every table there is a reference, an accepted dataset that differs as such data do, fresh
batches like the one and like the other, and the same kind of batches with one fault each:

- `sources`: the tables, and what of them is the reference and what was accepted;
- `batches`: reference, accepted data, and fresh batches of other rows;
- `faults`: what goes wrong with data, one kind at a time;
- `detectors`: nammd and its peers, each asked in one way;
- `scoring`: every detector on every batch, and the rates that come of it;
- `pages`: the tables of the documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from benchmarks.results import Measurement
from benchmarks.scale import Scale


def measure(scale: Scale) -> Iterator[Measurement]:
    """Yield the figures of every detector that is installed, over all tables that are installed."""
    if find_spec("pandas") is None:
        yield Measurement("real tables", None, "%", skipped="pandas is not installed")
        return
    from benchmarks.real_tables.figures import figures  # it imports pandas, which other topics do not need

    yield from figures(scale)
