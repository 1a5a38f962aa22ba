"""Type-I error of NAMMD with four kernels, and of the other two-sample tests (fig:tst_typeI)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.experiment import Cell, Context, Experiment, Values
from experiments.figures import COLOURS, legend, level_line, panels, titled
from experiments.paper.benchmark_data import DATASETS, NEEDS
from experiments.paper.learned_tests import KERNELS, learned_pvalues
from experiments.paper.tst_methods import NAMES
from experiments.paper.tst_power import decisions, group_cells, power_of
from experiments.paper.tst_runs import ALPHA, GROUPS, Effort, bits
from experiments.results import Results
from experiments.rule import Claim, between
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from experiments.summary import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMMD_KERNELS = {f"nammd-{kind}": f"NAMMD, {kind}" for kind in KERNELS}
SHOWN = NAMMD_KERNELS | NAMES
OURS = (*NAMMD_KERNELS, "nammd-fuse")
LOW, HIGH = 0.03, 0.07
_FINE = 0.02
"""The standard error up to which a level says something."""


@dataclass(frozen=True)
class _Null(Settings):
    actt_sets: int = 1000
    runs: int = 10
    sets: int = 100
    permutations: int = 500
    epochs_share: float = 1.0
    """Of the published ones."""
    rows: tuple[int, ...] = (200, 500, 500, 40, 40)
    """In the order of the data sets."""

    @property
    def effort(self) -> Effort:
        return Effort(self.permutations, self.runs, self.sets, self.epochs_share)


def _cells(settings: _Null) -> Iterator[Cell]:
    for data, rows in zip(DATASETS, settings.rows, strict=True):
        for group in GROUPS:
            yield from group_cells(group, data, rows, settings)
        for kernel in NAMMD_KERNELS:
            yield {"data": data, "rows": rows, "group": kernel}


def _run(settings: _Null, cell: Cell, context: Context) -> Values:
    group = str(cell["group"])
    if group in GROUPS:
        return decisions(cell, settings.effort, context, null=True)
    many, half = (settings.runs, settings.sets), int(cell["rows"]) // 2
    epochs = settings.effort.epochs(2000)
    kind = group.removeprefix("nammd-")
    found = learned_pvalues(
        str(cell["data"]), kind, half, many, epochs, settings.permutations, context, null=True
    )
    return {"hits": {group: bits(found["nammd"].ravel() <= ALPHA)}}


def _level(results: Results[_Null], method: str, **where: Any) -> dict[str, float] | None:
    return power_of(results, method, **where)


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
    sizes = ", ".join(f"{data} {n}" for data, n in zip(DATASETS, settings.rows, strict=True))
    body = (
        "Rejections at the level 0.05 where both samples come from one distribution (P, and real data for "
        f"images). Rows: {sizes}. {settings.permutations} permutations. Methods that "
        f"learn do so on one half of the rows, in each of {settings.runs} runs"
        + (f" ({settings.epochs_share:.0%} of the published epochs)" if settings.epochs_share < 1 else "")
        + f", and are tested on {settings.sets} sets of as many others. Rows of real data are drawn anew for "
        "every set from one data set, so that each may be in either sample. The paper "
        "shows the four kernels, in curves; the others are added here.\n\n"
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
    notes = [
        "A Mahalanobis matrix that has learned its images by heart finds all others equally strange, and "
        "ties do not reject."
    ]
    if others_off:
        text = f"Of the other methods, outside of it: {'; '.join(others_off)}."
        if off["me-mabid"]:
            text += (
                " ME_MaBiD compares with chi-squared, as published, which needs many rows for every "
                'location; `MEMaBiD(reference="hotelling")` holds the level.'
            )
        notes.append(text)
    return Section(
        body=body,
        sentence=sentence,
        claim=Claim(
            "NAMMD's two-sample test has a type-I error around 0.05 with every kernel on all data.",
            [
                between(f"{SHOWN[method]} on {data}", level, LOW, HIGH)
                for method in OURS
                for data, level in levels[method].items()
                if level
            ],
        ),
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
    quick=_Null(repetitions=60, actt_sets=60, runs=2, sets=30, permutations=199, epochs_share=0.01),
    full=_Null(repetitions=1000),
    tiny=_Null(
        repetitions=1,
        actt_sets=1,
        runs=2,
        sets=1,
        permutations=19,
        epochs_share=0.001,
        rows=(40, 40, 40, 20, 20),
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    rerun="errors",
    data=NEEDS,
)
