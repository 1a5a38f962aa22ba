"""Sketches as files: a NumPy archive of plain arrays, with a description that is checked when it is read."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.encoding.noticed import Noticed
from nammd.errors.addresses import shown
from nammd.errors.seal import ROOM, require_seal, require_version, sealed
from nammd.errors.seal_key import current_key
from nammd.errors.stored import Stored
from nammd.errors.writing import write_bytes
from nammd.kernels import RandomFeatures
from nammd.kernels.operations import from_dict, to_dict
from nammd.sketches.group_totals import SketchUnits, Trace
from nammd.sketches.options import features_at
from nammd.sketches.sketch import Sketch
from nammd.statistics.scales import SCALES
from nammd.statistics.totals import MORE, UnitTotals
from nammd.views.counts import Counts
from nammd.views.serial import counts_to_dict, read_counts, read_units, units_to_dict

VERSION, GROUPED, PLAIN = 3, 2, 1
"""Of sketches with several scales, of others with groups, and of others; each is written as it always was."""

_DESCRIPTION = "nammd-sketch"
_SUMS = [("total", "products"), *((f"total-{k}", f"products-{k}") for k in range(1, len(SCALES)))]
"""The names of the sums at each scale."""
_ARRAYS = ("tally", "trace", "group_tally", *(name for names in _SUMS for name in names))
_PROBES = 16
_LARGEST = 1e60
"""Sums of features are of the size of a number of rows."""
_MOST_NUMBERS = 1 << 30
"""So many numbers the frequencies of a sketch are at most."""
_ARCHIVE = b"PK"
_LOOK = 128
"""So many bytes hold the name of the first entry, the description."""


def write(sketch: Sketch, path: Path) -> Path:
    """Write a sketch; the file is complete or not there at all."""
    write_bytes(path, dumps(sketch, current_key()))
    return path


def dumps(sketch: Sketch, key: bytes | None = None) -> bytes:
    """Return what the file of a sketch holds."""
    description: dict[str, Any] = {
        "version": VERSION if sketch.finer else PLAIN if sketch.units is None else GROUPED,
        "n": sketch.n,
        "columns": sketch.n_columns,
        "encoding": sketch.encoding,
        "features": to_dict(sketch.features),
        "frequencies": _probe(sketch.features, sketch.n_columns).tolist(),
    }
    noticed = sketch.noticed.to_dict()
    if noticed:
        description["noticed"] = noticed
    if sketch.finer:
        description["scales"] = sketch.scales
    more: dict[str, Any] = {}
    if sketch.units is not None:
        description["groups"], more = _units_to_file(sketch.units)
    arrays: dict[str, Any] = {_DESCRIPTION: np.frombuffer(json.dumps(description).encode(), np.uint8)}
    for (total, products), each in zip(_SUMS, (sketch, *sketch.finer), strict=False):
        sums = each if each.units is None else each.units.totals
        arrays[total] = sums.total
        arrays[products] = sums.products[np.triu_indices(len(sums.total))]  # symmetric: half says all
    arrays |= more
    if sketch.tally is not None:
        tally = {name: counts_to_dict(counts) for name, counts in sketch.tally.items()}
        arrays["tally"] = np.frombuffer(json.dumps(tally).encode(), np.uint8)
    return archived(arrays, key)


def archived(arrays: dict[str, Any], key: bytes | None = None) -> bytes:
    """Return a sealed archive of arrays."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in arrays.items():
            # Not by np.savez: before NumPy 2.2 it cannot be told to refuse what would have to be pickled.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)
        archive.comment = ROOM.encode()
    return sealed(content.getvalue(), key)


def is_sketch_file(path: Path) -> bool:
    """Tell whether a file is a sketch, by its content."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{_DESCRIPTION}.npy" in archive.namelist()
    except (OSError, ValueError, RuntimeError, struct.error, zipfile.BadZipFile):  # names that are no text
        return False


def is_broken_sketch(path: Path) -> bool:
    """Tell whether a file was meant to be a sketch and is none: damaged, or not completely written or copied.

    It has the name of one, and either begins like an archive or holds nothing; or it is the beginning of one
    under another name.
    """
    if not path.is_file() or is_sketch_file(path):
        return False
    with path.open("rb") as file:
        begins = file.read(_LOOK)
    if path.suffix == ".sketch":
        return not begins or begins.startswith(_ARCHIVE)
    return begins.startswith(_ARCHIVE) and _DESCRIPTION.encode() in begins


def read(path: Path) -> Sketch:
    """Read a sketch, or say in a sentence what is wrong with the file."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no sketch file {shown(path)}")
    if is_broken_sketch(path):
        raise ValueError(f"{path} is a damaged or incomplete sketch; copy it again, or make it anew")
    if not is_sketch_file(path):
        raise ValueError(f"{path} is not a sketch file written by nammd")
    return loads(path.read_bytes(), f"the sketch file {path}", current_key())


def loads(content: bytes, what: str, key: bytes | None = None) -> Sketch:
    """Return the sketch in what a file holds; `what` is for messages."""
    require_seal(content, what, "copy it again, or make it anew", key)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            description = json.loads(archive[_DESCRIPTION].tobytes())
            arrays = {name: archive[name] for name in _ARRAYS if name in archive}
    except _UNREADABLE:  # whose own words would mislead: of passwords, pickles and headers
        raise ValueError(
            f"{what} is damaged: its content cannot be read; copy it again, or make it anew"
        ) from None
    version = description.get("version") if isinstance(description, dict) else None
    require_version(version, VERSION, what, "make it anew")
    try:
        return _restored(Stored(description), arrays)
    except ValueError as error:
        raise ValueError(f"{what} is damaged: {str(error)[:300]}") from None


_UNREADABLE = (
    *(TypeError, ValueError, AttributeError, KeyError, EOFError, OSError, zipfile.BadZipFile, zlib.error),
    # A wrong bit in an archive may ask for a password, or for a compression that nobody knows; and one in the
    # header of an array may be no Python, or more numbers than fit into memory.
    *(RuntimeError, SyntaxError, OverflowError, MemoryError, struct.error),
)


def _units_to_file(units: SketchUnits) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the description of groups, and the arrays that come with it."""
    described = {
        "count": units.count,
        "by": units.by,
        "weights_by": units.weights_by,
        "split": units.split,
        "traced_below": units.trace.below,
    }
    arrays: dict[str, Any] = {"trace": units.trace.hashes}
    if units.columns is not None:
        columns = {name: units_to_dict(each) for name, each in units.columns.items()}
        arrays["group_tally"] = np.frombuffer(json.dumps(columns).encode(), np.uint8)
    return described, arrays


def _read_units(
    stored: Stored,
    arrays: dict[str, Any],
    total: FloatArray,
    products: FloatArray,
    size: tuple[int, float],
) -> SketchUnits:
    count = stored["count"].whole(1)
    split, below = stored["split"].whole(0, count - 1), stored["traced_below"].number(1, 2.0**64)
    trace = _array(arrays, "trace", np.dtype(np.uint64))
    if not (np.diff(trace.astype(np.float64)) >= 0).all() or len(np.unique(trace)) < len(trace):
        raise ValueError("trace must hold numbers in ascending order")
    totals = UnitTotals(count, total, products)
    try:
        totals.require_sound(*size)
    except ValueError as error:
        raise ValueError(f"products: {error}") from None
    said = stored["by"].text(), stored["weights_by"].text()
    if not said[1] and abs(totals.size - size[0]) > 1e-6 * size[0]:
        raise ValueError("total: its sums do not belong to its number of rows")
    return SketchUnits(totals, *said, Trace(trace, below), split)


def _restored(stored: Stored, arrays: dict[str, Any]) -> Sketch:
    grouped, scaled = "groups" in stored, "scales" in stored
    if stored["version"].value != (VERSION if scaled else GROUPED if grouped else PLAIN):
        raise stored["version"].wrong("that of its content")
    if scaled and stored["scales"].value != list(SCALES):
        raise stored["scales"].wrong(str(list(SCALES)))
    features = from_dict(stored["features"])
    if not isinstance(features, RandomFeatures):
        raise stored["features"].wrong("random features")
    columns = stored["columns"].whole(1, _MOST_NUMBERS // features.n_features)
    try:
        probe = _probe(features, columns)
    except ValueError as error:
        raise ValueError(f"features: {error}") from None
    if not np.allclose(probe, stored["frequencies"].numbers(len(probe)), rtol=1e-9, atol=0):
        raise ValueError("frequencies are not those that this version of nammd makes of their seed")
    every = features_at(features, "all" if scaled else "median")
    main, *finer = (_at_scale(each, names, stored, arrays) for each, names in zip(every, _SUMS, strict=False))
    if main.units is not None and "group_tally" in arrays:
        told = {name: read_units(each) for name, each in _document(arrays, "group_tally").fields().items()}
        main.units = replace(main.units, columns=told)
    noticed = Noticed.read(stored["noticed"]) if "noticed" in stored else Noticed()
    return replace(main, noticed=noticed, finer=tuple(finer), tally=_tally(arrays, main.n))


def _array(arrays: dict[str, Any], name: str, dtype: Any, size: int | None = None) -> Any:
    """Return an array of the archive, if it is what it must be."""
    if name not in arrays:
        raise ValueError(f"{name!r} is missing")
    found = arrays[name]
    if found.dtype != dtype or found.ndim != 1 or (size is not None and len(found) != size):
        many = "" if size is None else f"{size} "
        raise ValueError(f"{name} must be {many}numbers in {dtype}, not {found.shape} in {found.dtype}")
    return found


def _document(arrays: dict[str, Any], name: str) -> Stored:
    """Return a text of the archive as plain values."""
    try:
        return Stored(json.loads(_array(arrays, name, np.dtype(np.uint8)).tobytes()), name)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not valid JSON ({error})") from None


def _at_scale(
    features: RandomFeatures, names: tuple[str, str], stored: Stored, arrays: dict[str, Any]
) -> Sketch:
    """Return the sketch at one scale from its sums, after checking them."""
    n, columns, encoding = stored["n"].whole(1), stored["columns"].whole(1), stored["encoding"].text()
    grouped = "groups" in stored
    size = features.n_features + (MORE if grouped else 0)
    total = _array(arrays, names[0], np.dtype(np.float64), size)
    upper = _array(arrays, names[1], np.dtype(np.float64), size * (size + 1) // 2)
    for name, values in zip(names, (total, upper), strict=True):
        if not np.abs(values).max() <= _LARGEST:  # NaN neither
            raise ValueError(f"{name} contains NaN or infinity, or numbers that are too large")
    products = np.zeros((size, size))
    products[np.triu_indices(size)] = upper
    products += np.triu(products, 1).T
    if grouped:
        units = _read_units(stored["groups"], arrays, total, products, (n, features.bound))
        sums = units.totals.features, units.totals.gram
        _require_gram(names, *sums, units.totals.squares * features.bound)
        return Sketch(features, n, columns, *sums, encoding, units=units)
    # The features of a row have a fixed length, so the trace counts the rows.
    if abs(np.trace(products) - n * features.bound) > 1e-4 * n * features.bound:
        raise ValueError(f"{names[1]}: its sums do not belong to its number of rows, which is n")
    _require_gram(names, total / np.sqrt(n), products, n * features.bound)
    return Sketch(features, n, columns, total, products, encoding)


def _require_gram(names: tuple[str, str], total: FloatArray, products: FloatArray, trace: float) -> None:
    """Refuse products that no features have: a matrix with negative eigenvalues."""
    if np.linalg.eigvalsh(products)[0] < -1e-6 * trace:
        raise ValueError(f"{names[1]} must be a matrix without negative eigenvalues")


def _tally(arrays: dict[str, Any], rows: int) -> dict[str, Counts] | None:
    if "tally" not in arrays:
        return None
    stored = _document(arrays, "tally").fields()
    found = {name: read_counts(each) for name, each in stored.items()}
    for name, counts in found.items():
        if counts.size != rows:
            raise stored[name].wrong(f"counts of {rows} rows, as many as n says")
    return found


def _probe(features: RandomFeatures, columns: int) -> FloatArray:
    """Return some of the frequencies, spread over all of them."""
    frequencies = features.frequencies(columns).ravel()
    return frequencies[:: max(1, len(frequencies) // _PROBES)][:_PROBES]
