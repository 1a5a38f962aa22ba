"""Alarms are told in the background, to a real server and a real program; nothing of it stops a batch."""

import base64
import json
import re
import socket
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import nammd
from nammd.cli import main
from nammd.integrations import alerts as module
from nammd.integrations.alerts import Alerts
from tests.integrations.watched import make_monitor, rows

SECRET = "s3cret-Zwiebel"


@contextmanager
def webhook(*answers, **headers):
    """A server that gives some answers, one after the other; yield its address and what it was sent."""
    got, left = [], list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = self.rfile.read(int(self.headers["content-length"]))
            got.append((self.path, dict(self.headers), json.loads(content)))
            self.send_response(left.pop(0) if left else 200)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/services/{SECRET}", got
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def dripping():
    """A server that answers with a letter now and then, and never ends."""
    stop = threading.Event()

    def answer(connection):
        with connection:
            try:
                while not stop.wait(0.02):
                    connection.sendall(b"H")
            except OSError:
                pass

    def accept():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/x"
        finally:
            stop.set()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.01)


@pytest.fixture
def monitor(tmp_path):
    return make_monitor(tmp_path, title="shop")


def told(monitor, alerts, key="a"):
    """Add a batch that opens alarms; return how many."""
    found = monitor.add(rows(2, 1.0), key=key, on_alarm=alerts)
    alerts.wait()
    assert found.is_far
    return sum(event.kind == "alarm opened" for event in found.events)


def notes(monitor):
    return [event.text for event in nammd.Monitor.open(monitor.path).state.events if event.kind == "note"]


def test_a_webhook_gets_the_alarm_as_json(monitor):
    said = []
    with webhook() as (address, got):
        count = told(monitor, Alerts(webhook=address, say=said.append))
    assert (len(got), said, notes(monitor)) == (count, [], [])
    path, headers, sent = got[0]
    assert path == f"/services/{SECRET}"
    assert headers["Content-Type"] == "application/json"
    assert (sent["event"]["kind"], sent["event"]["key"]) == ("alarm opened", "a")
    assert sent["text"] == sent["event"]["text"]
    assert sent["batch"]["decision"] == "FAR"


def test_batches_that_open_no_alarm_tell_nobody(monitor):
    with webhook() as (address, got):
        alerts = Alerts(webhook=address)
        monitor.add(rows(1), key="a", on_alarm=alerts)
        alerts.wait()
    assert got == []


@pytest.mark.parametrize("code", [500, 503, 429])
def test_it_is_tried_again_after_trouble_over_there(monitor, code):
    said = []
    with webhook(code, code) as (address, got):
        count = told(monitor, Alerts(webhook=address, say=said.append))
    assert (len(got), said) == (count + 2, [])


def test_attempts_are_bounded_and_failures_are_told_and_recorded_without_secrets(monitor, capfd):
    with webhook(*[500] * 9) as (address, got):
        count = told(monitor, Alerts(webhook=address.replace("//", f"//me:{SECRET}@")))
    assert len(got) == 3 * count
    expected = base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert {headers["Authorization"] for _, headers, _ in got} == {f"Basic {expected}"}
    words = r"The alarm of a \((batch|stream)\) was not told: http://127.0.0.1:\d+: it answered 500."
    printed = capfd.readouterr().err.splitlines()
    assert len(printed) == count
    assert all(re.fullmatch(words, line) for line in printed)
    assert notes(monitor) == printed
    assert SECRET.encode() not in monitor.path.read_bytes()


@pytest.mark.parametrize("code", [400, 404, 301, 302])
def test_a_refusal_is_final_and_nobody_is_led_elsewhere(monitor, code):
    said = []
    with webhook() as (elsewhere, wrong), webhook(*[code] * 9, location=elsewhere) as (address, got):
        count = told(monitor, Alerts(webhook=address, say=said.append))
    assert (len(got), len(wrong), len(said)) == (count, 0, count)
    assert f"it answered {code}." in said[0]


def test_who_is_not_there_or_never_ends_is_given_up(monitor, monkeypatch):
    said = []
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    told(monitor, Alerts(webhook=f"http://127.0.0.1:{port}/{SECRET}", say=said.append))
    assert f"http://127.0.0.1:{port}: it cannot be reached (Connection refused)." in said[0]
    monitor.close()
    monkeypatch.setattr(module, "ANSWER", 0.3)
    with dripping() as address:
        told(monitor, Alerts(webhook=address, say=said.append), key="b")
    assert "there was no answer within 0.3 s" in said[-1]


def test_what_waits_for_long_is_given_up(monitor, monkeypatch):
    monkeypatch.setattr(module, "GIVEN_UP", 0.0)
    said = []
    with webhook() as (address, got):
        count = told(monitor, Alerts(["never-run"], address, say=said.append))
    assert got == []
    assert len(said) == 2 * count
    assert {words.rpartition(": ")[2] for words in said} == {"there was no time left."}


def test_adding_does_not_wait_and_a_process_that_hangs_is_left(monitor, tmp_path):
    go = tmp_path / "go"
    program = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)"
    said = []
    alerts = Alerts([sys.executable, "-c", program], say=said.append)
    found = monitor.add(rows(2, 1.0), key="a", on_alarm=alerts)  # it would wait for ever
    assert found.is_far
    assert len(monitor.state.told) == 1
    go.touch()
    alerts.wait()
    assert said == []


def test_recording_uses_the_key_of_seals_of_the_caller(tmp_path):
    said = []
    with nammd.seal_key("a secret of this team"):
        monitor = make_monitor(tmp_path)
        told(monitor, Alerts("no-such-program", say=said.append))
        assert notes(monitor) == said
    assert "failed: FileNotFoundError" in said[0]


def test_a_history_that_cannot_be_written_is_said(monitor, tmp_path):
    said = []
    alerts = Alerts("no-such-program", say=said.append)
    event = {"number": 1, "at": "now", "kind": "alarm opened", "key": "a", "cause": "batch", "text": ""}
    alerts({"event": event, "monitor": str(tmp_path / "gone.monitor")})
    alerts.wait()
    assert said[1] == "That could not be written into the history: FileNotFoundError."


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://host/x", "hooks.example.org/x", "https://"])
def test_only_addresses_of_the_web_are_taken(address):
    with pytest.raises(ValueError, match="begins with https://"):
        Alerts(webhook=address)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The monitor and two batches as files; the time that tests of it may take is not the user's."""
    import numpy as np

    monkeypatch.chdir(tmp_path)
    make_monitor(tmp_path, title="shop")
    np.save("2026-03-01.npy", rows(1, 1.0))
    np.save("2026-03-02.npy", rows(2, 1.5))


def test_the_command_tells_a_webhook_of_its_variable(shop, monkeypatch, capsys):
    with webhook() as (address, got):
        monkeypatch.setenv("NAMMD_WEBHOOK", address)
        assert main(["monitor", "add", "shop.monitor", "2026-03-01.npy"]) == 1
    assert got
    assert capsys.readouterr().err == ""


def test_the_command_notes_what_was_not_told(shop, capsys):
    with webhook(*[404] * 9) as (address, _):
        words = ["monitor", "add", "shop.monitor", "2026-03-01.npy", "2026-03-02.npy", "--webhook", address]
        assert main([*words, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert all("it answered 404" in note for note in found["notes"])
    assert notes(nammd.Monitor.open("shop.monitor")) == found["notes"] != []
    assert [batch["decision"] for batch in found["batches"]] == ["FAR", "FAR"]


def test_the_command_refuses_a_wrong_address_before_it_adds_anything(shop, capsys):
    words = ["monitor", "add", "shop.monitor", "2026-03-01.npy", "--webhook", f"me:{SECRET}@host"]
    assert main(words) == 2
    assert SECRET not in capsys.readouterr().err
    assert nammd.Monitor.open("shop.monitor").state.told == ()
