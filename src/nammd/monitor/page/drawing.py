"""The pictures of the page: SVG with nothing else, told apart by shape as well as by colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nammd.monitor.page.markup import Markup, joined, tag
from nammd.monitor.page.model import Mark, Multiple, Page
from nammd.monitor.stream import QUIET
from nammd.results import estimated, number
from nammd.tolerances.decision import Decision

CLOSE, FAR = Decision.CLOSE.value, Decision.FAR.value
TOP, BOTTOM, LEFT, RIGHT = 26.0, 24.0, 46.0, 10.0


@dataclass(frozen=True)
class Frame:
    """A picture with axes: what is where.

    Attributes
    ----------
    width, height : float
        Of the whole picture.
    low, high : float
        The values at the bottom and at the top.
    """

    width: float
    height: float
    low: float
    high: float
    bottom: float = BOTTOM

    def x(self, place: float) -> float:
        """Return where a place of the time line is."""
        return LEFT + 6 + place * (self.width - LEFT - RIGHT - 12)

    def y(self, value: float) -> float:
        """Return where a value is; what is out of the picture is at its edge."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.height - self.bottom - share * (self.height - self.bottom - TOP)


def time_line(page: Page, width: float, height: float) -> Markup:
    """Draw the distances with their intervals, the tolerance as a band, alarms, changes and notes."""
    marks = page.marks
    tops = [m.high for m in marks if not math.isnan(m.high)] + [
        m.epsilon + 2 * m.epsilon_error for m in marks
    ]
    spans = sorted(tops)
    # One batch that is far out must not make all the others look alike.
    high = min(spans[-1], 3 * spans[int(0.9 * (len(spans) - 1))]) * 1.06
    frame = Frame(width, height, 0.0, high)
    parts = [
        *_alarms(page, frame),
        *_missing(page, frame),
        *_scale(frame, [number(v) for v in _round_steps(high)], _round_steps(high)),
    ]
    parts += [*_tolerance(marks, frame), *_flags(page, frame), *_means(marks, frame)]
    parts += [_interval(m, frame) for m in marks] + [_mark(m, frame) for m in marks]
    parts += [_tick(frame, place, key, k, len(page.ticks)) for k, (place, key) in enumerate(page.ticks)]
    words = "The distance of every batch to what was accepted over time, with intervals, and the tolerance."
    return _picture(frame, words, parts)


def evidence_strip(page: Page, width: float, height: float) -> Markup:
    """Draw the evidence of the stream up to its alarm line, on a logarithmic scale."""
    line = page.state.line
    low, high = -line, max(line * 1.15, min(max((m.evidence for m in page.marks), default=0.0), 2 * line))
    frame = Frame(width, height, low, high, bottom=8.0)
    steps = [-line, 0.0, line]
    parts = [*_alarms(page, frame), *_scale(frame, [_power(value) for value in steps], steps)]
    parts.append(_line(frame, line, "alarm"))
    parts.append(tag("text", "alarm", x=frame.width - RIGHT, y=frame.y(line) - 4, class_="end alarm-word"))
    points = " ".join(f"{frame.x(m.place):.1f},{frame.y(m.evidence):.1f}" for m in page.marks)
    parts.append(tag("polyline", points=points, class_="evidence"))
    words = "The evidence that the stream is beyond the tolerance, and the line at which it is an alarm."
    return _picture(frame, words, parts)


def like_strip(page: Page, width: float, height: float) -> Markup:
    """Draw how much of the batches is like each accepted dataset; the rest is like the reference."""
    frame = Frame(width, height, 0.0, 1.0, bottom=8.0)
    parts = _scale(frame, ["0 %", "50 %", "100 %"], [0.0, 0.5, 1.0])
    for k, each in enumerate(page.likenesses):
        points = " ".join(f"{frame.x(place):.1f},{frame.y(share):.1f}" for place, share in each.points)
        parts.append(tag("polyline", points=points, class_=f"like like-{k}"))
    return _picture(frame, "How much of each batch is like the accepted datasets.", parts)


def small_multiple(multiple: Multiple) -> Markup:
    """Draw one column over time: its distance over its own tolerance."""
    frame = Frame(260.0, 110.0, 0.0, max(multiple.largest, 1.0) * 1.1, bottom=6.0)
    inner = [
        tag("line", x1=LEFT, x2=frame.width - RIGHT, y1=frame.y(1.0), y2=frame.y(1.0), class_="tolerance"),
        tag("text", "1", x=LEFT - 6, y=frame.y(1.0) + 4, class_="end"),
        tag(
            "polyline",
            points=" ".join(
                f"{frame.x(place):.1f},{frame.y(ratio):.1f}" for place, ratio, _ in multiple.points
            ),
            class_="evidence",
        ),
    ]
    inner += [
        _shape(FAR, frame.x(place), frame.y(ratio), 3.0) for place, ratio, proven in multiple.points if proven
    ]
    return _picture(frame, f"{multiple.name} over time; 1 is its tolerance.", inner)


def sign(word: str) -> Markup:
    """Draw the mark of a word by itself, for lists and legends."""
    mark = _shape(word, 8.0, 8.0, 5.0)
    return tag("svg", mark, viewBox="0 0 16 16", width="16", height="16", class_="sign", aria_hidden="true")


def like_sign(k: int) -> Markup:
    """Draw the line of an accepted dataset by itself, for the legend."""
    line = tag("line", x1=0, x2=30, y1=4, y2=4, class_=f"like like-{k}")
    return tag("svg", line, viewBox="0 0 30 8", class_="plot likes", aria_hidden="true")


def _picture(frame: Frame, words: str, parts: Sequence[Markup]) -> Markup:
    box = f"0 0 {frame.width:g} {frame.height:g}"
    return tag("svg", tag("title", words), *parts, viewBox=box, role="img", class_="plot")


def _alarms(page: Page, frame: Frame) -> list[Markup]:
    found = []
    for period in page.periods:
        start, end = frame.x(period.start) - 4, frame.x(period.end) + 4
        height = frame.height - TOP - frame.bottom
        found.append(
            tag("rect", x=start, y=TOP, width=max(end - start, 8.0), height=height, class_="alarmed")
        )
        # The edge above tells an alarm from other shades without its colour.
        edge = {"x1": start, "x2": max(end, start + 8.0), "y1": TOP, "y2": TOP}
        found.append(tag("line", **edge, class_="alarm-edge"))
    return found


def _missing(page: Page, frame: Frame) -> list[Markup]:
    """Draw where batches have not come."""
    found = []
    for each in page.missing:
        start, end = frame.x(each.start) - 3, frame.x(each.end) + 3
        height = frame.height - TOP - frame.bottom
        words = tag("title", f"{each.gap.name}: no batch")
        box = {"x": start, "y": TOP, "width": max(end - start, 6.0), "height": height}
        found.append(tag("rect", words, **box, class_="missing"))
    return found


def _scale(frame: Frame, labels: Sequence[str], values: Sequence[float]) -> list[Markup]:
    found = []
    for label, value in zip(labels, values, strict=True):
        found.append(_line(frame, value, "grid"))
        found.append(tag("text", label, x=LEFT - 4, y=frame.y(value) + 4, class_="end"))
    return found


def _line(frame: Frame, value: float, kind: str) -> Markup:
    at = frame.y(value)
    return tag("line", x1=LEFT, x2=frame.width - RIGHT, y1=at, y2=at, class_=kind)


def _tolerance(marks: Sequence[Mark], frame: Frame) -> list[Markup]:
    """Draw the tolerance with what is uncertain about it; it may change on the way."""
    found = []
    start = 0
    for k in range(1, len(marks) + 1):
        same = k < len(marks) and marks[k].epsilon == marks[start].epsilon
        if same:
            continue
        mark = marks[start]
        left = LEFT if start == 0 else frame.x(marks[start].place)
        right = frame.width - RIGHT if k == len(marks) else frame.x(marks[k].place)
        low, high = (frame.y(mark.epsilon + side * 1.96 * mark.epsilon_error) for side in (-1, 1))
        found.append(
            tag("rect", x=left, y=high, width=right - left, height=max(low - high, 0.0), class_="band")
        )
        at = frame.y(mark.epsilon)
        found.append(tag("line", x1=left, x2=right, y1=at, y2=at, class_="tolerance"))
        start = k
    word_at = frame.y(marks[-1].epsilon) - 5
    return [*found, tag("text", "tolerance", x=LEFT + 4, y=word_at, class_="tolerance-word")]


def _flags(page: Page, frame: Frame) -> list[Markup]:
    found = []
    for flag in page.flags:
        at = frame.x(flag.place)
        found.append(tag("line", x1=at, x2=at, y1=TOP - 4, y2=frame.height - frame.bottom, class_="flag"))
        found.append(tag("circle", cx=at, cy=TOP - 12, r=8.0, class_="flag-dot"))
        found.append(tag("text", flag.letter, x=at, y=TOP - 8, class_="middle flag-letter"))
    return found


def _means(marks: Sequence[Mark], frame: Frame) -> list[Markup]:
    points = [f"{frame.x(m.place):.1f},{frame.y(m.mean):.1f}" for m in marks if not math.isnan(m.mean)]
    return [tag("polyline", points=" ".join(points), class_="mean")] if len(points) > 1 else []


def _interval(mark: Mark, frame: Frame) -> Markup:
    if math.isnan(mark.low) or math.isnan(mark.high):
        return Markup("")
    at = frame.x(mark.place)
    return tag("line", x1=at, x2=at, y1=frame.y(mark.low), y2=frame.y(mark.high), class_=f"span {mark.word}")


def _mark(mark: Mark, frame: Frame) -> Markup:
    if math.isnan(mark.distance):
        return Markup("")
    size = 4.2 if frame.width > 500 else 3.4
    shape = _shape(mark.word, frame.x(mark.place), frame.y(mark.distance), size)
    told = f"{mark.name}: {mark.word}, distance {estimated(mark.distance)}"
    told += f" [{number(mark.low)}, {number(mark.high)}], tolerance {number(mark.epsilon)}"
    return tag("g", tag("title", told), shape, class_="mark", data_first=mark.first, data_last=mark.last)


def _shape(word: str, x: float, y: float, r: float) -> Markup:
    """Return a filled dot for CLOSE, a small ring for quiet, a cross for FAR, a diamond for UNDECIDED."""
    if word == CLOSE:
        return tag("circle", cx=x, cy=y, r=r * 0.8, class_="CLOSE")
    if word == QUIET:
        return tag("circle", cx=x, cy=y, r=r * 0.6, class_="ring")
    if word == FAR:
        return tag(
            "path", d=_path((x - r, y - r), (x + r, y + r), (x - r, y + r), (x + r, y - r)), class_="FAR"
        )
    corners = f"M{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}L{x - r:.1f} {y:.1f}Z"
    return tag("path", d=corners, class_="UNDECIDED")


def _path(*points: tuple[float, float]) -> str:
    (a, b), (c, d), (e, f), (g, h) = points
    return f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}M{e:.1f} {f:.1f}L{g:.1f} {h:.1f}"


def _tick(frame: Frame, place: float, key: str, k: int, count: int) -> Markup:
    where = "start" if k == 0 and count > 1 else "end" if k == count - 1 and count > 1 else "middle"
    at = {"start": LEFT, "end": frame.width - RIGHT}.get(where, frame.x(place))
    short = key if len(key) <= 12 else f"{key[:11]}…"
    return tag("text", short, x=at, y=frame.height - 6, class_=where)


def _round_steps(high: float) -> list[float]:
    """Return some round values from zero up to what is shown."""
    rough = high / 4
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    return [step * k for k in range(int(high / step) + 1)]


def _power(logarithm: float) -> str:
    value = math.exp(logarithm)
    return f"{value:.3g}" if value >= 1 else f"1/{1 / value:.3g}"


__all__ = [
    "Frame",
    "evidence_strip",
    "joined",
    "like_sign",
    "like_strip",
    "sign",
    "small_multiple",
    "time_line",
]
