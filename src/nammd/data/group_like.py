"""Columns that look as if they said which rows belong together, where nobody did."""

from __future__ import annotations

import re
from typing import Any

from nammd.data.dataset import Dataset, TableDataset
from nammd.data.frames import Frame
from nammd.errors.advice import Caution

_NAMES = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|key|customer|client|user|account|member|patient|subject|person|household|"
    r"session|visit|device|sensor|machine|vehicle|store|shop|branch|site|station|school|company|merchant)"
    r"([_\W]?(id|ids|no|nr|num|number|key|code|name))?$",
    re.IGNORECASE,
)

FEWEST, SHARE, MOST = 30, 0.05, 0.8
"""A column of text with at least so many different values, in at least this share of the rows and at most
that, looks like one too, whatever its name."""


def looks_like_groups(dataset: Dataset) -> Caution | None:
    """Return a caution about a column that may say which rows belong together; None where there is none."""
    if not isinstance(dataset, TableDataset) or dataset.units is not None:
        return None
    found: Caution | None = dataset.looked_at(_different, lambda: _look(dataset))
    return found


def _look(dataset: TableDataset) -> Caution | None:
    found = [(name, count) for name in dataset.names if (count := _different(dataset, name))]
    if not found:
        return None
    # The name tells most; then the one with the most repetitions would matter most.
    name, count = min(found, key=lambda each: (_NAMES.search(each[0]) is None, each[1]))
    return Caution(
        "looks-like-groups",
        f"{name} has {count} different values in {dataset.rows} rows: if rows of one {name} belong together, "
        f"say so with groups={name!r} (--group {name}); else standard errors come out too small",
    )


def _is_no_text(frame: Frame, name: str) -> bool:
    """Tell whether a column of text was read as numbers, times or truth values."""
    return name in frame.read and frame.read[name][1].kind != "categorical"


def _different(dataset: TableDataset, name: str) -> int:
    """Return how many values a column has that looks like a group; zero for any other."""
    import narwhals as nw

    named = _NAMES.search(name) is not None
    frame = dataset.frame
    if not named and (frame.holds_numbers(name) or _is_no_text(frame, name)):
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
    rows = dataset.rows
    if named:
        return count if 4 <= count <= MOST * rows else 0
    return count if count >= FEWEST and SHARE * rows <= count <= MOST * rows else 0
