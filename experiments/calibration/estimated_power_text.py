"""What the page says of the power of checks: means over the cases, and both rules in one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from experiments.calibration import grid
from experiments.calibration.cases import DIFFERENT, Sizes
from experiments.calibration.grid import ALPHA, Spot
from experiments.figures import COLOURS, panels, titled
from experiments.results import Results
from experiments.section import table
from experiments.summary import counted
from nammd.report.style import INK, SMALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Key: TypeAlias = tuple[str, float, str]
Outcomes: TypeAlias = Mapping[str, Mapping[Key, Spot]]
"""By how far the candidate is: what became of every case at every margin and size."""

ASKED = {
    "same": ("close", "CLOSE, data like the reference"),
    "third": ("close", "CLOSE, a third as far as the tolerance"),
    "twice": ("far", "FAR, twice as far as the tolerance"),
}
"""What is to be found, for each place of the candidate where something is."""


def outcomes(results: Results[Any]) -> Outcomes:
    """Join the chunks."""
    places = [*ASKED, "at"]
    return {
        place: {(s.law, s.margin, s.size): s for s in grid.spots(results, candidate=place)}
        for place in places
    }


def _mean(
    found: Mapping[Key, Spot], name: str, margin: float | None = None, size: str | None = None
) -> float:
    rates = [
        spot.rate(name)
        for spot in found.values()
        if margin in (None, spot.margin) and size in (None, spot.size)
    ]
    return float(np.mean(rates)) if rates else float("nan")


def body(found: Outcomes, margins: Sequence[float], sizes: Sequence[str]) -> str:
    """Return what was done, and the tables."""
    laws = {law for law, _, _ in found["at"]}
    different = len(laws & set(DIFFERENT))
    tries = sorted({spot.tries for spot in found["at"].values()})
    return (
        f"{counted(len(laws), 'case')}, {different} of them with accepted data and candidates that differ "
        "from the reference in different ways. The tolerance is estimated from one accepted dataset at the "
        "distance in the first column; the candidate is like the reference, a third as far, or twice as far. "
        f"Shares of the right verdict at level {ALPHA:g}, by the present rule / by the plain rule (the "
        "variance of the difference alone, near zero a normal law), on average over the cases "
        f"({' or '.join(map(str, tries))} repetitions each). Where no tolerance could be made there is no "
        "verdict:\n\n"
        + _estimated(found, margins, sizes)
        + "\nThe same where the distance is known exactly and given as a number; for FAR both rules are the "
        "same there:\n\n" + _known(found, margins, sizes)
    )


def _estimated(found: Outcomes, margins: Sequence[float], sizes: Sequence[str]) -> str:
    rows = []
    for margin in margins:
        for size in sizes:
            row = [f"{margin:g}", str(Sizes.of(size))]
            for place, (asked, _) in ASKED.items():
                row.append(_both(found[place], "{} " + asked, margin, size))
            for asked in ("far", "close"):
                here = [s for s in found["at"].values() if (s.margin, s.size) == (margin, size)]
                row.append(" / ".join(str(sum(s.above(f"{rule} {asked}") for s in here)) for rule in _RULES))
            rows.append(row)
    titles = [title for _, title in ASKED.values()]
    level = "too often at the tolerance itself, cases"
    return table(["NAMMD", "rows", *titles, f"FAR {level}", f"CLOSE {level}"], rows)


def _known(found: Outcomes, margins: Sequence[float], sizes: Sequence[str]) -> str:
    rows = []
    for margin in margins:
        for size in sizes:
            row = [f"{margin:g}", str(Sizes.of(size))]
            row += [_both(found[place], "known {} close", margin, size) for place in ("same", "third", "at")]
            rows.append(row)
    return table(
        [
            "NAMMD",
            "rows",
            *(ASKED[place][1] for place in ("same", "third")),
            "CLOSE, at the tolerance (wrong)",
        ],
        rows,
    )


_RULES = ("new", "plain")


def _both(found: Mapping[Key, Spot], name: str, margin: float, size: str) -> str:
    return " / ".join(f"{_mean(found, name.format(rule), margin, size):.2f}" for rule in _RULES)


def _broken(found: Outcomes, key: Key, asked: str) -> bool:
    """Return whether the plain rule breaks its level in a setting."""
    return key in found["at"] and found["at"][key].above(f"plain {asked}")


def sentence(found: Outcomes) -> str:
    """Return what was found, in a few sentences."""
    parts = []
    for place, (asked, title) in ASKED.items():
        new, plain = (_mean(found[place], f"{rule} {asked}") for rule in _RULES)
        parts.append(f"{title}: {new:.2f} on average, by the plain rule {plain:.2f}.")
    far = [
        (key, spot.rate("new far") - spot.rate("plain far"))
        for key, spot in found["twice"].items()
        if key in found["at"]
    ]
    broken = [change for key, change in far if _broken(found, key, "far")]
    kept = [change for key, change in far if not _broken(found, key, "far")]
    if broken and kept:
        parts.append(
            f"FAR changes by {np.mean(broken):+.2f} on average in {counted(len(broken), 'setting')} where "
            "the plain rule says it too often at the tolerance itself, and by "
            f"{np.mean(kept):+.2f} in {counted(len(kept), 'other')}."
        )
    return " ".join(parts)


def notes(found: Outcomes) -> list[str]:
    """Return where the present rule loses most."""
    made = []
    for place, (asked, title) in ASKED.items():
        kept = {key: spot for key, spot in found[place].items() if not _broken(found, key, asked)}
        if not kept:
            continue
        worst = max(kept.values(), key=lambda s, a=asked: s.rate(f"plain {a}") - s.rate(f"new {a}"))  # type: ignore[misc]
        new, plain = worst.rate(f"new {asked}"), worst.rate(f"plain {asked}")
        if plain - new > 3 * np.sqrt(2) * grid.noise(0.5, worst.tries):
            made.append(
                f"{title}: where the plain rule holds its level the present one loses most with "
                f"{worst.where}: {new:.2f} against {plain:.2f}."
            )
    return made


def draw(figure: Figure, found: Outcomes, margins: Sequence[float]) -> None:
    """Draw a panel for each verdict: the plain rule across, the present one upwards."""
    axes = panels(figure, 1, len(ASKED), sharey=True)
    for ax, (place, (asked, title)) in zip(axes, ASKED.items(), strict=True):
        ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, zorder=1)
        for k, margin in enumerate(margins):
            here = {key: spot for key, spot in found[place].items() if spot.margin == margin}
            for hollow in (False, True):
                some = [spot for key, spot in here.items() if _broken(found, key, asked) is hollow]
                dots = np.array([(s.rate(f"plain {asked}"), s.rate(f"new {asked}")) for s in some]).reshape(
                    -1, 2
                )
                ax.scatter(
                    dots[:, 0],
                    dots[:, 1],
                    s=11,
                    facecolor="none" if hollow else COLOURS[k],
                    edgecolor=COLOURS[k],
                    linewidth=0.6 if hollow else 0.0,
                    zorder=2,
                )
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
        titled(ax, title, "by the plain rule", "by the present rule" if ax is axes[0] else "")
    handles: list[Any] = [
        axes[0].scatter([], [], s=14, color=COLOURS[k], linewidth=0, label=f"{margin:g}")
        for k, margin in enumerate(margins)
    ]
    legend = figure.legend(
        handles=handles, loc="outside right upper", fontsize=SMALL, frameon=False, title="NAMMD"
    )
    legend.get_title().set_fontsize(SMALL)
