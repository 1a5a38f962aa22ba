"""Whole commands in a fresh process, as from the shell: seconds, computing time and peak memory.

The bars are those of two idle cores. On a machine that does other things as well the seconds say little; the
computing time, of all cores together, still does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.command_files import write_files
from benchmarks.results import Measurement, at_most
from benchmarks.scale import Scale

# A process of its own starts the command: the system counts the memory of the one that starts a program as
# the program's own, and this one is small.
_LAUNCHER = """
import json, os, subprocess, sys, time
with open(os.devnull, "w") as nowhere, open("stderr.txt", "w") as told:
    clock = time.perf_counter()
    started = subprocess.Popen(sys.argv[1:], stdout=nowhere, stderr=told)
    _, status, used = os.wait4(started.pid, 0)
    clock = time.perf_counter() - clock
peak = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)
print(json.dumps([os.waitstatus_to_exitcode(status), clock, used.ru_utime + used.ru_stime, peak]))
"""


@dataclass(frozen=True)
class Size:
    """The files of a command: so many rows and columns, and of what format."""

    rows: int
    columns: int
    ending: str

    def __str__(self) -> str:
        kind = {"csv": "CSV", "parquet": "Parquet"}[self.ending]
        return f"{self.rows:,} x {self.columns:,}, {kind}"

    @property
    def short(self) -> str:
        """The same in a word."""
        return f"{_short(self.rows)}x{_short(self.columns)}-{self.ending}"

    def programs(self, folder: Path) -> tuple[list[str], list[str]]:
        """Return the arguments of ``calibrate`` and ``check``, the tolerance last."""
        files = write_files(folder, self.rows, self.columns, self.ending)
        reference, accepted, candidate = map(str, files)
        tolerance = str(folder / f"tolerance-{self.short}.json")
        # A few rows prove so little that their tolerance is one to be refused.
        options = ["--force", "--anyway"] if self.columns > self.rows else ["--force"]
        return (
            ["-m", "nammd", "calibrate", reference, accepted, *options, "--output", tolerance],
            ["-m", "nammd", "check", reference, candidate, "--tolerance", tolerance],
        )


@dataclass(frozen=True)
class Command:
    """What is run, and its bars.

    Attributes
    ----------
    name : str
        What ``--only`` calls it.
    seconds : float
        The most that it may take.
    megabytes : float or None
        The most memory that it may need.
    program : tuple of str
        The arguments of Python; those of ``check`` and ``calibrate`` follow from the size.
    size : Size or None
        Its files; None where it has none.
    rounds : int
        How often it is run at full size; the median counts.
    """

    name: str
    seconds: float
    megabytes: float | None = None
    program: tuple[str, ...] = ()
    size: Size | None = None
    rounds: int = 5

    @property
    def what(self) -> str:
        """The command in words."""
        if self.size is not None:
            return f"nammd {self.name.partition('-')[0]}, {self.size}"
        return self.program[-1] if self.program[0] == "-c" else " ".join(self.program[1:])

    def arguments(self, folder: Path) -> list[str]:
        """Return the arguments of Python; files that are not there yet are written to a folder."""
        if self.size is None:
            return list(self.program)
        calibrate, check = self.size.programs(folder)
        if self.name.startswith("calibrate"):
            return calibrate
        if not Path(check[-1]).exists():
            run(calibrate, folder)
        return check


class Run(NamedTuple):
    """One run: seconds by the clock and of computing, and the peak of memory in megabytes."""

    seconds: float
    computing: float
    megabytes: float


def measure(scale: Scale) -> Iterator[Measurement]:
    """Run every command and tell what it took."""
    wanted = [c for c in commands(scale) if not scale.only or c.name in scale.only]
    missing = [name for name in ("pyarrow", "typer") if find_spec(name) is None]
    with tempfile.TemporaryDirectory() as folder:
        for command in wanted:
            if missing:
                yield Measurement(
                    command.what, None, "s", at_most(command.seconds), skipped=f"no {missing[0]}"
                )
            else:
                yield from measured(command, Path(folder), command.rounds if scale.judged else 1)


def commands(scale: Scale) -> list[Command]:
    """Return all commands, those that start quickly first."""
    found = [
        Command("help", 0.25, program=("-m", "nammd", "--help"), rounds=11),
        Command("import", 0.3, program=("-c", "import nammd"), rounds=11),
        Command("import-all", 0.3, program=("-c", "from nammd import *"), rounds=11),
        Command("demo-monitor", 20.0, program=("-m", "nammd", "demo", "--monitor"), rounds=1),
    ]
    for size, (seconds, megabytes, rounds) in zip(scale.command_sizes, _BARS, strict=True):
        made = Size(*size)
        twice = seconds if made.columns > made.rows else 2 * seconds
        found += [
            Command(f"calibrate-{made.short}", twice, size=made, rounds=rounds),
            Command(f"check-{made.short}", seconds, megabytes, size=made, rounds=rounds),
        ]
    return found


# Seconds, megabytes and rounds, in the order of the sizes of `scale`.
_BARS = ((1.5, None, 5), (5.0, 5e2, 3), (15.0, 1e3, 1), (25.0, None, 1), (5.0, None, 3))


def _short(count: int) -> str:
    return (
        f"{count // 1_000_000}m"
        if count >= 1_000_000
        else f"{count // 1000}k"
        if count >= 1000
        else str(count)
    )


def measured(command: Command, folder: Path, rounds: int) -> Iterator[Measurement]:
    """Yield what a command takes: seconds, computing, and memory."""
    arguments = command.arguments(folder)
    if rounds > 1:
        run(arguments, folder)  # writes the bytecode, and brings files into memory
    runs = [run(arguments, folder) for _ in range(rounds)]
    details = {"name": command.name, "runs": [one._asdict() for one in runs]}
    seconds, computing, megabytes = (median(each) for each in zip(*runs, strict=True))
    yield Measurement(command.what, seconds, "s", at_most(command.seconds), details)
    yield Measurement(f"{command.what}: computing", computing, "s", None, details)
    bar = None if command.megabytes is None else at_most(command.megabytes)
    yield Measurement(f"{command.what}: peak memory", megabytes, "MB", bar, details)


def run(arguments: list[str], folder: Path) -> Run:
    """Run Python with arguments, in a folder; equal distributions are close, or undecided."""
    around = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _LAUNCHER, sys.executable, *arguments]
    told = subprocess.run(command, cwd=folder, env=around, check=True, capture_output=True, text=True).stdout
    code, *figures = json.loads(told)
    if code not in (0, 3):
        raise RuntimeError((folder / "stderr.txt").read_text(encoding="utf-8"))
    return Run(*figures)
