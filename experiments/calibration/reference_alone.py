"""The level of tolerances that are made from the reference alone: `Tolerance.from_split` and `from_noise`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import nammd
from experiments.calibration import reference_alone_text as text
from experiments.calibration.cases import MOVING, Sizes
from experiments.calibration.grid import ALPHA
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section
from experiments.settings import Settings
from nammd.datasets.laws.families import FAMILIES, known_pair


@dataclass(frozen=True)
class Alone(Settings):
    """Settings of the study.

    Attributes
    ----------
    laws : tuple of str
        The families of laws: the reference is drawn from the first law of a pair.
    sizes : tuple of str
        The rows of reference and candidate.
    blocks : tuple of int
        Into how many blocks `from_split` divides the reference.
    drifts : tuple of float
        How far the last block is from the others; 0: the reference is the same throughout.
    levels : tuple of float
        The noise of `from_noise`, in standard deviations.
    split_laws, split_sizes, split_repetitions
        The same for `from_split`, which takes longer.
    """

    laws: tuple[str, ...] = tuple(FAMILIES)
    sizes: tuple[str, ...] = ("100:100", "100:400", "400:100")
    blocks: tuple[int, ...] = (4, 10)
    drifts: tuple[float, ...] = (0.0, 0.05)
    levels: tuple[float, ...] = (0.3, 1.0)
    split_laws: tuple[str, ...] = (
        *(
            "shifted normal",
            "five columns",
            "rare stray",
            "exponential",
            "Poisson",
            "Student",
            "four clusters",
        ),
        "Cauchy",
    )
    split_sizes: tuple[str, ...] = ("100:100", "400:100")
    split_repetitions: int = 1


def _cells(settings: Alone) -> Iterator[Cell]:
    what: Cell
    for size in settings.split_sizes:
        for law in settings.split_laws:
            for blocks in settings.blocks:
                for drift in settings.drifts:
                    if known_pair(law, drift) is None:
                        continue
                    what = {"part": "split", "law": law, "size": size, "blocks": blocks, "drift": drift}
                    for chunk, count in chunks(settings.split_repetitions, 100):
                        yield {**what, "chunk": chunk, "count": count}
    for size in settings.sizes:
        for law in settings.laws:
            for level in settings.levels:
                what = {"part": "noise", "law": law, "size": size, "level": level}
                for chunk, count in chunks(settings.repetitions, 500):
                    yield {**what, "chunk": chunk, "count": count}


def _run(settings: Alone, cell: Cell, context: Context) -> Values:
    counts: Counter[str] = Counter()
    for _ in range(int(cell["count"])):
        (_split if cell["part"] == "split" else _noise)(counts, cell, context)
    return counts


def _split(counts: Counter[str], cell: Cell, context: Context) -> None:
    """Make a tolerance from blocks, and check candidates that are not FAR, and one that is not CLOSE."""
    pair, sizes = known_pair(str(cell["law"]), float(cell["drift"])), Sizes.of(str(cell["size"]))
    blocks = int(cell["blocks"])
    assert pair is not None  # or it would be no cell
    last = sizes.reference - np.linspace(0, sizes.reference, blocks + 1).astype(int)[-2]
    x = np.concatenate([pair.p.sample(context.rng, sizes.reference - last), pair.q.sample(context.rng, last)])
    tolerance = nammd.Tolerance.from_split(
        x, n_blocks=blocks, kernel=pair.kernel, rng=context.rng, anyway=True, engine=context.engine
    )
    gate = tolerance.with_reference(x, engine=context.engine)
    for name, law in (("first", pair.p), ("last", pair.q)):
        verdict = gate.check(law.sample(context.rng, sizes.candidate), ALPHA, allow=["all"])
        counts[f"far like the {name} blocks"] += verdict.is_far
        counts[f"close like the {name} blocks"] += verdict.is_close
    # Like the whole: any row of the candidate may be like any block.
    whole = pair.sample(context.rng, sizes.candidate, sizes.candidate)
    chosen = context.rng.random(sizes.candidate) < last / sizes.reference
    verdict = gate.check(np.where(chosen[:, None], whole[1], whole[0]), ALPHA, allow=["all"])
    counts["far like the whole"] += verdict.is_far
    counts["close like the whole"] += verdict.is_close
    if cell["drift"] == 0 and cell["law"] not in MOVING:
        beyond = known_pair(str(cell["law"]), _just_above(tolerance.epsilon))
        if beyond is not None:
            verdict = gate.check(beyond.q.sample(context.rng, sizes.candidate), ALPHA, allow=["all"])
            counts["beyond"] += 1
            counts["far beyond"] += verdict.is_far
            counts["close beyond"] += verdict.is_close


def _just_above(epsilon: float) -> float:
    """Return epsilon rounded up to two digits, so that few laws have to be found."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return math.ceil(epsilon / unit) * unit


def _noise(counts: Counter[str], cell: Cell, context: Context) -> None:
    """Make a tolerance from noise, and check a candidate that is the population with the same noise."""
    pair, sizes = known_pair(str(cell["law"]), 0.0), Sizes.of(str(cell["size"]))
    level = float(cell["level"])
    assert pair is not None
    x = pair.p.sample(context.rng, sizes.reference)
    candidate = pair.p.sample(context.rng, sizes.candidate)
    candidate = candidate + level * x.std(axis=0) * context.rng.standard_normal(candidate.shape)
    try:
        tolerance = nammd.Tolerance.from_noise(
            x,
            level=level,
            levels=(level,),
            kernel=pair.kernel,
            rng=context.rng,
            anyway=True,
            engine=context.engine,
        )
    except ValueError:  # the noise cannot be told apart from none
        counts["none"] += 1
        return
    verdict = tolerance.check(x, candidate, ALPHA, allow=["all"], engine=context.engine)
    counts["far with the noise"] += verdict.is_far
    counts["close with the noise"] += verdict.is_close


def _section(results: Results[Alone]) -> Section:
    return Section(text.body(results), text.sentence(results), notes=text.notes(results))


EXPERIMENT = Experiment(
    name="calibration_reference_alone",
    labels=("calibration-reference-alone",),
    title="Level of tolerances from the reference alone",
    seed=67,
    quick=Alone(
        repetitions=100,
        laws=("shifted normal", "exponential", "Poisson"),
        sizes=("100:100",),
        blocks=(4,),
        split_laws=("shifted normal", "exponential"),
        split_sizes=("100:100",),
        split_repetitions=50,
    ),
    full=Alone(repetitions=200, split_repetitions=50),
    tiny=Alone(
        repetitions=1,
        laws=("uniform",),
        sizes=("40:20",),
        blocks=(4,),
        drifts=(0.0,),
        levels=(1.0,),
        split_laws=("uniform",),
        split_sizes=("40:20",),
    ),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
