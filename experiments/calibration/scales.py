"""Level and power of FAR over several scales, against the median bandwidth alone, and where it fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

import nammd
from experiments.calibration.grid import ALPHA
from experiments.calibration.scale_faults import FAULTS, SCENES
from experiments.calibration.scale_laws import FAR_AWAY, LAWS, Generator, drawn
from experiments.calibration.scales_text import section
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.settings import Settings
from nammd.data.arrays import FloatArray
from nammd.data.opening import open_dataset
from nammd.questions.distance import Estimate
from nammd.statistics.scales import MOVED, moved_margin
from nammd.tolerances.gate import Gate
from nammd.tolerances.scale_margins import ScaledCheck

WAYS = ("hull", "ball", "alone")
"""A drift accepted, as a place or as a distance; or nothing but the reference."""


@dataclass(frozen=True)
class Scales(Settings):
    """The settings; of more than 300 rows there are fewer repetitions."""

    middle_repetitions: int = 1
    large_repetitions: int = 1
    laws: tuple[str, ...] = tuple(LAWS)
    hull: tuple[str, ...] = (
        *("1 x 100", "5 x 100", "50 x 100"),
        *("1 x 300", "2 x 300", "5 x 300", "20 x 300", "50 x 300"),
        *("2 x 1000:150", "20 x 1000:150", "1 x 150:1000", "5 x 150:1000"),
        *("2 x 1000", "20 x 1000", "5 x 2000"),
    )
    ball: tuple[str, ...] = ("1 x 100", "1 x 300", "2 x 300", "5 x 300", "20 x 300", "2 x 1000:150")
    noisy_laws: tuple[str, ...] = ("normal", "whole numbers", "zeros", "two values")
    noise: tuple[str, ...] = ("1 x 100", "1 x 300", "2 x 300", "5 x 300", "2 x 1000")
    power_columns: tuple[int, ...] = (1, 2, 5)
    power_rows: tuple[int, ...] = (300, 1000)
    power_repetitions: int = 1
    wide_columns: int = 20


def _cells(settings: Scales) -> Iterator[Cell]:
    for how, laws, grid in (
        ("hull", settings.laws, settings.hull),
        ("ball", settings.laws, settings.ball),
        ("noise", settings.noisy_laws, settings.noise),
    ):
        for law, size in product(laws, grid):
            repetitions, at_once = _repetitions(settings, size)
            for chunk, count in chunks(repetitions, at_once):
                spot: Cell = {"part": "level", "how": how, "law": law, "size": size}
                yield {**spot, "chunk": chunk, "count": count}
    for scene in SCENES:
        own = {"spikes": (2,), "wide": (settings.wide_columns,), "tight": (2,)}
        for columns in own.get(scene, settings.power_columns):
            for rows in settings.power_rows:
                few = rows > 300
                repetitions = max(settings.power_repetitions // (2 if few else 1), 1)
                for chunk, count in chunks(repetitions, 5 if few else 10):
                    spot = {"part": "power", "scene": scene, "columns": columns, "rows": rows}
                    yield {**spot, "chunk": chunk, "count": count}


def sizes(size: str) -> tuple[int, int, int]:
    """Return columns, rows of the reference and of accepted data, and rows of the candidate."""
    columns, rows = size.split(" x ")
    home, _, theirs = rows.partition(":")
    return int(columns), int(home), int(theirs or home)


def _repetitions(settings: Scales, size: str) -> tuple[int, int]:
    """Return how many repetitions there are, and how many of them are one cell."""
    rows = max(sizes(size)[1:])
    if rows <= 300:
        return settings.repetitions, 25
    return (settings.middle_repetitions, 10) if rows <= 1000 else (settings.large_repetitions, 5)


def _run(settings: Scales, cell: Cell, context: Context) -> Values:
    counts: Counter[str] = Counter()
    once = {"hull": _hull, "ball": _ball, "noise": _noise}.get(str(cell.get("how")), _power)
    for _ in range(int(cell["count"])):
        counts.update(once(cell, context))
    return dict(counts)


def judged(gate: Gate, candidate: FloatArray) -> ScaledCheck:
    """Return what a check says of all scales, without what it says of single columns and rows beside."""
    opened = gate.candidate(open_dataset(candidate, "candidate"), columns=False)
    tolerance, shared = gate.tolerance, gate.is_the_one
    evidence = gate._gathered(opened, tolerance.every_scale)
    nearest = gate._nearest(opened, evidence, tolerance.every_scale)
    estimate = Estimate.of(evidence[0])
    beyond = max(bar.pvalue_far(estimate, shared, nearest[0]) for bar in tolerance.bars)
    main = tolerance.epsilon, beyond
    return ScaledCheck.of(tolerance.scales, evidence, nearest, shared, main, ALPHA)


def _counted(gate: Gate, candidates: dict[str, FloatArray]) -> dict[str, int]:
    """Return who says FAR of which candidates."""
    found = {"made": 1}
    for name, candidate in candidates.items():
        check = judged(gate, candidate)
        pvalues = np.array([each.pvalue for each in check.checks])
        found[f"{name}/all"] = int(check.pvalue <= ALPHA)
        found[f"{name}/median"] = int(pvalues[0] <= ALPHA)
        found[f"{name}/Bonferroni"] = int(np.min(pvalues / check.law.weights) <= ALPHA)
        found["scales"] = len(pvalues)
    return found


def _gate(x: FloatArray, accepted: FloatArray | None, context: Context, **options: object) -> Gate | None:
    """Return a reference with its tolerance; None where accepted data set no distance."""
    try:
        tolerance = nammd.Tolerance.from_reference(
            x,
            accepted,
            negligible=False,
            anyway=True,
            engine=context.engine,
            **options,  # type: ignore[arg-type]
        )
    except ValueError as error:
        if "cannot be told apart" not in str(error):
            raise
        return None
    return tolerance.with_reference(x, engine=context.engine)


@cache
def margin_of(law: str, columns: int) -> tuple[float, float]:
    """Return the median bandwidth of a law, and the distance that 5 % of rows make there which moved away."""
    rows = drawn(np.random.default_rng(0), law, 1500, columns, 0.0)
    kernel = nammd.Gaussian.median(rows)
    values = kernel(rows, rows)
    mean = (values.sum() - len(rows)) / (len(rows) * (len(rows) - 1))
    return float(kernel.bandwidth), moved_margin(float(mean), MOVED)


def moved_away(rng: Generator, rows: FloatArray, share: float = MOVED) -> FloatArray:
    """Return rows of which a share moved to a copy of their law that is far away."""
    found = rows.copy()
    found[rng.random(len(rows)) < share, 0] += FAR_AWAY
    return found


def _hull(cell: Cell, context: Context) -> dict[str, int]:
    law, rng = str(cell["law"]), context.rng
    columns, m, n = sizes(str(cell["size"]))
    bandwidth, margin = margin_of(law, columns)
    x, accepted = (drawn(rng, law, m, columns, drift) for drift in (0.0, 1.0))
    gate = _gate(x, accepted, context, kernel=nammd.Gaussian(bandwidth), margin=margin)
    assert gate is not None
    like = {name: drawn(rng, law, n, columns, drift) for name, drift in _DRIFTS.items()}
    other = drawn(rng, law, n, columns, 1.0)
    like["mixture"] = np.where(rng.random(n)[:, None] < 0.5, other, drawn(rng, law, n, columns, 0.0))
    like["5 % moved"] = moved_away(rng, drawn(rng, law, n, columns, 0.0))
    return _counted(gate, like)


_DRIFTS = {"reference": 0.0, "accepted": 1.0, "half-way": 0.5}


def _ball(cell: Cell, context: Context) -> dict[str, int]:
    law, rng = str(cell["law"]), context.rng
    columns, m, n = sizes(str(cell["size"]))
    x, accepted = (drawn(rng, law, m, columns, drift, wide=True) for drift in (0.0, 1.0))
    like = {"accepted distance": drawn(rng, law, n, columns, 1.0, wide=True)}
    if LAWS[law].even:
        like["other side"] = drawn(rng, law, n, columns, -1.0, wide=True)
    gate = _gate(x, accepted, context, how="ball")
    return {} if gate is None else _counted(gate, like)


def _noise(cell: Cell, context: Context) -> dict[str, int]:
    law, rng = str(cell["law"]), context.rng
    columns, m, n = sizes(str(cell["size"]))
    x, candidate = (drawn(rng, law, rows, columns, 0.0) for rows in (m, n))
    gate = _gate(x, None, context)
    assert gate is not None
    noisy = candidate + 0.1 * x.std(axis=0) * rng.standard_normal(candidate.shape)
    return _counted(gate, {"noise": noisy})


def _power(cell: Cell, context: Context) -> dict[str, int]:
    scene, rng = SCENES[str(cell["scene"])], context.rng
    columns, rows = int(cell["columns"]), int(cell["rows"])
    x, accepted = (scene.draw(rng, rows, columns, drift) for drift in (0.0, 1.0))
    drifts = {"hull": scene.drift, "ball": scene.drift, "alone": 0.0}
    spoilt = {
        drift: {name: FAULTS[name].spoil(rng, scene.draw(rng, rows, columns, drift)) for name in scene.faults}
        for drift in (scene.drift, 0.0)
    }
    found: dict[str, int] = {}
    for way in WAYS:
        options = {"how": "ball"} if way == "ball" else {}
        gate = _gate(x, None if way == "alone" else accepted, context, **options)
        if gate is not None:
            told = _counted(gate, spoilt[drifts[way]])
            found |= {f"{way}/{name}": count for name, count in told.items()}
    return found


EXPERIMENT = Experiment(
    name="calibration_scales",
    labels=("calibration-scales",),
    title="Tolerances at several scales",
    seed=113,
    quick=Scales(
        repetitions=6,
        middle_repetitions=2,
        laws=("normal", "whole numbers", "closed curve"),
        hull=("1 x 100", "5 x 100"),
        ball=("1 x 100",),
        noise=("1 x 100",),
        noisy_laws=("whole numbers",),
        power_columns=(2,),
        power_rows=(300,),
        power_repetitions=3,
    ),
    full=Scales(repetitions=150, middle_repetitions=50, large_repetitions=20, power_repetitions=60),
    tiny=Scales(
        laws=("normal",),
        hull=("1 x 40",),
        ball=("1 x 40",),
        noise=("1 x 40",),
        noisy_laws=("whole numbers",),
        power_columns=(1,),
        power_rows=(40,),
        wide_columns=3,
    ),
    cells=_cells,
    run_cell=_run,
    section=section,
    page="calibration",
)
