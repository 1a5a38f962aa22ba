"""What people write into a history: notes, acknowledgements, when batches are expected."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Iterable
from typing import Any

from nammd.monitor import alarms
from nammd.monitor.calendar import GRACE, Calendar
from nammd.monitor.history import Writer
from nammd.monitor.history_view import HistoryView, clock
from nammd.monitor.keys import as_key
from nammd.monitor.rates import Spending
from nammd.monitor.records import Event

LONGEST_TEXT = 2000
"""So many letters a note may have."""


class HistoryEdits(HistoryView):
    """A history, to be looked at and to be written into."""

    def note(self, text: str, key: Any = None) -> None:
        """Write a note into the history.

        Parameters
        ----------
        text : str
            The note.
        key : str, date or int, optional
            The batch that it is about.
        """
        words, name = line_of(text, "a note"), "" if key is None else as_key(key)
        self._history.write(lambda writer: writer.event(stamp(), "note", name, text=words))

    def acknowledge(self, text: str = "", key: Any = None, *, now: datetime.datetime | None = None) -> int:
        """Acknowledge the alarms that are open, or those of a batch.

        Those of data stay open until the data are back; silence and refused batches are closed by it.

        Parameters
        ----------
        text : str
            What is to be said about it.
        key : str, date or int, optional
            The batch that opened the alarm, or that has not come; by default all that are open.
        now : datetime, optional
            The time; by default that of this computer.

        Returns
        -------
        int
            How many alarms were acknowledged.
        """
        words, name = line_of(text, "a note") if text else "", None if key is None else as_key(key)
        when = clock() if now is None else now
        return int(self._history.write(lambda writer: alarms.acknowledge(writer, stamp(), words, name, when)))

    def close(self, text: str = "", *, now: datetime.datetime | None = None) -> int:
        """Close the alarms that are open, as of the last batch; what comes next may open others.

        An alarm closes by itself when the data are proven to be back. Where batches are too small to prove
        anything, or one column was beyond, somebody who knows can say so.

        Parameters
        ----------
        text : str
            Why.
        now : datetime, optional
            The time; by default that of this computer.

        Returns
        -------
        int
            How many alarms were closed.
        """
        words = line_of(text, "a note") if text else ""
        when = clock() if now is None else now
        return int(self._history.write(lambda writer: alarms.close(writer, stamp(), words, when)))

    def expect(
        self,
        *,
        grace: int | None = GRACE,
        days: str | None = None,
        holidays: Iterable[Any] = (),
    ) -> None:
        """Change when batches are expected.

        Parameters
        ----------
        grace, days, holidays
            As for `create`.
        """
        every = Spending.from_dict(self._history.read().settings).every
        calendar = Calendar.of(every, grace, days, holidays)

        def write(writer: Writer) -> None:
            writer.expect(calendar)
            writer.event(stamp(), "calendar changed", text=f"{calendar.sentence()}.")

        self._history.write(write)

    def tell_silence(
        self, on_alarm: alarms.OnAlarm, *, now: datetime.datetime | None = None
    ) -> tuple[Event, ...]:
        """Tell of batches that have not come, once for each gap; for a scheduler.

        That somebody was told is written into the history, so that the next call does not tell it again. The
        state is worked out as ever.

        Parameters
        ----------
        on_alarm : str, sequence of str or callable
            As for `add`: a command, or a function of the event. It is told after the history was written.
        now : datetime, optional
            The time; by default that of this computer. Without a zone it is universal time.

        Returns
        -------
        tuple of Event
            What was told.
        """
        when = clock() if now is None else now
        if not alarms.untold_silence(self.state_at(when)):
            return ()  # nothing is written where there is nothing to tell
        events, state = self._history.write(lambda writer: alarms.note_silence(writer, stamp(), when))
        about = {"monitor": str(self.path.resolve()), "state": state.headline()}
        for event in events:
            alarms.alert(on_alarm, event, about | {"batch": {"key": event.key}})
        return tuple(events)

    def forget(self, key: Any) -> None:
        """Remove a batch, as if it had never come; that it was there stays among the events.

        Parameters
        ----------
        key : str, date or int
            The batch.
        """
        name = as_key(key)

        def remove(writer: Writer) -> None:
            seen = writer.read()
            if seen.batch(name) is None:
                raise ValueError(f"the monitor {self.path} has no batch {name!r}")
            gone = writer.event(stamp(), "batch forgotten", name, text=f"The batch {name} was removed.")
            alarms.follow(writer, stamp(), seen, seen.without_batch(name).with_events(gone))

        self._history.write(remove)


def line_of(text: Any, what: str) -> str:
    """Return a text in one line, if it is one that can be kept."""
    words = " ".join(str(text).split())
    if not words or len(words) > LONGEST_TEXT:
        raise ValueError(f"{what} must have between 1 and {LONGEST_TEXT} letters")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in words):  # no page could be written
        raise ValueError(f"{what} has letters that no text has: {words[:40]!a}; leave them out")
    return words


def stamp() -> str:
    """Return the time of this computer, as records have it."""
    return clock().isoformat(timespec="seconds")
