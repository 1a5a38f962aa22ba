"""The page in a real browser: no errors, the verdict in sight, and a phone's width is enough."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nammd
from nammd.report import build, render
from nammd.report.html import write_report
from tests import browsers
from tests.browsers import PHONE, opened
from tests.report.cases import SCRIPT, hostile, shifted_model

pytestmark = browsers.needed
browser = browsers.browser  # a fixture


def wide_data() -> str:
    rng = np.random.default_rng(1)
    return render(build(nammd.distance(rng.normal(size=(40, 80)), rng.normal(size=(40, 80)) + 0.3)))


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    write_report(hostile(), folder / "hostile.html")
    (folder / "mixed.html").write_text(render(shifted_model()), encoding="utf-8")
    (folder / "wide.html").write_text(wide_data(), encoding="utf-8")
    return {path.stem: path for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["mixed", "hostile", "wide"])
def test_it_opens_without_errors_and_fits_a_phone(browser, pages, name):
    opened(browser, pages[name])
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.clientWidth") == 390
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    broken = "return [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length"
    assert browser.execute_script(broken) == 0


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
            .filter(e => getComputedStyle(e).overflowX !== 'visible' && !e.matches('.scroll'))
            .map(e => e.outerHTML.slice(0, 80))
    """
    assert browser.execute_script(script) == []
    assert browser.execute_script("return document.querySelector('.scroll').scrollWidth") > 390


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
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


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
