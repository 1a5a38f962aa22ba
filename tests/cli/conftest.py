"""Small files to run commands on, and a way to run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from nammd.cli import main
from tests import pictures
from tests.waiting import GUARD

MEDIAN = ("--scales", "median")
"""One scale: all of them take twice as long, and are tested in test_scales.py and where nothing is said."""


@dataclass(frozen=True)
class Ran:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def checked(self) -> Any:
        """What a check says of its one candidate."""
        [found] = self.json["candidates"]
        return found

    @property
    def sentence(self) -> str:
        """The error, after checking that there is one, on one line, and nothing else."""
        assert self.code == 2, self
        assert self.out == ""
        assert self.err.startswith("nammd: ")
        assert self.err.count("\n") == 1
        assert "Traceback" not in self.err
        return self.err


@pytest.fixture
def nammd(capsys, tmp_path, monkeypatch):
    """Run a command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*words: Any) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture(autouse=True)
def without_pictures():
    """Write reports without their pictures; test_demo.py has a command that draws them."""
    with pictures.left_out():
        yield


def program(*words: Any, **options: Any) -> Ran:
    """Run the real program."""
    command = [sys.executable, "-m", "nammd", *map(str, words)]
    environment = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "NAMMD_DEBUG")}
    run = subprocess.run(command, capture_output=True, text=True, timeout=GUARD, env=environment, **options)
    return Ran(run.returncode, run.stdout, run.stderr)


def people(seed: int, older: float = 0.0, rows: int = 300) -> pa.Table:
    """Make a mixed table; people get older by so many standard deviations."""
    rng = np.random.default_rng(seed)
    age = np.round(45 + 12 * (rng.normal(size=rows) + older), 1)
    income = np.where(rng.random(rows) < 0.1, np.nan, np.round(np.exp(rng.normal(10, 0.4, rows)), 2))
    return pa.table(
        {
            "id": [f"p{seed}-{k}" for k in range(rows)],
            "age": age,
            "income": pa.array(income, from_pandas=True),
            "city": rng.choice(["Ulm", "Bonn", "Trier"], rows, p=[0.5, 0.3, 0.2]),
        }
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder with a reference, a close and a far candidate as tables, and the same as arrays."""
    folder = tmp_path_factory.mktemp("files")
    for name, older in {"reference": 0.0, "accepted": 0.5, "close": 0.1, "far": 2.0}.items():
        parquet.write_table(people(len(name), older), folder / f"{name}.parquet")
    rng = np.random.default_rng(0)
    for name, location in {"x": 0.0, "y": 0.1, "z": 1.0}.items():
        np.save(folder / f"{name}.npy", rng.normal(location, size=(200, 2)))
    return folder


@pytest.fixture(scope="session")
def reference(files):
    return files / "reference.parquet"


@pytest.fixture(scope="session")
def close(files):
    return files / "close.parquet"


@pytest.fixture(scope="session")
def far(files):
    return files / "far.parquet"


@pytest.fixture(scope="session")
def tolerance(files, reference):
    """A tolerance file that was made by the program."""
    path = files / "tolerance.json"
    accepted = str(files / "accepted.parquet")
    how = ["--margin", "missing=0.2", *MEDIAN]
    assert main(["calibrate", str(reference), accepted, *how, "-o", str(path)]) == 0
    return path


def write_csv(table: pa.Table, path: Any) -> Any:
    csv.write_csv(table, path)
    return path
