"""Finished cells of a run that may yet be interrupted, one per line; so a run resumes where it was."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import nammd
from experiments.calls import Calls, merged
from experiments.experiment import Experiment, key_of
from experiments.results import Done, Mode, plain, settings_dict
from experiments.source import Code, changed, digests


class Partial:
    """The finished cells of one experiment in one mode.

    Cells of a run with other settings, another seed, device, version or code are not taken up: the file
    begins anew.

    Attributes
    ----------
    done : dict of str to Done
        The finished cells.
    codes : list of mappings
        What was noted of the code that they used, with the digests of that moment.
    whole : bool
        Whether the code of the tiny cells, which call all that there is to call, was noted.
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
        self.codes: list[Code] = []
        head, *lines = self._lines() or [{}]
        noted = [line for line in lines if "code" in line]
        codes: list[Code] = [{name: tuple(used) for name, used in line["code"].items()} for line in noted]
        self.whole = (
            head == self._head and any(line["tiny"] for line in noted) and not any(map(changed, codes))
        )
        if self.whole:
            self.codes = codes
            self.done = {key_of(line["cell"]): Done(**line) for line in lines if "cell" in line}
        # Written anew even so: an interrupt may have cut the last line.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = [
            self._head,
            *({"code": code, "tiny": True} for code in self.codes),
            *map(dataclasses.asdict, self.done.values()),
        ]
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
        self._append(line)
        self.done[key_of(done.cell)] = Done(**line)

    def note(self, calls: Calls, *, tiny: bool) -> None:
        """Keep which functions the tiny cells or some cell called, with the digests of their code by now."""
        code = digests(calls)
        self._append({"code": code, "tiny": tiny})
        self.codes.append(code)
        self.whole = self.whole or tiny

    def code(self) -> Code:
        """Return the code that all finished cells used."""
        return digests(merged({name: used[1:] for name, used in code.items()} for code in self.codes))

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def remove(self) -> None:
        """Forget the cells: the result file has them."""
        self.path.unlink(missing_ok=True)
