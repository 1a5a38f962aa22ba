"""Whether a column says which rows belong together, though nobody said so: the caution `looks-like-groups`.

That a column looks like an identifier is not enough. Destinations of flights and names of pizzas do too, and
flights are not fewer observations for having a destination. Rows of one label count for less than they seem
if two things hold, and both are tested, on some of the rows:

- the labels of one dataset are not those of the other, though they come up again and again within each: the
  customers of another month are other customers;
- rows of one label are alike in the other columns, more than rows of different labels.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, is_spread, take_rows, to_numpy
from nammd.data.dataset import Dataset
from nammd.data.frames import Frame
from nammd.errors.advice import Caution
from nammd.spaces import Sample

_NAMES = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|key|customer|client|user|account|member|patient|subject|person|household|"
    r"session|visit|device|sensor|machine|vehicle|store|shop|branch|site|station|school|company|merchant)"
    r"([_\W]?(id|ids|no|nr|num|number|key|code|name))?$",
    re.IGNORECASE,
)
"""Names of columns that say which rows belong together."""

FEWEST_VALUES, LEAST_SHARE, MOST_SHARE = 30, 0.05, 0.8
"""A column of text with at least so many different values, in at least this share of the rows and at most
that, looks like one too, whatever its name."""

OTHERS = 0.5
"""Labels are others where rows of two datasets share one less than so often as rows of one dataset do."""

_ROWS, _PAIRS, _FEWEST_PAIRS, _SHUFFLES = 20_000, 400, 20, 99


def group_like(x: Sample, y: Sample) -> tuple[Caution, ...]:
    """Return a caution where a column says, by all signs, which rows belong together."""
    frames = [sample.dataset.frame for sample in (x, y)]
    if any(frame is None for frame in frames) or any(sample.units is not None for sample in (x, y)):
        return ()
    found = {name: count for s in (y, x) for name, count in _columns_of(s.dataset).items()}
    # The name tells most; then the one with the most repetitions would matter most.
    for name in sorted(found, key=lambda name: (_NAMES.search(name) is None, found[name])):
        if all(name in frame.names for frame in frames if frame is not None) and _are_groups(x, y, name):
            return (_caution(name, found[name], x.size if name in _columns_of(x.dataset) else y.size),)
    return ()


def _caution(name: str, count: int, rows: int) -> Caution:
    return Caution(
        "looks-like-groups",
        f"{name} has {count} different values in {rows} rows, and rows of one {name} are alike: if they "
        f"belong together, say so with groups={name!r} (--group {name}); else standard errors come out too "
        "small",
    )


def _are_groups(x: Sample, y: Sample, name: str) -> bool:
    """Tell whether the labels of two datasets are others, and whether rows of one label are alike."""
    places = [_some(sample.size) for sample in (x, y)]
    first, second = (_labels(s.dataset.frame, name, chosen) for s, chosen in zip((x, y), places, strict=True))
    if first is None or second is None:
        return False
    every = np.unique(np.concatenate([first, second]), return_inverse=True)[1].reshape(-1)
    one, two = every[: len(first)], every[len(first) :]
    return _others(one, two) and all(
        _alike(sample, name, chosen, codes)
        for sample, chosen, codes in zip((x, y), places, (one, two), strict=True)
    )


def _some(rows: int) -> NDArray[np.intp]:
    """Return some rows, in their order."""
    if rows <= _ROWS:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, _ROWS, replace=False))


def _labels(frame: Frame | None, name: str, places: NDArray[np.intp]) -> NDArray[Any] | None:
    """Return the labels of some rows as text; of those without one, a label of its own."""
    assert frame is not None
    values = (frame if len(places) == frame.rows else frame.take(places)).values(name)
    own = np.array([f"\uffff{place}" for place in range(len(places))], dtype=object)
    if values.codes is not None:
        texts = np.array([*values.categories, ""], dtype=object)[values.codes]
    elif values.numbers is not None and values.numbers.ndim == 1:
        texts = np.array([str(number) for number in values.numbers.tolist()], dtype=object)
    else:
        return None
    return np.where(values.missing, own, texts).astype(str)


def _others(one: NDArray[np.intp], two: NDArray[np.intp]) -> bool:
    """Tell whether labels come up again within datasets, and far less in both of them."""
    last = int(max(one.max(), two.max())) + 1
    counts = [np.bincount(codes, minlength=last).astype(np.float64) for codes in (one, two)]
    pairs = [float(c @ (c - 1)) for c in counts]
    if min(pairs) < 2 * _FEWEST_PAIRS:
        return False
    (m, n), across = (len(one), len(two)), float(counts[0] @ counts[1])
    within = pairs[0] / (m * (m - 1)) * pairs[1] / (n * (n - 1))
    return bool(across / (m * n) < OTHERS * within**0.5)


def _alike(sample: Sample, name: str, places: NDArray[np.intp], codes: NDArray[np.intp]) -> bool:
    """Tell whether rows of one label are alike in the other columns: nearer than the same rows shuffled."""
    order = np.random.default_rng(1).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    first = np.flatnonzero(codes[order[:-1]] == codes[order[1:]])
    # Each row in one pair at most: the first of two neighbours, unless it was the second of the pair before.
    first = first[_starts_of_pairs(first)]
    if len(first) < _FEWEST_PAIRS:
        return False
    first = np.sort(np.random.default_rng(2).permutation(first)[:_PAIRS])
    points = _other_columns(sample, name, np.concatenate([places[order[first]], places[order[first + 1]]]))
    if points is None:
        return False
    one, two = points[: len(first)], points[len(first) :]
    rng = np.random.default_rng(3)
    moved = [_nearness(one, two[rng.permutation(len(two))]) for _ in range(_SHUFFLES)]
    return _nearness(one, two) > max(moved)


def _starts_of_pairs(first: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return every second place of each run of consecutive ones.

    >>> _starts_of_pairs(np.array([0, 1, 2, 5, 6])).tolist()
    [True, False, True, True, False]
    """
    begins = np.r_[True, np.diff(first) != 1]
    start = np.maximum.accumulate(np.where(begins, np.arange(len(first)), 0))
    even: NDArray[np.bool_] = (np.arange(len(first)) - start) % 2 == 0
    return even


def _other_columns(sample: Sample, name: str, rows: NDArray[np.intp]) -> FloatArray | None:
    """Return some rows as points without the column itself; None where there is nothing else."""
    encoding = sample.space.encoding
    if encoding.array_columns is not None or is_spread(sample.points):
        return None
    points = to_numpy(take_rows(sample.points, rows)).astype(np.float64, copy=False)
    kept = np.ones(points.shape[1], dtype=bool)
    if any(column.name == name for column in encoding.columns):
        kept[encoding.slots(name)] = False
    return points[:, kept] if kept.any() else None


def _nearness(one: FloatArray, two: FloatArray) -> float:
    """Return how near pairs of rows are, on average; one that is very far counts as far, and no more."""
    return -float(np.minimum(((one - two) ** 2).sum(axis=1), 4.0 * one.shape[1]).mean())


def _columns_of(dataset: Dataset) -> dict[str, int]:
    """Return the columns that look as if they named groups, with how many values each has."""
    frame = dataset.frame
    assert frame is not None
    found: dict[str, int] = dataset.looked_at(_values_of_group, lambda: _look(frame))
    return found


def _look(frame: Frame) -> dict[str, int]:
    return {name: count for name in frame.names if (count := _values_of_group(frame, name))}


def _is_no_text(frame: Frame, name: str) -> bool:
    """Tell whether a column of text was read as numbers, times or truth values."""
    return name in frame.read and frame.read[name][1].kind != "categorical"


def _values_of_group(frame: Frame, name: str) -> int:
    """Return how many values a column has that looks like a group; zero for any other."""
    import narwhals as nw

    named, most = _NAMES.search(name) is not None, MOST_SHARE * frame.rows
    if not named and (most < FEWEST_VALUES or frame.holds_numbers(name) or _is_no_text(frame, name)):
        return 0
    series: Any = frame.series(name)
    kind = series.dtype
    text = kind in (nw.String, nw.Categorical, nw.Enum, nw.Object)
    if not (text or (named and str(kind).startswith(("Int", "UInt")))):
        return 0
    try:
        count = int(series.n_unique())
    except Exception:  # lists and the like in a column of objects
        return 0
    least = 4 if named else max(FEWEST_VALUES, LEAST_SHARE * frame.rows)
    return count if least <= count <= most else 0
