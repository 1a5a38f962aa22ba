"""The server: who is answered and who is not, over real connections."""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import numpy as np
import pytest

import nammd
from nammd.monitor.serving.guard import Guard, require_safe
from tests.monitor.flood import flood
from tests.waiting import GUARD, running, until

pytest.importorskip("uvicorn")
TOKEN = "0123456789abcdef0123"
HOSTILE = "<script>alert(1)</script>'\""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with a monitor and its reports, which take their time."""
    folder = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(0)
    tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
    made = nammd.Monitor.create(
        folder / "shop.monitor", tolerance, rng.normal(size=(200, 2)), title=f"shop {HOSTILE}", grace=None
    )
    for day, shift in ((1, 0.0), (2, 0.05), (3, 1.0)):
        made.add(rng.normal(shift, size=(100, 2)), key=f"2026-03-0{day}", report=folder / f"{day}.html")
    made.note(HOSTILE, key="2026-03-01")
    return folder


@pytest.fixture
def monitor(shop, tmp_path):
    """A monitor of its own for every test."""
    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    return nammd.Monitor.open(tmp_path / "shop.monitor")


@pytest.fixture(scope="module")
def served_shop(shop, tmp_path_factory):
    """A monitor, and where the command serves it for all tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("served") / "shop"
    shutil.copytree(shop, folder)
    monitor = nammd.Monitor.open(folder / "shop.monitor")
    with served(monitor) as where:
        yield monitor, where


@pytest.fixture
def where(served_shop):
    return served_shop[1]


@contextmanager
def served(monitor, *options, token=None):
    """Run the real command; yield where it listens."""
    command = [sys.executable, "-m", "nammd", "monitor", "serve", str(monitor.path), "--port", "0", *options]
    environment = {**os.environ, **({"NAMMD_MONITOR_TOKEN": token} if token else {})}
    with running(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        line = process.stdout.readline()
        yield urlsplit(re.search(r"http://\S+", line).group(0))


def ask(where, path="/", method="GET", body=None, **headers):
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, names)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer, content


def post(where, path, sent, **changed):
    origin = f"http://{where.hostname}:{where.port}"
    headers = {"origin": origin, "content_type": "application/json", "x_nammd_monitor": "1"} | changed
    headers = {name: value for name, value in headers.items() if value is not None}
    return ask(where, path, "POST", json.dumps(sent), **headers)


def test_page_is_served_with_strict_headers_and_escaped_values(where):
    assert where.hostname == "127.0.0.1"
    answer, page = ask(where)
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers
    assert "<script>alert" not in page
    assert page.count("<script") == 1
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    assert 'Beyond tolerance: <span class="whole">2026-03-03</span> is FAR.' in page
    assert ask(where, "/nothing")[0].status == 404
    assert ask(where, "/page.css")[0].headers["content-type"].startswith("text/css")
    assert json.loads(ask(where, "/state")[1])["alarm"] is True


def test_reports_of_batches_are_served_and_no_other_file(where):
    answer, page = ask(where, "/report/2026-03-03")
    assert answer.status == 200
    assert "FAR" in page
    assert "sandbox" in answer.headers["content-security-policy"]
    for path in ("/report/../shop.monitor", "/report/%2e%2e%2fshop.monitor", "/report/", "/report/x"):
        assert ask(where, path)[0].status == 404


def test_reports_outside_of_the_folder_are_neither_served_nor_linked(monitor, tmp_path):
    from tests.monitor.records import resealed

    outside = tmp_path.parent / "secret.html"
    outside.write_text("secret")
    (tmp_path / "link.html").symlink_to(outside)
    names = iter(["../secret.html", str(outside), "link.html"])

    def lead_out(records):
        for record in records:
            if record[0] == "batch":
                record[2]["report"] = next(names)
        return records

    resealed(monitor.path, lead_out)
    with listening(monitor) as (port, _):
        where = urlsplit(f"http://127.0.0.1:{port}")
        for day in (1, 2, 3):
            answer, said = ask(where, f"/report/2026-03-0{day}")
            assert (answer.status, "secret\n" in said) == (404, False)
        assert ask(where)[1].count(">report</a>") == 1  # the link looks like one of ours, and is not followed
    page = monitor.page(tmp_path / "page.html").read_text()
    assert page.count(">report</a>") == 1


@contextmanager
def listening(monitor, **limits):
    """Serve in this process, with limits of its own."""
    import uvicorn

    from nammd.monitor.serving.limits import Limits, limited
    from nammd.monitor.serving.site import site

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        app = site(monitor, Guard("127.0.0.1", port, None))
        options = uvicorn.Config(app, http=limited(Limits(**limits)), log_level="critical", lifespan="off")
        server = uvicorn.Server(options)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        try:
            yield port, server
        finally:
            server.should_exit = True
            thread.join(GUARD)


def until_closed(connection):
    """Return all that comes until the server closes the connection."""
    connection.settimeout(GUARD)
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(10_000):
            found += piece
    return found.decode()


HEAD = "POST /note HTTP/1.1\r\nhost: 127.0.0.1:{}\r\norigin: http://127.0.0.1:{}\r\nx-nammd-monitor: 1\r\n"


def test_who_sends_slowly_is_not_waited_for(monitor):
    with listening(monitor, request=0.3) as (port, _):
        body = HEAD.format(port, port) + "content-type: application/json\r\ncontent-length: 100\r\n\r\n{"
        for begun in ("", "GET / HTTP/1.1\r\nhost:", body):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(begun.encode())
                said = until_closed(connection)
                assert said.startswith("HTTP/1.1 408 ")
                assert "default-src 'none'" in said


def test_who_does_not_read_the_answer_is_not_waited_for(monitor):
    limits = {"answer": 0.3, "request": 0.5}  # as long as a request, somebody may take to be sent away
    with listening(monitor, **limits) as (port, server), socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.connect(("127.0.0.1", port))
        asked = f"GET /report/2026-03-03 HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode()
        with contextlib.suppress(OSError):
            connection.sendall(asked * 300)
        until(lambda: server.server_state.connections, "a connection")
        until(lambda: not server.server_state.connections, "the server to close it")


def test_so_many_connections_are_open_and_the_oldest_makes_room(monitor):
    with listening(monitor, connections=5, request=GUARD) as (port, server), contextlib.ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(20)]
        refused = [until_closed(connection) for connection in idle[:15]]
        assert all(said.startswith("HTTP/1.1 503 ") for said in refused)
        assert len(server.server_state.connections) == 5
        assert ask(urlsplit(f"http://127.0.0.1:{port}"))[0].status == 200


def test_who_keeps_a_connection_after_an_answer_makes_room_without_a_word(monitor):
    with listening(monitor, connections=1, request=GUARD) as (port, _):
        kept = http.client.HTTPConnection("127.0.0.1", port, timeout=GUARD)
        kept.request("GET", "/version")
        assert kept.getresponse().read()
        assert ask(urlsplit(f"http://127.0.0.1:{port}"))[0].status == 200
        assert until_closed(kept.sock) == ""
        kept.close()


def test_what_is_no_request_has_the_usual_headers(monitor):
    with listening(monitor) as (port, _):
        for sent in (b"\0\1\2\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"x" * 100_000):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(sent)
                said = until_closed(connection)
                assert said.startswith("HTTP/1.1 400 ")
                assert "default-src 'none'" in said


def test_connections_that_go_no_further_keep_nobody_out(monitor):
    """A small one; ``python -m tests.monitor.flood`` opens 2 000 against the command."""
    with listening(monitor, connections=20, request=1.0) as (port, server):
        found = flood(port, os.getpid(), count=200, step=20)
        assert len(found.honest) == 10  # each was answered
        assert set(found.statuses) <= {"408", "503", "nothing"}
        assert found.statuses.total() == 200
        until(lambda: not server.server_state.connections, "the server to forget them")


def test_other_names_are_not_served(where):
    for host in ("evil.example", "evil.example:80", "127.0.0.1:1", "", "localhost.evil.example"):
        assert ask(where, host=host)[0].status == 421
    assert ask(where, host=f"localhost:{where.port}")[0].status == 200


def test_requests_of_other_sites_are_refused(served_shop):
    monitor, where = served_shop
    own = f"http://{where.hostname}:{where.port}"
    assert ask(where, "/state", sec_fetch_site="cross-site")[0].status == 403
    assert ask(where, "/state", origin="http://evil.example")[0].status == 403
    assert ask(where, "/", sec_fetch_site="cross-site", sec_fetch_mode="navigate")[0].status == 200
    assert ask(where, "/", sec_fetch_site="cross-site", sec_fetch_mode="no-cors")[0].status == 403
    for changed in (
        {"origin": "http://evil.example"},
        {"origin": None},
        {"x_nammd_monitor": None},
        {"content_type": "text/plain"},
        {"sec_fetch_site": "same-site"},
    ):
        assert post(where, "/note", {"text": "forged"}, **changed)[0].status in (403, 415)
    assert post(where, "/note", {"text": "mine"}, origin=own)[0].status == 200
    assert [e.text for e in monitor.state.events if e.kind == "note"] == [HOSTILE, "mine"]


def test_notes_that_are_no_notes_are_refused(where):
    assert post(where, "/note", {"text": "x" * 20_000})[0].status == 413
    assert post(where, "/note", {"text": ""})[0].status == 400
    assert post(where, "/note", ["a"])[0].status == 400
    assert post(where, "/note", {"text": {"a": 1}})[0].status == 400
    for letter in ("\ud800", "\0", "\x1b[31m"):  # a page with them could never be written again
        assert post(where, "/note", {"text": f"a{letter}b"})[0].status == 400
        assert post(where, "/acknowledge", {"text": f"a{letter}b"})[0].status == 400
    assert ask(where)[0].status == 200
    origin = {"origin": f"http://{where.hostname}:{where.port}", "x_nammd_monitor": "1"}
    for deep in ("[" * 9000, '{"text":' * 1000, '{"text": ' + "9" * 9000 + "}"):
        answer, _ = ask(where, "/note", "POST", deep, content_type="application/json", **origin)
        assert answer.status == 400
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert ask(where, "/note")[0].status == 404


def test_alarm_is_acknowledged_over_the_wire(monitor):
    with listening(monitor) as (port, _):
        where = urlsplit(f"http://127.0.0.1:{port}")
        answer, said = post(where, "/acknowledge", {"text": "known"})
        assert (answer.status, json.loads(said)) == (200, {"acknowledged": len(monitor.state.open_alarms)})
    assert all(alarm.acknowledged == "known" for alarm in monitor.state.open_alarms)


def test_token_is_needed_for_reading_too(monitor):
    with served(monitor, token=TOKEN) as where:
        for path in ("/", "/state", "/version", "/body", "/live.js", "/report/2026-03-03"):
            assert ask(where, path)[0].status == 401
            assert ask(where, path, authorization="Bearer wrong-wrong-wrong-wrong")[0].status == 401
            assert ask(where, path, authorization=f"Bearer {TOKEN}")[0].status == 200
        assert ask(where, "/?token=wrong")[0].status == 401
        answer, _ = ask(where, f"/?token={TOKEN}")
        assert answer.status == 303
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert TOKEN not in cookie
        assert ask(where, "/", cookie=cookie.partition(";")[0])[0].status == 200
        assert ask(where, "/", cookie="nammd-monitor=0")[0].status == 401
        assert post(where, "/note", {"text": "no"})[0].status == 401


def test_other_hosts_are_refused_without_a_token(monitor, capsys):
    for host in ("0.0.0.0", "::", "192.0.2.7", "example.org"):
        with pytest.raises(ValueError, match="give a token"):
            require_safe(host, None)
        require_safe(host, TOKEN)
    with pytest.raises(ValueError, match="at least 16"):
        require_safe("0.0.0.0", "short")
    from nammd.cli import main

    assert main(["monitor", "serve", str(monitor.path), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "give a token" in capsys.readouterr().err


def test_names_that_were_given_are_served_where_others_can_come():
    guard = Guard("0.0.0.0", 8765, TOKEN, ("monitor.example",))
    assert guard.allowed_host("monitor.example:8765")
    assert guard.allowed_host("192.0.2.7:8765")
    assert guard.allowed_host("[2001:db8::1]:8765")
    assert not guard.allowed_host("evil.example:8765")


def test_secrets_are_not_printed():
    assert TOKEN not in repr(Guard("0.0.0.0", 1, TOKEN))
