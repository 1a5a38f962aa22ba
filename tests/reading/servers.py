"""PostgreSQL and MariaDB or MySQL, each started from its own programs in a folder of its own, on loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import GUARD, running, until

PASSWORD = "pa/ss#w?rd@of:nammd"
QUOTED = "pa%2Fss%23w%3Frd%40of%3Anammd"
SETUP = (
    "create table orders (x integer, city varchar(20))",
    "insert into orders values (1, 'Ulm'), (2, 'Bonn'), (3, 'Ulm')",
)


def _program(*names: str) -> str:
    """Return where a program is, also where Debian keeps those of PostgreSQL."""
    folders = [os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]
    folders += [str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    for name in names:
        if found := shutil.which(name, path=os.pathsep.join(folders)):
            return found
    pytest.skip(f"needs the program {names[0]} on the PATH")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _as_user(name: str) -> list[str]:
    """Return how a program is started as another user: servers do not run as root."""
    if os.name != "posix" or os.geteuid() != 0:
        return []
    return [_program("setpriv"), f"--reuid={name}", "--clear-groups"]


def _call(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=GUARD, **options)  # type: ignore[call-overload,no-any-return]


@contextlib.contextmanager
def _folder(user: list[str], name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="nammd-server-") as folder:
        if user:
            shutil.chown(folder, name)
        yield Path(folder)


@contextlib.contextmanager
def postgresql() -> Iterator[int]:
    """Run PostgreSQL with a user clerk, who may write and needs a password; give its port."""
    initdb, server, psql = _program("initdb"), _program("postgres"), _program("psql")
    user, port = _as_user("postgres"), _free_port()
    with _folder(user, "postgres") as folder:
        (folder / "word").write_text("rootword\n")
        made = _call([*user, initdb, "-D", str(folder / "data"), "-A", "scram-sha-256", "-U", "root",
                      f"--pwfile={folder}/word", "-N"], cwd=folder)  # fmt: skip
        if made.returncode:
            pytest.skip(f"initdb says: {made.stderr[-300:]}")
        options = ["-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-F"]
        with running([*user, server, "-D", str(folder / "data"), *options], cwd=folder,
                     stderr=subprocess.DEVNULL):  # fmt: skip
            environment = os.environ | {"PGPASSWORD": "rootword"}

            def tell(text: str, base: str = "postgres") -> bool:
                command = [psql, "-h", "127.0.0.1", "-p", str(port), "-U", "root", "-d", base, "-qc", text]
                return _call(command, env=environment).returncode == 0

            until(lambda: tell("select 1"), "PostgreSQL")
            assert tell(f"create user clerk password '{PASSWORD}'")
            assert tell("create database shop owner clerk")
            assert tell("; ".join(("set role clerk", *SETUP, "create sequence numbers")), "shop")
            yield port


@contextlib.contextmanager
def mysql() -> Iterator[int]:
    """Run MariaDB or MySQL with a user clerk, who may write and needs a password; give its port."""
    server, client = _program("mariadbd", "mysqld"), _program("mariadb", "mysql")
    user, port = _as_user("mysql"), _free_port()
    with _folder(user, "mysql") as folder:
        data, door = folder / "data", folder / "door"
        if "mariadb" in Path(server).name:
            maker = [
                _program("mariadb-install-db"),
                "--no-defaults",
                "--auth-root-authentication-method=normal",
            ]
        else:
            maker = [server, "--no-defaults", "--initialize-insecure"]
        made = _call([*user, *maker, f"--datadir={data}"], cwd=folder)
        if made.returncode:
            pytest.skip(f"{maker[0]} says: {made.stderr[-300:]}")
        options = [f"--datadir={data}", f"--socket={door}", f"--port={port}", "--bind-address=127.0.0.1",
                   f"--pid-file={folder}/pid", f"--tmpdir={folder}"]  # fmt: skip
        with running([*user, server, "--no-defaults", *options], cwd=folder, stderr=subprocess.DEVNULL):

            def tell(text: str, *base: str) -> bool:
                command = [client, "--no-defaults", f"--socket={door}", "-u", "root", "-e", text, *base]
                return _call(command).returncode == 0

            until(lambda: tell("select 1"), "MariaDB")
            assert tell(f"create database shop; create user clerk@'127.0.0.1' identified by '{PASSWORD}'")
            assert tell("grant all on shop.* to clerk@'127.0.0.1'; grant file on *.* to clerk@'127.0.0.1'")
            assert tell("; ".join(SETUP), "shop")
            yield port


SERVERS = {"postgresql": postgresql, "mysql": mysql}
