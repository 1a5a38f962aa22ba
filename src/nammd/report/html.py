"""One self-contained page: `write_report`.

The page asks the network for nothing and runs no script; a content security policy in the page itself says
so to the browser. Everything that comes from the data is escaped by the template engine, and figures
are images, in which no text from the data occurs.
"""

from __future__ import annotations

import base64
import math
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nammd.errors.addresses import shown
from nammd.errors.writing import write_text
from nammd.explaining.writing import percent
from nammd.report.builder import ReportProgress, build
from nammd.report.drawing import Scale, areas
from nammd.report.model import Bars, Distance, ReportModel
from nammd.report.style import themed
from nammd.results import estimated, number, share_of, with_error
from nammd.results.wrapping import wrapped
from nammd.tolerances.verdict_words import like_in_words

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.axes import Axes


def write_report(
    result: Any, path: str | Path, progress: ReportProgress | None = None, command: str | None = None
) -> Path:
    """Write a report on a result: one HTML file that needs nothing else.

    Parameters
    ----------
    result : Verdict, ClosenessResult or Estimate
        The result; it carries the data that it was made from. The page shows a few rows of them.
    path : str or Path
        The file to write. It is complete or not there at all; one that is there is replaced.
    progress : callable, optional
        Called as ``progress(done, total, what)`` before every step, and once at the end.
    command : str, optional
        The command that gives the report again; by default it is Python code.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.report import write_report
    >>> x, y = np.random.default_rng(0).normal(size=(2, 100, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(nammd.distance(x, y), f"{folder}/report.html").read_text(encoding="utf-8")
    >>> page[:15]
    '<!doctype html>'
    """
    path = Path(path)
    require_place(path)
    templates = environment()
    model = build(result, progress)
    if command is not None:
        model = replace(model, reproduce=command)
    write_text(path, render(model, templates))
    return path


def require_place(path: Path) -> None:
    """Refuse a file that cannot be written: before the work, not after it."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write the report {shown(path)}: there is no folder {shown(path.parent)}; create it first"
        )
    if path.is_dir():
        raise IsADirectoryError(f"cannot write the report {path}: it is a folder; give the name of a file")


def render(model: ReportModel, templates: Environment | None = None) -> str:
    """Return the page of a report.

    Parameters
    ----------
    model : ReportModel
        What `build` worked out.
    templates : jinja2.Environment, optional
        Where the template comes from; by default the one of this package.

    Returns
    -------
    str
        A whole HTML document.
    """
    from nammd.report.figures import interval_plot, map_plot, scales_plot, witness_plot

    page = (
        (templates or environment())
        .get_template("report.html.j2")
        .render(
            model=model,
            scale=Scale.of(model.contributions),
            interval_image=_image(interval_plot(model)),
            interval_words=_interval_words(model.distance),
            scales_image=_image(scales_plot(model)) if model.distance.scales else None,
            scales_words="; ".join(f"at {each.name}: {each.found}" for each in model.distance.scales),
            witness_image=_image(witness_plot(model)),
            map_image=None if model.map is None else _image(map_plot(model)),
        )
    )
    # Lone surrogates, which broken files can bring into Python, do not exist in UTF-8.
    return page.encode("utf-8", "replace").decode("utf-8")


@cache  # templates are compiled when they are first used
def environment() -> Environment:
    """Return where the templates come from, or say what is missing for it."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError(
            "reports need Jinja2, which is not installed; run: pip install nammd[app]"
        ) from error
    made = Environment(
        loader=PackageLoader("nammd.report"),
        autoescape=True,  # whatever the template is called
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "areas": areas,
        "number": number,
        "percent": percent,
        "pvalue": _pvalue,
        "wrapped": lambda text: Markup(wrapped(str(text))),
    }
    made.globals |= {"tolerance_words": with_error, "share_of": share_of, "like_words": like_in_words}
    made.tests["bars"] = lambda profile: isinstance(profile, Bars)
    return made


def _pvalue(value: float) -> str:
    """Write a p-value with its sign, to two digits and kept on one line."""
    if math.isnan(value):
        return "p not available"
    return "p\u00a0<\u00a00.0001" if value < 1e-4 else f"p\u00a0=\u00a0{value:.2g}"


def _image(ax: Axes) -> str:
    """Return a figure as the address of an image that is part of the page."""
    from matplotlib.figure import Figure

    content, figure = BytesIO(), ax.figure
    assert isinstance(figure, Figure)  # every picture of a page has a sheet of its own
    # Without the date, the same figure gives the same image.
    figure.savefig(content, format="svg", dpi=150, transparent=True, metadata={"Date": None})
    drawn = themed(content.getvalue().decode("utf-8"))
    return "data:image/svg+xml;base64," + base64.b64encode(drawn.encode("utf-8")).decode("ascii")


def _interval_words(distance: Distance) -> str:
    measured = distance.measured
    words = (
        f"The {distance.name} distance is {estimated(measured.value)}, with a {100 * distance.level:.3g} % "
        f"interval from {number(measured.low)} to {number(measured.high)}"
    )
    if distance.epsilon is None:
        return words + "."
    limit = with_error(distance.epsilon, distance.epsilon_error)
    part = share_of(measured.value, distance.epsilon, distance.limit)
    return f"{words}; the {distance.limit} is {limit}, so it is {part}."
