"""Connections that are begun and go no further, against a server that must stay there for others.

``python -m tests.monitor.flood`` opens 2 000 against the real command and prints what became of them.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import nammd
from tests.waiting import GUARD, running, until

BEGUN = (b"", b"G", b"GET / HTTP/1.1\r\nhost: 127.0.0.1", b"POST /note HTTP/1.1\r\nx: " + b"x" * 10_000)
"""What is sent before nothing follows: nothing, a letter, half a header, a header that does not end."""


@dataclass
class Flood:
    """What came of it.

    Attributes
    ----------
    honest : list of float
        Seconds that an honest client waited, asked again and again while connections were opened.
    statuses : Counter
        What those who went no further were told before the server closed: 408, 503, or nothing.
    open_files : int
        The most files and connections that the server had open at once.
    memory : float
        The most memory that it took, in MB more than before.
    """

    honest: list[float]
    statuses: Counter[str]
    open_files: int
    memory: float


def flood(port: int, pid: int, count: int, step: int = 100) -> Flood:
    """Open `count` connections in steps, ask for the page after each step, and wait until all are closed."""
    before = _memory(pid)
    found = Flood([], Counter(), 0, 0.0)
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        for number in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=GUARD))
            with contextlib.suppress(ConnectionError):  # it may be closed by now
                connection.sendall(BEGUN[number % len(BEGUN)])
            selector.register(connection, selectors.EVENT_READ, [])
            if number % step == step - 1:
                found.honest.append(_asked(port))
                found.open_files = max(found.open_files, _open_files(pid))
                found.memory = max(found.memory, _memory(pid) - before)
        while selector.get_map():
            ready = selector.select(GUARD)
            assert ready, f"{len(selector.get_map())} connections are open still"
            for key, _ in ready:
                piece = b""
                with contextlib.suppress(ConnectionError):
                    piece = key.fileobj.recv(4096)  # type: ignore[union-attr]
                key.data.append(piece)
                if not piece:
                    selector.unregister(key.fileobj)
                    found.statuses[b"".join(key.data)[9:12].decode() or "nothing"] += 1
    return found


def _asked(port: int) -> float:
    """Return how many seconds the state of the monitor takes that somebody asks for."""
    begun = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=GUARD)
    connection.request("GET", "/state")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 200, answer.status
    return time.monotonic() - begun


def _open_files(pid: int) -> int:
    folder = Path(f"/proc/{pid}/fd")
    return len(os.listdir(folder)) if folder.exists() else 0


def _memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    [line] = [line for line in status.read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1000


@contextlib.contextmanager
def served(path: Path, files: int) -> Iterator[tuple[int, int]]:
    """Run the real command, which may open so many files; give its port and its process."""
    command = [sys.executable, "-m", "nammd", "monitor", "serve", str(path), "--port", "0"]
    limit = f'ulimit -n {files}; exec "$@"'
    with running(["sh", "-c", limit, "sh", *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+:(\d+)", process.stdout.readline())
        assert found is not None
        yield int(found[1]), process.pid


def main(count: int = 2000) -> None:
    """Make a monitor, serve it, flood it, and print what became of it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count + 100:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + 100, hard), hard))
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
        made = nammd.Monitor.create(Path(folder, "shop.monitor"), tolerance, rng.normal(size=(200, 2)))
        made.add(rng.normal(size=(100, 2)), key="2026-03-01")
        with served(made.path, 1024) as (port, pid):
            _asked(port)
            idle = _open_files(pid)
            begun = time.monotonic()
            found = flood(port, pid, count)
            until(lambda: _open_files(pid) <= idle, "the server to close what it had open")
            print(
                f"{count} connections, {sum(found.honest) / len(found.honest):.3f} s "
                f"(at most {max(found.honest):.3f}) for an answer meanwhile, {found.open_files} files open "
                f"({idle} before and after), {found.memory:.1f} MB more, all closed after "
                f"{time.monotonic() - begun:.1f} s; told: {dict(found.statuses)}"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
