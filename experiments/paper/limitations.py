"""The two examples of kernels for which the norms do not help (appendix "Limitation Statement")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.experiment import Cell, Context, Experiment, Values
from experiments.results import Results
from experiments.rule import Claim, Comparison
from experiments.section import Correction, Section, table
from experiments.settings import Settings

# The weights of P1, Q1 and P2, Q2 on the two points of each example.
_POLYNOMIAL = (((1 / 4, 3 / 4), (1 / 2, 1 / 2)), ((3 / 4, 1 / 4), (1.0, 0.0)))
_TAIL = (((1 / 4, 3 / 4), (3 / 4, 1 / 4)), ((1 / 2, 1 / 2), (1.0, 0.0)))


@dataclass(frozen=True)
class _Limits(Settings):
    offset: float = 1.5
    degree: int = 3
    tail: float = 0.2
    cut: float = 2.0


def _cells(settings: _Limits) -> Iterator[Cell]:
    yield {"kernel": "polynomial"}
    yield {"kernel": "matrix product"}
    yield {"kernel": "constant tail"}


def _run(settings: _Limits, cell: Cell, context: Context) -> Values:
    if cell["kernel"] == "polynomial":
        points = np.array([1.0, -1.0]) * np.sqrt(settings.offset)
        gram = (np.outer(points, points) + settings.offset) ** settings.degree
        return {
            "pairs": [_of(gram, *weights) for weights in _POLYNOMIAL],
            "smallest eigenvalue": _least(gram),
        }
    if cell["kernel"] == "matrix product":
        # As for the polynomial, at two points that the first entry of M scales.
        matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
        places = np.array([[1.0, 0.0], [-1.0, 0.0]]) * np.sqrt(settings.offset / matrix[0, 0])
        gram = (places @ matrix @ places.T + settings.offset) ** settings.degree
        return {
            "pairs": [_of(gram, *weights) for weights in _POLYNOMIAL],
            "smallest eigenvalue": _least(gram),
        }
    points = np.array([1.0, 4.0]) * settings.cut
    gram = _tail_kernel(points, settings)
    # Three points in a row whose neighbours are near and whose ends are far: where such a kernel fails.
    near = settings.cut * 0.75 * np.arange(3)
    return {
        "pairs": [_of(gram, *weights) for weights in _TAIL],
        "smallest eigenvalue": _least(_tail_kernel(near, settings)),
    }


def _tail_kernel(points: np.ndarray, settings: _Limits) -> np.ndarray:
    """Return a Gaussian kernel of bandwidth 2 K that is constant from the distance K on."""
    apart = np.abs(points[:, None] - points)
    gaussian = np.exp(-(apart**2) / (2 * (2 * settings.cut) ** 2))
    return np.where(apart < settings.cut, gaussian, settings.tail)


def _least(gram: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(gram)[0])


def _of(gram: np.ndarray, p: tuple[float, float], q: tuple[float, float]) -> dict[str, float]:
    difference = np.subtract(p, q)
    return {
        "mmd2": float(difference @ gram @ difference),
        "p norm": float(np.array(p) @ gram @ p),
        "q norm": float(np.array(q) @ gram @ q),
    }


def _paper(settings: _Limits) -> dict[str, list[dict[str, float]]]:
    """Return the values of the text, which has them as formulas in c and d."""
    unit, c = (2 * settings.offset) ** settings.degree, settings.tail
    polynomial = [
        {"mmd2": unit / 8, "p norm": 5 / 8 * unit, "q norm": unit / 2},
        {"mmd2": unit / 8, "p norm": 5 / 8 * unit, "q norm": unit},
    ]
    return {
        "polynomial": polynomial,
        "matrix product": polynomial,
        "constant tail": [
            {"mmd2": (1 - c) / 2, "p norm": (5 + 3 * c) / 8, "q norm": (5 + 3 * c) / 8},
            {"mmd2": (1 - c) / 2, "p norm": (1 + c) / 2, "q norm": 1.0},
        ],
    }


def _section(results: Results[_Limits]) -> Section:
    settings, paper = results.settings, _paper(results.settings)
    rows, worst, comparisons = [], 0.0, []
    for kernel, printed in paper.items():
        for number, (ours, theirs) in enumerate(
            zip(results.one(kernel=kernel)["pairs"], printed, strict=True)
        ):
            worst = max(worst, *(abs(ours[k] / theirs[k] - 1) for k in theirs))
            comparisons += [
                Comparison(
                    f"{kernel}, pair {number + 1}: {k}", abs(ours[k] / theirs[k] - 1) < 1e-8, f"{ours[k]:.5g}"
                )
                for k in theirs
            ]
            rows.append(
                [f"{kernel}, pair {number + 1}", *(f"{theirs[k]:.5g} / {ours[k]:.5g}" for k in theirs)]
            )
    body = (
        "Pairs of two-point distributions with the same MMD² and different norms, for kernels outside "
        f"what the paper treats: $(xy+c)^d$ with c = {settings.offset:g} and d = {settings.degree}, "
        "$(x'My+c)^d$, "
        f"and a Gaussian that is the constant {settings.tail:g} beyond a distance. Paper / ours:\n\n"
        + table(["kernel", "MMD²", "squared norm of P", "squared norm of Q"], rows)
    )
    agrees = worst < 1e-8
    least: Any = results.one(kernel="constant tail")["smallest eigenvalue"]
    corrections = []
    if least < 0:
        corrections.append(
            "The kernel with a positive limit at infinity is not positive definite: three points in a row, "
            f"each nearer to the next than the cut, have a Gram matrix with the eigenvalue {least:.3f}. MMD² "
            "may be negative under it."
        )
    return Section(
        body=body,
        sentence=f"The largest relative difference is {worst:.1g}."
        if not agrees
        else f"All {3 * len(rows)} values are those of the text.",
        claim=Claim(
            "Pairs of the same MMD have these norms, under kernels that the paper does not treat.",
            comparisons,
        ),
        corrections=[Correction(text, "fundamental") for text in corrections],
    )


EXPERIMENT = Experiment(
    name="limitations",
    labels=("limitation-polynomial", "limitation-matrix-product", "limitation-constant-tail"),
    title="Kernels for which the norms do not help",
    seed=0,
    quick=_Limits(),
    full=_Limits(),
    tiny=_Limits(),
    cells=_cells,
    run_cell=_run,
    section=_section,
)
