"""Write the pages of the documentation and their figures from the result files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from experiments.experiment import Experiment
from experiments.figures import svg
from experiments.paper_page import Sections, paper_page
from experiments.registry import experiments
from experiments.results import FOLDER, Results, best
from experiments.section import Section, table
from nammd.errors.writing import write_bytes

DOCS = Path(__file__).resolve().parent.parent / "docs"

_TITLE = "Calibration"

_CALIBRATION = (
    "How often the tests reject and the intervals cover where the truth is known: level, coverage and "
    "power over many laws, sizes and margins; what the two-sample tests cost and detect; and what "
    "becomes of the level where the bandwidth is that of the tested rows, or sketches stand for the "
    "rows. The paper has no such study."
)

_HOW = (
    "Every number on this page comes from a result file in `experiments/results`, which a command wrote "
    "together with its settings and the seed of its generators; `python -m experiments page` makes the page "
    "from the files. What follows a ± is a standard error. A rate of 0 or 1 is given the error that half a "
    "case would make."
)


def pages(folder: Path = FOLDER) -> dict[str, bytes]:
    """Return every file of the pages by its path below the documentation's folder."""
    files: dict[str, bytes] = {}
    for page in ("paper", "calibration"):
        found = [(e, best(e, folder)) for e in experiments().values() if e.page == page]
        sections = [(e, results, e.section(results)) for e, results in found if results is not None]
        if not sections:
            continue
        files[f"{page}.md"] = _page(page, sections, folder).encode()
        for _, _, section in sections:
            for picture in section.pictures:
                files[picture.path] = svg(picture)
            for name, text in section.tables.items():
                files[f"tables/{name}"] = text.encode()
    return files


def write(folder: Path = FOLDER, docs: Path = DOCS) -> list[Path]:
    """Write the pages; return the files that changed."""
    changed = []
    for name, content in pages(folder).items():
        path = docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            write_bytes(path, content)
            changed.append(path)
    return changed


def _page(page: str, sections: Sections, folder: Path) -> str:
    if page == "paper":
        return paper_page(sections, folder)
    parts = [f"# {_TITLE}\n", f"{_CALIBRATION}\n\n{_HOW}\n"]
    links = [[f"[{e.title}](#experiment-{e.name})", _repetitions(r)] for e, r, _ in sections]
    parts.append("## Overview\n\n" + table(["experiment", "repetitions"], links))
    parts += [_section(e, r, s) for e, r, s in sections]
    return "\n".join(parts)


def _repetitions(results: Results[Any]) -> str:
    return str(results.settings.repetitions)


def _section(experiment: Experiment[Any], results: Results[Any], section: Section) -> str:
    parts = [f"(experiment-{experiment.name})=\n\n## {experiment.title}\n", section.body.strip() + "\n"]
    for picture in section.pictures:
        parts.append(f"![{picture.caption}]({picture.path})\n\n*{picture.caption}*\n")
    parts.append(f"**In short.** {section.sentence}\n")
    parts += [f"{note}\n" for note in section.notes]
    parts.append(f"{_settings(experiment, results)}\n")
    return "\n".join(parts)


def _settings(experiment: Experiment[Any], results: Results[Any]) -> str:
    settings = ", ".join(
        f"{field.name.replace('_', ' ')} {_short(getattr(results.settings, field.name))}"
        for field in dataclasses.fields(results.settings)
    )
    ending = "" if results.mode == "quick" else ".full"
    where = "" if results.device == "cpu" else f", on {results.device}"
    return (
        f"<small>`experiments/results/{experiment.name}{ending}.json`: {settings}, seed {results.seed}, "
        f"nammd {results.nammd}{where}.</small>"
    )


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "/".join(_short(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
