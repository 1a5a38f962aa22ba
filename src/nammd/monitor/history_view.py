"""What can be asked of a history without changing it: the part of `Monitor` that only reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nammd.monitor.history import History
from nammd.monitor.pooling import Window, pooled
from nammd.monitor.state import State, state_of
from nammd.monitor.storage import sketch_from
from nammd.monitor.table import Backend, table_of
from nammd.tolerances.file import loads
from nammd.tolerances.tolerance import Tolerance


class Looking:
    """A history, to be looked at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._history = History(path)

    @property
    def state(self) -> State:
        """The state of the stream, worked out from the batches that there are now."""
        return state_of(self._history.read())

    @property
    def version(self) -> str:
        """A text that is another one after every change of the history; it is quick to ask for."""
        return self._history.version()

    @property
    def reference_rows(self) -> int:
        """How many rows the reference has."""
        return self._history.reference(self._history.read().eras[-1].reference)[0].rows

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
        sketches = {key: sketch_from(content) for key, content in sums.items()}
        return pooled(loads(era.tolerance.encode(), self.path), sketch_from(reference), sketches)

    def page(self, path: str | Path) -> Path:
        """Write a page about the stream: one HTML file that needs nothing else.

        Parameters
        ----------
        path : str or Path
            The file to write; it is replaced if it is there.

        Returns
        -------
        Path
            The file.
        """
        from nammd.monitor.page import write_page

        return write_page(self.state, Path(path), self.tolerance_errors(), self.pooled())

    def __str__(self) -> str:
        state = self.state
        return f"{state.title}: {state.headline()}"
