"""From the names of files to encoded samples, and what happened to them on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nammd.cli import options
from nammd.cli.computing import engine_of
from nammd.cli.options import DataOptions, EngineName, KernelName, KernelOptions
from nammd.cli.progress import Working

if TYPE_CHECKING:
    from nammd.data.arrays import FloatArray
    from nammd.data.encoding import Encoding
    from nammd.data.readers import Loaded
    from nammd.engines import Engine
    from nammd.kernels import Kernel
    from nammd.tolerances.tolerance import Tolerance


@dataclass(frozen=True)
class File:
    """A file that has been read, and the part that it plays."""

    role: str
    path: Path
    loaded: Loaded

    @property
    def data(self) -> Any:
        """The table or array."""
        return self.loaded.data

    def fact(self) -> tuple[str, str]:
        """Return a row of the printed table."""
        one = self.loaded
        rows = f"{one.rows} of {one.total_rows}" if one.sampled else f"{one.rows}"
        return self.role, f"{self.path}, {rows} rows"

    def notes(self) -> list[str]:
        """Return what the reader has to say."""
        return [f"{self.path}: {note}" for note in self.loaded.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return what was read, ready for JSON."""
        one = self.loaded
        return {
            "role": self.role,
            "path": str(self.path),
            "rows": one.rows,
            "total_rows": one.total_rows,
            "sampled": one.sampled,
        }


def read_files(
    paths: Sequence[tuple[str, Path]], chosen: DataOptions, working: Working, by_workers: bool = False
) -> tuple[File, ...]:
    """Read files, each with its role; a wrong name is noticed before the first of them is read.

    With `by_workers`, Parquet is left to the workers of the cluster, unless rows are drawn from it.
    """
    columns = options.names(chosen.columns, "--columns")
    for _, path in paths:
        if not path.expanduser().exists():
            raise FileNotFoundError(f"there is no file or folder {str(path)!r}")
    working.step("Loading the readers")
    from nammd.data.readers import read
    from nammd.data.readers.reading import scan

    files = []
    for number, (role, path) in enumerate(paths):
        working.step(f"Reading {path}")
        scanned = scan(path, columns=columns) if by_workers and chosen.sample is None else None
        if scanned is not None:
            files.append(File(role, path, scanned))
            continue
        loaded = read(
            path,
            columns=columns,
            sample=chosen.sample,
            # A draw of its own for each file: equal rows of files in equal order would not be independent.
            rng=[chosen.seed, number] if number else chosen.seed,
            key=chosen.key,
            features=chosen.features,
        )
        files.append(File(role, path, loaded))
    return tuple(files)


@dataclass(frozen=True)
class Space:
    """Where distances are measured: how columns become numbers, and what counts as similar.

    Attributes
    ----------
    encoding : Encoding
        How columns become numbers.
    kernel : Kernel
        What counts as similar.
    engine : Engine
        Who computes.
    weights : dict of str to float or None
        How much columns count, as asked for; those excluded are among them, with 0.
    tolerance : Tolerance or None
        The tolerance that fixed all of that, if one did.
    """

    encoding: Encoding
    kernel: Kernel
    engine: Engine
    weights: dict[str, float] | None
    tolerance: Tolerance | None = None

    @classmethod
    def load(cls, path: Path, data: DataOptions, chosen: KernelOptions, working: Working) -> Space:
        """Take it from a tolerance file, which leaves nothing to choose."""
        fixed = {
            "--exclude": data.exclude,
            "--kernel": chosen.kernel,
            "--bandwidth": chosen.bandwidth,
            "--weights": chosen.weights,
        }
        for option, value in fixed.items():
            if value is not None:
                raise ValueError(f"{option} cannot be combined with --tolerance, whose file fixes it")
        from nammd.tolerances.tolerance import Tolerance

        tolerance = Tolerance.load(path)
        return cls(tolerance.encoding, tolerance.kernel, engine_of(chosen, working), None, tolerance)

    @classmethod
    def fit(
        cls,
        reference: File,
        data: DataOptions,
        chosen: KernelOptions,
        working: Working,
        pooled_with: File | None = None,
    ) -> Space:
        """Fit the encoding and the bandwidth on the reference, or on both samples alike."""
        from nammd.data.encoding import Encoding
        from nammd.kernels import Gaussian, Laplace

        weights = column_weights(reference, data, chosen)
        table = reference.data if pooled_with is None else _pooled(reference.data, pooled_with.data)
        encoding = Encoding.fit(table, weights=weights, name=str(reference.path))
        family = Laplace if chosen.kernel is KernelName.laplace else Gaussian
        kernel: Kernel
        if chosen.bandwidth is None:
            kernel = family.median(
                *(encoding.transform(f.data, str(f.path)) for f in (reference, pooled_with) if f)
            )
        else:
            kernel = family(chosen.bandwidth)
        return cls(encoding, kernel, engine_of(chosen, working), weights)

    def encode(self, file: File) -> FloatArray:
        """Return the rows of a file as points."""
        from nammd.questions.distance import MIN_ROWS

        points = self.encoding.transform(file.data, str(file.path))
        if len(points) < MIN_ROWS:
            raise ValueError(f"{file.path} has {len(points)} rows; at least {MIN_ROWS} are needed")
        return points

    def notes(self) -> list[str]:
        """Say which columns were left out without being asked to."""
        if self.tolerance is not None:
            return []
        asked = self.weights or {}
        return [str(entry) for entry in self.encoding.left_out if entry.column not in asked]

    def to_dict(self) -> dict[str, Any]:
        """Return how columns were used, ready for JSON."""
        return {
            "columns": [column.name for column in self.encoding.columns],
            "left_out": [{"column": e.column, "reason": e.reason} for e in self.encoding.left_out],
        }


@dataclass(frozen=True)
class Prepared:
    """Files that have been read, and where distances between them are measured."""

    files: tuple[File, ...]
    space: Space
    seed: int

    def encoded(self) -> list[FloatArray]:
        """Return the rows of each file as points."""
        return [self.space.encode(file) for file in self.files]

    def require_rows(self, option: str) -> None:
        """Refuse, before it is computed, what needs rows that only the workers of a cluster have."""
        from nammd.data.pieces import Parts

        if any(isinstance(file.data, Parts) for file in self.files):
            raise ValueError(
                f"{option} looks at single rows, which --engine dask leaves to the workers of the cluster; "
                "add --sample N to look at N rows of each file, or leave --engine out"
            )

    def facts(self) -> list[tuple[str, str]]:
        """Return a row of the printed table for each file."""
        return [file.fact() for file in self.files]

    def notes(self) -> list[str]:
        """Return what happened to the data on the way."""
        return self.space.notes() + [note for file in self.files for note in file.notes()]

    def to_dict(self) -> dict[str, Any]:
        """Return what was read and how columns were used, ready for JSON."""
        files = [file.to_dict() for file in self.files]
        return {"files": files, "seed": self.seed} | self.space.to_dict()


def prepare(
    paths: Sequence[tuple[str, Path]],
    tolerance: Path | None,
    data: DataOptions,
    kernel: KernelOptions,
    working: Working,
    *,
    pooled: bool = False,
) -> Prepared:
    """Read files; fix the encoding and the kernel by a tolerance file, or by the first of them.

    Parameters
    ----------
    paths : sequence of (str, Path)
        The files with the parts that they play, the reference first.
    tolerance : Path or None
        The tolerance file.
    data, kernel : DataOptions, KernelOptions
        What was asked for.
    working : Working
        Where to say what is being done.
    pooled : bool
        Without a tolerance: fit on the first two files alike, not on the first. A permutation test
        needs that, since nothing may depend on which rows are whose.

    Returns
    -------
    Prepared
    """
    space = Space.load(tolerance, data, kernel, working) if tolerance is not None else None
    files = read_files(paths, data, working, by_workers=kernel.engine is EngineName.dask)
    working.step("Encoding the columns")
    if space is None:
        space = Space.fit(files[0], data, kernel, working, pooled_with=files[1] if pooled else None)
    return Prepared(files, space, data.seed)


def column_weights(reference: File, data: DataOptions, chosen: KernelOptions) -> dict[str, float] | None:
    """Return how much columns count; to exclude one is to give it no weight."""
    weights = options.weights(chosen.weights)
    excluded = options.names(data.exclude, "--exclude")
    if not excluded:
        return weights
    from nammd.data.encoding.encoding import names_of
    from nammd.data.naming import chosen_columns

    owner = str(reference.path)
    available = names_of(reference.data) or [str(k) for k in range(reference.data.shape[1])]
    return (weights or {}) | dict.fromkeys(chosen_columns(excluded, available, owner), 0.0)


def _pooled(x: Any, y: Any) -> Any:
    """Return the rows of two tables together, to fit an encoding that does not tell them apart."""
    import pyarrow as pa

    from nammd.data.pieces import Parts

    if isinstance(x, Parts) and isinstance(y, Parts) and set(x.names) <= set(y.names):
        return Parts(x.keys + y.keys, x.sources + y.sources, x.names, x.counted() + y.counted())
    if not isinstance(x, pa.Table) or not isinstance(y, pa.Table):
        return x  # the encoding of an array does not depend on its rows
    try:
        return pa.concat_tables([x, y.select(x.column_names)], promote_options="permissive")
    except (KeyError, pa.ArrowException):
        return x  # their columns do not fit: encoding the second says how, in words
