"""From whatever people have to samples of one space: `prepare`.

Every question begins here: the data are opened, the space is settled, and the rows become points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nammd.data.arrays import first_rows
from nammd.data.dataset import Dataset
from nammd.data.opening import open_all
from nammd.data.pieces import is_mapped
from nammd.data.row_grouping import LEAST_GROUPS, NO_GROUPING, RowGrouping, with_grouping
from nammd.encoding import Encoding
from nammd.encoding.farthest import naming_the_farthest
from nammd.engines import Engine, workers_read_files
from nammd.errors.advice import Advice, refusal
from nammd.errors.checks import counted
from nammd.kernels import large
from nammd.kernels.operations import check, features_of
from nammd.sketches.sample import SketchSample, require_alike
from nammd.spaces import Sample, Space, SpaceLike, SpaceOptions
from nammd.spaces.sample import together
from nammd.spaces.space import fit_space, for_rows, sample_of, settled

MIN_ROWS = 4
"""The unbiased variance components are averages over four distinct rows."""


def prepare(
    data: Mapping[str, Any],
    *,
    space: SpaceLike | None = None,
    kernel: Any = None,
    reference: bool = False,
    engine: Engine | None = None,
    digest: bool = False,
    least: int = MIN_ROWS,
    grouping: RowGrouping = NO_GROUPING,
    exact: bool = True,
) -> list[Any]:
    """Return datasets as samples of one space.

    Parameters
    ----------
    data : mapping of str to dataset
        The datasets, by the names that messages give them.
    space : Space or dict, optional
        The space, or options of `Space.fit`; by default one is fitted.
    kernel : Kernel or class, optional
        Its kernel, where the space is fitted; by default the Gaussian with the median bandwidth.
    reference : bool
        Whether the space is fitted on the first dataset, and not on all of them alike.
    engine : Engine, optional
        The engine that will compute; some read files by themselves.
    digest : bool
        Whether digests of the samples will be asked for.
    least : int
        The smallest number of rows.
    grouping : RowGrouping
        Which rows belong together, and how much each counts.
    exact : bool
        Whether the kernel is the one that was chosen, however many rows there are; else of many rows it is
        one of features, see `nammd.kernels.large`.

    Returns
    -------
    list of samples
        One for each dataset; of a dataset that is given twice, the same one.
    """
    return prepared(
        opened(data, space=space, kernel=kernel, engine=engine, least=least, grouping=grouping),
        space=space,
        kernel=kernel,
        reference=reference,
        engine=engine,
        digest=digest,
        least=least,
        exact=exact,
    )


def opened(
    data: Mapping[str, Any],
    *,
    space: SpaceLike | None = None,
    kernel: Any = None,
    engine: Engine | None = None,
    least: int = MIN_ROWS,
    grouping: RowGrouping = NO_GROUPING,
) -> list[Dataset]:
    """Open the datasets of a question, as its space reads files, and put their rows into groups."""
    fixed, options = settled(space, kernel)
    written = options.get("reading") if fixed is None else fixed.encoding.for_files
    datasets = open_all(data, min_rows=least, by_workers=workers_read_files(engine), reading=written)
    return with_grouping(datasets, grouping)


def prepared(
    datasets: Sequence[Dataset],
    *,
    space: SpaceLike | None = None,
    kernel: Any = None,
    reference: bool = False,
    engine: Engine | None = None,
    digest: bool = False,
    least: int = MIN_ROWS,
    known: Sequence[Any] = (),
    exact: bool = True,
) -> list[Any]:
    """Return datasets that are open, and know their groups, as samples of one space; see `prepare`.

    `known` are samples that were made of some of them before.
    """
    made = {id(sample.dataset): sample for sample in known}
    fixed, options = settled(space, kernel)
    if any(not dataset.keeps_rows for dataset in datasets):
        return _sketched(datasets, fixed, options, engine, made)
    space = fit_space(datasets[:1] if reference else datasets, **options) if fixed is None else fixed
    for dataset in datasets:
        if id(dataset) not in made:
            made[id(dataset)] = sample_of(dataset, space, digest)
    distinct = dict(zip(made, together(list(made.values())), strict=True))
    samples: list[Sample] = [distinct[id(dataset)] for dataset in datasets]
    for sample in samples:  # of some data the size is known only now
        if sample.size < least:
            raise ValueError(f"{sample.name} has {counted(sample.size, 'row')}; at least {least} are needed")
    if not exact:
        samples = _for_their_rows(samples, space)
        space = samples[0].space
    with naming_the_farthest({sample.name: sample.points for sample in samples}, space.encoding):
        check(space.kernel, first_rows(samples[0].points, 7), first_rows(samples[-1].points, 5))
    return samples


def compared(reference: Any, sample: Any) -> Any:
    """Return the rows of a sample that are compared with those of a reference.

    All; or as many as can be compared in pairs, where the kernel has no features and the reference is not
    too large itself. Then a random part of the sample is still the larger of both. Of rows that stay where
    they are, such as on Spark, never more than that.
    """
    if not (reference.keeps_rows and sample.keeps_rows) or features_of(reference.space.kernel):
        return sample
    most = large.MOST_ROWS
    if is_mapped(sample.points):
        return sample.at_most(max(most - reference.size, most // 2))
    return sample.at_most(most - reference.size) if 2 * reference.size <= most else sample


def _for_their_rows(samples: Sequence[Sample], space: Space) -> list[Sample]:
    """Return samples in the space for as many rows as the two largest of them have."""
    different = {id(sample): sample for sample in samples}
    rows = sum(sorted(sample.size for sample in different.values())[-2:])
    wanted = for_rows(space, int(samples[0].points.shape[1]), rows)
    if wanted is space:
        return list(samples)
    moved = {key: replace(sample, space=wanted) for key, sample in different.items()}
    return [moved[id(sample)] for sample in samples]


def _sketched(
    datasets: Sequence[Dataset],
    space: Space | None,
    options: SpaceOptions,
    engine: Engine | None,
    known: Mapping[int, Any],
) -> list[SketchSample]:
    """Return sketches as samples; they fix their space themselves, so it is only checked."""
    kernel = options.get("kernel")
    if any(value is not None for name, value in options.items() if name != "kernel"):
        raise TypeError("sketches were made in a space already; give no options but the kernel")
    first = next(dataset for dataset in datasets if not dataset.keeps_rows)
    for dataset in datasets:
        if dataset.keeps_rows:
            raise refusal(
                TypeError,
                f"{dataset.name} is not a sketch, but {first.name} is one",
                Advice(
                    "sketch it with the same features: Sketch.of(data, sketch.features)",
                    f"sketch it with the tolerance file of the other: nammd sketch {dataset.name} -o "
                    f"{_stem(dataset)}.sketch --tolerance FILE",
                ),
            )
    if engine is not None:
        raise ValueError("sketches are summed already, so no engine is needed; leave engine out")
    if space is not None:
        made = {id(d): known[id(d)] if id(d) in known else sample_of(d, space) for d in datasets}
    else:
        sketch = first.summary
        plain = Space(Encoding.identity(first.width), sketch.features.kernel if kernel is None else kernel)
        sketch.means_exact(plain.kernel)  # refuses what these sketches were not made for
        made = {id(d): SketchSample(d, plain, d.summary.snapshot()) for d in datasets}
    samples: list[SketchSample] = [made[id(dataset)] for dataset in datasets]
    for sample in samples:
        require_alike(samples[0].sketch, sample.sketch)
        units = sample.sketch.units
        if units is not None and units.count < LEAST_GROUPS:
            raise ValueError(
                f"the rows of {sample.name} are in {counted(units.count, 'group')}; at least {LEAST_GROUPS} "
                "are needed"
            )
    return samples


def _stem(dataset: Dataset) -> str:
    return dataset.name if dataset.source is None else Path(dataset.source.path).stem
