"""What is kept of a dataset: `Sketch`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.dataset import Dataset
from nammd.data.opening import open_dataset
from nammd.data.row_grouping import RowGrouping, dataset_with_grouping
from nammd.encoding.noticed import Noticed
from nammd.engines.progress import Progress
from nammd.errors.checks import counted
from nammd.kernels import RandomFeatures
from nammd.sketches.group_totals import SketchUnits
from nammd.sketches.options import Settings, again, columns_alone, sketchable
from nammd.sketches.sample import SketchSample, means_exact, require_alike
from nammd.spaces import Space
from nammd.statistics.scales import SCALES, Scales
from nammd.views.counts import Counts, merged
from nammd.views.grouped import ColumnUnits

RowProgress: TypeAlias = bool | Callable[[float, float | None], None] | None
"""As `Progress`, in rows; the number of all rows is None where it is not known."""


@dataclass(eq=False)
class Sketch:
    """A dataset as sums of random features: a few megabytes, whatever its size.

    Make one with `of`, `of_batches` or `of_file`. Two sketches of the same features can be compared by
    `distance`, `closeness_test`, `compare_pairs` and `Tolerance.check`, and added: ``a + b`` is the sketch
    of all rows of both. A sketch holds no rows.

    Attributes
    ----------
    features : RandomFeatures
        The features that were summed.
    n : int
        The number of rows; also ``len(sketch)``.
    n_columns : int
        The number of columns of the rows, after encoding.
    total : array of shape (n_features,)
        The sum of the features.
    products : array of shape (n_features, n_features)
        The sum of the outer products of the features with themselves.
    encoding : str
        The digest of the encoding of the table; empty where rows were numbers already.
    tally : mapping of str to Counts, or None
        The columns of a table by themselves, as counts that add up: about 10 kilobytes in a file for a column
        of numbers, less for one of few values or labels. None where rows were numbers already.
    noticed : Noticed
        What there was to say of the rows: cells that could not be read, columns that changed their type.
    units : SketchUnits or None
        Totals over groups, where rows belong together or have weights; `products` is then the sum of outer
        products of the sums of features of each group.
    finer : tuple of Sketch
        The same rows by the features of a half, a quarter, an eighth and a sixteenth of the bandwidth, where
        these were asked for; else empty.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> features = nammd.RandomFeatures(nammd.Gaussian(1.5), n_features=256, rng=0)
    >>> monday, tuesday = (nammd.Sketch.of(rng.normal(size=(500, 2)), features) for _ in range(2))
    >>> week = monday + tuesday
    >>> week.update(rng.normal(size=(300, 2)))
    Sketch(1300 rows, 2 columns, 256 random features (seed 0) of Gaussian, bandwidth 1.5)
    >>> other = nammd.Sketch.of(rng.normal(loc=1.0, size=(900, 2)), features)
    >>> nammd.closeness_test(week, other, epsilon=0.02, alternative="greater").rejected
    True
    """

    features: RandomFeatures
    n: int
    n_columns: int
    total: FloatArray = field(repr=False)
    products: FloatArray = field(repr=False)
    encoding: str = ""
    tally: Mapping[str, Counts] | None = field(default=None, repr=False)
    noticed: Noticed = field(default_factory=Noticed, repr=False)
    units: SketchUnits | None = None
    finer: tuple[Sketch, ...] = field(default=(), repr=False)
    keeps_no_rows: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        x: Any,
        features: RandomFeatures | None = None,
        *,
        space: Space | None = None,
        groups: Any = None,
        sample_weight: Any = None,
        scales: Scales = "median",
        threads: int | None = None,
        progress: Progress = None,
    ) -> Sketch:
        """Sketch a dataset in one pass.

        Parameters
        ----------
        x : dataset
            One row per observation; see `distance`. Rows are summed where they are: on a GPU, or by the
            workers of Dask or Spark.
        features : RandomFeatures, optional
            By default 1024 of the kernel of the space, or of the Gaussian kernel with the median bandwidth
            of `x`. For every further sketch give those of the first: ``Sketch.of(y, first.features)``.
        space : Space, optional
            How the columns of a table become numbers, and the kernel to approximate. Tables need one.
        groups : str or array, optional
            Which rows belong together: a column of a table, or a label for every row. Every group has to be
            whole; of a Dask collection, in one partition.
        sample_weight : str or array, optional
            How much each row counts: a column of a table, or a number for every row.
        scales : {"median", "all"}
            With ``"all"`` the sketch can also be compared at a half, a quarter, an eighth and a sixteenth of
            the bandwidth, where fine structure shows. It takes five times the bytes, and the time.
        threads : int, optional
            The number of threads; by default every core. The workers of a cluster use one for a partition.
        progress : bool or callable, optional
            As for `Tiles`; a function is called with the rows done and all of them.

        Returns
        -------
        Sketch

        Examples
        --------
        >>> import numpy as np
        >>> import nammd
        >>> x, y = np.random.default_rng(0).normal(size=(2, 400, 3))
        >>> first = nammd.Sketch.of(x)
        >>> second = nammd.Sketch.of(y, first.features)
        >>> bool(abs(nammd.distance(first, second).value) < 0.005)
        True
        """
        settings = Settings.of(features, space, threads, scales)
        grouping = sketchable(RowGrouping(groups, sample_weight))
        dataset = open_dataset(x, "x", settled=False)
        if dataset.on_cluster:
            from nammd.sketches.sources import of_cluster

            return of_cluster(dataset, settings, grouping, progress)
        from nammd.sketches.sources import sketch_of

        return sketch_of(dataset_with_grouping(dataset, grouping), settings, threads, progress)

    @classmethod
    def of_batches(
        cls,
        batches: Iterable[Any],
        features: RandomFeatures | None = None,
        *,
        space: Space | None = None,
        groups: str | None = None,
        sample_weight: str | None = None,
        scales: Scales = "median",
        threads: int | None = None,
        progress: RowProgress = None,
    ) -> Sketch:
        """Sketch a stream of batches; one batch is in memory at a time.

        Parameters
        ----------
        batches : iterable of arrays or tables
            The data, in any number of pieces; empty ones are skipped.
        features, space, scales, threads
            As for `of`; one of the first two is needed.
        groups, sample_weight : str, optional
            Columns, as for `of`. Up to a gigabyte of rows is held until groups are whole; beyond that, a
            group that comes again is counted as one more, which results say: sort such data by group.
        progress : callable, optional
            Called after every batch with the rows so far, and None: how many there will be is not known.

        Returns
        -------
        Sketch

        Examples
        --------
        >>> import numpy as np
        >>> import nammd
        >>> stream = (np.random.default_rng(day).normal(size=(100, 2)) for day in range(7))
        >>> len(nammd.Sketch.of_batches(stream, nammd.RandomFeatures(nammd.Gaussian(1.0), 64)))
        700
        """
        from nammd.sketches.sources import of_batches

        settings = Settings.of(features, space, threads, scales).settled()
        grouping = columns_alone(RowGrouping(groups, sample_weight))
        return of_batches(batches, settings, grouping, threads, progress)

    @classmethod
    def of_file(
        cls,
        path: str | Path,
        features: RandomFeatures | None = None,
        *,
        space: Space | None = None,
        groups: str | None = None,
        sample_weight: str | None = None,
        scales: Scales = "median",
        threads: int | None = None,
        columns: Sequence[str] | None = None,
        key: str | None = None,
        query: str | None = None,
        image_features: Any = None,
        batch_rows: int = 65_536,
        progress: RowProgress = None,
    ) -> Sketch:
        """Sketch a file or a folder, batch by batch: it may be larger than memory.

        Parameters
        ----------
        path : str or Path
            A file or folder of any format that `nammd.tables.read` knows.
        features, space, groups, sample_weight, scales, threads
            As for `of_batches`.
        columns, key, query, batch_rows
            As for `nammd.tables.batches`.
        image_features : str, path or callable, optional
            For folders of images; `features` of `nammd.tables.batches`.
        progress : bool or callable, optional
            As for `of`; with None for all rows, and after every batch, where a file does not tell their
            number (CSV, for example).

        Returns
        -------
        Sketch

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> import nammd
        >>> path = pathlib.Path(tempfile.mkdtemp(), "points.npy")
        >>> np.save(path, np.zeros((1000, 2)))
        >>> len(nammd.Sketch.of_file(path, nammd.RandomFeatures(nammd.Gaussian(1.0), 64), batch_rows=300))
        1000
        """
        from nammd.sketches.sources import of_file

        reading: dict[str, Any] = {"columns": columns, "key": key, "query": query, "batch_rows": batch_rows}
        settings = Settings.of(features, space, threads, scales).settled()
        grouping = columns_alone(RowGrouping(groups, sample_weight))
        reading |= {"features": image_features}
        return of_file(path, settings, grouping, threads, progress, reading)

    def update(
        self,
        batch: Any,
        *,
        space: Space | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Sketch:
        """Add the rows of a batch to this sketch, in place.

        Parameters
        ----------
        batch : array, table or Dask collection
            More rows, of the same columns.
        space : Space, optional
            That of the sketch, where it was made with one.
        groups, sample_weight : optional
            As for `of`, where the sketch was made with them; a column of it need not be named again. A group
            that the sketch has already counts as one more, which results say.

        Returns
        -------
        Sketch
            This sketch. Results that were made from it before do not change.
        """
        if self.units is not None:
            groups, sample_weight = again(self.units.by, groups), again(self.units.weights_by, sample_weight)
        how: dict[str, Any] = {"space": space, "groups": groups}
        how |= {"sample_weight": sample_weight, "scales": self.kept_scales}
        both = self + Sketch.of(batch, self.features, **how)
        # New arrays, never written into: a result may hold the old ones.
        self.n, self.total, self.products = both.n, both.total, both.products
        self.tally, self.noticed, self.units = both.tally, both.noticed, both.units
        self.finer = both.finer
        return self

    def snapshot(self) -> Sketch:
        """Return a sketch that later updates do not reach; its arrays are shared: none is written to."""
        return replace(self)

    def at(self, scale: float) -> Sketch:
        """Return the sketch at one of its scales alone, as a multiple of the bandwidth.

        Examples
        --------
        >>> import numpy as np
        >>> import nammd
        >>> features = nammd.RandomFeatures(nammd.Gaussian(1.0), 64)
        >>> sketch = nammd.Sketch.of(np.zeros((10, 2)), features, scales="all")
        >>> sketch.at(0.25)
        Sketch(10 rows, 2 columns, 64 random features (seed 0) of Gaussian, bandwidth 0.25)
        """
        if scale not in self.scales:
            raise ValueError(f"the sketch has the scales {', '.join(map(str, self.scales))}, not {scale!r}")
        every = self, *self.finer
        return replace(every[self.scales.index(scale)], finer=())

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales that it can be compared at, as multiples of the bandwidth, the main one first."""
        return SCALES[: 1 + len(self.finer)]

    @property
    def kept_scales(self) -> Scales:
        """The same as it is asked for: ``"median"`` or ``"all"``."""
        return "all" if self.finer else "median"

    @property
    def nbytes(self) -> int:
        """How many bytes of memory its sums take, at all of its scales."""
        own = self.total.nbytes + self.products.nbytes
        if self.units is not None:
            own = self.units.totals.nbytes
        return own + sum(each.nbytes for each in self.finer)

    @property
    def unit_tally(self) -> Mapping[str, ColumnUnits] | None:
        """Totals over groups of the columns by themselves; None where there are none."""
        return None if self.units is None else self.units.columns

    def same_rows(self, other: Any) -> bool:
        """Tell whether another sketch is of the same rows, as far as their sums tell."""
        return (
            isinstance(other, Sketch)
            and self.n == other.n
            and self.features == other.features
            and np.array_equal(self.total, other.total)
        )

    def as_sample(self, space: Space, dataset: Dataset) -> SketchSample:
        """Return the sketch as a sample of a space, if it was made in it; see `Space.sample`."""
        return SketchSample.of(self, space, dataset)

    def means_exact(self, kernel: Any) -> bool:
        """Tell whether a distance is meant under the kernel that the features approximate; see `sample`."""
        return means_exact(self, kernel)

    def __add__(self, other: Sketch) -> Sketch:
        if not isinstance(other, Sketch):
            return NotImplemented
        require_alike(self, other, "added")
        units = None
        sums = self.total + other.total, self.products + other.products
        if self.units is not None and other.units is not None:
            units = self.units + other.units
            sums = units.totals.features, units.totals.gram
        told = _added_tallies(self.tally, other.tally), self.noticed + other.noticed
        # At the scales that both have.
        finer = tuple(one + more for one, more in zip(self.finer, other.finer, strict=False))
        size = self.n + other.n, self.n_columns
        return Sketch(self.features, *size, *sums, self.encoding, *told, units, finer)

    def __radd__(self, other: Any) -> Sketch:
        """Let ``sum`` add sketches: it begins with the number 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        groups = "" if self.units is None else f" {self.units.described()}"
        size = f"{counted(self.n, 'row')}{groups}, {counted(self.n_columns, 'column')}"
        scales = f", at {len(self.scales)} scales" if self.finer else ""
        return f"Sketch({size}, {self.features}{scales})"

    def __str__(self) -> str:
        return f"{self!r}: {self.nbytes / 1e6:.3g} MB in memory"

    def save(self, path: str | Path) -> Path:
        """Write the sketch to a file.

        It is a NumPy archive (npz) of plain arrays and a description in JSON; nothing in it is ever run. A
        file that is there is replaced.

        Examples
        --------
        >>> import pathlib, tempfile, numpy as np, nammd
        >>> sketch = nammd.Sketch.of(np.random.default_rng(0).normal(size=(100, 2)))
        >>> path = sketch.save(pathlib.Path(tempfile.mkdtemp()) / "monday.sketch")
        >>> bool((nammd.Sketch.load(path).total == sketch.total).all())
        True
        """
        from nammd.sketches.file import write

        return write(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Sketch:
        """Read a sketch from a file that `save` wrote; a ValueError says if it is damaged."""
        from nammd.sketches.file import read

        return read(Path(path))


def _added_tallies(
    one: Mapping[str, Counts] | None, other: Mapping[str, Counts] | None
) -> Mapping[str, Counts] | None:
    """Return the counts of the columns of both; None where one of them has none."""
    if one is None or other is None:
        return None
    return {name: merged(counts, other[name]) for name, counts in one.items()}
