"""The page: self-contained, escaped, and complete or not there at all."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import nammd
from nammd.report import build, render, write_report
from tests.report.cases import (
    LONG,
    MARKUP,
    SCRIPT,
    estimate,
    estimate_model,
    hostile,
    shifted,
    shifted_model,
    vectors,
)

VOID = {"meta", "img", "br", "hr", "link", "input", "wbr"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            # Where a word may be broken it is still one word.
            joint = self.words and self.tags[-1][0] == "wbr"
            self.words.append(self.words.pop() + data if joint else data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def hostile_page() -> str:
    return render(build(hostile()))


@pytest.fixture(scope="module")
def page() -> str:
    return render(shifted_model())


def test_the_top_is_the_verdict_in_words(page):
    text = Page(page).text
    assert "FAR" in text[:300]
    assert "The candidate is beyond the tolerance" in text[:300]
    assert shifted().advice() in text


def test_the_page_names_columns_rows_settings_and_how_to_reproduce_it(page):
    text = Page(page).text
    for words in (
        "1 of 5 columns differs by more than is negligible",
        "income: 13 % higher at the median",
        "stands out by",
        "400 and 350 evenly spaced rows",
        "principal components (PCA)",
        "Holm's method",
        "Gaussian, bandwidth 2.5",
        "tolerance.check(reference, candidate)",
        "typical candidate",
        "Ulm",
    ):
        assert words in text, words


@pytest.mark.parametrize("which", ["page", "hostile_page"])
def test_the_page_loads_nothing_and_runs_nothing(which, request):
    text = request.getfixturevalue(which)
    parsed = Page(text)
    assert not parsed.all("script")
    assert not parsed.all("link")
    assert not parsed.all("iframe")
    assert not re.search(r"""(src|href|url|srcset)\s*[=(]\s*["']?\s*(https?:)?//""", text)
    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in text
    for _, attributes in parsed.tags:
        assert not any(name.startswith("on") for name in attributes)
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in parsed.all("img"))


def test_the_policy_allows_styles_and_images_of_the_page_itself_only(page):
    [policy] = [m for m in Page(page).all("meta") if m.get("http-equiv")]
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_names_and_values_are_shown_as_text(hostile_page):
    text = Page(hostile_page).text
    assert SCRIPT in text
    assert LONG in text
    assert "<img src=x onerror=alert(2)>" in text
    assert "\"quoted\" 'text' $x^2$ naïve 日本語 🙂" in text
    assert "$cost$ {{ 7 * 7 }}" in text
    assert "<script" not in hostile_page
    assert "<img src=x" not in hostile_page
    assert MARKUP not in hostile_page


def test_figures_are_images_with_words_for_those_who_do_not_see_them(hostile_page):
    images = Page(hostile_page).all("img")
    assert len(images) == 3
    for image in images:
        assert len(image["alt"]) > 20
        content = base64.b64decode(image["src"].partition(",")[2])
        assert b"script" not in content
        assert ElementTree.fromstring(content).tag.endswith("svg")


def test_headings_go_down_one_step_at_a_time_and_the_language_is_given(page):
    parsed = Page(page)
    levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert parsed.all("html") == [{"lang": "en"}]


def test_a_result_without_a_tolerance_has_its_headline_at_the_top():
    text = Page(render(estimate_model())).text
    assert estimate().headline() in text[:300]
    assert "Tolerance" not in text


def test_wide_data_say_what_was_left_undone():
    rng = np.random.default_rng(1)
    text = Page(render(build(nammd.distance(rng.normal(size=(30, 120)), rng.normal(size=(30, 120)))))).text
    assert "too many to leave each of them out" in text
    assert "108 more columns" in text
    assert "Holm" not in text


def test_one_column_has_a_page_without_a_map():
    x, y = np.random.default_rng(2).normal(size=(2, 12))
    text = Page(render(build(nammd.closeness_test(x, y, epsilon=0.1, alternative="greater")))).text
    assert "There is no map" in text
    assert "NOT PROVEN" in text
    assert "error rates of tests and intervals are only approximate" in text


def test_the_file_replaces_an_older_one_and_leaves_nothing_else_behind(tmp_path):
    target = tmp_path / "report.html"
    target.write_text("old")
    assert write_report(estimate(), str(target)) == target
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_folder_is_named_before_any_work_is_done(tmp_path):
    def never(*_):
        raise AssertionError("work was done")

    with pytest.raises(FileNotFoundError, match=r"there is no folder .*absent; create it first"):
        write_report(estimate(), tmp_path / "absent" / "report.html", progress=never)
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write_report(estimate(), tmp_path, progress=never)


def test_lone_surrogates_do_not_break_the_page(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(3)
    names = pd.Index(["a\udc80"], dtype=object)
    x, y = (pd.DataFrame(rng.normal(size=(30, 1)), columns=names) for _ in range(2))
    verdict = nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=x).check(x, y)
    assert "a?" in write_report(verdict, tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_report_shows_the_first_components_of_vectors():
    text = Page(render(build(vectors()))).text
    assert re.search(r"-?[\d.]+, -?[\d.]+, -?[\d.]+, … \(8 numbers\)", text)
