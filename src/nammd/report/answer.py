"""The top of a report: the answer in words, the distance against the tolerance, and from which data."""

from __future__ import annotations

from nammd.report.model import Answer, Distance, DistanceInterval, FileRow
from nammd.results import NAMES, Reportable


def answer_of(result: Reportable) -> Answer:
    """Say what a result comes to."""
    cautions = tuple(sentence(str(caution)) for caution in result.cautions)
    return Answer(
        result.word,
        result.tone,
        sentence(result.answer()),
        result.advice(),
        cautions,
        reasons=result.column_reasons(),
        facts=result.column_facts(),
        files=files_of(result),
    )


def distance_of(result: Reportable) -> Distance:
    """Return the distance that a result is about, and what it is held against."""
    shown, limit = result.shown(), result.limit()
    return Distance(
        name=NAMES[result.estimate.metric],
        measured=DistanceInterval(shown.value, *shown.interval),
        level=shown.level,
        like=shown.like,
        standard_error=shown.standard_error,
        epsilon=limit.epsilon,
        limit=limit.name,
        epsilon_error=limit.error,
        pvalues=limit.pvalues,
        alpha=limit.alpha,
        marks=limit.marks,
        scales=result.scale_checks(),
    )


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def files_of(result: Reportable) -> tuple[FileRow, ...]:
    """Return where both datasets came from."""
    evidence = result.estimate.evidence
    rows = []
    for role, sample in zip(result.datasets, (evidence.x, evidence.y), strict=True):
        source = sample.dataset.source
        rows.append(
            FileRow(
                role=role,
                path="data in memory" if source is None else str(source.path),
                rows=sample.size,
                total=None if source is None else source.total_rows,
                digest=sample.digest[:16],
            )
        )
    return tuple(rows)
