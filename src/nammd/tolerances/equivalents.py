"""How far a tolerance is, in units that people know: values missing, noise, categories drawn anew."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from nammd.data.arrays import Array, FloatArray, take_rows, to_numpy
from nammd.encoding import Encoding
from nammd.tolerances.perturbation import KINDS, applies, perturbation

_ROWS = 1000
"""So many rows say well enough how large a perturbation is meant."""

_COPIES = 8

_LEVELS = {
    "missing": (0.01, 0.03, 0.1, 0.3, 0.9),
    "flips": (0.03, 0.1, 0.3, 0.9),
    "noise": (0.1, 0.3, 1.0, 3.0),
}

_WORDS = {
    "missing": "{} of all values missing",
    "flips": "{} of all categories drawn anew",
    "noise": "noise of {} standard deviations",
}


def equivalents(
    x: Array,
    encoding: Encoding,
    distances: Callable[[FloatArray, Sequence[FloatArray]], Sequence[float]],
    epsilon: float,
) -> tuple[tuple[str, float], ...]:
    """Return which level of each perturbation of some points is about as far as epsilon.

    `distances` returns those of points to several copies of them; it is called once. Between two levels the
    distance is taken for a power of the level; beyond the last one nothing is said, unless values are
    missing: then all of them are.
    """
    generator = np.random.default_rng(0)
    x = _some(x, generator)
    kinds = [kind for kind in reversed(KINDS) if any(applies(kind, c) for c in encoding.columns)]
    steps = [(kind, level) for kind in kinds for level in _LEVELS[kind]]
    perturbed = {kind: perturbation(x, encoding, kind) for kind in kinds}
    values = distances(x, [perturbed[kind](level, generator) for kind, level in steps])
    found = []
    for kind in kinds:
        own = [value for (each, _), value in zip(steps, values, strict=True) if each == kind]
        level = _level_at(epsilon, _LEVELS[kind], own)
        if level is None and kind == "missing" and epsilon > max(own):
            level = 1.0
        if level is not None:
            found.append((kind, level))
    return tuple(found)


def perturbed_copies(
    x: Array, encoding: Encoding, kind: str, level: float
) -> tuple[FloatArray, list[FloatArray]]:
    """Return some points, and perturbed copies of them."""
    generator = np.random.default_rng(0)
    x = _some(x, generator)
    # Small perturbations are drawn several times: one of them alone may by chance be next to nothing.
    perturbed = perturbation(x, encoding, kind)
    return x, [perturbed(level, generator) for _ in range(_COPIES)]


def _some(x: Array, generator: np.random.Generator) -> FloatArray:
    """Return some rows of an array, in NumPy."""
    size = int(x.shape[0])
    if size > _ROWS:
        x = take_rows(x, np.sort(generator.choice(size, _ROWS, replace=False)))
    return to_numpy(x)


def in_words(levels: tuple[tuple[str, float], ...]) -> str:
    """Say it in a few words.

    >>> in_words((("missing", 0.0312), ("noise", 0.2)))
    '3 % of all values missing, or noise of 0.2 standard deviations'
    >>> in_words((("missing", 0.0999),))
    '10 % of all values missing'
    """
    return ", or ".join(_WORDS[kind].format(_rounded(kind, level)) for kind, level in levels)


def _rounded(kind: str, level: float) -> str:
    if kind == "noise":
        return f"{level:.1g}" if level < 1 else f"{level:.2g}"
    share = 100 * level
    return f"{share:.1g} %" if share < 9.5 else f"{share:.0f} %"


def _level_at(epsilon: float, levels: tuple[float, ...], distances: list[float]) -> float | None:
    known = [(level, value) for level, value in zip(levels, distances, strict=True) if value > 0]
    if len(known) < 2 or epsilon > known[-1][1]:
        return None
    upper = next(k for k, (_, value) in enumerate(known) if value >= epsilon)
    (one, low), (two, high) = known[max(upper - 1, 0)], known[max(upper, 1)]
    if not high > low:
        return None
    slope = math.log(two / one) / math.log(high / low)
    return float(one * (epsilon / low) ** slope)
