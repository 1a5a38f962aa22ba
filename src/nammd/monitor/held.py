"""What batches are held against: a tolerance with its reference, taken from a history when it is needed."""

from __future__ import annotations

from typing import Any

from nammd.data.opening import open_dataset
from nammd.engines import Engine
from nammd.monitor.history import History, Kept, Snapshot
from nammd.monitor.keeping import packed, sketch_bytes, unpacked
from nammd.monitor.pooling import sums_of
from nammd.monitor.records import Era
from nammd.tolerances.file import loads
from nammd.tolerances.gate import Gate
from nammd.tolerances.tolerance import Tolerance


class Held:
    """The gate of the present era; another process may have begun a new one.

    Attributes
    ----------
    given : dataset or None
        The reference, where it is not in the history.
    gate : tuple of (int, Gate) or None
        The number of an era, and its tolerance with its reference.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self.gate: tuple[int, Gate] | None = None

    def current(self, history: History, seen: Snapshot, engine: Engine | None) -> tuple[Era, Gate]:
        """Return the present era and its gate; the reference is read and summed once."""
        era = seen.eras[-1]
        if self.gate is None or self.gate[0] != era.number:
            kept, content = history.reference(era.reference)
            tolerance = loads(era.tolerance.encode(), history.path)
            reading = tolerance.space.encoding.for_files
            reference = unpacked(kept, content, reading) if self.given is None else self.given
            gate = gate_of(tolerance, reference, engine)
            if kept.digest and gate.reference.digest and kept.digest != gate.reference.digest:
                raise ValueError(
                    f"the reference is not the one that {history.path} was made with: its rows differ; to "
                    "compare with others from here on, use 'nammd monitor change' or Monitor.change"
                )
            self.gate = era.number, gate
        return era, self.gate[1]


def gate_of(tolerance: Tolerance, reference: Any, engine: Engine | None) -> Gate:
    """Return a tolerance with its reference."""
    known = tolerance.space.encoding.for_files
    return tolerance.with_reference(open_dataset(reference, "the reference", reading=known), engine=engine)


def packed_reference(gate: Gate) -> tuple[Kept, bytes]:
    """Return the reference as a history keeps it."""
    reference = gate.reference
    return packed(reference.dataset, reference.size, reference.digest or "")


def reference_sums(gate: Gate) -> bytes:
    """Return the sums of the reference; nothing where the tolerance has no features."""
    sums = sums_of(gate, gate.reference.dataset)
    return b"" if sums is None else sketch_bytes(sums)
