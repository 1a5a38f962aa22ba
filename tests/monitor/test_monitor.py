"""`Monitor`: batches of every kind that the door opens, added once, in any order, by anybody."""

import gc
import json
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import nammd
from nammd.monitor import storage
from nammd.monitor.alarms import alert
from nammd.monitor.measuring import OF_FACTS
from nammd.monitor.records import Event
from nammd.monitor.state import alarms_of
from tests.counting import count_calls, count_margins, trace_statements
from tests.monitor.records import days, edit

RNG = np.random.default_rng
TRAIN = RNG(0).normal(size=(300, 2))
TOLERANCE = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)


def rows(seed, shift=0.0, size=200):
    return RNG(seed).normal(shift, 1, size=(size, 2))


def frame(seed, shift=0.0, size=300):
    rng = RNG(seed)
    return pd.DataFrame(
        {
            "amount": rng.normal(50 + 10 * shift, 10, size=size),
            "city": rng.choice(["Bonn", "Köln"], size=size),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 5, size=size), unit="D"),
            "paid": rng.random(size) < 0.5,
        }
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.monitor"


@pytest.fixture
def monitor(path):
    return nammd.Monitor.create(path, TOLERANCE, TRAIN)


def test_verdicts_are_those_of_a_check_at_the_level_of_the_budget(monitor):
    for k, shift in enumerate((0.0, 0.2, 1.0)):
        found = monitor.add(rows(k + 1, shift), key=k)
        # Facts have their part of the level, too.
        verdict = TOLERANCE.check(TRAIN, rows(k + 1, shift), alpha=(1 - OF_FACTS) / 365)
        assert found.decision is verdict.decision
        assert (found.pvalue_far, found.pvalue_close) == (verdict.pvalue_far, verdict.pvalue_close)
        assert (found.distance, found.interval) == (verdict.distance, verdict.confidence_interval())
        assert found.level == pytest.approx(1 / 365)


def test_batch_tests_the_margins_of_its_check_and_no_others(monitor, monkeypatch):
    asked = count_margins(monkeypatch)
    TOLERANCE.check(TRAIN, rows(1), alpha=1 / 365)
    needed = len(asked)
    str(monitor.add(rows(1), key="a"))
    assert len(asked) == 2 * needed


def test_batch_is_added_with_one_look_at_the_history(monitor, monkeypatch):
    monitor.add(rows(1), key="a")
    ran = trace_statements(monkeypatch)
    for size, key in enumerate("bc", start=2):
        ran.clear()
        assert len(monitor.add(rows(size), key=key).state.told) == size
        assert sum("FROM record ORDER BY" in statement for statement in ran) == 1
        assert len(ran) <= 20
    ran.clear()
    monitor.add(rows(9), key="b", replace=True)
    assert sum("FROM record ORDER BY" in statement for statement in ran) == 1
    ran.clear()
    monitor.forget("b")
    assert sum("FROM record ORDER BY" in statement for statement in ran) == 1
    assert [told.batch.key for told in monitor.state.told] == ["a", "c"]


def test_state_after_a_batch_is_that_of_the_file(monitor, path):
    for k, shift in enumerate((0.0, 1.0, 1.0, 0.0, 0.0)):
        found = monitor.add(rows(k + 1, shift), key=days(5)[k])
        assert found.state == nammd.Monitor.open(path).state
    found = monitor.add(rows(9), key=days(5)[1], replace=True)
    assert found.state == nammd.Monitor.open(path).state
    assert [event.kind for event in found.state.events[-2:]] == ["alarm closed", "batch replaced"]


def test_alarms_before_a_batch_are_known_from_the_one_before_it(monitor, path, monkeypatch):
    worked_out = count_calls(monkeypatch, alarms_of)
    for k, shift in enumerate((0.0, 1.0, 1.0, 0.0, 0.0)):
        found = monitor.add(rows(k + 1, shift), key=days(5)[k])
        assert found.state == nammd.Monitor.open(path).state
    assert len(worked_out) == 1  # of the history as it was when it was opened
    assert {"alarm opened", "alarm closed"} <= {event.kind for event in found.state.events}


@pytest.mark.parametrize("change", ["note", "close", "forget", "replace", "add"])
def test_alarms_are_worked_out_anew_where_somebody_else_changed_the_history(
    monitor, path, tmp_path, change, monkeypatch
):
    for k, shift in enumerate((0.0, 1.0, 1.0)):
        monitor.add(rows(k + 1, shift), key=days(4)[k])
    other = nammd.Monitor.open(path)
    {
        "note": lambda: other.note("looked at"),
        "close": lambda: other.close("mended"),
        "forget": lambda: other.forget(days(4)[1]),
        "replace": lambda: other.add(rows(7), key=days(4)[1], replace=True),
        "add": lambda: other.add(rows(8), key=days(6)[5]),
    }[change]()
    copy = tmp_path / "copy.monitor"
    copy.write_bytes(path.read_bytes())
    worked_out = count_calls(monkeypatch, alarms_of)
    found = monitor.add(rows(4, 1.0), key=days(4)[3])
    assert len(worked_out) == 1
    expected = nammd.Monitor.open(copy).add(rows(4, 1.0), key=days(4)[3])
    assert [(event.kind, event.key) for event in found.events] == [(e.kind, e.key) for e in expected.events]
    assert found.state.alarms == expected.state.alarms == nammd.Monitor.open(path).state.alarms


def test_tolerance_and_reference_that_somebody_else_changed_hold_from_the_next_batch_on(monitor, path):
    kept = monitor.add(rows(1, 0.3), key="a")
    other = nammd.Monitor.open(path)
    other.change(tolerance=nammd.Tolerance.at(0.2, nammd.Gaussian(1.5), n_columns=2))
    wider = monitor.add(rows(2, 0.3), key="b")
    other.change(reference=rows(0, 2.0))
    moved = monitor.add(rows(3, 2.0), key="c")
    again = nammd.Monitor.open(path).state
    assert (kept.epsilon, wider.epsilon, moved.epsilon) == (0.02, 0.2, 0.2)
    assert moved.is_close
    assert [told.batch.era for told in again.told] == [1, 2, 3]
    assert moved.state == again


def test_monitor_that_somebody_damaged_between_two_batches_is_refused(monitor, path):
    monitor.add(rows(1), key="a")
    assert edit(path, "UPDATE record SET body = replace(body, '0.02', '0.03') WHERE kind = 'batch'")
    with pytest.raises(ValueError, match="is damaged"):
        monitor.add(rows(2), key="b")


def test_what_another_process_added_meanwhile_is_seen(monitor, path, tmp_path, monkeypatch):
    other = nammd.Monitor.open(path)
    monitor.add(rows(1), key="a")
    write = nammd.Verdict.report

    def meanwhile(verdict, page):
        monkeypatch.setattr(nammd.Verdict, "report", write)
        other.add(rows(2, 1.0), key="b")
        return write(verdict, page)

    monkeypatch.setattr(nammd.Verdict, "report", meanwhile)
    found = monitor.add(rows(3), key="c", report=tmp_path / "c.html")
    assert [told.batch.key for told in found.state.told] == ["a", "b", "c"]
    assert [told.batch.number for told in found.state.told] == [1, 2, 3]
    assert found.state == nammd.Monitor.open(path).state


def test_state_is_the_same_when_the_file_is_opened_again(monitor, path):
    for k in range(4):
        monitor.add(rows(k + 1, 0.3 * k), key=days(4)[k])
    again = nammd.Monitor.open(path)
    assert again.state == monitor.state
    assert again.add(rows(9), key="2026-01-09").decision is monitor.add(rows(9), key="2026-01-09").decision


def test_same_batch_twice_changes_nothing(monitor):
    first = monitor.add(rows(1), key="a")
    before = monitor.version
    again = monitor.add(rows(1), key="a")
    assert again.repeated
    assert not first.repeated
    assert again.decision is first.decision
    assert monitor.version == before
    assert "nothing has changed" in again.headline()


def test_other_data_under_a_key_are_refused_unless_they_replace(monitor):
    monitor.add(rows(1), key="a")
    with pytest.raises(ValueError, match="replace=True"):
        monitor.add(rows(2), key="a")
    replaced = monitor.add(rows(2), key="a", replace=True)
    assert not replaced.repeated
    assert len(monitor.state.told) == 1
    assert [e.kind for e in monitor.state.events][-1] == "batch replaced"


def test_forgotten_batch_is_gone_and_its_event_stays(monitor):
    monitor.add(rows(1, 1.0), key="a")
    assert monitor.state.alarmed
    monitor.forget("a")
    assert not monitor.state.told
    assert not monitor.state.alarms
    kinds = [e.kind for e in monitor.state.events]
    assert kinds[-2:] == ["alarm withdrawn", "batch forgotten"] or "batch forgotten" in kinds
    with pytest.raises(ValueError, match="no batch 'a'"):
        monitor.forget("a")


def test_tables_of_any_library_are_the_same_batch(tmp_path):
    train = frame(0, size=400)
    tolerance = nammd.Tolerance.from_reference(train, frame(7, 1.0), margin=0.05, scales="median")
    made = nammd.Monitor.create(tmp_path / "a.monitor", tolerance, train)
    first = made.add(frame(1), key="a")
    arrow = pa.Table.from_pandas(frame(1))
    parquet.write_table(arrow, tmp_path / "1.parquet")
    for data in (frame(1), pl.from_pandas(frame(1)), arrow, tmp_path / "1.parquet"):
        assert made.add(data, key="a").repeated
    # The reference comes back from the file as it went in: its rows make the same points.
    again = nammd.Monitor.open(made.path)
    assert again.add(frame(2), key="b").distance == made.tolerance.check(train, frame(2)).distance
    assert first.verdict.cautions == tolerance.check(train, frame(1), alpha=first.level).cautions


def test_single_column_is_kept_as_one(tmp_path):
    train, accepted = frame(0)["amount"], frame(1, 1.0)["amount"]
    tolerance = nammd.Tolerance.from_reference(train, accepted, scales="median")
    made = nammd.Monitor.create(tmp_path / "a.monitor", tolerance, train)
    expected = tolerance.check(train, frame(2)["amount"]).distance
    assert nammd.Monitor.open(made.path).add(frame(2)["amount"], key=1).distance == expected


def test_stream_of_batches_and_dask_collections_are_batches(monitor):
    dask_array = pytest.importorskip("dask.array")
    spread = dask_array.from_array(rows(3), chunks=(50, 2))
    assert monitor.add(spread, key="dask").decision is monitor.add(rows(3), key="rows").decision
    reader = pa.table({"0": rows(4)[:, 0], "1": rows(4)[:, 1]}).to_reader(max_chunksize=64)
    train = pd.DataFrame(TRAIN, columns=["0", "1"])
    tolerance = nammd.Tolerance.from_reference(
        train, pd.DataFrame(rows(8, 1.0), columns=["0", "1"]), scales="median"
    )
    made = nammd.Monitor.create(monitor.path.with_name("b.monitor"), tolerance, train)
    assert made.add(reader, key="stream").state.told[0].batch.n == 200


def features_tolerance():
    return nammd.Tolerance.at(0.02, nammd.RandomFeatures(nammd.Gaussian(1.5), 64, rng=0), n_columns=2)


def test_last_days_together_are_the_distance_of_all_their_rows(path):
    tolerance = features_tolerance()
    made = nammd.Monitor.create(path, tolerance, TRAIN)
    for k, key in enumerate(days(40)):
        made.add(rows(k, 0.01 * k, size=60), key=key)
    week, month, _ = made.pooled()
    assert [w.name for w in made.pooled()] == ["last 7 days", "last 30 days", "last 90 days"]
    for window, count in ((week, 7), (month, 30)):
        together = np.concatenate([rows(k, 0.01 * k, size=60) for k in range(40 - count, 40)])
        expected = tolerance.with_reference(TRAIN).distance(together)
        assert window.distance == pytest.approx(expected.value, rel=1e-6)
        assert (window.batches, window.rows) == (count, 60 * count)
        assert window.low < expected.value < window.high
    made.forget(days(40)[-1])
    assert made.pooled()[0].distance != week.distance


def test_without_features_nothing_is_pooled(monitor):
    monitor.add(rows(1), key="a")
    assert monitor.pooled() == ()


def test_sums_of_long_ago_are_not_kept(path):
    made = nammd.Monitor.create(path, features_tolerance(), TRAIN)
    for key in ("2026-01-01", "2026-02-01", "2026-06-01"):
        made.add(rows(1, size=50), key=key)
    _, sums = made._history.sums(made._history.read().eras[-1])
    assert list(sums) == ["2026-06-01"]
    assert len(made.state.told) == 3


def test_sketches_are_batches_and_rows_are_sketched_like_the_reference(path):
    features = nammd.RandomFeatures(nammd.Gaussian(1.5), 128, rng=0)
    sketch = nammd.Sketch.of(TRAIN, features, space=TOLERANCE.space)
    made = nammd.Monitor.create(path, TOLERANCE, sketch)
    given = made.add(nammd.Sketch.of(rows(1, 0.5), features, space=TOLERANCE.space), key="sketch")
    again = nammd.Monitor.open(path).add(rows(1, 0.5), key="rows")
    assert again.distance == pytest.approx(given.distance, rel=1e-9)
    [told, _] = made.state.told
    assert told.batch.features > 0  # the kernel that is meant is the exact one: its error is paid for
    assert len(made.pooled()) == 1


def test_reference_that_is_not_kept_inside_is_asked_for(path, monkeypatch):
    monkeypatch.setattr(storage.packed, "__defaults__", (100,))
    made = nammd.Monitor.create(path, TOLERANCE, TRAIN)
    made.add(rows(1), key="a")
    with pytest.raises(FileNotFoundError, match="reference="):
        nammd.Monitor.open(path).add(rows(2), key="b")
    assert nammd.Monitor.open(path, reference=TRAIN).add(rows(2), key="b").distance == pytest.approx(
        TOLERANCE.check(TRAIN, rows(2)).distance
    )
    with pytest.raises(ValueError, match="its rows differ"):
        nammd.Monitor.open(path, reference=rows(5, size=300)).add(rows(3), key="c")


def test_large_file_is_left_where_it_is(tmp_path, path, monkeypatch):
    monkeypatch.setattr(storage.packed, "__defaults__", (100,))
    np.save(tmp_path / "train.npy", TRAIN)
    nammd.Monitor.create(path, TOLERANCE, tmp_path / "train.npy")
    nammd.Monitor.open(path).add(rows(1), key="a")
    np.save(tmp_path / "train.npy", rows(5, size=300))
    with pytest.raises(ValueError, match="its rows differ"):
        nammd.Monitor.open(path).add(rows(2), key="b")


def test_change_of_the_tolerance_starts_the_evidence_anew(monitor):
    for k in range(3):
        monitor.add(rows(k + 1, 0.9), key=days(3)[k])
    assert monitor.state.alarmed
    wide = nammd.Tolerance.at(0.2, nammd.Gaussian(1.5), n_columns=2)
    monitor.change(tolerance=wide)
    added = nammd.Monitor.open(monitor.path).add(rows(9, 0.9), key=days(4)[3])
    assert added.is_close
    assert not added.state.alarmed
    assert added.state.told[0].batch.epsilon == 0.02
    assert "tolerance changed" in [e.kind for e in added.state.events]
    assert monitor.add(rows(10), key=days(5)[4]).epsilon == 0.2


def test_change_of_the_reference(monitor):
    monitor.add(rows(1), key="a")
    monitor.change(reference=rows(7, 1.0, size=1500))
    assert monitor.add(rows(2), key="b").is_far
    assert nammd.Monitor.open(monitor.path).add(rows(3, 1.0, size=800), key="c").is_close
    with pytest.raises(TypeError, match="give a tolerance"):
        monitor.change()


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_history_is_a_table_of_the_library_that_is_asked_for(monitor, backend):
    empty = monitor.history(backend)
    monitor.add(rows(1), key="2026-03-02")
    monitor.add(rows(2, 1.0), key="2026-03-01")
    table = monitor.history(backend)
    assert type(table).__module__.split(".")[0] == backend
    names = table.column_names if backend == "pyarrow" else list(table.columns)
    assert names == (empty.column_names if backend == "pyarrow" else list(empty.columns))
    found = pa.Table.from_pandas(table) if backend == "pandas" else table
    found = found if backend != "polars" else found.to_arrow()
    assert found.column("key").to_pylist() == ["2026-03-01", "2026-03-02"]
    assert found.column("decision").to_pylist() == ["FAR", "CLOSE"]
    assert found.column("distance").to_pylist() == [t.batch.distance for t in monitor.state.told]


def test_alarm_runs_a_program_with_the_event_on_its_input(monitor, tmp_path):
    program = f"import sys; open({str(tmp_path / 'got.json')!r}, 'w').write(sys.stdin.read())"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monitor.add(rows(1), key="2026-03-01", on_alarm=[sys.executable, "-c", program])
        assert not (tmp_path / "got.json").exists()
        monitor.add(rows(2, 1.0), key="2026-03-02", on_alarm=[sys.executable, "-c", program])
    got = json.loads((tmp_path / "got.json").read_text())
    assert got["event"]["kind"] == "alarm opened"
    assert got["event"]["key"] == "2026-03-02"
    assert got["batch"]["decision"] == "FAR"
    assert got["monitor"] == str(monitor.path.resolve())


def test_failing_program_does_not_stop_the_batch(monitor):
    failed = monitor.add(rows(2, 1.0), key="a", on_alarm=[sys.executable, "-c", "raise SystemExit(3)"])
    assert [c.code for c in failed.cautions if "exit code 3" in c.message][:1] == ["alert-failed"]
    assert not monitor.add(rows(3), key="b").state.alarmed
    missing = monitor.add(rows(4, 1.5), key="c", on_alarm="no-such-program --now")
    assert "failed: FileNotFoundError" in str(missing)
    assert len(monitor.state.told) == 3


def test_program_that_hangs_is_stopped():
    event = Event(1, "now", "alarm opened")
    said = alert([sys.executable, "-c", "import time; time.sleep(1000)"], event, {}, limit=0.5)
    assert "took longer than 0.5 s" in said


def test_no_shell_reads_the_command(tmp_path):
    event = Event(1, "now", "alarm opened")
    target = tmp_path / "made-by-a-shell"
    alert(f"{sys.executable} -c pass ; touch {target}", event, {})
    assert not target.exists()


def test_function_is_told_of_alarms(monitor):
    told = []
    monitor.add(rows(2, 1.0), key="a", on_alarm=told.append)
    assert {each["event"]["cause"] for each in told} <= {"batch", "stream"}
    assert told


def test_report_of_a_batch_is_written_and_noted(monitor, tmp_path):
    (tmp_path / "reports").mkdir()
    monitor.add(rows(2, 1.0), key="a", report=tmp_path / "reports" / "a.html")
    assert monitor.state.told[0].batch.report == "reports/a.html"
    page = monitor.page(tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'href="reports/a.html"' in page
    assert (tmp_path / "reports" / "a.html").exists()


def test_notes_and_keys_are_checked(monitor):
    with pytest.raises(ValueError, match="a note must have"):
        monitor.note("  ")
    with pytest.raises(ValueError, match="a key must be"):
        monitor.add(rows(1), key="")
    assert monitor.acknowledge() == 0


def test_printing_says_verdict_and_stream(monitor):
    text = str(monitor.add(rows(1), key="2026-03-01"))
    assert text.startswith("2026-03-01 is CLOSE: within the tolerance")
    assert "Within tolerance: 2026-03-01 is CLOSE." in text
    assert str(monitor) == "shop: Within tolerance: 2026-03-01 is CLOSE."
    found = monitor.add(rows(1), key="2026-03-01").to_dict()
    json.dumps(found, allow_nan=False)
    assert found["stream"]["batches"] == 1


def test_a_batch_with_a_fact_against_it_is_beyond_and_opens_an_alarm(monitor, path):
    assert monitor.add(rows(1), key="2026-03-01").is_close
    odd = rows(2)
    odd[:10] *= 1e6
    found = monitor.add(odd, key="2026-03-02")
    assert found.pvalue_far > 0.5
    assert found.is_far
    assert found.headline().startswith("2026-03-02 is FAR: column ")
    assert "the largest so far, up to " in found.failures[0]
    assert monitor.state.alarmed
    copied = monitor.add(TRAIN[:200] + 1e-9, key="2026-03-03")
    assert copied.decision == "UNDECIDED"
    assert "almost rows of the reference" in copied.headline()
    assert copied.failures == nammd.Monitor.open(path).add(TRAIN[:200] + 1e-9, key="2026-03-03").failures


def test_columns_in_words_and_facts_are_kept(tmp_path):
    train, accepted = frame(0, size=600), frame(7, 1.0, size=600)
    tolerance = nammd.Tolerance.from_reference(train, accepted, scales="median")
    made = nammd.Monitor.create(tmp_path / "a.monitor", tolerance, train)
    bad = frame(3, size=600)
    bad.loc[bad.index % 3 == 0, "city"] = "Paris"
    verdict = made.add(bad, key="2026-03-01")
    assert verdict.is_far
    assert verdict.headline().startswith("2026-03-01 is FAR: city: ")
    assert any("Paris" in words for words in verdict.reasons)
    assert "Paris" in next(e.text for e in verdict.events if e.kind == "alarm opened")
    assert "new-categories" in " ".join(code for code, _ in made.state.told[0].batch.facts)
    assert "new-categories" in [caution.code for caution in verdict.cautions]
    assert made.state.told[0].batch.columns[0].name == "city"
    assert made.state.told[0].batch.columns[0].ratio > 1
    assert "Paris" in made.page(tmp_path / "page.html").read_text(encoding="utf-8")


def test_alarms_are_closed_by_those_who_know(monitor):
    monitor.add(rows(1, 1.5), key="2026-03-01")
    assert monitor.close("a test of ours") >= 1
    assert not monitor.state.alarmed
    assert monitor.close() == 0
    assert monitor.add(rows(2, 1.5), key="2026-03-02").state.alarmed


def test_rows_that_belong_together_are_taken_as_the_tolerance_says(tmp_path):
    def visits(seed, shift=0.0, users=60):
        rng = RNG(seed)
        own = np.repeat(rng.normal(0, 6, users), 4)
        amount = rng.normal(50 + 10 * shift, 8, 4 * users) + own
        return pd.DataFrame({"amount": amount, "user": [f"{seed}-{k // 4}" for k in range(4 * users)]})

    tolerance = nammd.Tolerance.from_reference(visits(0), visits(1, 1.5), groups="user", scales="median")
    made = nammd.Monitor.create(tmp_path / "a.monitor", tolerance, visits(0))
    made.add(visits(2), key="2026-03-01")
    again = nammd.Monitor.open(made.path).add(visits(3, 4.0), key="2026-03-02")
    verdict = tolerance.with_reference(visits(0)).check(visits(3, 4.0), alpha=1 / 365)
    assert (again.pvalue_far, again.distance) == (verdict.pvalue_far, verdict.distance)
    assert again.is_far
    came_back = visits(4).assign(user=visits(0)["user"])
    assert made.add(came_back, key="2026-03-03").state.told[2].batch.n == 240
    # With the reference fixed, a group counts once: the deviation is larger than that of as many single rows.
    alone = nammd.Tolerance.at(tolerance.epsilon, space=tolerance.space)
    rows_alone = nammd.Monitor.create(tmp_path / "b.monitor", alone, visits(0)[["amount"]])
    rows_alone.add(visits(3, 4.0)[["amount"]], key="2026-03-02")
    assert made.state.told[1].batch.given > 1.2 * rows_alone.state.told[0].batch.given


def test_sums_of_groups_are_pooled_as_long_as_no_group_is_in_two_batches(tmp_path):
    def visits(seed, shift=0.0, users=30, name=None):
        rng = RNG(seed)
        own = np.repeat(rng.normal(0, 6, users), 4)
        amount = rng.normal(50 + 10 * shift, 8, 4 * users) + own
        label = seed if name is None else name
        return pd.DataFrame({"amount": amount, "user": [f"{label}-{k // 4}" for k in range(4 * users)]})

    features = nammd.RandomFeatures(nammd.Gaussian(1.5), 64, rng=0)
    data = visits(0), visits(1, 1.5)
    space = nammd.Space.fit(data[0][["amount"]], kernel=features)
    tolerance = nammd.Tolerance.from_reference(*data, space=space, groups="user", scales="median")
    sketch = nammd.Sketch.of(data[0], space=tolerance.space, groups="user")
    for number, reference in enumerate((data[0], sketch)):
        made = nammd.Monitor.create(tmp_path / f"{number}.monitor", tolerance, reference)
        made.add(visits(2), key="2026-03-01")
        made.add(visits(3), key="2026-03-02")
        [window] = made.pooled()
        assert (window.batches, window.rows) == (2, 240)
        made.add(visits(4, name=3), key="2026-03-03")  # users that came back
        assert made.pooled() == ()


def test_what_batches_are_like_is_kept_told_and_drawn(tmp_path):
    train, accepted = frame(0, size=400), frame(7, 1.0, size=400)
    tolerance = nammd.Tolerance.from_reference(train, {"summer": accepted}, margin=0.05, scales="median")
    made = nammd.Monitor.create(tmp_path / "a.monitor", tolerance, train)
    made.add(frame(1), key="a")
    last = made.add(frame(2, 1.0), key="b")
    assert "% summer" in str(last)
    kept = {told.batch.key: told.batch.settings["like"]["summer"] for told in made.state.told}
    assert kept["a"] < 0.4 < 0.6 < kept["b"]
    page = made.page(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What batches are like" in page
    assert 'class="like like-0"' in page


def test_a_batch_leaves_nothing_in_memory_that_only_a_search_for_cycles_would_find(tmp_path):
    train = frame(0, size=300)
    monitor = nammd.Monitor.create(
        tmp_path / "m.monitor", nammd.Tolerance.from_reference(train, frame(7, size=300)), train
    )
    monitor.add(frame(1), key="2026-03-01")  # what is imported and made once
    gc.collect()
    gc.disable()
    try:
        monitor.add(frame(2), key="2026-03-02")
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kept = [type(thing).__name__ for thing in gc.garbage if hasattr(type(thing), "__dataclass_fields__")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert kept == []
