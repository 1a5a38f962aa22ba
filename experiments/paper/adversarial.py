"""Perturbations of images by an attack, against a reference perturbation (fig:ADV_plot)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nammd
from experiments.data import CIFAR_PGD_FEATURES, CIFAR_RESNET
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import legend, level_line, line, panels, titled
from experiments.paper.cifar_images import IMAGES, cifar_images
from experiments.paper.reference_pairs import (
    METHODS,
    Rows,
    above,
    below,
    drawn,
    estimates,
    joined,
    norms_of,
    pvalues,
    tally,
    true_distances,
)
from experiments.paper.resnet20 import ResNet20
from experiments.results import Results
from experiments.rule import Claim, Comparison
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from experiments.summary import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = tuple(range(1, 11))
REFERENCE = 4


@dataclass(frozen=True)
class _Attack(Settings):
    images: int = 0  # attacked here; 0 takes the attacked images whose features are stored
    rows: tuple[int, ...] = (50, 1500)
    many: int = 1000  # repetitions with more than 1000 rows
    chunk: int = 20
    alpha: float = 0.05

    def times(self, rows: int) -> int:
        """Return how often tests with so many rows are repeated."""
        return min(self.repetitions, self.many) if rows > 1000 else self.repetitions


def _cells(settings: _Attack) -> Iterator[Cell]:
    # Few and long: every process that runs one attacks the images for itself.
    yield {"part": "truth"}
    for rows in settings.rows:
        for chunk, count in chunks(settings.times(rows), settings.chunk if rows > 1000 else 4000):
            yield {"part": "tests", "rows": rows, "chunk": chunk, "count": count}


@cache
def _features(data: Path, images: int, device: str) -> tuple[dict[int, Rows], dict[int, float]]:
    """Return the features at every level of perturbation, 0 for none, and the accuracy there."""
    network = ResNet20.stored(data, device)
    found, accuracy = {}, {}
    if images:
        chosen = cifar_images(data, images)
        for level in (0, *LEVELS):
            pixels = network.attacked(chosen.pixels, chosen.labels, level / 255) if level else chosen.pixels
            found[level], logits = network.outputs(pixels)
            accuracy[level] = float(np.mean(logits.argmax(axis=1) == chosen.labels))
        return found, accuracy
    with np.load(data / CIFAR_PGD_FEATURES[0], allow_pickle=False) as file:
        attacked = file["pgd_index"]
        labels = file["labels"][attacked]
        for level in (0, *LEVELS):
            found[level] = file[f"pgd_eps{level}_features"] if level else file["clean_features"][attacked]
            accuracy[level] = float(np.mean(network.logits(found[level]).argmax(axis=1) == labels))
    return found, accuracy


@cache
def _truth(data: Path, images: int, device: str) -> tuple[nammd.Gaussian, dict[int, dict[str, float]]]:
    features, _ = _features(data, images, device)
    kernel, engine = nammd.Gaussian.median(features[0]), nammd.Tiles(threads=1)
    return kernel, {i: true_distances(features[0], features[i], kernel, engine) for i in LEVELS}


def _run(settings: _Attack, cell: Cell, context: Context) -> Values:
    place = context.data, settings.images, context.device
    features, accuracy = _features(*place)
    kernel, truth = _truth(*place)
    if cell["part"] == "truth":
        return {
            "images": len(features[0]),
            "bandwidth": kernel.bandwidth,
            "accuracy": [accuracy[level] for level in (0, *LEVELS)],
            "distances": [truth[level] for level in LEVELS],
        }
    rows = int(cell["rows"])
    found: dict[int, list[dict[str, float]]] = {level: [] for level in LEVELS}
    for _ in range(int(cell["count"])):
        x = drawn(features[0], rows, context.rng)
        others = [drawn(features[level], rows, context.rng) for level in (REFERENCE, *LEVELS)]
        reference, *tested = estimates(x, others, kernel, context.engine)
        for level, estimate in zip(LEVELS, tested, strict=True):
            found[level].append(pvalues(estimate, reference, truth[REFERENCE], shared=True))
    return {str(level): tally(found[level], settings.alpha) for level in LEVELS}


def _section(results: Results[_Attack]) -> Section:
    settings, truth = results.settings, results.one(part="truth")
    found = {
        rows: {i: joined(v[str(i)] for v in results.where(part="tests", rows=rows)) for i in LEVELS}
        for rows in settings.rows
    }
    most = max(settings.rows)
    body = (
        f"The features of {truth['images']} CIFAR-10 images as they are (P₁ = P₂) and perturbed by projected "
        f"gradient steps of at most i/255 per value; Q₁ is perturbed by {REFERENCE}/255. Rates of rejection "
        f"at level {settings.alpha:g}; H₀ is true up to i = {REFERENCE}.\n\n"
        + table(
            ["i", "accuracy", "true MMD²", "true NAMMD"],
            [
                [str(i), f"{a:.3f}", *([f"{d['mmd2']:.4f}", f"{d['nammd']:.4f}"] if d else ["0", "0"])]
                for i, a, d in zip((0, *LEVELS), truth["accuracy"], [None, *truth["distances"]], strict=True)
            ],
        )
        + "".join(f"\n{_rates(found[rows], rows)}" for rows in settings.rows)
    )
    rises = all(a["nammd"] < b["nammd"] for a, b in pairwise(truth["distances"]))
    farther = [i for i in LEVELS if i > REFERENCE]
    excess = {
        m: [i for i in LEVELS if i <= REFERENCE and _too_often(found[most][i], m, settings)] for m in METHODS
    }
    worse = [(rows, i) for rows in settings.rows for i in farther if below(found[rows][i]["gain"], 0)]
    better = [(rows, i) for rows in settings.rows for i in farther if above(found[rows][i]["gain"], 0)]
    next_up = found[most][REFERENCE + 1]["rates"]
    sees = above(next_up["nammd"], settings.alpha)
    sentence = (
        f"NAMMD {'rises' if rises else 'does not always rise'} with the perturbation; with {most} rows the "
        f"paper's test rejects {REFERENCE + 1}/255 with rate {shown(next_up['nammd'])} and {REFERENCE}/255, "
        "where it should not, with rate "
        f"{shown(found[most][REFERENCE]['rates']['nammd'])}. " + _against_mmd(better, worse)
    )
    return Section(
        body=body,
        sentence=sentence,
        claim=Claim(
            "NAMMD tells the levels of perturbation, and performs better than MMD.",
            [
                Comparison("NAMMD rises with the perturbation", rises),
                Comparison("no more than the level up to the reference", not excess["nammd"]),
                Comparison("the next level is found", sees),
                Comparison("nowhere below MMD", not worse),
            ],
        ),
        pictures=[
            Picture(
                "adversarial",
                f"Rates of rejection by the perturbation of Q₂; the reference has {REFERENCE}/255.",
                lambda figure: _draw(figure, found),
            )
        ],
        notes=_notes(truth),
    )


def _rates(found: dict[int, dict[str, Any]], rows: int) -> str:
    lines = [
        [
            f"{i}{' (reference)' if i == REFERENCE else ''}",
            *(shown(v["rates"][method]) for method in METHODS),
            f"{v['p']['mmd']['mean']:.3f} / {v['p']['nammd']['mean']:.3f}",
        ]
        for i, v in found.items()
    ]
    times = found[REFERENCE]["gain"]["n"]
    return table([f"i ({rows} rows, {times} times)", *METHODS.values(), "mean p, MMD / NAMMD"], lines)


def _too_often(v: dict[str, Any], method: str, settings: _Attack) -> bool:
    return above(v["rates"][method], settings.alpha)


def _against_mmd(better: list[tuple[int, int]], worse: list[tuple[int, int]]) -> str:
    def places(where: list[tuple[int, int]]) -> str:
        return ", ".join(f"{i}/255 with {rows} rows" for rows, i in where)

    if worse:
        return f"NAMMD's power is below MMD's by more than two standard errors at {places(worse)}."
    if better:
        return (
            f"NAMMD's power is above MMD's by more than two standard errors at {places(better)}, and "
            "nowhere below."
        )
    return "NAMMD's power and MMD's are the same up to two standard errors everywhere."


def _notes(
    truth: Values,
) -> list[str]:
    at, after = truth["distances"][REFERENCE - 1], truth["distances"][REFERENCE]
    notes = [
        "The images are a JPEG version of CIFAR-10, and the network is a ResNet20 instead of a ResNet18; "
        "the attack takes 7 steps of a quarter of the perturbation."
    ]
    if norms_of(after) < norms_of(at):
        notes.append(
            f"The perturbed features spread out: the sum of the squared norms falls from {norms_of(at):.3f} "
            f"at {REFERENCE}/255 to {norms_of(after):.3f} at {REFERENCE + 1}/255, against the condition of "
            "the theorem."
        )
    return notes


def _draw(figure: Figure, found: dict[int, dict[int, dict[str, Any]]]) -> None:
    axes = panels(figure, 1, len(found), sharey=True)
    for ax, (rows, curves) in zip(axes, found.items(), strict=True):
        for index, (method, name) in enumerate(METHODS.items()):
            rates = [curves[i]["rates"][method] for i in LEVELS]
            line(
                ax,
                LEVELS,
                [r["mean"] for r in rates],
                index,
                name,
                errors=[r["se"] for r in rates],
                dashed=method in ("plugged", "compared"),
            )
        level_line(ax)
        ax.axvline(REFERENCE, color="#b03030", linewidth=0.8, zorder=0)
        titled(ax, f"{rows} rows", "perturbation × 255", "rate of rejection" if ax is axes[0] else "")
    legend(axes[-1], loc="center right")


EXPERIMENT = Experiment(
    name="adversarial",
    labels=("fig:ADV_plot",),
    title="Case study 3: adversarial perturbations",
    seed=63,
    quick=_Attack(repetitions=1000, many=80),
    full=_Attack(repetitions=4000, many=400, images=5000, chunk=80),
    tiny=_Attack(repetitions=2, rows=(20,), chunk=2),
    cells=_cells,
    run_cell=_run,
    section=_section,
    rerun="single",
    data=(CIFAR_RESNET, CIFAR_PGD_FEATURES, IMAGES),
)
