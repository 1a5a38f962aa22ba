"""From the names of files to what the questions of the library take, and what happened on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nammd.cli import options
from nammd.cli.options import DataOptions, EngineName, KernelName, KernelOptions
from nammd.cli.paths import chosen, file_of, given
from nammd.cli.progress import Working
from nammd.errors.addresses import local_path, not_there

if TYPE_CHECKING:
    from nammd.data.dataset import Dataset
    from nammd.data.row_grouping import RowGrouping
    from nammd.reading.text_formats import Reading
    from nammd.spaces import Space
    from nammd.tolerances.tolerance import Tolerance


HASHED = "hashed"
"""What `--text` takes beside the names of columns: compare free text by its words."""

_NAMED = 4
"""So many files are named in one sentence."""


@dataclass(frozen=True)
class File:
    """A file that has been opened, and the part that it plays."""

    role: str
    path: Path
    dataset: Dataset

    @property
    def _rows(self) -> tuple[int, int]:
        """How many rows are there, and how many the file has."""
        rows = self.dataset.rows or 0
        assert self.dataset.source is not None
        return rows, self.dataset.source.total_rows or rows

    def fact(self) -> tuple[str, str]:
        """Return a row of the printed table."""
        rows, total = self._rows
        if not self.dataset.keeps_rows:
            return self.role, f"{self.path}, a sketch of {rows} rows"
        return self.role, f"{self.path}, {rows if rows == total else f'{rows} of {total}'} rows"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader has to say."""
        assert self.dataset.source is not None
        return self.dataset.source.notes

    def to_dict(self) -> dict[str, Any]:
        """Return what was read, ready for JSON."""
        rows, total = self._rows
        found = {"role": self.role, "path": str(self.path), "rows": rows}
        summary = getattr(self.dataset, "summary", None)
        if summary is not None:
            return found | {"sketch": repr(summary.features)}
        return found | {"total_rows": total, "sampled": rows < total}


def notes_of(files: Iterable[File]) -> list[str]:
    """Return what the readers of files have to say: what they say of several of them, once."""
    about: dict[str, list[str]] = {}
    for file in files:
        for note in file.notes:
            about.setdefault(note, []).append(str(file.path))
    return [f"{_some(paths)}: {note}" for note, paths in about.items()]


def _some(paths: Sequence[str]) -> str:
    paths = list(dict.fromkeys(paths))
    if len(paths) <= _NAMED:
        return " and ".join([", ".join(paths[:-1]), paths[-1]] if len(paths) > 1 else paths)
    return f"{', '.join(paths[: _NAMED - 1])} and {len(paths) - _NAMED + 1} others"


@dataclass(frozen=True)
class Inputs:
    """Files that have been opened, and what was asked about the space of their distances.

    Attributes
    ----------
    files : tuple of File
        The files, the reference first.
    options : dict
        What was asked for, by the names that `Space.fit` has for it.
    tolerance : Tolerance or None
        The tolerance that fixes the space, if one does.
    seed : int
        The seed of everything random.
    grouping : RowGrouping
        Which rows belong together, and how much each counts.
    """

    files: tuple[File, ...]
    options: dict[str, Any]
    tolerance: Tolerance | None
    seed: int
    grouping: RowGrouping

    @property
    def datasets(self) -> list[Dataset]:
        """The datasets, in the order of the files."""
        return [file.dataset for file in self.files]

    @property
    def sketches(self) -> bool:
        """Whether the files are sketches."""
        return any(not dataset.keeps_rows for dataset in self.datasets)

    def space(self, reference: bool = False) -> Space | None:
        """Return the space: that of the tolerance, or one fitted on the files, or on the first of them.

        Sketches have fixed theirs; None leaves it to them.
        """
        if self.tolerance is not None:
            return self.tolerance.space
        if self.sketches:
            return None
        from nammd.spaces.space import fit_space

        return fit_space(self.datasets[:1] if reference else self.datasets, **self.options)

    def require_rows(self, option: str) -> None:
        """Refuse, before it is computed, what needs rows that only the workers of a cluster have."""
        if any(dataset.on_cluster for dataset in self.datasets):
            raise ValueError(
                f"{option} looks at single rows, which --engine dask leaves to the workers of the cluster; "
                "add --sample N to look at N rows of each file, or leave --engine out"
            )


@dataclass(frozen=True)
class Told:
    """What a result was made from, in words and for JSON."""

    inputs: Inputs
    space: Space | None

    def lines(self) -> list[tuple[str, str]]:
        """Return a row of the printed table for each file."""
        return [file.fact() for file in self.inputs.files]

    def notes(self) -> list[str]:
        """Say which columns were left out without being asked to, and what the readers have to say."""
        asked = set(self.inputs.options.get("exclude") or ()) | set(
            self.inputs.options.get("column_weights") or ()
        )
        left_out = [] if self.space is None else list(self.space.encoding.left_out)
        if self.inputs.tolerance is not None:  # which names them itself, but not how to compare them
            left_out = [entry for entry in left_out if entry.advice is not None]
        words = [entry.in_shell() for entry in left_out if entry.column not in asked]
        words += [] if self.space is None else [remark.in_shell() for remark in self.space.encoding.remarks]
        return words + notes_of(self.inputs.files)

    def to_dict(self) -> dict[str, Any]:
        """Return what was read and how columns were used, ready for JSON."""
        found = {"files": [file.to_dict() for file in self.inputs.files], "seed": self.inputs.seed}
        if self.space is None or self.inputs.sketches:
            return found
        encoding = self.space.encoding
        return found | {
            "columns": [column.name for column in encoding.columns],
            "left_out": [{"column": e.column, "reason": e.reason} for e in encoding.left_out],
        }


def open_files(
    paths: Sequence[tuple[str, Path]],
    tolerance: Path | Tolerance | None,
    data: DataOptions,
    kernel: KernelOptions,
    working: Working,
    first: int = 0,
) -> Inputs:
    """Open files, each with its role; a wrong name or option is noticed before the first of them is read.

    Parameters
    ----------
    paths : sequence of (str, Path)
        The files with the parts that they play, the reference first.
    tolerance : Path or Tolerance or None
        The tolerance file, or what was read from it.
    data, kernel : DataOptions, KernelOptions
        What was asked for.
    working : Working
        Where to say what is being done.
    first : int
        Which file of the command the first of them is.

    Returns
    -------
    Inputs
    """
    if sum(given(path) == "-" for _, path in paths) > 1:
        raise ValueError("standard input can be read once only; give it for one of the files")
    for _, path in paths:
        if not local_path(file_of(path)).exists():
            raise not_there(path)
    limit = load_tolerance(tolerance, data, kernel) if isinstance(tolerance, Path) else tolerance
    working.step("Loading the readers")
    from nammd.data.opening import open_file
    from nammd.data.row_grouping import with_grouping

    grouping, columns = grouping_asked_for(data, limit), options.names(data.columns, "--columns")
    if columns is not None:
        columns += [name for name in grouping.columns if name not in columns]
    reading = _reading(data) if limit is None else _known(limit, data)
    # With --engine dask Parquet is left to the workers of the cluster, unless rows are drawn from it.
    by_workers = kernel.engine is EngineName.dask and data.sample is None
    files = []
    for number, (role, path) in enumerate(paths, first):
        working.step(f"Reading {path}")
        opened = open_file(
            given(path),
            by_workers=by_workers,
            columns=columns,
            sample=data.sample,
            # A draw of its own for each file: equal rows of files in equal order would not be independent.
            rng=[data.seed, number] if number else data.seed,
            key=chosen(data.key, number),
            **_asked(data.query, number),
            features=data.features,
            reading=reading,
        )
        files.append(File(role, path, opened))
    working.step("Encoding the columns")
    known = with_grouping([file.dataset for file in files], grouping)
    files = [replace(file, dataset=dataset) for file, dataset in zip(files, known, strict=True)]
    inputs = Inputs(tuple(files), _space_options(data, kernel), limit, data.seed, grouping)
    if inputs.sketches:
        _refuse_late_options(data, kernel)
    return inputs


def grouping_asked_for(data: DataOptions, limit: Tolerance | None) -> RowGrouping:
    """Return which rows belong together, by the options and by what a tolerance file remembers."""
    from nammd.data.blocks_in_time import TimeBlocks
    from nammd.data.group_labels import Groups
    from nammd.data.row_grouping import RowGrouping

    in_time = any(option is not None for option in (data.time, data.block, data.period))
    if in_time and data.group is not None:
        raise ValueError("rows belong together by --group or by --time, not by both")
    if data.block is not None and data.period is not None:
        raise ValueError("blocks of time have --block rows, or whole seasons of --period rows; give one")
    groups: Any = TimeBlocks(data.time, data.block, data.period) if in_time else data.group
    if data.group_missing is not None:
        if groups is None and limit is not None and limit.grouping_spec.kind == "column":
            groups = limit.grouping_spec.column
        if not isinstance(groups, str):
            raise ValueError("--group-missing is about the groups of --group COLUMN; give that too")
        groups = Groups(groups, data.group_missing.value)
    grouping = RowGrouping(groups, data.sample_weight)
    return grouping if limit is None else limit.grouping_spec.settled(grouping, limit.origin.how == "given")


def load_tolerance(path: Path, data: DataOptions, kernel: KernelOptions) -> Tolerance:
    """Read a tolerance file, which leaves nothing to choose."""
    _refuse(_chosen(data, kernel), "cannot be combined with --tolerance, whose file fixes it")
    from nammd.tolerances.tolerance import Tolerance

    return Tolerance.load(path)


def _chosen(data: DataOptions, kernel: KernelOptions) -> dict[str, Any]:
    """Return the options that make a space."""
    return {
        "--exclude": data.exclude,
        "--kernel": kernel.kernel,
        "--bandwidth": kernel.bandwidth,
        "--weights": kernel.weights,
        "--scale": kernel.scale,
        "--decimal": data.decimal,
        "--thousands": data.thousands,
        "--date-format": data.date_format,
        "--na": data.na,
        "--text": data.text,
    }


def _reading(data: DataOptions) -> Reading:
    """Return what was said about how the data are written."""
    from nammd.reading.text_formats import Reading

    na = None
    if data.na:
        na = [word.strip() for text in data.na for word in text.split(",") if word.strip()]
    text = [name for name in options.names(data.text, "--text") or [] if name != HASHED]
    return Reading(data.decimal, data.thousands, data.date_format, na, text, data.encoding)  # type: ignore[arg-type]


def _asked(queries: list[str] | None, number: int) -> dict[str, str]:
    query = chosen(queries, number)
    return {} if query is None else {"query": query}


def _known(tolerance: Tolerance, data: DataOptions) -> Reading:
    """Return how a tolerance reads files; the encoding of a file is a matter of the file."""
    known = tolerance.space.encoding.for_files
    return known if data.encoding is None else replace(known, encoding=_reading(data).encoding)


def _refuse_late_options(data: DataOptions, kernel: KernelOptions) -> None:
    reading = {
        "--columns": data.columns,
        "--sample": data.sample,
        "--key": data.key,
        "--features": data.features,
        "--encoding": data.encoding,
    }
    _refuse(reading | _chosen(data, kernel), "cannot be combined with sketches, which were made without it")


def _refuse(asked: dict[str, Any], why: str) -> None:
    for option, value in asked.items():
        if value not in (None, []):
            raise ValueError(f"{option} {why}")


def _space_options(data: DataOptions, asked: KernelOptions) -> dict[str, Any]:
    """Return what was asked for, as `Space.fit` takes it."""
    from nammd.kernels import Gaussian, Laplace

    family: Any = Laplace if asked.kernel is KernelName.laplace else Gaussian
    return {
        "kernel": family if asked.bandwidth is None else family(asked.bandwidth),
        "column_weights": options.weights(asked.weights),
        "exclude": options.names(data.exclude, "--exclude"),
        "scale": None if asked.scale is None else asked.scale.value,
        "text": HASHED if HASHED in (options.names(data.text, "--text") or []) else None,
        "reading": _reading(data),
    }
