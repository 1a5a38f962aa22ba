"""The values of one column in both datasets: a histogram or bars, and a few values beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.values import Values
from nammd.explaining.sentences import changed_words
from nammd.explaining.summaries import summary_of_words
from nammd.report.model import Bars, Histogram
from nammd.report.source import Source, Variable

BINS = 24
FEW_VALUES = 20
"""Numbers that take at most so many different values are drawn as one bar for each value."""

CATEGORIES = 6
"""The categories that have bars of their own; the others share one."""

LABEL_LENGTH = 60

Beside = tuple[tuple[str, str, str], ...]


def profile(source: Source, variable: Variable) -> tuple[Histogram | Bars, Beside]:
    """Return the picture of a column, and its values as (label, value in x, value in y)."""
    values = [side.values(variable, side.profile_rows) for side in source.sides]
    missing = [float(v.missing.mean()) for v in values]
    if variable.kind in ("categorical", "boolean"):
        return _bars(*values), ()
    if variable.kind == "text":
        return _word_bars(*values), ()
    x, y = (present(v) for v in values)
    both = np.concatenate([x, y])
    write = source.x.writer(variable, float(np.ptp(both)) if both.size else 0.0)
    beside: Beside = (("median", _median(x, write), _median(y, write)),)
    beside += (("middle half", _middle(x, write), _middle(y, write)),)
    return replace(histogram(x, y, write), missing=(missing[0], missing[1])), beside


def present(values: Values) -> FloatArray:
    """Return the numbers of a column that are there."""
    if values.numbers is None:
        return np.empty(0)
    return values.numbers[~values.missing].ravel()  # of vectors, all components


def histogram(x: FloatArray, y: FloatArray, write: Callable[[float], str]) -> Histogram:
    """Count two samples in common bins.

    The bins span the middle 99 % of both samples, so that one wild value does not press everything
    else into a single bar; what lies beyond is counted in the outermost bins.
    """
    pooled = np.concatenate([x, y])
    if not pooled.size:
        return Histogram(np.zeros(1), np.zeros(1), np.array([0.0, 1.0]), "", "")
    distinct = np.unique(pooled)
    if len(distinct) <= FEW_VALUES:
        edges = _edges_between(distinct)
        low, high = write(float(distinct[0])), write(float(distinct[-1]))
    else:
        ends = np.quantile(pooled, [0.005, 0.995])
        if not ends[1] > ends[0]:
            ends = distinct[[0, -1]]
        bins = int(np.clip(2 * np.sqrt(len(pooled) / 2), 6, BINS))
        edges = _even_edges(
            float(ends[0]), float(ends[1]), bins, whole=bool((distinct == np.rint(distinct)).all())
        )
        low, high = write(float(ends[0])), write(float(ends[1]))
    return Histogram(_shares(x, edges), _shares(y, edges), edges, low, high)


def shortened(text: str, length: int = LABEL_LENGTH) -> str:
    """Cut a text that would not fit, with a sign that something is missing."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _bars(x: Values, y: Values) -> Bars:
    counts = [Counter(v.labels or [None] * len(v.missing)) for v in (x, y)]
    sizes = [max(c.total(), 1) for c in counts]
    labels = {label for c in counts for label in c if label is not None}
    # By the larger of the two shares: a category that only one dataset has must not be hidden.
    order = sorted(labels, key=lambda k: (-max(c[k] / s for c, s in zip(counts, sizes, strict=True)), k))
    # One category too many is shown rather than hidden in a group of its own.
    shown = order if len(order) <= CATEGORIES + 1 else order[:CATEGORIES]
    hidden = order[len(shown) :]

    def shares(count: Counter[str | None], size: int) -> tuple[float, ...]:
        rows = [count[label] for label in shown]
        if hidden:
            rows.append(sum(count[label] for label in hidden))
        if any(c[None] for c in counts):
            rows.append(count[None])
        return tuple(n / size for n in rows)

    names = [shortened(label) for label in shown]
    if hidden:
        names.append(f"{len(hidden)} others")
    if any(c[None] for c in counts):
        names.append("missing")
    return Bars(tuple(names), shares(counts[0], sizes[0]), shares(counts[1], sizes[1]))


def _word_bars(x: Values, y: Values) -> Bars:
    """Return the shares of texts with the words that changed most; with the commonest where none did."""
    before, now = summary_of_words(x), summary_of_words(y)
    words = changed_words(before, now)[:CATEGORIES]
    words = words or sorted(now.shares, key=lambda word: (-now.shares[word], word))[:CATEGORIES]
    shares = [[each.shares.get(word, 0.0) for word in words] for each in (before, now)]
    names = [f"texts with {shortened(word)}" for word in words]
    if before.missing or now.missing:
        names.append("missing")
        shares[0].append(before.missing)
        shares[1].append(now.missing)
    return Bars(tuple(names), tuple(shares[0]), tuple(shares[1]))


def _edges_between(distinct: FloatArray) -> FloatArray:
    """Return edges half-way between neighbouring values."""
    if len(distinct) == 1:
        return np.array([distinct[0] - 0.5, distinct[0] + 0.5])
    middles = (distinct[:-1] + distinct[1:]) / 2
    first, last = 2 * distinct[0] - middles[0], 2 * distinct[-1] - middles[-1]
    return np.concatenate([[first], middles, [last]])


def _even_edges(low: float, high: float, bins: int, whole: bool) -> FloatArray:
    """Return the edges of bins of one width; each holds equally many whole numbers if all are whole."""
    if not whole or high - low > 1000 * bins:
        return np.linspace(low, high, bins + 1)
    width = int(np.ceil((high - low + 1) / bins))
    count = int(np.ceil((high - low + 1) / width))
    edges: FloatArray = np.floor(low) - 0.5 + width * np.arange(count + 1)
    return edges


def _shares(values: FloatArray, edges: FloatArray) -> FloatArray:
    if not values.size:
        return np.zeros(len(edges) - 1)
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(bins, minlength=len(edges) - 1) / len(values)


def _median(values: FloatArray, write: Callable[[float], str]) -> str:
    return write(float(np.median(values))) if values.size else "–"


def _middle(values: FloatArray, write: Callable[[float], str]) -> str:
    if not values.size:
        return "–"
    low, high = np.quantile(values, [0.25, 0.75])
    return f"{write(float(low))} to {write(float(high))}"
