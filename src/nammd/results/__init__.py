"""What all results have in common: words, numbers for people, and cautions."""

from nammd.results.base import (
    Caution,
    Reportable,
    Result,
    interval,
    number,
    p_value,
    plain,
    probability,
)

__all__ = ["Caution", "Reportable", "Result", "interval", "number", "p_value", "plain", "probability"]
