"""A project of somebody who has installed nammd."""

import os
import sys
import tomllib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import nammd
from nammd.cli.demo import ACCEPTED, CLOSE, FAR, REFERENCE, write_files

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A folder with a reference, candidates and a tolerance, as files."""
    folder = tmp_path_factory.mktemp("project")
    rng = np.random.default_rng(0)
    for name, shift in {"train": 0.0, "accepted": 0.5, "close": 0.05, "far": 1.5}.items():
        np.save(folder / f"{name}.npy", rng.normal(shift, size=(200, 2)))
    train, accepted = (np.load(folder / f"{name}.npy") for name in ("train", "accepted"))
    nammd.Tolerance.from_reference(train, accepted).save(folder / "tolerance.json")
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


@pytest.fixture(scope="session")
def months(tmp_path_factory):
    """A folder with the months of the demo, of fewer rows, and their tolerance."""
    from nammd.cli import main

    folder = tmp_path_factory.mktemp("months")
    with patch("nammd.cli.demo.ROWS", 1500):
        write_files(folder)
    words = ["calibrate", folder / REFERENCE, folder / ACCEPTED, "--exclude", "submitted"]
    assert main([*map(str, words), "-o", str(folder / "tolerance.json")]) == 0
    assert (folder / CLOSE).exists()
    assert (folder / FAR).exists()
    return folder


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory):
    """A folder with the files of a pipeline, one for every outcome of a check."""
    from tests.integrations.pipeline import write_files

    folder = tmp_path_factory.mktemp("pipeline")
    write_files(folder)
    return folder
