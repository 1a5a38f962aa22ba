"""Files of nammd's own that were edited and sealed anew, as if they were right.

Whoever edits a file with a tool of his own can seal it too. So a checksum says nothing about what the numbers
can be: every field is checked when it is read. A file that is read nevertheless is used as any other, and
whatever comes of that must be an answer that can be.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import io
import json
import math
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import nammd
from nammd.cli.errors import sentence
from nammd.errors.seal import ROOM, sealed
from nammd.sketches.file import archived
from tests.fuzz.mutate import mutated
from tests.fuzz.rules import Finding, Random, refusing

STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, -5, 3.5, 10**9, 10**30, 10**400, 0.0, -0.0, 0.5, 1e-320, 1e60, 1e308),
    *(
        -1e308,
        math.nan,
        math.inf,
        -math.inf,
        "",
        "x",
        "é",
        "\ud800",
        "\x1b[31m\u202e<b>::error::\x00",
        "nan",
        "AAAA",
        "gaussian",
        "numeric",
        "0",
        [],
        [[]],
    ),
    *({}, {"kind": "gaussian"}, [1, 2], ["a", "a"], "x" * 5000),
)

_KINDS = ("<f8", "<f4", "<i4", "<u4")


def edited(rng: Random, value: Any) -> Any:
    """Return plain data with something else in one place."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = str(rng.choice(list(value)))
        chance = rng.random()
        if chance < 0.04:
            return {k: v for k, v in value.items() if k != key}
        if chance < 0.06:
            return {k + "x" if k == key else k: v for k, v in value.items()}
        return value | {key: edited(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.95:
        place, chance = int(rng.integers(len(value))), rng.random()
        if chance < 0.05:
            return value[:place] + value[place + 1 :]
        if chance < 0.1:
            return [*value, value[place]]
        return [*value[:place], edited(rng, value[place]), *value[place + 1 :]]
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)) and rng.random() < 0.6:
        return _other_number(rng, value)
    if isinstance(value, str) and value and rng.random() < 0.7:
        return _other_text(rng, value)
    return STRANGE[int(rng.integers(len(STRANGE)))]


def _other_number(rng: Random, value: float) -> Any:
    change = int(rng.integers(7))
    if change == 0:
        return -value
    if change == 1:
        return value + int(rng.choice([-1, 1, 1000]))
    if change == 2:
        return str(value)
    with contextlib.suppress(OverflowError):
        return float(value) * float(rng.choice([1e-300, 1e300, 2.0, 0.5, 1e6, 1 + 1e-9]))
    return math.inf


def _other_text(rng: Random, text: str) -> str:
    """Return another text; of one that holds numbers, one with other numbers, or more or fewer of them."""
    for unzip, rezip in ((zlib.decompress, zlib.compress), (bytes, bytes)):
        try:
            content = unzip(base64.b64decode(text, validate=True))
        except (binascii.Error, zlib.error, ValueError):
            continue
        kinds = [kind for kind in _KINDS if content and len(content) % np.dtype(kind).itemsize == 0]
        if not kinds or (unzip is bytes and len(content) < 16) or rng.random() < 0.1:
            break
        numbers = np.frombuffer(content, str(rng.choice(kinds))).copy()
        change, place = rng.random(), int(rng.integers(len(numbers)))
        if change < 0.15:
            numbers = numbers[: int(rng.integers(len(numbers)))]
        elif change < 0.25:
            numbers = np.concatenate([numbers, numbers[: place + 1]])
        elif numbers.dtype.kind == "f":
            with np.errstate(all="ignore"):
                numbers[place] = rng.choice([np.nan, np.inf, -1.0, 0.0, 1e300, -numbers[place], 1e-300, 0.5])
        else:
            numbers[place] = rng.choice([0, 1, 2**31 - 1])
        return base64.b64encode(rezip(numbers.tobytes())).decode("ascii")
    return mutated(rng, text.encode(errors="surrogatepass")).decode("utf-8", "replace")


def _edits(rng: Random, value: Any) -> Any:
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        value = edited(rng, value)
    return value


def resealed(stored: Any) -> bytes:
    """Return plain data as the file of a tolerance, sealed."""
    stored = dict(stored) if isinstance(stored, dict) else {"": stored}
    stored.pop("checksum", None)
    return sealed(json.dumps(stored | {"checksum": ROOM}).encode())


# --- tolerances

ROWS = 48


def _table(seed: int, shift: float = 0.0) -> pa.Table:
    rng = np.random.default_rng(seed)
    gone = rng.random(ROWS) < 0.1
    return pa.table(
        {
            "age": pa.array(rng.normal(40 + 10 * shift, 9, ROWS).round(1), mask=gone),
            "count": pa.array(rng.integers(0, 5, ROWS).astype(float)),
            "city": pa.array(rng.choice(["Ulm", "Köln", "Bonn"], ROWS), mask=gone[::-1]),
            "member": pa.array(rng.random(ROWS) < 0.5),
            "same": pa.array(["here"] * ROWS),
            "customer": pa.array([f"{seed}-{row // 2}" for row in range(ROWS)]),
            "weight": pa.array(rng.uniform(0.5, 2.0, ROWS)),
        }
    )


def _array(seed: int, shift: float = 0.0) -> Any:
    return np.random.default_rng(seed).normal(shift, 1.0, (ROWS, 2))


@lru_cache(maxsize=1)
def _tolerances() -> tuple[tuple[bytes, Callable[[Any], Any]], ...]:
    """Return files of tolerances of every kind, and how each is used."""
    make, table, array = nammd.Tolerance, _table, _array
    tables = table(1), {"a": table(2, 0.3), "b": table(3, -0.2)}
    arrays = array(1), {"a": array(2, 0.4)}
    groups = {"groups": "customer"}

    def space(**options: Any) -> Any:
        return nammd.Space.fit(tables[0], exclude=["customer", "weight"], **options)

    made = (
        (make.from_reference(*tables, space=space(), anyway=True), table),
        (make.from_reference(*tables, space=space(), anyway=True, **groups), table),
        (make.from_reference(*tables, space=space(), anyway=True, sample_weight="weight"), table),
        (make.from_noise(tables[0], space=space(), level=0.5, anyway=True), table),
        (make.at(0.05, space=space()), table),
        (make.from_reference(*arrays, anyway=True), array),
        (make.from_reference(*arrays, anyway=True, groups=nammd.TimeBlocks(length=3)), array),
        (make.from_noise(arrays[0], level=0.5, anyway=True, kernel=nammd.Laplace(2.0)), array),
        (make.at(0.05, nammd.Gaussian(1.0) + 0.5 * nammd.Laplace(1.0), n_columns=2), array),
        (make.at(0.05, nammd.RandomFeatures(nammd.Mahalanobis(np.eye(2)), 16), n_columns=2), array),
    )
    return tuple((_content(tolerance), data) for tolerance, data in made)


def _content(tolerance: Any) -> bytes:
    from nammd.tolerances.file import dumps

    return dumps(tolerance)


def tolerance_resealed(rng: Random, folder: Path) -> None:
    """A tolerance that was edited and sealed is refused by its name and a field, or answers what can be."""
    whole, data = _tolerances()[int(rng.integers(len(_tolerances())))]
    stored, path = json.loads(whole), folder / "edited.json"
    path.write_bytes(resealed(_edits(rng, stored)))
    tolerance = None
    with naming_a_field(path.name, stored):
        tolerance = nammd.Tolerance.load(path)
    if tolerance is None:
        return
    with refusing(by_nammd=True):
        verdict = tolerance.check(data(1), data(4, 0.1))
        _require_verdict(verdict)
        if not (str(tolerance) and str(verdict) and verdict.to_dict()):
            raise Finding("there is nothing to say")


@contextlib.contextmanager
def naming_a_field(name: str, stored: Any) -> Iterator[None]:
    """Let refusals pass that name the file, and a field of it."""
    try:
        yield
    except Exception as error:
        words = sentence(error)
        with refusing(name, by_nammd=True):
            raise
        if not any(
            re.search(rf"(?<!\w){re.escape(key)}(?!\w)", words.partition(name)[2]) for key in _keys(stored)
        ):
            raise Finding(f"the refusal names no field: {words}") from error


def _keys(stored: Any) -> set[str]:
    """Return the names of all fields."""
    if isinstance(stored, dict):
        return set(stored).union(*map(_keys, stored.values()))
    return set().union(*map(_keys, stored)) if isinstance(stored, list) else set()


def _require_verdict(verdict: Any) -> None:
    shares = [each.pvalue for each in (*verdict.column_checks, *verdict.pair_checks)]
    for share in (verdict.pvalue_close, verdict.pvalue_far, *shares):
        if not (0 <= share <= 1 or math.isnan(share)):
            raise Finding(f"a p-value is {share}")
    if not 0 < verdict.details.tolerance.epsilon < 1:
        raise Finding(f"the tolerance is {verdict.details.tolerance.epsilon}")


# --- sketches


@lru_cache(maxsize=1)
def _sketches() -> tuple[tuple[bytes, Any], ...]:
    space = nammd.Space.fit(_table(1), exclude=["customer", "weight"])
    features = nammd.RandomFeatures(nammd.Gaussian(1.0), 16, rng=0)
    named = nammd.RandomFeatures(space.kernel, 16, rng=0)
    made = (
        nammd.Sketch.of(_array(1), features),
        nammd.Sketch.of(_array(1), features, groups=np.arange(ROWS) // 2, scales="all"),
        nammd.Sketch.of(_table(1), named, space=space),
        nammd.Sketch.of(_table(1), named, space=space, groups="customer"),
    )
    with tempfile.TemporaryDirectory() as folder:
        return tuple((each.save(Path(folder) / "x.sketch").read_bytes(), each) for each in made)


def sketch_resealed(rng: Random, folder: Path) -> None:
    """A sketch that was edited and sealed is refused by its name and a field, or answers what can be."""
    whole, sketch = _sketches()[int(rng.integers(len(_sketches())))]
    with np.load(io.BytesIO(whole)) as archive:
        arrays = dict(archive)
    documents = [name for name, each in arrays.items() if each.dtype == np.uint8]
    stored = {name: json.loads(arrays[name].tobytes()) for name in documents}
    if rng.random() < 0.7:
        name = str(rng.choice(documents))
        arrays[name] = np.frombuffer(json.dumps(_edits(rng, stored[name])).encode(), np.uint8)
    else:
        name = str(rng.choice([name for name in arrays if name not in documents]))
        arrays[name] = _other_array(rng, arrays[name])
    path = folder / "edited.sketch"
    path.write_bytes(archived({key: each for key, each in arrays.items() if each is not None}))
    found = None
    with naming_a_field(path.name, {"documents": stored, "arrays": dict.fromkeys(arrays)}):
        found = nammd.Sketch.load(path)
    if found is None:
        return
    with refusing(by_nammd=True):
        for one, other in ((found, sketch), (sketch, found)):
            distance = nammd.distance(one, other)
            if not (-1.01 <= distance.value <= 1.01 and str(distance)):
                raise Finding(f"the distance is {distance.value}")


def _other_array(rng: Random, array: Any) -> Any:
    change, changed = rng.random(), array.copy()
    if change < 0.05:
        return None
    if change < 0.15 or not len(changed):
        return changed[: int(rng.integers(len(changed) + 1))]
    if change < 0.25:
        return changed.astype(rng.choice(["f4", "i8", "U8"]))
    strange = [np.nan, np.inf, 0.0, 1e300, -5.0] if changed.dtype.kind == "f" else [0, 7, 2**63]
    changed[int(rng.integers(len(changed)))] = rng.choice(strange)
    return changed
