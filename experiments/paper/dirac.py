"""NAMMD between single points of real data, by their distance (fig:stat_scheme)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import nammd
from experiments.data import HIGGS, MNIST
from experiments.experiment import Cell, Context, Experiment, Values
from experiments.figures import legend, line, panels, titled
from experiments.results import Results
from experiments.rule import Claim, Comparison
from experiments.section import Correction, Picture, Section, table
from experiments.settings import Settings
from experiments.summary import counted, mean, shown
from nammd.datasets import blob, hdgm, higgs, mnist

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BANDWIDTHS = {"blob": 1.0, "higgs": 1.0, "hdgm": 1.0, "mnist": 10.0}
POINTS = 10


@dataclass(frozen=True)
class _Draws(Settings):
    pass


def _cells(settings: _Draws) -> Iterator[Cell]:
    for data in BANDWIDTHS:
        yield {"data": data}


def _points(data: str, context: Context) -> Any:
    if data == "blob":
        return blob(POINTS, rng=context.rng)[0]
    if data == "hdgm":
        return hdgm(POINTS, rng=context.rng)[0]
    if data == "higgs":
        return higgs(POINTS, folder=context.data, rng=context.rng)[0]
    return mnist(POINTS, folder=context.data, alternative=False, rng=context.rng)[0]


def _run(settings: _Draws, cell: Cell, context: Context) -> Values:
    data = str(cell["data"])
    kernel = nammd.Gaussian(BANDWIDTHS[data])
    values = np.empty((settings.repetitions, POINTS - 1))
    distances = np.empty_like(values)
    for k in range(settings.repetitions):
        points = _points(data, context)
        away = np.linalg.norm(points[1:] - points[0], axis=1)
        order = np.argsort(-away)  # z1 is the farthest, as in the paper
        # Both norms of two single points are the bound, so NAMMD is 2(K - k) / (4K - 2K) = 1 - k/K.
        similarity = np.asarray(kernel(points[:1], points[1:]))[0]
        values[k], distances[k] = 1 - similarity[order] / kernel.bound, away[order]
    rises = [bool(np.all(np.diff(row) <= 1e-12)) for row in values]
    return {
        "nammd": [mean(column) for column in values.T],
        "distance": distances.mean(axis=0),
        "rises with distance": sum(rises),
    }


def _section(results: Results[_Draws]) -> Section:
    found = {data: results.one(data=data) for data in BANDWIDTHS}
    rows = [
        [
            data,
            *(shown(v["nammd"][k]) for k in (0, 2, 4, 6, 8)),
            f"{v['rises with distance']} of {_count(results)}",
        ]
        for data, v in found.items()
    ]
    always = all(v["rises with distance"] == _count(results) for v in found.values())
    body = (
        f"Ten points of each data set: NAMMD between a point mass at one of them and at the others, the "
        f"farthest (z₁) first; Gaussian kernel $e^{{-d^2/(2\\gamma^2)}}$ with γ = 1, and γ = 10 for mnist. "
        f"Means of {counted(_count(results), 'draw')}.\n\n"
        + table(["data", "z₁", "z₃", "z₅", "z₇", "z₉", "never falls with the distance in"], rows)
    )
    correction = (
        "“NAMMD increases as the distance of the points decreases” is reversed: it is 1 - k/K, and rises "
        f"with the distance in all {len(found) * _count(results)} draws."
    )
    return Section(
        body=body,
        sentence=(
            "NAMMD tells near points from far ones, where the total variation is 1 for all"
            + (
                ", in the order of their distances in every draw."
                if always
                else ", though not in every draw."
            )
        ),
        claim=Claim(
            "NAMMD tells near point masses from far ones, which total variation does not, and increases as "
            "they come nearer.",
            [
                comparison
                for data, v in found.items()
                for comparison in (
                    Comparison(f"{data}: tells near from far", _spread(v) > 0, f"{_spread(v):.3f}"),
                    Comparison(f"{data}: increases as they come nearer", _rises_nearer(v), ""),
                )
            ],
        ),
        pictures=[
            Picture("dirac", "NAMMD between point masses, from the farthest to the nearest.", _drawing(found))
        ],
        corrections=[Correction(correction, "typos")] if always else [],
    )


def _spread(v: Mapping[str, Any]) -> float:
    """Return by how much NAMMD to the farthest point differs from that to the nearest."""
    return abs(float(v["nammd"][0]["mean"] - v["nammd"][-1]["mean"]))


def _rises_nearer(v: Mapping[str, Any]) -> bool:
    return all(a["mean"] < b["mean"] for a, b in pairwise(v["nammd"]))


def _count(results: Results[_Draws]) -> int:
    return results.settings.repetitions


def _drawing(found: dict[str, Any]) -> Any:
    def draw(figure: Figure) -> None:
        left, right = panels(figure, 1, 2, sharey=True)
        for index, (data, v) in enumerate(found.items()):
            values, errors = [n["mean"] for n in v["nammd"]], [n["se"] for n in v["nammd"]]
            line(left, list(range(1, POINTS)), values, index, data, errors=errors)
            line(right, v["distance"], values, index, data)
        titled(left, "by rank", "i (1 is the farthest)", "NAMMD")
        titled(right, "by mean distance", "distance of the points")
        right.set_xscale("log")
        legend(left, loc="lower left")

    return draw


EXPERIMENT = Experiment(
    name="dirac",
    labels=("fig:stat_scheme",),
    title="NAMMD between single points",
    seed=26,
    quick=_Draws(repetitions=10),
    full=_Draws(repetitions=100),
    tiny=_Draws(repetitions=2),
    cells=_cells,
    run_cell=_run,
    section=_section,
    data=(HIGGS, MNIST),
)
