"""What is kept of a dataset: `Sketch`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from nammd.data.arrays import FloatArray
from nammd.data.pieces import Parts, is_dask
from nammd.data.samples import as_sample, require_rows, whole
from nammd.engines.progress import Progress
from nammd.kernels import Gaussian, RandomFeatures, as_kernel
from nammd.sketches.building import feature_totals

if TYPE_CHECKING:
    from nammd.data.encoding import Encoding

RowProgress: TypeAlias = bool | Callable[[float, float | None], None] | None
"""As `Progress`, in rows; the number of all rows is None where nobody knows it."""


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
    columns : int
        The number of columns of the rows, after encoding.
    total : array of shape (n_features,)
        The sum of the features.
    products : array of shape (n_features, n_features)
        The sum of the outer products of the features with themselves.
    encoding : str
        The digest of the encoding of the table, so that only tables encoded alike are compared; empty
        where rows were numbers already.

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
    >>> nammd.closeness_test(week, other, epsilon=0.02).rejected
    True
    """

    features: RandomFeatures
    n: int
    columns: int
    total: FloatArray = field(repr=False)
    products: FloatArray = field(repr=False)
    encoding: str = ""
    keeps_no_rows: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        x: Any,
        features: RandomFeatures | None = None,
        *,
        encoding: Encoding | None = None,
        threads: int | None = None,
        progress: Progress = None,
    ) -> Sketch:
        """Sketch a dataset in one pass.

        Parameters
        ----------
        x : array, table or Dask collection
            One row per observation; see `distance`. Arrays of other libraries are summed where they are,
            on the GPU for example; a Dask array or data frame is summed by its workers, partition by
            partition.
        features : RandomFeatures, optional
            By default 1024 of the Gaussian kernel with the median bandwidth of `x`, which takes one more
            pass over a Dask collection. For every further sketch give those of the first:
            ``Sketch.of(y, first.features)``.
        encoding : Encoding, optional
            How the columns of a table become numbers; without one they must be numeric.
        threads : int, optional
            The number of threads; by default every core. The workers of a cluster use one for each
            partition.
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
        _check(features, threads)
        if is_dask(x) or isinstance(x, Parts):
            from nammd.sketches.sources import of_dask

            return of_dask(x, features, encoding, progress)
        return sketch_of(x, features, encoding, threads, progress)

    @classmethod
    def of_batches(
        cls,
        batches: Iterable[Any],
        features: RandomFeatures,
        *,
        encoding: Encoding | None = None,
        threads: int | None = None,
        progress: RowProgress = None,
    ) -> Sketch:
        """Sketch a stream of batches; one batch is in memory at a time.

        Parameters
        ----------
        batches : iterable of arrays or tables
            The data, in any number of pieces; empty ones are skipped.
        features, encoding, threads
            As for `of`.
        progress : callable, optional
            Called after every batch with the number of rows so far, and None: nobody knows how many will
            come.

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

        _check(_given(features), threads)
        return of_batches(batches, features, encoding, threads, progress)

    @classmethod
    def of_file(
        cls,
        path: str | Path,
        features: RandomFeatures,
        *,
        encoding: Encoding | None = None,
        threads: int | None = None,
        columns: Sequence[str] | None = None,
        key: str | None = None,
        image_features: Any = None,
        batch_rows: int = 65_536,
        progress: RowProgress = None,
    ) -> Sketch:
        """Sketch a file or a folder, batch by batch: it may be larger than memory.

        Parameters
        ----------
        path : str or Path
            A file or folder of any format that `nammd.tables.read` knows.
        features, encoding, threads
            As for `of`.
        columns, key, batch_rows
            As for `nammd.tables.batches`.
        image_features : str, path or callable, optional
            For folders of images; `features` of `nammd.tables.batches`.
        progress : bool or callable, optional
            As for `of`. A function is called with the rows done and all of them; with None for the latter,
            and after every batch, where the file does not tell their number (CSV, for example).

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
        >>> features = nammd.RandomFeatures(nammd.Gaussian(1.0), 64)
        >>> len(nammd.Sketch.of_file(path, features, batch_rows=300))
        1000
        """
        from nammd.sketches.sources import of_file

        reading = {"columns": columns, "key": key, "features": image_features, "batch_rows": batch_rows}
        _check(_given(features), threads)
        return of_file(path, features, encoding, threads, progress, reading)

    def update(self, batch: Any, *, encoding: Encoding | None = None) -> Sketch:
        """Add the rows of a batch to this sketch, in place.

        Parameters
        ----------
        batch : array, table or Dask collection
            More rows, of the same columns.
        encoding : Encoding, optional
            That of the sketch, where it was made with one.

        Returns
        -------
        Sketch
            This sketch. Results that were made from it before do not change.
        """
        merged = self + Sketch.of(batch, self.features, encoding=encoding)
        # New arrays, never written into: a result may hold the old ones.
        self.n, self.total, self.products = merged.n, merged.total, merged.products
        return self

    def __add__(self, other: Sketch) -> Sketch:
        if not isinstance(other, Sketch):
            return NotImplemented
        require_alike(self, other, "added")
        return Sketch(
            self.features,
            self.n + other.n,
            self.columns,
            self.total + other.total,
            self.products + other.products,
            self.encoding,
        )

    def __radd__(self, other: Any) -> Sketch:
        """Let ``sum`` add sketches: it begins with the number 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Sketch({counted(self.n, 'row')}, {counted(self.columns, 'column')}, {self.features})"

    def save(self, path: str | Path) -> Path:
        """Write the sketch to a file.

        It is a NumPy archive (npz) of plain arrays and a description in JSON; nothing in it is ever run.

        Parameters
        ----------
        path : str or Path
            The file to write; it is replaced if it is there.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> import nammd
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


def sketch_of(
    x: Any,
    features: RandomFeatures | None,
    encoding: Encoding | None,
    threads: int | None,
    progress: Progress,
    name: str = "x",
) -> Sketch:
    """Sketch data that are here, under the name that errors give them."""
    require_rows(x, name)
    rows = as_sample(x, name) if encoding is None else encoding.transform(x, name)
    if features is None:
        features = RandomFeatures(Gaussian.median(rows))
    totals = feature_totals(rows, features, threads, progress)
    return Sketch(features, int(rows.shape[0]), int(rows.shape[1]), *totals, digest_of_encoding(encoding))


def require_alike(a: Sketch, b: Sketch, verb: str = "compared") -> None:
    """Refuse sketches whose sums do not belong together, and say in what they differ."""
    difference = a.features.difference(b.features)
    if difference:
        raise ValueError(
            f"these sketches cannot be {verb}: {difference}; make both with the same RandomFeatures, for "
            "example Sketch.of(y, first.features)"
        )
    if a.columns != b.columns:
        raise ValueError(
            f"these sketches cannot be {verb}: their data have {a.columns} and {counted(b.columns, 'column')}"
        )
    if a.encoding != b.encoding:
        raise ValueError(
            f"these sketches cannot be {verb}: their tables were turned into numbers by different "
            "encodings; make both with the same tolerance file or the same Encoding"
        )


def means_exact_kernel(kernel: Any, features: RandomFeatures) -> bool:
    """Tell whether a distance is meant under the kernel that features approximate, or under theirs.

    Epsilon from other frequencies would be wrong by more than chance, and from another kernel means nothing.
    """
    if kernel is None or kernel == features.kernel:
        return True
    if isinstance(kernel, RandomFeatures):
        difference = features.difference(kernel)
        if not difference:
            return False
        raise ValueError(
            f"the sketches do not have the random features asked for: {difference}; an epsilon from other "
            "frequencies does not fit these sketches, so take it from the same frequencies, or from the "
            "exact kernel"
        )
    raise ValueError(
        f"the sketches were made for the kernel {features.kernel}, not for {as_kernel(kernel)}; a sketch "
        "fixes its kernel when it is made"
    )


def digest_of_encoding(encoding: Encoding | None) -> str:
    """Return a digest of how columns become numbers; empty where there is nothing to do."""
    if encoding is None or encoding.is_identity:
        return ""
    stored = encoding.to_dict()
    used = {"array_columns": stored["array_columns"], "columns": stored["columns"]}
    return hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()


def counted(number: int, what: str) -> str:
    """Say how many there are of something.

    >>> counted(1, "row"), counted(3, "row")
    ('1 row', '3 rows')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _check(features: RandomFeatures | None, threads: int | None) -> None:
    if features is not None:
        _given(features)
    if threads is not None:
        whole(threads, "threads")


def _given(features: Any) -> RandomFeatures:
    if not isinstance(features, RandomFeatures):
        raise TypeError(
            "features must be random features such as nammd.RandomFeatures(nammd.Gaussian(1.0), 1024), "
            f"not {features!r}"
        )
    return features
