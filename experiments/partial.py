"""Finished cells of a run that may yet be interrupted, one per line; so a run resumes where it was."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import nammd
from experiments.experiment import Experiment, key_of
from experiments.results import Done, Mode, plain, settings_dict


class Partial:
    """The finished cells of one experiment in one mode.

    Cells of a run with other settings, another seed, device or version are not taken up: the file begins
    anew.
    """

    def __init__(
        self, experiment: Experiment[Any], mode: Mode, device: str, folder: Path, seed: int | None = None
    ) -> None:
        other = "" if seed is None else f".seed{seed}"
        self.path = folder / ".partial" / f"{experiment.name}.{mode}{other}.jsonl"
        self._head = {
            "experiment": experiment.name,
            "seed": experiment.seed,
            "settings": settings_dict(experiment.settings(mode == "full")),
            "device": device,
            "nammd": nammd.__version__,
        }
        self.done: dict[str, Done] = {}
        lines = self._lines()
        if lines[:1] == [self._head]:
            self.done = {key_of(line["cell"]): Done(**line) for line in lines[1:]}
        # Written anew even so: an interrupt may have cut the last line.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = [self._head, *(dataclasses.asdict(done) for done in self.done.values())]
        self.path.write_text("".join(f"{json.dumps(line)}\n" for line in kept), encoding="utf-8")

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.is_file():
            return []
        lines = []
        for text in self.path.read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                break  # cut short by an interrupt
        return lines

    def add(self, done: Done) -> None:
        """Keep a finished cell."""
        line = plain(dataclasses.asdict(done))
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.done[key_of(done.cell)] = Done(**line)

    def remove(self) -> None:
        """Forget the cells: the result file has them."""
        self.path.unlink(missing_ok=True)
