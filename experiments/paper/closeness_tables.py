"""What the two tables of closeness tests with NAMMD and with MMD have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.experiment import Cell, Context, Values
from experiments.paper.benchmark_data import DATASETS
from experiments.paper.closeness_pairs import (
    CONTROL,
    EQUAL,
    GAP,
    METHODS,
    TESTS,
    Known,
    chosen_kernels,
    penalised_kernel,
    redrawn_setting,
    rejections,
    rows_for,
    setting_at,
)
from experiments.results import Results
from experiments.rule import Claim, Compared, not_lower
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.summary import counted, joined, joined_mean, mean, pooled_rate, rate, shown

Printed = Mapping[str, Sequence[tuple[float, float]]]
"""The powers of MMD and of NAMMD that the paper prints, by data set, one pair for each epsilon."""

_PAIRS = {"paper": "the paper's tests", "our": "our tests"}
_WHOSE = {"paper": "paper's", "our": "ours"}


@dataclass(frozen=True)
class Pairs(Settings):
    """Settings of both tables.

    Attributes
    ----------
    epsilons : tuple of float
        The margins.
    points : int
        How many points each distribution has.
    choice_rows : int
        The rows of each sample on which the kernels are chosen.
    runs : int
        How many pairs of pairs are made for every margin; `repetitions` samples are drawn from each.
    power : float
        The power that the number of rows is chosen for.
    least_rows, most_rows : int
        The smallest and the largest number of rows.
    """

    epsilons: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7)
    points: int = 500
    choice_rows: int = 1000
    runs: int = 10
    power: float = 0.95
    least_rows: int = 100
    most_rows: int = 8000


def cells(settings: Pairs) -> Iterator[Cell]:
    """Yield the cells: a run for a data set and a margin."""
    for data in DATASETS:
        for epsilon in settings.epsilons:
            for run in range(settings.runs):
                yield {"data": data, "epsilon": epsilon, "run": run}


def runner(
    share: float,
    *,
    penalty: float | None = None,
    redrawn: bool = False,
    known_rows: Mapping[str, int] | None = None,
) -> Callable[[Pairs, Cell, Context], Values]:
    """Return the function that runs a cell.

    Parameters
    ----------
    share : float
        The kernel for NAMMD keeps this share of the best score,
    penalty : float, optional
        or it is learned with this weight of the norms.
    redrawn : bool
        Whether the second pair is made from other rows, as the authors do, and not from the first.
    known_rows : mapping, optional
        The authors' rows for a sample, by data set, where they are known.
    """

    def run(settings: Pairs, cell: Cell, context: Context) -> Values:
        data, epsilon = str(cell["data"]), float(cell["epsilon"])
        for_mmd, for_nammd = chosen_kernels(data, settings.choice_rows, share, context)
        if penalty is not None:
            for_nammd = penalised_kernel(data, settings.choice_rows, penalty, context)
        if redrawn:
            setting = redrawn_setting(data, settings.points, epsilon, for_nammd, context)
        else:
            setting = setting_at(data, settings.points, epsilon, for_nammd, for_mmd, context)
        by_nammd = Known.of(setting, for_nammd)
        by_mmd = Known.of(setting, for_mmd) if for_mmd != for_nammd else by_nammd
        wanted = (known_rows or {}).get(data) or rows_for(
            by_nammd, settings.power, settings.most_rows, context.rng
        )
        rows = min(max(wanted, settings.least_rows), settings.most_rows)
        known = {name: by_nammd if "nammd" in name else by_mmd for name in METHODS}
        if for_mmd != for_nammd:
            known[CONTROL] = by_nammd
        found = rejections(known, rows, settings.repetitions, context.rng)
        return {
            "rows": rows,
            "bandwidths": (for_mmd.bandwidth, for_nammd.bandwidth),
            "norms": (sum(setting.first.norms), sum(setting.second.norms)),
            "mmd2": (by_mmd.first.mmd2, by_mmd.second.mmd2),
            "attempts": setting.attempts,
            "tests": {
                name: {what: rate(hits) for what, hits in both.items()} for name, both in found.items()
            },
            "gain": {
                who: mean(
                    np.subtract(*(found[f"{who} {s}"]["power"].astype(float) for s in ("nammd", "mmd")))
                )
                for who in _PAIRS
            },
            "gain at equal level": {
                who: mean(np.subtract(*(found[f"{who} {s}"][EQUAL].astype(float) for s in ("nammd", "mmd"))))
                for who in _PAIRS
            },
        }

    return run


def section(
    results: Results[Pairs], printed: Printed, errors: Printed, how: str, *, known: str | None = None
) -> Section:
    """Return the section of a table.

    Parameters
    ----------
    results : Results
        The results.
    printed, errors : mapping
        The paper's table, and its ±.
    how : str
        Which kernels the tests use, and how pairs and samples are made.
    known : str, optional
        The data set whose pairs and samples are as the authors', so that the printed powers are compared.
    """
    settings = results.settings
    gains = _gains(results, "gain")
    body = (
        f"{how} {counted(settings.runs, 'run')} of {settings.repetitions} samples. Power of MMD / of NAMMD:"
        "\n\n"
        + table(["data", "", *(f"ε = {e:g}" for e in settings.epsilons)], _powers(results, printed, errors))
        + "\nLevel over all data, where the distance is ε, mean power, and mean power at equal level: with "
        "the bar moved until the level is 0.05 at the margin:\n\n"
        + table(
            ["test", *(f"level, ε = {e:g}" for e in settings.epsilons), "power", "at equal level"],
            _levels(results),
        )
    )
    compared = []
    if known is not None:
        compared = [
            Compared(_rate(results, f"paper {s}", "power", e, known), pair[k], error[k])
            for e, pair, error in zip(settings.epsilons, printed[known], errors[known], strict=False)
            for k, s in enumerate(("mmd", "nammd"))
        ]
    return Section(
        body=body,
        sentence=_sentence(results, gains) + _equal_sentence(results),
        claim=_claim(gains),
        notes=_control(results),
        compared=compared,
    )


def _gains(results: Results[Pairs], what: str) -> dict[tuple[str, str, float], dict[str, float]]:
    """Return NAMMD's power less MMD's, by test, data set and margin."""
    return {
        (who, data, epsilon): joined_mean(v[what][who] for v in results.where(data=data, epsilon=epsilon))
        for who in _PAIRS
        for data in DATASETS
        for epsilon in results.settings.epsilons
    }


def _has_equal(results: Results[Pairs]) -> bool:
    """Return whether the results have powers at equal level; earlier ones do not."""
    return all("gain at equal level" in v for v in results.where())


def _equal_sentence(results: Results[Pairs]) -> str:
    """Say how the powers compare where both tests are given the same level."""
    if not _has_equal(results):
        return ""
    gains = _gains(results, "gain at equal level")
    mmd, own = (_rate(results, f"paper {s}", EQUAL)["mean"] for s in ("mmd", "nammd"))
    below = ", ".join(_below(gains, "paper")) or "nowhere"
    return (
        f" At equal level, by the paper's tests, {mmd:.3f} and {own:.3f}, below: {below}. That is what the "
        "statistic itself gains."
    )


def deformed(results: Results[Pairs]) -> str:
    """Say how our pairs and samples are made."""
    settings, sizes = results.settings, [v["rows"] for v in results.where()]
    return (
        f"Our pairs are a deformation: from {settings.points} rows of either sample, drawn towards their "
        "means (under a narrow kernel real data cannot be far apart), the paper's algorithm moves points "
        f"until NAMMD = ε, and on until ε + {GAP:g}; norms and MMD² of the second pair are larger. Samples "
        f"have {min(sizes)} to {max(sizes)} rows, for a power of about {settings.power:g}: the printed "
        "powers are of other pairs."
    )


def _powers(results: Results[Pairs], printed: Printed, errors: Printed) -> list[list[str]]:
    rows = []
    for data in DATASETS:
        cells = (
            f"{mmd:.3f} ± {a:.3f} / {own:.3f} ± {b:.3f}"
            for (mmd, own), (a, b) in zip(printed[data], errors[data], strict=True)
        )
        rows.append([data, "printed", *cells])
        for who in _PAIRS:
            row = ["", _WHOSE[who]]
            for epsilon in results.settings.epsilons:
                mmd, own = (_rate(results, f"{who} {s}", "power", epsilon, data) for s in ("mmd", "nammd"))
                row.append(f"{shown(mmd)} / {shown(own)}")
            rows.append(row)
    return rows


def _levels(results: Results[Pairs]) -> list[list[str]]:
    return [
        [
            words,
            *(shown(_rate(results, name, "level", epsilon)) for epsilon in results.settings.epsilons),
            shown(_rate(results, name, "power")),
            shown(_rate(results, name, EQUAL)) if _has_equal(results) else "–",
        ]
        for name, words in TESTS.items()
    ]


def _rate(
    results: Results[Pairs], name: str, what: str, epsilon: float | None = None, data: str | None = None
) -> dict[str, float]:
    """Join how often a test rejected, over all data sets or margins where none is named."""
    wanted = {k: v for k, v in {"epsilon": epsilon, "data": data}.items() if v is not None}
    return joined(v["tests"][name][what] for v in results.where(**wanted))


def _below(gains: Mapping[tuple[str, str, float], Mapping[str, Any]], who: str) -> list[str]:
    """Return where NAMMD's power is below MMD's by more than two standard errors."""
    return [
        f"{data} {epsilon:g}"
        for (method, data, epsilon), gain in gains.items()
        if method == who and gain["mean"] < -2 * (gain["se"] or 0.0)
    ]


def _claim(gains: Mapping[tuple[str, str, float], Mapping[str, Any]]) -> Claim:
    # The tables print equal powers too, so that NAMMD must not be below.
    return Claim(
        "NAMMD's closeness test performs better than MMD's on all data (here: nowhere worse).",
        [
            not_lower(f"{data}, ε = {epsilon:g}", gain["mean"], gain["se"] or 0.0)
            for (who, data, epsilon), gain in gains.items()
            if who == "paper"
        ],
    )


def _sentence(results: Results[Pairs], gains: Mapping[tuple[str, str, float], Mapping[str, Any]]) -> str:
    told = []
    for who, words in _PAIRS.items():
        mmd, own = (_rate(results, f"{who} {s}", "power")["mean"] for s in ("mmd", "nammd"))
        below = ", ".join(_below(gains, who)) or "nowhere"
        told.append(f"by {words} {mmd:.3f} and {own:.3f}, below: {below}")
    return f"Mean power of MMD and of NAMMD: {'; '.join(told)} (by more than two standard errors)."


def same_kernel_powers(results: Results[Pairs]) -> str:
    """Say in a few words how the mean powers compare, where both statistics have one kernel."""
    what = EQUAL if _has_equal(results) else "power"
    mmd, own = (_rate(results, f"paper {s}", what)["mean"] for s in ("mmd", "nammd"))
    return f"in closeness tests NAMMD's mean {what} is {own:.2f}, MMD's {mmd:.2f} with the same kernel"


def _control(results: Results[Pairs]) -> list[str]:
    """Say how much of the gain is due to the kernel, where the two statistics have different ones."""
    differ = [v["tests"] for v in results.where() if CONTROL in v["tests"]]
    if not differ:
        return []
    mmd, lent, own = (
        pooled_rate(v[name]["power"] for v in differ)["mean"]
        for name in ("paper mmd", CONTROL, "paper nammd")
    )
    return [
        f"Where NAMMD's kernel is not MMD's ({len(differ)} of {len(results.where())} runs) the paper's test "
        f"of MMD has power {mmd:.3f} under its own kernel, {lent:.3f} under NAMMD's, and NAMMD {own:.3f}: "
        + (
            "most of the difference is the kernel's, not the statistic's."
            if lent - mmd > own - lent
            else "most of the difference is the statistic's."
        )
    ]
