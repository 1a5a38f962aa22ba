"""P-values of several tests, adjusted for their number."""

from __future__ import annotations


def holm(pvalues: list[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down method; NaN counts as 1."""
    known = [1.0 if p != p else p for p in pvalues]
    adjusted, running = [0.0] * len(known), 0.0
    for step, index in enumerate(sorted(range(len(known)), key=known.__getitem__)):
        running = max(running, min(1.0, (len(known) - step) * known[index]))
        adjusted[index] = running
    return adjusted
