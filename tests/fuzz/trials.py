"""What is tried with one hostile input, and the rules that must hold."""

from __future__ import annotations

import csv
import io
import math
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import nammd
from nammd.data.opening import open_file
from nammd.errors.writing import write_bytes
from tests.fuzz import monitors, seeds
from tests.fuzz.mutate import mutated
from tests.fuzz.resealed import sketch_resealed, tolerance_resealed
from tests.fuzz.rules import Finding, Random, refusing
from tests.fuzz.secrets import addresses


def _require_estimate(result: Any) -> None:
    value, (low, high) = result.value, result.confidence_interval()
    if not (-1.0001 <= value <= 1.0001) and not result.cautions:
        raise Finding(f"the distance is {value}, without a caution")
    if not (low <= high or math.isnan(low + high)):
        raise Finding(f"the interval is {(low, high)}")


# --- files of data


@lru_cache(maxsize=2)
def _reference(coded: bool = False) -> Any:
    table = seeds.people(1)
    return table.append_column("kind", pa.array(["u", "v"] * (seeds.ROWS // 2))) if coded else table


def _require_all_rows(content: bytes, dataset: Any) -> None:
    """Compare the number of rows with that of another parser: no quote may swallow some."""
    text = content.decode("utf-8-sig", "replace")
    header = text.lstrip().splitlines()[0]
    delimiter = next((each for each in ",;\t|" if each in header), ",")
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = sum(1 for record in records if record) - 1
    if rows != dataset.source.total_rows:
        raise Finding(f"{dataset.source.total_rows} rows were read of {rows}")


def table_file(rng: Random, folder: Path) -> None:
    """A table in a damaged file is refused, or compared."""
    name = str(rng.choice(list(seeds.tables())))
    data_file(folder / name, mutated(rng, seeds.tables()[name]), sample=5 if rng.random() < 0.2 else None)


def array_file(rng: Random, folder: Path) -> None:
    """An array in a damaged file is refused, or compared."""
    name = str(rng.choice(list(seeds.arrays())))
    data_file(folder / name, mutated(rng, seeds.arrays()[name]), sample=5 if rng.random() < 0.2 else None)


def image_file(rng: Random, folder: Path) -> None:
    """A damaged image is refused, or compared with a whole one."""
    name = str(rng.choice(list(seeds.images())))
    (folder / "images").mkdir(exist_ok=True)
    for old in (folder / "images").iterdir():
        old.unlink()
    (folder / "images" / "0.png").write_bytes(seeds.images()["x.png"])
    (folder / "images" / f"1{name}").write_bytes(mutated(rng, seeds.images()[name]))
    with refusing("images"):
        open_file(folder / "images")


def data_file(path: Path, content: bytes, sample: int | None = None) -> None:
    """Open a file and compare what is in it."""
    path.write_bytes(content)
    with refusing(path.name):
        dataset = open_file(path, sample=sample)
        if path.suffix in (".csv", ".tsv") and path.name != "wide.csv":
            _require_all_rows(content, dataset)
        if dataset.is_table:
            _require_estimate(nammd.distance(_reference("kind" in dataset.names), dataset))
        else:
            _require_estimate(
                nammd.distance(np.zeros((5, dataset.width)) + np.eye(5, dataset.width), dataset)
            )


# --- files of nammd's own


@lru_cache(maxsize=1)
def _samples() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 2)), rng.normal(0.5, 1, (40, 2)), rng.normal(0.2, 1, (30, 2))


@lru_cache(maxsize=1)
def _tolerances() -> tuple[Any, ...]:
    train, accepted, _ = _samples()
    return (
        nammd.Tolerance.from_reference(train, {"a": accepted}, anyway=True),
        nammd.Tolerance.from_noise(train, level=0.5, anyway=True),
        nammd.Tolerance.at(0.05, nammd.Gaussian(1.0), n_columns=2),
        nammd.Tolerance.at(0.05, space=nammd.Space.fit(_reference())),
        nammd.Tolerance.from_reference(train, {"a": accepted}, anyway=True, groups=_labels(40, 40)),
    )


def _labels(*rows: int) -> list[list[str]]:
    """Labels of groups of two rows, others in each dataset."""
    return [[f"{number}-{row // 2}" for row in range(count)] for number, count in enumerate(rows)]


@lru_cache(maxsize=8)
def _saved(number: int, folder: Path) -> bytes:
    _tolerances()[number].save(folder / "whole.json")
    return (folder / "whole.json").read_bytes()


def _must_refuse(path: Path, content: bytes, whole: bytes, load: Callable[[Path], Any]) -> None:
    path.write_bytes(content)
    if content in (whole, whole.replace(b"\n", b"\r\n")):
        return
    with refusing(path.name):
        load(path)
        raise Finding(f"{path.name} was changed and is taken nevertheless")


def tolerance_bytes(rng: Random, folder: Path) -> None:
    """A tolerance of which a byte was changed is refused."""
    whole = _saved(int(rng.integers(5)), folder)
    _must_refuse(folder / "t.json", mutated(rng, whole), whole, nammd.Tolerance.load)


@lru_cache(maxsize=2)
def _sketch(folder: Path, grouped: bool) -> bytes:
    features = nammd.RandomFeatures(nammd.Gaussian(1.0), 32, rng=0)
    groups = _labels(40)[0] if grouped else None
    made = nammd.Sketch.of(_samples()[0], features, groups=groups)
    return made.save(folder / "whole.sketch").read_bytes()


def sketch_bytes(rng: Random, folder: Path) -> None:
    """A sketch of which a byte was changed is refused."""
    whole = _sketch(folder, rng.random() < 0.5)
    _must_refuse(folder / "x.sketch", mutated(rng, whole), whole, nammd.Sketch.load)


@lru_cache(maxsize=1)
def _kernel(folder: Path) -> bytes | None:
    try:
        from nammd.kernels.deep import Deep
        from nammd.kernels.networks import mlp

        kernel = Deep(mlp(2, rng=0), bandwidth=1.0, feature_bandwidth=0.5)
        return kernel.save(folder / "whole.safetensors").read_bytes()
    except ImportError:
        return None


def kernel_bytes(rng: Random, folder: Path) -> None:
    """A deep kernel of which a byte was changed is refused."""
    whole = _kernel(folder)
    if whole is None:
        return
    from nammd.kernels.deep import Deep

    _must_refuse(folder / "x.safetensors", mutated(rng, whole), whole, Deep.load)


# --- arrays

EXTREME = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 1e-8, 1e-160, 1e-300, 5e-324, 2.3e-308, 1e8, 1e16, 1e154, 1e200, 1.7e308),
    *(-1.7e308, float("nan"), float("inf"), -float("inf"), 2.0**53, 2.0**53 + 2),
)


def _array(rng: Random, columns: int) -> Any:
    rows = int(rng.choice([0, 1, 2, 3, 4, 5, 9, 30]))
    kind = rng.random()
    if kind < 0.3:
        pool = rng.choice(EXTREME, size=int(rng.integers(1, 4)))
        values = rng.choice(pool, size=(rows, columns))
    elif kind < 0.7:
        scale = float(rng.choice([1.0, 1e-9, 1e9, 1e-155, 1e155, 1e-300, 1e300]))
        with np.errstate(over="ignore"):
            values = rng.normal(size=(rows, columns)) * scale + float(rng.choice([0.0, 0.0, 1.0, 1e9, 1e16]))
    elif kind < 0.8:
        values = np.arange(rows * columns, dtype=float).reshape(rows, columns) + float(rng.choice([0, 0.5]))
    else:
        values = np.repeat(rng.normal(size=(1, columns)), rows, axis=0)
        if rows and rng.random() < 0.5:
            values[0] += float(rng.choice([1e-17, 1e-12, 1.0, 1e12]))
    dtype = rng.choice(["f8", "f8", "f4", "i8", "?", "f2", "c16", "O"])
    with np.errstate(all="ignore"):
        return values.astype(dtype)


_WIDTHS = (1.0, 1e-320, 1e-300, 1e-9, 1e9, 1e300, 0.0, -1.0, np.nan, np.inf)


def extreme_arrays(rng: Random, folder: Path) -> None:
    """Arrays of any numbers are refused, or give numbers that can be."""
    columns = int(rng.choice([0, 1, 1, 2, 3]))
    x = _array(rng, columns)
    y = _array(rng, columns if rng.random() < 0.9 else 2)
    options: dict[str, Any] = {}
    if rng.random() < 0.6:
        width = float(rng.choice([*np.geomspace(0.015, 0.1, 8), *_WIDTHS]))
        with refusing("bandwidth"):
            options["kernel"] = [nammd.Gaussian, nammd.Laplace][int(rng.integers(2))](width)
    with refusing("x", "y"):
        found = nammd.distance(x, y, **options)
        _require_estimate(found)
        back = nammd.distance(y, x, **options)
        if not (math.isclose(found.value, back.value, rel_tol=1e-6, abs_tol=1e-9) or math.isnan(found.value)):
            raise Finding(f"not symmetric: {found.value} and {back.value}")
    with refusing("x", "y"):
        epsilon = float(rng.choice([0.5, 0.01, 1e-9]))
        test = nammd.closeness_test(x, y, epsilon, alternative="greater", **options)
        if not (0 <= test.pvalue <= 1 or math.isnan(test.pvalue)):
            raise Finding(f"the p-value is {test.pvalue}")
    with refusing("first[0]", "first[1]", "second[0]", "second[1]", "the two pairs"):
        compared = nammd.compare_pairs((x, y), (x, x[::-1] if len(x) % 2 else y), **options)
        if not (0 <= compared.pvalue <= 1 or math.isnan(compared.pvalue)):
            raise Finding(f"the p-value of a comparison is {compared.pvalue}")
    with refusing("the reference", "the candidate", "the perturbation", "the tolerance"):
        str(nammd.Tolerance.from_noise(x, level=0.5, **options).check(x, y))


# --- writing


def full_disk(rng: Random, folder: Path) -> None:
    """A file that cannot be written whole leaves the old one, and nothing else, and is named."""
    path, before = folder / "full.bin", rng.bytes(100)
    write_bytes(path, before)
    room, limit = int(rng.integers(0, 4096)), resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limit[1]))
    try:
        with refusing("full.bin"):
            write_bytes(path, rng.bytes(4097))
            raise Finding("more was written than there is room for")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    if path.read_bytes() != before:
        raise Finding("the old file did not stay")
    _require_no_leftovers(folder, "full.bin")


def killed_writer(rng: Random, folder: Path) -> None:
    """A writer that is killed leaves a whole file, and what it began is gone after the next write."""
    path, contents = folder / "killed.bin", [rng.bytes(200_000), rng.bytes(300_000)]
    write_bytes(path, contents[0])
    child = os.fork()
    if child == 0:
        try:
            while True:
                for content in contents:
                    write_bytes(path, content)
        finally:
            os._exit(1)
    time.sleep(float(rng.random()) * 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if path.read_bytes() not in contents:
        raise Finding("a file is there in part")
    write_bytes(path, b"after")
    _require_no_leftovers(folder, "killed.bin")


def _require_no_leftovers(folder: Path, name: str) -> None:
    left = [each for each in os.listdir(folder) if each != name and name in each]
    if left:
        raise Finding(f"left behind: {left}")


TRIALS: tuple[tuple[Callable[[Random, Path], None], int], ...] = (
    (table_file, 32),
    (array_file, 12),
    (image_file, 4),
    (tolerance_bytes, 8),
    (tolerance_resealed, 8),
    (sketch_bytes, 6),
    (sketch_resealed, 4),
    (kernel_bytes, 3),
    (monitors.monitor_bytes, 4),
    (monitors.monitor_sql, 4),
    (monitors.monitor_fields, 4),
    (extreme_arrays, 9),
    (addresses, 4),
    (full_disk, 1),
    (killed_writer, 1),
)
_EACH = [trial for trial, share in TRIALS for _ in range(share)]


CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


def attempt(seed: int, number: int, folder: Path) -> None:
    """Try one input, in a folder that is used again and again; with a number below 0 a file of the corpus."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if number < 0:
            known(CORPUS[number])
        else:
            _EACH[number % len(_EACH)](np.random.default_rng([seed, number]), folder)


def name_of(number: int) -> str:
    """Return what kind of input a number stands for."""
    return CORPUS[number].name if number < 0 else _EACH[number % len(_EACH)].__name__


def known(path: Path) -> None:
    """Try a file that was a finding once: it is refused."""
    with refusing(path.name):
        if path.suffix == ".json":
            nammd.Tolerance.load(path)
        elif path.suffix == ".safetensors":
            from nammd.kernels.deep import Deep

            Deep.load(path)
        else:
            open_file(path)
        raise Finding("it is taken")
