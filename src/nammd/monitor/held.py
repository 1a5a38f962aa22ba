"""What batches are held against: a tolerance with its reference, taken from a history when it is needed."""

from __future__ import annotations

from typing import Any

from nammd.data.dataset import Dataset
from nammd.data.opening import open_dataset
from nammd.engines import Engine
from nammd.monitor.history import History, Kept, Snapshot
from nammd.monitor.pooling import sums_of
from nammd.monitor.records import Era
from nammd.monitor.storage import packed, sketch_bytes, unpacked
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
    dataset : Dataset or None
        The reference, as it was opened.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self.gate: tuple[int, Gate] | None = None
        self.dataset: Dataset | None = None

    def current(self, history: History, seen: Snapshot, engine: Engine | None) -> tuple[Era, Gate]:
        """Return the present era and its gate; the reference is read and summed once."""
        era = seen.eras[-1]
        if self.gate is None or self.gate[0] != era.number:
            kept, content = history.reference(era.reference)
            tolerance = loads(era.tolerance.encode(), history.path)
            reading = tolerance.space.encoding.for_files
            reference = unpacked(kept, content, reading) if self.given is None else self.given
            self.dataset = opened_reference(tolerance, reference)
            gate = tolerance.with_reference(self.dataset, engine=engine)
            if kept.digest and gate.reference.digest and kept.digest != gate.reference.digest:
                raise ValueError(
                    f"the reference is not the one that {history.path} was made with: its rows differ; to "
                    "compare with others from here on, use 'nammd monitor change' or Monitor.change"
                )
            self.gate = era.number, gate
        return era, self.gate[1]


def opened_reference(tolerance: Tolerance, reference: Any) -> Dataset:
    """Return a reference that has been opened, as its tolerance reads files."""
    return open_dataset(reference, "the reference", reading=tolerance.space.encoding.for_files)


def packed_reference(gate: Gate, dataset: Dataset) -> tuple[Kept, bytes]:
    """Return the reference as a history keeps it: as it was opened, with columns that only group its rows."""
    reference = gate.reference
    return packed(dataset, reference.size, reference.digest or "")


def reference_sums(gate: Gate) -> bytes:
    """Return the sums of the reference; nothing where the tolerance has no features."""
    sums = sums_of(gate, gate.reference.dataset)
    return b"" if sums is None else sketch_bytes(sums)
