"""``nammd compare`` and ``nammd rank`` tell which of several datasets is nearer to a reference."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nammd.cli.computing import engine_of
from nammd.cli.data import Told, open_files
from nammd.cli.options import (
    Alpha,
    DataOptions,
    Exact,
    HtmlFile,
    KernelOptions,
    OutputOptions,
    ToleranceFile,
    require_shares,
)
from nammd.cli.output import deliver, refuse_overwriting, require_folder
from nammd.cli.paths import place
from nammd.cli.progress import Working

if TYPE_CHECKING:
    from nammd.results import Paged

Reference = Annotated[
    Path, typer.Argument(parser=place, metavar="REFERENCE", help="The data that others are compared with.")
]


class Alternative(StrEnum):
    """What a comparison is to show of B, against A."""

    greater = "greater"
    less = "less"
    two_sided = "two-sided"


def compare(
    reference: Reference,
    a: Annotated[Path, typer.Argument(parser=place, metavar="A", help="One dataset.")],
    b: Annotated[Path, typer.Argument(parser=place, metavar="B", help="Another: is it farther away?")],
    tolerance: ToleranceFile = None,
    alternative: Annotated[
        Alternative,
        typer.Option(help="What is to be shown: that B is farther than A, nearer, or either."),
    ] = Alternative.greater,
    alpha: Alpha = 0.05,
    html: HtmlFile = None,
    exact: Exact = False,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Tell whether B is farther from REFERENCE than A is.

    For example:
        nammd compare train.parquet last-week.parquet this-week.parquet
        nammd compare real.csv generator-1.csv generator-2.csv --alternative two-sided

    Both distances are estimates, and both depend on the rows of REFERENCE; the test takes account of
    that. The p-value is the chance of such a difference if B were no farther away than A; below --alpha
    that is rejected.

    Exit codes: 0 done, whatever the answer; 2 error.
    """
    require_shares(alpha=alpha)
    require_folder(html)
    refuse_overwriting([html], [reference, a, b, tolerance])
    with Working(quiet=output.json) as working:
        paths = [("reference", reference), ("a", a), ("b", b)]
        inputs = open_files(paths, tolerance, data, kernel, working)
        from nammd.questions.comparison import compare_pairs

        working.step("Comparing two distances")
        x, first, second = inputs.datasets
        space = inputs.space()
        result = compare_pairs(
            (x, first),
            (x, second),
            space=space,
            alternative=alternative.value,
            alpha=alpha,
            exact=exact,
            engine=engine_of(kernel, working, inputs),
        )
    deliver("compare", result, Told(inputs, space), output, rows=_written(result, html))


def rank(
    reference: Reference,
    candidates: Annotated[
        list[Path], typer.Argument(parser=place, metavar="C...", help="The datasets to order.")
    ],
    tolerance: ToleranceFile = None,
    alpha: Alpha = 0.05,
    html: HtmlFile = None,
    exact: Exact = False,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Order datasets by their distance from REFERENCE, the nearest first.

    For example:
        nammd rank train.parquet week-*.parquet
        nammd rank real.npy generator-1.npy generator-2.npy --json

    Each distance has its 95 % interval. For every two candidates a test says whether their order is more
    than chance; the p-values are adjusted for the number of such tests (Holm's method), so that with
    probability 1 - alpha none of the orders called significant is wrong.

    Exit codes: 0 done, 2 error.
    """
    twice = [str(path) for path, times in Counter(candidates).items() if times > 1]
    if twice:
        raise ValueError(f"{twice[0]!r} is given twice; name each candidate once")
    require_shares(alpha=alpha)
    require_folder(html)
    refuse_overwriting([html], [reference, *candidates, tolerance])
    with Working(quiet=output.json) as working:
        paths = [("reference", reference), *(("candidate", path) for path in candidates)]
        inputs = open_files(paths, tolerance, data, kernel, working)
        from nammd.questions.ranking import rank as ranked

        working.step(f"Ranking {len(candidates)} candidates")
        x, *others = inputs.datasets
        space = inputs.space(reference=True)
        result = ranked(
            x,
            {str(path): dataset for path, dataset in zip(candidates, others, strict=True)},
            space=space,
            alpha=alpha,
            exact=exact,
            engine=engine_of(kernel, working, inputs),
        )
    deliver("rank", result, Told(inputs, space), output, rows=_written(result, html))


def _written(result: Paged, html: Path | None) -> list[tuple[str, str]]:
    """Write a page about a result, if one is asked for, and return the line that says so."""
    return [] if html is None else [("report", str(result.report(html)))]
