"""Holding batches against something else from here on: another tolerance or reference, or more accepted data.

Of batches only numbers are kept, not rows. So what is to be accepted is given again, or read from the file
that it came from; that it is the same shows its digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nammd.data.dataset import Dataset
from nammd.errors.advice import Advice, refusal
from nammd.errors.naming import listed
from nammd.monitor.history import Writer
from nammd.monitor.keys import as_key
from nammd.monitor.measuring import open_batch
from nammd.monitor.replay import Snapshot
from nammd.monitor.state import state_of
from nammd.monitor.storage import packed_reference, reference_sums
from nammd.monitor.words import closed_words
from nammd.reading.places import split_sheet
from nammd.tolerances.file import dumps
from nammd.tolerances.gate import Gate
from nammd.tolerances.tolerance import Tolerance


@dataclass(frozen=True)
class NewEra:
    """What batches are to be held against, ready to be written in one transaction."""

    gate: Gate
    dataset: Dataset
    events: tuple[tuple[Any, str], ...]
    acknowledging: str | None = None

    def begin(self, writer: Writer, at: str) -> int:
        """Write it; return the number of the era."""
        seen = writer.read()
        for alarm in state_of(seen).open_alarms:
            if not alarm.of_data:
                continue
            if self.acknowledging is not None and not alarm.acknowledged:
                writer.event(at, "acknowledged", alarm.opened, alarm.cause, self.acknowledging)
            over = closed_words(replace(alarm, by="change"))
            writer.event(at, "alarm closed", alarm.opened, alarm.cause, over)
        kept, content = packed_reference(self.gate, self.dataset)
        # Its digest and its sums are those of the new space.
        number = writer.keep(kept, content, reference_sums(self.gate))
        last = _last(seen)
        for kind, words in self.events:
            writer.event(at, kind, text=f"{words} {last}")
        return writer.begin_era(at, dumps(self.gate.tolerance).decode(), number)


def _last(seen: Snapshot) -> str:
    """Say from where on what is new holds."""
    told = state_of(seen).told
    if not told:
        return "It holds for every batch."
    key = told[-1].batch.key
    return f"It holds for what is added from now on; {key} is the last batch of before. Evidence starts anew."


def tolerance_words(before: Tolerance, after: Tolerance) -> str:
    """Say what is different about a tolerance."""
    known = () if before.accepted is None else before.accepted.labels
    more = [
        label for label in (() if after.accepted is None else after.accepted.labels) if label not in known
    ]
    if more and after.epsilon == before.epsilon:
        return f"Data like {listed(more)} are accepted."
    return f"The tolerance is {after.epsilon:.4g}; it was {before.epsilon:.4g}."


def named_data(seen: Snapshot, gate: Gate, what: Any, path: Path) -> dict[str, Any]:
    """Return the data that are to be accepted, by name; those of a batch must be its own.

    Parameters
    ----------
    seen : Snapshot
        The history.
    gate : Gate
        What batches are held against now.
    what : key, iterable of keys, or mapping of str to dataset
        Batches that have come, whose files are read again; or data by name.
    path : Path
        The file of the history.
    """
    if isinstance(what, Mapping):
        given = {as_key(name): data for name, data in what.items()}
    else:
        keys = what if isinstance(what, Iterable) and not isinstance(what, str) else [what]
        given = {name: _file_of(seen, name, path) for name in map(as_key, keys)}
    if not given:
        raise ValueError("what is to be accepted? name a batch, or give data")
    for name, data in given.items():
        batch = seen.batch(name)
        if batch is not None and batch.era == seen.eras[-1].number:
            digest = open_batch(gate, data, name).digest
            if digest != batch.digest:
                raise refusal(
                    ValueError,
                    f"these are not the data of the batch {name!r}: its rows were others",
                    Advice(
                        "give those, or another name", "give those with --file, or accept them without a KEY"
                    ),
                )
    return given


def _file_of(seen: Snapshot, key: str, path: Path) -> Path:
    """Return the file that a batch came from."""
    batch = seen.batch(key)
    if batch is None:
        raise ValueError(f"the monitor {path} has no batch {key!r}")
    where = batch.settings.get("path", "")
    if where and Path(split_sheet(where)[0]).exists():
        return Path(where)
    place = f", {where}," if where else ""
    raise refusal(
        FileNotFoundError,
        f"the rows of the batch {key!r} are not kept in the monitor, and its file{place} is not there",
        Advice(f"give them: accept({{{key!r}: data}}, why=...)", "give them with --file FILE"),
    )
