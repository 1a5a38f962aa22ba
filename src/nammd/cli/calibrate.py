"""``nammd calibrate`` fixes what is close enough, and ``nammd accept`` adds to it."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nammd.cli.columns import Allow, FactShareOption, FailOn, NegligibleOption, facts, negligible
from nammd.cli.computing import engine_of
from nammd.cli.data import Inputs, Told, open_files
from nammd.cli.options import DataOptions, Exact, KernelOptions, OutputOptions, ScalesName
from nammd.cli.output import deliver, refuse_overwriting, require_folder
from nammd.cli.paths import place, require_replaceable, save_tolerance, short_names
from nammd.cli.progress import Working

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance


class Kind(StrEnum):
    """The perturbations."""

    noise = "noise"
    flips = "flips"
    missing = "missing"


def calibrate(
    reference: Annotated[
        Path,
        typer.Argument(parser=place, metavar="REFERENCE", help="The data that others will be compared with."),
    ],
    accepted: Annotated[
        list[Path] | None,
        typer.Argument(
            parser=place, metavar="[ACCEPTED]...", help="Data that differ and are still acceptable."
        ),
    ] = None,
    target: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the tolerance.")
    ] = Path("tolerance.json"),
    force: Annotated[
        bool, typer.Option("--force", help="Replace FILE even if it is something else than this tolerance.")
    ] = False,
    noise: Annotated[
        float | None,
        typer.Option(metavar="LEVEL", help="Accept a perturbation of this size, say 0.3."),
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(
            help="The perturbation: noise of so many standard deviations, or such a share of categories "
            "drawn anew (flips) or of values removed (missing)."
        ),
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Accept what changes within REFERENCE by itself.")
    ] = False,
    blocks: Annotated[
        int | None,
        typer.Option(metavar="N", help="With --split: into how many consecutive blocks; 4 by default."),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="KIND=SHARE",
            help="What is negligible for the whole table: missing=0.05 (of all values), noise=0.1 (standard "
            "deviations) or flips=0.05 (of all categories); or a distance.",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="How many rows candidates will have; by default as many as REFERENCE."
        ),
    ] = None,
    ball: Annotated[
        bool,
        typer.Option(
            "--ball", help="Let ACCEPTED say how far candidates may be, in any direction, and not where."
        ),
    ] = False,
    scales: Annotated[
        ScalesName,
        typer.Option(
            help="Compare candidates at finer scales than the bandwidth too, where rounding, spikes and "
            "split clusters show, or at the bandwidth alone."
        ),
    ] = ScalesName.all,
    allowed: NegligibleOption = None,
    fail_on: FailOn = None,
    allow: Allow = None,
    fact_share: FactShareOption = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Compare this column although it alone tells the data apart, or rows are ordered by it.",
        ),
    ] = None,
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Write a tolerance within which nearly every fault is."),
    ] = False,
    exact: Exact = False,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Fix what "close enough" means, and write it to a file for 'nammd check'.

    For example:
        nammd calibrate train.parquet accepted.parquet -o tolerance.json
        nammd calibrate train.parquet week-1.parquet week-2.parquet -o tolerance.json
        nammd calibrate train.parquet -o tolerance.json
        nammd calibrate train.parquet --noise 0.3 -o tolerance.json

    There are three ways; try them in this order. With ACCEPTED, datasets that are known to be acceptable:
    candidates may be like REFERENCE, like any of them, or like a mixture of these, up to what is negligible;
    see --margin and --rows. With REFERENCE alone, or --split: what "no change" looks like between blocks of
    its consecutive rows, which should be in the order of time. With --noise: the distance that a controlled
    perturbation of REFERENCE makes; choose the largest that is still negligible.

    What is negligible is by default the distance of 2 % of all values missing, or what candidates of --rows
    without any fault are proven to be within with probability 0.9, whichever is larger. With --ball the
    distance of the farthest ACCEPTED is the tolerance, in every direction, and its sampling error counts.

    A tolerance that would mean nothing is refused, and the message says what to do: where a column alone
    tells ACCEPTED from REFERENCE, where rows are sorted by a column, or where nearly everything would be
    within it.

    Beside the joint distance every column has a tolerance of its own: it may be anywhere between what was
    accepted for it, up to what is negligible; see --negligible. And the joint distance has one at finer
    scales, down to a sixteenth of the bandwidth: 5 % of rows elsewhere; see --scales.

    The file is readable JSON. It holds the columns with their scaling, the kernel, the tolerance, and where
    all of that came from; of each ACCEPTED up to 10 000 rows as scaled numbers, and of each column how many
    rows have which value. No rows of REFERENCE are in it.

    Exit codes: 0 done, 2 error.
    """
    ways = {"ACCEPTED": bool(accepted), "--noise": noise is not None, "--split": split}
    if sum(ways.values()) > 1:
        given = " and ".join(way for way, is_given in ways.items() if is_given)
        raise ValueError(
            "say what is acceptable in one way: accepted files, --noise LEVEL or --split, "
            f"not {given} together"
        )
    if split and not (margin is None and rows is None):
        raise ValueError("--split says what is negligible; leave --margin and --rows out")
    split = split or not (any(ways.values()) or margin is not None or rows is not None)
    if kind is not None and noise is None:
        raise ValueError("--kind says which perturbation --noise LEVEL makes; give both")
    if not accepted and ball:
        raise ValueError("--ball says what ACCEPTED stands for; give accepted files")
    if noise is not None and not (margin is None and rows is None):
        raise ValueError("--noise says what is negligible; leave --margin and --rows out")
    if ball and not (margin is None and rows is None):
        raise ValueError("with --ball the accepted files set the margin; leave --margin and --rows out")
    if blocks is not None and not split:
        raise ValueError("--blocks says how --split divides the reference; give both")
    rules = facts(fail_on, allow, fact_share)
    require_folder(target)
    require_replaceable(target, force)
    refuse_overwriting([target], [reference, *(accepted or [])])
    with Working(quiet=output.json) as working:
        paths = [("reference", reference), *(("accepted", path) for path in accepted or [])]
        inputs = open_files(paths, None, data, kernel, working)
        if not accepted:
            inputs.require_rows("--split" if split else "--noise")
        working.step("Measuring what is acceptable")
        how: dict[str, Any] = {
            "engine": engine_of(kernel, working, inputs),
            "anyway": anyway,
            "space": inputs.options,
        }
        how |= {"scales": scales.value, "exact": exact}
        how |= inputs.grouping.options
        # Where rows belong together, columns have no tolerances of their own unless somebody insists.
        how["negligible"] = None if not allowed and inputs.grouping else negligible(allowed)
        if noise is None:
            how["keep"] = keep or ()
        elif keep:
            raise ValueError("--keep is for ACCEPTED and --split; with --noise there is nothing to keep")
        if not (split or noise is not None):
            how |= {"how": "ball" if ball else "hull", "margin": _margin(margin), "rows": rows}
        tolerance = _tolerance(inputs, noise, kind, blocks, split, how)
        tolerance = tolerance.with_facts(
            fail_on=rules["fail_on"], allow=rules["allow"], share=rules["fact_share"]
        )
        save_tolerance(tolerance, target, force)
    deliver(
        "calibrate",
        tolerance,
        # The lines of a tolerance name the columns left out; what is said again is how to compare them.
        Told(replace(inputs, tolerance=tolerance), tolerance.space),
        output,
        rows=[("written to", str(target))],
        fields={"output": str(target)},
    )


def _tolerance(
    inputs: Inputs,
    noise: float | None,
    kind: Kind | None,
    blocks: int | None,
    split: bool,
    how: dict[str, Any],
) -> Tolerance:
    from nammd.tolerances.tolerance import Tolerance

    reference, *accepted = inputs.files
    x = reference.dataset
    if not (split or noise is not None):
        named = dict(
            zip(short_names([file.path for file in accepted]), (f.dataset for f in accepted), strict=True)
        )
        return Tolerance.from_reference(x, named, **how)
    if noise is not None:
        perturbed = None if kind is None else kind.value
        return Tolerance.from_noise(x, level=noise, kind=perturbed, rng=inputs.seed, **how)
    number = 4 if blocks is None else blocks
    return Tolerance.from_split(x, n_blocks=number, rng=inputs.seed, **how)


def _margin(given: str | None) -> Any:
    """Return what is negligible, as `Tolerance.from_reference` takes it."""
    if given is None:
        return None
    kind, equals, share = given.partition("=")
    try:
        return {kind.strip(): float(share)} if equals else float(given)
    except ValueError:
        raise ValueError(f"--margin is a distance, or such as missing=0.05, not {given!r}") from None


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
