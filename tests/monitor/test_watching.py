"""What a monitor says day by day: quiet days, windows, silence, refused batches, accepted seasons."""

import datetime
import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.monitor.alarms import acknowledge, refuse
from nammd.monitor.batch import Against, Moved
from nammd.monitor.calendar import Calendar
from nammd.monitor.page import page_of, render
from nammd.monitor.state import state_of
from nammd.monitor.stream import StreamAlarm
from nammd.monitor.words import closed_words
from nammd.results.wrapping import wrapped
from tests.monitor.records import add, batch, days, new_history

AT = "2026-01-02T00:00:00+00:00"
RNG = np.random.default_rng


def open_one(key, z=-1.3, **changed):
    """A batch that proves nothing: so many deviations below the tolerance."""
    from scipy.special import ndtr

    return batch(key, z=z, p_close=float(ndtr(z)), p_far=float(ndtr(-z)), deviation=0.01, **changed)


def filled(path, batches, **settings):
    history = new_history(path, **settings)
    for one in batches:
        add(history, one)
    return history


def expecting(path, batches, grace=2, **more):
    history = new_history(path)
    history.write(lambda writer: writer.expect(Calendar("day", grace, **more)))
    for one in batches:
        add(history, one)
    return history


def words(history, now=None):
    when = None if now is None else datetime.datetime.fromisoformat(now)
    return state_of(history.read(), when).headline()


def test_quiet_days_add_up_to_a_proof(tmp_path):
    history = new_history(tmp_path / "a")
    said = []
    for key in days(14):
        add(history, open_one(key))
        said.append(words(history))
    assert said[0] == "Nothing is proven yet: 1 batch is quiet."
    assert said[1] == "Nothing is proven yet: 2 batches are quiet."
    assert said[7] == "Within tolerance, by the last 8 days together, relative to this reference."
    assert said[13] == (
        "Within tolerance, by the last 8 days together, relative to this reference; without a gap since "
        f"{days(1)[0]}."
    )
    state = state_of(history.read())
    assert state.counts() == {"CLOSE": 0, "FAR": 0, "UNDECIDED": 0, "quiet": 14}
    assert (state.told[-1].side, state.told[-1].by) == ("within", 8)


def test_batches_that_are_no_neighbours_are_called_batches(tmp_path):
    every_other = [open_one(key) for key in days(16)[::2]]
    assert "by the last 8 batches together" in words(filled(tmp_path / "a", every_other))
    named = [open_one(f"b{k}") for k in range(8)]
    assert "by the last 8 batches together" in words(filled(tmp_path / "b", named))
    none = [open_one(key) for key in days(8)]
    assert words(filled(tmp_path / "c", none, window=1)) == "Nothing is proven yet: 8 batches are quiet."


def test_since_covers_every_batch_by_evidence(tmp_path):
    keys = days(29)
    batches = (
        [batch(keys[0], p_close=2e-3)] + [open_one(key, z=0.1) for key in keys[1:-1]] + [batch(keys[-1])]
    )
    state = state_of(filled(tmp_path / "a", batches).read())
    assert state.within_since == keys[-1]  # and not the first: the days between prove nothing
    assert state.headline() == f"Within tolerance: {keys[-1]} is CLOSE."
    state = state_of(filled(tmp_path / "b", batches[:-1]).read())
    assert state.within_since == ""
    assert state.headline() == (
        f"No alarm: within tolerance up to {keys[0]}; since then 27 batches are quiet, which proves nothing."
    )


def test_since_begins_after_the_last_alarm(tmp_path):
    keys = days(12)
    far = batch(keys[2], z=4.0, p_far=1e-9, p_close=1.0)
    batches = [batch(keys[0]), batch(keys[1]), far, *(batch(key) for key in keys[3:])]
    state = state_of(filled(tmp_path / "a", batches).read())
    assert state.within_since == keys[3]


def test_a_far_batch_in_the_window_is_never_within(tmp_path):
    keys = days(20)
    far = open_one(keys[12], pvalue_beyond=1e-6)
    history = filled(
        tmp_path / "a", [*(open_one(k) for k in keys[:12]), far, *(open_one(k) for k in keys[13:])]
    )
    state = state_of(history.read())
    assert [told.by for told in state.told[13:]] == [0] * 7
    assert {told.word for told in state.told[13:]} == {"UNDECIDED"}  # while the alarm is open


def test_doubtful_views_and_facts_are_not_quiet(tmp_path):
    fact = open_one("2020-01-01", failures=(Against("trust", "these are rows of the reference"),))
    doubtful = open_one("2020-01-02", pvalue_doubt=0.001)
    close = batch("2020-01-03", pvalue_doubt=0.001)
    state = state_of(filled(tmp_path / "a", [fact, doubtful, close]).read())
    assert [told.word for told in state.told] == ["UNDECIDED"] * 3
    assert state.headline() == "Nothing is proven yet: 3 batches are undecided."


def test_last_batches_that_are_beyond_are_said_before_the_alarm(tmp_path):
    history = new_history(tmp_path / "a")
    said = []
    for key in days(4):
        add(history, open_one(key, z=1.8))
        said.append(words(history))
    early = [each for each in said if each.startswith("Not within tolerance")]
    assert early[0] == "Not within tolerance: the last 4 days together are beyond it, which is no alarm yet."
    assert not state_of(history.read()).told[-1].quiet


def test_alarms_are_named_and_never_told_twice_alike(tmp_path):
    keys = days(6)
    far = [batch(key, z=4.0, p_far=1e-9, p_close=1.0) for key in keys[1:4]]
    history = filled(tmp_path / "a", [batch(keys[0]), *far, batch(keys[4])])
    told = [event.text for event in history.read().events if event.kind.startswith("alarm")]
    assert len(set(told)) == len(told) == 4
    assert (
        told[0]
        == f"The batch {keys[1]} is beyond the tolerance: all columns together: 132 % of the tolerance."
    )
    assert told[2] == f"The alarm of batch {keys[1]} is over: {keys[4]} is CLOSE."
    assert told[3] == f"The alarm of the stream since about {keys[1]} is over: {keys[4]} is CLOSE."


def test_alarm_of_a_column_has_its_name(tmp_path):
    moved = (Moved("income", "income: missing 8 % -> 31 %", 4.0), Moved("age", "", 0.4))
    one = batch("2020-01-01", pvalue_beyond=1e-6, columns=moved)
    state = state_of(filled(tmp_path / "a", [one]).read())
    [alarm] = state.to_dict()["alarms"]
    assert alarm["name"] == "column income of 2020-01-01"
    assert state.headline() == "Beyond tolerance: 2020-01-01 is FAR by column income."
    assert "The column income of 2020-01-01 is beyond its tolerance: income: missing" in state.events[-1].text


def test_alarm_that_several_batches_end_says_which(tmp_path):
    keys = days(12)
    far = batch(keys[0], z=4.0, p_far=1e-9, p_close=1.0)
    history = filled(tmp_path / "a", [far, *(open_one(key, z=-2.0, pvalue_close=0.02) for key in keys[1:])])
    closed = [event.text for event in history.read().events if event.kind == "alarm closed"]
    assert closed[0].startswith(f"The alarm of batch {keys[0]} is over: the batches from {keys[1]} to ")
    assert closed[0].endswith("together are within the tolerance.")


def test_open_alarm_tells_what_came_after_it(tmp_path):
    keys = days(4)
    far = [batch(key, z=4.0, p_far=1e-9, p_close=1.0) for key in keys[:2]]
    history = filled(tmp_path / "a", [*far, open_one(keys[2], z=0.0)])
    assert words(history) == (
        f"In alarm since {keys[0]}: that batch is FAR, and so is 1 of the 2 since. That the data are back is "
        "not proven."
    )


def test_row_of_a_far_batch_is_never_empty(tmp_path):
    moved = (Moved("income", "", 1.4), Moved("age", "", 0.4))
    far = batch("2020-01-01", z=4.0, p_far=1e-9, p_close=1.0, columns=moved)
    bare = batch("2020-01-02", z=4.0, p_far=1e-9, p_close=1.0)
    page = render(page_of(state_of(filled(tmp_path / "a", [far, bare]).read()), {}))
    told = "income: 140 % of its tolerance, not proven; age: 40 % of its tolerance, not proven"
    assert wrapped(told) in page
    assert wrapped("all columns together: 132 % of the tolerance") in page


def test_cautions_are_said_once_for_all_batches(tmp_path):
    cautions = (("few-rows", "about one row is all that moves it"),)
    history = filled(tmp_path / "a", [batch(key, cautions=cautions) for key in days(5)])
    page = render(page_of(state_of(history.read()), {}))
    assert page.count("about one row is all that moves it") == 1
    assert wrapped(f"5 batches, last {days(5)[-1]}") in page


def test_silence_is_an_alarm_until_the_batch_comes(tmp_path):
    keys = days(6)
    history = expecting(tmp_path / "a", [batch(key) for key in (keys[0], keys[2], keys[3])])
    assert words(history) == f"Silence: 1 day is missing, {keys[1]}."
    add(history, batch(keys[1]))
    assert not state_of(history.read()).alarmed


def test_late_batches_are_known_by_the_clock_alone(tmp_path):
    keys = days(3)
    history = expecting(tmp_path / "a", [batch(key) for key in keys])
    assert not state_of(history.read()).alarmed
    assert not state_of(history.read(), datetime.datetime(2020, 1, 6, 12)).alarmed
    assert words(history, "2020-01-08T12:00") == "Silence: 2 days are missing, 2020-01-04 to 2020-01-05."
    assert "Silence" not in words(expecting(tmp_path / "b", [batch(keys[0])], grace=None), "2030-01-01")


def test_acknowledged_silence_is_closed_and_what_is_missing_after_it_is_not(tmp_path):
    history = expecting(tmp_path / "a", [batch(key) for key in days(3)])
    at = datetime.datetime(2020, 1, 8, 12)
    assert history.write(lambda writer: acknowledge(writer, AT, "shut for a week", None, at)) == 1
    state = state_of(history.read(), at)
    assert not state.alarmed
    assert [(gap.name, gap.acknowledged) for gap in state.gaps] == [
        ("2020-01-04 to 2020-01-05", "shut for a week")
    ]
    later = state_of(history.read(), datetime.datetime(2020, 1, 9, 12))
    assert later.headline() == "Silence: 1 day is missing, 2020-01-06."
    page = render(page_of(later, {}))
    assert "2 days missing (acknowledged: shut for a week)" in page
    assert "no batch came" in page


RAW = RNG(0).normal(size=(300, 2))
TOLERANCE = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)


def rows(seed, shift=0.0, size=200):
    return RNG(seed).normal(shift, 1, size=(size, 2))


@pytest.fixture
def monitor(tmp_path):
    return nammd.Monitor.create(tmp_path / "shop.monitor", TOLERANCE, RAW)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (RNG(1).normal(size=(200, 3)), "3"),
        (RNG(1).normal(size=(1, 2)), "row"),
        (np.full((200, 2), np.nan), "NaN"),
        (pd.DataFrame({"a": ["x"] * 50, "b": ["y"] * 50}), "table"),
    ],
    ids=["other columns", "too few rows", "not a number", "a table"],
)
def test_refused_batch_is_an_event_and_an_alarm_until_a_good_one_comes(monitor, data, said):
    with pytest.raises((ValueError, TypeError), match=said):
        monitor.add(data, key="2026-03-01")
    state = nammd.Monitor.open(monitor.path).state
    [alarm] = state.open_alarms
    assert (alarm.cause, alarm.opened) == ("refused", "2026-03-01")
    assert state.headline().startswith("The batch 2026-03-01 was refused: ")
    assert state.events[-1].kind == "batch refused"
    assert not monitor.add(rows(1), key="2026-03-01").state.alarmed


def test_refusal_is_written_once_and_ends_when_it_is_acknowledged(monitor, tmp_path):
    for _ in range(2):
        with pytest.raises(ValueError, match="3"):
            monitor.add(rows(1)[:, [0, 1, 1]], key="2026-03-01")
    assert [event.kind for event in monitor.state.events].count("batch refused") == 1
    assert "refused: " in monitor.page(tmp_path / "page.html").read_text(encoding="utf-8")
    assert monitor.acknowledge("the old format", key="2026-03-01", now=datetime.datetime(2026, 3, 1)) == 1
    assert not monitor.state.alarmed
    with pytest.raises(ValueError, match="3"):
        monitor.add(rows(1)[:, [0, 1, 1]], key="2026-03-01")
    assert monitor.state.alarmed


def test_who_waits_for_alarms_is_told_of_a_refusal_once(monitor):
    told = []
    for _ in range(2):
        with pytest.raises(ValueError, match="3"):
            monitor.add(rows(1)[:, [0, 1, 1]], key="2026-03-01", on_alarm=told.append)
    [refusal] = told
    assert (refusal["event"]["kind"], refusal["batch"]) == ("batch refused", {"key": "2026-03-01"})
    assert refusal["state"] == monitor.state.headline()


def test_corrupt_files_among_many_are_noted_and_files_that_are_not_there_are_not(monitor, tmp_path):
    (tmp_path / "bad.parquet").write_text("this is no table")
    batches = {
        "2026-03-01": tmp_path / "bad.parquet",
        "2026-03-02": rows(2),
        "2026-03-03": tmp_path / "nothing.parquet",
        "2026-03-04": lambda: (_ for _ in ()).throw(ValueError("no such column")),
    }
    turns = monitor.add_all(batches, errors="keep")
    assert [turn.error is None for turn in turns] == [False, True, False, False]
    assert [alarm.opened for alarm in monitor.state.open_alarms] == ["2026-03-01", "2026-03-04"]


def test_refusal_that_cannot_be_written_hides_no_error(monitor):
    monitor.path.chmod(0o444)
    with pytest.raises(ValueError, match="3"):
        monitor.add(rows(1)[:, [0, 1, 1]], key="2026-03-01")


def test_taken_key_is_no_refused_batch(monitor):
    monitor.add(rows(1), key="2026-03-01")
    with pytest.raises(ValueError, match="replace=True"):
        monitor.add(rows(2), key="2026-03-01")
    assert not monitor.state.alarmed


def test_refused_record_that_is_taken_out_is_found(monitor):
    with pytest.raises(ValueError, match="3"):
        monitor.add(rows(1)[:, [0, 1, 1]], key="2026-03-01")
    monitor.add(rows(2), key="2026-03-02")
    with sqlite3.connect(monitor.path) as db:
        db.execute("DROP TRIGGER record_is_kept")
        db.execute("DELETE FROM record WHERE kind = 'batch refused'")
    with pytest.raises(ValueError, match=r"batch refused 2026-03-01\) is missing"):
        nammd.Monitor.open(monitor.path)
    done = nammd.Monitor.repair(monitor.path)
    found = nammd.Monitor.open(done.path).state
    assert [told.batch.key for told in found.told] == ["2026-03-02"]
    assert found.told[0].batch.number == 1  # a refusal was no test
    assert found.calendar == monitor_calendar()


def monitor_calendar():
    return Calendar("day", 2)


def frame(seed, shift=0.0, size=400):
    rng = RNG(seed)
    return pd.DataFrame({"amount": rng.normal(50 + 10 * shift, 10, size), "age": rng.normal(40, 9, size)})


@pytest.fixture
def season(tmp_path):
    """A monitor of files, whose second batch is a summer."""
    train = frame(0)
    tolerance = nammd.Tolerance.from_reference(train, margin=0.02)
    made = nammd.Monitor.create(tmp_path / "a.monitor", tolerance, train, rate="ever", alpha=0.1)
    for key, shift in (("2026-06-30", 0.0), ("2026-07-01", 1.0)):
        frame(len(key) + int(shift), shift).to_parquet(tmp_path / f"{key}.parquet")
        made.add(tmp_path / f"{key}.parquet", key=key)
    return made


def test_past_batch_is_accepted_by_its_key(season):
    assert season.state.alarmed
    said = nammd.Monitor.open(season.path).accept("2026-07-01", why="as every summer")
    assert said == (
        "Data like '2026-07-01' are accepted. It holds for what is added from now on; 2026-07-01 is the last "
        "batch of before. Evidence starts anew."
    )
    [kept] = season.tolerance.accepted.datasets
    assert (kept.label, kept.reason) == ("2026-07-01", "as every summer")
    state = season.state
    assert not state.alarmed
    assert next(alarm.acknowledged for alarm in state.alarms if alarm.of_data) == "as every summer"
    over = "The alarm of batch 2026-07-01 is over: what is accepted has changed."
    assert over in [event.text for event in state.events if event.kind == "alarm closed"]
    assert state.headline().startswith(
        "No batch has been held against the new tolerance yet; it holds since "
    )
    added = season.add(frame(9, 1.0), key="2026-07-02")
    assert not added.is_far
    # What may go wrong is spent anew: the first test has the share of a first test again.
    assert added.level == state.told[0].level
    assert json.loads(season.history("pandas")["like"].iloc[-1])["2026-07-01"] > 0.5


def test_data_of_a_batch_must_be_its_own(season, tmp_path):
    with pytest.raises(ValueError, match="not the data of the batch '2026-07-01'"):
        season.accept({"2026-07-01": frame(5)}, why="x")
    frame(5).to_parquet(tmp_path / "2026-07-01.parquet")
    with pytest.raises(ValueError, match="not the data of the batch '2026-07-01'"):
        season.accept("2026-07-01", why="x")
    (tmp_path / "2026-07-01.parquet").unlink()
    with pytest.raises(FileNotFoundError, match="are not kept in the monitor"):
        season.accept("2026-07-01", why="x")
    with pytest.raises(ValueError, match="no batch '2030'"):
        season.accept("2030", why="x")
    with pytest.raises(ValueError, match="why must have"):
        season.accept({"july": frame(5)}, why=" ")
    assert len(season._history.read().eras) == 1
    season.accept({"july": frame(5, 1.0)}, why="given by hand")
    assert season.tolerance.accepted.datasets[0].label == "july"


def test_calendar_can_be_changed_and_the_change_is_recorded(monitor):
    monitor.add(rows(1), key="2026-03-06")
    monitor.expect(grace=0, days="mon-fri", holidays=["2026-03-09"])
    again = nammd.Monitor.open(monitor.path)
    assert again.state.events[-1].kind == "calendar changed"
    assert not again.state_at(datetime.datetime(2026, 3, 10, 12)).alarmed
    assert (
        again.state_at(datetime.datetime(2026, 3, 11)).headline() == "Silence: 1 day is missing, 2026-03-10."
    )


def test_refuse_is_one_record_for_each_reason(tmp_path):
    history = new_history(tmp_path / "a")
    for text in ("bad", "bad", "worse"):
        history.write(lambda writer, text=text: refuse(writer, AT, "k", text))
    assert [event.text for event in history.read().events if event.kind == "batch refused"] == [
        "bad",
        "worse",
    ]
    assert [event.text for event in history.read().refused] == ["worse"]


def test_verdicts_on_tables_are_those_of_a_check_with_columns_in_doubt(tmp_path):
    train = frame(0)
    tolerance = nammd.Tolerance.from_reference(train, margin=0.01)
    made = nammd.Monitor.create(tmp_path / "a.monitor", tolerance, train, false_alarms="30/year")
    gate = tolerance.with_reference(train)
    decisions = []
    for k, shift in enumerate((0.0, 0.0, 0.15, 0.2, 0.25, 0.3, 0.5, 1.0)):
        data = frame(20 + k, shift, size=800)
        verdict = gate.check(data, alpha=30 / 365)
        assert made.add(data, key=days(8)[k]).decision is verdict.decision
        decisions.append((verdict.decision.value, bool(verdict.details.doubtful)))
    assert len(set(decisions)) > 2


def test_a_fact_that_is_a_matter_of_degree_is_an_alarm_at_the_level_of_its_batch_and_else_a_doubt(tmp_path):
    sure, unsure = (Against("data", "rows outside", pvalue) for pvalue in (1e-3, 0.01))
    both = [batch(key, failures=(fact,)) for key, fact in zip(days(2), (sure, unsure), strict=True)]
    state = state_of(filled(tmp_path / "a", both).read())
    assert [told.word for told in state.told] == ["FAR", "UNDECIDED"]
    [alarm] = state.alarms
    assert (alarm.opened, alarm.view) == (days(1)[0], "a fact")
    # At another budget both are alarms; and the rate of discoveries counts them as such.
    state = state_of(filled(tmp_path / "b", both, amount=5.0).read())
    assert [told.word for told in state.told] == ["FAR", "FAR"]
    assert [each.pvalue for each in both] == [1e-3, 0.01]


def test_what_is_proven_is_told_before_facts_and_facts_first_where_nothing_else_is():
    copies, missing = (
        Against("data", "25 % of rows repeat an earlier row"),
        Moved("dep_time", "dep_time: missing", 9.0),
    )
    proven = batch("a", p_far=1e-9, failures=(copies,), columns=(missing,))
    assert proven.reasons(1 / 365, facts=1) == ("dep_time: missing", copies[1])
    by_fact = batch("a", p_far=0.9, failures=(copies,), columns=(missing,))
    assert by_fact.reasons(1 / 365, facts=1) == (copies[1], "dep_time: missing")


def test_a_batch_that_is_beyond_at_a_finer_scale_only_says_so(tmp_path):
    # Rounding shows at finer scales, and hardly at the main one.
    rng = np.random.default_rng(0)
    train, rounded = rng.normal(size=(1000, 2)), np.round(rng.normal(size=(800, 2)), 0)
    tolerance = nammd.Tolerance.from_reference(train, rng.normal(size=(1000, 2)), negligible=False)
    monitor = nammd.Monitor.create(
        tmp_path / "fine.monitor", tolerance.with_facts(allow=["all"]), train, every=365
    )
    told = monitor.add(rounded, key="2026-03-01")
    assert told.is_far
    assert told.distance < told.epsilon
    assert told.headline().startswith("2026-03-01 is FAR: all columns together: fine-grained: at ")
    assert "all columns together: fine-grained: at " in told.events[0].text


def test_an_alarm_that_one_batch_ends_names_it_once():
    alarm = StreamAlarm("batch", "a", "a", closed="b", by="stream", proof="b")
    assert closed_words(alarm).endswith("the evidence of b alone is that it is within the tolerance.")
    several = StreamAlarm("batch", "a", "a", closed="c", by="stream", proof="b")
    assert closed_words(several).endswith("the batches from b to c together are within the tolerance.")


def test_of_facts_those_that_make_a_batch_far_are_told_first():
    copies = Against("trust", "these are rows of the reference")
    unsure, sure = (Against("data", f"rows outside, {p}", p) for p in (0.01, 1e-3))
    found = batch("a", failures=(copies, unsure, sure)).reasons(1 / 365, facts=1)
    assert found[0] == "rows outside, 0.001"
