"""The level of tests on sketches of whole populations: all that varies are the frequencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import nammd
from experiments.calibration.grid import ALPHA, ASKED
from experiments.experiment import Cell, Context, Experiment, Values, chunks
from experiments.results import Results
from experiments.section import Section, table
from experiments.settings import Settings
from experiments.summary import rate_of, shown
from nammd.datasets.laws.features import nammd_of_normals, sketch_of_normal
from nammd.questions.closeness import closeness_of

SHIFT = 1.5
CAUTION = "few-frequencies"
_KERNELS: dict[str, type[nammd.Gaussian] | type[nammd.Laplace]] = {
    "Gaussian": nammd.Gaussian,
    "Laplace": nammd.Laplace,
}
_SETTINGS = (
    ("Gaussian", 1.5, 1),
    ("Gaussian", 3.0, 5),
    ("Gaussian", 6.0, 20),
    ("Laplace", 5.6, 5),
    ("Laplace", 22.0, 20),
    ("Laplace", 5.6, 20),
    ("Laplace", 113.0, 100),
    ("Laplace", 28.0, 100),
)
"""Kernels, bandwidths and columns: each bandwidth near the median distance, two at a quarter of it."""
_SELDOM = 0.1
"""Of settings in which fewer than this are cautioned, or fewer than this are not, the page says more."""


@dataclass(frozen=True)
class _Drawn(Settings):
    """Settings.

    Attributes
    ----------
    features : tuple of int
        The numbers of features.
    many : int
        From this number of features on there are `many_repetitions`.
    many_repetitions : int
        See `many`.
    """

    features: tuple[int, ...] = (16, 64, 256, 1024)
    many: int = 1024
    many_repetitions: int = 1


def _repetitions(settings: _Drawn, features: int) -> int:
    return settings.repetitions if features < settings.many else settings.many_repetitions


def _cells(settings: _Drawn) -> Iterator[Cell]:
    for kernel, bandwidth, columns in _SETTINGS:
        for features in settings.features:
            size = 2000 if features < settings.many else 250
            for chunk, count in chunks(_repetitions(settings, features), size):
                yield {
                    "kernel": kernel,
                    "bandwidth": bandwidth,
                    "columns": columns,
                    "features": features,
                    "chunk": chunk,
                    "count": count,
                }


def _run(settings: _Drawn, cell: Cell, context: Context) -> Values:
    kernel = _KERNELS[str(cell["kernel"])](float(cell["bandwidth"]))
    shift = np.zeros(int(cell["columns"]))
    shift[0] = SHIFT
    margin = nammd_of_normals(shift, kernel)
    counts = Counter(dict.fromkeys([*ASKED, "cautioned", "close, not cautioned"], 0))
    for _ in range(int(cell["count"])):
        features = nammd.RandomFeatures(kernel, int(cell["features"]), rng=context.rng)
        x, y = (sketch_of_normal(mean, features) for mean in (np.zeros_like(shift), shift))
        estimate = nammd.distance(x, y)
        rejected = {
            asked: closeness_of(estimate, margin, alternative, ALPHA, "corrected").rejected
            for asked, alternative in ASKED.items()
        }
        cautioned = any(caution.code == CAUTION for caution in estimate.cautions)
        counts.update(rejected)
        counts["cautioned"] += cautioned
        counts["close, not cautioned"] += rejected["close"] and not cautioned
    return dict(counts)


@dataclass(frozen=True)
class _Setting:
    """One kernel with its columns and features, all chunks together."""

    kernel: str
    bandwidth: float
    columns: int
    features: int
    tries: int
    counts: Mapping[str, int]

    def rate(self, name: str) -> float:
        """Return how often a thing happened, as a share."""
        return self.counts[name] / self.tries

    @property
    def where(self) -> str:
        """The setting, as text."""
        columns = f"{self.columns} column{'' if self.columns == 1 else 's'}"
        return f"{self.kernel} of bandwidth {self.bandwidth:g}, {columns}, {self.features} features"


def _found(results: Results[_Drawn]) -> list[_Setting]:
    found = []
    for kernel, bandwidth, columns in _SETTINGS:
        for features in results.settings.features:
            counts: Counter[str] = Counter()
            wanted = {"kernel": kernel, "bandwidth": bandwidth, "columns": columns, "features": features}
            for values in results.where(**wanted):
                counts.update(values)
            tries = _repetitions(results.settings, features)
            found.append(_Setting(kernel, bandwidth, columns, features, tries, counts))
    return found


def _section(results: Results[_Drawn]) -> Section:
    found = _found(results)
    told = _table(found, results.settings)
    body = (
        f"Sketches of whole populations, two normal laws that differ by {SHIFT:g} in one column: their sums "
        "are those of infinitely many rows, and all that varies are the random frequencies. Epsilon is the "
        "exact distance under the exact kernel, so every rejection is an error. A distance that rests on "
        f"too few frequencies carries the caution `{CAUTION}`:\n\n" + told
    )
    return Section(
        body=body,
        sentence=_sentence(found),
        notes=_notes(found),
        tables={"sketch-level.md": told},
    )


def _table(found: Sequence[_Setting], settings: _Drawn) -> str:
    rows = [
        [one.kernel, f"{one.bandwidth:g}", str(one.columns), str(one.features)]
        + [f"{one.rate(name):.3f}" for name in ("too far", "close", "close, not cautioned")]
        + [f"{one.rate('cautioned'):.0%}".replace("%", " %")]
        for one in found
    ]
    head = ["kernel", "bandwidth", "columns", "features"]
    head += ["proving too far", "proving close", "of these without caution", "cautioned"]
    fewer = (
        f" ({settings.many_repetitions} of {settings.many} features)"
        if settings.many_repetitions != settings.repetitions and settings.many in settings.features
        else ""
    )
    note = (
        f"Shares of {settings.repetitions} draws of the frequencies{fewer} that reject a true null "
        f"hypothesis at level {ALPHA:g}, and that carry the caution `{CAUTION}`. Two normal laws that differ "
        f"by {SHIFT:g} in one column, infinitely many rows, epsilon exact."
    )
    return table(head, rows) + f"\n{note}\n"


def _sentence(found: Sequence[_Setting]) -> str:
    far, close, unnoted = (
        max(found, key=lambda one, name=name: one.rate(name))  # type: ignore[misc]
        for name in ("too far", "close", "close, not cautioned")
    )
    sentence = (
        f"The laws are wrongly proven too far apart in up to {_told(far, 'too far')}, and close in up to "
        f"{_told(close, 'close')}; close and without the caution in up to "
        f"{_told(unnoted, 'close, not cautioned')}."
    )
    trusted = [one for one in found if one.rate("cautioned") < _SELDOM]
    if trusted:
        worst = max(trusted, key=lambda one: one.rate("close"))
        sentence += (
            f" Where fewer than {_SELDOM:.0%} of the draws are cautioned, close is wrongly proven in up to "
            f"{_told(worst, 'close')}."
        )
    return sentence


def _told(one: _Setting, name: str) -> str:
    return f"{shown(rate_of(one.counts[name], one.tries))} ({one.where})"


def _notes(found: Sequence[_Setting]) -> list[str]:
    """Say what a missing caution is worth where nearly all draws have one."""
    each = []
    for one in found:
        silent = one.tries - one.counts["cautioned"]
        if 0 < silent < _SELDOM * one.tries:
            wrong = one.counts["close, not cautioned"]
            each.append(f"{wrong} of {silent} ({silent / one.tries:.1%} of the draws; {one.where})")
    if not each:
        return []
    return [
        "That there is no caution is no proof: where nearly all draws are cautioned, the few that are not "
        f"are often those that missed what matters. Of these, wrongly proven close: {'; '.join(each)}."
    ]


EXPERIMENT = Experiment(
    name="calibration_sketch_frequencies",
    labels=("calibration-sketch-frequencies",),
    title="Level of tests on sketches by the number of features",
    seed=68,
    quick=_Drawn(repetitions=200, many_repetitions=25),
    full=_Drawn(repetitions=2000, many_repetitions=1000),
    tiny=_Drawn(repetitions=3, features=(16, 32)),
    cells=_cells,
    run_cell=_run,
    section=_section,
    page="calibration",
)
