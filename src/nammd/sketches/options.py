"""What a sketch is asked to be made by: features, an encoding, groups of rows; checked, and settled."""

from __future__ import annotations

from typing import Any

from nammd.data.blocks_in_time import Blocks
from nammd.data.dataset import Dataset
from nammd.data.row_grouping import RowGrouping
from nammd.encoding import Encoding
from nammd.errors.advice import Advice, refusal
from nammd.errors.checks import whole
from nammd.kernels import RandomFeatures


def encoding_for(dataset: Dataset, encoding: Encoding | None) -> Encoding:
    """Return how a dataset becomes numbers: as was said, or as they are if it is an array."""
    if encoding is not None:
        return encoding
    if dataset.is_table:
        raise refusal(
            TypeError,
            f"{dataset.name} is a table, and sketches of tables can be compared only if their columns became "
            "numbers in the same way",
            Advice(
                "give the space of the reference: Sketch.of(x, space=nammd.Space.fit(reference))",
                "give --tolerance FILE",
            ),
        )
    return Encoding.identity(dataset.width)


def features_in(kernel: Any) -> RandomFeatures | None:
    """Return the random features that a kernel is made of; None where it is an exact one."""
    return kernel if isinstance(kernel, RandomFeatures) else None


def digest_of_encoding(encoding: Encoding | None) -> str:
    """Return a digest of how columns become numbers; empty where there is nothing to do."""
    return "" if encoding is None else encoding.digest


def settled(
    features: Any, space: Any, encoding: Encoding | None, threads: int | None
) -> tuple[RandomFeatures | None, Encoding | None]:
    """Return the features and the encoding that were asked for, after checking them."""
    if threads is not None:
        whole(threads, "threads")
    if space is not None:
        if encoding is not None:
            raise TypeError("a space has an encoding already; give either space or encoding, not both")
        encoding = space.encoding
        if features is None:
            kernel = space.kernel
            features = kernel if isinstance(kernel, RandomFeatures) else RandomFeatures(kernel)
    return None if features is None else given_features(features), encoding


def sketchable(grouping: RowGrouping) -> RowGrouping:
    """Return what was said of rows, if a sketch can keep it: blocks of time need the order of rows."""
    if isinstance(grouping.groups, Blocks):
        raise refusal(
            TypeError,
            "a sketch does not keep the order of rows, which blocks of time need",
            Advice("compare the data themselves, or give groups=", "compare the files themselves"),
        )
    return grouping


def columns_alone(grouping: RowGrouping) -> RowGrouping:
    """Return what was said of rows that come in batches: by columns, since labels would not follow them."""
    chosen = sketchable(grouping)
    for option, value in (("groups", chosen.groups), ("row_weights", chosen.row_weights)):
        if value is not None and not isinstance(value, str):
            raise TypeError(
                f"{option} of batches must be the name of a column, not {type(value).__name__}; for batches "
                "of arrays make a sketch of each with Sketch.of, and add them"
            )
    return grouping


def again(by: str, given: Any) -> Any:
    """Return what is said of more rows of a sketch: the same column, unless something is given."""
    return by if given is None and by not in ("", "group", "row weights") else given


def given_features(features: Any) -> RandomFeatures:
    """Return what was given, if it is random features."""
    if not isinstance(features, RandomFeatures):
        raise TypeError(
            "features must be random features such as nammd.RandomFeatures(nammd.Gaussian(1.0), 1024), "
            f"not {features!r}"
        )
    return features
