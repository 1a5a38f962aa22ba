"""``nammd demo --monitor``: a year of days, with a season, a slow drift and a broken week."""

from __future__ import annotations

import datetime
from pathlib import Path

YEAR = 2026
REFERENCE, DAYS = "2025.parquet", "days"
ACCEPTED = {"christmas-2025.parquet": (12, 9), "summer-2025.parquet": (6, 9)}
"""Two weeks at either end of the season, by their first days."""
ROWS, REFERENCE_ROWS, ACCEPTED_ROWS = 120, 2, 50
"""Orders of a day, in the days themselves, in the reference, and in those weeks."""
BROKEN = (datetime.date(YEAR, 4, 11), datetime.date(YEAR, 4, 17))
DRIFTS_FROM = datetime.date(YEAR, 6, 1)
NEW_YEAR = f"{YEAR + 1}-01-01"
"""When somebody looks."""
NAMES = (REFERENCE, *ACCEPTED, DAYS, "tolerance.json", "shop.monitor", "monitor.html")
"""What the demo leaves in its folder."""

PAGE = "monitor.html"


def write_files(folder: Path) -> None:
    """Write last year, two weeks at either end of its season, and every day of this year."""
    last = datetime.date(YEAR - 1, 1, 1)
    _write(folder / REFERENCE, [(last + _days(k), REFERENCE_ROWS, k) for k in range(365)])
    for number, (name, (month, monday)) in enumerate(ACCEPTED.items(), 2):
        first = datetime.date(YEAR - 1, month, monday)
        _write(folder / name, [(first + _days(k), ACCEPTED_ROWS, 500 * number + k) for k in range(15)])
    (folder / DAYS).mkdir()
    for k in range(365):
        day = datetime.date(YEAR, 1, 1) + _days(k)
        _write(folder / DAYS / f"{day}.parquet", [(day, ROWS, 2000 + k)], this_year=True)


def _days(count: int) -> datetime.timedelta:
    return datetime.timedelta(days=count)


def _write(path: Path, days: list[tuple[datetime.date, int, int]], this_year: bool = False) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    from nammd.datasets import orders

    tables = []
    for day, rows, seed in days:
        drift = max((day - DRIFTS_FROM).days / 213, 0.0) * 0.25 if this_year else 0.0
        broken = this_year and BROKEN[0] <= day <= BROKEN[1]
        tables.append(pa.table(orders(day, rows, rng=seed, drift=drift, cents=broken)))
    parquet.write_table(pa.concat_tables(tables), path)


def story() -> list[tuple[str, int, list[str]]]:
    """Return the commands: why, with which exit code, and which."""
    watched = "shop.monitor"

    def add(*months: str) -> list[str]:
        return [
            "monitor",
            "add",
            watched,
            *(f"{DAYS}/{YEAR}-{each}-*.parquet" for each in months),
            "--undecided",
            "ok",
            "--quiet",
        ]

    return [
        (
            "What is close enough? People spend more before Christmas and less in summer, and both were\n"
            "fine: a day may be like last year, like those weeks, or like something between.",
            0,
            ["calibrate", REFERENCE, *ACCEPTED, "-o", "tolerance.json"],
        ),
        (
            "Watch the days: one false alarm a year is acceptable.",
            0,
            [
                *("monitor", "init", watched, "--reference", REFERENCE, "--tolerance", "tolerance.json"),
                *("--false-alarms", "1/year", "--every", "day", "--title", "Orders of a shop"),
            ],
        ),
        ("The first three months.", 0, add("0[1-3]")),
        ("In April half of the amounts come in cents, for a week.", 1, add("04")),
        ("Until the end of November all is well again; or is it?", 0, add("0[5-9]", "1[01]")),
        ("In December the stream knows before any single day does.", 1, add("12")),
        (
            "Where do we stand? The exit code is 1 while an alarm is open.",
            1,
            ["monitor", "status", watched, "--now", NEW_YEAR],
        ),
        ("And a page to look at.", 0, ["monitor", "page", watched, "-o", PAGE, "--now", NEW_YEAR]),
    ]
