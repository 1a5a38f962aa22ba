"""Power of NAMMDFuse and six other two-sample tests against the sample size (fig:tst)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import legend, line, panels, titled
from experiments.paper.benchmark_data import CIFAR_NOISE, DATASETS, NEEDS
from experiments.paper.pools import enough
from experiments.paper.tst_methods import NAMES, missing_package
from experiments.paper.tst_runs import (
    AS_MANY,
    AUTOGLUON,
    GROUPS,
    LEARNED,
    Effort,
    actt,
    auto,
    auto_gluon,
    deep,
    fused,
    mabid,
)
from experiments.results import Results
from experiments.rule import Claim, Comparison, not_lower
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from experiments.summary import joined, rate, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = (*DATASETS, "mnist, cropped")
_OURS = "nammd-fuse"
_AS_MANY = {f"{name}{AS_MANY}": NAMES[name] for name in LEARNED} | {
    f"{AUTOGLUON}{AS_MANY}": "AutoTST, AutoGluon"
}
"""The methods that learn on as many rows as they are tested on."""


@dataclass(frozen=True)
class _Sizes(Settings):
    """`repetitions` are the sets of the fused tests, `actt_sets` those of ACTT; the others have runs.

    With `as_many` the tests that learn also do so on as many rows as they test on.
    """

    as_many: bool = True
    actt_sets: int = 100
    runs: int = 10
    sets: int = 100
    permutations: int = 2000
    epochs_share: float = 1.0
    blob: tuple[int, ...] = (50, 100, 150, 200, 300, 400)
    higgs: tuple[int, ...] = (500, 1000, 1500, 2000, 2500, 3000, 3500)
    hdgm: tuple[int, ...] = (500, 1000, 2000, 3000, 4000)
    mnist: tuple[int, ...] = (10, 20, 40, 60, 80)
    cifar10: tuple[int, ...] = (10, 20, 40, 60, 80)

    def sizes(self, data: str) -> tuple[int, ...]:
        found: tuple[int, ...] = getattr(self, data.partition(",")[0])
        return found

    @property
    def effort(self) -> Effort:
        return Effort(self.permutations, self.runs, self.sets, self.epochs_share)


def _cells(settings: _Sizes) -> Iterator[Cell]:
    # The large sizes first: what is left at the end is short, and no process waits for another.
    places = sorted(((rows, data) for data in SHOWN for rows in settings.sizes(data)), reverse=True)
    for rows, data in places:
        for group in GROUPS:
            yield from group_cells(group, data, rows, settings)
        if settings.as_many and enough(data, 2 * rows):  # to learn on, and to test
            for group in _AS_MANY:
                yield from group_cells(group, data, rows, settings)


def group_cells(group: str, data: str, rows: int, settings: Any) -> Iterator[Cell]:
    """Yield the cells of a group of methods for one size."""
    where: dict[str, str | int | float] = {"data": data, "rows": rows, "group": group}
    if group in ("fused", "actt"):
        sets = settings.repetitions if group == "fused" else settings.actt_sets
        for chunk, count in chunks(sets, 100):
            yield where | {"chunk": chunk, "count": count}
    elif group.startswith("mmd-deep"):  # all runs side by side
        yield where | {"chunk": 0, "count": settings.runs}
    else:
        for run in range(settings.runs):
            yield where | {"chunk": run, "count": 1}


def decisions(cell: Cell, effort: Effort, context: Context, null: bool) -> Values:
    """Return every decision in a cell, by method."""
    data, rows, count = str(cell["data"]), int(cell["rows"]), int(cell["count"])
    group = str(cell["group"])
    lacking = {method: package for method in GROUPS.get(group, ()) if (package := missing_package(method))}
    if lacking:
        raise ImportError(f"the package {' and '.join(lacking.values())} is missing")
    if group == "fused":
        hits = fused(data, rows, count, effort, context, null)
    elif group == "actt":
        hits = actt(data, rows, count, context, null)
    else:
        name = group.removesuffix(AS_MANY)
        learned = {"mmd-deep": deep, "me-mabid": mabid, "auto-tst": auto, AUTOGLUON: auto_gluon}[name]
        found = learned(data, rows if group != name else rows // 2, effort, context, null)
        hits = {method + group.removeprefix(name): each for method, each in found.items()}
    return {"hits": hits}


def _run(settings: _Sizes, cell: Cell, context: Context) -> Values:
    return decisions(cell, settings.effort, context, null=False)


def power_of(results: Results[Any], method: str, **where: Any) -> dict[str, float] | None:
    """Return the share of rejections of a method, with the error that counts how runs differ."""
    found = [[c == "1" for c in v["hits"][method]] for v in results.where(**where) if method in v["hits"]]
    if not found:
        return None
    if method in GROUPS["fused"] or method == "actt":
        return rate([hit for part in found for hit in part])
    runs = [part for each in found for part in np.array_split(each, _runs_in(method, results))]
    return joined(rate(part) for part in runs)


def _runs_in(method: str, results: Results[Any]) -> int:
    """Return how many runs a cell has: one of those that have a cell for each."""
    return int(results.settings.runs) if method.startswith(("mmd-deep", "nammd-")) else 1


def _power(results: Results[_Sizes], data: str, rows: int, method: str) -> dict[str, float] | None:
    return power_of(results, method, data=data, rows=rows)


def _difference(results: Results[_Sizes], data: str, rows: int, method: str) -> tuple[float, float] | None:
    """Return the power of NAMMDFuse less that of a method, and the standard error of the difference."""
    ours, other = (_power(results, data, rows, m) for m in (_OURS, method))
    if ours is None or other is None:
        return None
    gap = ours["mean"] - other["mean"]
    if method in GROUPS["fused"]:  # decisions on the same samples
        pairs = [
            (int(a), int(b))
            for v in results.where(data=data, rows=rows, group="fused")
            for a, b in zip(v["hits"][_OURS], v["hits"][method], strict=True)
        ]
        differences = np.array([a - b for a, b in pairs])
        # As for shares of 0 and 1: where all agree, the error is that of half a disagreement.
        square = max(float(np.mean(differences**2)), 0.5 / len(pairs)) - gap**2
        return gap, math.sqrt(max(square, 0.0) / len(pairs))
    return gap, math.hypot(ours["se"], other["se"])


_BOTH_WAYS = (
    "before the stroke it learns on half of the rows and tests on the other half; after it, it learns on as "
    "many rows as it tests on, as the appendix has it for its kernels: twice the rows of the tests that do "
    "not learn. "
)
_PAPERS = ("blob", "higgs", "hdgm")
"""The data sets that are the paper's own."""


def _section(results: Results[_Sizes]) -> Section:
    settings = results.settings
    rows = []
    gluon = f"{AUTOGLUON}{AS_MANY}"
    columns = NAMES | ({gluon: _AS_MANY[gluon]} if power_of(results, gluon) else {})
    for data in SHOWN:
        for size in settings.sizes(data):
            rows.append([data, str(size), *(_shown(results, data, size, m) for m in columns)])
    ahead, behind, judged = _comparisons(results, _PAPERS)
    many_ahead, many_behind, many_judged = _comparisons(results, _PAPERS, tuple(_AS_MANY))
    image_ahead, image_behind, image_judged = _comparisons(results, ("mnist", "cifar10"))
    body = (
        "Rejections at the level 0.05, by rows of each sample; columns are brought to 0 to 1 over both. "
        f"{settings.permutations} permutations (ACTT 299, MMD-D 499, AutoTST 999) on {settings.repetitions} "
        f"sets (ACTT {settings.actt_sets}). What learns has the published epochs, once in each of "
        f"{settings.runs} runs as published, and {settings.sets} sets of other rows to test; "
        + (_BOTH_WAYS if settings.as_many else "it learns on half of the rows and tests on the other half. ")
        + "AutoTST has boosted trees"
        + (", and AutoGluon beside them" if gluon in columns else " in place of AutoGluon")
        + ". The paper shows curves.\n\n"
        + table(["data", "rows", *columns.values()], rows)
    )
    sentence = (
        f"On blob, higgs and hdgm NAMMDFuse's power is above another method's by more than two standard "
        f"errors in {ahead} of {len(judged)} comparisons and below in {len(behind)} "
        f"({_methods(behind)}); on the images that stand in, above in {image_ahead} of {len(image_judged)} "
        f"and below in {len(image_behind)} ({_methods(image_behind)}). The paper says higher or comparable."
    )
    if many_judged:
        sentence += (
            f" Where the others learn on as many rows as they test on, NAMMDFuse is above in {many_ahead} of "
            f"{len(many_judged)} comparisons on blob, higgs and hdgm and below in {len(many_behind)} "
            f"({_methods(many_behind)})."
        )
    notes = [
        f"The noise on cifar10 has the standard deviation {CIFAR_NOISE:g}. Images are averaged over 4 x 4 "
        "pixels for ME_MaBiD, whose chi-squared rejects too often with few rows (see the type-I errors).",
        "An artefact of the digits: 47 % of the generated ones have ink in the outermost pixels, 1 % of the "
        "real ones. *Cropped* digits lack four pixels on each side.",
        "There are 3512 rows of either sample of higgs, so sets of 3000 or more have most of their rows in "
        "common: their rates tell of this one data set.",
        _fuse_note(results),
    ]
    return Section(
        body=body,
        sentence=sentence,
        claim=Claim("NAMMDFuse's power is higher than or comparable to that of other methods.", judged),
        pictures=[
            Picture(
                "tst_power",
                "Power by rows of each sample, with bands of two standard errors for NAMMDFuse.",
                _drawing(results),
                (7.0, 4.6),
            )
        ],
        notes=notes,
        short=f"in two-sample tests NAMMDFuse has higher power in {ahead} of {len(judged)} comparisons, "
        f"lower in {len(behind)}",
    )


def _shown(results: Results[_Sizes], data: str, size: int, method: str) -> str:
    """Return a power, and behind a stroke that of the same method with as many rows to learn on."""
    found = [_power(results, data, size, name) for name in (method, f"{method}{AS_MANY}")]
    known = [shown(p, 2) if p else "–" for p in found]
    return " / ".join(known) if method in LEARNED and found[1] else known[0]


def _comparisons(
    results: Results[_Sizes], datasets: tuple[str, ...], methods: tuple[str, ...] = tuple(NAMES)
) -> tuple[int, list[tuple[str, str]], list[Comparison]]:
    """Return how often NAMMDFuse is ahead, where it is behind, and all comparisons."""
    ahead, behind, judged = 0, [], []
    for data in datasets:
        for size in results.settings.sizes(data):
            for method in methods:
                found = None if method == _OURS else _difference(results, data, size, method)
                if found is None:
                    continue
                gap, error = found
                judged.append(not_lower(f"{(NAMES | _AS_MANY)[method]}, {data} {size}", gap, error))
                ahead += gap > 2 * error
                if gap < -2 * error:
                    behind.append(((NAMES | _AS_MANY)[method], f"{data} {size}"))
    return ahead, behind, judged


def _methods(where: list[tuple[str, str]]) -> str:
    """List the methods."""
    return ", ".join(dict.fromkeys(method for method, _ in where)) or "none"


def _fuse_note(results: Results[_Sizes]) -> str:
    """Say how much the two fused tests differ."""
    both = [(v["hits"][_OURS], v["hits"]["mmd-fuse"]) for v in results.where(group="fused")]
    different = sum(a != b for ours, theirs in both for a, b in zip(ours, theirs, strict=True))
    total = sum(len(ours) for ours, _ in both)
    return (
        f"NAMMDFuse and MMDFuse decide differently on {different} of {total} sets: each kernel ranks the "
        "permutations the same for both, and only the way they are put together differs."
    )


def _drawing(results: Results[_Sizes]) -> Any:
    def draw(figure: Figure) -> None:
        axes = panels(figure, 2, 3)
        for ax, data in zip(axes, DATASETS, strict=False):
            sizes = results.settings.sizes(data)
            for index, (method, name) in enumerate(NAMES.items()):
                found = [_power(results, data, size, method) for size in sizes]
                known = [p for p in found if p is not None]
                if len(known) < len(sizes):
                    continue
                errors = [p["se"] for p in known] if method == _OURS else None
                line(ax, sizes, [p["mean"] for p in known], index, name, errors=errors)
            titled(ax, data, "rows", "power")
            ax.set_ylim(-0.03, 1.03)
        axes[-1].set_axis_off()
        handles, names = axes[0].get_legend_handles_labels()
        legend(axes[-1], handles=handles, labels=names, loc="center")

    return draw


EXPERIMENT = Experiment(
    name="tst_power",
    labels=("fig:tst",),
    title="Two-sample tests: power against the sample size",
    seed=33,
    quick=_Sizes(
        repetitions=20,
        actt_sets=20,
        runs=2,
        sets=10,
        permutations=299,
        epochs_share=0.04,
        blob=(100, 200),
        higgs=(250, 500),
        hdgm=(250, 500),
        mnist=(20, 40),
        cifar10=(20, 40),
    ),
    full=_Sizes(repetitions=500, actt_sets=1000),
    tiny=_Sizes(
        repetitions=2,
        actt_sets=1,
        runs=2,
        sets=2,
        permutations=19,
        epochs_share=0.002,
        blob=(40,),
        higgs=(40,),
        hdgm=(40,),
        mnist=(20,),
        cifar10=(20,),
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    rerun="errors",
    data=NEEDS,
)
