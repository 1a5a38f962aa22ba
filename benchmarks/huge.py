"""A file of a hundred million rows, by blocks: ``python -m benchmarks.huge FOLDER --rows 100000000``.

It writes a Parquet file in row groups, calibrates on a smaller file, sketches both, and checks one sketch
against the other. Each command runs in a process of its own; its seconds, computing time and peak memory are
told. Runs of several sizes show that memory does not grow with the rows, and time does in proportion. Ten
columns of a hundred million rows take 4 GB of disk, and stay there: a second run does not write them again.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.command_files import table
from benchmarks.commands import run
from benchmarks.environment import environment, environment_line
from benchmarks.results import Measurement, print_header, print_row, write_json
from benchmarks.scale import FULL

COLUMNS = 10
GROUP_ROWS = 1_000_000
"""Rows of a row group; each has a seed of its own, so that a longer file begins like a shorter one."""

REFERENCE_ROWS = 100_000
REFERENCE_SEED = 1_000_000
"""Of the reference: beyond those of all row groups."""


def write(path: Path, rows: int) -> None:
    """Write a file by row groups; half a file is never found under its name."""
    from pyarrow import parquet

    unfinished = path.with_suffix(".part")
    writer = None
    for seed, start in enumerate(range(0, rows, GROUP_ROWS)):
        group = table(min(GROUP_ROWS, rows - start), COLUMNS, seed)
        writer = writer or parquet.ParquetWriter(unfinished, group.schema)
        writer.write_table(group)
    assert writer is not None
    writer.close()
    unfinished.rename(path)


def measurements(folder: Path, rows: int) -> list[Measurement]:
    """Run all commands and return what each took."""
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    huge, reference = folder / f"huge-{rows}.parquet", folder / "reference.parquet"
    found, clock = [], time.perf_counter()
    if not huge.exists():
        write(huge, rows)
        found.append(Measurement("writing the file", time.perf_counter() - clock, "s", None))
    if not reference.exists():
        parquet.write_table(table(REFERENCE_ROWS, COLUMNS, REFERENCE_SEED), reference)
    fixed = ["--tolerance", "tolerance.json"]
    sketch = ["-m", "nammd", "sketch"]
    commands = {
        "calibrate": ["-m", "nammd", "calibrate", reference.name, "--force", "--output", fixed[1]],
        "sketch of the reference": [*sketch, reference.name, *fixed, "--output", "reference.sketch"],
        f"sketch of {rows:,} rows": [*sketch, huge.name, *fixed, "--output", "huge.sketch"],
        "check": ["-m", "nammd", "check", "reference.sketch", "huge.sketch", *fixed],
    }
    for what, arguments in commands.items():
        took = run(arguments, folder)
        details = {"arguments": arguments, "rows": rows, "bytes": huge.stat().st_size}
        found += [
            Measurement(what, took.seconds, "s", None, details),
            Measurement(f"{what}: computing", took.computing, "s", None, details),
            Measurement(f"{what}: peak memory", took.megabytes, "MB", None, details),
        ]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write the figures where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.huge", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the files are written")
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the figures as JSON too")
    options = parser.parse_args(arguments)
    print(environment_line())
    print_header()
    found = measurements(options.folder.resolve(), options.rows)
    for each in found:
        print_row(each, judged=False)
    if options.output:
        write_json(options.output, found, FULL, environment())
    return 0


if __name__ == "__main__":
    sys.exit(main())
