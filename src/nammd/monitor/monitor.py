"""Watching a stream of batches against a tolerance: `Monitor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from nammd.engines import Engine
from nammd.errors.addresses import without_addresses
from nammd.errors.advice import in_shell
from nammd.errors.checks import choice
from nammd.errors.seal_key import current_key
from nammd.monitor import alarms
from nammd.monitor.alarms import OnAlarm, tell
from nammd.monitor.calendar import GRACE, Calendar
from nammd.monitor.changing import NewEra, named_data, tolerance_words
from nammd.monitor.history import History, Writer
from nammd.monitor.history_edits import LONGEST_TEXT, HistoryEdits, line_of, stamp
from nammd.monitor.keys import as_key
from nammd.monitor.measuring import measure, open_batch
from nammd.monitor.rates import RateName, Spending
from nammd.monitor.records import EventKind
from nammd.monitor.repair import Repair, repair
from nammd.monitor.replay import LONGEST_WINDOW
from nammd.monitor.state import State, next_level, state_of
from nammd.monitor.storage import (
    CurrentGate,
    opened_reference,
    packed_reference,
    reference_sums,
    source_name,
)
from nammd.monitor.verdict import BatchVerdict
from nammd.tolerances.file import dumps
from nammd.tolerances.many_datasets import Errors, Turn, TurnProgress, in_turn
from nammd.tolerances.tolerance import Tolerance

Claim: TypeAlias = Literal["reference", "population"]

WINDOW = 30
"""So many batches are taken together at most: a month of days, since a longer one says little about today."""


class Monitor(HistoryEdits):
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
    >>> tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
    >>> path = pathlib.Path(tempfile.mkdtemp(), "shop.monitor")
    >>> monitor = nammd.Monitor.create(path, tolerance, train, false_alarms="1/year", every="day")
    >>> print(monitor.add(rng.normal(size=(300, 2)), key="2026-03-01").decision)
    CLOSE
    >>> print(monitor.add(rng.normal(loc=1.0, size=(300, 2)), key="2026-03-02").decision)
    FAR
    >>> nammd.Monitor.open(path).state.headline()
    'Beyond tolerance: 2026-03-02 is FAR.'
    """

    def __init__(self, path: str | Path, *, reference: Any = None, engine: Engine | None = None) -> None:
        super().__init__(Path(path).expanduser())
        self.engine = engine
        self._current_gate = CurrentGate(reference)
        self._last_state: State | None = None

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
        window: int = WINDOW,
        grace: int | None = GRACE,
        days: str | None = None,
        holidays: Iterable[Any] = (),
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
            How often batches come: ``"hour"``, ``"day"``, ``"week"``, ``"month"``, or how many a year. The
            first four are an expectation: one that does not come is an alarm.
        rate : {"budget", "ever", "discoveries"}
            What is bounded: the expected false alarms a year; the probability that there is ever one, by
            `alpha`; or the expected share of false ones among all alarms, by `alpha`.
        alpha : float
            The bound, for the latter two.
        claim : {"reference", "population"}
            What the stream's evidence is about: these rows of the reference, or the population that they
            were drawn from. The latter takes the error of the reference into account, and notices slow drift
            later.
        window : int
            How many of the last batches are taken together at most, where the last alone proves nothing.
        grace : int or None
            How many further periods may end before a batch that has not come is an alarm; None for never.
        days : str, optional
            The days of the week on which batches are expected: ``"mon-fri"``, ``"mon,wed"``; by default all.
        holidays : iterable of dates
            Days on which none is expected.
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
        calendar = Calendar.of(spending.every, grace, days, holidays)
        if type(window) is not int or not 1 <= window <= LONGEST_WINDOW:
            raise ValueError(f"window must be a number of batches from 1 to {LONGEST_WINDOW}, not {window!r}")
        dataset = opened_reference(limit, reference)
        gate = limit.with_reference(dataset, engine=engine)
        kept, content = packed_reference(gate, dataset)
        sums = reference_sums(gate)
        now = stamp()

        def begin(writer: Writer) -> None:
            number = writer.keep(kept, content, sums)
            writer.begin_era(now, dumps(limit).decode(), number)
            writer.expect(calendar)
            writer.event(
                now, "created", text=f"Batches are compared with {kept.name}; {spending.sentence()}."
            )

        from nammd import __version__

        settings = spending.to_dict() | {"claim": claim, "window": window}
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
            The batch; see `distance`. Where the reference is a sketch, rows are sketched like it. It may be a
            function that returns it. Data that cannot be taken are an event of the history, and an alarm
            until it is acknowledged or a batch of the same key comes.
        key : str, date or int
            What the batch is called. Where all keys tell a time, that is the order of the stream; else their
            names. The same batch under the same key changes nothing; other data under it are refused.
        replace : bool
            Whether other data under the same key take the place of those that are there.
        report : str or Path, optional
            A page about the batch to write; see `Verdict.report`.
        on_alarm : str, sequence of str or callable, optional
            A command that is run where the batch opens an alarm, or is refused, with the event as JSON on its
            standard input; or a function that is called with the same. If it fails the result has a caution;
            the batch has been added.

        Returns
        -------
        BatchVerdict
        """
        name = as_key(key)
        seen = self._history.read()
        era, gate = self._current_gate.load(self._history, seen, self.engine)
        with self._noting_refusal(name, on_alarm):
            batch = open_batch(gate, data() if callable(data) else data, name)
        if alarms.is_there(seen, name, batch.digest, replace):
            return BatchVerdict.of(state_of(seen), name)
        with self._noting_refusal(name, on_alarm):
            measured = measure(gate, batch, name, era, next_level(seen))
        if report is not None:
            measured = measured.with_report(measured.verdict.report(report), self.path)
        found, state = self._history.write(
            lambda writer: alarms.store(writer, measured, replace, stamp(), self._last_state)
        )
        self._last_state = state
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

        # `add` calls what is a function, so that what goes wrong there is noted too.
        kept = {key: (partial(_itself, data)) for key, data in batches.items()}
        return list(in_turn(kept, add, "batch", errors, progress))

    @contextmanager
    def _noting_refusal(self, key: str, on_alarm: OnAlarm) -> Iterator[None]:
        """Write and tell an event of a batch that cannot be taken; that its file is not there is silence."""
        try:
            yield
        except (FileNotFoundError, PermissionError, IsADirectoryError):
            raise
        except (ValueError, TypeError, OSError) as error:
            words = " ".join(without_addresses(in_shell(error)).split())[:LONGEST_TEXT]
            # What went wrong is more important than that it cannot be written down.
            with suppress(ValueError, OSError):
                event = self._history.write(lambda writer: alarms.refuse(writer, stamp(), key, words))
                if event is not None and on_alarm is not None:
                    state = self.state.headline()
                    about = {"monitor": str(self.path.resolve()), "state": state, "batch": {"key": key}}
                    alarms.alert(on_alarm, event, about)
            raise

    def accept(self, what: Any, why: str) -> str:
        """Take data into what is accepted: from here on batches may be like them; see `Tolerance.accepting`.

        Open alarms of data are acknowledged and end with the next batch; the evidence and the budget of
        false alarms start anew.

        Parameters
        ----------
        what : str, date or int; or an iterable of these; or mapping of str to dataset
            The keys of batches, whose files are read again where they were: of their rows nothing is kept.
            Or data by name; under the key of a batch they must be that batch.
        why : str
            Why that is fine; the tolerance keeps it.

        Returns
        -------
        str
            What is accepted, and from where on.
        """
        words, seen = line_of(why, "why"), self._history.read()
        _, gate = self._current_gate.load(self._history, seen, self.engine)
        limit = gate.tolerance.accepting(named_data(seen, gate, what, self.path), reason=words)
        self._begin(limit, None, acknowledging=words)
        return self._history.read().events[-1].text

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
        limit: Tolerance | None = None
        if tolerance is not None:
            limit = tolerance if isinstance(tolerance, Tolerance) else Tolerance.load(tolerance)
        self._begin(limit, reference)

    def _begin(self, limit: Tolerance | None, reference: Any, acknowledging: str | None = None) -> None:
        """Begin to hold batches against something else."""
        _, gate = self._current_gate.load(self._history, self._history.read(), self.engine)
        tolerance = gate.tolerance if limit is None else limit
        dataset = opened_reference(tolerance, self._current_gate.dataset if reference is None else reference)
        new = tolerance.with_reference(dataset, engine=self.engine)
        events: list[tuple[EventKind, str]] = []
        if reference is not None:
            events.append(("reference changed", f"Batches are compared with {source_name(dataset)}."))
        if limit is not None:
            events.append(("tolerance changed", tolerance_words(gate.tolerance, limit)))
        era = NewEra(new, dataset, tuple(events), acknowledging)
        number = self._history.write(lambda writer: era.begin(writer, stamp()))
        if reference is not None:
            kept = self._history.read().references[-1]
            self._current_gate = CurrentGate(None if kept.content else reference)
        self._current_gate.gate, self._current_gate.dataset = (number, new), dataset


def _itself(data: Any) -> Any:
    """Return data that are asked for as they were given."""
    return data
