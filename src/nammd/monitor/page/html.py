"""The page about a stream: one HTML file without a script, that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import PurePosixPath
from urllib.parse import quote

from nammd.monitor.page.drawing import evidence_strip, like_sign, like_strip, sign, small_multiple, time_line
from nammd.monitor.page.markup import Content, Markup, joined, lines, tag
from nammd.monitor.page.model import LIKENESSES, Page
from nammd.monitor.state import State
from nammd.monitor.stream import QUIET, Told
from nammd.monitor.verdict import evidence_words
from nammd.monitor.words import counted
from nammd.results import estimated, number
from nammd.tolerances.decision import Decision

TROUBLES = 50
"""So many batches that have not come, or were refused, are listed."""

OPEN = 31
"""So many of the last batches are listed at once; those before them when somebody asks for them."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_MEANINGS = {
    Decision.CLOSE.value: "CLOSE: proven to be within the tolerance",
    QUIET: "quiet: shows nothing, and proves nothing by itself",
    Decision.UNDECIDED.value: "UNDECIDED: proves neither, and something is in doubt",
    Decision.FAR.value: "FAR: proven to be beyond it",
}


def style() -> str:
    """Return the style sheet."""
    return resources.files("nammd.monitor.page").joinpath("page.css").read_text(encoding="utf-8")


def render(page: Page) -> str:
    """Return the page as a file: style inside, no script."""
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{_word(page.state)[1]} · {page.state.title}"),
        tag("style", Markup(style())),
    )
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', content(page)), lang='en')}\n"


def content(page: Page, *more: Markup, links: Mapping[str, str] | None = None) -> Markup:
    """Return what the body holds.

    Parameters
    ----------
    page : Page
        The page.
    *more : Markup
        What comes after the state.
    links : mapping of str to str, optional
        The addresses of the reports, by the keys of their batches; by default their files.
    """
    state = page.state
    tone, word = _word(state)
    top = tag(
        "header",
        tag("p", f"nammd monitor · {page.made}", class_="brand"),
        tag("h1", lines(state.title)),
        class_="top",
    )
    now = tag(
        "section", tag("div", word, class_="word"), tag("p", lines(state.headline())), class_=f"now {tone}"
    )
    sections = [now, *more, _trouble(state)]
    if page.marks:
        sections += [_distances(page), _likenesses(page), _stream(page)]
    if page.windows:
        sections.append(_windows(page))
    if page.multiples:
        figures = [
            tag("figure", small_multiple(each), tag("figcaption", lines(each.last)))
            for each in page.multiples
        ]
        what = tag(
            "p",
            "Distance over the column's own tolerance, which is the dashed line; a cross is proof.",
            class_="quiet",
        )
        moved = tag("h2", "The columns that moved most")
        sections.append(tag("section", moved, what, tag("div", *figures, class_="multiples"), class_="card"))
    sections += [_cautions(page), _promises(state), _batches(page, links)]
    foot = tag("footer", "Made by nammd. Distances are NAMMD: 0 for equal distributions, at most 1.")
    return joined(top, tag("main", *sections), foot)


def _word(state: State) -> tuple[str, str]:
    if state.alarmed:
        return "far", "✕ ALARM"
    if state.within_since:
        return "close", "✓ WITHIN"
    return "", "○ QUIET" if state.current and state.current[-1].quiet else "? NOT PROVEN"


def _trouble(state: State) -> Markup:
    """List what has not come, and what could not be taken."""
    every = state.calendar.every
    rows = [
        (gap.name, f"{counted(gap.missing, every)} missing{_seen(gap.acknowledged)}") for gap in state.gaps
    ]
    rows += [(a.opened, f"refused: {a.text}") for a in state.open_alarms if a.cause == "refused"]
    if not rows:
        return joined()
    items = [
        piece
        for what, words in rows[-TROUBLES:]
        for piece in (tag("dt", lines(what)), tag("dd", lines(words)))
    ]
    heading = tag("h2", "Batches that have not come, or were refused")
    return tag("section", heading, tag("dl", *items), class_="card", id="trouble")


def _seen(text: str) -> str:
    return f" (acknowledged: {text})" if text else ""


def _cautions(page: Page) -> Markup:
    """Say once what makes the numbers of batches less sure."""
    if not page.cautions:
        return joined()
    items = []
    for each in page.cautions:
        where = f"{counted(each.batches, 'batch')}, last {each.last}"
        items += [tag("dt", lines(where)), tag("dd", lines(each.message))]
    return tag("section", tag("h2", "Read with care"), tag("dl", *items), class_="card", id="cautions")


def _distances(page: Page) -> Markup:
    legend = [tag("li", sign(decision), words) for decision, words in _MEANINGS.items()]
    legend += [
        tag("li", tag("span", class_="swatch"), "tolerance, and what is uncertain about it (95 %)"),
        tag("li", tag("span", class_="swatch line"), "mean of all batches so far"),
        tag("li", tag("span", class_="swatch red"), "an alarm is open"),
    ]
    if page.missing:
        legend.append(tag("li", tag("span", class_="swatch missing"), "no batch came"))
    flags = [
        tag(
            "li",
            tag("b", flag.letter),
            lines(f"{flag.event.key or flag.event.at[:10]} "),
            lines(flag.event.text or flag.event.kind),
        )
        for flag in page.flags
    ]
    parts: list[Content] = [tag("h2", "Distance to what was accepted")]
    if page.shared > 1:
        told = f"Each mark stands for {page.shared} neighbouring batches, with the worst of their verdicts."
        parts.append(tag("p", told, class_="quiet"))
    parts += [
        tag("div", time_line(page, 860.0, 300.0), class_="wide"),
        tag("div", time_line(page, 360.0, 260.0), class_="narrow"),
        tag("ul", *legend, class_="legend"),
    ]
    if flags:
        parts.append(tag("ul", *flags, class_="flags"))
    return tag("section", *parts, class_="card", id="distances")


def _likenesses(page: Page) -> Markup:
    """Show what batches are like, where other data than the reference were accepted: a season can be seen."""
    if not page.likenesses:
        return joined()
    legend = [tag("li", like_sign(k), lines(each.name)) for k, each in enumerate(page.likenesses)]
    # No more than so many are drawn, so there may be others.
    rest = "the reference" + (" or other accepted data" if len(page.likenesses) == LIKENESSES else "")
    return tag(
        "section",
        tag("h2", "What batches are like"),
        tag("p", f"How much of each is like accepted data; the rest is like {rest}.", class_="quiet"),
        tag("div", like_strip(page, 860.0, 150.0), class_="wide"),
        tag("div", like_strip(page, 360.0, 150.0), class_="narrow"),
        tag("ul", *legend, class_="legend"),
        class_="card",
        id="like",
    )


def _stream(page: Page) -> Markup:
    state = page.state
    last = state.told[-1]
    about = "the population of the reference" if state.population else "this reference"
    mean = f"{number(last.mean)}, 95 % interval at all times {_interval(last.mean_low, last.mean_high)}"
    return tag(
        "section",
        tag("h2", "Evidence of drift"),
        tag("div", evidence_strip(page, 860.0, 150.0), class_="wide"),
        tag("div", evidence_strip(page, 360.0, 150.0), class_="narrow"),
        tag(
            "dl",
            *(tag("dt", "now"), tag("dd", lines(evidence_words(last, state)))),
            *(tag("dt", "mean distance"), tag("dd", lines(mean))),
            *(tag("dt", "relative to"), tag("dd", about)),
        ),
        class_="card",
        id="evidence",
    )


def _windows(page: Page) -> Markup:
    rows = [
        tag(
            "tr",
            tag("td", window.name, role="cell", class_="said"),
            _cell("distance", estimated(window.distance)),
            _cell("95 % interval", _interval(window.low, window.high)),
            _cell("of", f"{window.rows} rows of {counted(window.batches, 'batch')}"),
            role="row",
        )
        for window in page.windows
    ]
    table = _table(("", "distance", "95 % interval", "of"), rows)
    return tag("section", tag("h2", "The last days together"), table, class_="card", id="windows")


def _promises(state: State) -> Markup:
    about = "this reference file, with the tolerance as it was measured"
    if state.population:
        about = "the population that the reference was drawn from"
    rows = [
        (
            "each batch",
            f"Called FAR where it is proven to be beyond the tolerance; {state.spending.sentence()}.",
        ),
        (
            "the last ones",
            f"Up to {state.window} taken together where the last alone proves nothing: within or beyond, "
            "each said falsely with at most the level of the batch.",
        ),
        (
            "all together",
            f"An alarm where the evidence reaches {state.spending.levels.line:.4g}; relative to {about}.",
        ),
        ("an alarm ends", "When a batch, or all since, are proven to be within the tolerance again."),
        ("expected", f"{state.calendar.sentence()}."),
    ]
    items = [piece for what, words in rows for piece in (tag("dt", lines(what)), tag("dd", lines(words)))]
    return tag("section", tag("h2", "What is promised"), tag("dl", *items), class_="card")


def _batches(page: Page, links: Mapping[str, str] | None) -> Markup:
    names = ("batch", "verdict", "distance", "95 % interval", "rows", "what moved, and notes")
    rows = [_row(told, _address(told, links)) for told in page.listed]
    parts: list[Content] = [tag("h2", "Batches, newest first"), _table(names, rows[:OPEN])]
    if len(rows) > OPEN:
        earlier = tag("summary", f"{counted(len(rows) - OPEN, 'batch')} before these")
        parts.append(tag("details", earlier, _table(names, rows[OPEN:])))
    if len(page.state.told) > len(page.listed):
        left = len(page.state.told) - len(page.listed)
        parts.append(tag("p", f"{left} earlier ones are in the file, and not listed here.", class_="quiet"))
    return tag("section", *parts, class_="card batches", id="batches")


def _row(told: Told, address: str) -> Markup:
    batch = told.batch
    said = [moved.words for moved in batch.columns if moved.words][:3]
    if told.decision is Decision.FAR and not said:
        said = [*batch.reasons(told.level, facts=3)]
    said += [words for _, words in batch.facts if words not in said]
    if told.by > 1:
        said.append(f"{told.side} the tolerance, with the {counted(told.by - 1, 'batch')} before it")
    link = (" ", tag("a", "report", href=address)) if address else ()
    return tag(
        "tr",
        tag("td", lines(batch.key), role="cell", class_="key"),
        tag("td", sign(told.word), told.word, role="cell", class_="key"),
        _cell("distance", estimated(batch.distance)),
        _cell("95 % interval", _interval(batch.low, batch.high)),
        _cell("rows", str(batch.n)),
        tag("td", lines("; ".join(said)), *link, role="cell", class_="said"),
        role="row",
    )


def _table(names: Sequence[str], rows: Sequence[Markup]) -> Markup:
    """Return a table that stays one for screen readers where a narrow page shows its rows as cards."""
    head = tag("tr", *(tag("th", name, role="columnheader", scope="col") for name in names), role="row")
    parts = tag("thead", head, role="rowgroup"), tag("tbody", *rows, role="rowgroup")
    return tag("table", *parts, role="table", class_="cards")


def _cell(label: str, value: str) -> Markup:
    """Return a value that keeps the name of its column where the page is narrow."""
    return tag("td", value, role="cell", class_="number", data_label=label)


def _address(told: Told, links: Mapping[str, str] | None) -> str:
    """Return where the page about a batch is; a path is quoted, so it is read as nothing else."""
    if links is not None:
        return links.get(told.batch.key, "")
    return quote(told.batch.report) if is_inside(told.batch.report) else ""


def is_inside(report: str) -> bool:
    """Tell whether a report is in the folder of the monitor; only such ones are linked and served.

    >>> [is_inside(name) for name in ("a.html", "days/a.html", "../a.html", "/etc/a.html", "//x.org/a", "")]
    [True, True, False, False, False, False]
    """
    path = PurePosixPath(report.replace("\\", "/"))
    return bool(report) and not path.is_absolute() and ".." not in path.parts


def link_to_report(key: str) -> str:
    """Return the address of the page about a batch on a server."""
    return f"/report/{quote(key, safe='')}"


def _interval(low: float, high: float) -> str:
    return "not available" if math.isnan(low) else f"{number(low)} to {number(high)}"
