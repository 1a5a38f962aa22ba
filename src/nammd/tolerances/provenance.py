"""Where a tolerance came from, so that it can be checked and made again."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from nammd.encoding import Encoding
from nammd.errors.advice import Caution
from nammd.tolerances.ladder import Rung

WORDS = {
    "hull": "what is negligible beside what was accepted",
    "reference": "the distance to data that were accepted",
    "noise": "a perturbation of the reference that counts as negligible",
    "split": "what no change looks like within the reference",
    "given": "a number that was given",
}


@dataclass(frozen=True)
class Origin:
    """The record of how a tolerance was made.

    Attributes
    ----------
    how : {"hull", "reference", "noise", "split", "given"}
        By which constructor.
    rows : int
        The number of rows of the reference.
    columns : tuple of (str, str)
        Names and kinds of the columns used.
    digest : str
        A SHA-256 digest of the encoded reference; empty where there is none.
    created : str
        When, in UTC.
    versions : tuple of (str, str)
        Of nammd, NumPy and Python.
    rungs : tuple of Rung
        The distances that epsilon was chosen from.
    chosen : str
        The label of the one that set it.
    equivalents : tuple of (str, float)
        Kinds and levels of perturbations of the reference that are about as far as epsilon.
    cautions : tuple of Caution
        What to know of a tolerance that was made all the same.
    batch : int
        How many rows candidates will have, where that was said; else zero.
    """

    how: str
    rows: int
    columns: tuple[tuple[str, str], ...]
    digest: str
    created: str
    versions: tuple[tuple[str, str], ...]
    rungs: tuple[Rung, ...]
    chosen: str
    equivalents: tuple[tuple[str, float], ...] = ()
    cautions: tuple[Caution, ...] = ()
    batch: int = 0

    @classmethod
    def now(
        cls,
        how: str,
        rows: int,
        encoding: Encoding,
        digest: str | None,
        rungs: tuple[Rung, ...],
        chosen: str,
    ) -> Origin:
        """Record the present moment."""
        from nammd import __version__

        return cls(
            how=how,
            rows=rows,
            columns=tuple((c.name, c.kind) for c in encoding.columns),
            digest=digest or "",
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=(
                ("nammd", __version__),
                ("numpy", np.__version__),
                ("python", platform.python_version()),
            ),
            rungs=rungs,
            chosen=chosen,
        )

    def rung_at(self, level: float, kind: str | None = None) -> Rung:
        """Return the rung of a level, by default of the kind that was chosen."""
        mine = next((r for r in self.rungs if r.label == self.chosen), None)
        wanted = kind or (mine.kind if mine else None)
        for rung in self.rungs:
            if rung.kind == wanted and rung.level == level:
                return rung
        known = sorted({r.level for r in self.rungs if r.kind == wanted and r.level is not None})
        raise ValueError(f"there is no rung at level {level}; the ladder has {known}")

    def sentence(self) -> str:
        """Say in a few words where epsilon came from."""
        which = f" ({self.chosen})" if self.chosen else ""
        return WORDS.get(self.how, self.how) + which
