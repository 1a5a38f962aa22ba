"""What holds for every page in a browser: what can be read, at which width, in which colours, and on paper.

Each function runs one script in the page and returns what is wrong, as a list to be empty.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from tests.browsers import opened
from tests.waiting import until

WIDTHS = (375, 768, 1280)
SCHEMES = ("light", "dark")

_TEXTS = """
const texts = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (!node.data.trim() || parent.closest('script, style, title, desc')) continue;
        if (parent.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})) found.push(node);
    }
    return found;
};
const boxes = (node, start, end) => {
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, end);
    return [...range.getClientRects()].filter((box) => box.width > 0);
};
"""

_BROKEN = """
const NUMBER = /(?<![\\w-])[-+]?\\d[\\d.,]*(e[-+]?\\d+)?( %)?/g;
const WORD = /[\\p{L}\\p{N}]+/gu;
const broken = [];
for (const node of texts()) {
    for (const [pattern, longest] of [[NUMBER, 99], [WORD, 18]]) {
        for (const word of node.data.matchAll(pattern)) {
            const text = word[0].replace(/[.,]+$/, '');
            if (text.length > longest) continue;
            const places = boxes(node, word.index, word.index + text.length).map((b) => Math.round(b.top));
            const lines = new Set(places);
            if (lines.size > 1) broken.push(text + ' in ' + node.parentElement.outerHTML.slice(0, 90));
        }
    }
}
return broken;
"""

_CUT = """
const cut = [];
const blocks = 'td, th, dd, dt, p, li, h1, h2, h3, figcaption, .label, .word, .says, summary, text';
for (const node of texts()) {
    const parent = node.parentElement;
    if (parent.closest('pre') || parent.closest('.cards thead')) continue;
    const block = parent.closest(blocks) || parent;
    const room = block.namespaceURI.endsWith('svg') ? block.ownerSVGElement : block;
    const {left, right} = room.getBoundingClientRect();
    for (const box of boxes(node, 0, node.data.length)) {
        const visible = parent.closest('.scroll') || (box.left >= 0 && box.right <= innerWidth + 1);
        if (box.left < left - 1 || box.right > right + 1 || !visible)
            cut.push(node.data.trim().slice(0, 60) + ' in ' + block.outerHTML.slice(0, 60));
    }
}
return cut;
"""

_CONTRAST = """
const channels = (colour) => {
    const found = colour.match(/[\\d.]+/g).map(Number);
    const parts = colour.startsWith('color(') ? found.slice(0, 3).map((c) => 255 * c) : found.slice(0, 3);
    return [...parts, found.length > 3 ? found[3] : 1];
};
const over = (above, below) => above.slice(0, 3).map((c, k) => above[3] * c + (1 - above[3]) * below[k]);
const luminance = (rgb) => rgb
    .map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + [0.2126, 0.7152, 0.0722][k] * c, 0);
const backdrop = (element) => {
    if (!element) return [255, 255, 255];
    const own = channels(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, backdrop(element.parentElement));
};
const faint = new Map();
for (const node of texts()) {
    const parent = node.parentElement;
    const style = getComputedStyle(parent);
    const ink = channels(parent.namespaceURI.endsWith('svg') ? style.fill : style.color);
    for (let e = parent; e; e = e.parentElement) ink[3] *= Number(getComputedStyle(e).opacity);
    const below = backdrop(parent);
    const [a, b] = [luminance(over(ink, below)), luminance(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5))
        faint.set(parent.outerHTML.slice(0, 80), ratio.toFixed(2));
}
return [...faint].map(([where, ratio]) => ratio + ': ' + where);
"""

_NAMELESS = """
const hidden = (e) => e.closest('[aria-hidden="true"]');
const svgs = [...document.querySelectorAll('svg')].filter((e) => !hidden(e)).filter((e) => {
    const title = [...e.children].find((child) => child.tagName === 'title');
    const name = e.getAttribute('aria-label') || (title && title.textContent) || '';
    return e.getAttribute('role') !== 'img' || !name.trim();
});
const images = [...document.images].filter((e) => !hidden(e) && !e.alt.trim());
const signs = [...document.querySelectorAll('[role=img]')].filter((e) => e.tagName !== 'svg');
return [...svgs, ...images, ...signs.filter((e) => !(e.getAttribute('aria-label') || '').trim())]
    .map((e) => e.outerHTML.slice(0, 80));
"""

_MATCHES = """
const [width, scheme] = arguments;
return matchMedia(`(width: ${width}px) and (prefers-color-scheme: ${scheme})`).matches;
"""


def broken(browser: Any) -> list[str]:
    """Return the numbers and the words of usual length that are on two lines."""
    return browser.execute_script(_TEXTS + _BROKEN)


def cut(browser: Any) -> list[str]:
    """Return texts that reach out of the block they are in, or out of the page."""
    return browser.execute_script(_TEXTS + _CUT)


def faint(browser: Any) -> list[str]:
    """Return texts with less contrast than WCAG asks for at level AA."""
    return browser.execute_script(_TEXTS + _CONTRAST)


def nameless(browser: Any) -> list[str]:
    """Return pictures without a name for people who do not see them."""
    return browser.execute_script(_NAMELESS)


def overflow(browser: Any, width: int) -> int:
    """Return by how many pixels the page is wider than the screen."""
    return max(0, browser.execute_script("return document.documentElement.scrollWidth") - width)


def screen(width: int) -> dict[str, Any]:
    """Return a screen of this width, as `tests.browsers.opened` takes it."""
    return {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700}


def faults(browser: Any, page: Path) -> dict[str, list[str]]:
    """Return what is wrong with a page at any width, in light and in dark.

    It is opened once: without scripts, a page in a window of another size is as if it were opened in it.
    """
    opened(browser, page, screen(WIDTHS[-1]))
    assert browser.execute_script("return document.scripts.length") == 0
    found = {"names": nameless(browser)}
    for width, scheme in product(WIDTHS, SCHEMES):
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen(width))
        with shown(browser, scheme):
            until(lambda: browser.execute_script(_MATCHES, width, scheme), "a window as it was asked for")  # noqa: B023
            found[f"{width} {scheme}"] = [
                *[f"{wider} px too wide" for wider in [overflow(browser, width)] if wider],
                *broken(browser),
                *cut(browser),
                *faint(browser),
            ]
    return {where: what for where, what in found.items() if what}


@contextmanager
def shown(browser: Any, scheme: str = "light", media: str = ""):
    """Show pages in a colour scheme, or as on paper, for a while."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    try:
        yield browser
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
