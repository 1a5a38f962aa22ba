"""What the paper leaves open, what nammd does about it, and the evidence: a table for the end of the page.

All figures are read from result files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.calibration import groups, groups_text, sketch_accuracy
from experiments.paper import bounds, closeness_kernel, limitations
from experiments.results import FOLDER, Mode, Results, load, path_of
from experiments.section import table
from experiments.summary import pooled_mean, pooled_rate

SPEED = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "gpu.json"
_MILLION = "distance, 1,000,000 against 1,000,000 rows, d = 64, high"


def limitations_table(folder: Path = FOLDER) -> str:
    """Return the table in Markdown: every limitation, what nammd does, and the evidence."""
    rows: list[Callable[[Path], list[str]]] = [
        _scalability,
        _sample_complexity,
        _dependence,
        _kernel_selection,
        _other_kernels,
    ]
    return table(["what the paper leaves open", "what nammd does", "evidence"], [row(folder) for row in rows])


def _kept(experiment: Any, folder: Path) -> tuple[Results[Any], str]:
    """Return the best results that are kept of an experiment, and their file."""
    modes: tuple[Mode, ...] = ("full", "quick")
    for mode in modes:
        found = load(experiment, mode, folder)
        if found is not None:
            return found, f"`{path_of(experiment.name, mode).name}`"
    raise LookupError(f"there are no results of {experiment.name}")


def _scalability(folder: Path) -> list[str]:
    stored = json.loads(SPEED.read_text(encoding="utf-8"))
    [million] = [m for m in stored["measurements"] if m["what"] == _MILLION]
    results, file = _kept(sketch_accuracy.EXPERIMENT, folder)
    size = 1024 if 1024 in results.settings.sizes else max(results.settings.sizes)
    found = results.where(kernel="Gaussian", features=size)
    error = pooled_mean(v["measured"] for v in found)["mean"] ** 0.5
    share = error / found[0]["standard error"]
    return [
        "Scalability: time grows with the square of the rows",
        "sums in place of matrices, in threads, on a GPU or a cluster; features for large data, "
        "and sketches that merge ([large data](guide/engines.md), [sketches](guide/sketches.md))",
        f"a million against a million rows, all pairs, 64 columns: {million['value']:.1f} s on one "
        f"{million['details'].get('device', 'GPU')} (`gpu.json`); {size} random features are off by "
        f"{share:.2f} standard errors of the distance ({file})",
    ]


def _sample_complexity(folder: Path) -> list[str]:
    results, file = _kept(bounds.EXPERIMENT, folder)
    size = results.one(check="sample size")
    return [
        "Sample complexity: the theorem's sizes are distribution-free",
        "`nammd.plan` and `nammd plan` forecast power and rows for the data at hand, from a pilot "
        "([planning](guide/planning.md))",
        f"where the theorem asks for {size['stated']:.0f} rows, the hardest of our pairs needs "
        f"{size['found']:.0f} ({file})",
    ]


def _dependence(folder: Path) -> list[str]:
    results, file = _kept(groups.EXPERIMENT, folder)
    found = [
        spot
        for spot in groups_text.spots(results)
        if spot.cell["kind"] in groups_text.LEVELS and spot.tries >= groups_text.ENOUGH
    ]
    grouped, naive = (
        max(spot.rate(name) for spot in found if name in spot.counts)
        for name in ("greater grouped", "greater naive")
    )
    return [
        "Data that are not independent",
        "`groups=`: rows that belong together are one unit, and `nammd.Blocks` cuts series into blocks; "
        "two-sample tests relabel whole groups ([groups](guide/groups.md))",
        f"rejected at the margin, where 0.05 is wanted: at most {grouped:.3f} in {len(found)} settings; with "
        f"rows taken as independent up to {naive:.3f} ({file})",
    ]


def _kernel_selection(folder: Path) -> list[str]:
    results, file = _kept(closeness_kernel.EXPERIMENT, folder)

    def share(way: str, kind: str) -> float:
        return pooled_rate(v["rejected"][way] for v in results.where(what=kind))["mean"]

    return [
        "Kernel selection for closeness, for several pairs at once",
        "`select_bandwidth` and `learn_kernel` with `accepted=` data look for what is beyond these; or "
        "several scales in one test ([kernels](guide/kernels.md), [scales](guide/scales.md))",
        f"fine faults found in {share('ours', 'fine'):.2f}, with the two-sample criterion on the accepted "
        f"pair in {share('accepted pair', 'fine'):.2f}; coarse ones in {share('ours', 'coarse'):.2f} and "
        f"{share('accepted pair', 'coarse'):.2f} ({file})",
    ]


def _other_kernels(folder: Path) -> list[str]:
    results, file = _kept(limitations.EXPERIMENT, folder)
    least = results.one(kernel="constant tail")["smallest eigenvalue"]
    return [
        "Kernels that are not bounded and shift-invariant",
        "a kernel of one's own is tried on some rows, and refused where it is not symmetric or not bounded; "
        "that it is positive definite is for its owner to know ([kernels](guide/kernels.md))",
        f"the paper's kernel with a positive limit is not positive definite: smallest eigenvalue {least:.2f} "
        f"({file})",
    ]
