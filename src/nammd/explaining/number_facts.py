"""Facts about a column of numbers or times, read off its counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nammd.errors.checks import counted
from nammd.explaining.chance import HARDLY, Chance, Counted, Share, Together, never_so_far
from nammd.explaining.facts import Fact
from nammd.explaining.offsets import offset
from nammd.explaining.pile_ups import Aligned, PileUp, cut_off, pile_ups
from nammd.explaining.precision import Grain, coarser, finer
from nammd.explaining.sentences import writer_for
from nammd.explaining.summaries import NumberSummary, summary_of_numbers
from nammd.explaining.unit_factors import factor_between
from nammd.explaining.writing import Writer, percent
from nammd.reading.text_formats.understanding import SUSPECTED_NUMBERS
from nammd.views.counts import NumberCounts
from nammd.views.measure import Measure

SUSPECTED_DAYS = tuple(
    datetime(*day, tzinfo=UTC).timestamp()
    for day in (
        (1, 1, 1), (1601, 1, 1), (1753, 1, 1), (1899, 12, 30), (1899, 12, 31), (1900, 1, 1), (1904, 1, 1),
        (1970, 1, 1), (1980, 1, 1), (2099, 12, 31), (2999, 12, 31), (9999, 12, 31),
    )
)  # fmt: skip
"""Days that often stand for a missing time, in seconds since 1970."""

NEGLIGIBLE = 0.5
"""Values so many robust standard deviations outside the range are not far outside."""

TAIL, REACH = 0.01, 2.0
"""Nor are those that are outside by less than so many times as far as this share of the rows reaches in."""

ABSURD = 20.0
"""Values so many times as far outside are told, even if there is one."""

NO_DRIFT = 4.0
"""No drift that could be tolerated brings values so many times as far outside."""

MIDDLE, SHIFT, STRETCH = 0.25, 2.0, 4.0
"""A column that has moved or widened as a whole has values outside its range, too. That is left to the tests,
which know what is tolerated. Its quartiles tell: up to so many robust standard deviations, and so much wider.
"""

ALWAYS = 0.995
"""What so many rows have all of them have."""

_DAY = 86_400.0
_NAMED = 2


class Possible(NamedTuple):
    """Which facts there may be about a column; what is known not to be there need not be looked for.

    Attributes
    ----------
    unit, factor : bool
        Another unit that is written, or that nobody wrote down.
    shape : bool
        Values that have moved, are rounded in another way, or pile up.
    outside : bool
        Values far outside the range so far.
    """

    unit: bool = True
    factor: bool = True
    shape: bool = True
    outside: bool = True


def number_facts(
    measure: Measure,
    known: Sequence[NumberCounts],
    now: NumberCounts,
    together: Together,
    possible: Possible,
) -> list[Fact]:
    """Return the facts about a column: `known` are its counts in what was accepted, each with numbers."""
    column = _Column(measure, known, now, together)
    found = column.unit() if possible.unit else []
    if possible.factor and (factor := column.factor()):
        return [*found, *factor]
    if possible.shape:
        # What was rounded, or moved, has other values in many rows, which is no further news.
        found += column.moved() or column.rounded() or column.piled_up()
    if possible.outside:
        found += column.outside()
    return [*found, *column.finer()] if possible.shape else found


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of a candidate beside what is known of it."""

    measure: Measure
    known: Sequence[NumberCounts]
    now: NumberCounts
    together: Together

    def unit(self) -> list[Fact]:
        """Tell of numbers that are written with another unit."""
        before = {_meant(unit) for each in self.known for unit in each.marks.units}
        new = [unit for unit in map(_meant, self.now.marks.units) if unit not in before]
        if not before or not new:
            return []
        told = [", ".join(sorted(unit or "plain numbers" for unit in units)) for units in (before, new)]
        return [self._fact("unit-changed", f"{told[0]} before, {told[1]} now")]

    def factor(self) -> list[Fact]:
        """Tell of another unit that nobody wrote down."""
        if self.measure.kind != "numeric":
            return []
        before, now = self._summaries
        found = factor_between(before, now)
        # Where accepted data are larger by such a factor, this one may be too.
        if found is None or any(
            factor_between(before, summary_of_numbers(each, self.measure)) is not None
            for each in self.known[1:]
        ):
            return []
        return [self._fact("factor", f"values are {found.words()}")]

    def moved(self) -> list[Fact]:
        """Tell of whole numbers that look as if all of them had been moved by one."""
        words = offset(self.measure, self.known, self.now, self.together)
        return [] if words is None else [self._fact("offset", words)]

    def piled_up(self) -> list[Fact]:
        """Tell of single values that are far more common than before, and of columns that are cut off."""
        if self._always:
            value = self.measure.value(self._piles[0].place)
            return [self._fact("pile-up", f"now always {self._write(value)}", self._piles[0].share)]
        if self._elsewhere:
            return []
        found, told = list[Fact](), list[float]()
        for nines, rows in self._nines.items():
            share = rows / self.now.size
            message = f"{self._write(nines)} in {percent(share)} of rows, far from everything so far: "
            chance, counted = self._noted(self._never_so_far(rows)), self._counted(rows)
            found.append(self._fact("placeholders", f"{message}a missing value?", share, chance, counted))
        for way, end, name in ((1, self.now.high, "largest"), (-1, self.now.low, "smallest")):
            pile = cut_off(self._aligned, way)
            if pile is not None:
                told.append(pile.place)
                message = f"{self._write(end)}, the {name} value, {_shares(pile)}, none is beyond: cut off?"
                more = pile.share - pile.before
                found.append(self._fact("pile-up", message, more, counted=pile.counted))
        for pile in [each for each in self._piles if each.place not in told][:_NAMED]:
            value = self.measure.value(pile.place)
            suspect = self._suspect(value)
            if suspect in self._nines or (suspect is None and self._way(value)):
                continue  # which is told as a value outside the range
            what = "a default?" if suspect is None else "a missing value?"
            message = f"{self._write(value if suspect is None else suspect)} {_shares(pile)}: {what}"
            code = "pile-up" if suspect is None else "placeholders"
            found.append(self._fact(code, message, pile.share - pile.before, counted=pile.counted))
        return found

    def outside(self) -> list[Fact]:
        """Tell of values far outside the range so far, and of negative ones where there were none."""
        low, high = self._range
        above, below = round(self._beyond(1)), round(self._beyond(-1))
        negative = 0 if low < 0 or self.measure.clock else round(self.now.marks.below_zero)
        if negative and self._moved(low, -1) < -NEGLIGIBLE * self.measure.scale:
            negative = 0  # a column that has moved as a whole may be near zero now
        if not (above or below or negative):
            return []  # as in nearly all of very many columns
        never = "below", self._write(0.0), "never before, down to", self._write(self.now.low)
        least = "below", self._write(low), "the smallest so far, down to", self._write(self.now.low)
        most = "above", self._write(high), "the largest so far, up to", self._write(self.now.high)
        sides = [(above, most), (negative, never) if negative and negative >= below else (below, least)]
        told = [(rows, words) for rows, words in sides if rows and not self._explained(rows, words[0])]
        if not told:
            return []
        rows = Share(sum(each for each, _ in told), self.now.size)
        larger = max(each for each, _ in told)
        chance, gross = self._never_so_far(larger), self._beyond(1, NO_DRIFT) + self._beyond(-1, NO_DRIFT)
        # So far outside they are new in kind.
        new = 2 * gross >= rows.rows and self._never_so_far(gross) == "none"
        if self.now.high > high + ABSURD * self._margin(1) or self.now.low < low - ABSURD * self._margin(-1):
            chance = self._noted(chance)
        message = "; ".join(
            self._outside_words(max(some, self._so_far_out(words[0])), *words) for some, words in told
        )
        return [
            self._fact("outside-range", message, rows.value, chance, None if new else self._counted(larger))
        ]

    def _so_far_out(self, way: str) -> int:
        """Return how many rows are far outside on a side, also those that a movement of all would explain."""
        return round(self._beyond(1 if way == "above" else -1, moved=False))

    def _outside_words(self, rows: int, way: str, end: str, so_far: str, worst: str) -> str:
        return f"{counted(rows, 'row')} ({percent(rows / self.now.size)}) {way} {end}, {so_far} {worst}"

    def rounded(self) -> list[Fact]:
        """Tell of values that are rounded more coarsely than before."""
        if self._always:
            return []
        if self._in_piles and not self._elsewhere:
            words = f"{len(self._piles)} values are in nearly all rows, far more than before: rounded?"
            return [self._fact("precision", words)]
        found = coarser(self._grains, self._grain, self.measure.clock)
        return [] if found is None else [self._fact("precision", *found)]

    def finer(self) -> list[Fact]:
        """Tell of values that have more decimals than any before."""
        found = finer(self._grains, self._grain, self.measure.clock)
        return [] if found is None else [self._fact("precision", *found)]

    @property
    def _in_piles(self) -> bool:
        """Whether most rows have one of a few values that were rare before."""
        return len(self._piles) > _NAMED and sum(pile.share for pile in self._piles) > 0.5

    @property
    def _elsewhere(self) -> bool:
        """Whether they had one of as few values before, too: as the days of another month."""
        before = self.known[0]
        most = np.sort(before.rows)[-len(self._piles) :].sum() if before.exact and self._piles else 0.0
        return self._in_piles and bool(most > 0.5 * before.present)

    @cached_property
    def _grains(self) -> list[Grain]:
        return [_per(each.marks.grain, self.together.known) for each in self.known]

    @cached_property
    def _grain(self) -> Grain:
        return _per(self.now.marks.grain, self.together.now)

    def _fact(
        self,
        code: str,
        message: str,
        share: float = 1.0,
        chance: Chance = "none",
        counted: Counted | None = None,
    ) -> Fact:
        return Fact(code, self.measure.title, message, share, chance, counted)

    @cached_property
    def _nines(self) -> dict[float, int]:
        """The rows with -999 and the like, where that is far from everything so far, but for all of them."""
        found = dict[float, int]()
        low, high = self._range
        for suspect in (self.now.low, self.now.high) if self.measure.kind == "numeric" else ():
            apart = max(low - suspect, suspect - high)
            if suspect not in SUSPECTED_NUMBERS or not apart > high - low:
                continue
            place, near = self.measure.places(np.array([suspect, low if suspect < low else high]))
            there = np.abs(self.now.places - place) < abs(near - place) / 2
            rows = round(float(self.now.rows[there].sum()))
            if 0 < rows < self.now.present / 2:
                found[suspect] = rows
        return found

    @property
    def _always(self) -> bool:
        """Whether all rows have one value, which hardly any had."""
        return bool(self._piles) and self._piles[0].share > ALWAYS

    @cached_property
    def _piles(self) -> list[PileUp]:
        return pile_ups(self._aligned)

    @cached_property
    def _aligned(self) -> Aligned:
        return Aligned.of(self.known, self.now, self.together)

    @cached_property
    def _summaries(self) -> tuple[NumberSummary, NumberSummary]:
        """The column in the reference, and in the candidate."""
        return summary_of_numbers(self.known[0], self.measure), summary_of_numbers(self.now, self.measure)

    @cached_property
    def _write(self) -> Writer:
        return writer_for(*self._summaries)

    @cached_property
    def _range(self) -> tuple[float, float]:
        return min(each.low for each in self.known), max(each.high for each in self.known)

    def _way(self, value: float) -> str:
        """Return on which side of the range so far a value is; empty where it is within."""
        low, high = self._range
        margin = NEGLIGIBLE * self.measure.scale
        negative = low >= 0 > value and not self.measure.clock
        return "above" if value > high + margin else "below" if negative or value < low - margin else ""

    def _explained(self, rows: int, way: str) -> bool:
        """Tell whether nearly all rows on a side of the range have a value that stands for a missing one."""
        found = {
            self._suspect(self.measure.value(pile.place)): pile.share * self.now.size for pile in self._piles
        }
        known = {value: n for value, n in (found | self._nines).items() if value is not None}
        return sum(n for value, n in known.items() if self._way(value) == way) > 0.9 * rows

    def _suspect(self, value: float) -> float | None:
        """Return the number that stands for a missing value and is here, if it is one; else None."""
        if self.measure.clock in ("local", "zoned"):
            day = min(SUSPECTED_DAYS, key=lambda day: abs(day - value))
            return day if abs(day - value) <= _DAY else None
        near = SUSPECTED_NUMBERS[int(np.argmin(np.abs(SUSPECTED_NUMBERS - value)))]
        return float(near) if not self.measure.clock and abs(near - value) <= 1e-6 * abs(near) else None

    def _margin(self, way: int) -> float:
        """Return how far beyond an end of the range values are still not far outside."""
        inner = self.measure.value(self.known[0].quantile(1 - TAIL if way > 0 else TAIL))
        return max(NEGLIGIBLE * self.measure.scale, REACH * abs(self._range[way > 0] - inner))

    def _never_so_far(self, rows: float) -> Chance:
        """Tell whether rows far outside may be chance; far outside is rarer than outside."""
        counted = self._counted(rows)
        return never_so_far(counted.now, counted.none_of, HARDLY)

    def _counted(self, rows: float) -> Counted:
        """Return rows of which there was none before."""
        here = Share(rows, self.now.size).per(self.together.now)
        return Counted(here, none_of=self.known[0].present / self.together.known)

    @staticmethod
    def _noted(chance: Chance) -> Chance:
        """Return that of something that is worth a note even where it may well be chance."""
        return "possible" if chance == "likely" else chance

    def _moved(self, value: float, way: int) -> float:
        """Return where a value is if all have moved and widened on its side as the quartiles have.

        Of all that is known the one that the candidate is most like counts; nothing is taken to be narrower.
        """
        found = []
        for each in self.known:
            middle, quartile = self._quartiles(each, way)
            now, far = self._quartiles(self.now, way)
            widened = (far - now) / (quartile - middle) if quartile != middle else 1.0
            shift = min(way * (now - middle), SHIFT * self.measure.scale)
            found.append(middle + way * shift + (value - middle) * min(max(widened, 1.0), STRETCH))
        return way * min(way * moved for moved in found)

    def _quartiles(self, counts: NumberCounts, way: int) -> tuple[float, float]:
        """Return the median of a column and its quartile on a side."""
        shares = 0.5, 1 - MIDDLE if way > 0 else MIDDLE
        middle, quartile = (self.measure.value(counts.quantile(share)) for share in shares)
        return middle, quartile

    def _beyond(self, way: int, times: float = 1.0, moved: bool = True) -> float:
        """Return how many rows are far beyond an end of the range, or so many times as far.

        Beyond where it is now, if all values have `moved`.
        """
        line = self._range[way > 0] + way * times * self._margin(way)
        places = self.now.places
        if way * places[-1 if way > 0 else 0] <= way * self.measure.place(line):
            return 0.0  # nor if all have moved, which only moves the line outwards
        if moved:
            line = way * max(way * line, way * self._moved(line, way))
        limit = self.measure.place(line)
        return float(self.now.rows[places > limit if way > 0 else places < limit].sum())


def _meant(unit: str) -> str:
    """Return a unit; percent is none, but another way to write the same number."""
    return "" if unit in "%‰" else unit


def _per(grain: Grain, together: float) -> Grain:
    """Return rows as groups of so many that belong together."""
    return grain if together == 1.0 else tuple(rows / together for rows in grain)


def _shares(pile: PileUp) -> str:
    return f"in {percent(pile.share)} of rows, {percent(pile.before)} before"
