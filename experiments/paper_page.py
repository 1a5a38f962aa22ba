"""The page on the paper: what holds, what does not, what could not be tested, and the details in folds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from experiments.experiment import Experiment
from experiments.overview import PROTOCOLS, claim, protocol, repetitions
from experiments.paper.benchmark_data import STAND_INS
from experiments.paper.reference_pairs import EXPLAINED
from experiments.results import Results, load
from experiments.rule import numbers, verdict
from experiments.section import Correction, Section, table
from experiments.summary import error_of

Sections: TypeAlias = list[tuple[Experiment[Any], Results[Any], Section]]

SECOND_SEED = 2
"""The seed of the runs that the last table compares with those of the experiments' own seeds."""

_RANKS = {
    "fundamental": "Fundamental",
    "tables": "Tables and figures",
    "typos": "Typos and slips",
}

_OUT = (
    "ImageNet and its variants, the DCGAN digits, CIFAR-10.1 and the adversarial images are not at hand: "
    "their tables and figures were run on other data, without a verdict. `python -m experiments` takes the "
    "originals where a data folder has them."
)

_RULE = (
    "One rule for all. *Numbers*: how many printed ones are within two joint standard errors of ours (a "
    "printed ± is one, over ten runs; where none is printed, ours with the paper's repetitions), then a χ² "
    "and a sign test of all. Only numbers of one protocol on the same data are compared. *Claim*: it holds "
    "where every comparison that bears on it comes out so, in part where some do; no verdict on other data."
)

_HOW = (
    "Every number comes from a result file in `experiments/results` with its settings and seed; `python -m "
    "experiments page` makes the page. After a ± stands a standard error; a rate of 0 or 1 has that of half "
    "a case."
)

_STANDING_IN = (
    "The paper's questions, asked of data that stand in for its own. The kernel is Gaussian, with the median "
    "distance within the source for its bandwidth, where the paper's is a deep one."
)

_LEFT_OUT = (
    "Not as the paper did it: `TAB:same_mmd` by the authors' protocol for blob alone, whose sizes are known; "
    "`TAB:diff_mmd` with the penalty in one run of 50 samples, for want of machine time; ME_MaBiD on coarse "
    "images; AutoTST without AutoGluon; 7500 rows of higgs."
)


def paper_page(sections: Sections, folder: Path) -> str:
    """Return the page."""
    by_name = {e.name: section for e, _, section in sections}
    parts = [f"# The paper's experiments, rerun\n\n{first_screen(by_name)}"]
    parts.append(f"## Overview\n\n{_RULE}\n\n{_overview(sections)}\n{_LEFT_OUT}\n")
    parts.append(_corrections(sections))
    own = [part for part in sections if PROTOCOLS[part[0].name].kind != "stand-in data"]
    other = [part for part in sections if part not in own]
    parts.append(f"## In detail\n\n{_HOW} {STAND_INS}\n")
    parts += [_section(*part, level=3) for part in own]
    if other:
        parts.append(f"## On other data\n\n{_STANDING_IN} {EXPLAINED}\n")
        parts += [_section(*part, level=3) for part in other]
    parts.append(_seeds(sections, folder))
    return compact("\n".join(parts))


def first_screen(by_name: Mapping[str, Section]) -> str:
    """Return the first lines: what does not hold, what does, what could not be tested; under 300 words."""
    short = {name: section.short for name, section in by_name.items() if section.short}
    lines = []
    if "bounds" in short:
        lines.append(f"**What matters most:** {short['bounds']}.")
    wrong = [short[name] for name in ("learned_kernels",) if name in short]
    judged = {name: claim(name, section) for name, section in by_name.items()}
    counts = {
        verdict: sum(v == verdict for v in judged.values()) for verdict in dict.fromkeys(judged.values())
    }
    if wrong:
        lines.append(f"**What does not hold:** {'; '.join(wrong)}. The overview has the rest.")
    right = "**What holds:** "
    right += ", ".join(f"{counts[v]} {words}" for v, words in _COUNTED.items())
    if "same_kernel" in by_name and verdict(by_name["same_kernel"].claim) != "does not hold":
        right += ". In closeness tests NAMMD's mean power is above MMD's where the theorem's condition is met"
    if "tst_power" in short:
        right += f"; in two-sample tests {short['tst_power']}"
    lines += [f"{right}.", f"**What could not be tested here:** {_OUT}"]
    return "\n\n".join(lines) + "\n"


_COUNTED = {"holds": "claims hold", "in part": "in part", "not": "do not"}


def _overview(sections: Sections) -> str:
    rows = [
        [
            f"[{e.title}](#experiment-{e.name})",
            ", ".join(f"`{label}`" for label in e.labels),
            protocol(e.name),
            repetitions(e.name, r.settings),
            numbers(s.compared),
            claim(e.name, s),
        ]
        for e, r, s in sections
    ]
    return table(
        ["experiment", "of the paper", "protocol", "repetitions, ours / paper's", "numbers", "claim"], rows
    )


def _corrections(sections: Sections) -> str:
    parts = ["## Where the paper's text is off\n"]
    for rank, title in _RANKS.items():
        lines = [
            f"- {one.text} ([more](#experiment-{e.name}))"
            for e, _, section in sections
            for one in map(_ranked, section.corrections)
            if one.rank == rank
        ]
        if lines:
            parts.append(f"**{title}**\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _ranked(correction: str | Correction) -> Correction:
    return correction if isinstance(correction, Correction) else Correction(correction)


def _section(experiment: Experiment[Any], results: Results[Any], section: Section, *, level: int) -> str:
    judged = claim(experiment.name, section)
    verdict = "The paper claims nothing here" if judged == "–" else f"Claim: {judged}"
    parts = [
        f"(experiment-{experiment.name})=\n\n{'#' * level} {experiment.title}\n",
        f"**{verdict}.** {section.sentence}\n",
        "<details><summary>Details</summary>\n",
        section.body.strip() + "\n",
    ]
    for picture in section.pictures:
        parts.append(f"![{picture.caption}]({picture.path})\n")
    parts += [f"{note}\n" for note in section.notes]
    ending = "" if results.mode == "quick" else ".full"
    parts.append(f"<small>`{experiment.name}{ending}.json`, seed {results.seed}.</small>\n")
    parts.append("</details>\n")
    return "\n".join(parts)


def compact(text: str) -> str:
    """Return Markdown with the blanks taken out of its tables."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("| "):
            line = re.sub(r" ?\| ?", "|", line)
            for loose in (" ± ", " / ", " × ", " = "):
                line = line.replace(loose, loose.strip())
        lines.append(line)
    return "\n".join(lines)


def _seeds(sections: Sections, folder: Path) -> str:
    """Return the table of runs with another seed: how far every figure moved, in its own errors."""
    rows = []
    for e, _, _ in sections:
        own, other = load(e, "quick", folder), load(e, "quick", folder, SECOND_SEED)
        if own is None or other is None:
            continue
        scores = [
            abs(a["mean"] - b["mean"]) / error
            for a, b in zip(_figures(own), _figures(other), strict=True)
            if (error := (error_of(a) ** 2 + error_of(b) ** 2) ** 0.5) > 0
        ]
        if scores:
            within = sum(score <= 2 for score in scores)
            rows.append([e.title, str(len(scores)), f"{within / len(scores):.0%}", f"{max(scores):.1f}"])
    if not rows:
        return ""
    return (
        "## With another seed\n\nShort runs with the experiments' own "
        f"seeds and with the seed {SECOND_SEED}: how many rates and means are within two joint "
        "standard errors of each other (95 % are expected), and the largest difference. The others have no "
        "such figures, or there was no time for a second run.\n\n"
        + table(["experiment", "figures", "within two errors", "largest"], rows)
    )


def _figures(results: Results[Any]) -> list[Mapping[str, Any]]:
    """Return every mean and rate of a result file, in order."""
    return [figure for done in results.cells for figure in _found(done.values)]


def _found(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if {"mean", "se"} <= set(value):
            yield value
        else:
            for each in value.values():
                yield from _found(each)
    elif isinstance(value, list):
        for each in value:
            yield from _found(each)
