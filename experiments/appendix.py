"""The appendices of the pages: for every experiment what was done, its tables, and its settings."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, TypeAlias

from experiments.experiment import Experiment
from experiments.results import Results, path_of
from experiments.section import Section

Sections: TypeAlias = list[tuple[Experiment[Any], Results[Any], Section]]

HOW = (
    "Every number comes from a result file in `experiments/results`, which records its settings, its seed "
    "and digests of the code used. `python -m experiments page` writes this page from the files, and refuses "
    "if the code has changed since. The number after ± is a standard error; for a rate of 0 or 1 it is that "
    "of half a case."
)


def appendix(title: str, intro: str, sections: Sections) -> str:
    """Return the page of tables of some experiments."""
    parts = [f"# {title}\n", f"{intro}\n"]
    return "\n".join(parts + [_section(*part) for part in sections])


def link(page: str, experiment: Experiment[Any]) -> str:
    """Return the address of an experiment in the appendix of a page."""
    return f"{page}-tables.md#{slug(experiment.title)}"


def slug(heading: str) -> str:
    """Return the anchor that a heading gets, here and where the files themselves are shown."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _section(experiment: Experiment[Any], results: Results[Any], section: Section) -> str:
    parts = [f"## {experiment.title}\n", section.body.strip() + "\n"]
    parts += [f"{note}\n" for note in section.notes]
    if section.claim is not None and section.claim.comparisons:
        parts.append(_comparisons(section))
    parts.append(f"{_settings(experiment, results)}\n")
    return "\n".join(parts)


def _comparisons(section: Section) -> str:
    """List the comparisons that did not come out as the paper says."""
    claim = section.claim
    assert claim is not None
    told = f"*Paper:* {claim.says} {claim.came_out} of {len(claim.comparisons)} comparisons come out so"
    against = [f"{one.what} ({one.why})" if one.why else one.what for one in claim.against]
    return f"{told}; not: {'; '.join(against)}.\n" if against else f"{told}.\n"


def _settings(experiment: Experiment[Any], results: Results[Any]) -> str:
    settings = ", ".join(
        f"{field.name.replace('_', ' ')} {_short(getattr(results.settings, field.name))}"
        for field in dataclasses.fields(results.settings)
    )
    where = "" if results.device == "cpu" else f", on {results.device}"
    return (
        f"<small>`experiments/results/{path_of(experiment.name, results.mode).name}`: {settings}, seed "
        f"{results.seed}, nammd {results.nammd}{where}.</small>"
    )


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "/".join(_short(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
