"""Sketches as files: a NumPy archive of plain arrays, with a description that is checked when it is read."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from nammd._arrays import FloatArray
from nammd.files import write_bytes
from nammd.kernels import RandomFeatures
from nammd.kernels.storage import kernel_from_dict, kernel_to_dict
from nammd.sketches.summary import Sketch

VERSION = 1
_DESCRIPTION = "nammd-sketch"
_PROBES = 16


def write(sketch: Sketch, path: Path) -> Path:
    """Write a sketch; the file is complete or not there at all."""
    description = {
        "version": VERSION,
        "n": sketch.n,
        "columns": sketch.columns,
        "encoding": sketch.encoding,
        "features": kernel_to_dict(sketch.features),
        "frequencies": _probe(sketch.features, sketch.columns).tolist(),
    }
    upper = np.triu_indices(len(sketch.total))
    content = io.BytesIO()
    arrays: dict[str, Any] = {
        _DESCRIPTION: np.frombuffer(json.dumps(description).encode(), np.uint8),
        "total": sketch.total,
        "products": sketch.products[upper],  # symmetric: half says all
    }
    np.savez(content, allow_pickle=False, **arrays)
    write_bytes(path, content.getvalue())
    return path


def is_sketch_file(path: Path) -> bool:
    """Tell whether a file is a sketch, by its content."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{_DESCRIPTION}.npy" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read(path: Path) -> Sketch:
    """Read a sketch, or say in a sentence what is wrong with the file."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no sketch file {path}")
    if not is_sketch_file(path):
        raise ValueError(f"{path} is not a sketch file written by nammd")
    try:
        with np.load(path, allow_pickle=False) as archive:
            description = json.loads(archive[_DESCRIPTION].tobytes())
            version = description["version"]
            if not isinstance(version, int) or version > VERSION:
                raise _Newer(
                    f"{path} was written by a newer nammd (file version {version}, this one reads up to "
                    f"{VERSION}); upgrade nammd to use it"
                )
            return _restored(description, archive["total"], archive["products"])
    except _Newer as error:
        raise ValueError(str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError, EOFError, OSError, zipfile.BadZipFile) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"the sketch file {path} is damaged: {what}") from None


class _Newer(Exception):
    """The file is fine, and of a later version."""


def _restored(description: dict[str, Any], total: FloatArray, upper: FloatArray) -> Sketch:
    features = kernel_from_dict(description["features"])
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
    size = features.n_features
    if total.shape != (size,) or upper.shape != (size * (size + 1) // 2,):
        raise ValueError(f"its sums are not those of {size} features")
    if total.dtype != np.float64 or upper.dtype != np.float64:
        raise ValueError("its sums are not float64 numbers")
    if not (np.isfinite(total).all() and np.isfinite(upper).all()):
        raise ValueError("its sums contain NaN or infinity")
    products = np.zeros((size, size))
    products[np.triu_indices(size)] = upper
    products += np.triu(products, 1).T
    # The features of a row have a fixed length, so the trace counts the rows.
    if abs(np.trace(products) - n * features.bound) > 1e-4 * n * features.bound:
        raise ValueError("its sums do not belong to its number of rows")
    return Sketch(features, n, columns, total, products, encoding)


def _probe(features: RandomFeatures, columns: int) -> FloatArray:
    """Return some of the frequencies, spread over all of them."""
    frequencies = features.frequencies(columns).ravel()
    return frequencies[:: max(1, len(frequencies) // _PROBES)][:_PROBES]
