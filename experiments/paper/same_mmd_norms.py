"""One MMD², different norms: p-values and the spread of the null (fig:var and fig:std_MMD)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import nammd
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.figures import COLOURS, legend, line, panels, titled
from experiments.results import Results
from experiments.rule import Claim, Comparison
from experiments.section import Picture, Section, table
from experiments.settings import Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MMD2, COMPONENTS, SPREAD = 0.005, 30, 0.02
SHOWN = (0.4, 0.7)
"""The squared norms of the parts (a) and (b)."""


@dataclass(frozen=True)
class _Norms(Settings):
    rows: int = 50
    permutations: int = 300
    norms: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Family:
    """The pair of mixtures of the paper with a given squared norm.

    The centres are the corners of a regular simplex, so all pairs of components are equally similar; P gives
    more weight to one half of them and Q to the other.
    """

    norm: float

    @property
    def within(self) -> float:
        """The mean kernel value within a component."""
        return math.exp(-COMPONENTS / 2 * math.log1p(2 * SPREAD**2))

    @property
    def ratio(self) -> float:
        """The similarity of different components, relative to that within one."""
        mean = (self.norm - MMD2 / 4) * COMPONENTS
        return (mean / self.within - 1) / (COMPONENTS - 1)

    @property
    def shift(self) -> float:
        """How much the weights differ."""
        return math.sqrt(MMD2 / (4 * self.within * (1 - self.ratio)))

    @property
    def centres(self) -> np.ndarray:
        """The centres: multiples of the unit vectors are equally far from each other."""
        squared_distance = -2 * (1 + 2 * SPREAD**2) * math.log(self.ratio)
        return np.eye(COMPONENTS) * math.sqrt(squared_distance / 2)

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights of P and of Q."""
        contrast = np.repeat([1.0, -1.0], COMPONENTS // 2) / math.sqrt(COMPONENTS)
        uniform = np.full(COMPONENTS, 1 / COMPONENTS)
        return uniform + self.shift * contrast, uniform - self.shift * contrast

    def exact(self) -> dict[str, float]:
        """Return MMD², NAMMD and the squared norm from the weights and the components' similarities."""
        gram = self.within * ((1 - self.ratio) * np.eye(COMPONENTS) + self.ratio)
        p, q = self.weights
        norms = float(p @ gram @ p), float(q @ gram @ q)
        mmd2 = float((p - q) @ gram @ (p - q))
        return {"mmd2": mmd2, "nammd": mmd2 / (4 - sum(norms)), "norm": norms[0], "other norm": norms[1]}

    def sample(self, rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw from P and from Q."""
        centres = self.centres
        x, y = (
            centres[rng.choice(COMPONENTS, rows, p=weights)]
            + SPREAD * rng.standard_normal((rows, COMPONENTS))
            for weights in self.weights
        )
        return x, y


def _cells(settings: _Norms) -> Iterator[Cell]:
    for norm in SHOWN:
        yield {"part": "points", "norm": norm}
    for norm in settings.norms:
        for chunk, count in chunks(settings.repetitions, 100):
            yield {"part": "test", "norm": norm, "chunk": chunk, "count": count}


def _run(settings: _Norms, cell: Cell, context: Context) -> Values:
    family = Family(float(cell["norm"]))
    if cell["part"] == "points":
        # The first direction is the contrast in which P and Q differ, the second one is any other.
        contrast = np.repeat([1.0, -1.0], COMPONENTS // 2) / math.sqrt(COMPONENTS)
        other = np.tile([1.0, -1.0], COMPONENTS // 2) / math.sqrt(COMPONENTS)
        drawn = family.sample(context.rng, settings.rows)
        return {
            name: (sample @ np.stack([contrast, other], axis=1)).round(4)
            for name, sample in zip(("x", "y"), drawn, strict=True)
        } | {"ratio": family.ratio, "shift": family.shift, "within": family.within}
    kernel, pvalues, spreads, differences = nammd.Gaussian(1.0), [], [], 0
    for _ in range(int(cell["count"])):
        x, y = family.sample(context.rng, settings.rows)
        seed = int(context.rng.integers(2**31))  # the same permutations for both statistics
        tests = {
            method: nammd.two_sample_test(
                x,
                y,
                method=method,
                kernel=kernel,
                permutations=settings.permutations,
                rng=seed,
                engine=context.engine,
            )
            for method in ("mmd", "nammd")
        }
        pvalues.append(tests["mmd"].pvalue)
        differences += tests["mmd"].pvalue != tests["nammd"].pvalue
        spreads.append(float(np.std(tests["mmd"].null)))
    return {
        **family.exact(),
        "pvalues": np.round(pvalues, 5),
        "null spread": float(np.mean(spreads)),
        "different p-values": differences,
    }


def _curve(results: Results[_Norms], norm: float) -> dict[str, Any]:
    """Join the chunks of one norm."""
    found = results.where(part="test", norm=norm)
    pvalues = np.concatenate([v["pvalues"] for v in found])
    low, middle, high = np.quantile(pvalues, (0.25, 0.5, 0.75))
    # The standard error of a median, from the order statistics around it.
    around = np.clip(0.5 + np.array([-0.5, 0.5]) / math.sqrt(len(pvalues)), 0, 1)
    below, above = np.quantile(pvalues, around)
    return {
        **found[0],
        "median": float(middle),
        "se": float(above - below) / 2,
        "quartiles": (float(low), float(high)),
        "null spread": float(np.mean([v["null spread"] for v in found])),
        "differences": sum(v["different p-values"] for v in found),
    }


def _section(results: Results[_Norms]) -> Section:
    norms = results.settings.norms
    curves = [_curve(results, norm) for norm in norms]
    rows = [
        [
            f"{norm:g}",
            f"{c['mmd2']:.6f}",
            f"{c['nammd']:.6f}",
            f"{c['median']:.3f} ± {c['se']:.3f}",
            f"{c['null spread']:.5f}",
        ]
        for norm, c in zip(norms, curves, strict=True)
    ]
    points = {norm: results.one(part="points", norm=norm) for norm in SHOWN}
    medians, spreads = [c["median"] for c in curves], [c["null spread"] for c in curves]
    fall = medians[-1] + 2 * curves[-1]["se"] < medians[0] - 2 * curves[0]["se"]
    narrower = all(a > b for a, b in pairwise(spreads))
    fixed = max(abs(c["mmd2"] - MMD2) for c in curves) < 1e-9
    differences = sum(c["differences"] for c in curves)
    body = (
        f"Mixtures of {COMPONENTS} normal distributions in {COMPONENTS} dimensions with MMD² = {MMD2:g}. The "
        f"paper's construction gives the similarity within a component {points[0.4]['within']:.5f}, and "
        + " and ".join(
            f"for the squared norm {norm:g} ρ = {v['ratio']:.5f}, s = {v['shift']:.5f}"
            for norm, v in points.items()
        )
        + f". Two-sample tests of {results.settings.rows} rows on each side with "
        f"{results.settings.permutations} permutations; the last column is the standard deviation "
        "of MMD² over permutations (`fig:std_MMD`). The paper shows curves.\n\n"
        + table(["squared norm", "MMD²", "NAMMD", "median p-value", "spread of the null"], rows)
    )
    sentence = (
        ("MMD² stays the same" if fixed else "MMD² does not stay the same")
        + f" while the median p-value goes from {medians[0]:.3f} to {medians[-1]:.3f} and the spread of the "
        f"null from {spreads[0]:.5f} to {spreads[-1]:.5f}; NAMMD rises from {curves[0]['nammd']:.6f} to "
        + f"{curves[-1]['nammd']:.6f}"
        + (", as the paper says." if fixed and fall and narrower else ", not all of it as the paper says.")
    )
    notes = []
    if differences == 0:
        notes.append(
            f"In none of the {sum(len(v['pvalues']) for v in results.where(part='test'))} tests did MMD² and "
            "NAMMD give different p-values: what rises with the norms is the value of NAMMD, not the power "
            "of its test."
        )
    return Section(
        body=body,
        sentence=sentence,
        claim=Claim(
            "At one MMD, larger norms go with smaller p-values, and with a smaller spread of the null.",
            [
                Comparison("MMD² is the same", fixed),
                Comparison("the p-value falls", fall, f"{medians[0]:.3f} to {medians[-1]:.3f}"),
                Comparison("the spread falls", narrower, f"{spreads[0]:.5f} to {spreads[-1]:.5f}"),
            ],
        ),
        pictures=[
            Picture("same_mmd_norms", _CAPTION, lambda f: _draw(f, norms, curves, points), (7.0, 5.4)),
            Picture("null_spread", _SPREAD_CAPTION, lambda f: _draw_spread(f, norms, curves), (4.6, 3.0)),
        ],
        notes=notes,
    )


_CAPTION = (
    "Samples at the squared norms 0.4 (a) and 0.7 (b), in two directions of the thirty; MMD² (c) and NAMMD "
    "(d) with the median p-value and its quartiles."
)
_SPREAD_CAPTION = "The spread of MMD² over permutations falls as the norms rise, and the p-values with it."


def _draw(figure: Figure, norms: Any, curves: list[dict[str, Any]], points: dict[float, Any]) -> None:
    axes = panels(figure, 2, 2)
    for ax, letter, norm in zip(axes[:2], "ab", SHOWN, strict=True):
        for index, (side, name) in enumerate((("x", "P"), ("y", "Q"))):
            cloud = np.array(points[norm][side])
            ax.scatter(
                cloud[:, 0], cloud[:, 1], s=9, color=COLOURS[index], alpha=0.7, linewidth=0, label=name
            )
        titled(ax, f"({letter}) squared norms {norm:g}")
    legend(axes[0], loc="center")
    for ax, letter, value, name in (
        (axes[2], "c", [c["mmd2"] for c in curves], "MMD²"),
        (axes[3], "d", [c["nammd"] for c in curves], "NAMMD"),
    ):
        line(ax, norms, value, 0, name)
        titled(ax, f"({letter}) {name} and p-value", "squared norm", name)
        _pvalues(ax.twinx(), norms, curves)
    axes[2].set_ylim(0, 2 * MMD2)


def _pvalues(ax: Axes, norms: Any, curves: list[dict[str, Any]]) -> None:
    line(ax, norms, [c["median"] for c in curves], 1)
    low, high = zip(*(c["quartiles"] for c in curves), strict=True)
    ax.fill_between(norms, low, high, color=COLOURS[1], alpha=0.12, linewidth=0)
    ax.set_ylim(0, 1)
    ax.tick_params(labelsize=9, colors=COLOURS[1])
    ax.set_ylabel("p-value", color=COLOURS[1])
    ax.spines["top"].set_visible(False)


def _draw_spread(figure: Figure, norms: Any, curves: list[dict[str, Any]]) -> None:
    [ax] = panels(figure, 1, 1)
    line(ax, norms, [c["null spread"] for c in curves], 0)
    titled(ax, "Permutation null of MMD²", "squared norm", "standard deviation")
    _pvalues(ax.twinx(), norms, curves)


EXPERIMENT = Experiment(
    name="same_mmd_norms",
    labels=("fig:var", "fig:std_MMD"),
    title="One MMD, different norms",
    seed=25,
    quick=_Norms(repetitions=100),
    full=_Norms(repetitions=300, norms=tuple(round(0.05 * k, 2) for k in range(2, 19))),
    tiny=_Norms(repetitions=2, norms=(0.4,), permutations=20),
    cells=_cells,
    run_cell=_run,
    section=_section,
)
