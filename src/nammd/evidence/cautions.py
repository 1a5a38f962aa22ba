"""Where an estimate is known to be less sure than it says: few rows, few frequencies, copied rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from nammd.data.arrays import to_numpy
from nammd.data.repeats import KeyCounts, in_common, row_keys
from nammd.encoding.noticed import unread as unread_cells
from nammd.errors.advice import Caution
from nammd.kernels.operations import features_of
from nammd.sketches.group_totals import SketchUnits
from nammd.spaces import Sample
from nammd.statistics.moments import Moments
from nammd.statistics.spread import Spread

FEW_ROWS = 20
"""Below this the tests and intervals are known not to hold their level exactly."""

FEW_SKETCHED_ROWS = 500
"""Below this the skewness that sketches do not know was seen to matter: up to .069 at .05 with 200 rows."""

FEW_FREQUENCIES = 15
"""Below this a distance under the exact kernel rests on too few frequencies. At level .05 "closer" was
wrongly proven, and without this caution, in at most .06 of all draws
(experiments/calibration/sketch_frequencies.py)."""


def few_rows(m: int, n: int) -> tuple[Caution, ...]:
    """Return a caution where a sample is too small for the tests to hold their level."""
    if min(m, n) >= FEW_ROWS:
        return ()
    return (
        Caution(
            "few-rows",
            f"with fewer than {FEW_ROWS} rows on a side ({m} and {n} here) the error rates of "
            "tests and intervals are only approximate",
        ),
    )


def few_sketched_rows(m: int, n: int) -> tuple[Caution, ...]:
    """Return a caution where the skewness that sketches do not know could matter."""
    if min(m, n) >= FEW_SKETCHED_ROWS:
        return ()
    return (
        Caution(
            "sketch-skewness",
            f"with fewer than {FEW_SKETCHED_ROWS} rows on a side ({m} and {n} here) tests need the third "
            "moment of the rows, which sketches do not keep: error rates are only approximate",
        ),
    )


def few_sketched_groups(one: float, two: float) -> tuple[Caution, ...]:
    """Return a caution where there are few groups, or the skewness that sketches do not know could matter."""
    if min(one, two) >= FEW_SKETCHED_ROWS:
        return ()
    counts = f"effectively {one:.3g} and {two:.3g} here"
    if min(one, two) < FEW_ROWS:
        message = (
            f"with fewer than {FEW_ROWS} groups on a side ({counts}) the error rates of tests and intervals "
            "are only approximate"
        )
        return (Caution("few-groups", message),)
    return (
        Caution(
            "sketch-skewness",
            f"with fewer than {FEW_SKETCHED_ROWS} groups on a side ({counts}) tests need the third moment of "
            "the groups, which sketches do not keep: error rates are only approximate",
        ),
    )


def split_groups(name: str, units: SketchUnits) -> tuple[Caution, ...]:
    """Say that groups were split over sketches that were added, and what is lost by it."""
    if not units.split:
        return ()
    by = f" by {units.by}" if units.by != "group" else ""
    return (
        Caution(
            "split-groups",
            f"{units.split} times rows of {name} came apart from the rest of their group{by} when they were "
            "sketched, and count as a group of their own: the distance may be too large and its standard "
            "error too small; sketch every group whole, for example from data sorted by group",
        ),
    )


def sketched_groups_in_common(name: str, other: str, shared: int, count: int) -> tuple[Caution, ...]:
    """Say that groups are in both sketches, and that they cannot be handled jointly."""
    if not shared:
        return ()
    return (
        Caution(
            "groups-in-common",
            f"{shared} of the {count} groups of {name} are in {other} too, and sketches cannot compare a "
            "group with itself: the distance may be too small and its standard error too large; compare the "
            "data themselves, or give them different labels if they are not the same",
        ),
    )


def few_frequencies(spread: Spread | None, features: int) -> tuple[Caution, ...]:
    """Return a caution where so few frequencies carry a distance that others may have been missed."""
    if spread is None or spread.carriers >= FEW_FREQUENCIES:
        return ()
    few, all_of_them = max(round(spread.carriers), 1), features // 2
    return (
        Caution(
            "few-frequencies",
            f"about {few} of the {all_of_them} random frequencies carry this distance, so it may be larger "
            "under the exact kernel than they tell, and a proof that it is small may be wrong; take more "
            "features, or an epsilon from the same features",
        ),
    )


FLAT = 1e-9
"""Kernel values that differ by less of their bound are the same, for all that a distance can tell."""


def flat_kernel(x: Any, y: Any, moments: Moments, squares: float | None = None) -> tuple[Caution, ...]:
    """Return a caution where the bandwidth is so far from the data that all kernel values are 0 or 1.

    Parameters
    ----------
    x, y : samples
        The samples.
    moments : Moments
        With the mean kernel values.
    squares : float, optional
        The mean squared kernel value over all pairs of different rows, where it is known.
    """
    if x.keeps_rows and x.constant and y.constant:  # sketches cannot tell
        return ()
    means = [mean / moments.bound for mean in (moments.x.mean, moments.y.mean, moments.xy)]
    if min(means) >= 1 - FLAT:
        how, words = "large", "all rows count as the same"
    elif max(map(abs, means)) <= FLAT or _no_rows_alike(x, y):
        how, words = "small", "no two rows count as similar"
    elif squares is not None and abs(squares / moments.bound**2 - means[2]) <= FLAT * means[2]:
        how, words = "small", "only rows that are exactly the same count as similar"
    else:
        return ()
    return (
        Caution(
            "flat-kernel",
            f"the bandwidth is so {how} beside the distances between rows that {words}, so the distance says "
            "nothing of how far rows are apart; take a bandwidth of the size of these distances, such as the "
            "median (the default)",
        ),
    )


def _no_rows_alike(x: Any, y: Any) -> bool:
    """Tell whether kernel values of some rows are zero, of a kernel whose features are too few to tell."""
    features = features_of(x.space.kernel)
    if features is None or not x.keeps_rows:
        return False
    some = [to_numpy(sample.representatives[1])[:_LOOKED_AT] for sample in (x, y)]
    values = features.kernel(*some)
    return bool(np.abs(values).max() <= FLAT * features.bound)


_LOOKED_AT = 200
"""So many rows tell whether any are similar."""

MOST = 0.5
"""Share of rows in common above which two datasets are not two samples."""

SOME = 0.01
"""Share of rows in common from which on it is said."""


def same_rows(x: Any, y: Any) -> Caution | None:
    """Return why a dataset cannot be tested against itself."""
    common = 0 if not x.keeps_rows else _in_common(x, y)
    if (x.same_rows(y) and not x.constant) or common == x.size == y.size:
        return Caution(
            "same-rows",
            f"{x.name} and {y.name} are the same rows, so no valid test is possible: a test needs rows "
            "that were drawn independently of each other",
        )
    if common > MOST * y.size:
        return Caution(
            "same-rows",
            f"{common} of the {y.size} rows of {y.name} are rows of {x.name} too, so there is nothing to "
            "test with: compare the other rows only",
        )
    return None


def same_on_both_sides(first: Any, second: Any) -> tuple[Caution, ...]:
    """Return a caution where two pairs that are taken as independent have a dataset in common."""
    if not any(one.same_rows(other) for one in (first.x, first.y) for other in (second.x, second.y)):
        return ()
    return (
        Caution(
            "same-rows",
            "the two pairs have the same rows in one of their datasets, but are compared as if they had none "
            "in common; with shared=True, and these rows first in both pairs, the comparison is sharper",
        ),
    )


def groups_of_both_pairs(first: Any, second: Any) -> tuple[Caution, ...]:
    """Return a caution where groups are in the second datasets of two pairs, which is not accounted for."""
    common = _groups_in_both(first.y, second.y)
    if not common or first.y.same_rows(second.y):
        return ()
    return (
        Caution(
            "groups-in-common",
            f"{common} groups of {second.y.name} are in {first.y.name} too; the comparison takes the two as "
            "independent of each other",
        ),
    )


def unread(*samples: Any) -> tuple[Caution, ...]:
    """Return a caution for every column with cells that could not be read as what the column holds."""
    return tuple(
        Caution("unreadable", f"{sample.name}: {cells}")
        for sample in samples
        for cells in unread_cells(sample.space.encoding, sample.dataset).values()
    )


def rows_in_common(x: Sample, y: Sample) -> tuple[Caution, ...]:
    """Return a caution where some rows are in both datasets."""
    common = _in_common(x, y)
    if common < SOME * y.size or common == 0:
        return ()
    return (
        Caution(
            "rows-in-common",
            f"{common} of the {y.size} rows of {y.name} are rows of {x.name} too; tests take the two as "
            "independent, so leave these out",
        ),
    )


def copied_rows(sample: Sample) -> Caution | None:
    """Return why copies of rows are no data to test with."""
    found = sample.key_counts
    if found is not None and sample.units is not None:
        # Within a group a copy is expected, and does no harm.
        found = KeyCounts.once_in_each(row_keys(sample.points), sample.units.codes)
    times = 1 if found is None else found.copies
    if times == 1:
        return None
    often = "twice" if times == 2 else f"{times} times"
    return Caution(
        "copied-rows",
        f"every row of {sample.name} is there {often}, or a multiple of that, so there is nothing to test "
        "with: a copy is not a new observation; leave the copies out",
    )


def few_groups(x: Sample, y: Sample, effective: tuple[float, float]) -> tuple[Caution, ...]:
    """Return a caution where there are too few groups for the tests to hold their level."""
    if min(effective) >= FEW_ROWS:
        return ()
    counts = " and ".join(f"{number:.3g}" for number in effective)
    unit = "blocks of time" if any(s.units is not None and s.units.reach for s in (x, y)) else "groups"
    return (
        Caution(
            "few-groups",
            f"with fewer than {FEW_ROWS} {unit} on a side (effectively {counts} here) the error rates of "
            "tests and intervals are only approximate",
        ),
    )


def long_memory(*samples: Sample) -> tuple[Caution, ...]:
    """Return a caution where what rows remember lasts longer than blocks of time can be."""
    names = [sample.name for sample in samples if sample.units is not None and sample.units.too_long]
    if not names:
        return ()
    return (
        Caution(
            "long-memory",
            f"rows of {' and '.join(dict.fromkeys(names))} depend on rows so long before them that "
            "blocks of time may be too short: standard errors may be too small, and wrong decisions more "
            "frequent than they say; take a longer series, or take off its trend",
        ),
    )


def groups_in_common(x: Sample, y: Sample, shared: int) -> tuple[Caution, ...]:
    """Say that groups are in both datasets, and what was done about it."""
    if not shared or x.units is None or y.units is None:
        return ()
    return (
        Caution(
            "groups-in-common",
            f"{shared} of the {y.units.count} groups of {y.name} are in {x.name} too: they are taken as the "
            "same and handled jointly; give them different labels if they are not",
        ),
    )


def _groups_in_both(one: Any, two: Any) -> int:
    """Return how many groups are in both of two samples, of rows or of sketches."""
    names = [getattr(getattr(sample, "units", None), "names", None) for sample in (one, two)]
    if names[0] is not None and names[1] is not None:
        return len(set(names[0]) & set(names[1]))
    traces = [getattr(getattr(sample, "sketched_units", None), "trace", None) for sample in (one, two)]
    return 0 if traces[0] is None or traces[1] is None else int(traces[0].common(traces[1]))


def _in_common(x: Sample, y: Sample) -> int:
    return 0 if x.key_counts is None or y.key_counts is None else in_common(x.key_counts, y.key_counts)
