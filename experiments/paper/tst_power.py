"""Power of NAMMDFuse and six other two-sample tests against the sample size (fig:tst)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import legend, line, panels, titled
from experiments.paper.benchmark_data import CIFAR_NOISE, DATASETS, NEEDS, STAND_INS
from experiments.paper.tst_methods import (
    KERNEL_METHODS,
    LEARNED_METHODS,
    NAMES,
    Effort,
    missing_package,
    rejects,
    samples,
)
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from experiments.summary import counted, pooled_rate, rate, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = {"kernels": KERNEL_METHODS, "learned": LEARNED_METHODS}
_OURS = "nammd-fuse"
_FINE = 0.15
"""Differences of power that must be seen before the methods are called comparable."""


@dataclass(frozen=True)
class _Sizes(Settings):
    """`most_rows` lowers the repetitions where samples are large: no size takes more rows in all."""

    learned_repetitions: int = 6
    most_rows: int = 4000
    permutations: int = 299
    epochs: int = 40
    blob: tuple[int, ...] = (100, 200, 400)
    higgs: tuple[int, ...] = (250, 500)
    hdgm: tuple[int, ...] = (250, 500)
    mnist: tuple[int, ...] = (20, 40, 80)
    cifar10: tuple[int, ...] = (20, 40, 80)

    def sizes(self, data: str) -> tuple[int, ...]:
        found: tuple[int, ...] = getattr(self, data)
        return found

    def repeated(self, group: str, rows: int) -> int:
        most = self.repetitions if group == "kernels" else self.learned_repetitions
        return max(1, min(most, self.most_rows // rows))


def _cells(settings: _Sizes) -> Iterator[Cell]:
    for data in DATASETS:
        for rows in settings.sizes(data):
            for group in GROUPS:
                size = min(10 if group == "kernels" else 6, max(1, 8000 // rows))
                for chunk, count in chunks(settings.repeated(group, rows), size):
                    yield {"data": data, "rows": rows, "group": group, "chunk": chunk, "count": count}


def _run(settings: _Sizes, cell: Cell, context: Context) -> Values:
    data, rows = str(cell["data"]), int(cell["rows"])
    effort = Effort(settings.permutations, settings.epochs)
    methods = GROUPS[str(cell["group"])]
    lacking = {method: package for method in methods if (package := missing_package(method))}
    # All methods of a group see the same samples, so that their differences are not those of the samples.
    hits: dict[str, list[bool]] = {method: [] for method in methods if method not in lacking}
    for _ in range(int(cell["count"])):
        x, y = samples(data, rows, context)
        for method, found in hits.items():
            found.append(rejects(method, data, x, y, effort, context))
    return {"power": {m: rate(found) for m, found in hits.items()}, "missing": lacking, "hits": _bits(hits)}


def _bits(hits: dict[str, list[bool]]) -> dict[str, str]:
    """Keep every decision, as a text of zeros and ones."""
    return {method: "".join(str(int(hit)) for hit in found) for method, found in hits.items()}


def _power(results: Results[_Sizes], data: str, rows: int, method: str) -> dict[str, float] | None:
    """Return the power of a method; None where the package of the method was missing."""
    found = [v["power"][method] for v in results.where(data=data, rows=rows) if method in v["power"]]
    return pooled_rate(found) if found else None


def _difference(results: Results[_Sizes], data: str, rows: int, method: str) -> tuple[float, float] | None:
    """Return the power of NAMMDFuse less that of a method, and the standard error of the difference."""
    ours, other = (_power(results, data, rows, m) for m in (_OURS, method))
    if ours is None or other is None:
        return None
    gap = ours["mean"] - other["mean"]
    if method in KERNEL_METHODS:  # decisions on the same samples
        pairs = [
            (int(a), int(b))
            for v in results.where(data=data, rows=rows, group="kernels")
            for a, b in zip(v["hits"][_OURS], v["hits"][method], strict=True)
        ]
        differences = np.array([a - b for a, b in pairs])
        # As for shares of 0 and 1: where all agree, the error is that of half a disagreement.
        square = max(float(np.mean(differences**2)), 0.5 / len(pairs)) - gap**2
        return gap, math.sqrt(max(square, 0.0) / len(pairs))
    return gap, math.hypot(ours["se"], other["se"])


def _section(results: Results[_Sizes]) -> Section:
    settings = results.settings
    rows = []
    for data in DATASETS:
        for size in settings.sizes(data):
            found = [_power(results, data, size, method) for method in NAMES]
            rows.append([data, str(size), *(shown(p, 2) if p else "–" for p in found)])
    errors, behind, ahead = [], [], 0
    for data in DATASETS:
        for size in settings.sizes(data):
            for method in NAMES:
                found_gap = None if method == _OURS else _difference(results, data, size, method)
                if found_gap is None:
                    continue
                gap, error = found_gap
                errors.append(error)
                ahead += gap > 2 * error
                if gap < -2 * error:
                    behind.append(f"{NAMES[method]} on {data} at {size}")
    lacking = sorted({p for v in results.where() for p in v["missing"].values()})
    body = (
        "Rejections at the level 0.05 of two samples that differ, by rows of each sample. Columns are "
        "brought to 0 to 1 over both samples, as the authors do. "
        f"{settings.permutations} permutations, for MMDAgg as many again for its level, and ACTT its own "
        f"299; {counted(settings.epochs, 'epoch')} of training for MMD-D and ME_MaBiD (the authors: 1000 or "
        "more); AutoTST with gradient-boosted trees in place of AutoGluon. The methods that learn are "
        f"repeated {settings.learned_repetitions} times at most and the others {settings.repetitions}, less "
        f"often with many rows ({settings.most_rows} in all). The paper shows curves without numbers.\n\n"
        + table(["data", "rows", *NAMES.values()], rows)
    )
    compared = len(errors)
    share, seen = len(behind) / compared, 2 * float(np.median(errors))
    sentence = (
        f"NAMMDFuse's power is higher than another method's by more than two standard errors in {ahead} of "
        f"{compared} comparisons and lower in {len(behind)}"
        + (f" ({', '.join(behind)})." if behind else ".")
        + " The paper says higher or comparable."
        + (
            f" Only differences of about {seen:.2f} or more are seen with so few repetitions."
            if seen > _FINE
            else ""
        )
    )
    notes = [
        STAND_INS,
        f"The noise on cifar10 has the standard deviation {CIFAR_NOISE:g}, pixels being from 0 to 1. Images "
        "are averaged over 4 x 4 pixels for ME_MaBiD, whose matrices have a row for every column.",
        _fuse_note(results),
    ]
    if lacking:
        notes.append(f"–: not run, for want of the package {' and '.join(lacking)}.")
    return Section(
        body=body,
        agreement="differs"
        if share > 0.25
        else "agrees in part"
        if share > 0.05 or seen > _FINE
        else "agrees",
        sentence=sentence,
        pictures=[
            Picture(
                "tst_power",
                "Power by rows of each sample, with bands of two standard errors for NAMMDFuse.",
                _drawing(results),
                (7.0, 4.6),
            )
        ],
        notes=notes,
    )


def _fuse_note(results: Results[_Sizes]) -> str:
    """Say how much the two fused tests differ."""
    both = [(v["hits"][_OURS], v["hits"]["mmd-fuse"]) for v in results.where(group="kernels")]
    different = sum(a != b for ours, theirs in both for a, b in zip(ours, theirs, strict=True))
    total = sum(len(ours) for ours, _ in both)
    return (
        f"NAMMDFuse and MMDFuse came to different decisions in {different} of {total} pairs of samples: with "
        "as many rows on either side each kernel by itself ranks the permutations the same for both, "
        "and they differ only in how the kernels are put together."
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
    quick=_Sizes(repetitions=16),
    full=_Sizes(
        repetitions=200,
        learned_repetitions=24,
        most_rows=40000,
        permutations=500,
        epochs=300,
        blob=(50, 100, 150, 200, 300, 400),
        higgs=(500, 1000, 2000, 3000),
        hdgm=(500, 1000, 2000, 3000),
        mnist=(10, 20, 40, 80),
        cifar10=(10, 20, 40, 80),
    ),
    tiny=_Sizes(
        repetitions=1,
        learned_repetitions=1,
        permutations=19,
        epochs=2,
        blob=(40,),
        higgs=(40,),
        hdgm=(40,),
        mnist=(20,),
        cifar10=(20,),
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    data=NEEDS,
)
