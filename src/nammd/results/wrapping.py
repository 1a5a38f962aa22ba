"""Where lines may break on a page: never inside a number, and in long names where a reader would."""

from __future__ import annotations

import html
import re

LONG_NAME = 14
"""Words with more letters than this may be broken after an underscore or a dot."""

# What browsers would break after a hyphen or a space: p-values, shares, dates, and numbers with a sign.
_WHOLE = re.compile(
    r"(?<![\w.,-])(?:"
    r"p [<=≤] \d+(?:[.,]\d+)*(?:e[-+]?\d+)?"
    r"|\d{4}-\d\d(?:-\d\d)?(?:T\d\d:\d\d(?::\d\d)?(?:[+-]\d\d:\d\d)?)?(?![\w-])"
    r"|-?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?(?:[ \u00a0]%)?(?![\w-])"
    r")"
)
_BREAKABLE = re.compile(r"[- +\u00a0]")
_JOINT = re.compile(r"(?<=\w[_.])(?=\w)")


def wrapped(text: str) -> str:
    """Return text as HTML, escaped, that breaks over lines as a person would break it.

    Numbers, dates, shares and p-values stay whole; names that are long may be broken at their joints.

    Parameters
    ----------
    text : str
        Words from the data or about them.

    Returns
    -------
    str
        Markup for the body of a page; not for attributes.

    Examples
    --------
    >>> print(wrapped("rate: 3e-07 -> 12 % (p < 0.0001)"))
    rate: <span class="whole">3e-07</span> -&gt; <span class="whole">12 %</span> (<span class="whole">p &lt; 0.0001</span>)
    >>> print(wrapped("turnover_of_the_year, 2.5 & more"))
    turnover_<wbr>of_<wbr>the_<wbr>year, 2.5 &amp; more
    """  # noqa: E501
    pieces, end = [], 0
    for found in _WHOLE.finditer(text):
        if not _BREAKABLE.search(found[0]):
            continue  # browsers keep it whole already
        pieces += [_jointed(text[end : found.start()]), f'<span class="whole">{html.escape(found[0])}</span>']
        end = found.end()
    return "".join([*pieces, _jointed(text[end:])])


def _jointed(text: str) -> str:
    """Escape text, and let its long words break at their joints."""
    return "".join(
        "<wbr>".join(map(html.escape, _JOINT.split(word))) if len(word) > LONG_NAME else html.escape(word)
        for word in re.split(r"(\s+)", text)
    )
