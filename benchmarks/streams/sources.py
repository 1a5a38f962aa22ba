"""Streams with known laws, and batches of real flights among which nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import pandas as pd

import nammd
from benchmarks.real_tables.batches import Setup, generator
from benchmarks.real_tables.sources import SOURCES, Frame, Source
from nammd.datasets import KnownPair, known_pair

LAWS = ("shifted normal", "scaled normal", "three columns")
"""Laws whose reference does not depend on the distance: two of one column, and one of three."""

TOLERANCE = 0.05
HALF = 0.5
RATIOS = (1.5, 2.0, 4.0)
"""What the distance changes to, over the tolerance."""
REFERENCE, ROWS = 1000, 100
"""The rows of a reference, and those of a batch."""
BEFORE = 20
"""So many batches come before a change, drawn from the law of the reference."""
FLIGHTS = {"reference": "flights of spring, like the reference", "accepted": "flights of summer, accepted"}
FLIGHT_ROWS = 200


@dataclass(frozen=True)
class Stream:
    """A reference, and the batches that come.

    Attributes
    ----------
    name : str
        What it is.
    reference : DataFrame
        What every tool is given.
    tolerance : callable
        What nammd is given besides: how much is close enough.
    batches : callable
        The batches, one after the other, the same ones whenever it is called.
    change : int or None
        The first batch that is beyond the tolerance; None where there is none.
    known : bool
        Whether the distances are known, between rows as they are.
    """

    name: str
    reference: Frame
    tolerance: Callable[[], nammd.Tolerance]
    batches: Callable[[], Iterator[Frame]]
    change: int | None = None
    known: bool = True


def at_half(law: str, length: int) -> Stream:
    """Return a stream that stays at half of the tolerance, as long as a year."""
    return _known(f"{law} at half the tolerance", law, (0, length), HALF, 0)


def changing(law: str, ratio: float, number: int, after: int) -> Stream:
    """Return a stream like the reference, which then goes to a multiple of the tolerance."""
    return _known(f"{law} to {ratio:g} times the tolerance", law, (BEFORE, after), ratio, number)


def flights(like: str, length: int) -> Stream:
    """Return batches of flights of a season, in no order: nothing changes among them."""
    setup = _setup()

    def tolerance() -> nammd.Tolerance:
        return nammd.Tolerance.from_reference(setup.reference, setup.accepted, rows=FLIGHT_ROWS)

    def batches() -> Iterator[Frame]:
        return (setup.batch(like, FLIGHT_ROWS, number) for number in range(length))

    return Stream(FLIGHTS[like], setup.reference, tolerance, batches, known=False)


@cache
def _setup() -> Setup:
    return Setup.of(_source().load())


def _source() -> Source:
    return next(source for source in SOURCES if source.name == "flights")


def no_flights() -> str:
    """Return why there are no flights here; an empty text if there are."""
    return _source().missing()


def _known(name: str, law: str, lengths: tuple[int, int], ratio: float, number: int) -> Stream:
    pair = _pair(law, ratio)
    before, after = lengths

    def batches() -> Iterator[Frame]:
        rng = generator(name, number, "batches")
        for _ in range(before):
            yield _frame(pair.p.sample(rng, ROWS))
        for _ in range(after):
            yield _frame(pair.q.sample(rng, ROWS))

    reference = _frame(pair.p.sample(generator(name, number), REFERENCE))
    width = reference.shape[1]
    beyond = before if ratio > 1 else None
    return Stream(
        name,
        reference,
        lambda: nammd.Tolerance.at(TOLERANCE, pair.kernel, n_columns=width),
        batches,
        beyond,
    )


def _pair(law: str, ratio: float) -> KnownPair:
    pair = known_pair(law, ratio * TOLERANCE)
    if pair is None:
        raise ValueError(f"the law {law!r} does not reach {ratio:g} times the tolerance")
    return pair


def _frame(rows: Frame) -> Frame:
    return pd.DataFrame(rows, columns=[f"column {k}" for k in range(rows.shape[1])])
