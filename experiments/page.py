"""Write the pages of the documentation and their figures from the result files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from experiments.experiment import Experiment
from experiments.figures import svg
from experiments.registry import experiments
from experiments.results import FOLDER, Results, best
from experiments.section import Section, table
from nammd.data.writing import write_bytes

DOCS = Path(__file__).resolve().parent.parent / "docs"

_TITLES = {"paper": "The paper's experiments, rerun", "calibration": "Calibration"}

_INTRODUCTIONS = {
    "paper": (
        "Every table and figure of the NAMMD paper, computed again with nammd: the paper's numbers, ours, "
        "and how well they agree. Labels such as `fig:var` are those of the paper's LaTeX source. A printed "
        "number counts as reproduced within two *joint* standard errors: ours and that of the print "
        "together. That of the print is its ± (the captions call it a standard deviation, but it is the "
        "standard error over ten runs) or, where none is printed, ours with the paper's number of "
        "repetitions."
    ),
    "calibration": (
        "How often the tests reject and the intervals cover where the truth is known: level, coverage and "
        "power over many laws, sizes and margins; what the two-sample tests cost and detect; and what "
        "becomes of the level where the bandwidth is that of the tested rows, or sketches stand for the "
        "rows. The paper has no such study."
    ),
}

_HOW = (
    "Every number on this page comes from a result file in `experiments/results`, which a command wrote "
    "together with its settings and the seed of its generators; `python -m experiments page` makes the page "
    "from the files. *Quick* results take seconds; *full* ones replace them where there are some. What "
    "follows a ± is a standard error. A rate of 0 or 1 is given the error that half a case "
    "would make."
)


def pages(folder: Path = FOLDER) -> dict[str, bytes]:
    """Return every file of the pages by its path below the documentation's folder."""
    files: dict[str, bytes] = {}
    for page in ("paper", "calibration"):
        found = [(e, best(e, folder)) for e in experiments().values() if e.page == page]
        sections = [(e, results, e.section(results)) for e, results in found if results is not None]
        if not sections:
            continue
        files[f"{page}.md"] = _page(page, sections).encode()
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


def _page(page: str, sections: list[tuple[Experiment[Any], Results[Any], Section]]) -> str:
    parts = [f"# {_TITLES[page]}\n", f"{_INTRODUCTIONS[page]}\n\n{_HOW}\n"]
    parts.append("## Overview\n\n" + _overview(page, sections))
    if any(section.corrections for _, _, section in sections):
        parts.append(_corrections(sections))
    parts += [_section(e, r, s) for e, r, s in sections]
    return "\n".join(parts)


def _overview(page: str, sections: list[tuple[Experiment[Any], Results[Any], Section]]) -> str:
    links = [f"[{e.title}](#experiment-{e.name})" for e, _, _ in sections]
    if page == "calibration":  # there is nothing printed to agree with
        return table(
            ["experiment", "settings"],
            [[link, r.mode] for link, (_, r, _) in zip(links, sections, strict=True)],
        )
    rows = [
        [link, ", ".join(f"`{label}`" for label in e.labels), s.agreement, r.mode]
        for link, (e, r, s) in zip(links, sections, strict=True)
    ]
    return table(["experiment", "of the paper", "agreement", "settings"], rows)


def _corrections(sections: list[tuple[Experiment[Any], Results[Any], Section]]) -> str:
    lines = [
        f"- {text} ([more](#experiment-{e.name}))"
        for e, _, section in sections
        for text in section.corrections
    ]
    return (
        "## Where the paper's text is off\n\n"
        "Found while computing it again; every number below is computed.\n\n" + "\n".join(lines) + "\n"
    )


def _section(experiment: Experiment[Any], results: Results[Any], section: Section) -> str:
    parts = [f"(experiment-{experiment.name})=\n\n## {experiment.title}\n", section.body.strip() + "\n"]
    for picture in section.pictures:
        parts.append(f"![{picture.caption}]({picture.path})\n\n*{picture.caption}*\n")
    short = f"Agreement: {section.agreement}" if experiment.page == "paper" else "In short"
    parts.append(f"**{short}.** {section.sentence}\n")
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
        f"<small>`experiments/results/{experiment.name}{ending}.json`: {results.mode} settings "
        f"({settings}), seed {results.seed}, nammd {results.nammd}{where}.</small>"
    )


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "/".join(_short(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
