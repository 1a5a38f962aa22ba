"""What the study of scales found, in tables, a figure and sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.calibration.grid import ALPHA
from experiments.calibration.scale_faults import FAULTS, SCENES
from experiments.calibration.scale_laws import LAWS
from experiments.figures import COLOURS, MARKERS, legend, panels, titled
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.summary import counted, rate_of, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAR = 0.06
"""The largest share of wrong FAR that is put up with."""

_RULES = {"median": "the median alone", "all": "all scales", "Bonferroni": "all scales, Bonferroni"}
_MAIN_SCENES = ("normal", "clusters")
_LIMITS = ("spikes", "wide", "tight")
_PLACES = {
    "reference": "like the reference",
    "accepted": "like the accepted data",
    "mixture": "both, mixed",
    "half-way": "half of the accepted drift",
    "5 % moved": "5 % of rows far away: at the margin",
    "noise": "noise of a tenth of a standard deviation: at the margin",
    "accepted distance": "ball: like the accepted data, at the margin",
    "other side": "ball: as far on the other side, at the margin",
}

Rate = Mapping[str, float]


class Spot(NamedTuple):
    """A setting in which every FAR is an error."""

    law: str
    columns: int
    rows: str
    place: str


def levels(results: Results[Any], rule: str = "all") -> dict[Spot, dict[str, float]]:
    """Return how often a rule says FAR in every setting in which it is wrong."""
    hits: Counter[Spot] = Counter()
    tries: Counter[Spot] = Counter()
    for done in results.cells:
        if done.cell["part"] != "level":
            continue
        columns, rows = str(done.cell["size"]).split(" x ")
        for name, count in done.values.items():
            place, _, asked = name.partition("/")
            if asked == rule:
                spot = Spot(str(done.cell["law"]), int(columns), rows, place)
                hits[spot] += count
                tries[spot] += done.values["made"]
    return {spot: rate_of(hits[spot], tries[spot]) for spot in tries}


def power(
    results: Results[Any],
    way: str,
    faults: Iterable[str],
    rule: str,
    scenes: Iterable[str] = _MAIN_SCENES,
    rows: int | None = None,
) -> Rate | None:
    """Return how often a rule says FAR of candidates with some faults; None where nobody asked."""
    hits = tries = 0
    for done in results.cells:
        cell, values = done.cell, done.values
        wanted = cell["part"] == "power" and cell["scene"] in scenes and rows in (None, cell["rows"])
        for name in faults if wanted else ():
            if f"{way}/{name}/{rule}" in values:
                hits += values[f"{way}/{name}/{rule}"]
                tries += values[f"{way}/made"]
    return rate_of(hits, tries) if tries else None


def of_kind(kind: str, scenes: Iterable[str] = _MAIN_SCENES) -> list[str]:
    """Return the faults of a kind."""
    return list(dict.fromkeys(f for s in scenes for f in SCENES[s].faults if FAULTS[f].kind == kind))


def section(results: Results[Any]) -> Section:
    """Return the section of the page."""
    found = levels(results)
    body = (
        "A tolerance holds candidates against a margin at the median bandwidth and at a half, a quarter, an "
        "eighth and a sixteenth of it. How often is FAR wrong, over all scales together? "
        f"{counted(len({spot.law for spot in found}), 'law')} with a drift that was accepted, in the first "
        "column (for a ball in all of them). Candidates that are mixtures of what was accepted, or nearly, "
        "are held against the smallest margin there is, that of 5 % of rows; with 5 % of rows far away they "
        "are at it, at every scale. Candidates with noise of a tenth of a standard deviation are at the "
        "margin of a tolerance of the reference alone, where noise is what is negligible. With a ball the "
        "margin is the distance of the accepted data, which is estimated. Every FAR is an error, of which "
        f"{ALPHA:.0%} are allowed. Rows are those of the reference and of the accepted data, then of the "
        "candidate where it has others; *above* counts the settings with a rate above "
        f"{BAR:g}, and then those that are above it by more than two standard errors; *scales* is how many "
        "of the five could be judged, on average.\n\n"
        + _level_table(results, "law", lambda spot: spot.law, dict.fromkeys(LAWS, ""))
        + "\n"
        + _level_table(results, "columns", lambda spot: str(spot.columns))
        + "\n"
        + _level_table(results, "rows", lambda spot: spot.rows)
        + "\n"
        + _level_table(
            results, "candidate", lambda spot: _PLACES[spot.place], dict.fromkeys(_PLACES.values(), "")
        )
        + "\nWhat is found of faults that were not used to choose anything: "
        + "; ".join(FAULTS[f].about for f in of_kind("coarse"))
        + " (coarse); "
        + "; ".join(FAULTS[f].about for f in of_kind("fine"))
        + " (fine). Where a drift was accepted, candidates have half of it. The margin at the median is "
        "what so many rows without any fault are proven to be within, which is more than at finer scales. "
        f"Shares of FAR, {', '.join(map(str, results.settings.power_columns))} columns taken together:\n\n"
        + _power_table(results)
        + "\nOne by one, the median alone and all scales:\n\n"
        + _fault_table(results)
        + "\nWhere it fails: a row that few others repeat, a lattice in many columns, and clusters that are "
        "narrower than the noise that is negligible, a tenth of a standard deviation of the column. "
        "Candidates of the clusters are like the accepted data.\n\n" + _limit_table(results)
    )
    picture = Picture(
        "scales_power",
        "Shares of FAR for each fault: the median bandwidth alone, and all scales.",
        lambda figure: _draw(figure, results),
        (7.0, 3.4),
    )
    return Section(
        body=body,
        sentence=_sentence(results),
        pictures=[picture],
        notes=[*_hard(results), *_notes(found)],
    )


def _level_table(
    results: Results[Any], name: str, key: Callable[[Spot], str], order: Mapping[str, str] | None = None
) -> str:
    found, median = levels(results), levels(results, "median")
    groups: dict[str, list[Spot]] = defaultdict(list)
    for spot in found:
        groups[key(spot)].append(spot)
    rows = []
    for group in order or sorted(groups, key=_by_number):
        here = groups.get(group, [])
        if not here:
            continue
        worst = max((found[spot] for spot in here), key=lambda rate: rate["mean"])
        alone = max((median[spot] for spot in here), key=lambda rate: rate["mean"])
        about = f": {LAWS[group].about}" if group in LAWS else ""
        rows.append(
            [
                f"{group}{about}",
                str(len(here)),
                shown(worst),
                f"{_mean(found[spot] for spot in here):.3f}",
                _above(found[spot] for spot in here),
                f"{alone['mean']:.3f}",
                f"{_scales(results, here):.1f}",
            ]
        )
    return table([name, "settings", "FAR, most", "mean", "above", "median alone, most", "scales"], rows)


def _by_number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(":"))


def _mean(rates: Iterable[Rate]) -> float:
    found = [rate["mean"] for rate in rates]
    return sum(found) / len(found)


def _above(rates: Iterable[Rate]) -> str:
    found = list(rates)
    return f"{sum(rate['mean'] > BAR for rate in found)}, {sum(clearly_above(rate) for rate in found)}"


def clearly_above(rate: Rate) -> bool:
    """Tell whether a rate is above the bar by more than two standard errors."""
    return rate["mean"] - 2 * rate["se"] > BAR


def _scales(results: Results[Any], here: list[Spot]) -> float:
    """Return how many scales were judged, on average."""
    wanted = {(spot.law, f"{spot.columns} x {spot.rows}") for spot in here}
    cells = [
        d for d in results.cells if (d.cell.get("law"), d.cell.get("size")) in wanted and "made" in d.values
    ]
    return float(sum(d.values["scales"] for d in cells) / sum(d.values["made"] for d in cells))


def _power_table(results: Results[Any]) -> str:
    rows = []
    for count in results.settings.power_rows:
        for way, accepted in (("hull", "a hull"), ("ball", "a ball")):
            for rule, said in _RULES.items():
                row = [str(count), f"{accepted}, {said}"]
                for kind, where in (("none", way), ("coarse", way), ("fine", way)):
                    row.append(_cell(power(results, where, of_kind(kind), rule, rows=count)))
                for kind in ("none", "coarse", "fine"):
                    # Without a drift there is nothing to draw a ball by.
                    rate = power(results, "alone", of_kind(kind), rule, rows=count) if way == "hull" else None
                    row.append(_cell(rate))
                rows.append(row)
    drift, none = "accepted drift", "no drift"
    head = [f"{what}, {which}" for which in (drift, none) for what in ("no fault", "coarse", "fine")]
    return table(["rows", "rule", *head], rows)


def _cell(rate: Rate | None) -> str:
    return "" if rate is None else f"{rate['mean']:.2f}"


def _fault_table(results: Results[Any]) -> str:
    counts = results.settings.power_rows
    rows = []
    for fault in [*of_kind("coarse"), *of_kind("fine")]:
        row = [FAULTS[fault].about]
        row += [_both(results, way, fault, count) for count in counts for way in ("hull", "ball", "alone")]
        rows.append(row)
    ways = ("hull", "ball", "no drift")
    return table(["fault", *(f"{way}, {count} rows" for count in counts for way in ways)], rows)


def _both(
    results: Results[Any], way: str, fault: str, rows: int, scenes: Iterable[str] = _MAIN_SCENES
) -> str:
    rates = [power(results, way, [fault], rule, scenes, rows) for rule in ("median", "all")]
    return " → ".join(_cell(rate) for rate in rates)


def _limit_table(results: Results[Any]) -> str:
    counts = results.settings.power_rows
    rows = []
    for scene in _LIMITS:
        for fault in SCENES[scene].faults:
            columns = {int(d.cell["columns"]) for d in results.cells if d.cell.get("scene") == scene}
            row = [SCENES[scene].about, ", ".join(map(str, sorted(columns))), FAULTS[fault].about]
            row += [_both(results, w, fault, n, [scene]) for n in counts for w in ("hull", "ball", "alone")]
            rows.append(row)
    ways = ("hull", "ball", "no drift")
    head = ["data", "columns", "candidate", *(f"{way}, {count} rows" for count in counts for way in ways)]
    return table(head, rows)


def _sentence(results: Results[Any]) -> str:
    found, count = levels(results), results.settings.power_rows[0]
    worst = max(found, key=lambda spot: found[spot]["mean"])

    def of(way: str, kind: str, rule: str) -> str:
        return _cell(power(results, way, of_kind(kind), rule, rows=count))

    above = [rate for rate in found.values() if rate["mean"] > BAR]
    clearly = sum(map(clearly_above, above))
    return (
        f"Over all scales FAR is wrong in at most {shown(found[worst])} of the samples in any of "
        f"{counted(len(found), 'setting')} ({_said(worst)}), and in {_mean(found.values()):.3f} on average; "
        f"{len(above)} are above {BAR:g}, {clearly} of them by more than two standard errors. With {count} "
        f"rows and an accepted drift it finds {of('hull', 'fine', 'all')} of the fine faults, where the "
        f"median alone finds {of('hull', 'fine', 'median')} (as a ball {of('ball', 'fine', 'all')} and "
        f"{of('ball', 'fine', 'median')}; without a drift {of('alone', 'fine', 'all')} and "
        f"{of('alone', 'fine', 'median')}), and {of('hull', 'coarse', 'all')} of the coarse ones, the median "
        f"{of('hull', 'coarse', 'median')}."
    )


def _hard(results: Results[Any]) -> list[str]:
    """Say which of the hard cases are missed."""
    count = results.settings.power_rows[0]
    lost = [
        f"{FAULTS[fault].about} ({SCENES[scene].about}): {_cell(rate)}"
        for scene in _LIMITS
        for fault in SCENES[scene].faults
        if FAULTS[fault].kind == "fine"
        and (rate := power(results, "hull", [fault], "all", [scene], count)) is not None
        and rate["mean"] < 0.5
    ]
    return [f"Of the hard cases it finds less than half of: {'; '.join(lost)}."] if lost else []


def _said(spot: Spot) -> str:
    columns = counted(spot.columns, "column")
    return f"{spot.law}, {columns}, {spot.rows} rows, {_PLACES[spot.place]}"


def _notes(found: Mapping[Spot, Rate]) -> list[str]:
    off = [f"{shown(rate)} ({_said(spot)})" for spot, rate in found.items() if clearly_above(rate)]
    return [f"FAR is wrong too often: {'; '.join(off)}."] if off else []


def _draw(figure: Figure, results: Results[Any]) -> None:
    count = results.settings.power_rows[0]
    faults = [*of_kind("coarse"), *of_kind("fine")]
    ways = (("hull", "an accepted drift (hull)"), ("ball", "an accepted drift (ball)"), ("alone", "no drift"))
    for ax, (way, title) in zip(panels(figure, 1, 3, sharey=True), ways, strict=True):
        for index, rule in enumerate(("median", "all")):
            rates = [power(results, way, [fault], rule, rows=count) for fault in faults]
            shares = [0.0 if rate is None else rate["mean"] for rate in rates]
            style: dict[str, Any] = {"color": COLOURS[index], "marker": MARKERS[index], "linestyle": ""}
            ax.plot(shares, range(len(faults)), markersize=4, label=_RULES[rule], **style)
        ax.set_yticks(range(len(faults)), [f"{FAULTS[fault].kind}: {fault}" for fault in faults])
        ax.set_xlim(-0.04, 1.04)
        titled(ax, title, f"share of FAR, {count} rows")
    figure.axes[0].invert_yaxis()
    legend(figure.axes[-1], loc="center")
