"""The page in a real browser: no errors, the verdict in sight, and a phone's width is enough."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import nammd
from nammd.report import build, render
from nammd.report.html import write_report
from tests import browsers
from tests import pages as checks
from tests.browsers import PHONE, opened
from tests.report.cases import SCRIPT, crowded, hostile, households, shifted_model, vectors

pytestmark = browsers.needed
browser = browsers.browser  # a fixture


def wide_data() -> str:
    rng = np.random.default_rng(1)
    return render(build(nammd.distance(rng.normal(size=(40, 80)), rng.normal(size=(40, 80)) + 0.3)))


def ranked() -> nammd.Ranking:
    rng = np.random.default_rng(2)
    names = [f"deliveries_of_the_week_{k}_from_the_warehouse in Castrop-Rauxel" for k in range(3)]
    return nammd.rank(
        rng.normal(size=(60, 2)), {name: rng.normal(k, size=(50, 2)) for k, name in enumerate(names)}
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    write_report(hostile(), folder / "hostile.html")
    (folder / "mixed.html").write_text(render(shifted_model()), encoding="utf-8")
    (folder / "wide.html").write_text(wide_data(), encoding="utf-8")
    crowded().report(folder / "crowded.html")
    vectors().report(folder / "vectors.html")
    households().report(folder / "households.html")
    ranked().report(folder / "ranked.html")
    return {path.stem: path for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["mixed", "hostile", "wide"])
def test_it_opens_without_errors_and_fits_a_phone(browser, pages, name):
    opened(browser, pages[name])
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.clientWidth") == 390
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    broken = "return [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length"
    assert browser.execute_script(broken) == 0


ALL = ["mixed", "wide", "crowded", "vectors", "households", "ranked"]


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_broken_cut_or_faint_at_any_width(browser, pages, name):
    assert checks.faults(browser, pages[name]) == {}


def test_a_value_on_a_phone_stands_below_the_name_of_its_column(browser, pages):
    opened(browser, pages["crowded"], checks.screen(375))
    label = (
        "return getComputedStyle(document.querySelectorAll('table.all td')[arguments[0]], '::before').content"
    )
    assert [browser.execute_script(label, k) for k in (0, 1, 3)] == [
        '"distance"',
        '"tolerance"',
        '"reference"',
    ]
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {node["role"]["value"] for node in tree if "role" in node}
    assert {"table", "row", "rowheader", "columnheader", "cell"} <= roles  # though they are drawn as cards


def test_the_datasets_are_told_apart_without_colour(browser, pages):
    opened(browser, pages["crowded"], checks.screen(1280))
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    assert browser.execute_script(style, ".spark .a", "strokeDasharray") == "none"
    assert browser.execute_script(style, ".spark .b", "strokeDasharray") != "none"
    assert browser.execute_script(style, ".bar.first", "backgroundImage") == "none"
    assert "gradient" in browser.execute_script(style, ".bar.second", "backgroundImage")
    values = browser.find_element("css selector", "table.values")
    assert values.text.split("\n")[0].split() == ["reference", "candidate"]
    beyond = browser.find_elements("css selector", "tr.beyond")
    assert beyond
    assert all("✕" in row.text for row in beyond)


def test_a_picture_is_drawn_for_the_scheme_of_the_page(browser, pages):
    darkness = []
    for scheme in checks.SCHEMES:
        with checks.shown(browser, scheme):
            opened(browser, pages["mixed"], checks.screen(768))
            shot = browser.find_element("css selector", "figure img").screenshot_as_png
            darkness.append(np.asarray(Image.open(io.BytesIO(shot)).convert("L")).mean())
    assert darkness[0] > 200
    assert darkness[1] < 80


def test_the_checks_see_what_they_look_for(browser, tmp_path):
    page = tmp_path / "faults.html"
    page.write_text(
        "<!doctype html><meta name='viewport' content='width=device-width, initial-scale=1, minimum-scale=1'>"
        "<body style='margin:0'><p style='width:4em;overflow-wrap:anywhere'>0.12345678901</p>"
        "<p style='width:3em'>4.4e-07</p><p style='width:3em;overflow-wrap:anywhere'>significant</p>"
        "<table style='table-layout:fixed;width:80px'><tr><td>1,234,567,890,123</td></tr></table>"
        "<p style='color:#999'>faint</p><svg role='img' aria-label=''></svg><svg></svg>"
        "<img src='data:,' alt=''>"
        "<div style='width:500px'>wide</div>",
        encoding="utf-8",
    )
    found = checks.faults(browser, page)
    opened(browser, page, checks.screen(375))
    assert checks.overflow(browser, 375) == 125
    broken, cut, faint = checks.broken(browser), checks.cut(browser), checks.faint(browser)
    assert [words.split(" in ")[0] for words in broken] == [
        "0.12345678901",
        "12345678901",
        "4.4e-07",
        "significant",
    ]
    assert [words.split(" in ")[0] for words in cut] == ["1,234,567,890,123"]
    assert len(faint) == 1
    # A window of another size shows what one shows that was of this size at first.
    for scheme in checks.SCHEMES:
        assert found[f"375 {scheme}"] == ["125 px too wide", *broken, *cut, *faint]
        assert found[f"1280 {scheme}"] == [*broken, *cut, *faint]
    assert checks.nameless(browser) == found["names"]
    assert len(found["names"]) == 3


def test_the_verdict_is_in_sight_without_scrolling(browser, pages):
    opened(browser, pages["mixed"])
    band = browser.find_element("css selector", ".verdict")
    assert "FAR" in band.text
    assert "beyond the tolerance" in band.text
    assert band.rect["y"] + band.rect["height"] < PHONE["height"]


def test_only_the_tables_of_rows_scroll_sideways(browser, pages):
    opened(browser, pages["hostile"])
    script = """
        return [...document.querySelectorAll('main *')]
            .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
            .filter(e => getComputedStyle(e).overflowX !== 'visible')
            .filter(e => !e.matches('.scroll, pre, .cards thead'))
            .map(e => e.outerHTML.slice(0, 80))
    """
    assert browser.execute_script(script) == []
    assert browser.execute_script("return document.querySelector('#rows-1 + .scroll').scrollWidth") > 390


def test_a_column_named_like_a_script_is_text(browser, pages):
    opened(browser, pages["hostile"])
    names = [element.text for element in browser.find_elements("css selector", "ol.columns h3")]
    assert SCRIPT in names
    assert browser.execute_script("return document.scripts.length") == 0
    assert browser.execute_script("return document.querySelectorAll('main img').length") == 3


def test_it_prints_without_losing_what_is_folded_away(browser, pages):
    opened(browser, pages["mixed"])
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        heights = "return [...document.querySelectorAll('details > :not(summary)')].map(e => e.offsetHeight)"
        shown = browser.execute_script(heights)
        assert len(shown) == 2
        assert min(shown) > 50
        for interactive in ("summary", "button", "input", "form"):
            assert not any(e.is_displayed() for e in browser.find_elements("css selector", interactive))
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("name", ["crowded", "ranked"])
def test_paper_is_light_and_loses_nothing_at_the_edge(browser, pages, name):
    with checks.shown(browser, "dark", "print"):
        opened(browser, pages[name], checks.screen(740))
        ground = "return getComputedStyle(document.body).backgroundColor"
        assert browser.execute_script(ground) == "rgb(255, 255, 255)"
        assert checks.overflow(browser, 740) == 0
        assert checks.cut(browser) == []
        assert checks.faint(browser) == []


def test_an_index_of_many_candidates_fits_a_phone_and_leads_to_its_pages(browser, tmp_path):
    rng = np.random.default_rng(0)
    gate = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2).with_reference(rng.normal(size=(80, 2)))
    weeks = {f"week {k} {SCRIPT}": rng.normal(0.4 * k, size=(60, 2)) for k in range(3)}
    found = gate.check_all({**weeks, "broken": np.zeros((9, 3))}, errors="keep")
    page = opened(browser, found.report(tmp_path / "out"))
    assert not page.get_log("browser")
    assert page.execute_script("return document.documentElement.scrollWidth") <= PHONE["width"]
    pills = page.find_elements("css selector", ".pill")
    assert [pill.text for pill in pills] == [entry.word for entry in found]
    assert all(pill.size["height"] < 30 for pill in pills)  # each word on one line
    page.find_elements("css selector", "tbody a")[3].click()
    assert "ERROR" in page.find_element("css selector", ".verdict").text
