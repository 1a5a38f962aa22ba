"""What can be asked of a history without changing it, also as a table: what `Monitor` only reads."""

from __future__ import annotations

import datetime
import importlib.util
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from nammd.errors.checks import choice
from nammd.errors.seal_key import current_key
from nammd.monitor.history import History
from nammd.monitor.keys import time_of
from nammd.monitor.pooling import Window, pooled
from nammd.monitor.state import State, state_of
from nammd.sketches import file as sketch_file
from nammd.tolerances.file import loads
from nammd.tolerances.tolerance import Tolerance


class HistoryView:
    """A history, to be looked at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._history = History(path, current_key())

    @property
    def state(self) -> State:
        """The state of the stream, worked out from the batches that there are now.

        As of the last batch: the same at any time. Whether batches are late says `state_at`.
        """
        return state_of(self._history.read())

    def state_at(self, now: datetime.datetime | None = None) -> State:
        """Return the state of the stream at some time, which knows of batches that are late.

        Parameters
        ----------
        now : datetime, optional
            The time; by default that of this computer. Without a zone it is universal time.

        Returns
        -------
        State
        """
        return state_of(self._history.read(), clock() if now is None else now)

    @property
    def version(self) -> str:
        """A text that is another one after every change of the history; it is quick to ask for."""
        return self._history.version()

    @property
    def reference_rows(self) -> int:
        """How many rows the reference has."""
        seen = self._history.read()
        return seen.references[seen.eras[-1].reference - 1].rows

    @property
    def tolerance(self) -> Tolerance:
        """What close enough means now."""
        return loads(self._history.read().eras[-1].tolerance.encode(), self.path)

    def tolerance_errors(self) -> dict[int, float]:
        """Return the standard errors of the tolerances that there have been, by the numbers of their eras."""
        eras = self._history.read().eras
        return {era.number: loads(era.tolerance.encode(), self.path).epsilon_error for era in eras}

    def history(self, backend: Backend | None = None) -> Any:
        """Return the batches as a table, in the order of the stream.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Whose table; by default the first of these that is installed.

        Returns
        -------
        table
        """
        return table_of(self.state, backend)

    def pooled(self) -> tuple[Window, ...]:
        """Return the distances of the last 7, 30 and 90 days, each taken together.

        Returns
        -------
        tuple of Window
            Empty where the tolerance has no random features and the reference is no sketch: nothing is kept
            of the rows of earlier batches then.
        """
        era = self._history.read().eras[-1]
        reference, sums = self._history.sums(era)
        if reference is None or not sums:
            return ()
        what = f"the sums in the monitor {self.path}"
        sketches = {key: sketch_file.loads(content, what) for key, content in sums.items()}
        limit = loads(era.tolerance.encode(), self.path)
        return pooled(limit, sketch_file.loads(reference, what), sketches)

    def page(self, path: str | Path, *, now: datetime.datetime | None = None) -> Path:
        """Write a page about the stream: one HTML file that needs nothing else.

        Parameters
        ----------
        path : str or Path
            The file to write; it is replaced if it is there.
        now : datetime, optional
            The time; by default that of this computer.

        Returns
        -------
        Path
            The file.
        """
        from nammd.monitor.page import write_page

        return write_page(self.state_at(now), Path(path), self.tolerance_errors(), self.pooled())

    def __str__(self) -> str:
        state = self.state
        return f"{state.title}: {state.headline()}"


def clock() -> datetime.datetime:
    """Return the time of this computer."""
    return datetime.datetime.now(datetime.UTC)


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
        "word": [each.word for each in told],
        "proven": [each.side for each in told],
        "together": [each.by for each in told],
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
        "cautions": ["; ".join(code for code, _ in (*b.facts, *b.cautions)) for b in batches],
        "like": [json.dumps(b.settings.get("like", {})) for b in batches],
        "source": [b.source for b in batches],
        "report": [b.report for b in batches],
        "added": [b.added for b in batches],
        "digest": [b.digest for b in batches],
    }
    return found


_TEXT = (
    "key",
    "decision",
    "word",
    "proven",
    "columns",
    "cautions",
    "like",
    "source",
    "report",
    "added",
    "digest",
)


def _schema(names: Iterable[str], nw: Any) -> dict[str, Any]:
    """Return the types of the columns, which an empty table would not tell."""
    kinds: dict[str, Any] = {name: nw.String if name in _TEXT else nw.Float64 for name in names}
    whole = dict.fromkeys(("reference_rows", "rows", "together"), nw.Int64)
    return kinds | {"time": nw.Datetime("us")} | whole
