"""A project of somebody who has installed nammd."""

import os
import sys
import threading
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import nammd
from nammd.cli import main
from nammd.cli.demo import ACCEPTED, CLOSE, FAR, REFERENCE
from tests import pictures
from tests.cli.conftest import people
from tests.waiting import GUARD

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A folder with a reference, candidates and a tolerance, as files."""
    folder = tmp_path_factory.mktemp("project")
    rng = np.random.default_rng(0)
    for name, shift in {"train": 0.0, "accepted": 0.5, "close": 0.05, "far": 1.5}.items():
        np.save(folder / f"{name}.npy", rng.normal(shift, size=(200, 2)))
    train, accepted = (np.load(folder / f"{name}.npy") for name in ("train", "accepted"))
    nammd.Tolerance.from_reference(train, accepted, scales="median").save(folder / "tolerance.json")
    return folder


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """The environment of a process in which this nammd is installed, entry points and all."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    installed = tmp_path_factory.mktemp("installed")
    about = installed / f"nammd-{nammd.__version__}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: nammd\nVersion: {nammd.__version__}\n")
    lines = ["[pytest11]", *(f"{k} = {v}" for k, v in declared["entry-points"]["pytest11"].items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    program = installed / "nammd"
    program.write_text('#!/bin/sh\nexec "$NAMMD_PYTHON" -m nammd "$@"\n')
    program.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "GITHUB", "FORCE_COLOR"))}
    return kept | {
        "PYTHONPATH": os.pathsep.join([str(installed), str(Path(nammd.__file__).parents[1])]),
        "PATH": os.pathsep.join([str(installed), os.environ["PATH"]]),
        "NAMMD_PYTHON": sys.executable,
    }


ASKING = """#!/bin/sh
printf '%s\\0' "$PWD" "$@" > "$NAMMD_CALLS/asked"
read -r code < "$NAMMD_CALLS/answered"
cat "$NAMMD_CALLS/out"
cat "$NAMMD_CALLS/err" >&2
exit "$code"
"""


@pytest.fixture
def answered_here(environment, tmp_path_factory):
    """The same, but ``nammd`` is run by this process, which has imported all that another would wait for."""
    calls = tmp_path_factory.mktemp("calls")
    program = calls / "nammd"
    program.write_text(ASKING)
    program.chmod(0o755)
    for name in ("asked", "answered"):
        os.mkfifo(calls / name)

    def answer():
        while asked := (calls / "asked").read_bytes():
            folder, *words, _ = os.fsdecode(asked).split("\0")
            out, err = StringIO(), StringIO()
            with chdir(folder), pictures.left_out(), redirect_stdout(out), redirect_stderr(err):
                code = main(words)
            (calls / "out").write_text(out.getvalue())
            (calls / "err").write_text(err.getvalue())
            (calls / "answered").write_text(f"{code}\n")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    path = os.pathsep.join([str(calls), environment["PATH"]])
    yield environment | {"PATH": path, "NAMMD_CALLS": str(calls)}
    os.close(os.open(calls / "asked", os.O_RDWR))  # nobody asks any more; for reading too, so as not to wait
    thread.join(GUARD)


@pytest.fixture(scope="session")
def months(tmp_path_factory):
    """A folder with small files, named like those of the demo, and their tolerance."""
    folder = tmp_path_factory.mktemp("months")
    for seed, (name, older) in enumerate({REFERENCE: 0.0, ACCEPTED: 0.5, CLOSE: 0.1, FAR: 2.0}.items()):
        parquet.write_table(people(seed, older), folder / name)
    made = nammd.Tolerance.from_reference(
        folder / REFERENCE, folder / ACCEPTED, margin={"missing": 0.2}, scales="median"
    )
    made.save(folder / "tolerance.json")
    return folder


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory):
    """A folder with the files of a pipeline, one for every outcome of a check."""
    from tests.integrations.pipeline import write_files

    folder = tmp_path_factory.mktemp("pipeline")
    write_files(folder)
    return folder
