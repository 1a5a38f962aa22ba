"""The batches of a stream as a table of whichever library."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from nammd.errors.checks import choice
from nammd.monitor.keys import time_of
from nammd.monitor.state import State

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]


def table_of(state: State, backend: Backend | None) -> Any:
    """Return the batches in the order of the stream, one row for each."""
    if backend is None:
        found = (name for name in get_args(Backend) if importlib.util.find_spec(name) is not None)
        backend = next(found, None)
        if backend is None:
            raise ImportError("a table needs pandas, polars or pyarrow; install one of them")
    choice(backend, "backend", get_args(Backend))
    import narwhals as nw

    columns = columns_of(state)
    return nw.from_dict(columns, schema=_schema(columns, nw), backend=backend).to_native()


def columns_of(state: State) -> dict[str, list[Any]]:
    """Return what the table holds, column by column."""
    told = state.told
    batches = [each.batch for each in told]
    found: dict[str, list[Any]] = {
        "key": [b.key for b in batches],
        "time": [time_of(b.key) for b in batches],
        "decision": [each.decision.value for each in told],
        "level": [each.level for each in told],
    }
    for name in (
        "distance",
        "low",
        "high",
        "epsilon",
        "pvalue_close",
        "pvalue_far",
        "u",
        "deviation",
        "share",
    ):
        found[name] = [getattr(b, name) for b in batches]
    found |= {
        "evidence": [float(np.exp(min(each.evidence, 700.0))) for each in told],
        "mean": [each.mean for each in told],
        "mean_low": [each.mean_low for each in told],
        "mean_high": [each.mean_high for each in told],
        "reference_rows": [b.m for b in batches],
        "rows": [b.n for b in batches],
        "columns": ["; ".join(moved.words for moved in b.columns if moved.words) for b in batches],
        "cautions": ["; ".join(code for code, _ in b.cautions) for b in batches],
        "source": [b.source for b in batches],
        "report": [b.report for b in batches],
        "added": [b.added for b in batches],
        "digest": [b.digest for b in batches],
    }
    return found


_TEXT = ("key", "decision", "columns", "cautions", "source", "report", "added", "digest")


def _schema(names: Iterable[str], nw: Any) -> dict[str, Any]:
    """Return the types of the columns, which an empty table would not tell."""
    kinds: dict[str, Any] = {name: nw.String if name in _TEXT else nw.Float64 for name in names}
    return kinds | {"time": nw.Datetime("us"), "reference_rows": nw.Int64, "rows": nw.Int64}
