"""Run the experiments of the paper, and write the pages that show them."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from experiments import page
from experiments.registry import experiments, named
from experiments.results import FOLDER, load
from experiments.running import Options, run
from nammd.datasets.files import VARIABLE
from nammd.engines.tiles.pool import cpu_count


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run experiments and write their result files")
    running.add_argument("names", nargs="*", metavar="NAME", help="which; all of them by default")
    running.add_argument("--full", action="store_true", help="the full settings: minutes to hours")
    running.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to compute")
    running.add_argument("--jobs", type=int, metavar="N", help="processes; by default one for each CPU")
    running.add_argument("--data", type=Path, metavar="DIR", help=f"real data; else {VARIABLE}, else data/")
    running.add_argument("--results", type=Path, metavar="DIR", default=FOLDER, help="where results go")
    running.add_argument("--seed", type=int, metavar="N", help="another seed; in result files of their own")
    commands.add_parser("list", help="list the experiments")
    commands.add_parser("page", help="write the pages of the documentation from the result files")
    options = parser.parse_args(arguments)
    if options.command == "list":
        return _list()
    if options.command == "page":
        changed = page.write()
        print(f"{len(changed)} files changed" if changed else "The pages are up to date.")
        return 0
    try:
        return _run(options)
    except LookupError as error:
        parser.error(str(error.args[0]))
    except KeyboardInterrupt:
        print(
            "\nInterrupted. The finished cells are kept: the same command goes on from here.", file=sys.stderr
        )
        return 130


def _list() -> int:
    for name, experiment in experiments().items():
        kept = [mode for mode in ("quick", "full") if load(experiment, mode) is not None]
        print(
            f"{name:<24} {', '.join(experiment.labels)}: {experiment.title} [{', '.join(kept) or 'not run'}]"
        )
    return 0


def _run(options: argparse.Namespace) -> int:
    data = options.data or Path(os.environ.get(VARIABLE) or "data")
    chosen = []
    names = dict.fromkeys(options.names)  # each once
    for experiment in [named(name) for name in names] or list(experiments().values()):
        if lacking := experiment.missing(data):
            # Not an error: the page shows it from the results that are kept.
            print(
                f"{experiment.name}: skipped, since {data} has no {'; no '.join(lacking)} (--data DIR, or "
                f"{VARIABLE}, says where data are)",
                file=sys.stderr,
            )
        else:
            chosen.append(experiment)
    if options.jobs is not None and options.jobs < 1:
        raise LookupError(f"--jobs must be at least 1, not {options.jobs}")
    settings = Options(
        full=options.full,
        device=options.device,
        # Processes on one graphics card wait for each other; a few hide what the CPU does between.
        jobs=options.jobs or (cpu_count() if options.device == "cpu" else min(4, cpu_count())),
        data=data,
        folder=options.results,
        seed=options.seed,
    )
    return 0 if run(chosen, settings) else 1


if __name__ == "__main__":
    sys.exit(main())
