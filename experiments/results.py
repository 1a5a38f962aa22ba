"""Result files: what a run found, with its settings, its seed, and where it ran."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

import numpy as np

from experiments.settings import S
from nammd.errors.writing import write_text

if TYPE_CHECKING:
    from experiments.experiment import Experiment

FOLDER = Path(__file__).resolve().parent / "results"

Mode: TypeAlias = Literal["quick", "full"]


@dataclass(frozen=True)
class Done:
    """A finished cell: which one, what was found, and in how many seconds."""

    cell: Mapping[str, Any]
    values: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True)
class Results(Generic[S]):
    """The results of one experiment.

    Attributes
    ----------
    settings : Settings
        The settings of the run.
    mode : {"quick", "full"}
        Which settings they are.
    seed : int
        The seed of the generators.
    cells : tuple of Done
        The finished cells, in the order in which the experiment lists them.
    nammd : str
        The version of nammd.
    device : str
        Where it was computed.
    platform : str
        Processor, system and versions.
    """

    settings: S
    mode: Mode
    seed: int
    cells: tuple[Done, ...]
    nammd: str = ""
    device: str = "cpu"
    platform: str = ""

    def where(self, **wanted: Any) -> list[Mapping[str, Any]]:
        """Return the values of all cells that have these properties."""
        return [d.values for d in self.cells if all(d.cell.get(k) == v for k, v in wanted.items())]

    def one(self, **wanted: Any) -> Mapping[str, Any]:
        """Return the values of the one cell that has these properties."""
        found = self.where(**wanted)
        if len(found) != 1:
            raise LookupError(f"{len(found)} cells have {wanted}; one is wanted")
        return found[0]


def path_of(name: str, mode: Mode, folder: Path = FOLDER, seed: int | None = None) -> Path:
    """Return the file of an experiment's results; another seed than its own has files of its own."""
    other = "" if seed is None else f".seed{seed}"
    return folder / f"{name}{'' if mode == 'quick' else '.full'}{other}.json"


def save(
    experiment: Experiment[Any], results: Results[Any], folder: Path = FOLDER, seed: int | None = None
) -> Path:
    """Write a result file."""
    head = {
        "experiment": experiment.name,
        "labels": list(experiment.labels),
        "mode": results.mode,
        "seed": results.seed,
        "settings": settings_dict(results.settings),
        "nammd": results.nammd,
        "device": results.device,
        "platform": results.platform,
        "seconds": round(sum(d.seconds for d in results.cells), 2),
    }
    lines = [f"  {json.dumps(name)}: {_json(value)}," for name, value in head.items()]
    # One cell per line: small files whose changes can be read.
    cells = ",\n".join(f"    {_json(dataclasses.asdict(done))}" for done in results.cells)
    path = path_of(experiment.name, results.mode, folder, seed)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(path, "{\n" + "\n".join(lines) + '\n  "cells": [\n' + cells + "\n  ]\n}\n")
    return path


def load(
    experiment: Experiment[S], mode: Mode, folder: Path = FOLDER, seed: int | None = None
) -> Results[S] | None:
    """Read a result file; None where there is none."""
    path = path_of(experiment.name, mode, folder, seed)
    if not path.is_file():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    kind = type(experiment.settings(mode == "full"))
    try:
        settings = kind(**{name: _frozen(value) for name, value in stored["settings"].items()})
    except TypeError as error:
        raise ValueError(
            f"{path.name} was written with other settings than {experiment.name} has now ({error}); run: "
            f"python -m experiments run {experiment.name}{' --full' if mode == 'full' else ''}"
        ) from error
    return Results(
        settings=settings,
        mode=mode,
        seed=stored["seed"],
        cells=tuple(Done(**cell) for cell in stored["cells"]),
        nammd=stored["nammd"],
        device=stored["device"],
        platform=stored["platform"],
    )


def best(experiment: Experiment[S], folder: Path = FOLDER) -> Results[S] | None:
    """Return the results with the full settings where there are some, else the quick ones."""
    return load(experiment, "full", folder) or load(experiment, "quick", folder)


def settings_dict(settings: Any) -> dict[str, Any]:
    """Return settings as they are after a trip through JSON."""
    made: dict[str, Any] = json.loads(_json(dataclasses.asdict(settings)))
    return made


def plain(value: Any) -> Any:
    """Return a value made of what JSON has; numbers that it lacks become None."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        # Ten digits are more than any figure here means, and keep the files small. Differences from 1
        # smaller than that are stored as such.
        return float(f"{value:.10g}") if math.isfinite(value) else None
    return value


def _json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value
