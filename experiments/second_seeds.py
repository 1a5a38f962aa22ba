"""The runs with another seed beside those with the experiments' own: how far every figure moved."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.appendix import Sections
from experiments.experiment import Experiment
from experiments.results import Mode, Results, load
from experiments.section import table
from experiments.summary import error_of, joined_mean, mean, rate

SECOND_SEED = 2
"""The seed of the runs that are compared with those of the experiments' own seeds."""

_PARTS = {"run", "chunk", "count"}
"""What tells cells apart that are parts of one figure."""

Place = tuple[str, ...]


def seeds_table(sections: Sections, folder: Path) -> str:
    """Return the part of the page about runs with another seed; full ones where both are there."""
    rows = [row for e, _, _ in sections if (row := _row(e, folder))]
    if not rows:
        return ""
    return (
        f"## With another seed\n\nWhat is drawn at random, drawn anew with the seed {SECOND_SEED}: how many "
        "rates and means are within two joint standard errors of those with the experiment's own seed (95 % "
        "are expected), the largest difference, and how many comparisons come out as the paper says, with "
        "either seed. Runs on several pairs are taken together, and the error counts how these differ. A "
        "short run of a closeness test has one pair of each kind, and every seed makes others: there the "
        "error within a pair is too small.\n\n"
        + table(
            ["experiment", "runs", "figures", "within two errors", "largest", "claim", "with the other seed"],
            rows,
        )
    )


def _row(experiment: Experiment[Any], folder: Path) -> list[str]:
    """Return the row of an experiment; an empty one where it was not run with both seeds."""
    modes: tuple[tuple[Mode, str], ...] = (("full", "full"), ("quick", "short"))
    for mode, words in modes:
        own, other = load(experiment, mode, folder), load(experiment, mode, folder, SECOND_SEED)
        if own is None or other is None:
            continue
        one, two = figures(own), figures(other)
        scores = [
            abs(one[place]["mean"] - two[place]["mean"]) / error
            for place in one.keys() & two.keys()
            if (error := math.hypot(error_of(one[place]), error_of(two[place]))) > 0
        ]
        if scores:
            within = sum(score <= 2 for score in scores) / len(scores)
            claims = [_claim(experiment, results) for results in (own, other)]
            return [experiment.title, words, str(len(scores)), f"{within:.0%}", f"{max(scores):.1f}", *claims]
    return []


def _claim(experiment: Experiment[Any], results: Results[Any]) -> str:
    """Return how many comparisons come out as the paper says."""
    claim = experiment.section(results).claim
    return "–" if claim is None or not claim.comparisons else f"{claim.came_out} of {len(claim.comparisons)}"


def figures(results: Results[Any]) -> dict[Place, Mapping[str, Any]]:
    """Return every mean and rate of a result file by its place, with all runs and chunks taken together."""
    parts: dict[Place, list[Mapping[str, Any]]] = defaultdict(list)
    runs = getattr(results.settings, "runs", None)
    for done in results.cells:
        where = tuple(f"{name} {value}" for name, value in done.cell.items() if name not in _PARTS)
        for place, figure in _found(done.values, runs):
            parts[where + place].append(figure)
    return {place: every[0] if len(every) == 1 else joined_mean(every) for place, every in parts.items()}


def _found(value: Any, runs: int | None, place: Place = ()) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Yield the figures in a value, and where each is: those of all runs at one place."""
    if isinstance(value, Mapping):
        if {"mean", "se"} <= set(value):
            yield place, value
        elif place[-1:] == ("hits",):
            for name, hits in value.items():
                for part in np.array_split([hit == "1" for hit in hits], runs or 1):
                    yield (*place, name), rate(part)
        else:
            for name, each in value.items():
                yield from _found(each, runs, (*place, str(name)))
    elif place[-1:] == ("pvalues",):
        yield place, mean(value)
    elif isinstance(value, list):
        for k, each in enumerate(value):
            yield from _found(each, runs, place if len(value) == runs else (*place, str(k)))
