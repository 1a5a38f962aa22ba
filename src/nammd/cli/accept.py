"""``nammd accept`` adds data to what a tolerance accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nammd.cli.data import Told, open_files
from nammd.cli.options import DataOptions, KernelOptions, OutputOptions
from nammd.cli.output import deliver
from nammd.cli.paths import place, save_tolerance, short_names
from nammd.cli.progress import Working


def accept(
    tolerance: Annotated[
        Path, typer.Argument(parser=place, metavar="TOLERANCE", help="The file that 'nammd calibrate' wrote.")
    ],
    accepted: Annotated[
        list[Path], typer.Argument(parser=place, metavar="ACCEPTED...", help="Data that are fine after all.")
    ],
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the file, with the date.")
    ] = "",
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Add data to what a tolerance accepts: "this drift was fine".

    For example:
        nammd accept tolerance.json december.parquet --reason "as every year"

    From then on candidates may be like ACCEPTED too, or like mixtures of it with all that was accepted
    before. What is negligible stays what it was. The file is replaced.

    Exit codes: 0 done, 2 error.
    """
    with Working(quiet=output.json) as working:
        inputs = open_files([("accepted", path) for path in accepted], tolerance, data, kernel, working)
        inputs.require_rows("accept")
        assert inputs.tolerance is not None
        files = inputs.files
        named = dict(zip(short_names([file.path for file in files]), (f.dataset for f in files), strict=True))
        wider = inputs.tolerance.accepting(named, reason=reason, **inputs.grouping.options)
        save_tolerance(wider, tolerance, True)
    deliver(
        "accept",
        wider,
        Told(inputs, wider.space),
        output,
        rows=[("written to", str(tolerance))],
        fields={"output": str(tolerance)},
    )
