"""Classes by how much less confident a network is on a shifted copy of the data (fig:DA_plot)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax
from scipy.stats import spearmanr

import nammd
from experiments.data import CIFAR_PGD_FEATURES, CIFAR_RESNET
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import legend, level_line, line, panels, titled
from experiments.paper.cifar_images import IMAGES, cifar_images
from experiments.paper.domains import PAPER
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
from experiments.summary import counted, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_GAPS = (0.154, 0.165, 0.176, 0.186, 0.196, 0.205, 0.214, 0.224, 0.233, 0.241)
PAPER_WHOLE_GAP = PAPER["ImageNet-V2"][1]
"""What tab:margin prints as the confidence gap of the same two data sets as a whole."""

INTERVALS = tuple(range(10))
REFERENCE = 3
"""The fourth interval, as in the paper."""

_NOISE_SEED = 2


@dataclass(frozen=True)
class _Gaps(Settings):
    images: int = 5000
    noise: float = 0.033
    rows: int = 150
    chunk: int = 200
    alpha: float = 0.05


@dataclass(frozen=True, eq=False)
class Interval:
    """A class: its mean confidence gap, and its features as they are and shifted."""

    label: int
    gap: float
    source: Rows
    target: Rows


@cache
def _intervals(
    data: Path, images: int, noise: float, device: str
) -> tuple[tuple[Interval, ...], dict[str, float]]:
    """Return the classes in the order of their gaps, and how well the network is the stored one."""
    chosen = cifar_images(data, images)
    with np.load(data / CIFAR_PGD_FEATURES[0], allow_pickle=False) as file:
        features, logits = (file[name][chosen.index] for name in ("clean_features", "clean_logits"))
    network = ResNet20.stored(data, device)
    shift = np.random.default_rng(_NOISE_SEED).standard_normal(chosen.pixels.shape, np.float32)
    shifted, shifted_logits = network.outputs(np.clip(chosen.pixels + noise * shift, 0.0, 1.0))
    confidence, other = (_confidence(each, chosen.labels) for each in (logits, shifted_logits))
    found = []
    for label in range(10):
        rows = chosen.labels == label
        gap = abs(float(np.mean(confidence[rows]) - np.mean(other[rows])))
        found.append(Interval(label, gap, features[rows], shifted[rows]))
    some = slice(0, 200)
    rounding = np.abs(network.outputs(chosen.pixels[some])[1] - logits[some]).max()
    check = {
        "logits off by": float(rounding / np.abs(logits[some]).max()),
        "accuracy": float(np.mean(logits.argmax(axis=1) == chosen.labels)),
        "shifted accuracy": float(np.mean(shifted_logits.argmax(axis=1) == chosen.labels)),
        "whole gap": abs(float(np.mean(confidence) - np.mean(other))),
    }
    return tuple(sorted(found, key=lambda interval: interval.gap)), check


def _confidence(logits: Rows, labels: Rows) -> Rows:
    """Return the probability that the network gives to the true class."""
    probabilities: Rows = softmax(logits.astype(np.float64), axis=1)[np.arange(len(labels)), labels]
    return probabilities


def _cells(settings: _Gaps) -> Iterator[Cell]:
    yield {"part": "truth"}
    for chunk, count in chunks(settings.repetitions, settings.chunk):
        yield {"part": "tests", "chunk": chunk, "count": count}


def _run(settings: _Gaps, cell: Cell, context: Context) -> Values:
    intervals, check = _intervals(context.data, settings.images, settings.noise, context.device)
    reference = intervals[REFERENCE]
    kernel = nammd.Gaussian.median(reference.source)
    if cell["part"] == "truth":
        distances = [true_distances(i.source, i.target, kernel, context.engine) for i in intervals]
        return {
            **check,
            "bandwidth": kernel.bandwidth,
            "labels": [i.label for i in intervals],
            "gaps": [i.gap for i in intervals],
            "distances": distances,
        }
    known = true_distances(reference.source, reference.target, kernel, context.engine)
    found: dict[int, list[dict[str, float]]] = {i: [] for i in INTERVALS}

    def estimated(interval: Interval) -> Any:
        x, y = (drawn(rows, settings.rows, context.rng) for rows in (interval.source, interval.target))
        return estimates(x, [y], kernel, context.engine)[0]

    for _ in range(int(cell["count"])):
        sampled = estimated(reference)
        for i, interval in enumerate(intervals):
            found[i].append(pvalues(estimated(interval), sampled, known, shared=False))
    return {str(i): tally(found[i], settings.alpha) for i in INTERVALS}


_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def _section(results: Results[_Gaps]) -> Section:
    settings, truth = results.settings, results.one(part="truth")
    found = {i: joined(v[str(i)] for v in results.where(part="tests")) for i in INTERVALS}
    epsilon = truth["distances"][REFERENCE]["nammd"]
    nammds = [d["nammd"] for d in truth["distances"]]
    right = [i for i in INTERVALS if i > REFERENCE]
    lines = [
        [
            f"{_CLASSES[truth['labels'][i]]}{' (reference)' if i == REFERENCE else ''}",
            f"{PAPER_GAPS[i]:.3f}",
            f"{truth['gaps'][i]:.3f}",
            f"{truth['distances'][i]['mmd2']:.4f}",
            f"{nammds[i]:.4f}",
            *(shown(found[i]["rates"][method]) for method in METHODS),
            f"{found[i]['p']['mmd']['mean']:.3f} / {found[i]['p']['nammd']['mean']:.3f}",
        ]
        for i in INTERVALS
    ]
    body = (
        f"CIFAR-10 images (P) and the same with normal noise of deviation {settings.noise:g} (Q), features "
        f"and confidences of the ResNet20, whose accuracy falls from {truth['accuracy']:.3f} to "
        f"{truth['shifted accuracy']:.3f}. An interval is one of ten classes, sorted by the confidence gap; "
        f"the fourth is the reference, as in the paper. {settings.rows} rows, level {settings.alpha:g}, "
        f"{counted(settings.repetitions, 'repetition')}. The paper prints the gaps only.\n\n"
        + table(
            [
                "class",
                "paper's gap",
                "our gap",
                "true MMD²",
                "true NAMMD",
                *METHODS.values(),
                "mean p, MMD / NAMMD",
            ],
            lines,
        )
    )
    order = float(spearmanr(truth["gaps"], nammds).statistic)
    misplaced = [i for i in INTERVALS if i != REFERENCE and (i > REFERENCE) != (nammds[i] > epsilon)]
    held = [i for i in INTERVALS if i <= REFERENCE and above(found[i]["rates"]["nammd"], settings.alpha)]
    seen = [i for i in right if above(found[i]["rates"]["nammd"], settings.alpha)]
    farther = _farther(truth)
    worse, better = ([i for i in farther if beyond(found[i]["gain"], 0)] for beyond in (below, above))
    sentence = (
        f"The paper's NAMMD test rejects too often in {len(held)} of {REFERENCE + 1} classes with gaps up to "
        f"the reference's, and beyond the level in {len(seen)} of the {len(right)} with larger gaps. "
        + (
            "NAMMD puts every class on the side of the reference where the gap puts it. "
            if not misplaced
            else f"By NAMMD itself {_names(truth, misplaced)} {'is' if len(misplaced) == 1 else 'are'} on "
            f"the other side of the reference than by the gap (rank correlation {order:.2f}). "
        )
        + f"In the {counted(len(farther), 'class', 'classes')} where both NAMMD and MMD² are truly larger "
        "than the reference's, NAMMD's power is above MMD's by more than two standard errors in "
        f"{len(better)} and below in {len(worse)}."
    )
    return Section(
        body=body,
        sentence=sentence,
        claim=Claim(
            "Up to the reference gap NAMMD's test rejects at the level, beyond it more often.",
            [
                Comparison(
                    f"{_CLASSES[truth['labels'][i]]}: {'beyond' if i > REFERENCE else 'up to'} the reference",
                    above(found[i]["rates"]["nammd"], settings.alpha) == (i > REFERENCE),
                    shown(found[i]["rates"]["nammd"]),
                )
                for i in INTERVALS
            ],
        ),
        pictures=[
            Picture(
                "confidence",
                "Rates of rejection and mean p-values by confidence gap, and rates by distance.",
                lambda figure: _draw(figure, truth, found),
                (9.0, 3.4),
            )
        ],
        corrections=_corrections(),
        notes=_notes(truth, worse),
    )


def _farther(truth: Values) -> list[int]:
    """Return the classes where both hypotheses, of NAMMD and of MMD², are false."""
    at = truth["distances"][REFERENCE]
    return [i for i in INTERVALS if all(truth["distances"][i][d] > at[d] for d in ("nammd", "mmd2"))]


def _names(truth: Values, which: list[int]) -> str:
    return ", ".join(_CLASSES[truth["labels"][i]] for i in which)


def _corrections() -> list[str]:
    bound = float(np.mean(PAPER_GAPS))
    if bound > PAPER_WHOLE_GAP:
        return []
    return [
        f"Table `tab:margin` gives the confidence gap between ImageNet and ImageNetv2 as {PAPER_WHOLE_GAP}. "
        f"The ten intervals of `fig:DA_plot`, of 100 classes each, have gaps with the mean {bound:.3f}, and "
        "with equally many images per class the gap of the whole is at most that."
    ]


def _notes(truth: Values, worse: list[int]) -> list[str]:
    notes = [
        f"The noise is chosen so that the mean gap, {float(np.mean(truth['gaps'])):.3f}, is near the paper's "
        f"{float(np.mean(PAPER_GAPS)):.3f}. Our logits differ from the stored ones by at most "
        f"{truth['logits off by']:.0e} of the largest.",
    ]
    small = [i for i in worse if norms_of(truth["distances"][i]) < norms_of(truth["distances"][REFERENCE])]
    if small:
        notes.append(
            f"NAMMD is weaker than MMD for {_names(truth, worse)}; the squared norms of "
            f"{_names(truth, small)} are smaller than the reference's, against the condition of the theorem."
        )
    return notes


def _draw(figure: Figure, truth: Values, found: dict[int, dict[str, Any]]) -> None:
    left, middle, right = panels(figure, 1, 3)
    nammds = [distances["nammd"] for distances in truth["distances"]]
    for ax, what, by in (
        (left, "rates", truth["gaps"]),
        (middle, "p", truth["gaps"]),
        (right, "rates", nammds),
    ):
        order = np.argsort(by)
        for index, (method, name) in enumerate(METHODS.items()):
            values = [found[int(i)][what][method] for i in order]
            means, errors = [v["mean"] for v in values], [v["se"] for v in values]
            dashed = method in ("plugged", "compared")
            line(ax, np.sort(by), means, index, name, errors=errors, dashed=dashed)
        level_line(ax)
        ax.axvline(by[REFERENCE], color="#b03030", linewidth=0.8, zorder=0)
    titled(left, "rejection by gap", "confidence gap", "rate of rejection")
    titled(middle, "p-value by gap", "confidence gap", "mean p-value")
    titled(right, "rejection by distance", "true NAMMD")
    left.set_ylim(-0.03, 1.6)  # room for the legend
    left.set_yticks([0.0, 0.5, 1.0])
    legend(left, loc="upper left")


EXPERIMENT = Experiment(
    name="confidence",
    labels=("fig:DA_plot",),
    title="Case study 2: confidence gaps by class",
    seed=62,
    quick=_Gaps(repetitions=1500),
    full=_Gaps(repetitions=10000, chunk=500),
    tiny=_Gaps(repetitions=2, images=100, rows=10),
    cells=_cells,
    run_cell=_run,
    section=_section,
    rerun="single",
    data=(CIFAR_RESNET, CIFAR_PGD_FEATURES, IMAGES),
)
