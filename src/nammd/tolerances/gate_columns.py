"""The columns of a reference, ready for many candidates: `GateColumns`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from nammd.data.arrays import beside_device
from nammd.data.dataset import Dataset
from nammd.encoding import Encoding
from nammd.encoding.constants import ChangedConstant, Constant, changed_constants, constant_columns
from nammd.explaining.chance import Together
from nammd.explaining.column_facts import column_facts
from nammd.explaining.facts import Fact
from nammd.explaining.left_out_facts import constant_facts
from nammd.tolerances.columns import ColumnTolerances, made_pairs
from nammd.views.counting import has_counts, tally_columns
from nammd.views.grouped import has_units, is_grouped
from nammd.views.limits import HOPELESS, ColumnCheck, ColumnLimit, check_columns, made_limits
from nammd.views.measure import Measure, measures_of
from nammd.views.negligible import Negligible
from nammd.views.relation_limits import PairCheck, RelationLimits, check_relations
from nammd.views.tally import ColumnTally, Tally

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance


@dataclass(frozen=True, eq=False)
class GateColumns:
    """Single columns of a reference, and how far those of candidates may be from them.

    What is needed of the reference is read with the first check, and only then: where the limits were made
    from these very rows, they know all but the groups.

    Attributes
    ----------
    tolerance : Tolerance
        What close enough means.
    reference : Sample
        What candidates are compared with.
    """

    tolerance: Tolerance
    reference: Any

    @property
    def is_the_one(self) -> bool:
        """Whether the reference is the data that the tolerance was made from."""
        made_from = self.tolerance.origin.digest
        return bool(made_from) and made_from == self._digest()

    @cached_property
    def _digest(self) -> Callable[[], str]:
        reference = self.reference
        points = reference.points if reference.keeps_rows else None
        return beside_device(partial(getattr, reference, "digest"), points)

    def begin(self) -> None:
        """Begin with the digest of a reference on a device, which takes time in which others can go on."""
        _ = self._digest if self.tolerance.origin.digest else None

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called that facts may be about."""
        named = (*(measure.title for measure in self.measures), *self.dataset.names)
        units = self.dataset.units
        return named if units is None else (*named, units.by)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """How columns are counted."""
        if not has_counts(self.dataset):
            return ()
        if self._made.limits is not None:
            return tuple(limit.measure for limit in self._made.limits)
        return measures_of(self._encoding, self.dataset)

    @cached_property
    def limits(self) -> tuple[ColumnLimit, ...]:
        """The columns with their tolerances; where they have none, with what is negligible by default."""
        if not self.measures:
            return ()
        if self._made.limits is not None:
            return self._made.limits
        return made_limits(self.measures, self._tally.columns, self._made.negligible)

    @cached_property
    def of_reference(self) -> Mapping[str, ColumnTally]:
        """The reference by column, with the counts of the limits where these were made from it."""
        if not self._shared:
            return self._tally.columns
        kept = {limit.name: limit.made_from for limit in self.limits}
        if not has_units(self.dataset):
            return kept
        found = self._tally.columns
        return {name: replace(column, units=found[name].units) for name, column in kept.items()}

    def tally(self, candidate: Dataset) -> Tally:
        """Read the columns of a candidate, once; nothing where that would be too dear, or is not possible."""
        # A pass over an array on a cluster is too dear for words alone.
        dear = self.tolerance.column_tolerances is None and candidate.on_cluster and not candidate.is_table
        if dear or not has_counts(candidate) or candidate.keeps_rows != self.dataset.keeps_rows:
            return Tally()
        constants = [name for name in self._constant_columns if name in candidate.names]
        pairs = False if self.pairs is None else self.pairs.reference.columns
        return tally_columns(candidate, self.measures, self._encoding, constants=constants, pairs=pairs)

    def comparable(self, candidate: Dataset) -> bool:
        """Tell whether columns can be compared, as far as groups go."""
        both = self.dataset, candidate
        if not any(map(is_grouped, both)):
            return True
        return all(map(has_units, both)) and all(limit.units is not None for limit in self.limits)

    def read(self, candidate: Tally) -> None:
        """Read what the columns of a candidate are held against, if there are any."""
        _ = self.of_reference if candidate.columns else None

    def check(self, candidate: Tally, level: float) -> tuple[ColumnCheck, ...]:
        """Hold every column of a candidate against its tolerance."""
        if not candidate.columns:
            return ()
        return check_columns(self.limits, self.of_reference, candidate.columns, level)

    @cached_property
    def pairs(self) -> RelationLimits | None:
        """How differently two columns may go together; None where that is not known."""
        if self._made.limits is not None:
            return self._made.pairs
        return made_pairs(self._tally, self._made.negligible, {}) if self.measures else None

    def check_pairs(
        self,
        candidate: Tally,
        level: float,
        like: Mapping[str, float],
        columns: Callable[[], Sequence[ColumnCheck]],
    ) -> tuple[PairCheck, ...]:
        """Hold every pair of columns of a candidate against its tolerance; none where that cannot be done.

        `columns` tells the columns by themselves: where moments in time are others, nothing is asked of them.
        """
        moments = {measure.name for measure in self.measures if measure.clock in ("local", "zoned")}
        alone = columns() if moments else ()
        unlike = moments & {each.measure.name for each in alone if each.pvalue < HOPELESS}
        mine = candidate.relations
        limits = None if mine is None else self.pairs  # for which the reference may have to be read
        if limits is None or mine is None:
            return ()
        known = self._shared and not has_units(self.dataset)
        reference = limits.reference if known else self._tally.relations
        return () if reference is None else check_relations(limits, reference, mine, level, like, unlike)

    def _changed_constants(self, candidate: Tally) -> dict[str, ChangedConstant]:
        """Return the columns of one value in the reference that have others in a candidate."""
        if not candidate.constants:
            return {}
        return changed_constants(self._constants, candidate.constants, self._made.constants)

    def facts(self, candidate: Tally, together: Together) -> tuple[Fact, ...]:
        """Return the facts about columns, those with one value in the reference too."""
        found = constant_facts(self._changed_constants(candidate))
        if not candidate.columns:
            return found
        before = {name: column.counts for name, column in self.of_reference.items()}
        return column_facts(self.measures, before, self._made.accepted, candidate.counts, together) + found

    @property
    def dataset(self) -> Dataset:
        """The reference, opened."""
        dataset: Dataset = self.reference.dataset
        return dataset

    @property
    def _encoding(self) -> Encoding:
        return self.tolerance.space.encoding

    @cached_property
    def _made(self) -> ColumnTolerances:
        return self.tolerance.column_tolerances or ColumnTolerances(Negligible())

    @property
    def _shared(self) -> bool:
        """Whether the limits of columns were made from the reference of these checks."""
        return self._made.limits is None or self.is_the_one

    @cached_property
    def _tally(self) -> Tally:
        """What the columns of the reference tell, where its limits do not."""
        return tally_columns(
            self.dataset,
            self.measures,
            self._encoding,
            constants=self._constant_columns,
            negligible=self._made.negligible,
            pairs=self._made.limits is None
            or (False if self._made.pairs is None else self._made.pairs.reference.columns),
        )

    @cached_property
    def _constant_columns(self) -> tuple[str, ...]:
        return constant_columns(self._encoding.left_out, self.dataset.names)

    @cached_property
    def _constants(self) -> Mapping[str, Constant]:
        if self._shared and self._made.limits is not None and not has_units(self.dataset):
            # The other columns need not be read again.
            found = tally_columns(self.dataset, (), self._encoding, constants=self._constant_columns)
            return found.constants
        return self._tally.constants
