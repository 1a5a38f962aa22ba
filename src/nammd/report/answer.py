"""The top of a report: the answer in words, and the distance against the tolerance."""

from __future__ import annotations

from typing import Any

from nammd.questions.closeness import ClosenessResult
from nammd.questions.distance import NAMES
from nammd.report.model import Answer, Distance, Measured, Tone
from nammd.report.source import estimate_in
from nammd.tolerances.verdict import Decision, Verdict

_TONES: dict[Decision, Tone] = {
    Decision.CLOSE: "close",
    Decision.FAR: "far",
    Decision.UNDECIDED: "undecided",
}


def answer_of(result: Any) -> Answer:
    """Say what a result comes to."""
    cautions = tuple(sentence(str(caution)) for caution in result.cautions())
    if isinstance(result, Verdict):
        word = result.decision.value
        said = result.headline().removeprefix(f"{word}: ")
        return Answer(word, _TONES[result.decision], sentence(said), result.advice(), cautions)
    if isinstance(result, ClosenessResult):
        word, tone = _tested(result)
        return Answer(word, tone, result.headline(), _next_step(result), cautions)
    return Answer("", "neutral", estimate_in(result).headline(), "", cautions)


def distance_of(result: Any) -> Distance:
    """Return the distance that a result is about, and the tolerance it is held against."""
    estimate = estimate_in(result)
    low, high = estimate.confidence_interval(0.95)
    epsilon, error, alpha = None, 0.0, 0.05
    pvalues: tuple[tuple[str, float], ...] = ()
    if isinstance(result, Verdict):
        epsilon, error, alpha = result.epsilon, result.epsilon_error, result.alpha
        pvalues = (
            ("within tolerance", result.pvalue_close),
            ("beyond tolerance", result.pvalue_far),
        )
    elif isinstance(result, ClosenessResult):
        epsilon, alpha = result.epsilon, result.alpha
        side = "beyond" if result.alternative == "greater" else "within"
        pvalues = ((f"{side} margin", result.pvalue),)
    return Distance(
        name=NAMES[estimate.statistic],
        measured=Measured(estimate.value, low, high),
        standard_error=estimate.standard_error,
        epsilon=epsilon,
        limit="margin" if isinstance(result, ClosenessResult) else "tolerance",
        epsilon_error=error,
        pvalues=pvalues,
        alpha=alpha,
    )


def title_of(result: Any) -> str:
    """Return the question that a result answers."""
    if isinstance(result, Verdict):
        return "Is the candidate close enough to the reference?"
    if isinstance(result, ClosenessResult):
        word = "farther apart" if result.alternative == "greater" else "closer"
        return f"Are the two datasets {word} than the margin?"
    return "How far apart are the two datasets?"


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def _tested(result: ClosenessResult) -> tuple[str, Tone]:
    if not result.rejected:  # one test only: its failure says nothing about the other side
        return "NOT PROVEN", "undecided"
    return ("FAR", "far") if result.alternative == "greater" else ("CLOSE", "close")


def _next_step(result: ClosenessResult) -> str:
    if result.rejected:
        return "Look at where they differ." if result.alternative == "greater" else ""
    other = "less" if result.alternative == "greater" else "greater"
    return f'More rows may settle it; alternative="{other}" asks the opposite question.'
