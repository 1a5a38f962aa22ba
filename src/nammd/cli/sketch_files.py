"""Sketches in place of data: what cannot be is refused before a cluster is started for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nammd.cli.options import EngineName, KernelOptions
from nammd.errors.addresses import local_path

TAKE_SKETCHES = ("check", "distance", "compare", "rank", "plan")


def look_for_sketches(command: str, paths: Sequence[Path], chosen: KernelOptions) -> None:
    """Refuse damaged sketches, sketches where rows are needed, and engines that have nothing to do."""
    for path in paths:
        if is_broken(path):
            raise ValueError(f"{path} is a damaged or incomplete sketch; copy it again, or make it anew")
    if command == "sketch":
        _require_engine(paths[0], chosen)
    sketches = [path for path in paths if is_sketch(path)]
    if not sketches:
        return
    if command == "sketch":
        raise ValueError(f"{sketches[0]} is a sketch already; give the data")
    if command not in TAKE_SKETCHES:
        raise ValueError(
            f"'nammd {command}' needs rows, and {sketches[0]} is a sketch, which keeps none; give the data. "
            "'nammd check', 'distance', 'compare', 'rank' and 'plan' take sketches"
        )
    late = {"--scheduler": chosen.scheduler, "--engine": chosen.engine}
    for option, value in late.items():
        if value not in (None, EngineName.auto, EngineName.cpu):
            raise ValueError(
                "sketches are summed already, so there is nothing to compute on a GPU or a cluster; leave "
                f"out {option}"
            )


def _require_engine(path: Path, chosen: KernelOptions) -> None:
    """Refuse what cannot make a sketch of a file, before a cluster is started for it."""
    if chosen.engine is EngineName.cuda:
        raise ValueError(
            "'nammd sketch' computes on the cores of this machine, or on a cluster with --engine dask; leave "
            "out --engine cuda (in Python, Sketch.of takes tensors on a GPU)"
        )
    if chosen.engine is EngineName.dask and local_path(path).exists():
        from nammd.reading.formats import format_of

        if format_of(local_path(path)) != "Parquet":
            raise ValueError(
                f"the workers of a cluster read Parquet, and {path} is something else; leave out --engine "
                "dask, a sketch needs little memory in any case"
            )


def is_sketch(path: Path) -> bool:
    """Tell whether a file is a sketch, by its content, without loading anything that computes."""
    return _may_be_sketch(path) and _file().is_sketch_file(path)


def is_broken(path: Path) -> bool:
    """Tell whether a file was meant to be a sketch and cannot be read."""
    return _may_be_sketch(path) and _file().is_broken_sketch(path)


def _may_be_sketch(path: Path) -> bool:
    """Tell whether a closer look is worth loading NumPy."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix == ".sketch" or file.read(2) == b"PK"


def _file() -> Any:
    from nammd.sketches import file

    return file
