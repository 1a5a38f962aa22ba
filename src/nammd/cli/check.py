"""``nammd check`` tells whether a candidate is close enough to the reference."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nammd.cli.computing import engine_of
from nammd.cli.data import Told, open_files
from nammd.cli.junit import junit_xml
from nammd.cli.options import (
    Alpha,
    DataOptions,
    KernelOptions,
    OutputOptions,
    ToleranceFile,
    require_shares,
)
from nammd.cli.output import deliver, print_line, refuse_overwriting, require_folder
from nammd.cli.progress import Working

if TYPE_CHECKING:
    from nammd.tolerances.verdict import Verdict

CLOSE, FAR, UNDECIDED = 0, 1, 3


class Undecided(StrEnum):
    """What an undecided check counts as."""

    ok = "ok"
    fail = "fail"


def check(
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", help="The data that others are compared with.")
    ],
    candidate: Annotated[Path, typer.Argument(metavar="CANDIDATE", help="The data in question.")],
    tolerance: ToleranceFile = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="The tolerance as a number: the largest acceptable NAMMD."),
    ] = None,
    alpha: Alpha = 0.05,
    undecided: Annotated[
        Undecided | None,
        typer.Option(help="Let an undecided check exit with 0 (ok) or 1 (fail) instead of 3."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a report with pictures: where do they differ?"),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a JUnit file, which CI systems show among the tests."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Explain the verdict and the exit code.")
    ] = False,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Tell whether CANDIDATE is close enough to REFERENCE.

    For example:
        nammd check train.parquet today.parquet --tolerance tolerance.json
        nammd check train.csv today.csv -t tolerance.json --html report.html

    There are three answers. CLOSE: it is proven that the distance is within the tolerance. FAR: it is
    proven that it is beyond. UNDECIDED: these rows prove neither; the answer then says how many rows
    would. Each proof is wrong with a probability of at most --alpha.

    The distance is the NAMMD, from 0 (equal distributions) to 1. Its 95 % interval says how well these
    rows determine it. A tolerance file from 'nammd calibrate' fixes what the distance means, once and for
    all checks; with --epsilon the scaling and the kernel are taken from REFERENCE each time.

    Instead of data both may be sketches of them, from 'nammd sketch' with the same tolerance file.

    Exit codes: 0 close, 1 far, 3 undecided (see --undecided), 2 error.
    """
    if (tolerance is None) == (epsilon is None):
        raise ValueError(
            "say what is close enough with either --tolerance FILE (see 'nammd calibrate') or "
            "--epsilon NUMBER" + (", not with both" if epsilon is not None else "")
        )
    require_shares(epsilon=epsilon, alpha=alpha)
    require_folder(html, junit)
    refuse_overwriting([html, junit], [reference, candidate, tolerance])
    started = time.perf_counter()
    with Working(quiet=output.json) as working:
        paths = [("reference", reference), ("candidate", candidate)]
        inputs = open_files(paths, tolerance, data, kernel, working)
        if html is not None:
            inputs.require_rows("--html")
        if inputs.sketches and (tolerance is None or html is not None):
            raise ValueError(_not_for_sketches(html))
        working.step("Comparing")
        space = inputs.space(reference=True)
        limit = inputs.tolerance
        if limit is None:
            from nammd.tolerances.tolerance import Tolerance

            assert epsilon is not None
            limit = Tolerance.at(epsilon, space=space)
        x, candidate_data = inputs.datasets
        verdict = limit.check(x, candidate_data, alpha, engine=engine_of(kernel, working, inputs))
        seconds = time.perf_counter() - started
        if html is not None:
            from nammd.report import write_report

            write_report(verdict, html, progress=working.part("Writing the report"))
        if junit is not None:
            from nammd.data.writing import write_text

            name = f"{candidate} is close enough to {reference}"
            write_text(junit, junit_xml(verdict, name, seconds, undecided is Undecided.ok))
    code = exit_code(verdict, undecided)
    rows = [("report", str(html))] if html is not None else []
    told = Told(inputs, space)
    deliver("check", verdict, told, output, rows=rows, fields=verdict.to_dict() | {"exit_code": code})
    if verbose and not output.json:
        print_line(f"  {verdict.meaning()} Exit code {code}.")
    raise typer.Exit(code)


def exit_code(verdict: Verdict, undecided: Undecided | None) -> int:
    """Return the exit code of a verdict."""
    if verdict.is_close:
        return CLOSE
    if verdict.is_far:
        return FAR
    return {None: UNDECIDED, Undecided.ok: CLOSE, Undecided.fail: FAR}[undecided]


def _not_for_sketches(html: Path | None) -> str:
    if html is not None:
        return "a report shows rows, and sketches keep none; leave out --html, or check the data themselves"
    return "sketches are checked with the tolerance file that they were made with; give --tolerance FILE"
