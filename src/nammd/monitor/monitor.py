"""Watching a stream of batches against a tolerance: `Monitor`."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from nammd.engines import Engine
from nammd.errors.checks import choice
from nammd.errors.naming import listed
from nammd.errors.seal_key import current_key
from nammd.monitor import alarms
from nammd.monitor.alarms import OnAlarm, tell
from nammd.monitor.history import History, Writer
from nammd.monitor.history_view import HistoryView
from nammd.monitor.keys import as_key
from nammd.monitor.measuring import measure, open_batch
from nammd.monitor.rates import RateName, Spending
from nammd.monitor.repair import Repair, repair
from nammd.monitor.state import next_level, state_of
from nammd.monitor.storage import CurrentGate, opened_reference, packed_reference, reference_sums
from nammd.monitor.verdict import BatchVerdict
from nammd.tolerances.file import dumps
from nammd.tolerances.many_datasets import Errors, Turn, TurnProgress, in_turn
from nammd.tolerances.tolerance import Tolerance

Claim: TypeAlias = Literal["reference", "population"]


class Monitor(HistoryView):
    """A stream of batches, watched against a tolerance, with its history in one file.

    Make one with `Monitor.create`, and open it again with `Monitor.open`. There are two layers, each with a
    claim of its own. Every batch is CLOSE, FAR or UNDECIDED at a level such that the false alarms stay within
    their budget, however batches depend on each other. And all batches together are evidence of a drift that
    no single one shows; that is relative to these rows of the reference.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> train = rng.normal(size=(500, 2))
    >>> tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), columns=2)
    >>> path = pathlib.Path(tempfile.mkdtemp(), "shop.monitor")
    >>> monitor = nammd.Monitor.create(path, tolerance, train, false_alarms="1/year", every="day")
    >>> print(monitor.add(rng.normal(size=(300, 2)), key="2026-03-01").decision)
    CLOSE
    >>> print(monitor.add(rng.normal(loc=1.0, size=(300, 2)), key="2026-03-02").decision)
    FAR
    >>> nammd.Monitor.open(path).state.headline()
    'Beyond tolerance since 2026-03-02: that batch is FAR.'
    """

    def __init__(self, path: str | Path, *, reference: Any = None, engine: Engine | None = None) -> None:
        super().__init__(Path(path).expanduser())
        self.engine = engine
        self._current_gate = CurrentGate(reference)

    @classmethod
    def create(
        cls,
        path: str | Path,
        tolerance: Tolerance | str | Path,
        reference: Any,
        *,
        false_alarms: str | float = "1/year",
        every: str | float = "day",
        rate: RateName = "budget",
        alpha: float = 0.05,
        claim: Claim = "reference",
        title: str | None = None,
        engine: Engine | None = None,
    ) -> Monitor:
        """Begin to watch a stream.

        Parameters
        ----------
        path : str or Path
            The file of the history; it must not be there yet.
        tolerance : Tolerance or path
            What close enough means.
        reference : dataset
            What batches are compared with; see `distance`. It is kept in the file, unless it is larger than
            256 MB or on a cluster.
        false_alarms : str or float
            How many false alarms are acceptable: ``"1/year"``, ``"2/month"``, or a number of them a year.
        every : str or float
            How often batches come: ``"hour"``, ``"day"``, ``"week"``, ``"month"``, or how many a year.
        rate : {"budget", "ever", "discoveries"}
            What is bounded: the expected false alarms a year; the probability that there is ever one, by
            `alpha`; or the expected share of false ones among all alarms, by `alpha`.
        alpha : float
            The bound, for the latter two.
        claim : {"reference", "population"}
            What the stream's evidence is about: these rows of the reference, or the population that they
            were drawn from. The latter takes the error of the reference into account, and notices slow drift
            later.
        title : str, optional
            What is watched; by default the name of the file.
        engine : Engine, optional
            Which engine computes; by default the one where the data is.

        Returns
        -------
        Monitor
        """
        where = Path(path).expanduser()
        limit = tolerance if isinstance(tolerance, Tolerance) else Tolerance.load(tolerance)
        choice(claim, "claim", get_args(Claim))
        spending = Spending.of(false_alarms, every, rate, alpha)
        dataset = opened_reference(limit, reference)
        gate = limit.with_reference(dataset, engine=engine)
        kept, content = packed_reference(gate, dataset)
        sums = reference_sums(gate)
        now = _now()

        def begin(writer: Writer) -> None:
            number = writer.keep(kept, content, sums)
            writer.begin_era(now, dumps(limit).decode(), number)
            writer.event(
                now, "created", text=f"Batches are compared with {kept.name}; {spending.sentence()}."
            )

        from nammd import __version__

        settings = spending.to_dict() | {"claim": claim}
        name = where.stem if title is None else str(title)
        head = {"created": now, "made_by": f"nammd {__version__}", "title": name, "settings": settings}
        History.create(where, head, begin, current_key())
        made = cls(where, reference=None if content else reference, engine=engine)
        made._current_gate.gate, made._current_gate.dataset = (1, gate), dataset
        return made

    @classmethod
    def open(cls, path: str | Path, *, reference: Any = None, engine: Engine | None = None) -> Monitor:
        """Open a monitor.

        Parameters
        ----------
        path : str or Path
            The file of the history.
        reference : dataset, optional
            The reference, where it is not kept in the file.
        engine : Engine, optional
            Which engine computes; by default the one where the data is.

        Returns
        -------
        Monitor
        """
        return cls(path, reference=reference, engine=engine)

    @staticmethod
    def repair(path: str | Path, into: str | Path | None = None) -> Repair:
        """Move what can be read of a damaged monitor into a new file; the damaged one stays as it is.

        Parameters
        ----------
        path : str or Path
            The damaged file.
        into : str or Path, optional
            The new file; by default one beside it, with ``.repaired`` in its name.

        Returns
        -------
        Repair
            The new file, None where nothing is wrong; and what is missing in it, in words.
        """
        where = None if into is None else Path(into).expanduser()
        return repair(Path(path).expanduser(), where)

    def add(
        self,
        data: Any,
        key: Any,
        *,
        replace: bool = False,
        report: str | Path | None = None,
        on_alarm: OnAlarm = None,
    ) -> BatchVerdict:
        """Check a batch, and add it to the history.

        Parameters
        ----------
        data : dataset
            The batch; see `distance`. Where the reference is a sketch, rows are sketched like it.
        key : str, date or int
            What the batch is called. Where all keys tell a time, that is the order of the stream; else their
            names. The same batch under the same key changes nothing; other data under it are refused.
        replace : bool
            Whether other data under the same key take the place of those that are there.
        report : str or Path, optional
            A page about the batch to write; see `Verdict.report`.
        on_alarm : str, sequence of str or callable, optional
            A command that is run where the batch opens an alarm, with the event as JSON on its standard
            input; or a function that is called with the same. If it fails the result has a caution; the
            batch has been added.

        Returns
        -------
        BatchVerdict
        """
        name = as_key(key)
        seen = self._history.read()
        era, gate = self._current_gate.load(self._history, seen, self.engine)
        batch = open_batch(gate, data, name)
        if alarms.is_there(seen, name, batch.digest, replace):
            return BatchVerdict.of(state_of(seen), name)
        measured = measure(gate, batch, name, era, next_level(seen))
        if report is not None:
            measured = measured.with_report(measured.verdict.report(report), self.path)
        found, state = self._history.write(lambda writer: alarms.store(writer, measured, replace, _now()))
        if found is None:  # another process was quicker with the same batch
            return BatchVerdict.of(state, name)
        return tell(on_alarm, self.path, BatchVerdict.of(state, name, measured.verdict, found))

    def add_all(
        self,
        batches: Mapping[Any, Any],
        *,
        replace: bool = False,
        report: Callable[[str], str | Path | None] | None = None,
        on_alarm: OnAlarm = None,
        errors: Errors = "raise",
        progress: TurnProgress | None = None,
    ) -> list[Turn[BatchVerdict]]:
        """Add several batches, one after the other; the reference is summed once.

        Parameters
        ----------
        batches : mapping of key to dataset
            The batches by their keys. In place of a dataset may be a function that returns it, which is
            called when its turn comes.
        replace, on_alarm
            As for `add`.
        report : callable, optional
            ``report(key)``: the page to write about a batch, or None.
        errors : {"raise", "keep"}
            What to do about a batch that cannot be added: raise the error, or keep it, and go on.
        progress : callable, optional
            Called as ``progress(done, total, key)`` before every batch.

        Returns
        -------
        list of Turn
            For each batch its name, and its `BatchVerdict` as ``result`` or an ``error``.
        """

        def add(data: Any, key: Any) -> BatchVerdict:
            page = None if report is None else report(as_key(key))
            return self.add(data, key, replace=replace, report=page, on_alarm=on_alarm)

        return list(in_turn(batches, add, "batch", errors, progress))

    def note(self, text: str, key: Any = None) -> None:
        """Write a note into the history.

        Parameters
        ----------
        text : str
            The note.
        key : str, date or int, optional
            The batch that it is about.
        """
        words, name = _line(text, "a note"), "" if key is None else as_key(key)
        self._history.write(lambda writer: writer.event(_now(), "note", name, text=words))

    def acknowledge(self, text: str = "", key: Any = None, *, accept: Any = None) -> int:
        """Acknowledge the alarms that are open, or that of a batch; they stay open until the data are back.

        Parameters
        ----------
        text : str
            What is to be said about it.
        key : str, date or int, optional
            The batch that opened the alarm; by default all that are open.
        accept : dataset, or mapping of str to dataset, optional
            Data that were fine after all, such as those of that batch: from here on batches may be like
            them; see `Tolerance.accepting`.

        Returns
        -------
        int
            How many alarms were acknowledged.
        """
        words, name = _line(text, "a note") if text else "", None if key is None else as_key(key)
        if accept is not None:
            _, gate = self._current_gate.load(self._history, self._history.read(), self.engine)
            if not isinstance(accept, Mapping):
                accept = {name or f"accepted {_now()}": accept}
            limit = gate.tolerance.accepting(accept, reason=words)
        count = int(self._history.write(lambda writer: alarms.acknowledge(writer, _now(), words, name)))
        if accept is not None:
            self.change(tolerance=limit)
        return count

    def close(self, text: str = "") -> int:
        """Close the alarms that are open, as of the last batch; what comes next may open others.

        An alarm closes by itself when the data are proven to be back. Where batches are too small to prove
        anything, or one column was beyond, somebody who knows can say so.

        Parameters
        ----------
        text : str
            Why.

        Returns
        -------
        int
            How many alarms were closed.
        """
        words = _line(text, "a note") if text else ""
        return int(self._history.write(lambda writer: alarms.close(writer, _now(), words)))

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
            gone = writer.event(_now(), "batch forgotten", name, text=f"The batch {name} was removed.")
            alarms.follow(writer, _now(), seen, seen.without_batch(name).with_events(gone))

        self._history.write(remove)

    def change(self, *, tolerance: Tolerance | str | Path | None = None, reference: Any = None) -> None:
        """Hold the batches to come against another tolerance or reference; the evidence starts anew.

        Parameters
        ----------
        tolerance : Tolerance or path, optional
            The new tolerance.
        reference : dataset, optional
            The new reference.
        """
        if tolerance is None and reference is None:
            raise TypeError("give a tolerance, a reference or both")
        _, gate = self._current_gate.load(self._history, self._history.read(), self.engine)
        limit = gate.tolerance
        if tolerance is not None:
            limit = tolerance if isinstance(tolerance, Tolerance) else Tolerance.load(tolerance)
        dataset = opened_reference(limit, self._current_gate.dataset if reference is None else reference)
        new = limit.with_reference(dataset, engine=self.engine)
        kept, content = packed_reference(new, dataset)
        sums = reference_sums(new)
        now = _now()

        def begin(writer: Writer) -> int:
            number = writer.keep(kept, content, sums)  # its digest and its sums are those of the new space
            if tolerance is not None:
                words = _changed(gate.tolerance, limit)
                writer.event(now, "tolerance changed", text=words)
            if reference is not None:
                writer.event(
                    now, "reference changed", text=f"Batches are compared with {kept.name} from here on."
                )
            return writer.begin_era(now, dumps(limit).decode(), number)

        number = self._history.write(begin)
        if reference is not None:
            self._current_gate = CurrentGate(None if content else reference)
        self._current_gate.gate, self._current_gate.dataset = (number, new), dataset


def _changed(before: Tolerance, after: Tolerance) -> str:
    """Say what is different about a tolerance."""
    known = () if before.accepted is None else before.accepted.labels
    more = [
        label for label in (() if after.accepted is None else after.accepted.labels) if label not in known
    ]
    if more and after.epsilon == before.epsilon:
        return f"Data like {listed(more)} are accepted from here on."
    return f"The tolerance is {after.epsilon:.4g} from here on; it was {before.epsilon:.4g}."


def _line(text: Any, what: str) -> str:
    words = " ".join(str(text).split())
    if not words or len(words) > 2000:
        raise ValueError(f"{what} must have between 1 and 2000 letters")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in words):  # no page could be written
        raise ValueError(f"{what} has letters that no text has: {words[:40]!a}; leave them out")
    return words


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
