"""``nammd monitor``: the commands, their exit codes and what they print."""

import json
import shlex
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import nammd
from nammd.cli import main


def write(path, seed, shift=0.0, size=300):
    rng = np.random.default_rng(seed)
    table = {"amount": rng.normal(50 + 10 * shift, 10, size=size), "age": rng.normal(40, 9, size=size)}
    parquet.write_table(pa.table(table), path)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("train.parquet", 0, size=500)
    write("accepted.parquet", 1, 1.0, size=500)
    (tmp_path / "days").mkdir()
    for day in range(1, 6):
        write(f"days/2026-03-0{day}.parquet", 10 + day)
    write("days/2026-03-06.parquet", 30, 4.0)
    nammd.Tolerance.from_reference("train.parquet", "accepted.parquet", margin=0.03, scales="median").save(
        "tolerance.json"
    )
    assert main(["monitor", "init", "shop.monitor", "-r", "train.parquet", "-t", "tolerance.json"]) == 0
    return tmp_path


def printed(capsys, *words):
    capsys.readouterr()
    code = main(list(words))
    told = capsys.readouterr()
    return code, told.out, told.err


def test_stream_is_watched_from_the_shell(shop, capsys):
    code, out, _ = printed(capsys, "monitor", "add", "shop.monitor", "days/2026-03-01.parquet")
    assert code == 0
    assert out.startswith("2026-03-01 is CLOSE")
    assert "Within tolerance: 2026-03-01 is CLOSE." in out
    code, out, _ = printed(capsys, "monitor", "add", "shop.monitor", "days/2026-03-06.parquet")
    assert code == 1
    assert "ALARM OPENED: The batch 2026-03-06 is beyond the tolerance: amount: " in out
    now = ("--now", "2026-03-07")
    code, out, _ = printed(capsys, "monitor", "status", "shop.monitor", *now)
    assert code == 1
    assert (
        "Beyond tolerance: 2026-03-06 is FAR. Silence: 3 days are missing, 2026-03-02 to 2026-03-04." in out
    )
    assert printed(capsys, "monitor", "acknowledge", "shop.monitor", "known", *now)[0] == 0
    assert "is FAR (acknowledged).\n" in printed(capsys, "monitor", "status", "shop.monitor", *now)[1]
    code, out, _ = printed(capsys, "monitor", "forget", "shop.monitor", "2026-03-06")
    assert code == 0
    assert printed(capsys, "monitor", "status", "shop.monitor", *now)[0] == 0
    assert printed(capsys, "monitor", "note", "shop.monitor", "a note", "--key", "2026-03-01")[0] == 0
    assert printed(capsys, "monitor", "page", "shop.monitor", "-o", "page.html")[0] == 0
    assert "a note" in (shop / "page.html").read_text(encoding="utf-8")


def test_many_batches_are_added_at_once(shop, capsys):
    files = [f"days/2026-03-0{day}.parquet" for day in range(1, 7)]
    code, out, _ = printed(capsys, "monitor", "add", "shop.monitor", *files, "--key-from-name")
    assert code == 1
    assert [line.split(" ")[0] for line in out.splitlines() if " is " in line][:6] == [
        f"2026-03-0{day}" for day in range(1, 7)
    ]
    again, out, _ = printed(capsys, "monitor", "add", "shop.monitor", *files)
    assert again == 1
    assert out.count("nothing has changed") == 6


def test_one_bad_file_stops_no_other(shop, capsys):
    (shop / "days" / "2026-03-02.parquet").write_text("this is no table")
    files = [f"days/2026-03-0{day}.parquet" for day in range(1, 4)]
    code, out, _ = printed(capsys, "monitor", "add", "shop.monitor", *files)
    assert code == 2
    assert "2026-03-02 was not added" in out
    assert len(nammd.Monitor.open("shop.monitor").state.told) == 2


def test_same_numbers_as_in_python(shop, capsys):
    code, out, _ = printed(capsys, "monitor", "add", "shop.monitor", "days/2026-03-01.parquet", "--json")
    document = json.loads(out)
    assert document["exit_code"] == code == 0
    [told] = document["batches"]
    made = nammd.Monitor.create("other.monitor", "tolerance.json", "train.parquet")
    verdict = made.add("days/2026-03-01.parquet", key="2026-03-01")
    for name in ("key", "decision", "distance", "interval", "pvalue_close", "pvalue_far", "level"):
        assert told[name] == verdict.to_dict()[name]
    assert document["stream"]["state"] == verdict.state.headline()
    status = json.loads(
        printed(capsys, "monitor", "status", "shop.monitor", "--json", "--now", "2026-03-02")[1]
    )
    assert status["alarm"] is False
    assert status["batches"] == 1


def test_keys_come_from_names_or_are_asked_for(shop, capsys):
    write("today.parquet", 50)
    code, _, err = printed(capsys, "monitor", "add", "shop.monitor", "today.parquet")
    assert code == 2
    assert "--key-from-name" in err
    assert printed(capsys, "monitor", "add", "shop.monitor", "today.parquet", "--key-from-name")[0] == 0
    assert printed(capsys, "monitor", "add", "shop.monitor", "today.parquet", "--key", "b")[0] == 0
    keys = [told.batch.key for told in nammd.Monitor.open("shop.monitor").state.told]
    assert sorted(keys) == ["b", "today"]
    both = ["days/2026-03-01.parquet", "days/2026-03-02.parquet"]
    assert (
        "--key names one batch" in printed(capsys, "monitor", "add", "shop.monitor", *both, "--key", "x")[2]
    )


def test_other_data_need_replace(shop, capsys):
    first = ["monitor", "add", "shop.monitor", "days/2026-03-01.parquet", "--key", "a"]
    second = ["monitor", "add", "shop.monitor", "days/2026-03-02.parquet", "--key", "a"]
    assert printed(capsys, *first)[0] == 0
    code, _, err = printed(capsys, *second)
    assert (code, "--replace" in err) == (2, True)
    assert printed(capsys, *second, "--replace")[0] == 0


def test_alarm_runs_a_command_and_its_failure_is_a_note(shop, capsys):
    words = ["monitor", "add", "shop.monitor", "days/2026-03-06.parquet", "--on-alarm"]
    code, _, err = printed(capsys, *words, f"{sys.executable} -c 'raise SystemExit(7)'")
    assert code == 1
    assert (
        "The alarm of 2026-03-06 (batch) was not told: the command for alarms failed with exit code 7." in err
    )
    state = nammd.Monitor.open("shop.monitor").state
    assert len(state.told) == 1
    assert ("note", "2026-03-06") in [(event.kind, event.key) for event in state.events]


def test_undecided_and_reports(shop, capsys):
    write("few.parquet", 60, 1.0, size=20)
    words = ["monitor", "add", "shop.monitor", "few.parquet", "--key", "2026-04-01"]
    code, out, _ = printed(capsys, *words)
    assert (code, out.startswith("2026-04-01 is quiet: it shows nothing")) == (0, True)
    words[-1] = "2026-04-02"
    assert printed(capsys, *words, "--undecided", "fail")[0] == 1
    (shop / "reports").mkdir()
    words[-1] = "2026-04-03"
    assert printed(capsys, *words, "--undecided", "ok", "--reports", "reports")[0] == 0
    assert (shop / "reports" / "2026-04-03.html").exists()


def test_wrong_files_are_one_sentence(shop, capsys):
    for words, said in (
        (["status", "nothing.monitor"], "there is no monitor"),
        (["status", "train.parquet"], "is not a monitor"),
        (["init", "shop.monitor", "-r", "train.parquet", "-t", "tolerance.json"], "already exists"),
        (["page", "shop.monitor", "-o", "shop.monitor"], "would destroy it"),
        (["acknowledge", "shop.monitor"], "no alarm to acknowledge"),
        (["forget", "shop.monitor", "x"], "no batch 'x'"),
        (["change", "shop.monitor"], "what changes?"),
    ):
        code, _, err = printed(capsys, "monitor", *words)
        assert code == 2, words
        assert said in err
        assert err.count("\n") == 1


def test_rates_are_chosen(shop, capsys):
    words = ["monitor", "init", "b.monitor", "-r", "train.parquet", "-t", "tolerance.json", "--json"]
    code, out, _ = printed(capsys, *words, "--rate", "ever", "--alpha", "0.1", "--claim", "population")
    assert code == 0
    document = json.loads(out)
    assert document["rate"]["rate"] == "ever"
    assert document["claim"] == "population"
    words[2] = "c.monitor"
    assert printed(capsys, *words, "--false-alarms", "often")[0] == 2


def test_change_holds_batches_against_another_reference(shop, capsys):
    assert (
        printed(capsys, "monitor", "change", "shop.monitor", "--reference", "days/2026-03-06.parquet")[0] == 0
    )
    assert printed(capsys, "monitor", "add", "shop.monitor", "days/2026-03-01.parquet")[0] == 1


def test_monitor_alone_shows_its_help(capsys):
    code, out, _ = printed(capsys, "monitor")
    assert code == 2
    assert "acknowledge" in out


def test_silence_is_known_to_a_scheduler_without_a_new_batch(shop, capsys):
    (shop / "holidays.txt").write_text("2026-03-04 a day off\n")
    words = ["monitor", "init", "c.monitor", "-r", "train.parquet", "-t", "tolerance.json", "--grace", "1"]
    code, out, _ = printed(capsys, *words, "--days", "mon-fri", "--holidays", "holidays.txt")
    assert code == 0
    assert "every day (mon-fri, but for 1 holiday), and missed when 1 more is due" in out
    assert printed(capsys, "monitor", "add", "c.monitor", "days/2026-03-03.parquet")[0] == 0
    status = ["monitor", "status", "c.monitor", "--now"]
    assert printed(capsys, *status, "2026-03-06T12:00")[0] == 0
    code, out, _ = printed(capsys, *status, "2026-03-07")
    assert (code, "c: Silence: 1 day is missing, 2026-03-05." in out) == (1, True)
    found = json.loads(printed(capsys, *status, "2026-03-07", "--json")[1])
    assert found["silence"] == [{"first": "2026-03-05", "last": "2026-03-05", "missing": 1}]
    assert [alarm["name"] for alarm in found["alarms"]] == ["silence 2026-03-05"]
    words = ["monitor", "acknowledge", "c.monitor", "no trade", "--now", "2026-03-07"]
    assert printed(capsys, *words)[1] == "1 alarm was acknowledged.\n"
    assert printed(capsys, *status, "2026-03-07")[0] == 0
    code, out, _ = printed(capsys, "monitor", "change", "c.monitor", "--grace", "none")
    assert (code, out) == (0, "No batch is expected at any time: silence is no alarm.\n")
    assert printed(capsys, *status, "2030-01-01")[0] == 0
    assert "as 2026-03-01 or" in printed(capsys, *status, "yesterday")[2]
    assert "a whole number" in printed(capsys, "monitor", "change", "c.monitor", "--grace", "two")[2]


def test_status_tells_of_silence_once_for_each_gap(shop, capsys):
    words = ["monitor", "init", "c.monitor", "-r", "train.parquet", "-t", "tolerance.json", "--grace", "1"]
    assert printed(capsys, *words)[0] == 0
    assert printed(capsys, "monitor", "add", "c.monitor", "days/2026-03-01.parquet")[0] == 0
    log = shop / "told.jsonl"
    program = f"import sys; open({str(log)!r}, 'a').write(sys.stdin.read() + chr(10))"
    hook = ["--on-alarm", shlex.join([sys.executable, "-c", program]), "--now"]

    def told(now, *more):
        code, out, err = printed(capsys, "monitor", "status", "c.monitor", *more, now)
        assert err == ""
        return code, out, [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    before = (shop / "c.monitor").read_bytes()
    assert told("2026-03-02", *hook)[::2] == (0, [])
    assert told("2026-03-04", "--now")[::2] == (1, [])  # without a program nobody is told
    assert (shop / "c.monitor").read_bytes() == before
    code, out, [first] = told("2026-03-04", *hook)
    assert (code, "c: Silence: 1 day is missing, 2026-03-02." in out) == (1, True)
    assert (first["event"]["kind"], first["event"]["cause"]) == ("alarm opened", "silence")
    assert first["event"]["text"] == first["state"] == "Silence: 1 day is missing, 2026-03-02."
    after = (shop / "c.monitor").read_bytes()
    assert len(told("2026-03-04", *hook)[2]) == len(told("2026-03-06", *hook)[2]) == 1  # it has only grown
    assert (shop / "c.monitor").read_bytes() == after
    assert printed(capsys, "monitor", "add", "c.monitor", "days/2026-03-03.parquet")[0] == 0
    *_, second = told("2026-03-07", *hook)[2]
    assert second["event"]["key"] == "2026-03-04 to 2026-03-05"
    assert len(told("2026-03-08", *hook)[2]) == 2


def test_silence_that_cannot_be_told_is_noted_and_not_told_again(shop, capsys):
    words = ["monitor", "init", "c.monitor", "-r", "train.parquet", "-t", "tolerance.json", "--grace", "1"]
    assert printed(capsys, *words)[0] == 0
    assert printed(capsys, "monitor", "add", "c.monitor", "days/2026-03-01.parquet")[0] == 0
    broken = shlex.join([sys.executable, "-c", "raise SystemExit(3)"])
    status = ["monitor", "status", "c.monitor", "--now", "2026-03-04", "--on-alarm", broken]
    code, out, err = printed(capsys, *status)
    assert code == 1
    assert (
        "The alarm of 2026-03-02 (silence) was not told: the command for alarms failed with exit code 3."
        in err
    )
    assert "was not told" in out
    assert printed(capsys, *status)[::2] == (1, "")


def test_refused_batch_is_in_status_until_it_is_replaced(shop, capsys):
    good = (shop / "days" / "2026-03-02.parquet").read_bytes()
    (shop / "days" / "2026-03-02.parquet").write_text("this is no table")
    words = ["monitor", "add", "shop.monitor", "days/2026-03-02.parquet"]
    assert printed(capsys, *words)[0] == 2
    status = ["monitor", "status", "shop.monitor", "--now", "2026-03-03"]
    code, out, _ = printed(capsys, *status)
    assert code == 1
    assert "shop: The batch 2026-03-02 was refused: " in out
    (shop / "days" / "2026-03-02.parquet").write_bytes(good)
    assert printed(capsys, *words)[0] == 0
    assert printed(capsys, *status)[0] == 0
    assert printed(capsys, "monitor", "add", "shop.monitor", "days/2026-03-09.parquet")[0] == 2
    assert printed(capsys, *status)[0] == 0  # a file that is not there has not been refused


def test_past_batches_and_files_are_accepted(shop, capsys):
    assert printed(capsys, "monitor", "add", "shop.monitor", "days/2026-03-06.parquet")[0] == 1
    accept = ["monitor", "accept", "shop.monitor"]
    assert "give --why" in printed(capsys, *accept, "2026-03-06")[2]
    code, out, _ = printed(capsys, *accept, "2026-03-06", "--why", "as every spring")
    assert code == 0
    assert out.startswith("Data like '2026-03-06' are accepted. It holds for what is added from now on; ")
    assert printed(capsys, "monitor", "status", "shop.monitor", "--now", "2026-03-07")[0] == 0
    write("days/2026-03-07.parquet", 31, 4.0)
    assert printed(capsys, "monitor", "add", "shop.monitor", "days/2026-03-07.parquet")[0] == 0
    (shop / "days" / "2026-03-07.parquet").rename(shop / "moved.parquet")
    code, _, err = printed(capsys, *accept, "2026-03-07", "--why", "too")
    assert (code, "give them with --file FILE" in err) == (2, True)
    assert printed(capsys, *accept, "2026-03-07", "--why", "too", "--file", "moved.parquet")[0] == 0
    write("summer.parquet", 40, -3.0)
    assert printed(capsys, *accept, "--file", "summer.parquet", "--why", "as every summer")[0] == 0
    accepted = nammd.Monitor.open("shop.monitor").tolerance.accepted.datasets
    assert [each.label for each in accepted][-3:] == ["2026-03-06", "2026-03-07", "summer"]
    assert "once for each KEY" in printed(capsys, *accept, "a", "b", "--file", "x", "--why", "y")[2]
