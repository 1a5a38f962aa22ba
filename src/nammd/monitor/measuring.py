"""From a batch to what its history keeps of it."""

from __future__ import annotations

import datetime
import hashlib
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nammd.data.arrays import digest_of
from nammd.data.opening import open_content, open_dataset
from nammd.monitor.batch import Against, Batch, Details, Moved
from nammd.monitor.pooling import sketched, sums_of
from nammd.monitor.records import Era
from nammd.monitor.storage import source_name, source_path
from nammd.sketches import Sketch
from nammd.sketches import file as sketch_file
from nammd.statistics.stream import GivenReference
from nammd.tolerances.gate import Candidate, Gate
from nammd.tolerances.verdict import Verdict

FACTS = 10
"""So many facts are kept of a batch."""

OF_FACTS = 0.2
"""Facts that are a matter of degree have this part of the level of a batch; its views share the rest."""

TESTED = 4
"""So many facts of a column may be: missing values, two ends of its range or new categories, a pile-up."""

COLUMNS = 20
"""Of so many columns it is kept how far they moved."""


@dataclass(frozen=True)
class OpenedBatch:
    """A batch that has been opened.

    Attributes
    ----------
    candidate : Candidate
        The batch, ready for a check; where the reference is a sketch, a sketch.
    digest : str
        Of its rows as points, in their order; of a sketch, of its sums.
    source, path : str
        The name of its file, and where that is; empty where it was data in memory, or at an address.
    """

    candidate: Candidate
    digest: str
    source: str
    path: str


def open_batch(gate: Gate, data: Any, key: str) -> OpenedBatch:
    """Open a batch; rows are sketched where the reference is a sketch."""
    space = gate.tolerance.space
    dataset = open_dataset(data, f"the batch {key}", reading=space.encoding.for_files)
    source, path = source_name(dataset, otherwise=""), source_path(dataset)
    if not gate.reference.keeps_rows and dataset.keeps_rows:
        like: Sketch = gate.reference.sketch  # type: ignore[attr-defined]
        sketch = sketched(gate, dataset, like.features, like.kept_scales)
        dataset = open_content(sketch, f"the batch {key}")
    candidate = gate.candidate(dataset, digest=True)
    if dataset.keeps_rows:
        digest = digest_of(space.encoding.points(candidate.sample.dataset))
    else:
        digest = sums_digest(candidate.sample.sketch)
    return OpenedBatch(candidate, digest, source, path)


def sums_digest(sketch: Sketch) -> str:
    """Return a digest of the sums of a sketch."""
    found = hashlib.sha256(f"{sketch.n} {sketch.features!r} {sketch.encoding}".encode())
    for sums in (sketch.total, sketch.products):
        found.update(np.ascontiguousarray(sums, dtype="<f8").tobytes())
    return found.hexdigest()


@dataclass(frozen=True)
class MeasuredBatch:
    """What was found of a batch."""

    batch: Batch
    verdict: Verdict
    sums: bytes

    def with_report(self, path: Path, beside: Path) -> MeasuredBatch:
        """Note where the page about the batch is, as seen from the file of the history."""
        try:
            where = os.path.relpath(path.resolve(), beside.resolve().parent)
        except ValueError:  # on another drive
            where = str(path.resolve())
        return replace(self, batch=replace(self.batch, report=Path(where).as_posix()))


def measure(gate: Gate, opened: OpenedBatch, key: str, era: Era, level: float) -> MeasuredBatch:
    """Check a batch, and keep what the stream needs of it."""
    from nammd import __version__

    tests = TESTED * len(gate.tolerance.space.encoding.columns) + 1
    rules = replace(gate.tolerance.fact_rules, level=OF_FACTS * level / tests)
    verdict = gate.verdict(opened.candidate, (1 - OF_FACTS) * level, rules=rules)
    # Each batch at its own nearest mixture: never farther than from the true one, so the stream stays honest.
    pair, eps = verdict.details.nearest.pair, gate.tolerance.epsilon
    tested = verdict.details.nearest.margin_test(eps, "greater")
    given = GivenReference.of(pair, eps)
    bets = gate.bets(opened.candidate, verdict)
    batch = Batch(
        key=key,
        number=0,  # it gets one when it is stored
        era=era.number,
        digest=opened.digest,
        added=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        source=opened.source,
        m=verdict.estimate.m,
        n=verdict.estimate.n,
        epsilon=eps,
        u=given.u,
        deviation=tested.deviation,
        share=tested.share,
        given=given.deviation,
        # A tolerance that was measured has an error too, which is the same for every batch.
        reference=math.hypot(given.reference, gate.tolerance.epsilon_error * pair.scale),
        features=given.features,
        error=given.error,
        distance=verdict.distance,
        low=verdict.details.interval[0],
        high=verdict.details.interval[1],
        pvalue_close=verdict.pvalue_close,
        pvalue_far=verdict.pvalue_far,
        pvalue_beyond=min(verdict.details.pvalue_beyond / (1 - OF_FACTS), 1.0),
        pvalue_doubt=_doubt(verdict),
        bets=() if bets is None else tuple(bets.tolist()),
        failures=_against(verdict, tests),
        details=Details(
            facts=_facts(verdict),
            cautions=tuple((c.code, c.message) for c in verdict.cautions),
            columns=_moved(verdict),
            settings={
                "engine": verdict.details.engine,
                "nammd": __version__,
                "like": dict(verdict.details.like),
                "interval_level": verdict.details.interval_level,
                "path": opened.path,
                "fine": _fine(verdict),
            },
        ),
    )
    sums = sums_of(gate, opened.candidate.sample.dataset)
    return MeasuredBatch(batch, verdict, b"" if sums is None else sketch_file.dumps(sums))


def _against(verdict: Verdict, tests: int) -> tuple[Against, ...]:
    """Return the facts against a batch, with p-values for so many tests, in their part of the level.

    What is new in kind comes first, and then what is surest. Those that are not proven are among them: the
    level is another one where batches come late, and earlier ones are tested first.
    """
    rules = verdict.details.fact_rules.counting()
    failing = sorted((fact for fact in verdict.facts if rules.fails(fact)), key=lambda fact: -fact.share)
    found = [
        Against(fact.kind, str(fact), min(rules.pvalue(fact) * tests / OF_FACTS, 1.0)) for fact in failing
    ]
    return tuple(sorted(found, key=lambda fact: fact.pvalue)[:FACTS])


def _facts(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    told = [fact for fact in verdict.facts if fact.chance != "likely"]
    return tuple((fact.code, str(fact)) for fact in told[:FACTS])


def _doubt(verdict: Verdict) -> float:
    """Return the smallest p-value of any view, as if it were the only one; zero next to another reference."""
    found = [verdict.pvalue_far]
    if verdict.details.judged:
        found += [each.pvalue for each in verdict.details.columns] + [
            each.adjusted for each in verdict.details.pairs
        ]
    known = [each for each in found if not math.isnan(each)]
    return 0.0 if verdict.details.other_reference else min(known, default=math.nan)


def _fine(verdict: Verdict) -> str:
    """Say that all columns together are beyond at a finer scale only: the distance does not show that."""
    fine = verdict.details.finest_beyond if verdict.details.jointly_far else None
    return "" if fine is None else f"all columns together: {fine.told}"


def _moved(verdict: Verdict) -> tuple[Moved, ...]:
    """Return the columns that are farthest from where they should be, over their own tolerances.

    Pairs of columns are among them where they are proven to go together differently.
    """
    pairs = [Moved(each.name, each.words(), each.ratio) for each in verdict.details.pairs_beyond]
    changes = verdict.details.changes
    columns = [
        Moved(each.name, changes.get(each.name, ""), float(each.ratio)) for each in verdict.details.columns
    ]
    return tuple(sorted((*pairs, *columns), key=lambda each: -each.ratio)[:COLUMNS])
