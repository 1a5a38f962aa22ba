"""``nammd distance``, ``test``, ``plan`` and ``copies``: questions about one pair of datasets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

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
    ScalesName,
    ToleranceFile,
    require_shares,
)
from nammd.cli.output import deliver, refuse_overwriting, require_folder
from nammd.cli.paths import place
from nammd.cli.progress import Working

First = Annotated[Path, typer.Argument(parser=place, metavar="A", help="One dataset.")]
Second = Annotated[Path, typer.Argument(parser=place, metavar="B", help="The other dataset.")]

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


class Method(StrEnum):
    """The methods of the two-sample test."""

    nammd = "nammd"
    mmd = "mmd"
    nammd_fuse = "nammd-fuse"
    mmd_fuse = "mmd-fuse"
    mmd_agg = "mmd-agg"
    mmd_deep = "mmd-deep"
    me_mabid = "me-mabid"
    actt = "actt"
    auto_tst = "auto-tst"


def distance(
    a: First,
    b: Second,
    tolerance: ToleranceFile = None,
    html: HtmlFile = None,
    scales: Annotated[
        ScalesName,
        typer.Option(help="Give the distance at finer scales than the bandwidth too, or there alone."),
    ] = ScalesName.median,
    exact: Exact = False,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Tell how far apart the datasets A and B are.

    For example:
        nammd distance train.parquet today.parquet
        nammd distance train.csv today.csv --columns age,city --json

    The distance is the NAMMD: 0 for equal distributions, at most 1. The estimate may be slightly below 0
    where the datasets cannot be told apart. The 95 % interval says how well these rows determine it: the
    true distance is outside in 5 of 100 cases.

    Columns are scaled, and the bandwidth is chosen, by both datasets together. So distances of different
    pairs can be compared only if they were measured in the same way: with --tolerance. Instead of data both
    may be sketches of them, from 'nammd sketch'.

    Exit codes: 0 done, 2 error.
    """
    require_folder(html)
    refuse_overwriting([html], [a, b, tolerance])
    with Working(quiet=output.json) as working:
        inputs = open_files([("a", a), ("b", b)], tolerance, data, kernel, working)
        if html is not None:
            inputs.require_rows("--html")
            if inputs.sketches:
                raise ValueError("a report shows rows, and sketches keep none; leave out --html")
        from nammd.questions.distance import distance as estimated

        working.step("Measuring the distance")
        space = inputs.space()
        engine = engine_of(kernel, working, inputs)
        estimate = estimated(*inputs.datasets, space=space, scales=scales.value, exact=exact, engine=engine)
        if html is not None:
            from nammd.report import write_report

            write_report(estimate, html, progress=working.part("Writing the report"))
    rows = [("report", str(html))] if html is not None else []
    deliver("distance", estimate, Told(inputs, space), output, rows=rows)


def two_sample(
    a: Annotated[Path, typer.Argument(parser=place, metavar="A", help="One dataset.")],
    b: Second,
    tolerance: ToleranceFile = None,
    method: Annotated[
        Method, typer.Option(help="The method; nammd-fuse looks at many scales at once.")
    ] = Method.nammd,
    permutations: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="How many relabellings to compare with; 999 unless the method has a number of its own.",
        ),
    ] = None,
    alpha: Alpha = 0.05,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Tell whether A and B differ at all: a two-sample test by permutation.

    For example:
        nammd test control.csv treated.csv
        nammd test a.parquet b.parquet --permutations 9999 --seed 1

    The p-value is the chance of a difference as large as this one if both came from the same
    distribution; below --alpha that is rejected. With many rows any difference is found, however small
    and harmless. To ask whether a difference matters, use 'nammd check'.

    Columns are scaled, and the bandwidth is chosen, by both datasets together, so that nothing but the
    data can make a difference.

    Exit codes: 0 done, whatever the answer; 2 error.
    """
    require_shares(alpha=alpha)
    with Working(quiet=output.json) as working:
        inputs = open_files([("a", a), ("b", b)], tolerance, data, kernel, working)
        from nammd.questions.two_sample import two_sample_test

        working.step("Comparing with relabellings")
        # The other methods choose kernels of their own; a kernel asked for is theirs to refuse.
        asked = kernel.kernel is not None or kernel.bandwidth is not None
        single = method in (Method.nammd, Method.mmd)
        space = inputs.space()
        result = two_sample_test(
            *inputs.datasets,
            method=method.value,
            space=space,
            kernel=inputs.options["kernel"] if asked and not single else None,
            permutations=permutations,
            alpha=alpha,
            rng=data.seed,
            engine=engine_of(kernel, working, inputs),
        )
    deliver("test", result, Told(inputs, space), output)


def plan(
    a: First,
    b: Second,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="The tolerance to be decided; else that of --tolerance."),
    ] = None,
    distance: Annotated[
        float | None,
        typer.Option("--distance", "-d", help="The true distance to plan for; else that of A and B."),
    ] = None,
    power: Annotated[
        float | None, typer.Option(help="The wanted chance of a decision; 0.8 unless said otherwise.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(metavar="N", help="Tell the chance with N rows on each side instead."),
    ] = None,
    tolerance: ToleranceFile = None,
    alpha: Alpha = 0.05,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Tell how many rows a check needs, or what chance of a decision it has with so many.

    For example:
        nammd plan --epsilon 0.02 --distance 0.01 pilot-a.csv pilot-b.csv
        nammd plan --tolerance tolerance.json --rows 5000 train.parquet today.parquet

    A and B are a pilot: how much their rows vary says how many are needed. The number of rows is a
    forecast for data like these. Beside it stands a bound that holds for any data whatsoever; it is
    usually larger by orders of magnitude.

    Exit codes: 0 done, 2 error.
    """
    if power is not None and rows is not None:
        raise ValueError("give either --power, to get the rows, or --rows, to get the power, not both")
    if epsilon is None and tolerance is None:
        raise ValueError("say what is close enough with --epsilon NUMBER or --tolerance FILE")
    require_shares(epsilon=epsilon, power=power, alpha=alpha)
    with Working(quiet=output.json) as working:
        inputs = open_files([("a", a), ("b", b)], tolerance, data, kernel, working)
        from nammd.questions.distance import distance as estimated
        from nammd.questions.planning import plan as planned

        working.step("Measuring the pilot")
        engine, wanted = engine_of(kernel, working, inputs), 0.8 if power is None else power
        space = inputs.space()
        if epsilon is None:
            assert inputs.tolerance is not None
            reference, candidate = inputs.datasets
            gate = inputs.tolerance.with_reference(reference, engine=engine)
            result = gate.plan(candidate, distance, power=wanted, rows=rows, alpha=alpha)
        else:
            pilot = estimated(*inputs.datasets, space=space, engine=engine)
            working.step("Counting rows")
            result = planned(epsilon, distance, pilot=pilot, power=wanted, rows=rows, alpha=alpha)
    deliver("plan", result, Told(inputs, space), output)


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
