"""Working through the numbers in processes of their own, and watching over their time, memory and life."""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIME_LIMIT = 20.0
"""Seconds of the processor that an input may take."""

MEMORY_LIMIT = 1 << 20
"""Kilobytes by which an input may make the process grow."""


@dataclass
class Outcome:
    """What came of a run.

    Attributes
    ----------
    tried : Counter
        How many inputs of each kind.
    findings : list of dict
        The number, the kind, what happened.
    """

    tried: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(self.tried + other.tried, self.findings + other.findings)

    def table(self) -> str:
        """Return what was tried, by kind, as a table for the documentation."""
        from tests.fuzz.trials import TRIALS

        found = Counter(each["kind"] for each in self.findings)
        rows = [
            (str(trial.__doc__).partition("\n")[0].rstrip("."), trial.__name__)
            for trial, _ in TRIALS
            if self.tried[trial.__name__]
        ]
        lines = [f"| {words} | {_spaced(self.tried[name])} | {found[name]} |" for words, name in rows]
        total = f"| in all | {_spaced(self.tried.total())} | {found.total()} |"
        return "\n".join(["| what must hold | inputs | findings |", "|---|---|---|", *lines, total])


def _spaced(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def _quick_folder() -> str | None:
    """Return a folder in memory, where there is one: nobody waits for the disk there."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def work(seed: int, numbers: range) -> None:
    """Try inputs one after the other, and tell about each on stdout; run by `run` in a process of its own."""
    from tests.fuzz.rules import Finding
    from tests.fuzz.trials import attempt, name_of

    with tempfile.TemporaryDirectory(prefix="nammd-fuzz-", dir=_quick_folder()) as folder:
        for number in {name_of(number): number for number in range(100)}.values():
            _quietly(attempt, seed + 1, number, Path(folder))  # imports and caches are not growth
        before = _peak()
        for number in numbers:
            _tell({"start": number})
            try:
                attempt(seed, number, Path(folder))
            except Finding as finding:
                _tell({"number": number, "kind": name_of(number), "finding": str(finding)[:2000]})
            except BaseException as error:
                where = traceback.format_exc(limit=-4)
                words = f"{type(error).__name__}: {error}\n{where}"[:3000]
                _tell({"number": number, "kind": name_of(number), "finding": words})
            grown = _peak() - before
            if grown > MEMORY_LIMIT:
                words = f"the process grew by {grown // 1024} MB"
                _tell({"number": number, "kind": name_of(number), "finding": words})
                return  # the next process begins small again
    _tell({"start": None})


def _quietly(attempt: Any, seed: int, number: int, folder: Path) -> None:
    try:
        attempt(seed, number, folder)
    except Exception:
        return


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _tell(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def run(seed: int, start: int, inputs: int, *, jobs: int = 1) -> Outcome:
    """Try so many inputs from a number on, in several processes.

    An input follows from the seed and its number, whichever process tries it.
    """

    def work(job: int) -> Outcome:
        return _run(seed, range(start + job, start + inputs, jobs))

    with ThreadPoolExecutor(jobs) as pool:
        return sum(pool.map(work, range(jobs)), Outcome())


def _run(seed: int, numbers: range) -> Outcome:
    from tests.fuzz.trials import name_of

    outcome = Outcome()
    while numbers:
        told = map(str, (seed, numbers.start, numbers.stop, numbers.step))
        command = [sys.executable, "-m", "tests.fuzz", "--work", *told]
        environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",
        }
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            current = _watch(process, numbers.start, outcome)
            process.kill()
            errors = process.stderr.read() if process.stderr else ""
        if current is None:
            break
        known = any(found["number"] == current for found in outcome.findings)
        if not known:
            how = f"the process ended with {process.returncode}: {errors[-1500:]}"
            outcome.findings.append({"number": current, "kind": name_of(current), "finding": how})
        numbers = range(current + numbers.step, numbers.stop, numbers.step)
    return outcome


def _used(pid: int) -> float:
    """Return the seconds of processor time that a process has had, or where nobody tells, the time of day.

    A busy machine is no fault of an input.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _watch(process: Any, number: int, outcome: Outcome) -> int | None:
    """Read what a process tells; return the input at which it ended, None where it came to its end."""
    from tests.fuzz.trials import name_of

    current, begun = number, None  # the first one waits for imports
    while True:
        ready, _, _ = select.select([process.stdout], [], [], 1.0)
        if not ready:
            if begun is not None and _used(process.pid) - begun > TIME_LIMIT:
                words = f"no answer within {TIME_LIMIT:.0f} s"
                outcome.findings.append({"number": current, "kind": name_of(current), "finding": words})
                return current
            continue
        line = process.stdout.readline()
        if not line:
            return current
        message = json.loads(line)
        if "finding" in message:
            outcome.findings.append(message)
            continue
        if message["start"] is None:
            return None
        current, begun = message["start"], _used(process.pid)
        outcome.tried[name_of(current)] += 1
