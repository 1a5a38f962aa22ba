"""A reference inside a history, so that nothing else is needed beside the file, and the gate made of it.

Tables are kept as Arrow, arrays as NumPy has them, sketches as their files. What is too large, or lies on a
cluster, is left where it is: of a file the path is kept, of anything else nothing, and it is given again
with every batch.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from nammd.data.arrays import to_numpy
from nammd.data.dataset import Dataset
from nammd.data.opening import open_content, open_dataset
from nammd.engines import Engine
from nammd.errors.addresses import shown
from nammd.errors.advice import Advice, refusal
from nammd.monitor.history import History
from nammd.monitor.pooling import sums_of
from nammd.monitor.records import Era, Kept
from nammd.monitor.replay import Snapshot
from nammd.reading.places import split_sheet
from nammd.reading.text_formats.options import Reading
from nammd.sketches import file as sketch_file
from nammd.tolerances.file import loads
from nammd.tolerances.gate import Gate
from nammd.tolerances.tolerance import Tolerance

LARGEST = 256 * 2**20
"""Bytes up to which a reference is kept inside."""


def source_name(dataset: Dataset, otherwise: str | None = None) -> str:
    """Return the name of the file that a dataset came from, or its address without passwords."""
    if dataset.source is None:
        return dataset.name if otherwise is None else otherwise
    place = dataset.source.path
    return place.name if isinstance(place, Path) else shown(place)


def source_path(dataset: Dataset) -> str:
    """Return the path of the file that a dataset came from; an address may hold a password: not kept."""
    place = None if dataset.source is None else dataset.source.path
    return str(place.resolve()) if isinstance(place, Path) else ""


def packed(dataset: Dataset, rows: int, digest: str, largest: int = LARGEST) -> tuple[Kept, bytes]:
    """Return a reference as it is to be kept, with its content."""
    path = source_path(dataset)
    name = source_name(dataset)
    kind, content = ("elsewhere", b"") if dataset.on_cluster else _content(dataset)
    if len(content) > largest:
        kind, content = "elsewhere", b""
    if kind == "elsewhere" and path:
        kind = "file"
    return Kept(name, rows, digest, kind, path), content


def unpacked(kept: Kept, content: bytes, reading: Reading | None = None) -> Dataset:
    """Return the reference again, or say what is to be done where it is not inside."""
    try:
        return _unpacked(kept, content, reading)
    except EOFError:  # NumPy's, of an array without a header
        raise ValueError(
            f"the reference {kept.name!r} in the monitor is damaged: its content ends early"
        ) from None


def _unpacked(kept: Kept, content: bytes, reading: Reading | None) -> Dataset:
    if kept.kind in ("table", "column"):
        import pyarrow as pa

        with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
            table = reader.read_all()
        return open_content(table if kept.kind == "table" else table.column(0), kept.name)
    if kept.kind == "array":
        return open_content(np.load(io.BytesIO(content), allow_pickle=False), kept.name)
    if kept.kind == "sketch":
        return open_content(sketch_file.loads(content, "the reference"), kept.name)
    if kept.kind == "file" and Path(split_sheet(kept.path)[0]).exists():
        return open_dataset(kept.path, kept.name, reading=reading)
    where = f", {kept.path}," if kept.path else ""
    raise refusal(
        FileNotFoundError,
        f"the reference{where} is not kept in the monitor and is not there",
        Advice("give it with Monitor.open(path, reference=...)", "give it with --reference FILE"),
    )


def _content(dataset: Dataset) -> tuple[str, bytes]:
    if dataset.summary is not None:
        return "sketch", sketch_file.dumps(dataset.summary)
    if dataset.frame is not None:
        return "column" if dataset.one_column else "table", _arrow_bytes(dataset.frame.to_arrow())
    content = io.BytesIO()
    np.save(content, to_numpy(dataset.array), allow_pickle=False)
    return "array", content.getvalue()


def _arrow_bytes(table: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


class CurrentGate:
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

    def load(self, history: History, seen: Snapshot, engine: Engine | None) -> tuple[Era, Gate]:
        """Return the present era and its gate; the reference is read and summed once."""
        era = seen.eras[-1]
        if self.gate is None or self.gate[0] != era.number:
            kept = seen.references[era.reference - 1]
            inside = self.given is None and kept.content
            content = history.contents(kept.content)[kept.content] if inside else b""
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
    return b"" if sums is None else sketch_file.dumps(sums)
