"""The long run by hand: ``python -m tests.fuzz``.

With ``--record FILE`` it can be stopped at any time, and goes on where it was: the same command again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.kills import kills
from tests.fuzz.run import Outcome, run, work

ROUND = 10_000
"""So many inputs are tried between two entries in a record."""


def main() -> int:
    """Read the options, run, and say what came of it."""
    if sys.argv[1:2] == ["--work"]:
        seed, *numbers = map(int, sys.argv[2:])
        work(seed, range(*numbers))
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Try hostile inputs.")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first input")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--record", type=Path, help="a file that says how far it came; go on from there")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no round after so long")
    parser.add_argument("--kills", type=int, default=1000, help="kill so many writers while they write")
    parser.add_argument("--only", type=int, help="try this input again, here, with its traceback")
    chosen = parser.parse_args()
    if chosen.only is not None:
        from tests.fuzz.trials import attempt, name_of

        print(name_of(chosen.only))
        with tempfile.TemporaryDirectory() as folder:
            attempt(chosen.seed, chosen.only, Path(folder))
        return 0
    outcome = _rounds(chosen, time.monotonic() + chosen.seconds)
    print(outcome.table())
    if outcome.tried.total() < chosen.inputs:
        return 1
    with tempfile.TemporaryDirectory(prefix="nammd-fuzz-") as folder:
        counts = kills(chosen.kills, Path(folder), chosen.seed)
    print("killed: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if outcome.findings else 0


def _rounds(chosen: argparse.Namespace, until: float) -> Outcome:
    """Try all inputs that are not in the record yet, a round at a time."""
    outcome, told = Outcome(), {"seed": chosen.seed, "start": chosen.start}
    if chosen.record is not None and chosen.record.exists():
        kept = json.loads(chosen.record.read_text())
        if {name: kept[name] for name in told} != told:
            sys.exit(f"{chosen.record} is the record of a run with another --seed or --start")
        outcome = Outcome(Counter(kept["tried"]), kept["findings"])
    while (done := outcome.tried.total()) < chosen.inputs and time.monotonic() < until:
        count = min(ROUND, chosen.inputs - done)
        found = run(chosen.seed, chosen.start + done, count, jobs=chosen.jobs)
        for finding in found.findings:
            print(json.dumps(finding), flush=True)
        outcome += found
        print(f"{outcome.tried.total()} inputs, {len(outcome.findings)} findings", flush=True)
        if chosen.record is not None:
            kept = told | {"tried": outcome.tried, "findings": outcome.findings}
            chosen.record.write_text(json.dumps(kept))
        if found.tried.total() < count:
            break
    return outcome


if __name__ == "__main__":
    sys.exit(main())
