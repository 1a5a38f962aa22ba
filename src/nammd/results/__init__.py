"""What all results have in common: words, numbers for people, and cautions."""

from nammd.errors.advice import Caution
from nammd.results.base import ConfidenceInterval, Limit, Mark, Reportable, Result, Shown, Tested, Tone, plain
from nammd.results.page import Cell, Page, Paged, Table, Track, text_cells
from nammd.results.scales import ScaleCheck, fractions, scale_in_words, times
from nammd.results.words import (
    NAMES,
    aligned,
    estimated,
    interval,
    number,
    p_value,
    probability,
    share,
    share_of,
    with_error,
)

__all__ = [
    "NAMES",
    "Caution",
    "Cell",
    "ConfidenceInterval",
    "Limit",
    "Mark",
    "Page",
    "Paged",
    "Reportable",
    "Result",
    "ScaleCheck",
    "Shown",
    "Table",
    "Tested",
    "Tone",
    "Track",
    "aligned",
    "estimated",
    "fractions",
    "interval",
    "number",
    "p_value",
    "plain",
    "probability",
    "scale_in_words",
    "share",
    "share_of",
    "text_cells",
    "times",
    "with_error",
]
