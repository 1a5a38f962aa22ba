"""What all results have in common: words, numbers for people, and cautions."""

from nammd.data.advice import Caution
from nammd.results.base import Limit, Mark, Reportable, Result, Tone, plain
from nammd.results.words import NAMES, interval, number, p_value, probability, share, share_of, with_error

__all__ = [
    "NAMES",
    "Caution",
    "Limit",
    "Mark",
    "Reportable",
    "Result",
    "Tone",
    "interval",
    "number",
    "p_value",
    "plain",
    "probability",
    "share",
    "share_of",
    "with_error",
]
