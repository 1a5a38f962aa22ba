"""The figure of the accuracy of sketches, as SVG: the same numbers give the same file, byte by byte."""

from __future__ import annotations

import math
from typing import Any

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 20, 20, 56
_COLOURS = ("#1b6ca8", "#c2571a")


def figure(stored: dict[str, Any]) -> str:
    """Return a plot of measured and stated errors over the number of features, on logarithmic axes."""
    sizes = [row["features"] for row in stored["kernels"][0]["sizes"]]
    values = [row[kind] for one in stored["kernels"] for row in one["sizes"] for kind in ("error", "stated")]
    decades = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def across(size: float) -> float:
        share = math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def down(value: float) -> float:
        share = (math.log10(value) - decades[0]) / (decades[1] - decades[0])
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="13" fill="#222">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for size in sizes:
        x = across(size)
        parts.append(_line([(x, _TOP), (x, _HEIGHT - _BOTTOM)], "#e4e4e4"))
        parts.append(_text(x, _HEIGHT - _BOTTOM + 18, str(size), "middle"))
    for power in range(decades[0], decades[1] + 1):
        y = down(10.0**power)
        parts.append(_line([(_LEFT, y), (_WIDTH - _RIGHT, y)], "#e4e4e4"))
        parts.append(_text(_LEFT - 8, y + 4, f"{10.0**power:g}", "end"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, "number of features", "middle"))
    parts.append(
        f'<text transform="translate(16 {(_TOP + _HEIGHT - _BOTTOM) / 2:.0f}) rotate(-90)" '
        'text-anchor="middle">error of the distance</text>'
    )
    for number, (one, colour) in enumerate(zip(stored["kernels"], _COLOURS, strict=True)):
        for kind, dash in (("stated", "6 4"), ("error", "")):
            points = [(across(row["features"]), down(row[kind])) for row in one["sizes"]]
            parts.append(_line(points, colour, 2, dash))
            if kind == "error":
                parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points]
        y = _TOP + 20 + 20 * number
        parts.append(_line([(400, y - 4), (430, y - 4)], colour, 2))
        parts.append(_text(438, y, f"{one['kernel']}: measured"))
    y = _TOP + 60
    parts.append(_line([(400, y - 4), (430, y - 4)], "#555", 2, "6 4"))
    parts.append(_text(438, y, "as the results state it"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(points: list[tuple[float, float]], colour: str, width: int = 1, dash: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>'


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
