"""``nammd sketch`` writes the sketch of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nammd.cli import options
from nammd.cli.data import grouping_asked_for, load_tolerance
from nammd.cli.options import (
    DataOptions,
    EngineName,
    KernelOptions,
    OutputOptions,
    ScalesName,
    ToleranceFile,
)
from nammd.cli.output import print_json, print_lines, print_notes, refuse_overwriting, require_folder
from nammd.cli.paths import chosen, file_of, given, place, require_sketch_or_nothing
from nammd.cli.progress import Working
from nammd.errors.addresses import local_path, not_there

if TYPE_CHECKING:
    from nammd.data.row_grouping import RowGrouping
    from nammd.kernels import RandomFeatures
    from nammd.sketches import Sketch
    from nammd.spaces import Space

FEATURES, FEWEST = 1024, 64
"""The number of features, and the smallest one: fewer hold the level of a test for few kernels only."""


def sketch(
    path: Annotated[Path, typer.Argument(parser=place, metavar="DATA", help="The data: a file or a folder.")],
    output_file: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The sketch to write.")],
    tolerance: ToleranceFile = None,
    n_features: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=FEWEST,
            help=f"The number of random features, even; {FEATURES} unless said otherwise.",
        ),
    ] = None,
    scales: Annotated[
        ScalesName,
        typer.Option(
            help="Keep sums for finer scales than the bandwidth too, where rounding, spikes and split "
            "clusters show, or for the bandwidth alone. All scales take five times the bytes."
        ),
    ] = ScalesName.median,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Write a sketch of DATA: a few megabytes that 'check' and 'distance' take in place of the data.

    For example:
        nammd sketch train.parquet -o train.sketch --tolerance tolerance.json
        nammd check train.sketch today.sketch --tolerance tolerance.json

    A sketch is made in one pass, batch by batch, so DATA may be larger than memory. It holds sums over all
    rows, or over groups of rows, and no row. Sketches can be compared if they were made with the same
    tolerance file, --n-features and --seed. With --engine dask the workers of a cluster read and sum DATA, if
    that is Parquet.

    A tolerance that was made with --group remembers the column, and so does the sketch. Rows of a group may
    stand anywhere in DATA, up to a gigabyte of it; sort larger data by group.

    More features make distances more precise, and the file larger: 4 MB with 1024, four times that with
    twice as many. With --scales all it is five times as large, 21 MB, and candidates are held against a
    tolerance at all of its scales; both sketches need that.

    Exit codes: 0 done, 2 error.
    """
    if tolerance is None:
        raise ValueError(
            "say how columns become numbers, and what counts as similar, with --tolerance FILE (see "
            "'nammd calibrate'); sketches can be compared only if that is the same for all"
        )
    if data.sample is not None:
        raise ValueError("a sketch takes every row and needs little memory; leave out --sample")
    require_folder(output_file)
    refuse_overwriting([output_file], [path, tolerance])
    require_sketch_or_nothing(output_file)
    if not local_path(file_of(path)).exists():
        raise not_there(path)
    with Working(quiet=output.json) as working:
        limit = load_tolerance(tolerance, data, kernel)
        space, grouping = limit.space, grouping_asked_for(data, limit)
        features = _features(space, n_features, data.seed)
        how: dict[str, Any] = {"space": space, "scales": scales.value, **grouping.options}
        working.step(f"Sketching {path}")
        columns = _columns(data, grouping)
        if kernel.engine is EngineName.dask:
            made = _by_workers(path, features, how, columns, working)
        else:
            how |= {"threads": kernel.threads, "columns": columns}
            made = _by_batches(path, features, how, data, working)
        made.save(output_file)
    _tell(made, path, output_file, output)


def _by_batches(
    path: Path, features: RandomFeatures, how: dict[str, Any], data: DataOptions, working: Working
) -> Sketch:
    from nammd.sketches import Sketch

    def tell(done: float, total: float | None) -> None:
        if total is None:  # the file does not say how many rows it has
            working.step(f"Sketching {path}: {done:.0f} rows")
        elif callable(working.progress):
            working.progress(done, total)

    return Sketch.of_file(
        given(path),
        features,
        **how,
        progress=tell,
        key=chosen(data.key, 0),
        query=chosen(data.query, 0),
        image_features=data.features,
    )


def _by_workers(
    path: Path, features: RandomFeatures, how: dict[str, Any], columns: list[str] | None, working: Working
) -> Sketch:
    from nammd.data.opening import open_file
    from nammd.sketches import Sketch

    dataset = open_file(path, by_workers=True, columns=columns)
    assert dataset.on_cluster  # other formats were refused before the cluster was started
    return Sketch.of(dataset, features, **how, progress=working.progress)


def _columns(data: DataOptions, grouping: RowGrouping) -> list[str] | None:
    """Return the columns to read: those that were named, and those that tell of groups and weights."""
    named = options.names(data.columns, "--columns")
    return None if named is None else [*named, *(name for name in grouping.columns if name not in named)]


def _tell(made: Sketch, path: Path, output_file: Path, output: OutputOptions) -> None:
    size, notes = output_file.stat().st_size, made.noticed.sentences(made.n)
    if output.json:
        print_json(
            "sketch",
            {"data": str(path), "output": str(output_file), "bytes": size}
            | {"rows": made.n, "n_features": made.features.n_features, "seed": made.features.seed}
            | {"kernel": repr(made.features.kernel), "scales": list(made.scales), "notes": notes}
            | _groups(made),
        )
        return
    from nammd.errors.checks import counted

    units = made.units
    lines = [("data", f"{path}, {counted(made.n, 'row')}")]
    if units is not None and units.by:
        lines.append(("groups", f"{units.count} by {units.by}"))
    if units is not None and units.weights_by:
        lines.append(("row weights", f"by {units.weights_by}"))
    if units is not None and units.split:
        lines.append(("Note", f"{units.split} groups came in several parts: sort the data by {units.by}"))
    lines.append(("kernel", str(made.features)))
    if made.finer:
        from nammd.results.scales import fractions

        # A file has half of the products, which are symmetric.
        alone = size - sum(each.nbytes // 2 + each.total.nbytes for each in made.finer)
        lines.append(("scales", f"the bandwidth, and {fractions(made.scales[1:])} of it"))
        lines.append(("size", f"{size / 1e6:.1f} MB; {alone / 1e6:.1f} MB with --scales median"))
    else:
        lines.append(("size", f"{size / 1e6:.1f} MB"))
    print_lines(f"The sketch is in {output_file}.", lines)
    print_notes(notes)


def _groups(made: Sketch) -> dict[str, Any]:
    if made.units is None:
        return {}
    units = made.units
    return {
        "groups": {
            "count": units.count,
            "by": units.by or "row",
            "split": units.split,
            "sample_weight": units.weights_by or None,
        }
    }


def _features(space: Space, n_features: int | None, seed: int) -> RandomFeatures:
    from nammd.kernels import RandomFeatures

    if isinstance(space.kernel, RandomFeatures):
        fixed = space.kernel
        # A seed of 0 is what nobody asked for.
        others = {"--n-features": (n_features, fixed.n_features), "--seed": (seed or None, fixed.seed)}
        for option, (asked, is_fixed) in others.items():
            if asked is not None and asked != is_fixed:
                raise ValueError(
                    f"the tolerance is meant under {fixed}; leave out {option}, the file fixes it"
                )
        return fixed
    return RandomFeatures(space.kernel, FEATURES if n_features is None else n_features, seed)
