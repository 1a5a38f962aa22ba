"""Processes that are killed while they write, and what they leave.

A kill counts where it fell into the window of writing, which is to be seen by what is left behind: the
journal of a transaction that was not finished, or a file that was not renamed yet. After every kill the file
is whole, has all that was said to be there, and at most one change more.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nammd.errors.writing import write_bytes
from nammd.monitor.history import History
from tests.fuzz.trials import Finding
from tests.monitor.records import batch, new_history

AFRESH = 40
"""After so many kills a monitor begins anew, so that it stays small."""


def _killed(work: Callable[[Callable[[], Any]], Any], seconds: float) -> int:
    """Let a process work until it is killed; return how often it said that something is done."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            work(lambda: os.write(writing, b"."))
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as pipe:
        said = len(pipe.read())
    os.waitpid(child, 0)
    return said


class MonitorKills:
    """Batches and notes are written into a monitor until the writer is killed."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "killed.monitor"
        self._count = 0

    def attempt(self, rng: np.random.Generator) -> bool:
        """Kill a writer once; tell whether it was writing."""
        if self._count % AFRESH == 0:
            for end in ("", "-journal"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
            new_history(self._path)
        self._count += 1
        history = History(self._path)
        before = history.read()

        def work(done: Callable[[], Any]) -> None:
            for k in range(10_000):
                history.write(lambda writer, k=k: writer.insert(batch(f"{self._count}-{k}"), bytes(k % 7000)))
                done()

        said = _killed(work, float(rng.uniform(0.0, 0.02)))
        inside = os.path.exists(f"{self._path}-journal")
        after = History(self._path).read()
        if not said <= after.tests - before.tests <= said + 1:
            raise Finding(f"{said} batches were said to be there, and {after.tests - before.tests} are")
        if after.batches[: len(before.batches)] != before.batches:
            raise Finding("batches of before are not there")
        # A journal that was not begun in earnest undoes nothing, and goes with the next change.
        History(self._path).write(lambda writer: writer.event("2026-01-02T00:00:00+00:00", "note", text="x"))
        if os.path.exists(f"{self._path}-journal"):
            raise Finding("a journal is left")
        return inside


class FileKills:
    """A file is written again and again until the writer is killed."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "killed.json"

    def attempt(self, rng: np.random.Generator) -> bool:
        """Kill a writer once; tell whether it was writing."""
        contents = [rng.bytes(200_000), rng.bytes(300_000)]
        write_bytes(self._path, contents[0])

        def work(done: Callable[[], Any]) -> None:
            while True:
                for content in contents:
                    write_bytes(self._path, content)

        _killed(work, float(rng.uniform(0.0, 0.02)))
        inside = self._left()
        if self._path.read_bytes() not in contents:
            raise Finding("a file is there in part")
        write_bytes(self._path, b"after")
        if self._left():
            raise Finding("something is left behind")
        return inside

    def _left(self) -> bool:
        name = self._path.name
        return any(name in each and each != name for each in os.listdir(self._path.parent))


def kills(wanted: int, folder: Path, seed: int = 0) -> Counter[str]:
    """Kill writers of monitors and of files until so many were writing; return how many there were."""
    counts: Counter[str] = Counter()
    turns = (("monitor", MonitorKills(folder)), ("file", FileKills(folder)))
    rng = np.random.default_rng(seed)
    for name, trial in turns:
        while counts[f"{name}, while writing"] < wanted / len(turns):
            counts[f"{name}, while writing" if trial.attempt(rng) else f"{name}, between"] += 1
    return counts
