"""What an experiment is: settings, cells of work, and a section of a page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias

import numpy as np

from experiments.comparing import Rule
from experiments.data import Need
from experiments.results import Results
from experiments.section import Section
from experiments.settings import S
from nammd import Tiles

Cell: TypeAlias = Mapping[str, str | int | float]
"""The unit of work, of resuming and of parallelism, by what tells it from the others."""

Values: TypeAlias = Mapping[str, Any]
"""What was found for a cell: numbers, texts, and lists and mappings of them."""

Device: TypeAlias = Literal["cpu", "cuda"]


@dataclass(frozen=True)
class Context:
    """What a cell may use besides its settings.

    Attributes
    ----------
    rng : numpy.random.Generator
        The generator of this cell: the same in every run, whatever else ran before.
    device : {"cpu", "cuda"}
        Where to compute what can be computed elsewhere.
    data : Path
        The folder of real data. It holds what the experiment says that it needs.
    engine : nammd.Tiles
        One thread, since the cells themselves run side by side.
    """

    rng: np.random.Generator
    device: Device
    data: Path
    engine: Tiles = field(default_factory=lambda: Tiles(threads=1))


@dataclass(frozen=True)
class Experiment(Generic[S]):
    """One experiment.

    Attributes
    ----------
    name : str
        Its name on the command line, and that of its result file.
    labels : tuple of str
        What it covers, as `experiments.labels` has it.
    title : str
        The heading of its section.
    seed : int
        The seed of its generators.
    quick, full, tiny : Settings
        The settings for some seconds, for the real thing, and for the tests, where one cell must take
        less than a second or so.
    cells : callable
        ``cells(settings)``: the cells, all different. Keep them between one and thirty seconds long.
    run_cell : callable
        ``run_cell(settings, cell, context)``: what was found for a cell. It depends on nothing else.
    section : callable
        ``section(results)``: what the page shows; it computes nothing that takes time.
    data : tuple of tuples of str
        What it cannot run without: of every tuple one file, by its path in the data folder. See
        `experiments.data`.
    alone : bool
        Whether its cells must have the machine for themselves, as measurements of time do.
    rerun : {"digits", "single", "errors"}
        How numbers of a second run are compared with the first ones, as `experiments.comparing` has it: not
        every machine computes the same digits where a network is evaluated or a kernel learned.
    page : {"paper", "calibration"}
        On which page it is shown.
    """

    name: str
    labels: tuple[str, ...]
    title: str
    seed: int
    quick: S
    full: S
    tiny: S
    cells: Callable[[S], Iterable[Cell]]
    run_cell: Callable[[S, Cell, Context], Values]
    section: Callable[[Results[S]], Section]
    data: tuple[Need, ...] = ()
    alone: bool = False
    rerun: Rule = "digits"
    page: Literal["paper", "calibration"] = "paper"

    def settings(self, full: bool) -> S:
        """Return the full or the quick settings."""
        return self.full if full else self.quick

    def generator(self, cell: Cell) -> np.random.Generator:
        """Return the generator of a cell, which depends on the seed and the cell alone."""
        digest = hashlib.sha256(f"{self.name}/{key_of(cell)}".encode()).digest()
        return np.random.default_rng(np.random.SeedSequence([self.seed, int.from_bytes(digest[:16], "big")]))

    def missing(self, data: Path) -> list[str]:
        """Return what the data folder lacks."""
        return [" or ".join(need) for need in self.data if not any((data / name).exists() for name in need)]


def key_of(cell: Cell) -> str:
    """Return the cell in one line; equal cells have equal lines."""
    return ", ".join(f"{name}={cell[name]}" for name in sorted(cell))


def chunks(repetitions: int, size: int) -> list[tuple[int, int]]:
    """Cut repetitions into pieces: the number of each piece, and how many repetitions are in it."""
    starts = range(0, repetitions, size)
    return [(chunk, min(size, repetitions - start)) for chunk, start in enumerate(starts)]
