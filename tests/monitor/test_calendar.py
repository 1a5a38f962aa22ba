"""When batches are expected, and which have not come."""

import datetime

import pytest

from nammd.monitor.calendar import Calendar, holidays_in

WEEK = ["2026-03-02", "2026-03-03", "2026-03-06", "2026-03-10", "2026-03-11"]
"""Monday, Tuesday, Friday, and two days of the next week."""


def missing(calendar, keys, now=None, came="2026-03-01T12:00:00+00:00"):
    when = None if now is None else datetime.datetime.fromisoformat(now)
    return [calendar.named(*each).name for each in calendar.gaps(keys, came, when)]


def test_gaps_are_known_without_a_clock_once_grace_is_over():
    days = Calendar.of("day", 2, None, ())
    assert missing(days, WEEK) == ["2026-03-04 to 2026-03-05", "2026-03-07 to 2026-03-09"]
    assert missing(days, WEEK[:3]) == ["2026-03-04"]  # the fifth may still come
    assert missing(Calendar.of("day", 0, None, ()), WEEK[:3]) == ["2026-03-04 to 2026-03-05"]
    assert missing(Calendar.of("day", None, None, ()), WEEK) == []


def test_weekends_and_holidays_are_not_missed():
    calendar = Calendar.of("day", 2, "mon-fri", ["2026-03-09"])
    assert missing(calendar, WEEK) == ["2026-03-04 to 2026-03-05"]
    assert missing(calendar, [*WEEK, "2026-03-14", "2026-03-16"]) == [
        "2026-03-04 to 2026-03-05",
        "2026-03-12",
    ]


@pytest.mark.parametrize(
    ("now", "found"),
    [
        ("2026-03-13T23:59", []),
        ("2026-03-16T23:59", []),  # Friday and the weekend: one more working day has ended
        ("2026-03-17T00:00", ["2026-03-12"]),
        ("2026-03-18T00:00", ["2026-03-12 to 2026-03-13"]),
        ("2026-03-18T01:00+02:00", ["2026-03-12"]),  # in universal time it is still the seventeenth
    ],
)
def test_late_batches_are_known_by_the_clock(now, found):
    calendar = Calendar.of("day", 2, "mon-fri", ["2026-03-09"])
    assert missing(calendar, WEEK, now) == ["2026-03-04 to 2026-03-05", *found]


def test_a_stream_that_never_began_is_silent_too():
    days = Calendar.of("day", 2, None, ())
    assert missing(days, [], "2026-03-03T23:00") == []
    assert missing(days, [], "2026-03-05T12:00") == ["2026-03-01 to 2026-03-02"]
    assert missing(days, []) == []


def test_where_keys_tell_no_time_the_arrival_of_the_last_counts():
    days = Calendar.of("day", 2, None, ())
    assert missing(days, ["b1", "b2"]) == []
    assert missing(days, ["b1", "b2"], "2026-03-04T12:00") == []
    assert missing(days, ["b1", "b2"], "2026-03-05T12:00") == ["2026-03-02"]
    assert missing(days, ["b1"], "2026-03-05T12:00", came="whenever") == []
    assert missing(days, [], "2026-03-05T12:00", came="0001-01-01T00:00:00") == []


@pytest.mark.parametrize(
    ("every", "keys", "found"),
    [
        (
            "hour",
            ["2026-03-01T05", "2026-03-01T08", "2026-03-01T09"],
            ["2026-03-01T06:00:00 to 2026-03-01T07:00:00"],
        ),
        ("week", ["2026-W08", "2026-W10", "2026-W11"], ["2026-W09"]),
        ("week", ["2025-12-22", "2026-01-05", "2026-01-12"], ["2026-W01"]),
        ("month", ["2025-11", "2026-02", "2026-03"], ["2025-12 to 2026-01"]),
        ("month", ["2026-02-28", "2026-03-01"], []),
        ("7", ["2026-03-01", "2026-12-01"], []),
        ("day", ["0001-01-01", "9999-12-31"], ["0001-01-02 to 9999-12-29"]),
    ],
)
def test_periods_of_every_kind(every, keys, found):
    grace = 2 if every == "day" else 1
    assert missing(Calendar.of(every, grace, None, ()), keys) == found


def test_hours_are_those_of_expected_days():
    calendar = Calendar.of("hour", 1, "mon-fri", ())
    keys = ["2026-03-06T23", "2026-03-07T12", "2026-03-09T01", "2026-03-09T02"]
    assert missing(calendar, keys) == ["2026-03-09T00:00:00"]


def test_neighbours_are_told_from_others():
    weekdays = Calendar.of("day", 2, "mon-fri", ())
    assert weekdays.unbroken(["2026-03-05", "2026-03-06", "2026-03-09"])
    assert not Calendar.of("day", 2, None, ()).unbroken(["2026-03-05", "2026-03-06", "2026-03-09"])
    assert not weekdays.unbroken(["a", "b"])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("day", 2, "mon-fry", ()), "mon-fri"),
        (("day", 2, ",", ()), "mon-fri"),
        (("day", -1, None, ()), "grace"),
        (("day", 1.5, None, ()), "grace"),
        (("day", 2, None, ["25.12.2026"]), "2026-12-25"),
        (("week", 2, "mon-fri", ()), "every hour or every day"),
    ],
)
def test_calendars_that_are_none_are_refused(asked, said):
    with pytest.raises(ValueError, match=said):
        Calendar.of(*asked)


def test_holidays_come_from_a_file_of_dates():
    text = "# Germany\n2026-12-25, Christmas\n2026-12-25\n 2027-01-01\tNew Year # again\n"
    calendar = Calendar.of("day", 2, "Mon - Fri", holidays_in(text))
    assert calendar.holidays == ("2026-12-25", "2027-01-01")
    assert Calendar.from_dict("day", calendar.to_dict()) == calendar
    with pytest.raises(ValueError, match="as a date"):
        holidays_in("tomorrow")


@pytest.mark.parametrize("asked", [(2, "x" * 5000, ()), ("x" * 5000, None, ()), (2, None, ["x" * 5000])])
def test_what_is_wrong_is_told_in_a_few_words(asked):
    with pytest.raises(ValueError, match=r"mon-fri|grace|holiday") as error:
        Calendar.of("day", *asked)
    assert len(str(error.value)) < 200
