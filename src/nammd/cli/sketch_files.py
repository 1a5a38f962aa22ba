"""Sketches in place of data: recognised before anything is computed, read, and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nammd.cli.options import DataOptions, EngineName, KernelOptions

if TYPE_CHECKING:
    from nammd.questions.distance import Estimate
    from nammd.sketches import Sketch
    from nammd.tolerances.tolerance import Tolerance
    from nammd.tolerances.verdict import Verdict

TAKE_SKETCHES = ("check", "distance")
_NAMES = {"two_sample": "test"}


def look_for_sketches(command: str, paths: Sequence[Path], chosen: KernelOptions) -> None:
    """Refuse damaged sketches, sketches where rows are needed, and engines that have nothing to do."""
    command = _NAMES.get(command, command)
    for path in paths:
        if is_broken(path):
            raise ValueError(f"{path} is a damaged or incomplete sketch; copy it again, or make it anew")
    if command == "sketch":
        _require_engine(paths[0], chosen)
    sketches = [path for path in paths if is_sketch(path)]
    if not sketches:
        return
    if command == "sketch":
        raise ValueError(f"{sketches[0]} is a sketch already; give the data")
    if command not in TAKE_SKETCHES:
        raise ValueError(
            f"'nammd {command}' needs rows, and {sketches[0]} is a sketch, which keeps none; give the data. "
            "'nammd check' and 'nammd distance' take sketches"
        )
    late = {"--scheduler": chosen.scheduler, "--engine": chosen.engine}
    for option, value in late.items():
        if value not in (None, EngineName.auto, EngineName.cpu):
            raise ValueError(
                "sketches are summed already, so there is nothing to compute on a GPU or a cluster; leave "
                f"out {option}"
            )


def _require_engine(path: Path, chosen: KernelOptions) -> None:
    """Refuse what cannot make a sketch of a file, before a cluster is started for it."""
    if chosen.engine is EngineName.cuda:
        raise ValueError(
            "'nammd sketch' computes on the cores of this machine, or on a cluster with --engine dask; leave "
            "out --engine cuda (in Python, Sketch.of takes tensors on a GPU)"
        )
    if chosen.engine is EngineName.dask and path.expanduser().exists():
        from nammd.data.readers.formats import format_of

        if format_of(path.expanduser()) != "Parquet":
            raise ValueError(
                f"the workers of a cluster read Parquet, and {path} is something else; leave out --engine "
                "dask, a sketch needs little memory in any case"
            )


def is_sketch(path: Path) -> bool:
    """Tell whether a file is a sketch, by its content, without loading anything that computes."""
    return _may_be_sketch(path) and _file().is_sketch_file(path)


def is_broken(path: Path) -> bool:
    """Tell whether a file was meant to be a sketch and cannot be read."""
    return _may_be_sketch(path) and _file().is_broken_sketch(path)


def _may_be_sketch(path: Path) -> bool:
    """Tell whether a closer look is worth loading NumPy."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix == ".sketch" or file.read(2) == b"PK"


def _file() -> Any:
    from nammd.sketches import file

    return file


def are_sketches(paths: Sequence[tuple[str, Path]]) -> bool:
    """Tell whether files are sketches; refuse a sketch beside data."""
    for _, path in paths:
        if not path.expanduser().exists():
            raise FileNotFoundError(f"there is no file or folder {str(path)!r}")
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
        from nammd.questions.distance import distance

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
        from nammd.sketches.sketch import counted

        return [
            (role, f"{path}, a sketch of {counted(sketch.n, 'row')}")
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
    from nammd.tolerances.tolerance import Tolerance

    limit = None if tolerance is None else Tolerance.load(tolerance)
    return SketchFiles(paths, tuple(Sketch.load(path) for _, path in paths), limit)
