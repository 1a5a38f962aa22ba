"""``nammd check`` with several candidates: the reference is read and summed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nammd.cli.data import File, Inputs, Told, open_files
from nammd.cli.errors import ERROR, in_words
from nammd.cli.output import found, print_json, print_lines, print_notes, print_table

if TYPE_CHECKING:
    from nammd.cli.options import DataOptions, KernelOptions
    from nammd.cli.progress import Working
    from nammd.data.dataset import Dataset
    from nammd.spaces import Space
    from nammd.tolerances.gate import Gate
    from nammd.tolerances.verdicts import Adjustment, Checked, Verdicts

WORST_FIRST = (ERROR, 1, 3, 0)
"""Exit codes, the worst first: error, far, undecided, close."""


class Candidates:
    """Files that are read when their turn comes, and what was read of them."""

    def __init__(
        self, paths: Sequence[Path], inputs: Inputs, data: DataOptions, kernel: KernelOptions
    ) -> None:
        self.inputs, self.data, self.kernel = inputs, data, kernel
        # Of different addresses the same may be shown.
        names = [str(path) for path in paths]
        self.paths = {
            name if names.count(name) == 1 else f"{name} ({names[:k].count(name) + 1})": path
            for k, (name, path) in enumerate(zip(names, paths, strict=True))
        }
        self.opened: dict[str, File] = {}

    def check(
        self, gate: Gate, alpha: float, adjust: Adjustment, working: Working, columns: dict[str, Any]
    ) -> Verdicts:
        """Check them one after the other; one that cannot be read does not stop the others.

        `columns` are the options of `Gate.check` about single columns and facts.
        """

        def progress(done: int, total: int, name: str) -> None:
            working.among(done + 1, total)

        checked = gate.check_all(
            {name: partial(self._open, name, path, working) for name, path in self.paths.items()},
            alpha,
            adjust=adjust,
            errors="keep",
            progress=progress,
            **columns,
        )
        entries = [e if e.error is None else replace(e, error=in_words(e.error)) for e in checked]
        return replace(checked, entries=tuple(entries))

    def _open(self, name: str, path: Path, working: Working) -> Dataset:
        # As the second file, like the one candidate of a check: then the same rows are drawn of it.
        opened = open_files(
            [("candidate", path)], self.inputs.tolerance, self.data, self.kernel, working, first=1
        )
        [self.opened[name]] = opened.files
        working.step("Comparing")
        return opened.datasets[0]

    def told(self, entry: Checked, space: Space | None) -> Told:
        """Return what a verdict was made from."""
        files = (*self.inputs.files, self.opened[entry.name])
        return Told(replace(self.inputs, files=files), space)

    def print_for_programs(
        self, verdicts: Verdicts, space: Space | None, code_of: Callable[[Checked], int]
    ) -> None:
        """Print one document with an entry for each candidate."""
        entries: list[dict[str, Any]] = []
        for entry in verdicts:
            own = entry.to_dict()
            if entry.verdict is not None:
                own |= found(entry.verdict, self.told(entry, space))
            entries.append({**own, "exit_code": code_of(entry)})
        print_json("check", {"candidates": entries}, worst_code([code_of(entry) for entry in verdicts]))

    def print_for_people(self, verdicts: Verdicts, space: Space | None, index: Path | None) -> None:
        """Print a table with a line for each candidate, and what holds for all of them."""
        header = ("candidate", "verdict", "of the tolerance", "why")
        print_table(verdicts.headline(), header, verdicts.table(), verdicts.tone)
        files = (*self.inputs.files, *self.opened.values())
        told = Told(self.inputs, space)
        own = [row for row in verdicts.settings() if row[0] != "reference"]
        lines = [*own, *told.lines(), ("claim", verdicts.claim())]
        lines += [("report", str(index))] if index is not None else []
        print_lines(None, lines, [caution.message for caution in verdicts.cautions])
        print_notes(Told(replace(self.inputs, files=files), space).notes())


def worst_code(codes: Sequence[int]) -> int:
    """Return the exit code of the worst of several checks."""
    return min(codes, key=WORST_FIRST.index)
