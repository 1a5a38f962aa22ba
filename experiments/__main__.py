"""Run the experiments of the paper, check that their results are of the present code, and write the pages."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from experiments import page
from experiments.experiment import Experiment
from experiments.registry import experiments, named
from experiments.results import FOLDER, load
from experiments.running import Options, run
from experiments.stale import advice, stale_files
from experiments.verifying import verify
from nammd.data.threads import cpu_count
from nammd.datasets.files import VARIABLE


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(_COMMANDS[options.command](options))
    except LookupError as error:
        parser.error(str(error.args[0]))
    except KeyboardInterrupt:
        print("\nInterrupted. What is finished is kept: the same command goes on from here.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run experiments and write their result files")
    running.add_argument("--full", action="store_true", help="the full settings: minutes to hours")
    running.add_argument("--seed", type=int, metavar="N", help="another seed; in result files of their own")
    checking = commands.add_parser(
        "verify", help="run some cells of stale result files again, and stamp those"
    )
    checking.add_argument("--full", action="store_true", help="only files of the full settings")
    checking.add_argument("--quick", action="store_true", help="only files of the quick settings")
    checking.add_argument(
        "--cells", type=int, metavar="K", default=2, help="cells of each file; 2 by default"
    )
    listing = commands.add_parser(
        "stale", help="list result files of other code or settings than there are now"
    )
    for command in (running, checking):
        command.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to compute")
        command.add_argument("--jobs", type=int, metavar="N", help="processes; by default one for each CPU")
        command.add_argument(
            "--data", type=Path, metavar="DIR", help=f"real data; else {VARIABLE}, else data/"
        )
        command.add_argument("--results", type=Path, metavar="DIR", default=FOLDER, help="where results are")
    for command in (running, checking, listing):
        command.add_argument("names", nargs="*", metavar="NAME", help="which; all of them by default")
    commands.add_parser("list", help="list the experiments")
    commands.add_parser("page", help="write the pages of the documentation from the result files")
    return parser


def _list(_: argparse.Namespace) -> int:
    for name, experiment in experiments().items():
        kept = [mode for mode in ("quick", "full") if load(experiment, mode) is not None]
        print(
            f"{name:<24} {', '.join(experiment.labels)}: {experiment.title} [{', '.join(kept) or 'not run'}]"
        )
    return 0


def _page(_: argparse.Namespace) -> int:
    if stale := stale_files():
        print("The pages were not written:", file=sys.stderr)
        print("\n".join(f"  {advice(kept, why)}" for kept, why in stale.items()), file=sys.stderr)
        return 1
    changed = page.write()
    print(f"{len(changed)} files changed" if changed else "The pages are up to date.")
    return 0


def _stale(options: argparse.Namespace) -> int:
    stale = stale_files(_chosen(options.names))
    print("\n".join(advice(kept, why) for kept, why in stale.items()) or "No result file is stale.")
    return 1 if stale else 0


def _verify(options: argparse.Namespace) -> int:
    settings = _options(options)
    if options.cells < 1:
        raise LookupError(f"--cells must be at least 1, not {options.cells}")
    chosen = _with_data(_chosen(options.names), settings.data)
    modes = {"quick"} if options.quick and not options.full else {"quick", "full"}
    modes -= {"quick"} if options.full and not options.quick else set()
    stale = {k: why for k, why in stale_files(chosen, settings.folder).items() if k.mode in modes}
    return 0 if verify(stale, settings, options.cells) else 1


def _run(options: argparse.Namespace) -> int:
    settings = _options(options, full=options.full, seed=options.seed)
    return 0 if run(_with_data(_chosen(options.names), settings.data), settings) else 1


_COMMANDS = {"run": _run, "verify": _verify, "stale": _stale, "list": _list, "page": _page}


def _chosen(names: list[str]) -> list[Experiment[Any]]:
    return [named(name) for name in dict.fromkeys(names)] or list(experiments().values())


def _with_data(chosen: list[Experiment[Any]], data: Path) -> list[Experiment[Any]]:
    """Return the experiments whose data are there, and say which are not."""
    found = []
    for experiment in chosen:
        if lacking := experiment.missing(data):
            # Not an error: the page shows it from the results that are kept.
            print(
                f"{experiment.name}: skipped, since {data} has no {'; no '.join(lacking)} (--data DIR, or "
                f"{VARIABLE}, says where data are)",
                file=sys.stderr,
            )
        else:
            found.append(experiment)
    return found


def _options(options: argparse.Namespace, full: bool = False, seed: int | None = None) -> Options:
    if options.jobs is not None and options.jobs < 1:
        raise LookupError(f"--jobs must be at least 1, not {options.jobs}")
    return Options(
        full=full,
        device=options.device,
        # Processes on one graphics card wait for each other; a few hide what the CPU does between.
        jobs=options.jobs or (cpu_count() if options.device == "cpu" else min(4, cpu_count())),
        data=options.data or Path(os.environ.get(VARIABLE) or "data"),
        folder=options.results,
        seed=seed,
    )


if __name__ == "__main__":
    sys.exit(main())
