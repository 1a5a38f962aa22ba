"""Every law at every margin it can have, with samples of many sizes; and rates over all of them as dots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from experiments.experiment import Cell, chunks
from experiments.figures import COLOURS
from experiments.results import Results
from experiments.settings import S, Settings
from experiments.summary import rate_of
from nammd.datasets.laws.families import FAMILIES, KnownPair, known_pair
from nammd.report.style import FAINT, INK, SMALL, axes_or_new
from nammd.statistics.pair import Alternative

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALPHA = 0.05
ASKED: Mapping[str, Alternative] = {"too far": "greater", "close": "less"}
"""What a closeness test may prove, by the alternative that says so."""
ERRORS = 3.0
"""Rates farther from what is wanted than this many standard errors of the simulation count as off."""


@dataclass(frozen=True)
class Grid(Settings):
    """Settings of the grid.

    Attributes
    ----------
    large_repetitions : int
        The repetitions where a sample has more than `large_rows` rows.
    large_rows : int
        See `large_repetitions`.
    margins : tuple of float
        The exact distances of the pairs.
    sizes : tuple of str
        The rows of both samples: ``"100"``, or ``"50+500"`` where they differ.
    """

    large_repetitions: int = 1
    large_rows: int = 500
    margins: tuple[float, ...] = (0.005, 0.05, 0.2, 0.7)
    sizes: tuple[str, ...] = ("20", "100", "500", "2000", "50+500", "1000+100")


def rows_of(size: str) -> tuple[int, int]:
    """Return the rows of both samples."""
    m, _, n = size.partition("+")
    return int(m), int(n or m)


def repetitions_of(settings: Grid, size: str) -> int:
    """Return how often a size is repeated."""
    return settings.repetitions if max(rows_of(size)) <= settings.large_rows else settings.large_repetitions


def cells(settings: Grid, chunk_size: int = 2000) -> Iterator[Cell]:
    """List the cells: sizes, laws and margins, in chunks of repetitions."""
    for size in settings.sizes:
        for law in FAMILIES:
            for margin in settings.margins:
                if known_pair(law, margin) is None:
                    continue
                for chunk, count in chunks(repetitions_of(settings, size), chunk_size):
                    yield {"law": law, "margin": margin, "size": size, "chunk": chunk, "count": count}


def pair_of(cell: Cell) -> KnownPair:
    """Return the pair of laws of a cell."""
    pair = known_pair(str(cell["law"]), float(cell["margin"]))
    assert pair is not None  # or it would be no cell
    return pair


@dataclass(frozen=True)
class Spot:
    """One pair of laws at one size, all its chunks together.

    Attributes
    ----------
    law, margin, size
        Which.
    tries : int
        The repetitions.
    counts : mapping of str to float
        How often each thing happened.
    """

    law: str
    margin: float
    size: str
    tries: int
    counts: Mapping[str, float]

    def rate(self, name: str) -> float:
        """Return how often a thing happened, as a share."""
        return self.counts[name] / self.tries

    def above(self, name: str, wanted: float = ALPHA) -> bool:
        """Return whether a rate is above what is wanted by more than chance explains."""
        return self.rate(name) > wanted + ERRORS * noise(wanted, self.tries)

    def below(self, name: str, wanted: float) -> bool:
        """Return whether a rate is below what is wanted by more than chance explains."""
        return self.rate(name) < wanted - ERRORS * noise(wanted, self.tries)

    def told(self, name: str) -> str:
        """Return the rate and where it was found."""
        found = rate_of(int(self.counts[name]), self.tries)
        return f"{found['mean']:.3f} ± {found['se']:.3f} ({self.where})"

    @property
    def where(self) -> str:
        """The pair of laws and the size, as text."""
        return f"{self.law}, NAMMD {self.margin:g}, {size_name(self.size)} rows"


def noise(wanted: float, tries: int) -> float:
    """Return the standard error of a simulated rate."""
    return math.sqrt(wanted * (1 - wanted) / tries)


def size_name(size: str) -> str:
    """Return a size as text."""
    return size.replace("+", " and ")


def spots(results: Results[S], **wanted: Any) -> list[Spot]:
    """Join the chunks of every pair of laws and size; the values of the cells are counts."""
    joined: dict[tuple[str, float, str], tuple[int, dict[str, float]]] = {}
    for done in results.cells:
        if any(done.cell[name] != value for name, value in wanted.items()):
            continue
        key = (done.cell["law"], done.cell["margin"], done.cell["size"])
        tries, counts = joined.get(key, (0, {}))
        for name, value in done.values.items():
            counts[name] = counts.get(name, 0) + value
        joined[key] = tries + done.cell["count"], counts
    return [Spot(*key, *found) for key, found in joined.items()]


def by_chance(found: Sequence[Spot], wanted: float = ALPHA) -> str:
    """Say how many of the settings would count as off if every rate were exactly what is wanted."""
    # A rate that is too small is one of the complement that is too large.
    small = min(wanted, 1 - wanted)
    expected = 0.0
    for spot in found:
        allowed = math.floor(spot.tries * (small + ERRORS * noise(small, spot.tries)))
        expected += float(binom.sf(allowed, spot.tries, small))
    return f"chance alone would put about {expected:.1f} of the {len(found)} settings there"


def by_size(found: Sequence[Spot], settings: Grid) -> dict[str, list[Spot]]:
    """Return the pairs of laws of every size, by how a figure names it."""
    return {size.replace("+", "\n+"): [s for s in found if s.size == size] for size in settings.sizes}


def spread(found: Sequence[Spot], name: str) -> str:
    """Return the smallest and the largest rate."""
    rates = [spot.rate(name) for spot in found]
    return f"{min(rates):.3f} to {max(rates):.3f}"


def band_text(settings: Grid, wanted: float = ALPHA) -> str:
    """Say how far from the wanted rate chance alone takes a cell."""
    counts = sorted({repetitions_of(settings, size) for size in settings.sizes})
    each = " and ".join(f"± {ERRORS * noise(wanted, n):.3f} with {n} repetitions" for n in counts)
    return f"{each} ({ERRORS:g} standard errors)"


@dataclass(frozen=True)
class Dots:
    """A figure of rates as dots: sizes along x, margins as colours, a dot for every pair of laws.

    Attributes
    ----------
    groups : mapping of str to sequence of Spot
        What stands at each place along x, by the text below it.
    margins : tuple of float
        The margins.
    wanted : float
        What the rates should be.
    limits : tuple of float
        Of the rates shown. What lies beyond is drawn at the edge, as a triangle.
    x, y : str
        What the axes show.
    """

    groups: Mapping[str, Sequence[Spot]]
    margins: tuple[float, ...]
    wanted: float
    limits: tuple[float, float]
    x: str
    y: str

    def draw(self, figure: Figure, rows: Sequence[Mapping[str, str]]) -> None:
        """Draw panels, row by row: of each its title and the count that it shows.

        The grey band is where nineteen of twenty dots lie if all is well.
        """
        grid = figure.subplots(len(rows), len(rows[0]), sharex=True, sharey=True, squeeze=False)
        for i, row in enumerate(rows):
            for j, (title, name) in enumerate(row.items()):
                ax = axes_or_new(grid[i][j], 0)
                self._panel(ax, name)
                ax.set_title(title, fontsize=SMALL, color=INK, loc="left")
                if j == 0:
                    ax.set_ylabel(self.y, fontsize=SMALL, color=INK)
                if i == len(rows) - 1:
                    ax.set_xlabel(self.x, fontsize=SMALL, color=INK)
        handles: list[Any] = [
            grid[0][0].scatter([], [], s=14, color=COLOURS[k], linewidth=0, label=f"{margin:g}")
            for k, margin in enumerate(self.margins)
        ]
        legend = figure.legend(
            handles=handles, loc="outside right upper", fontsize=SMALL, frameon=False, title="NAMMD"
        )
        legend.get_title().set_fontsize(SMALL)

    def _panel(self, ax: Axes, name: str) -> None:
        low, high = self.limits
        law_names = list(dict.fromkeys(spot.law for found in self.groups.values() for spot in found))
        inset = (high - low) / 60
        dots: dict[tuple[int, str], list[tuple[float, float]]] = {}
        for index, found in enumerate(self.groups.values()):
            shown = [spot for spot in found if name in spot.counts]
            if not shown:
                continue
            reach = 2 * noise(self.wanted, min(spot.tries for spot in shown))
            band = self.wanted - reach, min(self.wanted + reach, 1.0)
            ax.fill_between([index - 0.46, index + 0.46], *band, color=FAINT, alpha=0.6, linewidth=0)
            for spot in shown:
                rate, k = spot.rate(name), self.margins.index(spot.margin)
                # Laws from left to right, so that a dot is in the same place in every panel.
                across = index - 0.4 + 0.8 * (law_names.index(spot.law) + 0.2 * k) / len(law_names)
                marker = "^" if rate > high else "v" if rate < low else "o"
                place = rate if marker == "o" else float(np.clip(rate, low + inset, high - inset))
                dots.setdefault((k, marker), []).append((across, place))
        for (k, marker), places in sorted(dots.items()):  # few artists make a small file
            x, y = np.array(places).T
            ax.scatter(x, y, s=9, marker=marker, color=COLOURS[k], linewidth=0, zorder=2)
        ax.axhline(self.wanted, color=INK, linewidth=0.8, zorder=1)
        ax.set_ylim(low, high)
        ax.set_xticks(range(len(self.groups)), list(self.groups), fontsize=SMALL - 1)
