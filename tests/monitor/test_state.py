"""The state of a stream follows from its batches, in whatever order they came."""

import datetime

import numpy as np
import pytest

from nammd.monitor.keys import as_key, in_order, key_in_name, time_of
from nammd.monitor.page.model import MARKS, page_of
from nammd.monitor.rates import Spending
from nammd.monitor.state import state_of
from nammd.tolerances.decision import Decision
from tests.monitor.records import batch, days, new_history
from tests.monitor.test_history import add

STREAM = [-3.0] * 10 + [1.8] * 8 + [-3.0] * 4


def stream(keys=None):
    keys = keys or days(len(STREAM))
    return [
        batch(key, z=z, p_close=1e-6 if z < 0 else 0.9, p_far=0.9 if z < 0 else 0.05)
        for key, z in zip(keys, STREAM, strict=True)
    ]


def filled(path, batches, **settings):
    history = new_history(path, **settings)
    for one in batches:
        add(history, one)
    return history


def told(state):
    return [(t.batch.key, t.decision, t.evidence, t.mean) for t in state.told]


def test_batches_in_any_order_come_to_the_same(tmp_path):
    batches = stream()
    straight = state_of(filled(tmp_path / "a", batches).read())
    shuffled = [batches[i] for i in np.random.default_rng(0).permutation(len(batches))]
    mixed = state_of(filled(tmp_path / "b", shuffled).read())
    assert told(mixed) == told(straight)
    assert mixed.alarms == straight.alarms
    assert mixed.headline() == straight.headline()


def test_slow_drift_is_an_alarm_though_no_batch_is_far(tmp_path):
    state = state_of(filled(tmp_path / "a", stream()).read())
    assert not any(t.decision is Decision.FAR for t in state.told)
    [alarm] = state.alarms
    keys = days(len(STREAM))
    assert alarm.cause == "stream"
    assert alarm.since == keys[10]
    assert keys[10] < alarm.opened <= keys[17]
    assert alarm.closed == keys[18]
    assert (alarm.by, alarm.proof) == ("batch", keys[18])
    assert state.headline() == f"Within tolerance: {keys[21]} is CLOSE; without a gap since {keys[18]}."


def test_events_tell_of_alarms_once(tmp_path):
    history = filled(tmp_path / "a", stream())
    kinds = [(e.kind, e.cause) for e in history.read().events if e.kind.startswith("alarm")]
    assert kinds == [("alarm opened", "stream"), ("alarm closed", "stream")]


def test_corrected_batch_withdraws_its_alarm(tmp_path):
    keys = days(3)
    history = filled(tmp_path / "a", [batch(keys[0]), batch(keys[1], z=4, p_far=1e-9, p_close=1.0)])
    assert state_of(history.read()).alarmed
    add(history, batch(keys[1], digest="other"))
    state = state_of(history.read())
    assert not state.alarms
    assert [e.kind for e in state.events][-1] == "alarm withdrawn"


def test_acknowledged_alarm_stays_acknowledged_when_a_late_batch_moves_it(tmp_path):
    from nammd.monitor.alarms import acknowledge

    keys = days(30)
    far = {"z": 4.0, "p_far": 1e-9, "p_close": 1.0}
    history = filled(tmp_path / "a", [batch(keys[0]), batch(keys[5], **far)])
    history.write(lambda writer: acknowledge(writer, "2026-01-02T00:00:00+00:00", "known", None))
    assert "(acknowledged)" in state_of(history.read()).headline()
    add(history, batch(keys[4], **far))
    state = state_of(history.read())
    assert [alarm.opened for alarm in state.alarms if alarm.cause == "batch"] == [keys[4]]
    assert [alarm.acknowledged for alarm in state.alarms if alarm.cause == "batch"] == ["known"]


def test_rate_of_ever_spends_in_the_order_of_arrival(tmp_path):
    keys = days(4)
    history = filled(tmp_path / "a", [batch(k) for k in reversed(keys)], rate="ever", amount=0.05)
    state = state_of(history.read())
    levels = [t.level for t in state.told]
    assert levels == sorted(levels)  # the last day came first, and had the largest share
    assert sum(levels) < 0.05


def test_forgotten_tests_stay_spent(tmp_path):
    history = filled(tmp_path / "a", [batch("a"), batch("b")], rate="ever", amount=0.05)
    history.write(lambda writer: writer.event("2026-01-02T00:00:00+00:00", "batch forgotten", "a"))
    [left] = state_of(history.read()).told
    second = Spending("ever", 0.05, "day").levels.levels([1.0, 1.0])[1]
    assert left.level == pytest.approx(second)


def test_claim_about_the_population_takes_the_reference_into_account(tmp_path):
    state = state_of(filled(tmp_path / "a", stream()).read())
    paid = state_of(filled(tmp_path / "b", stream(), claim="population").read())
    assert paid.population
    assert max(t.evidence for t in paid.told) < max(t.evidence for t in state.told)


def test_batches_without_a_test_are_undecided_and_no_evidence(tmp_path):
    nan = float("nan")
    void = batch(
        "2020-01-02",
        u=0.0,
        given=0.0,
        deviation=0.0,
        error=nan,
        pvalue_close=nan,
        pvalue_far=nan,
        pvalue_beyond=nan,
    )
    history = filled(tmp_path / "a", [batch("2020-01-01"), void])
    first, second = state_of(history.read()).told
    assert second.decision is Decision.UNDECIDED
    assert second.mean == first.mean


def test_stream_without_proof_says_so(tmp_path):
    state = state_of(filled(tmp_path / "a", [batch("a", z=0.0, p_close=0.5, p_far=0.5)]).read())
    assert state.headline() == "Nothing is proven yet: 1 batch is quiet."


@pytest.mark.parametrize(
    ("asked", "level"),
    [(("1/year", "day"), 1 / 365), (("2/month", "hour"), 24 / 8760), ((0.5, 52), 0.5 / 52)],
)
def test_budget_is_false_alarms_over_batches(asked, level):
    assert 1 / Spending.of(*asked, "budget", 0.05).levels.line == pytest.approx(level)


@pytest.mark.parametrize(
    "asked", [("often", "day"), ("1/decade", "day"), ("1/year", "fortnight"), ("0/year", "day")]
)
def test_budgets_that_are_none_are_refused(asked):
    with pytest.raises(ValueError, match=r"false.alarms|every"):
        Spending.of(*asked, "budget", 0.05)


def test_budget_of_more_alarms_than_batches_is_refused():
    with pytest.raises(ValueError, match=r"below 0\.5"):
        Spending.of("12/year", "month", "budget", 0.05)


def test_keys_tell_the_time_where_they_can():
    assert time_of("2026-03-01T06:30:00") == datetime.datetime(2026, 3, 1, 6, 30)
    assert time_of("20260230") is None
    assert time_of("order 123456789012") is None
    assert key_in_name("orders_2026-03-01") == "2026-03-01"
    assert key_in_name("2026-03-01T06") == "2026-03-01T06:00:00"
    with pytest.raises(ValueError, match="a key must be"):
        as_key("a\nb")
    with pytest.raises(TypeError, match="a key must be"):
        as_key(1.5)


def test_order_is_by_name_where_a_key_tells_no_time():
    keys = ["2026-03-02", "day 10", "day 9", "2026-03-01"]
    assert [keys[i] for i in in_order(keys)] == ["2026-03-01", "2026-03-02", "day 9", "day 10"]


def test_page_of_many_batches_has_marks_that_share(tmp_path):
    history = new_history(tmp_path / "a")

    def fill(writer):
        for k, key in enumerate(days(1000)):
            writer.insert(batch(key, z=4.0 if k == 500 else -3.0, p_far=1e-9 if k == 500 else 0.9))

    history.write(fill)
    page = page_of(state_of(history.read()), {})
    assert page.shared == 3
    assert len(page.marks) <= MARKS
    assert sum(mark.word == "FAR" for mark in page.marks) == 1
    near = page_of(state_of(history.read()), {}, view=(days(1000)[900], days(1000)[950]))
    assert (near.shared, len(near.marks)) == (1, 51)
    assert (near.marks[0].place, near.marks[-1].place) == (0.0, 1.0)


def test_column_beyond_its_own_tolerance_makes_a_batch_far(tmp_path):
    one = batch("2020-01-01", p_far=0.9, p_close=1e-6, pvalue_beyond=1e-5)
    [told_of] = state_of(filled(tmp_path / "a", [one]).read()).told
    assert told_of.decision is Decision.FAR
