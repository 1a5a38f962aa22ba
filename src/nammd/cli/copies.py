"""``nammd copies``: rows of a dataset that are rows of another one, or nearly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nammd.cli.data import Told, open_files
from nammd.cli.options import Alpha, DataOptions, KernelOptions, OutputOptions, ToleranceFile, require_shares
from nammd.cli.output import deliver
from nammd.cli.paths import place
from nammd.cli.progress import Working

Reference = Annotated[
    Path,
    typer.Argument(
        parser=place, metavar="REFERENCE", help="The rows that may have been copied: the training set."
    ),
]
Candidate = Annotated[
    Path,
    typer.Argument(
        parser=place, metavar="CANDIDATE", help="The rows that may be copies: a test set, synthetic data."
    ),
]


def copies(
    reference: Reference,
    candidate: Candidate,
    held_out: Annotated[
        Path | None,
        typer.Option(
            "--held-out",
            parser=place,
            metavar="FILE",
            help="Rows like those of the reference that are known not to be copies; by default a random half "
            "of the reference is held out.",
        ),
    ] = None,
    near: Annotated[
        float,
        typer.Option(help="How near a near-copy is: a part of the usual distance between nearest rows."),
    ] = 0.02,
    tolerance: ToleranceFile = None,
    alpha: Alpha = 0.05,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Tell how many rows of CANDIDATE are copies of rows of REFERENCE, or nearly.

    For example:
        nammd copies train.parquet test.parquet
        nammd copies train.csv synthetic.csv --held-out holdout.csv

    For leakage from a training set into a test set, and for synthetic data that repeat what a generator was
    trained on. The p-value is the chance of so many near-copies if the rows were drawn independently, like
    the held-out ones.

    Exit codes: 0 done, whatever the answer; 2 error.
    """
    require_shares(alpha=alpha, near=near)
    if kernel.kernel is not None or kernel.bandwidth is not None:
        raise ValueError("copies are found without a kernel; leave out --kernel and --bandwidth")
    with Working(quiet=output.json) as working:
        paths = [("reference", reference), ("candidate", candidate)]
        paths += [] if held_out is None else [("held out", held_out)]
        inputs = open_files(paths, tolerance, data, kernel, working)
        inputs.require_rows("nammd copies")
        if inputs.grouping:
            raise ValueError("copies are counted in single rows; leave out --group, --time and --row-weight")
        from nammd.questions.near_copies import near_copies

        working.step("Looking for near-copies")
        space = inputs.space(reference=True)
        found = near_copies(*inputs.datasets, space=space, near=near, alpha=alpha, rng=data.seed)
    deliver("copies", found, Told(inputs, space), output)
