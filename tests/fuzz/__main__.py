"""The long run by hand: ``python -m tests.fuzz``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.kills import kills
from tests.fuzz.run import Outcome, run, work


def main() -> int:
    """Read the options, run, and say what came of it."""
    if sys.argv[1:2] == ["--work"]:
        seed, start, end = map(int, sys.argv[2:])
        work(seed, range(start, end))
        return 0
    if sys.argv[1:2] == ["--known"]:
        from tests.fuzz.trials import CORPUS, known

        for path in sorted(CORPUS.iterdir()):
            print(path.name, flush=True)
            known(path)
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Try hostile inputs.")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first input")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--kills", type=int, default=1000, help="kill so many writers while they write")
    parser.add_argument("--only", type=int, help="try this input again, here, with its traceback")
    chosen = parser.parse_args()
    if chosen.only is not None:
        from tests.fuzz.trials import attempt, name_of

        print(name_of(chosen.only))
        with tempfile.TemporaryDirectory() as folder:
            attempt(chosen.seed, chosen.only, Path(folder))
        return 0
    told = 0

    def say(outcome: Outcome) -> None:
        nonlocal told
        for finding in outcome.findings[told:]:
            print(json.dumps(finding), flush=True)
        told = len(outcome.findings)
        print(f"{outcome.tried.total()} inputs, {told} findings", flush=True)

    outcome = run(chosen.seed, chosen.start, chosen.inputs, say=say, until=time.monotonic() + chosen.seconds)
    say(outcome)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(outcome.tried.items())))
    with tempfile.TemporaryDirectory(prefix="nammd-fuzz-") as folder:
        counts = kills(chosen.kills, Path(folder), chosen.seed)
    print("killed: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if outcome.findings else 0


if __name__ == "__main__":
    sys.exit(main())
