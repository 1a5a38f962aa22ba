"""Which target is farther from the source, found without labels (fig:DA2_plot, tab:margin)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nammd
from experiments.data import CIFAR_RESNET, PACS
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import legend, level_line, line, panels, titled
from experiments.paper.pacs_domains import SOURCE, TARGETS, gaps, pacs_domains
from experiments.paper.reference_pairs import (
    METHODS,
    above,
    below,
    joined,
    true_distances,
)
from experiments.paper.shared_source import rejections
from experiments.results import Results
from experiments.rule import Claim, Comparison, higher
from experiments.section import Picture, Section, table
from experiments.settings import Settings
from experiments.summary import counted, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = {
    "ImageNet-Sketch": (0.529, 0.504),
    "ImageNet-R": (0.564, 0.549),
    "ImageNet-V2": (0.751, 0.684),
    "ImageNet-A": (0.827, 0.764),
}
"""Accuracy and confidence gaps of a ResNet50, as printed."""


@dataclass(frozen=True)
class _Domains(Settings):
    images: int = 4000  # at most, of every domain
    noise: float = 0.01
    rows: tuple[int, ...] = (50, 100, 150)  # the last is the paper's
    chunk: int = 250
    alpha: float = 0.05


@cache
def _truth(
    data: Path, images: int, noise: float, device: str
) -> tuple[nammd.Gaussian, dict[str, dict[str, float]]]:
    domains = pacs_domains(data, images, noise, device)
    source, engine = domains[SOURCE].features, nammd.Tiles(threads=1)
    kernel = nammd.Gaussian.median(source)
    return kernel, {t: true_distances(source, domains[t].features, kernel, engine) for t in TARGETS}


def _cells(settings: _Domains) -> Iterator[Cell]:
    yield {"part": "gaps"}
    for rows in settings.rows:
        for chunk, count in chunks(settings.repetitions, settings.chunk):
            yield {"part": "tests", "rows": rows, "chunk": chunk, "count": count}


def _run(settings: _Domains, cell: Cell, context: Context) -> Values:
    place = context.data, settings.images, settings.noise, context.device
    domains = pacs_domains(*place)
    kernel, truth = _truth(*place)
    if cell["part"] == "gaps":
        return {
            "bandwidth": kernel.bandwidth,
            "images": {name: len(domain.labels) for name, domain in domains.items()},
            "distances": truth,
            "gaps": gaps(domains),
        }
    return rejections(
        domains[SOURCE].features,
        {name: domains[name].features for name in TARGETS},
        truth,
        kernel,
        rows=int(cell["rows"]),
        repetitions=int(cell["count"]),
        alpha=settings.alpha,
        rng=context.rng,
        engine=context.engine,
    )


def _section(results: Results[_Domains]) -> Section:
    settings, known = results.settings, results.one(part="gaps")
    distance = {t: known["distances"][t]["nammd"] for t in TARGETS}
    near_to_far = sorted(TARGETS, key=lambda t: distance[t])
    found = {
        rows: {
            (q1, q2): joined(v[q1][q2] for v in results.where(part="tests", rows=rows))
            for q1 in TARGETS
            for q2 in TARGETS
        }
        for rows in settings.rows
    }
    most = settings.rows[-1]
    farther = [(a, b) for a, b in permutations(near_to_far, 2) if distance[b] > distance[a]]
    nearer = [(b, a) for a, b in farther]
    body = (
        "PACS, at 32 × 32 pixels: photographs are the source (P₁ = P₂); art paintings, cartoons, sketches, "
        f"and photographs with normal noise of deviation {settings.noise:g}, are the targets, in features "
        "of a ResNet20. The gaps, of a softmax classifier on the features (accuracy "
        f"{known['gaps'][SOURCE]['accuracy']:.3f}), are for validation only.\n\n"
        + table(
            [
                "target",
                "images",
                "true NAMMD",
                "true MMD²",
                "accuracy gap (± the target's part)",
                "confidence gap",
            ],
            _margins(known, near_to_far),
        )
        + "\nThe paper's targets and gaps (`tab:margin`):\n\n"
        + table(
            ["gap", *PAPER],
            [[n, *(f"{v[k]:.3f}" for v in PAPER.values())] for k, n in enumerate(("accuracy", "confidence"))],
        )
        + f"\nRates of rejection at level {settings.alpha:g} in "
        f"{counted(settings.repetitions, 'repetition')}; {most} rows as in the paper, which shows no "
        "numbers. First where Q₂ is farther than Q₁, then where both are the same:\n\n"
        + table(
            [f"Q₁ → Q₂ ({most} rows)", *METHODS.values(), "mean p, MMD / NAMMD"],
            [_line(found[most], q1, q2) for q1, q2 in (*farther, *((t, t) for t in near_to_far))],
        )
    )
    told = {p: _gap_order(known, *p) for p in farther}
    agreeing, contrary = ([p for p in farther if told[p] == sign] for sign in (1, -1))
    worse = [(r, p) for r in settings.rows for p in farther if below(found[r][p]["gain"], 0)]
    better = [(r, p) for r in settings.rows for p in farther if above(found[r][p]["gain"], 0)]
    seen = [p for p in farther if above(found[most][p]["rates"]["nammd"], settings.alpha)]
    wrong = [p for p in nearer if above(found[most][p]["rates"]["nammd"], settings.alpha)]
    sentence = (
        f"The paper's NAMMD test finds the farther of two targets in {len(seen)} of {len(farther)} pairs"
        + (", and never the nearer one. " if not wrong else f", and the nearer one in {len(wrong)}. ")
        + f"The accuracy gap puts {len(agreeing)} in the same order by more than two standard errors, and "
        f"{len(contrary)} in the other"
        + (f" ({', '.join(map(_arrow, contrary))}). " if contrary else ". ")
        + f"NAMMD's power is above MMD's by as much in {len(better)} of "
        f"{len(farther) * len(settings.rows)} cases, and below in {len(worse)}"
        + (f" ({'; '.join(f'{_arrow(p)} with {r} rows' for r, p in worse)})." if worse else ".")
    )
    return Section(
        body=body,
        sentence=sentence,
        claim=Claim(
            "NAMMD has higher power than MMD, and orders the targets as the accuracy gap does.",
            [
                *(
                    higher(
                        f"{_arrow(p)}, {r} rows",
                        found[r][p]["gain"]["mean"],
                        found[r][p]["gain"]["se"] or 0.0,
                    )
                    for r in settings.rows
                    for p in farther
                ),
                *(Comparison(f"{_arrow(p)}: the order of the gaps", p in agreeing) for p in farther),
            ],
        ),
        pictures=[
            Picture(
                "domains",
                "Rates of rejection for neighbours in the order of NAMMD, and the mean level.",
                lambda figure: _draw(figure, found, near_to_far),
                (7.0, 4.6),
            )
        ],
        notes=_notes(settings, found, near_to_far, farther),
    )


def _gap_order(known: Values, near: str, far: str) -> int:
    """Return 1 where the accuracy gap of `far` is larger beyond chance, -1 where it is smaller, else 0."""
    one, other = known["gaps"][near], known["gaps"][far]
    # The accuracy on the source is a part of both gaps, and so is its error.
    error = float(np.hypot(one["se"], other["se"]))
    difference = other["accuracy gap"] - one["accuracy gap"]
    return int(np.sign(difference)) if abs(difference) > 2 * error else 0


def _margins(known: Values, targets: list[str]) -> list[list[str]]:
    return [
        [
            t,
            str(known["images"][t]),
            f"{known['distances'][t]['nammd']:.4f}",
            f"{known['distances'][t]['mmd2']:.4f}",
            f"{known['gaps'][t]['accuracy gap']:.3f} ± {known['gaps'][t]['se']:.3f}",
            f"{known['gaps'][t]['confidence gap']:.3f}",
        ]
        for t in targets
    ]


def _line(found: Mapping[tuple[str, str], Any], q1: str, q2: str) -> list[str]:
    v = found[q1, q2]
    return [
        _arrow((q1, q2)),
        *(shown(v["rates"][method]) for method in METHODS),
        f"{v['p']['mmd']['mean']:.3f} / {v['p']['nammd']['mean']:.3f}",
    ]


def _arrow(pair: tuple[str, str]) -> str:
    return " → ".join(pair)


def _notes(
    settings: _Domains,
    found: Mapping[int, Mapping[tuple[str, str], Any]],
    targets: list[str],
    farther: list[tuple[str, str]],
) -> list[str]:
    tests = ("nammd", "ours", "plugged", "compared")
    lines = []
    for rows in settings.rows:
        level = {m: [(found[rows][t, t]["rates"][m], t) for t in targets] for m in tests}
        over = {m: [t for rate, t in each if above(rate, settings.alpha)] for m, each in level.items()}
        power = {m: float(np.mean([found[rows][p]["rates"][m]["mean"] for p in farther])) for m in METHODS}
        lines.append(
            [
                str(rows),
                *(_largest(level[m]) for m in tests),
                _which(over),
                *(f"{power[m]:.3f}" for m in ("mmd", *tests)),
            ]
        )
    head = ["rows", *(f"level, {METHODS[m]}" for m in tests), "too high"]
    return [
        "By rows, the largest level over the targets and the mean power over the pairs:\n\n"
        + table([*head, *(f"power, {METHODS[m]}" for m in ("mmd", *tests))], lines),
        "With folders of your own, and torchvision's ResNet-50: `python -m experiments.paper.imagenet SOURCE "
        "TARGET TARGET ...`.",
    ]


def _largest(rates: list[tuple[Any, str]]) -> str:
    return shown(max((rate for rate, _ in rates), key=lambda rate: float(rate["mean"])))


def _which(over: dict[str, list[str]]) -> str:
    named = {
        "nammd": "the paper's",
        "ours": "ours",
        "plugged": "the paper's with sampled ε",
        "compared": "`compare_pairs`",
    }
    found = [f"{named[m]} ({', '.join(targets)})" for m, targets in over.items() if targets]
    return "; ".join(found) if found else "none"


def _draw(figure: Figure, found: Mapping[int, Mapping[tuple[str, str], Any]], targets: list[str]) -> None:
    axes = panels(figure, 2, 2, sharey=False)
    pairs = list(pairwise(targets))
    sizes = list(found)
    for ax, pair in zip(axes, [*pairs, None], strict=True):
        for index, (method, name) in enumerate(METHODS.items()):
            dashed = method in ("plugged", "compared")
            if pair:
                rates = [found[rows][pair]["rates"][method] for rows in sizes]
                values, errors = [r["mean"] for r in rates], [r["se"] for r in rates]
                line(ax, sizes, values, index, name, errors=errors, dashed=dashed)
            else:
                means = [
                    np.mean([found[rows][t, t]["rates"][method]["mean"] for t in targets]) for rows in sizes
                ]
                line(ax, sizes, means, index, name, dashed=dashed)
        level_line(ax)
        titled(ax, _arrow(pair) if pair else "Q₂ = Q₁: the level", "rows", "rate of rejection")
        ax.set_ylim(0, 1.05 if pair else 0.12)
    legend(axes[2], loc="center")


EXPERIMENT = Experiment(
    name="domains",
    labels=("fig:DA2_plot", "tab:margin"),
    title="Case study 1: which target is farther",
    seed=61,
    quick=_Domains(repetitions=700, images=1000),
    full=_Domains(repetitions=5000),
    tiny=_Domains(repetitions=2, images=20, rows=(10,)),
    cells=_cells,
    run_cell=_run,
    section=_section,
    rerun="single",
    data=(PACS, CIFAR_RESNET),
)
