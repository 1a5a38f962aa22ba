"""What the page says of rows that belong together: tables, bars, and what remains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.calibration.grid import ALPHA, noise
from experiments.figures import COLOURS
from experiments.results import Results
from experiments.section import Picture, Section, table
from nammd.report.style import FAINT, INK, SMALL, axes_or_new
from nammd.statistics.pair import Alternative

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALTERNATIVES: tuple[Alternative, ...] = ("greater", "less")

LEVELS = {
    "groups": "groups, a known margin",
    "others": "groups, laws that the rule was not chosen by",
    "uneven": "groups, one of which has half of all rows",
    "estimated": "groups, an estimated margin and a shared reference",
    "weights": "groups, and weights of rows that mend a biased draw",
    "both": "the same groups in both datasets",
    "series": "blocks of time",
    "permutation": "relabelling whole groups, equal laws",
}
"""Where every rejection is an error."""

POWERS: dict[str, tuple[Alternative, str]] = {
    "farther": ("greater", "said to be farther, at twice the margin"),
    "closer": ("less", "said to be closer, at half the margin"),
}

FEW, BAR, BAR_OF_FEW = 30, 0.065, 0.08
"""No rate is to be above the second with so many groups, or more; above the third with fewer."""


ENOUGH = 100
"""Of settings with fewer repetitions only the mean over all of them says anything."""


def asked(kind: str) -> tuple[Alternative, ...]:
    """Return the questions that are put to data of a kind."""
    if kind in POWERS:
        return (POWERS[kind][0],)
    return ALTERNATIVES if kind != "permutation" else ("greater",)


@dataclass(frozen=True)
class Spot:
    """One setting, all its chunks together."""

    cell: dict[str, Any]
    tries: int
    counts: dict[str, float]

    def rate(self, name: str) -> float:
        """Return how often a thing happened, as a share."""
        return self.counts[name] / self.tries

    def error(self, name: str) -> float:
        """Return the standard error of that."""
        return noise(max(self.rate(name), 1 / self.tries), self.tries)

    @property
    def bar(self) -> float:
        """What the rate of errors is not to exceed."""
        return BAR if self.cell["groups"] >= FEW else BAR_OF_FEW

    def above(self, name: str) -> bool:
        """Whether the rate exceeds the bar by more than the simulation's own error explains."""
        return self.rate(name) > self.bar + 3 * noise(self.bar, self.tries)

    @property
    def where(self) -> str:
        """The setting in words."""
        c = self.cell
        unit = "rows" if c["kind"] == "series" else f"groups of {c['sizes']} size"
        return f"{c['law']}, NAMMD {c['margin']:g}, {c['groups']} {unit}, correlation {c['correlation']:g}"


def spots(results: Results[Any]) -> list[Spot]:
    """Return the settings of the study."""
    joined: dict[tuple[Any, ...], tuple[dict[str, Any], int, dict[str, float]]] = {}
    for done in results.cells:
        cell = {name: value for name, value in done.cell.items() if name not in ("chunk", "count")}
        key = tuple(sorted(cell.items()))
        _, tries, counts = joined.get(key, (cell, 0, {}))
        for name, value in done.values.items():
            counts[name] = counts.get(name, 0) + value
        joined[key] = cell, tries + int(done.cell["count"]), counts
    return [Spot(*found) for found in joined.values()]


def section(results: Results[Any]) -> Section:
    """Return what the page shows."""
    found = spots(results)
    levels = [spot for spot in found if spot.cell["kind"] in LEVELS]
    laws = len({spot.cell["law"] for spot in found})
    body = (
        "Rows of a group go together, by the correlation given, but each follows its law, so the distance of "
        f"the laws is known; {laws} laws, margins "
        f"{', '.join(f'{m:g}' for m in results.settings.margins)}, groups of 5 rows and groups of 1 to 30. "
        "*Grouped* says which rows belong together, *naive* does not. At the boundary, where every rejection "
        "is an error: the largest rate over all laws and margins, and the mean one; where there are fewer "
        f"than {ENOUGH} repetitions, the mean with its standard error. The rate itself is to be at most "
        f"{BAR:g} with {FEW} groups or more and at most {BAR_OF_FEW:g} with fewer; a setting counts as above "
        "that only where it is so by more than three standard errors of the simulation:\n\n"
        + _level_table(levels)
    )
    powers = [spot for spot in found if spot.cell["kind"] in POWERS]
    if powers:
        body += (
            "\n\nHow often a difference is found, as a mean over the laws; groups of 1 to 30 rows:\n\n"
            + _power_table(powers)
        )
    return Section(
        body=body,
        sentence=_sentence(levels),
        pictures=[
            Picture(
                "calibration_groups",
                "Rejection rates at the boundary where rows belong together; each dot is a law at a margin, "
                "a diamond the mean of all.",
                lambda figure: _draw(figure, [s for s in found if s.cell["kind"] == "groups"]),
                (9.6, 5.4),
            )
        ],
        tables={"groups-level.md": _guide_table(levels), "groups-power.md": _power_table(powers)},
        notes=[_worst(levels, kind) for kind in LEVELS if any(s.cell["kind"] == kind for s in levels)],
    )


def _by(found: Sequence[Spot], *names: str) -> dict[tuple[Any, ...], list[Spot]]:
    """Return the settings that have the same values of some names, in the order of these values."""
    together: dict[tuple[Any, ...], list[Spot]] = {}
    for spot in found:
        together.setdefault(tuple(spot.cell[name] for name in names), []).append(spot)
    return dict(sorted(together.items()))


def _level_table(found: Sequence[Spot]) -> str:
    rows = []
    for kind, told in LEVELS.items():
        mine = [spot for spot in found if spot.cell["kind"] == kind]
        for (count, correlation), here in _by(mine, "groups", "correlation").items():
            row = [told, f"{count}", f"{correlation:g}", f"{len(here)}", _tries(here)]
            for alternative in ALTERNATIVES:
                for name in (f"{alternative} grouped", f"{alternative} naive"):
                    row.append(_rates(here, name) if alternative in asked(kind) else "")
            above = sum(spot.above(f"{a} grouped") for spot in here for a in asked(kind))
            rows.append([*row, f"{above} of {len(here) * len(asked(kind))}"])
    heads = [f"*{a}*, {name}" for a in ALTERNATIVES for name in ("grouped", "naive")]
    return table(
        ["what", "groups, or rows of a series", "correlation", "settings", "repetitions", *heads, "above"],
        rows,
    )


def _guide_table(found: Sequence[Spot]) -> str:
    """Return the largest rates of all, by what was said of the rows."""
    rows = []
    for kind, told in LEVELS.items():
        mine = [spot for spot in found if spot.cell["kind"] == kind]
        if not mine:
            continue
        row = [told]
        for name, here in (
            ("grouped", [spot for spot in mine if spot.cell["groups"] < FEW]),
            ("grouped", [spot for spot in mine if spot.cell["groups"] >= FEW]),
            ("naive", mine),
        ):
            names = [f"{a} {name}" for a in asked(kind)]
            row.append(_rates(_enough(here) or here, *names) if here else "")
        rows.append(row)
    few = "/".join(str(n) for n in sorted({s.cell["groups"] for s in found if s.cell["groups"] < FEW}))
    shown = table(["", f"{few} groups", f"{FEW} groups or more", "groups not told"], rows)
    note = (
        "The largest share of samples, over all laws, margins, sizes of groups and both directions, in which "
        f"a test at level {ALPHA:g} is wrong at the boundary; and the mean one. Where there are fewer than "
        f"{ENOUGH} repetitions, the mean with its standard error."
    )
    return f"{shown}\n{note}\n"


def _enough(found: Sequence[Spot]) -> list[Spot]:
    return [spot for spot in found if spot.tries >= ENOUGH]


def _rates(found: Sequence[Spot], *names: str) -> str:
    if not _enough(found):
        rate, error = _mean(found, *names)
        return f"{rate:.3f} ± {error:.3f}"
    rates = [spot.rate(name) for spot in found for name in names]
    return f"{max(rates):.3f}; {np.mean(rates):.3f}"


def _mean(found: Sequence[Spot], *names: str) -> tuple[float, float]:
    """Return the mean rate of all, and its standard error."""
    rate = float(np.mean([spot.rate(name) for spot in found for name in names]))
    tries = sum(spot.tries for spot in found) * len(names)
    return rate, noise(max(rate, 1 / tries), tries)


def _tries(found: Sequence[Spot]) -> str:
    return "/".join(str(tries) for tries in sorted({spot.tries for spot in found}))


def _power_table(found: Sequence[Spot]) -> str:
    rows = []
    for kind, (alternative, told) in POWERS.items():
        mine = [spot for spot in found if spot.cell["kind"] == kind]
        for (count, margin, correlation), here in _by(mine, "groups", "margin", "correlation").items():
            rates = [
                f"{np.mean([s.rate(f'{alternative} {name}') for s in here]):.2f}"
                for name in ("grouped", "naive")
            ]
            rows.append([told, f"{count}", f"{margin:g}", f"{correlation:g}", f"{len(here)}", *rates])
    return table(["what", "groups", "margin", "correlation", "laws", "grouped", "naive"], rows)


def _sentence(found: Sequence[Spot]) -> str:
    parts = []
    told: tuple[tuple[str, Callable[[Spot], bool]], ...] = (
        (f"With {FEW} groups or more", lambda spot: spot.cell["groups"] >= FEW),
        (f"With fewer than {FEW}", lambda spot: spot.cell["groups"] < FEW),
    )
    for words, chosen in told:
        here = [spot for spot in _enough(found) if chosen(spot)]
        if not here:
            continue
        rates = [(spot, f"{a} grouped") for spot in here for a in asked(spot.cell["kind"])]
        worst, name = max(rates, key=lambda one: one[0].rate(one[1]))
        naive = max(spot.rate(f"{a} naive") for spot in here for a in asked(spot.cell["kind"]))
        above = sum(spot.above(name) for spot, name in rates)
        parts.append(
            f"{words} the largest of {len(rates)} rates is {worst.rate(name):.3f} ± {worst.error(name):.3f}, "
            f"where the naive test reaches {naive:.3f}; {above or 'none'} above {worst.bar:g} by more than "
            "the error of the simulation."
        )
    return " ".join(parts)


def _worst(found: Sequence[Spot], kind: str) -> str:
    mine = [spot for spot in found if spot.cell["kind"] == kind]
    told = []
    for alternative in asked(kind):
        name = f"{alternative} grouped"
        if not _enough(mine):
            told.append(f"*{alternative}* {_rates(mine, name)}, the mean of {len(mine)} settings")
            continue
        worst = max(_enough(mine), key=lambda spot: spot.rate(name))
        told.append(
            f"*{alternative}* at most {worst.rate(name):.3f} ± {worst.error(name):.3f} ({worst.where})"
        )
    return f"{LEVELS[kind].capitalize()}: {'; '.join(told)}."


def _draw(figure: Figure, found: Sequence[Spot]) -> None:
    counts = sorted({s.cell["groups"] for s in found})
    correlations = sorted({s.cell["correlation"] for s in found})
    grid = figure.subplots(2, 2, sharex=True, sharey=True, squeeze=False)
    for i, alternative in enumerate(ALTERNATIVES):
        for j, name in enumerate(("grouped", "naive")):
            ax = axes_or_new(grid[i][j], 0)
            for index, count in enumerate(counts):
                for k, correlation in enumerate(correlations):
                    here = [
                        s for s in found if (s.cell["groups"], s.cell["correlation"]) == (count, correlation)
                    ]
                    if not here:
                        continue
                    middle = index + 0.27 * (k - (len(correlations) - 1) / 2)
                    if not _enough(here):
                        mean = min(_mean(here, f"{alternative} {name}")[0], 0.4)
                        ax.scatter(
                            [middle], [mean], s=26, color=COLOURS[k], marker="D", linewidth=0, zorder=3
                        )
                        continue
                    across = middle + np.linspace(-0.1, 0.1, len(here))
                    rates = np.clip([s.rate(f"{alternative} {name}") for s in here], 0, 0.4)
                    ax.scatter(across, rates, s=9, color=COLOURS[k], linewidth=0, zorder=3)
            ax.axhspan(0.0, BAR, color=FAINT, alpha=0.5, linewidth=0, zorder=0)
            ax.axhline(ALPHA, color=INK, linewidth=0.8, zorder=1)
            ax.set_ylim(-0.01, 0.41)
            ax.set_xticks(range(len(counts)), [str(count) for count in counts], fontsize=SMALL - 1)
            question = "farther?" if alternative == "greater" else "closer?"
            ax.set_title(f"{name}: {question}", fontsize=SMALL, color=INK, loc="left")
            if j == 0:
                ax.set_ylabel("rejected", fontsize=SMALL, color=INK)
            if i == 1:
                ax.set_xlabel("groups", fontsize=SMALL, color=INK)
    handles: list[Any] = [
        grid[0][0].scatter([], [], s=14, color=COLOURS[k], linewidth=0, label=f"{c:g}")
        for k, c in enumerate(correlations)
    ]
    legend = figure.legend(
        handles=handles, loc="outside right upper", fontsize=SMALL, frameon=False, title="correlation"
    )
    legend.get_title().set_fontsize(SMALL)
