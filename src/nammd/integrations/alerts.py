"""Telling of alarms in the background, by a command or a webhook: `Alerts`.

A batch has been stored by then, and whoever added it does not wait. What could not be told is said on stderr
and written into the history of the monitor. A webhook's address is often a secret, all of it: no file and no
message has more of it than its host.
"""

from __future__ import annotations

import base64
import contextvars
import json
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from email.message import Message
from pathlib import Path
from typing import IO, Any

from nammd.errors.addresses import shown_host, user_of
from nammd.monitor.alarms import TIME_LIMIT, alert
from nammd.monitor.monitor import Monitor
from nammd.monitor.records import Event

ATTEMPTS = 3
"""How often a webhook is tried."""

ANSWER = 10.0
"""Seconds within which it must have answered, each time."""

PAUSE = 1.0
"""Seconds until it is tried again; twice as many the next time."""

GIVEN_UP = 60.0
"""So many seconds after an alarm nobody tries any more to tell of it."""

AGAIN = (408, 425, 429)
"""Answers after which it is worth to try again, beside those that tell of trouble over there."""


class Alerts:
    """Tells of alarms in a thread of its own; to be given as ``on_alarm=``.

    Parameters
    ----------
    command : str or sequence of str, optional
        A program with its arguments, which is run without a shell for at most 30 seconds; it gets the alarm
        as JSON on its standard input.
    webhook : str, optional
        An address (http or https) that the same JSON is sent to by POST, with ``text``, a sentence. It is
        tried three times, 10 seconds each; a name and a password before its host are sent as such.
    say : callable, optional
        It is called with a sentence on what could not be told; by default that goes to stderr.

    Examples
    --------
    >>> import pathlib, sys, tempfile
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.integrations.alerts import Alerts
    >>> train, today = np.random.default_rng(0).normal(size=(2, 500, 2))
    >>> tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
    >>> path = pathlib.Path(tempfile.mkdtemp(), "shop.monitor")
    >>> monitor = nammd.Monitor.create(path, tolerance, train)
    >>> alerts = Alerts([sys.executable, "-c", "raise SystemExit(3)"], say=print)
    >>> verdict = monitor.add(today + 1, key="2026-03-01", on_alarm=alerts)
    >>> alerts.wait()
    The alarm of 2026-03-01 (batch) was not told: the command for alarms failed with exit code 3.
    The alarm of 2026-03-01 (stream) was not told: the command for alarms failed with exit code 3.
    >>> monitor.state.events[-1].kind
    'note'
    """

    def __init__(
        self,
        command: str | Sequence[str] | None = None,
        webhook: str | None = None,
        *,
        say: Callable[[str], Any] | None = None,
    ) -> None:
        if webhook is not None:
            require_webhook(webhook)
        self._command, self._webhook = command, webhook
        self._say = _on_stderr if say is None else say
        self._lock = threading.Lock()
        self._waiting: list[tuple[float, dict[str, Any]]] = []
        self._thread: threading.Thread | None = None

    def __call__(self, told: dict[str, Any]) -> None:
        """Tell of an alarm, later; this returns at once."""
        if self._command is None and self._webhook is None:
            return
        with self._lock:
            self._waiting.append((time.monotonic() + GIVEN_UP, told))
            if self._thread is None:
                # What the caller's context holds, such as the key of seals, holds there too.
                work = contextvars.copy_context().run
                self._thread = threading.Thread(target=work, args=(self._work,), name="nammd alerts")
                self._thread.start()

    def wait(self) -> None:
        """Wait until all is told or given up; that is at most a minute after the last alarm."""
        while True:
            with self._lock:
                thread = self._thread
            if thread is None:
                return
            thread.join()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                until, told = self._waiting.pop(0)
            for trouble in self._troubles(told, until):
                self._record(told, trouble)

    def _troubles(self, told: dict[str, Any], until: float) -> list[str]:
        """Tell of an alarm until some time; return what went wrong."""
        found = []
        if self._webhook is not None:
            found.append(post(self._webhook, told, until))
        if self._command is not None:
            left = min(until - time.monotonic(), TIME_LIMIT)
            event, about = Event(**told["event"]), {k: v for k, v in told.items() if k != "event"}
            found.append(alert(self._command, event, about, left) if left > 0 else "there was no time left")
        return [trouble for trouble in found if trouble]

    def _record(self, told: dict[str, Any], trouble: str) -> None:
        key, cause = told["event"]["key"], told["event"]["cause"]
        words = f"The alarm{f' of {key}' if key else ''} ({cause}) was not told: {trouble}."
        self._say(words)
        try:
            Monitor.open(Path(told["monitor"])).note(words[:2000], key or None)
        except Exception as error:  # a full disk, for example; nobody is there to catch it
            self._say(f"That could not be written into the history: {type(error).__name__}.")


def require_webhook(address: str) -> None:
    """Refuse what nothing can be sent to, before anything is done."""
    scheme, separator, rest = address.partition("://")
    if not separator or scheme.lower() not in ("http", "https") or not rest.strip("/"):
        raise ValueError("a webhook must be an address that begins with https:// or http://")


def post(address: str, told: dict[str, Any], until: float) -> str:
    """Send an alarm to a webhook, several times if need be; return what went wrong, or an empty text."""
    user = user_of(address)
    headers = {"content-type": "application/json", "user-agent": "nammd"}
    if user is not None:
        name, password, address = user
        secret = base64.b64encode(f"{name}:{password}".encode()).decode()
        headers["authorization"] = f"Basic {secret}"
    content = json.dumps({"text": told["event"]["text"], **told}).encode()
    trouble, pause = "there was no time left", PAUSE
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(max(min(pause, until - time.monotonic()), 0.0))
            pause *= 2
        left = min(ANSWER, until - time.monotonic())
        if left <= 0:
            break
        request = urllib.request.Request(address, content, headers, method="POST")
        trouble, again = _sent(request, left)
        if not again:
            break
    return f"{shown_host(address)}: {trouble}" if trouble else ""


def _sent(request: urllib.request.Request, limit: float) -> tuple[str, bool]:
    """Send a request; return what went wrong, and whether another attempt may help.

    The limits of sockets are for each step: looking a name up has none, and who answers with a letter a
    second keeps within them for ever. So it is sent in a thread that is left alone when the time is over.
    """
    found: list[tuple[str, bool]] = []
    thread = threading.Thread(target=lambda: found.append(_answer(request, limit)), daemon=True)
    thread.start()
    thread.join(limit)
    return found[0] if found else (f"there was no answer within {limit:.3g} s", True)


def _answer(request: urllib.request.Request, limit: float) -> tuple[str, bool]:
    try:
        with _OPENER.open(request, timeout=limit):
            return "", False
    except urllib.error.HTTPError as error:
        error.close()
        return f"it answered {error.code}", error.code >= 500 or error.code in AGAIN
    except TimeoutError:
        return f"there was no answer within {limit:.3g} s", True
    except urllib.error.URLError as error:
        reason = error.reason
        words = reason.strerror if isinstance(reason, OSError) and reason.strerror else type(reason).__name__
        return f"it cannot be reached ({words})", True
    except Exception as error:  # whatever a server may send
        return f"it did not answer as a web server does ({type(error).__name__})", True


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Who is told of an alarm was named by the user, and by nobody else."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def _on_stderr(words: str) -> None:
    print(words, file=sys.stderr)
