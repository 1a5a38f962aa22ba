"""Markup by functions: what is text is escaped, always, so no value from the data can become markup."""

from __future__ import annotations

import html

from nammd.results.wrapping import wrapped


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content = str | float | int


def tag(name: str, /, *content: Content, **attributes: Content | None) -> Markup:
    """Return an element; attributes of None are left out, and an underscore in a name is a hyphen.

    >>> print(tag("p", "a < b", tag("b", 1.5), class_="quiet", data_key='"x"'))
    <p class="quiet" data-key="&quot;x&quot;">a &lt; b<b>1.5</b></p>
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*content)}</{name}>")


def lines(text: str) -> Markup:
    """Return words that break over lines at spaces and in long names, and never in numbers."""
    return Markup(wrapped(text))


def joined(*content: Content) -> Markup:
    """Return pieces one after the other; what is no markup is escaped."""
    return Markup(
        "".join(piece if isinstance(piece, Markup) else html.escape(_text(piece)) for piece in content)
    )


def _text(value: Content) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


_EMPTY = ("br", "hr", "img", "input", "link", "meta")
