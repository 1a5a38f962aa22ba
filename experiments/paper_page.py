"""The page on the paper: what holds, what does not, what could not be tested; tables are in its appendix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments.appendix import HOW, Sections, link
from experiments.experiment import Experiment
from experiments.overview import EXCEPTIONS, PROTOCOLS, claim, protocol, repetitions
from experiments.overview_picture import overview_picture
from experiments.results import Results
from experiments.rule import agreeing, numbers, verdict
from experiments.second_seeds import seeds_table
from experiments.section import Correction, Section, table

FIRST = ("level_map", "bounds")
"""Of these the first that there is tells on the first screen what matters most."""

_FUTURE_WORK = "experiments.paper.future_work"

_RANKS = {
    "fundamental": "Fundamental",
    "tables": "Tables and figures",
    "typos": "Typos and slips",
}

_RULE = (
    "One rule applies to all experiments. *Numbers*: how many printed numbers are within two joint standard "
    "errors of ours, with the printed ± as the paper's standard error; then a χ² test of all differences and "
    "a test of their signs. Numbers are compared only if the protocol and the data are the same. *Claim*: "
    "what the paper says in words holds if every comparison confirms it, holds in part if some do, and does "
    "not hold if none does; a difference counts if it is more than two standard errors. Experiments on other "
    "data get no verdict."
)

_STANDING_IN = (
    "The paper's questions on substitutes for its data. The kernel is Gaussian, and its bandwidth is the "
    "median distance within the source; the paper uses a deep kernel."
)

_LEFT_OUT = (
    "Differences from the paper's protocol: ME_MaBiD sees coarse images, AutoTST has no AutoGluon, and there "
    "are 7500 rows of higgs."
)


def paper_page(sections: Sections, folder: Path) -> str:
    """Return the page."""
    picture = overview_picture(sections)
    parts = [
        f"# The paper's experiments, rerun\n\n{first_screen(sections)}",
        f"![{picture.caption}]({picture.path})\n\n*{picture.caption}*\n",
        f"## Overview\n\n{_RULE}\n\n{_exceptions(sections)}\n",
        f"{_overview(sections)}\n{_LEFT_OUT}\n",
        _corrections(sections),
    ]
    own = [part for part in sections if PROTOCOLS[part[0].name].kind != "stand-in data"]
    other = [part for part in sections if part not in own]
    parts.append(f"## One by one\n\n{HOW} [The tables](paper-tables.md) have their own page.\n")
    parts += [_section(*part) for part in own]
    if other:
        parts.append(f"## On other data\n\n{_STANDING_IN}\n")
        parts += [_section(*part) for part in other]
    parts += [seeds_table(sections, folder), _future_work()]
    return "\n".join(part for part in parts if part)


def first_screen(sections: Sections) -> str:
    """Return the first lines: what was reproduced, what holds, what does not; with the picture all of it."""
    by_name = {e.name: section for e, _, section in sections}
    titles = {e.name: e.title for e, _, _ in sections}
    judged = {n: verdict(s.claim) for n, s in by_name.items() if PROTOCOLS[n].kind != "stand-in data"}
    counts = Counter(judged.values())
    compared = [one for section in by_name.values() for one in section.compared]
    lines = [
        "Every table, figure and example of the paper, computed again with nammd. Of "
        f"{len(compared)} comparable printed numbers {agreeing(compared)} agree; {counts['holds']} claims "
        f"hold, {counts['holds in part']} hold in part, {counts['does not hold']} do not."
    ]
    if most := next((by_name[n].short for n in FIRST if n in by_name and by_name[n].short), ""):
        lines.append(f"**What matters most:** {most}.")
    failed = [_short(n, by_name, titles) for n, word in judged.items() if word == "does not hold"]
    if failed:
        lines.append(f"**What does not hold:** {'; '.join(failed)}.")
    holding = [
        by_name[n].short for n in ("same_kernel", "tst_power") if judged.get(n, "").startswith("holds")
    ]
    if holding:
        lines.append(f"**What holds at least in part:** {'; '.join(holding)}.")
    lacking = sum(kind.kind == "stand-in data" for n, kind in PROTOCOLS.items() if n in by_name)
    if lacking:
        lines.append(
            f"**Without a verdict:** {lacking} experiments on ImageNet or adversarial images, rerun on other "
            "data."
        )
    return "\n\n".join(lines) + "\n"


def _short(name: str, by_name: Mapping[str, Section], titles: Mapping[str, str]) -> str:
    return by_name[name].short or f"[{titles[name].lower()}](#experiment-{name})"


def _exceptions(sections: Sections) -> str:
    """Name where the rule cannot be applied as it stands."""
    there = {e.name for e, _, _ in sections}
    lines = [f"- {text}." for name, text in EXCEPTIONS.items() if name in there]
    return "Exceptions, with their reasons:\n\n" + "\n".join(lines)


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


def _section(experiment: Experiment[Any], results: Results[Any], section: Section) -> str:
    judged = claim(experiment.name, section)
    says = "" if section.claim is None else f"*Paper:* {section.claim.says} **{judged.capitalize()}.** "
    where = f"[Tables]({link('paper', experiment)})."
    parts = [
        f"(experiment-{experiment.name})=\n\n### {experiment.title}\n",
        f"{says}{section.sentence} {where}\n",
    ]
    for picture in section.pictures:
        parts.append(f"![{picture.caption}]({picture.path})\n")
    return "\n".join(parts)


def _future_work() -> str:
    """Return the table of the paper's limitations and future work, where there is one."""
    if find_spec(_FUTURE_WORK) is None:
        return ""
    text: str = import_module(_FUTURE_WORK).limitations_table()
    return f"## The paper's limitations and future work\n\n{text.strip()}\n"
