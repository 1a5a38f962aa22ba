"""Where distances are measured: `Space`, an encoding and a kernel.

A distance, or a tolerance, means something only in a space. A space that is fitted on one dataset, the
reference, is frozen and serves all that is compared with it. A space that is fitted on several datasets
together treats them alike, so that exchanging them changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np

from nammd.data.arrays import aligned, is_spread
from nammd.data.blocks import require_finite_blocks
from nammd.data.dataset import ArrayDataset, Dataset
from nammd.data.opening import open_all, open_dataset
from nammd.encoding import Encoding
from nammd.encoding.encoding import fit_datasets
from nammd.errors.advice import naming
from nammd.errors.naming import listed
from nammd.errors.stored import Stored
from nammd.kernels import Gaussian, Kernel, as_kernel, named_kernel
from nammd.kernels.bandwidth import MEDIAN_ROWS, drawn_rows
from nammd.kernels.large import kernel_for_rows
from nammd.kernels.operations import from_dict, to_dict
from nammd.reading.text_formats.options import Reading
from nammd.spaces.sample import Sample


class SpaceOptions(TypedDict, total=False):
    """How a space is to be fitted: options of `Space.fit`, where a space may be given."""

    kernel: Any
    exclude: Sequence[str] | None
    columns: Sequence[str] | None
    column_weights: Mapping[str, float] | None
    reading: Reading | None
    scale: Literal["robust"] | None
    text: Literal["hashed"] | None


@dataclass(frozen=True)
class Space:
    """How the rows of datasets become points, and how similar two points are.

    Make one with `Space.fit`, and give it to every question that should be answered in the same space.

    Attributes
    ----------
    encoding : Encoding
        How columns become numbers. Those of arrays are taken as they are.
    kernel : Kernel
        How similar two points are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import nammd
    >>> ages, cities = [20, 30, 30, 40, None], ["Ulm", "Ulm", "Bonn", "Bonn", "Bonn"]
    >>> january = pa.table({"age": ages, "city": cities, "note": ["x", "x", "y", "x", "y"]})
    >>> february = pa.table({"age": [25, 35, 45, None], "city": ["Ulm"] * 4, "note": ["x", "y", "y", "y"]})
    >>> space = nammd.Space.fit(january, february, exclude=["note"])
    >>> print(space)
    Space of 2 columns in 6 slots
      age   numeric      centred at 30, one unit is 7.413
      city  categorical  'Ulm', 'Bonn'
    Left out
      note  excluded
    Kernel: Gaussian, bandwidth 1.679
    >>> nammd.distance(january, february, space=space).columns
    ('age', 'city')

    Columns of arrays that have units of their own, such as years and euros, are scaled if asked for:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> people = np.column_stack([rng.normal(40, 12, 500), rng.normal(4e4, 1e4, 500)])
    >>> print(nammd.Space.fit(people, scale="robust"))
    Space of an array: 2 of its 2 columns scaled, by 12.37 and 9071
    Kernel: Gaussian, bandwidth 1.662
    """

    encoding: Encoding
    kernel: Kernel

    @classmethod
    def fit(
        cls,
        *data: Any,
        kernel: Any = None,
        exclude: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        column_weights: Mapping[str, float] | None = None,
        reading: Reading | None = None,
        scale: Literal["robust"] | None = None,
        text: Literal["hashed"] | None = None,
    ) -> Space:
        """Fit a space on a reference, or on several datasets alike.

        Parameters
        ----------
        *data : dataset
            One dataset, the reference: the space is frozen, and others are compared in it. Or several: the
            space is that of all of them together, and does not depend on their order. Whatever `distance`
            takes, but no sketch.
        kernel : Kernel, class or str, optional
            How similar two points are: a kernel, or a class such as ``nammd.Laplace`` whose bandwidth is then
            the median distance between points, also by name: ``"gaussian"`` or ``"rbf"``, ``"laplace"`` or
            ``"laplacian"``. By default ``"gaussian"``.
        exclude : sequence of str, optional
            Columns to leave out; those of arrays are called "0", "1", ...
        columns : sequence of str, optional
            The columns to use; by default all.
        column_weights : mapping of str to float, optional
            How much each column counts; 1 where it is not named. A column with a weight is compared even
            if its whole numbers look like an identifier.
        reading : Reading, optional
            How numbers, dates and missing values are written, where that should not be inferred. The
            space keeps it, and reads other data in the same way.
        scale : {"robust"}, optional
            How columns of arrays are scaled. By default they are taken as they are, since embeddings and
            pixels have a scale that means something. With ``"robust"`` each column is divided by a robust
            standard deviation of it, as columns of tables always are: for arrays whose columns have units.
        text : {"hashed"}, optional
            How columns of free text are compared. By default they are left out. With ``"hashed"`` their words
            and pairs of words are hashed into 64 slots: a baseline that needs no language model, only
            scikit-learn. A text column that looks like an identifier is compared too if it has a weight.

        Returns
        -------
        Space
        """
        if not data:
            raise TypeError("Space.fit needs at least one dataset")
        names = ["x", "y"] if len(data) <= 2 else [f"dataset {k + 1}" for k in range(len(data))]
        said = Reading.of(reading)
        datasets = open_all(dict(zip(names, data, strict=False)), reading=said)
        return fit_space(
            datasets,
            kernel=kernel,
            exclude=exclude,
            columns=columns,
            column_weights=column_weights,
            reading=said,
            scale=scale,
            text=text,
        )

    def sample(self, data: Any, name: str = "the data", *, digest: bool = False) -> Any:
        """Return the rows of a dataset as points of this space.

        Parameters
        ----------
        data : dataset
            Whatever `distance` takes. A sketch becomes a sample too, if it was made in this space.
        name : str
            What messages call it.
        digest : bool
            Whether a digest of the rows will be asked for; on a cluster that is best said beforehand.

        Returns
        -------
        Sample
        """
        return sample_of(open_dataset(data, name, reading=self.encoding.for_files), self, digest)

    def to_dict(self) -> dict[str, Any]:
        """Return the space as numbers, strings, lists and dictionaries, ready for JSON."""
        return {"kernel": to_dict(self.kernel), "encoding": self.encoding.to_dict()}

    @classmethod
    def from_dict(cls, stored: Any) -> Space:
        """Return the space that `to_dict` wrote; a ValueError says what is wrong with it."""
        fields = Stored.of(stored)
        return cls(Encoding.from_dict(fields["encoding"]), from_dict(fields["kernel"]))

    def __str__(self) -> str:
        return f"{self.encoding.describe('Space')}\nKernel: {self.kernel}"


SpaceLike: TypeAlias = Space | SpaceOptions
"""Where to measure: a space, or how to fit one on the data of a question."""


def settled(space: SpaceLike | None, kernel: Any = None) -> tuple[Space | None, SpaceOptions]:
    """Return the space that was given; or None, and the options to fit one with."""
    if isinstance(space, Space):
        if kernel is not None:
            raise TypeError("a space has a kernel already; give either space or kernel, not both")
        return space, {}
    if not (space is None or isinstance(space, Mapping)):
        raise TypeError(
            "space must be a space such as nammd.Space.fit(x, y), or a dict of options of Space.fit such as "
            f"{{'exclude': ['id']}}, not {space!r}"
        )
    options: SpaceOptions = {} if space is None else {**space}
    unknown = [name for name in options if name not in SpaceOptions.__annotations__]
    if unknown:
        raise TypeError(
            f"space has no option {listed(unknown)}; it has {listed(SpaceOptions.__annotations__, 6)}"
        )
    if kernel is not None and options.get("kernel") is not None:
        raise TypeError("the kernel is given twice; give either kernel or space={'kernel': ...}")
    if kernel is not None:
        options["kernel"] = kernel
    return None, options


def fit_space(
    datasets: Sequence[Dataset],
    *,
    kernel: Any = None,
    exclude: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    column_weights: Mapping[str, float] | None = None,
    reading: Reading | None = None,
    scale: Literal["robust"] | None = None,
    text: Literal["hashed"] | None = None,
) -> Space:
    """Fit a space on datasets that are open; see `Space.fit`."""
    if len(datasets) > 2:  # one that is there twice counts once
        datasets = list({id(dataset): dataset for dataset in datasets}.values())
    encoding = fit_datasets(
        datasets,
        column_weights=column_weights,
        columns=columns,
        exclude=exclude,
        reading=reading,
        scale=scale,
        text=text,
    )
    return Space(encoding, fitted_kernel(encoding, datasets, kernel))


def for_rows(space: Space, columns: int, rows: int) -> Space:
    """Return a space for so many rows of two datasets: of many, its kernel is one of features."""
    kernel = kernel_for_rows(space.kernel, columns, rows)
    return space if kernel is space.kernel else replace(space, kernel=kernel)


def sample_of(dataset: Dataset, space: Space, digest: bool = False) -> Any:
    """Return the rows of a dataset that is open as points of a space; see `Space.sample`."""
    if not dataset.keeps_rows:
        return dataset.summary.as_sample(space, dataset)
    points = space.encoding.points(dataset)
    if is_spread(points):
        require_finite_blocks(points, dataset.name, digest)
    return Sample(dataset, space, points)


def fitted_kernel(encoding: Encoding, datasets: Sequence[Dataset], kernel: Any) -> Kernel:
    """Return the kernel that was asked for; of a class, the one with the median bandwidth of the points."""
    if not isinstance(kernel, (type, str)) and kernel is not None:
        return as_kernel(kernel)
    family: Any = Gaussian if kernel is None else named_kernel(kernel)
    if not hasattr(family, "median"):
        as_kernel(family)  # says what a kernel is
    names = [dataset.name for dataset in datasets]
    points = aligned([encoding.points(dataset) for dataset in datasets], names)
    if len(points) <= 2:
        rows = drawn_rows(points, names)
    else:  # a share of the rows for each, so that a large dataset does not outvote the others
        share = max(2, MEDIAN_ROWS // len(points))
        each = [drawn_rows([p], [name], share) for p, name in zip(points, names, strict=True)]
        rows = np.concatenate(each)
    # Opened already: what has been checked once is not checked again.
    with naming(" and ".join(names)):
        made: Kernel = family.median(ArrayDataset("the data", rows, array=rows))
    return made
