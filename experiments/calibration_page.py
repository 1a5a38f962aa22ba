"""The page on calibration: what was found, with figures; the tables are in its appendix."""

from __future__ import annotations

from typing import Any

from experiments.appendix import Sections, link
from experiments.results import Results

_INTRO = (
    "How often the tests reject and the intervals cover where the truth is known: laws whose distance has a "
    "closed form, so that each error can be counted. The paper has no such study. A test of level 0.05 "
    "should reject in 5 % of the samples at its margin, and an interval of 95 % should cover in 95 %. Every "
    "finding links to its tables, which say what was done; [the appendix](calibration-tables.md) has all."
)


def calibration_page(sections: Sections) -> str:
    """Return the page."""
    parts = ["# Calibration\n", f"{_INTRO}\n"]
    for experiment, results, section in sections:
        parts.append(f"(experiment-{experiment.name})=\n\n## {experiment.title}\n")
        where = f"[Tables]({link('calibration', experiment)}), {_repetitions(results)}."
        parts.append(f"{section.short or section.sentence} {where}\n")
        for picture in section.pictures:
            parts.append(f"![{experiment.title}]({picture.path})\n\n*{picture.caption}*\n")
    return "\n".join(parts)


def _repetitions(results: Results[Any]) -> str:
    return f"{results.settings.repetitions} repetitions"
