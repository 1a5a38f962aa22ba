"""The options that commands share.

A group of options is a dataclass. A command that takes one as a parameter, under `with_options`, gets
all of its fields as options of the command line, and is called with the dataclass.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.models import ArgumentInfo

from nammd.cli.command_line import remember
from nammd.errors.limits import set_download_limit, set_unpack_limit

_DATA, _KERNEL, _OUTPUT = "Which data", "What counts as similar", "Output"
_ENGINE, _ROWS = "Where it is computed", "Rows that belong together"
_WRITTEN = "How the data are written (inferred by default)"


class KernelName(StrEnum):
    """The kernels that can be chosen by name."""

    gaussian = "gaussian"
    laplace = "laplace"


class GroupMissing(StrEnum):
    """What is done with rows without a group."""

    error = "error"
    own = "own"
    drop = "drop"


class ScaleName(StrEnum):
    """How columns of arrays are scaled."""

    robust = "robust"


class ScalesName(StrEnum):
    """At which scales data are compared."""

    all = "all"
    median = "median"


class EngineName(StrEnum):
    """Where a command computes."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"
    dask = "dask"


UnpackLimit = Annotated[
    float | None,
    typer.Option(
        "--unpack-limit",
        metavar="GB",
        callback=set_unpack_limit,
        help="How many gigabytes a small file may unpack to, or a folder of images; 0.5 unless said "
        "otherwise. An image may have 2^25 pixels for each.",
        rich_help_panel=_DATA,
    ),
]

DownloadLimit = Annotated[
    float | None,
    typer.Option(
        "--download-limit",
        metavar="GB",
        callback=set_download_limit,
        help="How many gigabytes are fetched from one address, or from standard input; 16 unless said "
        "otherwise.",
        rich_help_panel=_DATA,
    ),
]


@dataclass(frozen=True)
class DataOptions:
    """Which rows and columns of the files are read, and how."""

    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,C", help="Use these columns only.", rich_help_panel=_DATA),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,C", help="Leave these columns out.", rich_help_panel=_DATA),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=4, help="Draw N rows of each file at random.", rich_help_panel=_DATA),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="The seed of everything random; same seed, same result.",
            rich_help_panel=_DATA,
        ),
    ] = 0
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Which array of an .npz file to take; given again, for the next file and all after it.",
            rich_help_panel=_DATA,
        ),
    ] = None
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SQL",
            help="What to ask a database such as sqlite:///shop.db; given again, for the next file and all "
            "after it.",
            rich_help_panel=_DATA,
        ),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="For folders of images: a torchvision model, or a torch module file, whose features "
            "are compared instead of pixels.",
            rich_help_panel=_DATA,
        ),
    ] = None
    unpack_limit: UnpackLimit = None
    download_limit: DownloadLimit = None
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows with the same value here belong together: those of one customer, say. The column "
            "itself is not compared.",
            rich_help_panel=_ROWS,
        ),
    ] = None
    group_missing: Annotated[
        GroupMissing | None,
        typer.Option(
            "--group-missing",
            help="What to do with rows whose --group is missing: stop (error, unless said otherwise), take "
            "each as a group of its own (own), or leave them out (drop).",
            rich_help_panel=_ROWS,
        ),
    ] = None
    sample_weight: Annotated[
        str | None,
        typer.Option(
            "--sample-weight",
            metavar="COLUMN",
            help="How much each row counts, such as a sampling weight; positive. The column itself is not "
            "compared.",
            rich_help_panel=_ROWS,
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows follow each other in time, by this column: blocks of them belong together. The column "
            "itself is not compared.",
            rich_help_panel=_ROWS,
        ),
    ] = None
    block: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="The rows of a block of time; by default chosen from the data. Without --time, rows are "
            "in the order of time as they are.",
            rich_help_panel=_ROWS,
        ),
    ] = None
    period: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="The rows of a season, such as 12 for months: blocks of time have whole seasons. By default "
            "it is looked for in the data.",
            rich_help_panel=_ROWS,
        ),
    ] = None

    decimal: Annotated[
        str | None,
        typer.Option(metavar="MARK", help="What stands before decimals: . or ,", rich_help_panel=_WRITTEN),
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option(
            metavar="MARK", help="What stands between thousands: , . ' or a space.", rich_help_panel=_WRITTEN
        ),
    ] = None
    date_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="How dates are written: day-first, month-first, year-first, or a pattern such as %d.%m.%Y.",
            rich_help_panel=_WRITTEN,
        ),
    ] = None
    na: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,C",
            help="What stands for a missing value instead of NA, n/a, NULL and the like; '' for empty cells "
            "only.",
            rich_help_panel=_WRITTEN,
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text",
            metavar="A,B,C",
            help="Compare these columns as text, even if they look like numbers or dates. The word 'hashed': "
            "compare free text too, by its hashed words; by default it is left out.",
            rich_help_panel=_WRITTEN,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The encoding of text files, such as latin-1; by default it is recognised.",
            rich_help_panel=_WRITTEN,
        ),
    ] = None


@dataclass(frozen=True)
class KernelOptions:
    """What counts as similar, and where that is computed."""

    kernel: Annotated[
        KernelName | None,
        typer.Option(help="The kernel; gaussian unless said otherwise.", rich_help_panel=_KERNEL),
    ] = None
    bandwidth: Annotated[
        float | None,
        typer.Option(
            help="The distance at which rows count as different; by default the median distance "
            "between rows.",
            rich_help_panel=_KERNEL,
        ),
    ] = None
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A=2,B=0.5", help="How much columns count; 1 if not named.", rich_help_panel=_KERNEL
        ),
    ] = None
    scale: Annotated[
        ScaleName | None,
        typer.Option(
            help="Divide each column of an array (.npy, .npz) by its robust standard deviation, as columns "
            "of tables are; by default arrays are taken as they are.",
            rich_help_panel=_KERNEL,
        ),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="The number of threads, or of workers of --engine dask; by default every core.",
            rich_help_panel=_ENGINE,
        ),
    ] = None
    engine: Annotated[
        EngineName,
        typer.Option(
            help="Compute on the cores of this machine (cpu, which auto means too), on its GPU (cuda), or on "
            "a Dask cluster (dask), whose workers read Parquet folders by partition.",
            rich_help_panel=_ENGINE,
        ),
    ] = EngineName.auto
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --engine dask: the cluster to use; else one is started on this machine.",
            rich_help_panel=_ENGINE,
        ),
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """For whom the result is written."""

    json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON document, for programs.", rich_help_panel=_OUTPUT),
    ] = False


HtmlFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write a page with the result, for a browser.", rich_help_panel=_OUTPUT
    ),
]

ToleranceFile = Annotated[
    Path | None,
    typer.Option(
        "--tolerance",
        "-t",
        metavar="FILE",
        help="A file from 'nammd calibrate'. It fixes columns, scaling, kernel and tolerance.",
    ),
]

Exact = Annotated[
    bool,
    typer.Option(
        "--exact",
        help="Compare all pairs of rows, however many there are and however long that takes. By default more "
        "than 89 442 rows in all are compared by features, in time proportional to the rows.",
        rich_help_panel=_KERNEL,
    ),
]

SealKey = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Seal tolerances, sketches and monitors with the key in this file, and take only those that "
        "are. By default the key in the variable NAMMD_SEAL_KEY, if any.",
        rich_help_panel="Files of nammd's own",
    ),
]

Alpha = Annotated[float, typer.Option(help="The chance of a wrong claim that is acceptable, for each test.")]


def with_options(command: Callable[..., None], name: str) -> Callable[..., None]:
    """Spread the groups of options in the signature of a command, for typer to see.

    `name` is what the command is called in the shell.
    """
    groups: dict[str, Any] = {}
    data_arguments: list[str] = []
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            groups[parameter.name] = kind
            parameters += _fields(kind)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            if any(isinstance(m, ArgumentInfo) for m in getattr(kind, "__metadata__", ())):
                data_arguments.append(parameter.name)

    # Every command may come upon a sketch.
    parameters.append(
        inspect.Parameter("seal_key", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=SealKey)
    )

    @functools.wraps(command)
    def called(**given: Any) -> None:
        remember(name, parameters, given)
        key_file = given.pop("seal_key")
        for group, kind in groups.items():
            given[group] = kind(**{f.name: given.pop(f.name) for f in dataclasses.fields(kind)})
        try:
            with _sealed_by(key_file):
                _run(command, name, given, data_arguments)
        except Exception as error:
            from nammd.cli.errors import tell_failure

            tell_failure(name, given, error)
            raise

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


def _sealed_by(key_file: Path | None) -> AbstractContextManager[None]:
    """Return a context in which the key in a file is that of all seals, if a file was given."""
    if key_file is None:
        return nullcontext()
    from nammd.errors.seal_key import key_in_file, seal_key

    return seal_key(key_in_file(key_file))


def _run(command: Callable[..., None], name: str, given: dict[str, Any], data_arguments: list[str]) -> None:
    """Run a command, with a cluster at hand if it asks for one."""
    chosen = given.get("kernel")
    if not isinstance(chosen, KernelOptions):
        command(**given)
        return
    from nammd.cli.computing import computing
    from nammd.cli.sketch_files import look_for_sketches

    # Before a cluster is started for nothing.
    look_for_sketches(name, _paths(given[argument] for argument in data_arguments), chosen)
    with computing(chosen):
        command(**given)


def _paths(values: Iterable[Any]) -> list[Path]:
    """Return the files that were given as arguments, which may be one or several each."""
    each = (value if isinstance(value, (list, tuple)) else [value] for value in values)
    return [path for paths in each for path in paths if isinstance(path, Path)]


def lesson(command: Callable[..., None]) -> str:
    """Return the docstring of a command for ``--help``: prose is wrapped, examples keep their lines."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(p if "\n    " in p else p.replace("\n", " ") for p in paragraphs)


@functools.cache  # most commands share them
def _fields(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(group)
    ]


def require_shares(**shares: float | None) -> None:
    """Refuse numbers that are not strictly between 0 and 1, before anything is read."""
    from nammd.errors.checks import between

    for name, value in shares.items():
        if value is not None:
            between(value, name)


def names(texts: Sequence[str] | None, option: str) -> list[str] | None:
    """Split lists of names, in one option or in several; a name with a comma stands in double quotes."""
    if not texts:
        return None
    found = []
    for text in texts:
        entries = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
        if not entries or "" in entries:
            raise ValueError(f"{option} takes names separated by commas, not {text!r}")
        found += entries
    return found


def weights(texts: Sequence[str] | None) -> dict[str, float] | None:
    """Read ``age=2,city=0.5``."""
    found: dict[str, float] = {}
    for entry in names(texts, "--weights") or []:
        name, _, value = entry.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"--weights takes entries such as age=2,city=0.5, not {entry!r}")
    return found or None
