"""Result files: what a run found, with its settings, its seed, and where it ran."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

import numpy as np

from experiments.settings import S
from experiments.source import Code
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
class Stamp:
    """What the numbers of a file depend on.

    Attributes
    ----------
    settings : str
        A digest of the settings, the seed and the cells.
    code : mapping
        By module a digest of the code that was used, and the functions that were called.
    verified : mapping, optional
        Where the code is newer than the numbers: which cells were run again with it and gave the same ones,
        by which version of nammd, on which device, and by which rule they were compared.
    """

    settings: str
    code: Code
    verified: Mapping[str, Any] | None = None


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
    stamp : Stamp, optional
        What the numbers depend on; None where that was not noted.
    """

    settings: S
    mode: Mode
    seed: int
    cells: tuple[Done, ...]
    nammd: str = ""
    device: str = "cpu"
    platform: str = ""
    stamp: Stamp | None = None

    def where(self, **wanted: Any) -> list[Mapping[str, Any]]:
        """Return the values of all cells that have these properties."""
        found: Sequence[Done] = self.cells
        for name, value in wanted.items():
            found = [each for each in found if each.cell.get(name) == value]
        return [each.values for each in found]

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
    stamp = _stamp_lines(results.stamp)
    write_text(path, "{\n" + "\n".join(lines) + '\n  "cells": [\n' + cells + f"\n  ]{stamp}\n}}\n")
    return path


def _stamp_lines(stamp: Stamp | None) -> str:
    if stamp is None:
        return ""
    lines = [f'  "stamp": {_json({"settings": stamp.settings, "verified": stamp.verified})}']
    modules = (f"    {_json(name)}: {_json(used)}" for name, used in stamp.code.items())
    return ",\n" + ",\n".join([*lines, '  "code": {\n' + ",\n".join(modules) + "\n  }"])


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
        stamp=_stamp(stored),
    )


def _stamp(stored: Mapping[str, Any]) -> Stamp | None:
    if "stamp" not in stored:
        return None
    code = {name: tuple(used) for name, used in stored["code"].items()}
    return Stamp(code=code, **stored["stamp"])


def best(experiment: Experiment[S], folder: Path = FOLDER) -> Results[S] | None:
    """Return the results with the full settings where there are some, else the quick ones."""
    return load(experiment, "full", folder) or load(experiment, "quick", folder)


def settings_dict(settings: Any) -> dict[str, Any]:
    """Return settings as they are after a trip through JSON."""
    made: dict[str, Any] = json.loads(_json(dataclasses.asdict(settings)))
    return made


def settings_digest(settings: Any, seed: int, cells: Iterable[Mapping[str, Any]]) -> str:
    """Return a digest of what a run was asked for."""
    asked = [settings_dict(settings), seed, [dict(cell) for cell in cells]]
    return hashlib.sha256(_json(asked).encode()).hexdigest()[:10]


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
