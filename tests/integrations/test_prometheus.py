"""Metrics are what Prometheus reads, and say what the state of the monitor says."""

import datetime
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from prometheus_client.parser import text_string_to_metric_families

import nammd
from nammd.cli import main
from nammd.integrations.prometheus import CONTENT_TYPE, metrics_text
from tests.integrations.watched import TITLE, add_days, make_monitor
from tests.monitor.test_serving import TOKEN, ask, served

DASHBOARD = Path(__file__).resolve().parents[2] / "examples" / "grafana" / "nammd-monitor.json"


@pytest.fixture
def monitor(tmp_path):
    made = make_monitor(tmp_path)
    add_days(made)
    return made


def read(text):
    """Return what Prometheus' own parser reads: values by name and labels, without that of the monitor."""
    found = {}
    for family in text_string_to_metric_families(text):
        assert (family.type, bool(family.documentation)) == ("gauge", True)
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("monitor") == TITLE
            key = (sample.name.removeprefix("nammd_monitor_"), *labels.values())
            assert key not in found
            found[key] = sample.value
    return found


def test_metrics_say_what_the_state_says(monitor):
    state = monitor.state
    last = state.told[-1]
    came = datetime.datetime.fromisoformat(last.batch.added)
    found = read(metrics_text(state, came + datetime.timedelta(seconds=90)))
    assert found["distance_over_margin",] == last.batch.distance / last.batch.epsilon
    assert found["distance_over_margin",] > 1
    assert found["margin",] == 0.02
    assert found["e_value",] == math.exp(last.evidence)
    assert found["alarm_line",] == state.spending.levels.line
    assert {word: found["batches", word] for word in state.counts()} == state.counts()
    causes = [alarm.cause for alarm in state.open_alarms]
    assert causes
    assert {c: found["alarms_open", c] for c in ("batch", "stream")} == {
        c: causes.count(c) for c in ("batch", "stream")
    }
    assert found["alarms_unacknowledged",] == len(causes)
    assert found["last_batch_rows",] == 200
    assert found["last_batch_age_seconds",] == 90
    assert found["last_batch_added_timestamp_seconds",] == came.timestamp()
    monitor.acknowledge("seen")
    after = read(metrics_text(monitor.state))
    assert (after["alarms_unacknowledged",], after["alarms_open", "batch"]) == (0, 1)


def test_the_last_batch_to_come_may_be_an_earlier_one_of_the_stream(monitor):
    key, distance = monitor.state.told[-1].batch.key, monitor.state.told[-1].batch.distance
    late = monitor.add(np.random.default_rng(9).normal(size=(50, 2)), key="2026-02-01")
    found = read(metrics_text(late.state))
    assert (key, found["distance",], found["last_batch_rows",]) == ("2026-03-03", distance, 200)
    added = [datetime.datetime.fromisoformat(t.batch.added).timestamp() for t in monitor.state.told]
    assert found["last_batch_added_timestamp_seconds",] == max(added)


def test_a_monitor_without_batches_has_zeros_and_no_last_batch(tmp_path):
    found = read(metrics_text(make_monitor(tmp_path).state))
    assert {found["batches", word] for word in ("CLOSE", "FAR", "UNDECIDED")} == {0}
    assert {found["alarms_open", cause] for cause in ("batch", "stream")} == {0}
    assert not [key for key in found if "last" in key[0] or "distance" in key[0]]


def test_names_of_columns_are_escaped(tmp_path):
    hostile = 'a"b\\c\nd{}=,é\\'
    rng = np.random.default_rng(0)
    train, today = (
        pd.DataFrame({hostile: rng.normal(shift, 1, 400), "x": rng.normal(size=400)}) for shift in (0, 2)
    )
    tolerance = nammd.Tolerance.from_reference(train)
    monitor = nammd.Monitor.create(tmp_path / "a.monitor", tolerance, train, title=TITLE)
    monitor.add(today, key="1")
    found = read(metrics_text(monitor.state))
    [moved] = [m for m in monitor.state.told[0].batch.columns if m.name == hostile]
    assert found["column_distance_over_margin", hostile] == moved.ratio > 1


def test_the_command_prints_or_writes_the_same(monitor, tmp_path, capsys):
    assert main(["monitor", "metrics", str(monitor.path)]) == 0
    printed = read(capsys.readouterr().out)
    out = tmp_path / "shop.prom"
    out.write_text("of yesterday")
    assert main(["monitor", "metrics", str(monitor.path), "--output", str(out)]) == 0
    written = read(out.read_text("utf-8"))
    varies = ("last_batch_age_seconds",)
    assert {k: v for k, v in printed.items() if k != varies} == {
        k: v for k, v in written.items() if k != varies
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shop.monitor", "shop.prom"]
    assert main(["monitor", "metrics", str(monitor.path), "-o", str(monitor.path)]) == 2
    assert "would destroy" in capsys.readouterr().err
    assert len(monitor.state.told) == 3


def test_the_server_has_metrics_for_who_knows_the_token(monitor):
    with served(monitor, token=TOKEN) as where:
        answer, _ = ask(where, "/metrics")
        assert answer.status == 401
        answer, text = ask(where, "/metrics", authorization=f"Bearer {TOKEN}")
        assert (answer.status, answer.headers["content-type"]) == (200, CONTENT_TYPE)
        assert read(text)["batches", "FAR"] == 1


def panels():
    found = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    assert len(found) >= 5
    return found


def test_the_dashboard_asks_for_metrics_and_labels_that_there_are(monitor):
    names, labels = set(), {"monitor"}
    for family in text_string_to_metric_families(metrics_text(monitor.state)):
        names.add(family.name)
        labels |= {label for sample in family.samples for label in sample.labels}
    text = DASHBOARD.read_text("utf-8")
    asked = set(re.findall(r"nammd_monitor_\w+", text))
    assert asked <= names
    wanted = ("distance_over_margin", "e_value", "batches", "alarms_open")
    assert {f"nammd_monitor_{name}" for name in wanted} <= asked
    expressions = [target["expr"] for panel in panels() for target in panel["targets"]]
    used = {
        label
        for expression in expressions
        for inside in re.findall(r"\{(.*?)\}", expression)
        for label in re.findall(r"(\w+)\s*=~?", inside)
    }
    legends = set(re.findall(r"\{\{(\w+)\}\}", text))
    assert used | legends <= labels
    assert all("$monitor" in expression for expression in expressions)


def test_the_panels_of_the_dashboard_do_not_overlap():
    places = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not places & cells, panel["title"]
        assert max(x for x, _ in cells) < 24
        places |= cells
    assert len({panel["id"] for panel in panels()}) == len(panels())
