"""Type-I error of NAMMD with four kernels, and of the other two-sample tests (fig:tst_typeI)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import nammd
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import COLOURS, legend, level_line, panels, titled
from experiments.paper.benchmark_data import DATASETS, NEEDS, STAND_INS
from experiments.paper.tst_methods import (
    IMAGES,
    KERNEL_METHODS,
    LEARNED_METHODS,
    NAMES,
    Effort,
    coarse,
    missing_package,
    rejects,
    samples,
)
from experiments.results import Results
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from experiments.summary import pooled_rate, rate, shown
from nammd.learning import learn_kernel, train_test_split

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KERNELS = {
    "gaussian": "NAMMD, Gaussian",
    "laplace": "NAMMD, Laplace",
    "mahalanobis": "NAMMD, Mahalanobis",
    "deep": "NAMMD, deep",
}
SHOWN = KERNELS | NAMES
GROUPS = {
    "kernels": ("gaussian", "laplace", *KERNEL_METHODS),
    "learned": ("mahalanobis", "deep", *LEARNED_METHODS),
}
OURS = (*KERNELS, "nammd-fuse")
LOW, HIGH = 0.03, 0.07
_FINE = 0.02
"""The standard error up to which a level says something."""


@dataclass(frozen=True)
class _Null(Settings):
    learned_repetitions: int = 20
    permutations: int = 199
    epochs: int = 10
    rows: tuple[int, ...] = (100, 150, 150, 40, 40)
    """In the order of the data sets."""


def _cells(settings: _Null) -> Iterator[Cell]:
    for data, rows in zip(DATASETS, settings.rows, strict=True):
        for group in GROUPS:
            repetitions = settings.repetitions if group == "kernels" else settings.learned_repetitions
            for chunk, count in chunks(repetitions, 50 if group == "kernels" else 10):
                yield {"data": data, "rows": rows, "group": group, "chunk": chunk, "count": count}


def _run(settings: _Null, cell: Cell, context: Context) -> Values:
    data, effort = str(cell["data"]), Effort(settings.permutations, settings.epochs)
    methods = GROUPS[str(cell["group"])]
    lacking = {method: package for method in methods if (package := missing_package(method))}
    hits: dict[str, list[bool]] = {method: [] for method in methods if method not in lacking}
    for _ in range(int(cell["count"])):
        x, y = samples(data, int(cell["rows"]), context, alternative=False)
        for method, found in hits.items():
            test = _nammd_rejects if method in KERNELS else rejects
            found.append(test(method, data, x, y, effort, context))
    return {"level": {method: rate(found) for method, found in hits.items()}, "missing": lacking}


def _nammd_rejects(
    kind: str, data: str, x: np.ndarray, y: np.ndarray, effort: Effort, context: Context
) -> bool:
    """Return whether NAMMD with one kernel rejects; what is learned is learned on the other half."""
    rng = context.rng
    kernel: nammd.Kernel | None = None
    if kind == "laplace":
        kernel = nammd.Laplace.median(x, y)
    elif kind in ("mahalanobis", "deep"):
        if kind == "mahalanobis" and data in IMAGES:
            x, y = (coarse(side, IMAGES[data]) for side in (x, y))
        train, (x, y) = train_test_split(x, y, rng=rng)
        start = nammd.Mahalanobis if kind == "mahalanobis" else nammd.Deep
        kernel = learn_kernel(*train, start, epochs=effort.epochs, rng=rng, device=context.device).kernel
    found = nammd.two_sample_test(
        x, y, kernel=kernel, permutations=effort.permutations, rng=rng, engine=context.engine
    )
    return found.rejected


def _level(results: Results[_Null], method: str, **where: Any) -> dict[str, float] | None:
    found = [v["level"][method] for v in results.where(**where) if method in v["level"]]
    return pooled_rate(found) if found else None


def _outside(level: dict[str, float]) -> bool:
    """Return whether a level is out of bounds by more than two standard errors."""
    return level["mean"] > HIGH + 2 * level["se"] or level["mean"] < LOW - 2 * level["se"]


def _section(results: Results[_Null]) -> Section:
    settings = results.settings
    levels = {method: {data: _level(results, method, data=data) for data in DATASETS} for method in SHOWN}
    overall = {method: _level(results, method) for method in SHOWN}
    rows = [
        [
            title,
            *(shown(level) if level else "–" for level in levels[method].values()),
            shown(every) if (every := overall[method]) else "–",
        ]
        for method, title in SHOWN.items()
    ]
    off = {
        method: [
            f"{data} ({level['mean']:.3f})" for data, level in by_data.items() if level and _outside(level)
        ]
        for method, by_data in levels.items()
    }
    ours_off = [f"{SHOWN[m]} on {', '.join(off[m])}" for m in OURS if off[m]]
    others_off = [f"{SHOWN[m]} on {', '.join(off[m])}" for m in SHOWN if m not in OURS and off[m]]
    lacking = sorted({p for v in results.where() for p in v["missing"].values()})
    sizes = ", ".join(f"{data} {n}" for data, n in zip(DATASETS, settings.rows, strict=True))
    body = (
        "Rejections at the level 0.05 where both samples come from one distribution (P, and real data for "
        f"images). Rows of each sample: {sizes}. {settings.permutations} permutations. The Mahalanobis and "
        f"the deep kernel are learned on one half of the rows ({settings.epochs} epochs, as for MMD-D and "
        "ME_MaBiD; the level does not depend on how well they learn) and tested on the other. The paper "
        "shows the four kernels, in curves without numbers; NAMMDFuse and its competitors are added here.\n\n"
        + table(["test", *DATASETS, "all data"], rows)
    )
    sentence = (
        f"Outside of [{LOW:g}, {HIGH:g}] by more than two standard errors: {'; '.join(ours_off)}."
        if ours_off
        else f"The level of NAMMD with each of the four kernels and of NAMMDFuse is within [{LOW:g}, "
        f"{HIGH:g}] on all data, up to two standard errors, as the paper says."
    )
    widest = max(level["se"] for m in OURS for level in levels[m].values() if level)
    if widest > _FINE:
        sentence += f" With so few repetitions that says little: standard errors are up to {widest:.3f}."
    notes = [STAND_INS]
    if others_off:
        text = f"Of the other methods, outside of it: {'; '.join(others_off)}."
        if off["me-mabid"]:
            text += (
                " ME_MaBiD compares with chi-squared, as published, which needs many rows for every "
                'location; `MEMaBiD(reference="hotelling")` holds the level.'
            )
        notes.append(text)
    if lacking:
        notes.append(f"–: not run, for want of the package {' and '.join(lacking)}.")
    return Section(
        body=body,
        agreement="agrees" if not ours_off and widest <= _FINE else "agrees in part",
        sentence=sentence,
        pictures=[
            Picture(
                "tst_level",
                "Type-I error with two standard errors: NAMMD with four kernels, NAMMDFuse, and others.",
                _drawing(levels),
                (7.0, 3.6),
            )
        ],
        notes=notes,
    )


def _drawing(levels: dict[str, dict[str, dict[str, float] | None]]) -> Any:
    def draw(figure: Figure) -> None:
        [ax] = panels(figure, 1, 1)
        level_line(ax)
        for index, data in enumerate(DATASETS):
            found = [(k, levels[m][data]) for k, m in enumerate(SHOWN)]
            known = [(k, level) for k, level in found if level is not None]
            ax.errorbar(
                [k + 0.12 * (index - 2) for k, _ in known],
                [level["mean"] for _, level in known],
                yerr=[2 * level["se"] for _, level in known],
                fmt="o",
                markersize=3,
                linewidth=1,
                color=COLOURS[index],
                label=data,
            )
        ax.set_xticks(
            range(len(SHOWN)), [t.replace("NAMMD, ", "") for t in SHOWN.values()], rotation=30, ha="right"
        )
        ax.set_ylim(bottom=0)
        titled(ax, "type-I error at the level 0.05", "", "share rejected")
        legend(ax, loc="upper left", ncols=5)

    return draw


EXPERIMENT = Experiment(
    name="tst_level",
    labels=("fig:tst_typeI",),
    title="Two-sample tests: type-I error",
    seed=34,
    quick=_Null(repetitions=60, learned_repetitions=20),
    full=_Null(repetitions=400, learned_repetitions=100, epochs=20),
    tiny=_Null(repetitions=1, learned_repetitions=1, permutations=19, epochs=2, rows=(40, 40, 40, 20, 20)),
    cells=_cells,
    run_cell=_run,
    section=_section,
    data=NEEDS,
)
