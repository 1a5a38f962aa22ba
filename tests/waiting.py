"""Waiting for events, and not for some time, so that tests hold on a machine of any speed."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

GUARD = 600.0
"""Seconds after which a test is taken to hang. No test waits for them to pass, on any machine."""


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait until a condition holds, and return what it says; if it never does, say what was waited for."""
    deadline = time.monotonic() + GUARD
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {GUARD:.0f} s in vain for {what}"
        time.sleep(0.02)
    return found


@contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Let a program run while a test looks at it; it ends with the test, and does not hang for ever."""
    with subprocess.Popen(command, **options) as process:
        watchdog = threading.Timer(GUARD, process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()  # nothing happens where it has ended
