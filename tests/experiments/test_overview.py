"""The pages can be read: what matters first, not too many words, links and paths that lead somewhere."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from experiments.appendix import slug
from experiments.page import DOCS
from experiments.paper import same_kernel, tst_power
from experiments.paper_page import first_screen
from experiments.results import best
from experiments.rule import Claim, Comparison

ROOT = DOCS.parent
NAMED = sorted(
    (path.relative_to(ROOT).as_posix(), named)
    for path in [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "experiments" / "README.md"]
    for named in set(
        re.findall(r"\b(?:tests|experiments|benchmarks|examples)/[\w./-]*\w", path.read_text("utf-8"))
    )
    if "_build" not in path.parts
)


def words(text):
    """Count the words of a page; what makes a table of them is no word."""
    return len(re.sub(r"^\|[\s:|-]+\|$|\|", " ", text, flags=re.MULTILINE).split())


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_words_are_counted_without_the_marks_of_tables():
    assert words("| a | b |\n| --- | --- |\n| 0.1 ± 0.2 | |\n") == 5
    assert words("|a|b|\n|---|---|\n") == 2


def test_the_first_screen_says_what_holds_and_what_does_not_with_one_picture():
    first = page("paper.md").partition("## Overview")[0]
    assert words(re.sub(r"!\[.*?\]\(.*?\)|^\*.*\*$", "", first, flags=re.MULTILINE)) <= 200
    assert first.count("![") == 1
    assert first.index("nammd") < first.index("does not hold") < first.index("![")


def test_the_first_screen_lists_as_holding_only_what_holds():
    kept = [(e, best(e)) for e in (same_kernel.EXPERIMENT, tst_power.EXPERIMENT)]
    sections = [(e, results, e.section(results)) for e, results in kept]
    holding = first_screen(sections).partition("**What holds at least in part:**")[2]
    assert "in closeness tests NAMMD's mean power" in holding
    assert "in two-sample tests NAMMDFuse has higher power" in holding
    refuted = Claim("one thing", [Comparison("another", came_out=False)])
    failing = first_screen([(e, results, replace(s, claim=refuted)) for e, results, s in sections])
    assert "What holds" not in failing
    assert "NAMMDFuse" in failing.partition("**What does not hold:**")[2]


def test_the_page_on_the_paper_is_not_too_long_and_its_tables_are_tables():
    text = page("paper.md")
    assert words(text) <= 6000
    assert not re.search(r"^\|\S", text, flags=re.MULTILINE), "blanks are taken out of a table"
    assert not re.search(r"\bquick\b|\bfull settings\b", text, re.IGNORECASE)


def test_the_page_on_calibration_has_findings_and_figures_and_no_tables():
    text = page("calibration.md")
    assert words(text) <= 2000
    assert text.count("![") >= 8
    assert not re.search(r"^\| ", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["paper", "calibration"])
def test_links_to_the_tables_lead_to_their_headings(name):
    linked = set(re.findall(rf"{name}-tables\.md#([\w-]+)", page(f"{name}.md")))
    headings = re.findall(r"^## (.*)$", page(f"{name}-tables.md"), flags=re.MULTILINE)
    assert linked == {slug(heading) for heading in headings}


@pytest.mark.parametrize(("page", "named"), NAMED, ids=lambda value: value)
def test_paths_that_the_documentation_names_exist(page, named):
    assert (ROOT / named).exists() or list(ROOT.glob(f"{named}*")), f"{page} names {named}"


def test_paths_are_found_in_the_documentation():
    assert ("docs/statistics.md", "tests/statistics/test_level.py") in NAMED
    assert Path(ROOT / "tests").is_dir()
