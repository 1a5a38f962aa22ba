"""The picture of the first screen: of every experiment, how much came out as the paper has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.appendix import Sections
from experiments.figures import COLOURS, panels
from experiments.overview import PROTOCOLS
from experiments.rule import agreeing, verdict
from experiments.section import Picture, Section
from nammd.report.style import INK, SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"holds": COLOURS[2], "holds in part": COLOURS[4], "does not hold": COLOURS[1]}
_CAPTION = (
    "Left: comparisons that come out as the paper says in words. Right: printed numbers within two joint "
    "standard errors of ours, where there are any of the same protocol on the same data."
)


def overview_picture(sections: Sections) -> Picture:
    """Return the picture of all experiments that have a verdict or printed numbers."""
    shown = [
        (e.title, section)
        for e, _, section in sections
        if PROTOCOLS[e.name].kind != "stand-in data" and (section.compared or verdict(section.claim) != "–")
    ]
    return Picture(
        "paper_overview", _CAPTION, lambda figure: _draw(figure, shown), (8.0, 0.9 + 0.24 * len(shown))
    )


def _draw(figure: Figure, shown: list[tuple[str, Section]]) -> None:
    left, right = panels(figure, 1, 2, sharey=True)
    for row, (_, section) in enumerate(shown):
        if section.claim is not None and section.claim.comparisons:
            colour = _COLOURS[verdict(section.claim)]
            _bar(left, row, section.claim.came_out, len(section.claim.comparisons), colour)
        if section.compared:
            _bar(right, row, agreeing(section.compared), len(section.compared), COLOURS[0])
    left.set_yticks(range(len(shown)), [title for title, _ in shown], fontsize=SMALL - 1, color=INK)
    left.invert_yaxis()
    for ax, title in ((left, "what the paper says in words"), (right, "printed numbers")):
        ax.set_xlim(0, 1.32)
        ax.set_xticks([])
        ax.tick_params(length=0)
        ax.spines["bottom"].set_visible(False)
        ax.set_title(title, fontsize=SMALL, color=INK, loc="left")


def _bar(ax: Axes, row: int, part: int, whole: int, colour: str) -> None:
    ax.barh(row, 1.0, height=0.6, color="#eceff2")
    ax.barh(row, part / whole, height=0.6, color=colour)
    # Nothing of a bar shows its colour where nothing came out, so the words have it.
    ax.text(
        1.03, row, f"{part} of {whole}", va="center", fontsize=SMALL - 1, color=INK if part else COLOURS[1]
    )
