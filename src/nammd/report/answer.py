"""The top of a report: the answer in words, and the distance against the tolerance."""

from __future__ import annotations

from nammd.report.files import files_of
from nammd.report.model import Answer, Distance, DistanceInterval
from nammd.results import NAMES, Reportable


def answer_of(result: Reportable) -> Answer:
    """Say what a result comes to."""
    cautions = tuple(sentence(str(caution)) for caution in result.cautions())
    return Answer(
        result.word,
        result.tone,
        sentence(result.answer()),
        result.advice(),
        cautions,
        reasons=result.column_reasons(),
        alerts=result.column_alerts(),
        files=files_of(result),
    )


def distance_of(result: Reportable) -> Distance:
    """Return the distance that a result is about, and what it is held against."""
    estimate, limit = result.measured, result.limit()
    low, high = estimate.confidence_interval(0.95)
    return Distance(
        name=NAMES[estimate.statistic],
        measured=DistanceInterval(estimate.value, low, high),
        standard_error=estimate.standard_error,
        epsilon=limit.epsilon,
        limit=limit.name,
        epsilon_error=limit.error,
        pvalues=limit.pvalues,
        alpha=limit.alpha,
        marks=limit.marks,
    )


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."
