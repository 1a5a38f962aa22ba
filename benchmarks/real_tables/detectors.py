"""nammd and its peers, each with its defaults, all asked in the same way.

The peers know the reference only: there is no place in them for data that were accepted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

import nammd
from benchmarks.real_tables.batches import Setup
from benchmarks.real_tables.faults import ROWS as OF_ROWS
from benchmarks.real_tables.faults import labels
from benchmarks.real_tables.sources import Frame

ROWS = 2500
"""What the margin of nammd is set for, where it can be set for batches of a size."""


@dataclass(frozen=True)
class Answer:
    """What a detector says of a batch, which columns it names, its cautions, and whether it told of facts.

    Peers never say UNDECIDED, and have no cautions and facts.
    """

    decision: str
    columns: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    noticed: bool = False


Judge = Callable[[Frame], Answer]


@dataclass(frozen=True)
class Detector:
    """A name, the package that must be there, and how a judge of batches is made."""

    name: str
    package: str
    prepare: Callable[[Setup], Judge]

    def missing(self) -> str:
        """Return why it cannot be asked here; an empty text if it can."""
        return "" if find_spec(self.package) else f"{self.package} is not installed"


def by_nammd(setup: Setup) -> Judge:
    """Take the tolerance from the accepted data, for batches of some size, with all defaults."""
    made = nammd.Tolerance.from_reference(setup.reference, setup.accepted, rows=ROWS)
    gate = made.with_reference(setup.reference)

    def judge(batch: Frame) -> Answer:
        verdict = gate.check(batch)
        paired = [name for pair in verdict.details.pairs if pair.beyond for name in pair.names]
        facts = [fact.column or OF_ROWS for fact in verdict.failures]
        names = [each.name for each in verdict.details.beyond] + facts + paired
        codes = sorted({caution.code for caution in verdict.cautions})
        noticed = bool(verdict.details.column_facts())
        return Answer(verdict.decision.name, tuple(dict.fromkeys(names)), tuple(codes), noticed)

    return judge


def by_evidently(setup: Setup) -> Judge:
    """Take the preset for drift: the dataset has drifted if half of its columns have."""
    from evidently import Dataset, Report
    from evidently.presets import DataDriftPreset

    reference = Dataset.from_pandas(_plain(setup.reference, setup.reference))

    def judge(batch: Frame) -> Answer:
        current = Dataset.from_pandas(_plain(batch, setup.reference))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metrics = Report([DataDriftPreset()]).run(current, reference).dict()["metrics"]
        whole, *columns = metrics
        drifted = [
            metric["config"]["column"]
            for metric in columns
            if _beyond(metric["value"], metric["config"]["threshold"], metric["config"]["method"])
        ]
        far = whole["value"]["share"] >= whole["config"]["drift_share"]
        return Answer("FAR" if far else "CLOSE", tuple(drifted))

    return judge


def _beyond(value: float, threshold: float, method: str) -> bool:
    """Return whether a column has drifted: a p-value is small, a distance is large."""
    return bool(value < threshold) if "p_value" in method else bool(value >= threshold)


def by_alibi_detect(setup: Setup) -> Judge:
    """Take its detector for tables: Kolmogorov-Smirnov or chi-squared tests of all columns, by Bonferroni."""
    from alibi_detect.cd import TabularDrift

    names, text = list(setup.reference), labels(setup.reference)
    known = {name: {v: k for k, v in enumerate(setup.reference[name].dropna().unique())} for name in text}
    middle = {name: _numbers(setup.reference[name]).median() for name in names if name not in known}

    def coded(frame: Frame) -> Any:
        """Code labels, with one code for missing ones and one for new ones; gaps become the median."""
        columns = []
        for name in names:
            if name in known:
                codes = frame[name].map(known[name]).fillna(len(known[name]))
                columns.append(codes.where(frame[name].notna(), len(known[name]) + 1))
            else:
                columns.append(_numbers(frame[name]).fillna(middle[name]))
        return np.column_stack(columns).astype(float)

    kinds = {names.index(name): None for name in known}
    detector = TabularDrift(coded(setup.reference), p_val=0.05, categories_per_feature=kinds)

    def judge(batch: Frame) -> Answer:
        found = detector.predict(coded(batch))["data"]
        small = np.asarray(found["p_val"]) < found["threshold"]
        columns = tuple(name for name, beyond in zip(names, small, strict=True) if beyond)
        return Answer("FAR" if found["is_drift"] else "CLOSE", columns)

    return judge


def _numbers(column: Frame) -> Frame:
    """Return a column as numbers: times as days, text that never changes as missing."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return (column - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    return pd.to_numeric(column, errors="coerce").astype(float)


def _plain(frame: Frame, reference: Frame) -> Frame:
    """Return a table without what a peer cannot read: times become numbers."""
    changed = {name: _numbers(frame[name]) for name in reference.select_dtypes("datetime")}
    return frame.assign(**changed)


DETECTORS: tuple[Detector, ...] = (
    Detector("nammd", "nammd", by_nammd),
    Detector("evidently", "evidently", by_evidently),
    Detector("alibi-detect", "alibi_detect", by_alibi_detect),
)
"""nammd first."""
