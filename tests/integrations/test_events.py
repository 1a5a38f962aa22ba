"""Events and batches as lines of JSON, each once."""

import json

import pytest

from nammd.cli import main
from tests.integrations.watched import TITLE, add_days, make_monitor, rows


@pytest.fixture
def monitor(tmp_path):
    made = make_monitor(tmp_path)
    add_days(made)
    return made


def lines(capsys, monitor, *words):
    capsys.readouterr()
    assert main(["monitor", "events", str(monitor.path), *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_lines_have_batches_and_events_in_the_order_of_writing(monitor, capsys):
    found = [json.loads(line) for line in lines(capsys, monitor, "--jsonl")]
    numbers = [each["number"] for each in found]
    assert numbers == sorted(set(numbers))
    assert {each["monitor"] for each in found} == {TITLE}
    kinds = [each["kind"] for each in found]
    assert kinds[0] == "created"
    assert kinds.count("batch") == 3
    assert kinds.index("alarm opened") > len(kinds) - 1 - kinds[::-1].index("batch")
    last = [each for each in found if each["kind"] == "batch"][-1]
    told = monitor.state.told[-1]
    assert (last["key"], last["decision"]) == ("2026-03-03", "FAR")
    assert (last["distance"], last["tolerance"]) == (told.batch.distance, told.batch.epsilon)


def test_who_knows_the_last_number_gets_what_is_new_and_nothing_twice(monitor, capsys):
    before = lines(capsys, monitor, "--jsonl")
    monitor.add(rows(4), key="2026-03-04")
    monitor.note("a\nnote", key="2026-03-04")
    known = json.loads(before[-1])["number"]
    new = lines(capsys, monitor, "--jsonl", "--after", str(known))
    assert before + new == lines(capsys, monitor, "--jsonl")
    kinds = [json.loads(line)["kind"] for line in new]
    assert kinds[0] == "batch"
    assert kinds[-1] == "note"
    assert lines(capsys, monitor, "--jsonl", "--after", str(json.loads(new[-1])["number"])) == []


def test_people_read_events_in_lines(monitor, capsys):
    found = lines(capsys, monitor)
    assert len(found) == len(monitor.state.events)
    assert any("alarm opened: The batch 2026-03-03 is beyond the tolerance" in line for line in found)
