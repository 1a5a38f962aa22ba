"""``nammd sketch`` writes the sketch of a file; other commands read sketches in place of data."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nammd.cli import options
from nammd.cli.data import Space
from nammd.cli.options import DataOptions, KernelOptions, OutputOptions, ToleranceFile
from nammd.cli.output import print_facts, print_json, refuse_overwriting, require_folder
from nammd.cli.progress import Working

if TYPE_CHECKING:
    from nammd.estimate import Estimate
    from nammd.kernels import RandomFeatures
    from nammd.sketches import Sketch
    from nammd.tolerance import Tolerance
    from nammd.verdict import Verdict

FEATURES = 1024


def sketch(
    path: Annotated[Path, typer.Argument(metavar="DATA", help="The data: a file or a folder.")],
    output_file: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The sketch to write.")],
    tolerance: ToleranceFile = None,
    n_features: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=4, help=f"The number of random features, even; {FEATURES} unless said otherwise."
        ),
    ] = None,
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
    rows and no row. Sketches can be compared if they were made with the same tolerance file, --n-features
    and --seed.

    More features make distances more precise, and the file larger: 4 MB with 1024, four times that with
    twice as many.

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
    if not path.expanduser().exists():
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}")
    with Working(quiet=output.json) as working:
        space = Space.load(tolerance, data, kernel, working)
        features = _features(space, n_features, data.seed)
        working.step(f"Sketching {path}")
        from nammd.sketches import Sketch

        made = Sketch.of_file(
            path,
            features,
            encoding=space.encoding,
            threads=kernel.threads,
            progress=lambda rows: working.step(f"Sketching {path}: {rows} rows"),
            columns=options.names(data.columns, "--columns"),
            key=data.key,
            image_features=data.features,
        )
        made.save(output_file)
    _tell(made, path, output_file, output)


def _tell(made: Sketch, path: Path, output_file: Path, output: OutputOptions) -> None:
    size = output_file.stat().st_size
    if output.json:
        print_json(
            {"command": "sketch", "data": str(path), "output": str(output_file), "bytes": size}
            | {"rows": made.n, "n_features": made.features.n_features, "seed": made.features.seed}
            | {"kernel": repr(made.features.kernel)}
        )
        return
    facts = [
        ("data", f"{path}, {made.n} rows"),
        ("kernel", str(made.features)),
        ("size", f"{size / 1e6:.1f} MB"),
    ]
    print_facts(f"The sketch is in {output_file}.", facts)


def _features(space: Space, n_features: int | None, seed: int) -> RandomFeatures:
    from nammd.kernels import RandomFeatures

    if isinstance(space.kernel, RandomFeatures):
        if n_features is not None and n_features != space.kernel.n_features:
            raise ValueError(
                f"the tolerance is meant under {space.kernel}; leave out --n-features, the file fixes it"
            )
        return space.kernel
    return RandomFeatures(space.kernel, FEATURES if n_features is None else n_features, seed)


def is_sketch(path: Path) -> bool:
    """Tell whether a file is a sketch, by its content, without loading anything that computes."""
    return path.is_file() and zipfile.is_zipfile(path) and _is_sketch(path)


def _is_sketch(path: Path) -> bool:
    from nammd.sketches.file import is_sketch_file

    return is_sketch_file(path)


def are_sketches(paths: Sequence[tuple[str, Path]]) -> bool:
    """Tell whether files are sketches; refuse a sketch beside data."""
    found = [is_sketch(path) for _, path in paths]
    if any(found) and not all(found):
        a_sketch = paths[found.index(True)][1]
        data = paths[found.index(False)][1]
        raise ValueError(
            f"{a_sketch} is a sketch and {data} is not; sketch it with the tolerance file of the other: "
            f"nammd sketch {data} -o {data.stem}.sketch --tolerance FILE"
        )
    return all(found)


@dataclass(frozen=True)
class SketchFiles:
    """Sketches that have been read, and the tolerance that they are compared with."""

    paths: Sequence[tuple[str, Path]]
    sketches: tuple[Sketch, ...]
    tolerance: Tolerance | None

    def distance(self) -> Estimate:
        """Estimate the distance of both, under the kernel of the tolerance if there is one."""
        from nammd.estimate import distance

        if self.tolerance is None:
            return distance(*self.sketches)
        gate = self.tolerance.with_reference(self.sketches[0])
        return gate.distance(self.sketches[1])

    def check(self, alpha: float) -> Verdict:
        """Check the second against the first."""
        assert self.tolerance is not None
        reference, candidate = self.sketches
        return self.tolerance.check(reference, candidate, alpha)

    def facts(self) -> list[tuple[str, str]]:
        """Return a row of the printed table for each file."""
        return [
            (role, f"{path}, a sketch of {sketch.n} rows")
            for (role, path), sketch in zip(self.paths, self.sketches, strict=True)
        ]

    def notes(self) -> list[str]:
        """Return nothing: whatever happened to the data happened when they were sketched."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return what was read, ready for JSON."""
        return {
            "files": [
                {"role": role, "path": str(path), "rows": sketch.n, "sketch": repr(sketch.features)}
                for (role, path), sketch in zip(self.paths, self.sketches, strict=True)
            ]
        }


def load_sketches(
    paths: Sequence[tuple[str, Path]], tolerance: Path | None, data: DataOptions, kernel: KernelOptions
) -> SketchFiles:
    """Read sketches; options on data and kernel come too late for them."""
    late = {
        "--columns": data.columns,
        "--exclude": data.exclude,
        "--sample": data.sample,
        "--key": data.key,
        "--features": data.features,
        "--kernel": kernel.kernel,
        "--bandwidth": kernel.bandwidth,
        "--weights": kernel.weights,
    }
    for option, value in late.items():
        if value is not None:
            raise ValueError(f"{option} cannot be combined with sketches, which were made without it")
    from nammd.sketches import Sketch
    from nammd.tolerance import Tolerance

    limit = None if tolerance is None else Tolerance.load(tolerance)
    return SketchFiles(paths, tuple(Sketch.load(path) for _, path in paths), limit)
