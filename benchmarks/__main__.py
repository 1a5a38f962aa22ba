"""Measure everything, print a table, and exit with 1 if a bar is missed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks import (
    cluster,
    columns,
    commands,
    cores,
    fused,
    gpu,
    groups,
    laplace,
    memory,
    peers,
    permutation,
    real_tables,
    scaling,
    sketch,
    streams,
    work_limit,
)
from benchmarks.environment import environment, environment_line
from benchmarks.results import Measurement, print_header, print_row, write_json
from benchmarks.scale import FULL, QUICK, Scale

# The measurements in fresh processes come first: while they run, this one is still small.
TOPICS: dict[str, Callable[[Scale], Iterator[Measurement]]] = {
    "commands": commands.measure,
    "cores": cores.measure,
    "columns": columns.measure,
    "memory": memory.measure,
    "limit": work_limit.measure,
    "threads": scaling.measure,
    "laplace": laplace.measure,
    "permutation": permutation.measure,
    "fused": fused.measure,
    "groups": groups.measure,
    "sketch": sketch.measure,
    "real-tables": real_tables.measure,
    "streams": streams.measure,
    "peers": peers.measure,
    "cluster": cluster.measure,
    "gpu": gpu.measure,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "topics", nargs="*", metavar="topic", help=f"all by default, or some of: {', '.join(TOPICS)}"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, no bars: does it run?")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the figures as JSON too")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only this of the commands"
    )
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.topics) - set(TOPICS)):
        parser.error(f"unknown topic {unknown[0]!r}; choose from {', '.join(TOPICS)}")

    scale = replace(QUICK if options.quick else FULL, only=tuple(options.only))
    names = [command.name for command in commands.commands(scale)]
    if unknown := sorted(set(options.only) - set(names)):
        parser.error(f"unknown command {unknown[0]!r}; choose from {', '.join(names)}")
    print(environment_line())
    print_header()
    measurements = []
    for topic in options.topics or TOPICS:
        for measurement in TOPICS[topic](scale):
            print_row(measurement, judged=scale.judged)
            measurements.append(measurement)
    if options.output:
        write_json(options.output, measurements, scale, environment())
    if not scale.judged:
        return 0
    verdicts = [one.ok for one in measurements if one.bar is not None]
    cleared, missed, skipped = (verdicts.count(verdict) for verdict in (True, False, None))
    print(f"\n{cleared} bars cleared, {missed} missed, {skipped} not measured.")
    for one in measurements:
        if one.ok is False:
            print(f"missed: {one.what}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
