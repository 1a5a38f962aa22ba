"""What is fetched from elsewhere: complete, no more than may be, and nothing of it stays behind."""

import contextlib
import io
import itertools
import os
import socketserver
import sys
import tempfile
import threading
import zipfile
from collections import namedtuple

import fsspec
import pytest

from nammd.cli import main
from nammd.reading import fetching
from nammd.tables import download_limit, read

ROWS = b"a,b\n" + b"1,2\n3,5\n" * 500


@pytest.fixture
def answering():
    """Serve bytes as they are over HTTP, for each path the ones that were given."""
    answers = {}

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            path = self.rfile.readline().split()[1].decode()
            while self.rfile.readline().strip():
                pass
            with contextlib.suppress(ConnectionError):
                for piece in answers[path]:
                    self.wfile.write(piece)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()

        def give(path, *pieces, length=None):
            head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
            told = b"" if length is None else b"content-length: %d\r\n" % length
            answers[path] = [head + told + b"\r\n", *pieces]
            return f"http://me:secret@127.0.0.1:{server.server_address[1]}{path}"

        yield give, answers
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path, monkeypatch):
    """Let temporary folders be made where a test can see them, and nothing be left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not [name for name in os.listdir(folder) if name.startswith("nammd-")]


def test_whole_files_are_read(answering):
    give, _ = answering
    assert read(give("/x.csv", ROWS, length=len(ROWS))).rows == 1000
    assert read(give("/y.csv", ROWS)).rows == 1000  # without a length: until it is closed


def test_a_file_that_did_not_come_whole_is_refused(answering):
    give, _ = answering
    with pytest.raises(ValueError, match=r"/x\.csv is not complete: 4004 bytes came of 5000; try again"):
        read(give("/x.csv", ROWS, length=5000))


def test_what_is_told_to_be_too_much_is_not_fetched(answering):
    give, _ = answering
    with pytest.raises(ValueError, match=r"has 21\.5 GB or more, and 17\.2 GB are fetched") as caught:
        read(give("/x.csv", length=20 << 30))  # of which not a byte comes
    assert "secret" not in str(caught.value)


def test_what_does_not_end_is_fetched_up_to_the_limit(answering):
    give, answers = answering
    address = give("/x.csv")
    answers["/x.csv"] = itertools.chain(answers["/x.csv"], itertools.repeat(b"1,2\n" * 4096))
    with (
        download_limit(1e-3),
        pytest.raises(ValueError, match=r"/x\.csv has .* or more, and 1\.07 MB"),
    ):
        read(address)


def test_the_limit_is_an_option_and_a_variable(answering, monkeypatch, tmp_path, capsys):
    give, _ = answering
    (tmp_path / "here.csv").write_bytes(ROWS)
    address = give("/x.csv", ROWS, length=len(ROWS))
    command = ["distance", str(tmp_path / "here.csv"), address]
    monkeypatch.setenv("NAMMD_DOWNLOAD_LIMIT", "0.000001")
    assert main(command) == 2
    said = capsys.readouterr().err
    assert (
        "/x.csv has 4 kB or more, and 1.07 kB are fetched of one place; if that is meant, give --down" in said
    )
    assert "secret" not in said
    assert main([*command, "--download-limit", "1"]) == 0
    monkeypatch.setenv("NAMMD_DOWNLOAD_LIMIT", "much")
    assert main(command) == 2
    assert "NAMMD_DOWNLOAD_LIMIT must be a number of gigabytes" in capsys.readouterr().err


def test_what_does_not_fit_on_the_disk_is_not_fetched(answering, monkeypatch):
    give, _ = answering
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda folder: usage(10_000, 7000, 3000))
    for length in (len(ROWS), None):
        with pytest.raises(OSError, match=r"/x\.csv does not fit into .*temporary.* room for 3e-06 GB; let"):
            read(give("/x.csv", ROWS, length=length))


def test_standard_input_is_fetched_up_to_the_limit(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROWS)))
    with (
        download_limit(1e-6),
        pytest.raises(ValueError, match=r"standard input has 4 kB or more"),
    ):
        read("-")


def test_files_of_a_folder_count_together():
    memory = fsspec.filesystem("memory")
    for k in range(4):
        memory.pipe(f"/bucket/parts/{k}.csv", ROWS)
    try:
        assert read("memory://bucket/parts").rows == 4000
        with (
            download_limit(1e-5),
            pytest.raises(ValueError, match=r"parts has 16 kB or more, and"),
        ):
            read("memory://bucket/parts")
    finally:
        memory.rm("/bucket", recursive=True)


@pytest.mark.parametrize("name", ["../evil.csv", "parts/../../evil.csv", "parts//../../../evil.csv"])
def test_names_in_an_archive_do_not_lead_out_of_it(tmp_path, name):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("parts/a.csv", ROWS)
        archive.writestr(name, ROWS)
    with pytest.raises(ValueError, match=r"x\.zip has a file whose name leads out of its folder"):
        read(f"zip://::file://{path}")
    assert not list(tmp_path.rglob("evil*"))
