"""Pages of monitors in a real browser: without errors, on a phone, and alive."""

import numpy as np
import pytest

import nammd
from nammd.monitor.alarms import refuse
from nammd.monitor.batch import Moved
from nammd.monitor.calendar import Calendar
from nammd.monitor.page import page_of, render
from nammd.monitor.state import state_of
from tests import browsers, pages
from tests.browsers import DESK, PHONE, opened
from tests.monitor.records import batch, days, new_history
from tests.monitor.test_history import add
from tests.monitor.test_serving import HOSTILE, TOKEN, listening, served
from tests.waiting import until

pytestmark = browsers.needed
browser = browsers.browser  # a fixture


def fits(browser, width):
    assert browser.execute_script("return document.documentElement.clientWidth") == width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    history = new_history(folder / "shop.monitor")
    history.write(lambda writer: writer.expect(Calendar("day", 2)))
    for k, key in enumerate(days(40)):
        if k in (25, 26):
            continue
        far = 15 <= k < 18
        moved = (Moved(HOSTILE, f"{HOSTILE}: 7 % higher", 1 + k / 40), Moved("age", "age: older", 0.5))
        one = batch(
            key,
            z=4.0 if far else -3.0,
            p_far=1e-9 if far else 0.9,
            p_close=1.0 if far or k % 3 == 0 else 1e-6,
            cautions=(("few-rows", HOSTILE * 10),),
            columns=moved,
            report="reports/a b.html",
        )
        add(history, one)
    history.write(lambda writer: writer.event("2026-01-02T00:00:00+00:00", "note", days(40)[5], text=HOSTILE))
    history.write(lambda writer: refuse(writer, "2026-01-02T00:00:00+00:00", days(40)[25], HOSTILE))
    path = folder / "page.html"
    path.write_text(render(page_of(state_of(history.read()), {1: 0.004})), encoding="utf-8")
    return path


def test_static_page_opens_without_errors_and_fits_a_phone(browser, page):
    opened(browser, page.as_uri())
    assert browser.get_log("browser") == []
    fits(browser, 390)
    now = browser.find_element("css selector", ".now")
    assert "Silence: 2 days are missing, 2020-01-26 to 2020-01-27." in now.text
    assert f"The batch 2020-01-26 was refused: {HOSTILE}." in now.text
    assert now.rect["y"] + now.rect["height"] < PHONE["height"]
    assert "<script" not in page.read_text()
    assert browser.execute_script("return document.scripts.length") == 0


def test_verdicts_are_told_apart_without_colour(browser, page):
    opened(browser, page.as_uri(), DESK)
    count = "return document.querySelectorAll('.wide ' + arguments[0]).length"
    shapes = ("circle.CLOSE", "path.FAR", "path.UNDECIDED", "circle.ring", "rect.missing")
    found = [browser.execute_script(count, shape) for shape in shapes]
    assert found == [22, 3, 1, 12, 1]
    assert browser.execute_script("return document.querySelectorAll('.multiples svg').length") == 2
    link = browser.find_element("css selector", ".batches a")
    assert link.get_attribute("href").endswith("/reports/a%20b.html")


def test_nothing_is_broken_cut_or_faint_at_any_width(browser, page):
    assert pages.faults(browser, page) == {}


def test_a_value_on_a_phone_stands_below_the_name_of_its_column(browser, page):
    opened(browser, page.as_uri())
    label = "const cell = document.querySelectorAll('.batches td.number')[arguments[0]];"
    label += "return getComputedStyle(cell, '::before').content"
    names = [browser.execute_script(label, k) for k in range(3)]
    assert names == ['"distance"', '"95 % interval"', '"rows"']


def test_older_batches_are_folded_away_and_printed(browser, page):
    opened(browser, page.as_uri(), DESK)
    older = "const table = document.querySelector('.batches details table');"
    older += "return table.checkVisibility({contentVisibilityAuto: true})"
    assert not browser.execute_script(older)
    assert browser.find_element("css selector", ".batches summary").text == "7 batches before these"
    with pages.shown(browser, "dark", "print"):
        # The next frame has the styles of another medium.
        assert until(lambda: browser.execute_script(older), "older batches are shown for printing")
        ground = "return getComputedStyle(document.body).backgroundColor"
        assert browser.execute_script(ground) == "rgb(255, 255, 255)"
        assert pages.faint(browser) == []
        assert not browser.find_element("css selector", "summary").is_displayed()


def test_page_prints(browser, page):
    opened(browser, page.as_uri(), DESK)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(printed["data"]) > 10_000


def test_page_of_no_batches_opens(browser, tmp_path):
    history = new_history(tmp_path / "new.monitor")
    path = tmp_path / "page.html"
    path.write_text(render(page_of(state_of(history.read()), {})), encoding="utf-8")
    opened(browser, path.as_uri())
    assert browser.get_log("browser") == []
    assert "No batch has been added yet." in browser.find_element("css selector", ".now").text


@pytest.fixture
def monitor(tmp_path):
    rng = np.random.default_rng(1)
    tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
    made = nammd.Monitor.create(tmp_path / "shop.monitor", tolerance, rng.normal(size=(200, 2)), grace=None)
    for key in days(8):
        made.add(rng.normal(size=(100, 2)), key=key)
    return made


def text(browser, selector):
    """Read in one step: the page may replace an element between finding it and reading it."""
    return browser.execute_script("return document.querySelector(arguments[0]).innerText", selector)


def submit(browser, name, words):
    """Fill in a form and send it, in one step."""
    browser.execute_script(
        "const form = document.querySelector(`form[data-send=${arguments[0]}]`);"
        "form.elements.text.value = arguments[1]; form.requestSubmit();",
        name,
        words,
    )


def test_live_page_shows_a_new_batch_and_acknowledges_its_alarm(browser, monitor):
    rng = np.random.default_rng(2)
    with served(monitor, token=TOKEN) as where:
        opened(browser, where.geturl())
        assert TOKEN not in browser.current_url
        fits(browser, 390)
        assert not browser.find_elements("css selector", "form[data-send=acknowledge]")
        new = days(9)[-1]
        monitor.add(rng.normal(1.0, size=(100, 2)), key=new)
        until(lambda: new in text(browser, "#batches"), "the new batch")
        assert "ALARM" in text(browser, ".now")
        submit(browser, "acknowledge", "known & <b>seen</b>")
        until(
            lambda: "(acknowledged)" in text(browser, ".now"),
            "the acknowledgement",
        )
        with pages.shown(browser, "dark"):
            assert pages.faint(browser) == []
        with pages.shown(browser, media="print"):
            controls = browser.find_elements("css selector", "#controls, form, button, input, .tip")
            assert controls
            assert not any(element.is_displayed() for element in controls)
        submit(browser, "note", "a note")
        until(lambda: "a note" in text(browser, "#distances"), "the note")
        fits(browser, 390)
        assert browser.get_log("browser") == []
    assert monitor.state.open_alarms[0].acknowledged == "known & <b>seen</b>"


def test_live_page_zooms_and_tells_what_is_under_the_pointer(browser, monitor):
    from selenium.webdriver.common.action_chains import ActionChains

    with listening(monitor) as (port, _):
        opened(browser, f"http://127.0.0.1:{port}", DESK)
        count = "return document.querySelectorAll('.wide .mark').length"
        assert browser.execute_script(count) == 8
        plot = browser.find_element("css selector", "#distances .wide svg")
        ActionChains(browser).move_to_element(plot).perform()
        tip = browser.find_element("css selector", ".tip")
        until(lambda: "distance" in tip.text, "the words at the pointer")
        drag = ActionChains(browser).move_to_element_with_offset(plot, -100, 0).click_and_hold()
        drag.move_by_offset(150, 0).release().perform()
        until(lambda: 1 < browser.execute_script(count) < 8, "the part that was dragged over")
        browser.find_element("css selector", "button[data-last='']").click()
        until(lambda: browser.execute_script(count) == 8, "all of it again")
        assert browser.get_log("browser") == []
