"""What the page says of verdicts with an estimated tolerance: tables, bars, and what remains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from experiments.calibration import grid
from experiments.calibration.cases import DIFFERENT, TURNED, Sizes
from experiments.calibration.grid import ALPHA, Spot
from experiments.section import table
from experiments.summary import counted

ASKED = ("far", "close")
HIGHEST, HIGHEST_OF_FEW, LEAST = 0.09, 0.12, 0.94
"""No rate is to be above the first with 50 rows or more on every side, above the second with fewer; and no
coverage is to be below the third."""
MANY = 50


def _rules(accepted: Sequence[int], asked: str) -> dict[str, str]:
    """Return the names of the counts, by what the page calls the rule."""
    several = {f"`Tolerance`, {k} accepted": f"{asked} {k}" for k in accepted}
    pairs = {
        "`compare_pairs`, shared": f"pairs {asked} shared",
        "`compare_pairs`, separate": f"pairs {asked} separate",
    }
    plain = {"plain, shared": f"plain {asked} shared", "plain, separate": f"plain {asked} separate"}
    return {**several, **pairs, **plain}


def _of_many_rows(spot: Spot) -> bool:
    return Sizes.of(spot.size).smallest >= MANY


def _is_different(spot: Spot) -> bool:
    return spot.law.removesuffix(TURNED) in DIFFERENT


def _with(found: Sequence[Spot], name: str) -> list[Spot]:
    return [spot for spot in found if name in spot.counts]


def _worst(found: Sequence[Spot], name: str) -> Spot:
    return max(found, key=lambda spot: spot.rate(name))


def body(found: Sequence[Spot], sizes: Sequence[str], accepted: Sequence[int]) -> str:
    """Return what was done, and the tables."""
    alike = {spot.law for spot in found if not _is_different(spot)}
    different = {spot.law.removesuffix(TURNED) for spot in found if _is_different(spot)}
    margins = ", ".join(f"{margin:g}" for margin in sorted({spot.margin for spot in found}))
    band = " and ".join(
        f"± {grid.ERRORS * grid.noise(ALPHA, n):.3f} with {n} repetitions"
        for n in sorted({spot.tries for spot in found})
    )
    return (
        "The tolerance is the estimated distance of accepted data, and the candidate is exactly as far from "
        "the reference as they are, so FAR is wrong and CLOSE is wrong, and each may be said in 5% of all "
        f"samples. {counted(len(alike), 'law')} where accepted data and candidate have the same "
        f"distribution, and {counted(len(different), 'case', 'cases')} where they are equally far away in "
        "*different* ways (one shifted, the other with stray rows), both ways round where their sizes "
        f"differ; at NAMMD {margins}. Sizes are the rows of the reference and of the accepted data, and "
        "after the colon those of the candidate; *500 and 50 : 500* has a reference of 500 rows and 50 "
        "accepted ones. With several accepted datasets all are equally far, which is the worst for CLOSE; "
        "for FAR the worst is that the others are nearer, and then one decides alone. `Tolerance` and "
        "*shared* compare with the same reference sample, *separate* with another one, of as many rows as "
        "the candidate. *Plain* is the rule that knows the variance of the difference and nothing else, and "
        "near zero a normal law. Tolerances that are mostly noise are kept here, as with `anyway=True`.\n\n"
        f"The largest rate, and how many settings are above {ALPHA:g} by more than chance explains, which is "
        f"{band} ({grid.ERRORS:g} standard errors):\n\n"
        + "\n".join(_by_size(found, sizes, _rules(accepted, asked), asked) for asked in ASKED)
        + f"\nBy how many rows there are on the smallest side; at most 1% of the settings above {ALPHA:g} by "
        f"more than chance explains and none above {HIGHEST:g} is the aim with {MANY} rows or more, none "
        f"above {HIGHEST_OF_FEW:g} with fewer:\n\n"
        + _bars(found, accepted)
        + "\nHow often the 95% interval for the difference of the two distances, which is zero, holds it; "
        f"{LEAST:g} is the aim with {MANY} rows or more, up to what chance explains:\n\n"
        + _coverage(found, sizes)
    )


def _by_size(found: Sequence[Spot], sizes: Sequence[str], rules: Mapping[str, str], asked: str) -> str:
    rows = []
    kinds: dict[str, Callable[[Spot], bool]] = {
        "the same": lambda spot: not _is_different(spot),
        "different": _is_different,
    }
    for size in sizes:
        for kind, belongs in kinds.items():
            here = [spot for spot in found if spot.size == size and belongs(spot)]
            if here:
                told = [_largest(_with(here, name), name) for name in rules.values()]
                rows.append([str(Sizes.of(size)), kind, str(len(here)), *told])
    return table([f"falsely {asked.upper()}: rows", "laws", "settings", *rules], rows)


def _largest(here: Sequence[Spot], name: str) -> str:
    if not here:
        return ""
    return f"{_worst(here, name).rate(name):.3f}; {sum(spot.above(name) for spot in here)}"


def _bars(found: Sequence[Spot], accepted: Sequence[int]) -> str:
    rows = []
    for asked in ASKED:
        for rule, name in _rules(accepted, asked).items():
            row = [asked.upper(), rule]
            for many in (True, False):
                here = [spot for spot in _with(found, name) if _of_many_rows(spot) is many]
                row += _judged(here, name, HIGHEST if many else HIGHEST_OF_FEW)
            rows.append(row)
    few = f"fewer than {MANY} rows"
    return table(
        [
            *("falsely", "rule", f"{MANY} rows or more: largest", "above by more than chance"),
            *(
                f"above {HIGHEST:g}",
                f"{few}: largest",
                "above by more than chance",
                f"above {HIGHEST_OF_FEW:g}",
            ),
        ],
        rows,
    )


def _judged(here: Sequence[Spot], name: str, highest: float) -> list[str]:
    if not here:
        return ["", "", ""]
    off = sum(spot.above(name) for spot in here)
    over = sum(spot.rate(name) > highest for spot in here)
    return [f"{_worst(here, name).rate(name):.3f}", f"{off} of {len(here)}", str(over)]


def _coverage(found: Sequence[Spot], sizes: Sequence[str]) -> str:
    rows = []
    for size in sizes:
        here = [spot for spot in found if spot.size == size]
        row = [str(Sizes.of(size)), str(len(here))]
        for side in ("shared", "separate"):
            name = f"covers {side}"
            below = sum(spot.below(name, LEAST) for spot in here)
            row.append(f"{grid.spread(here, name)}; {below}")
        rows.append(row)
    head = "smallest to largest coverage, and settings below by more than chance"
    return table(["rows", "settings", f"shared: {head}", f"separate: {head}"], rows)


def sentence(found: Sequence[Spot], accepted: Sequence[int]) -> str:
    """Return what was found with enough rows, in a few sentences."""
    many = [spot for spot in found if _of_many_rows(spot)]
    return _false_verdicts(many, accepted, f"With {MANY} rows or more on every side")


def _false_verdicts(here: Sequence[Spot], accepted: Sequence[int], told: str) -> str:
    parts = []
    for asked in ASKED if here else ():
        rules = _rules(accepted, asked)
        present = [name for name in rules.values() if not name.startswith("plain")]
        worst, off, judged = _summary(here, present)
        plain, plain_off, _ = _summary(here, [name for name in rules.values() if name.startswith("plain")])
        parts.append(
            f"{told} {asked.upper()} is said falsely in at most {worst}, and above {ALPHA:g} by more "
            f"than chance explains in {off} of {judged} settings; by the plain rule in at most {plain}, "
            f"and in {plain_off}."
        )
    return " ".join(parts)


def _summary(here: Sequence[Spot], names: Sequence[str]) -> tuple[str, int, int]:
    """Return the worst rate of some counts, and how many settings are off of how many."""
    pairs = [(spot, name) for name in names for spot in _with(here, name)]
    worst = max(pairs, key=lambda pair: pair[0].rate(pair[1]))
    return worst[0].told(worst[1]), sum(spot.above(name) for spot, name in pairs), len(pairs)


def notes(found: Sequence[Spot], accepted: Sequence[int]) -> list[str]:
    """Return what was found with few rows, and where something remains."""
    few = [spot for spot in found if not _of_many_rows(spot)]
    made = [_false_verdicts(few, accepted, "With 20 rows")] if few else []
    for asked in ASKED:
        for rule, name in _rules(accepted, asked).items():
            if name.startswith("plain"):
                continue
            off = [spot for spot in _with(found, name) if spot.above(name)]
            if off:
                each = "; ".join(spot.told(name) for spot in sorted(off, key=lambda s: -s.rate(name))[:6])
                more = f" and {len(off) - 6} more" if len(off) > 6 else ""
                chance = grid.by_chance(_with(found, name))
                made.append(f"Where {rule} says {asked.upper()} too often: {each}{more}; {chance}.")
    first = f"none {accepted[0]}"
    without = [spot for spot in found if spot.counts[first]]
    if without:
        made.append(_without_tolerance(without, accepted[0]))
    void = sum(spot.counts["void shared"] + spot.counts["void separate"] for spot in found)
    if void:
        made.append(
            f"In {counted(int(void), 'comparison')} there was no variance to divide by; no verdict is "
            "counted there."
        )
    return made


def _without_tolerance(without: Sequence[Spot], accepted: int) -> str:
    none = f"none {accepted}"
    worst = _worst(without, none)
    told = (
        "Where the estimated distance of the accepted data is not positive there is no tolerance, and no "
        f"verdict: in up to {worst.told(none)} of the samples."
    )
    rates = []
    for spot in without:
        left = spot.tries - spot.counts[none]
        if left >= 100 and _of_many_rows(spot):
            rates += [(spot.counts[f"{asked} {accepted}"] / left, asked, spot) for asked in ASKED]
    if not rates:
        return told
    rate, asked, spot = max(rates, key=lambda each: each[0])
    return (
        f"{told} Among the tolerances that were made, the largest share that goes wrong with {MANY} rows or "
        f"more is {rate:.3f} ({asked.upper()}, {spot.where})."
    )
