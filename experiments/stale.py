"""Which result files were made by other code, or other settings, than there are now."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.experiment import Experiment, key_of
from experiments.registry import experiments
from experiments.results import FOLDER, Mode, Results, load, path_of, settings_dict, settings_digest
from experiments.source import changed
from experiments.tasks import seeded


@dataclass(frozen=True)
class Kept:
    """A result file: of which experiment, with which settings, and with which seed if not its own."""

    experiment: Experiment[Any]
    mode: Mode
    seed: int | None
    folder: Path = FOLDER

    @property
    def path(self) -> Path:
        """Its path."""
        return path_of(self.experiment.name, self.mode, self.folder, self.seed)

    @property
    def options(self) -> str:
        """How it is named on the command line."""
        seed = "" if self.seed is None else f" --seed {self.seed}"
        return f"{self.experiment.name}{' --full' if self.mode == 'full' else ''}{seed}"

    def load(self) -> Results[Any]:
        """Read it."""
        results = load(self.experiment, self.mode, self.folder, self.seed)
        if results is None:
            raise LookupError(f"{self.path} is not there any more")
        return results

    def asks_otherwise(self, results: Results[Any]) -> bool:
        """Return whether it was asked for something else than the experiment asks for now."""
        asked = seeded(self.experiment, self.seed)
        settings = asked.settings(self.mode == "full")
        stored = settings_digest(results.settings, results.seed, (d.cell for d in results.cells))
        return (
            (settings_dict(results.settings), results.seed) != (settings_dict(settings), asked.seed)
            or [key_of(done.cell) for done in results.cells] != [key_of(c) for c in asked.cells(settings)]
            or (results.stamp is not None and results.stamp.settings != stored)
        )

    def reasons(self) -> list[str]:
        """Return why it is stale; nothing where it is not."""
        try:
            results = self.load()
        except ValueError:  # the settings have other fields now
            return ["settings"]
        if self.asks_otherwise(results):
            return ["settings"]
        stamp = results.stamp
        return ["nothing is noted of its code"] if stamp is None else changed(stamp.code)


def kept_files(chosen: Iterable[Experiment[Any]] | None = None, folder: Path = FOLDER) -> list[Kept]:
    """Return the result files of some experiments, or of all."""
    found = []
    for experiment in experiments().values() if chosen is None else chosen:
        for path in sorted(folder.glob(f"{experiment.name}.*")):
            match = re.fullmatch(rf"{experiment.name}(\.full)?(?:\.seed(\d+))?\.json", path.name)
            if match:
                mode: Mode = "full" if match[1] else "quick"
                found.append(Kept(experiment, mode, int(match[2]) if match[2] else None, folder))
    return found


def stale_files(
    chosen: Iterable[Experiment[Any]] | None = None, folder: Path = FOLDER
) -> dict[Kept, list[str]]:
    """Return the files that are stale, each with why."""
    reasons = ((kept, kept.reasons()) for kept in kept_files(chosen, folder))
    return {kept: why for kept, why in reasons if why}


def advice(kept: Kept, why: list[str]) -> str:
    """Return what to do about a stale file."""
    command = f"run {kept.options}" if why == ["settings"] else f"verify {kept.experiment.name}"
    return f"{kept.path.name} is stale ({', '.join(why)}); run: python -m experiments {command}"
