"""Telling somebody of an alarm: a program that gets the event on its standard input."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from nammd.monitor.records import Event
from nammd.monitor.verdict import BatchVerdict
from nammd.results import Caution

TIME_LIMIT = 30.0
"""Seconds that the program may take."""

OnAlarm: TypeAlias = str | Sequence[str] | Callable[[dict[str, Any]], Any] | None


_TOLD = ("key", "decision", "level", "distance", "interval", "epsilon", "columns")


def tell(on_alarm: OnAlarm, path: Path, result: BatchVerdict) -> BatchVerdict:
    """Tell of the alarms that a batch opened; return its verdict with a caution about what went wrong."""
    if on_alarm is None:
        return result
    found = result.to_dict()
    about = {
        "monitor": str(path.resolve()),
        "state": result.state.headline(),
        "batch": {name: found[name] for name in _TOLD},
    }
    opened = [event for event in result.events if event.kind == "alarm opened"]
    troubles = [trouble for event in opened if (trouble := alert(on_alarm, event, about))]
    cautions = [
        Caution("alert-failed", f"{trouble}; the batch was added all the same") for trouble in troubles
    ]
    return replace(result, warnings=(*result.warnings, *cautions))


def alert(on_alarm: OnAlarm, event: Event, about: dict[str, Any], limit: float = TIME_LIMIT) -> str:
    """Tell of an event; return what went wrong, or an empty text. It never raises: a batch is added by then.

    Parameters
    ----------
    on_alarm : str, sequence of str or callable
        A command with its arguments, which is run without a shell; or a function of the event.
    event : Event
        What happened.
    about : dict
        What else the program is told: the monitor, and the state of the stream.
    limit : float
        Seconds that a command may take.
    """
    told = {"event": event.to_dict(), **about}
    try:
        if callable(on_alarm):
            on_alarm(told)
            return ""
        command = (
            shlex.split(on_alarm) if isinstance(on_alarm, str) else [str(word) for word in on_alarm or ()]
        )
        if not command:
            return "the command for alarms is empty"
        done = subprocess.run(
            command, input=json.dumps(told), text=True, timeout=limit, check=False, stdout=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"the command for alarms took longer than {limit:g} s and was stopped"
    except Exception as error:
        return f"the command for alarms failed: {type(error).__name__}: {error}"
    return "" if done.returncode == 0 else f"the command for alarms failed with exit code {done.returncode}"
