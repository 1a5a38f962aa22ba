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
from nammd.errors.writing import write_bytes
from nammd.kernels import RandomFeatures
from nammd.kernels.operations import from_dict, to_dict
from nammd.sketches.group_totals import SketchUnits, Trace
from nammd.sketches.options import features_at
from nammd.sketches.sketch import Sketch
from nammd.statistics.scales import SCALES
from nammd.statistics.totals import MORE, UnitTotals
from nammd.views.counts import Counts
from nammd.views.serial import counts_from_dict, counts_to_dict, units_from_dict, units_to_dict

VERSION, GROUPED, PLAIN = 3, 2, 1
"""Of sketches with several scales, of others with groups, and of others; each is written as it always was."""

_DESCRIPTION = "nammd-sketch"
_SUMS = [("total", "products"), *((f"total-{k}", f"products-{k}") for k in range(1, len(SCALES)))]
"""The names of the sums at each scale."""
_ARRAYS = ("tally", "trace", "group_tally", *(name for names in _SUMS for name in names))
_PROBES = 16
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
        "columns": sketch.columns,
        "encoding": sketch.encoding,
        "features": to_dict(sketch.features),
        "frequencies": _probe(sketch.features, sketch.columns).tolist(),
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
    np.savez(content, allow_pickle=False, **arrays)
    with zipfile.ZipFile(content, "a") as archive:
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
    try:
        version = description["version"]
    except (KeyError, TypeError):
        version = None
    require_version(version, VERSION, what, "make it anew")
    try:
        sketch = _restored(description, arrays)
        sketch.tally = _tally(arrays.get("tally"), sketch.n)
        return sketch
    except KeyError as error:
        raise ValueError(f"{what} is damaged: {error.args[0]!r} is missing") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
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


def _units_from_file(
    stored: dict[str, Any],
    arrays: dict[str, Any],
    total: FloatArray,
    products: FloatArray,
    size: tuple[int, float],
) -> SketchUnits:
    count, split, below = stored["count"], stored["split"], float(stored["traced_below"])
    trace = arrays["trace"]
    if trace.dtype != np.uint64 or trace.ndim != 1 or not (np.diff(trace) > 0).all():
        raise ValueError("its trace of groups is not one")
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in (count, split)):
        raise ValueError("its numbers of groups are not whole numbers")
    if not 0 <= split < count or not 0 < below <= 2.0**64:
        raise ValueError("its numbers of groups are not valid")
    totals = UnitTotals(count, total, products)
    totals.require_sound(*size)
    said = str(stored["by"]), str(stored["weights_by"])
    if not said[1] and abs(totals.size - size[0]) > 1e-6 * size[0]:
        raise ValueError("its sums do not belong to its number of rows")
    return SketchUnits(totals, *said, Trace(trace, below), split)


def _restored(description: dict[str, Any], arrays: dict[str, Any]) -> Sketch:
    grouped, scaled = "groups" in description, "scales" in description
    if description["version"] != (VERSION if scaled else GROUPED if grouped else PLAIN):
        raise ValueError("its version is not that of its content")
    if scaled and description["scales"] != list(SCALES):
        raise ValueError("its scales are not those of a sketch")
    features = from_dict(description["features"])
    if not isinstance(features, RandomFeatures):
        raise ValueError("its kernel is not one of random features")
    n, columns, encoding = (description[name] for name in ("n", "columns", "encoding"))
    for name, value in (("n", n), ("columns", columns)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} is {value!r}, not a whole number of at least 1")
    if not isinstance(encoding, str):
        raise ValueError("the digest of the encoding is not text")
    if not np.allclose(_probe(features, columns), description["frequencies"], rtol=1e-9, atol=0):
        raise ValueError("its frequencies are not those that this version of nammd makes of their seed")
    every = features_at(features, "all" if scaled else "median")
    main, *finer = (
        _at_scale(each, arrays[total], arrays[products], description, arrays)
        for each, (total, products) in zip(every, _SUMS, strict=False)
    )
    if main.units is not None and "group_tally" in arrays:
        columns_alone = json.loads(arrays["group_tally"].tobytes())
        told = {str(name): units_from_dict(each) for name, each in columns_alone.items()}
        main.units = replace(main.units, columns=told)
    noticed = Noticed.from_dict(description.get("noticed", {}))
    return replace(main, noticed=noticed, finer=tuple(finer))


def _at_scale(
    features: RandomFeatures,
    total: FloatArray,
    upper: FloatArray,
    description: dict[str, Any],
    arrays: dict[str, Any],
) -> Sketch:
    """Return the sketch at one scale from its sums, after checking them."""
    n, columns, encoding = (description[name] for name in ("n", "columns", "encoding"))
    groups = description.get("groups")
    size = features.n_features + (0 if groups is None else MORE)
    if total.shape != (size,) or upper.shape != (size * (size + 1) // 2,):
        raise ValueError(f"its sums are not those of {features.n_features} features")
    if total.dtype != np.float64 or upper.dtype != np.float64:
        raise ValueError("its sums are not float64 numbers")
    if not (np.isfinite(total).all() and np.isfinite(upper).all()):
        raise ValueError("its sums contain NaN or infinity")
    products = np.zeros((size, size))
    products[np.triu_indices(size)] = upper
    products += np.triu(products, 1).T
    if groups is not None:
        units = _units_from_file(groups, arrays, total, products, (n, features.bound))
        sums = units.totals.features, units.totals.gram
        return Sketch(features, n, columns, *sums, encoding, units=units)
    # The features of a row have a fixed length, so the trace counts the rows.
    if abs(np.trace(products) - n * features.bound) > 1e-4 * n * features.bound:
        raise ValueError("its sums do not belong to its number of rows")
    return Sketch(features, n, columns, total, products, encoding)


def _tally(stored: Any, rows: int) -> dict[str, Counts] | None:
    if stored is None:
        return None
    found = {str(name): counts_from_dict(each) for name, each in json.loads(stored.tobytes()).items()}
    for name, counts in found.items():
        if counts.size != rows:
            raise ValueError(f"the counts of its column {name!r} are not of as many rows")
    return found


def _probe(features: RandomFeatures, columns: int) -> FloatArray:
    """Return some of the frequencies, spread over all of them."""
    frequencies = features.frequencies(columns).ravel()
    return frequencies[:: max(1, len(frequencies) // _PROBES)][:_PROBES]
