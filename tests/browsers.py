"""A real browser for tests of pages; where there is none, they are skipped with the reason."""

import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = Path("/usr/bin/chromedriver")
OFFLINE = (
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""A browser that asks nobody for anything but the page."""

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 3, "mobile": True}
DESK = {"width": 1200, "height": 900, "deviceScaleFactor": 1, "mobile": False}

needed = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.skipif(not DRIVER.exists(), reason="chromedriver is not installed"),
]


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *OFFLINE):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


def opened(browser, address, metrics=PHONE):
    """Open a page as on a phone, or elsewhere, with nothing in the log yet."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    if browser.current_url.startswith("http"):
        browser.get("about:blank")  # the page before may still ask a server that is gone
    browser.get_log("browser")
    browser.get(address.as_uri() if isinstance(address, Path) else address)
    return browser
