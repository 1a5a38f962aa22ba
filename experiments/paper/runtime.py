"""Seconds of the two-sample tests (tab:runtime_compare)."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from experiments.experiment import Cell, Context, Experiment, Values
from experiments.paper.tst_methods import NAMES, Effort, missing_package, rejects, samples
from experiments.results import Results
from experiments.rule import Claim, Comparison
from experiments.section import Section, table
from experiments.settings import Settings

SIZES = (50, 100, 150, 200, 250, 300, 350, 400)
PAPER = {
    "actt": (35.918, 42.035, 44.429, 44.981, 45.129, 46.402, 46.077, 46.994),
    "auto-tst": (681.669, 707.498, 707.368, 734.686, 731.910, 750.984, 809.401, 847.017),
    "me-mabid": (45.945, 53.125, 82.473, 83.341, 83.877, 158.909, 159.829, 232.811),
    "mmd-deep": (303.413, 308.542, 446.897, 448.066, 451.478, 747.656, 743.727, 1025.473),
    "mmd-agg": (13.621, 14.742, 16.037, 17.031, 20.730, 21.316, 22.301, 23.655),
    "mmd-fuse": (9.340, 11.686, 13.298, 14.015, 16.573, 19.404, 23.441, 27.632),
    "nammd-fuse": (9.602, 12.107, 13.744, 14.388, 16.921, 19.989, 23.439, 27.845),
}
_ALIKE = 1.25
"""Times up to this factor apart count as similar."""

# Timed by turns in one cell, so that what else the machine does meets all of them.
_TOGETHER = {"kernels": ("nammd-fuse", "mmd-fuse", "mmd-agg", "actt")} | {
    method: (method,) for method in ("me-mabid", "auto-tst", "mmd-deep")
}


@dataclass(frozen=True)
class _Timing(Settings):
    sizes: tuple[int, ...] = SIZES
    permutations: int = 2000
    epochs: int = 1000


def _cells(settings: _Timing) -> Iterator[Cell]:
    for rows in settings.sizes:
        for group in _TOGETHER:
            yield {"rows": rows, "group": group}


def _run(settings: _Timing, cell: Cell, context: Context) -> Values:
    here = dataclasses.replace(context, device="cpu")
    effort, rows = Effort(settings.permutations, settings.epochs), int(cell["rows"])
    seconds: dict[str, list[float]] = {}
    for method in _TOGETHER[str(cell["group"])]:
        if missing_package(method) is None:
            seconds[method] = []
            # Imports, and what is made once, are not part of a test.
            rejects(method, "blob", *samples("blob", 40, here), Effort(19, 2), here)
    for _ in range(settings.repetitions):
        x, y = samples("blob", rows, here)
        for method, found in seconds.items():
            # The processor's time: it hardly depends on what else the machine does.
            start = time.process_time()
            rejects(method, "blob", x, y, effort, here)
            found.append(time.process_time() - start)
    return {method: {"shortest": min(found), "all": found} for method, found in seconds.items()}


def _seconds(results: Results[_Timing], rows: int, method: str) -> float:
    """Return the shortest time: the one least disturbed by what else ran."""
    found = [v[method]["shortest"] for v in results.where(rows=rows) if method in v]
    return float(found[0]) if found else math.nan


def _section(results: Results[_Timing]) -> Section:
    settings = results.settings
    times = {m: [_seconds(results, rows, m) for rows in settings.sizes] for m in PAPER}
    printed = {m: [PAPER[m][SIZES.index(rows)] for rows in settings.sizes] for m in PAPER}
    rows = [
        [str(n), *(f"{printed[m][k]:.1f} / {_shown(times[m][k])}" for m in PAPER)]
        for k, n in enumerate(settings.sizes)
    ]
    ratios = _ratios(times, "mmd-fuse")
    theirs = _ratios(printed, "mmd-fuse")
    alike = all(1 / _ALIKE <= r <= _ALIKE for r in ratios)
    known = [m for m in PAPER if m != "nammd-fuse" and not any(map(math.isnan, times[m]))]
    slower = [m for m in known if max(_ratios(times, m)) < 1 / _ALIKE]
    faster = [m for m in known if min(_ratios(times, m)) > _ALIKE]
    most = len(slower) > len(known) / 2
    body = (
        f"Seconds of one processor on blob by rows of each sample, {settings.permutations} permutations, "
        f"{settings.epochs} epochs. Ours are for one test, the shortest of {settings.repetitions}, on "
        f"{results.platform}. The paper does not say how many tests its seconds are for, nor on what "
        "machine, so only the order of the methods can be compared. "
        "Paper / ours:\n\n" + table(["rows", *(NAMES[m] for m in PAPER)], rows)
    )
    sentence = (
        f"NAMMDFuse takes {min(ratios):.2f} to {max(ratios):.2f} times as long as MMDFuse (paper: "
        f"{min(theirs):.2f} to {max(theirs):.2f})"
        + (", so the times are similar" if alike else ", so the times are not similar throughout")
        + (
            f"; at every size it is faster than {_list(slower)} by a factor of more than {_ALIKE:g}"
            if slower
            else f"; it is faster than no method by a factor of more than {_ALIKE:g} at every size"
        )
        + (f", and slower than {_list(faster)}." if faster else ".")
        + ("" if most else " The paper has it faster than most of the others.")
    )
    notes = []
    if settings.epochs < 1000:
        notes.append(
            f"With {settings.epochs} epochs in place of the authors' 1000, MMD-D and ME_MaBiD are timed for "
            "less work than in the paper."
        )
    lacking = [NAMES[m] for m in PAPER if m not in known and m != "nammd-fuse"]
    if lacking:
        notes.append(f"–: not run, for want of a package ({', '.join(lacking)}).")
    return Section(
        body=body,
        sentence=sentence,
        claim=Claim(
            "NAMMDFuse takes about as long as MMDFuse and is significantly faster than most others.",
            [
                *(
                    Comparison(f"as MMDFuse, {n} rows", 1 / _ALIKE <= r <= _ALIKE, f"{r:.2f} times")
                    for n, r in zip(settings.sizes, ratios, strict=True)
                ),
                Comparison("faster than most", most, f"than {len(slower)} of {len(known)}"),
            ],
        ),
        notes=notes,
    )


def _ratios(times: dict[str, list[float]], method: str) -> list[float]:
    """Return how many times as long as another method NAMMDFuse takes, for every size."""
    return [ours / other for ours, other in zip(times["nammd-fuse"], times[method], strict=True)]


def _shown(seconds: float) -> str:
    return "–" if math.isnan(seconds) else f"{seconds:.3f}"


def _list(methods: list[str]) -> str:
    return ", ".join(NAMES[m] for m in methods)


EXPERIMENT = Experiment(
    name="runtime",
    labels=("tab:runtime_compare",),
    title="Running times of the two-sample tests",
    seed=35,
    quick=_Timing(repetitions=3, sizes=(50, 100, 200, 400), epochs=100),
    full=_Timing(repetitions=3),
    tiny=_Timing(repetitions=1, sizes=(50,), permutations=19, epochs=2),
    cells=_cells,
    run_cell=_run,
    section=_section,
    alone=True,
)
