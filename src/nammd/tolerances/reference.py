"""A reference made ready, and distances in its space: `Reference`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray, beside_device, is_spread, like, to_numpy
from nammd.data.dataset import Dataset
from nammd.data.opening import open_all, refuse_summaries
from nammd.data.row_grouping import NO_GROUPING, RowGrouping, dataset_with_grouping
from nammd.encoding.constants import constant_columns
from nammd.encoding.encoding import Encoding, fit_datasets
from nammd.encoding.farthest import naming_the_farthest
from nammd.engines import Engine, Tiles, choose_engine, workers_read_files
from nammd.engines.progress import aside
from nammd.engines.protocol import Split
from nammd.errors.advice import Advice, about, refusal
from nammd.evidence import MIN_ROWS, gather
from nammd.evidence.gathering import gather_at, gather_splits, kernels_at
from nammd.evidence.preparing import compared, prepared
from nammd.evidence.rows import Known
from nammd.questions.distance import Estimate
from nammd.spaces import Sample, Space, SpaceLike
from nammd.spaces.space import fitted_kernel, for_rows, sample_of, settled
from nammd.statistics.moments import CrossPairs
from nammd.statistics.scales import contacts_of
from nammd.tolerances.accepted import fine_rows
from nammd.tolerances.columns import ColumnTolerances
from nammd.tolerances.equivalents import equivalents, perturbed_copies
from nammd.tolerances.ladder import block_edges
from nammd.views.counting import tally_columns
from nammd.views.measure import Measure, measures_of
from nammd.views.negligible import Negligible
from nammd.views.relations import Columns
from nammd.views.tally import Tally


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference in its space, and the engine that measures distances there.

    Attributes
    ----------
    reference : Sample
        The reference.
    engine : Engine or None
        Which engine computes; None for the one where the data is.
    measures : tuple of Measure
        How columns are counted; none where they have no tolerances of their own.
    tally : Tally
        What the columns of the reference tell.
    exact : bool
        Whether all rows are compared in pairs, however many there are.
    digest : callable
        Returns the digest of the reference; of one on a device it is begun at once.
    """

    reference: Sample
    engine: Engine | None
    measures: tuple[Measure, ...]
    tally: Tally
    exact: bool
    digest: Callable[[], str] = field(repr=False)

    @classmethod
    def of(
        cls,
        x: Any,
        space: SpaceLike | None,
        engine: Engine | None,
        grouping: RowGrouping = NO_GROUPING,
        *,
        negligible: Negligible | None = None,
        blocks: int = 0,
        in_memory_for: str = "",
        exact: bool = False,
    ) -> Reference:
        """Open a reference, and settle its space; its columns are read once to fit it, and once for all else.

        Parameters
        ----------
        x : dataset
            The reference.
        space : Space, dict or None
            A space, or the options of `Space.fit`.
        engine : Engine or None
            Which engine computes.
        grouping : RowGrouping
            Which of its rows belong together, and how much each counts.
        negligible : Negligible, optional
            What is negligible in single columns; without it they are not looked at.
        blocks : int
            Into how many blocks its rows are divided, for how far columns of these are apart.
        in_memory_for : str
            The constructor that needs its rows in memory, if it does.
        exact : bool
            Whether the kernel is the one that was chosen however many rows there are; else it is the one for
            candidates of as many rows.
        """
        by_workers = workers_read_files(engine)
        fixed, options = settled(space)
        written = options.get("reading") if fixed is None else fixed.encoding.for_files
        named = {"the reference": x}
        [dataset] = open_all(named, min_rows=MIN_ROWS, by_workers=by_workers, reading=written)
        refuse_summaries(dataset)
        dataset = dataset_with_grouping(dataset, grouping)
        if in_memory_for and dataset.on_cluster:
            raise _not_in_memory(in_memory_for, dataset)
        kernel = options.pop("kernel", None)
        encoding = fit_datasets([dataset], **options) if fixed is None else fixed.encoding  # type: ignore[misc]
        measures: tuple[Measure, ...] = ()
        edges: list[int] = []
        if negligible is not None:
            measures = measures_of(encoding, dataset)
        if 0 < blocks * MIN_ROWS <= (dataset.rows or 0):
            edges = block_edges(dataset.rows or 0, blocks)
        # Rows of a table become points while its columns are read; those of an array are points already.
        points = None if fixed or dataset.is_table else encoding.points(dataset)
        fitted = beside_device(partial(fitted_kernel, encoding, [dataset], kernel), points)
        pairs = negligible is not None
        tally = tally_columns(dataset, measures, encoding, negligible=negligible, edges=edges, pairs=pairs)
        found = Space(encoding, fitted()) if fixed is None else fixed
        sample = sample_of(dataset, found, digest=True)
        if not exact:
            sample = replace(sample, space=for_rows(found, int(sample.points.shape[1]), 2 * sample.size))
        if in_memory_for:
            sample = replace(sample, points=to_numpy(sample.points))
        digest = beside_device(partial(getattr, sample, "digest"), sample.points)
        return cls(sample, engine, measures, tally, exact, digest)

    @property
    def space(self) -> Space:
        """The space."""
        return self.reference.space

    @property
    def points(self) -> FloatArray:
        """The rows of the reference as points."""
        points: FloatArray = self.reference.points
        return points

    def equivalents(self, epsilon: float) -> tuple[tuple[str, float], ...]:
        """Return which perturbations of the reference are about as far as epsilon; see `units`."""
        if is_spread(self.reference.points):
            return ()
        with aside():
            return equivalents(self.reference.points, self.space.encoding, self._distances_to_copies, epsilon)

    def distances_made(self, kind: str, level: float, scales: Sequence[float]) -> list[float]:
        """Return the distance that a perturbation of the reference makes, at each of some scales."""
        with aside():
            some, encoding = self.reference.representatives[1], self.space.encoding
            points, copies = perturbed_copies(some, encoding, kind, level)
            return [float(np.mean(each)) for each in self._distances_at(scales, points, copies)]

    @cached_property
    def mean_similarity(self) -> float:
        """The mean kernel value of two rows of the reference, by some rows."""
        with aside():
            some = to_numpy(self.reference.representatives[1])
            [own] = choose_engine(None, some).sums(self.space.kernel, (some,))
            return float(own.mean)

    def contacts(self, scales: Sequence[float]) -> list[float]:
        """Return how many pairs of rows are near each other at finer scales; infinite where nobody counts.

        By the rows that a check compares there, which are not those of groups, nor all where all are meant.
        """
        sample = self.reference
        if self.exact or sample.units is not None or is_spread(sample.points):
            return [math.inf] * len(scales)
        points = sample.at_most(fine_rows(self.space.kernel)).points
        kernels = kernels_at(self.space.kernel, scales)
        with aside():
            every = choose_engine(self.engine, points).many_sums(kernels, (points,))
        return [contacts_of(summed.parts[0].total, summed.parts[0].squares) for summed in every]

    def _distances_to_copies(self, points: FloatArray, copies: Sequence[FloatArray]) -> list[float]:
        return self._distances_at((1.0,), points, copies)[0]

    def _distances_at(
        self, scales: Sequence[float], points: FloatArray, copies: Sequence[FloatArray]
    ) -> list[list[float]]:
        # A few rows, and each for itself: this is about how far, not how certain. Where other rows are.
        own = self.reference.points
        at_home = isinstance(own, np.ndarray) or is_spread(own)
        x, *others = [points, *copies] if at_home else [like(each, own) for each in (points, *copies)]
        # Other copies would differ in the second digit, so that half of a float's digits are plenty.
        engine = Tiles(dtype="float32") if isinstance(x, np.ndarray) else choose_engine(None, x)
        kernels = kernels_at(self.space.kernel, scales)
        named = {self.reference.name: x}
        with about(*named), naming_the_farthest(named, self.space.encoding):
            every = engine.pair_means(kernels, x, others)
        bound = float(self.space.kernel.bound)
        return [[(m.x + m.y - 2 * m.cross) / (4 * bound - m.x - m.y) for m in found] for found in every]

    def opened(self, others: Mapping[str, Any], grouping: RowGrouping) -> dict[str, Dataset]:
        """Open other datasets as the space reads files; `grouping` is of the reference and of all of them."""
        by_workers, written = workers_read_files(self.engine), self.space.encoding.for_files
        datasets = open_all(others, min_rows=MIN_ROWS, by_workers=by_workers, reading=written)
        refuse_summaries(*datasets)
        every = len(datasets) + 1
        return {
            name: dataset_with_grouping(dataset, grouping.part(number, every))
            for number, (name, dataset) in enumerate(zip(others, datasets, strict=True), 1)
        }

    def tallied(self, others: Mapping[str, Dataset]) -> dict[str, Tally]:
        """Return what the columns of other datasets tell, of which the rows become points on the way."""
        encoding, relations = self.space.encoding, self.tally.relations
        pairs = False if relations is None else relations.columns
        return {name: _tally(dataset, self.measures, encoding, pairs) for name, dataset in others.items()}

    def columns(
        self, negligible: Negligible, accepted: Mapping[str, Tally] | None = None
    ) -> ColumnTolerances:
        """Return how far each column may be away, from what the columns tell."""
        return ColumnTolerances.of_tallies(self.measures, negligible, self.tally, accepted)

    def distances(
        self, others: Mapping[str, Dataset], scales: Sequence[float] = (1.0,)
    ) -> dict[str, list[Estimate]]:
        """Estimate the distances of other datasets to the reference at some scales, all in one run."""
        datasets = [self.reference.dataset, *others.values()]
        reference, *samples = prepared(datasets, space=self.space, engine=self.engine, known=[self.reference])
        pairs = [(reference, sample if self.exact else compared(reference, sample)) for sample in samples]
        found = gather_at(scales, pairs, engine=self.engine)
        return {name: [Estimate.of(each[number]) for each in found] for number, name in enumerate(others)}

    def distances_between(self, splits: Sequence[Split]) -> Iterator[Estimate]:
        """Estimate the distances between two parts of the reference, for some divisions of all its rows."""
        return map(Estimate.of, gather_splits(self.reference, splits, engine=self.engine))

    def distance_to_copy(self, copy: FloatArray, known: Known | None = None) -> Estimate:
        """Estimate the distance of the reference to a copy of it: no row is compared with its own copy.

        Nor with that of another row of its group, where rows belong together. `known` is what is within the
        reference, from an earlier call.
        """
        pair = self.reference, replace(self.reference, points=copy)
        cross: CrossPairs = "off-diagonal" if self.reference.units is None else "full"
        [evidence] = gather([pair], cross=cross, engine=self.engine, known=known)
        return Estimate.of(evidence)


def opened_in(
    space: Space, data: Mapping[str, Any], grouping: RowGrouping, columns: ColumnTolerances | None
) -> tuple[dict[str, Sample], dict[str, Tally]]:
    """Return datasets as samples of a space, and what their columns tell, by the limits that columns have."""
    datasets = open_all(data, min_rows=MIN_ROWS, reading=space.encoding.for_files)
    refuse_summaries(*datasets)
    limits = () if columns is None else columns.limits or ()
    measures = tuple(limit.measure for limit in limits)
    known = None if columns is None else columns.pairs
    pairs = False if known is None else known.reference.columns
    samples, tallies = {}, {}
    for number, (name, dataset) in enumerate(zip(data, datasets, strict=True)):
        dataset = dataset_with_grouping(dataset, grouping.part(number, len(datasets)))
        tallies[str(name)] = _tally(dataset, measures, space.encoding, pairs)
        samples[str(name)] = sample_of(dataset, space)
    return samples, tallies


def _tally(dataset: Dataset, measures: Sequence[Measure], encoding: Encoding, pairs: Columns | bool) -> Tally:
    """Return what the columns of an accepted dataset tell, those with one value in the reference too."""
    constants = constant_columns(encoding.left_out, dataset.names) if measures else ()
    return tally_columns(dataset, measures, encoding, constants=constants, pairs=pairs)


def _not_in_memory(constructor: str, dataset: Dataset) -> Exception:
    known = dataset.in_pieces().whereabouts
    return refusal(
        TypeError,
        f"Tolerance.{constructor} perturbs or divides the reference in memory, and this one is {known.place}",
        Advice(
            f"give a sample of its rows, such as {known.sample}, or use Tolerance.from_reference",
            "add --sample N to look at N rows of each file, or leave --engine out",
        ),
    )
