"""Sums that depend on the data of a tolerance alone, kept so that no check computes them again: `KeptSums`.

The reference, the accepted datasets and the copies that moved between them know of each other whatever the
candidate is. These sums hold for the very rows of the reference that the tolerance was made from, which a
digest tells; with any other rows they are computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nammd.engines import Engine, Tiles, choose_engine
from nammd.engines.progress import aside
from nammd.engines.sums import WithinSums
from nammd.evidence.accepted import Sums, SumsBetween
from nammd.evidence.gathering import kernels_at
from nammd.spaces import Sample

MOST_NUMBERS = 100_000
"""So many numbers are kept of the main scale, and as many of all finer ones together; each time they are a
megabyte in the file. Those come first that spare most of the work."""


@dataclass(frozen=True, eq=False)
class KeptSums:
    """Sums within and between the rows of a reference and all that is accepted beside it, at one scale.

    Attributes
    ----------
    reference : str
        The digest of the reference; at finer scales, of those of its rows that are compared there.
    within, between : mapping
        The sums, by the numbers of corners: the reference, accepted datasets, copies; see `SumsBetween`.
    """

    reference: str
    within: Mapping[int, WithinSums] = field(default_factory=dict, repr=False)
    between: Sums = field(default_factory=dict, repr=False)

    @classmethod
    def at(
        cls, scales: Sequence[float], reference: Sample, known: SumsBetween, own: WithinSums | None = None
    ) -> dict[float, KeptSums]:
        """Compute what is not known yet, and is worth its place: at every one of some scales the same parts.

        `own` is what is within the reference, and `known` holds with it at a single scale alone.
        """
        sizes = [len(points) for points in known.samples]
        alone, pairs = known.unknown
        each: list[tuple[tuple[int, ...], float, int]] = [((v,), sizes[v] ** 2 / 2, sizes[v]) for v in alone]
        each += [((a, b), sizes[a] * sizes[b], sizes[a] + sizes[b]) for a, b in pairs]
        chosen, room = [], MOST_NUMBERS // len(scales)
        for part, _, numbers in sorted(each, key=lambda one: -one[1] / one[2]):
            if numbers <= room:
                room -= numbers
                chosen.append(part)
        new = [part for part in chosen if part != (0,) or own is None]
        spared: dict[tuple[int, ...], Any] = {} if own is None or (0,) not in chosen else {(0,): own}
        kernels, found = kernels_at(reference.space.kernel, scales), [spared] * len(scales)
        if new:
            parts = [tuple(known.samples[v] for v in part) for part in new]
            with aside():
                every = choose_engine(None, *known.samples).many_sums(kernels, *parts)
            found = [spared | dict(zip(new, summed.parts, strict=True)) for summed in every]
        return {scale: cls._of(reference.digest, sums) for scale, sums in zip(scales, found, strict=True)}

    @classmethod
    def _of(cls, digest: str, found: Mapping[tuple[int, ...], Any]) -> KeptSums:
        within = {part[0]: sums for part, sums in found.items() if len(part) == 1}
        between = {(part[0], part[1]): sums for part, sums in found.items() if len(part) == 2}
        return cls(digest, within, between)

    def hold_for(self, reference: Sample, engine: Engine | None) -> bool:
        """Tell whether these are the sums of a reference, as an engine would compute them."""
        return can_keep(reference, engine) and reference.digest == self.reference

    def after(self, datasets: int, added: int) -> KeptSums:
        """Return the same where some datasets were added after the first ones: copies come after them."""

        def number(corner: int) -> int:
            return corner if corner <= datasets else corner + added

        within = {number(v): sums for v, sums in self.within.items()}
        between = {(number(a), number(b)): sums for (a, b), sums in self.between.items()}
        return replace(self, within=within, between=between)


def can_keep(reference: Sample, engine: Engine | None) -> bool:
    """Tell whether sums of these rows are the same ones in every check: plain rows, computed as usual."""
    usual = engine is None or (isinstance(engine, Tiles) and engine.dtype is None)
    points = reference.points
    plain = isinstance(points, np.ndarray) and points.dtype == np.float64
    return usual and plain and reference.units is None
