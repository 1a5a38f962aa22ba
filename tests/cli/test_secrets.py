"""No password of an address is printed or written, whatever the command, the driver and the outcome."""

import io
import re
import sqlite3
import warnings
import zipfile
from urllib.parse import quote

import fsspec
import pytest
import sqlalchemy
from fsspec.implementations.local import LocalFileSystem
from pyarrow import parquet
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from nammd.tables import read

pytestmark = pytest.mark.filterwarnings("default")  # a program prints what its drivers warn of

SECRET = "Anfang/b#c?d@e:mitten-Zwiebel"
TRACES = (b"anfang", b"mitten", b"zwiebel", b"z2vozwlto", b"geheim")
"""Parts of the password, of its base64, and of the name of the user, in lower case."""


def traced(content):
    """Tell whether some of it is there; a regular expression takes ten times as long."""
    found = content.lower()
    return any(trace in found for trace in TRACES)


class Chatty(SQLiteDialect_pysqlite):
    """A driver that reads a file of SQLite, and tells everybody all that it was given."""

    supports_statement_cache = True
    file, fails, told = "", False, ""

    def create_connect_args(self, url):
        Chatty.told = url.render_as_string(hide_password=False)
        return [url], {}

    def connect(self, url, **options):
        warnings.warn(f"connecting to {Chatty.told}", UserWarning, stacklevel=1)
        if Chatty.fails:
            raise sqlite3.OperationalError(f"no route to {url.password} or {url.query} of {Chatty.told}")
        return sqlite3.connect(Chatty.file)

    def do_execute_no_params(self, cursor, statement, context=None):
        if not statement.startswith("SET "):
            super().do_execute_no_params(cursor, statement, context)


class ChattyFiles(LocalFileSystem):
    """A file system that does the same."""

    protocol = "chatty"
    folder, fails = None, False

    @classmethod
    def _strip_protocol(cls, path):
        return path

    def found(self, path):
        warnings.warn(f"fetching {path}", UserWarning, stacklevel=1)
        if ChattyFiles.fails:
            raise OSError(f"no route to {path}, with the password {SECRET}")
        return str(ChattyFiles.folder / re.search(r"(\w+\.parquet)", path)[1])

    def get_file(self, path, target, **options):
        super().get_file(self.found(path), target)

    def _open(self, path, mode="rb", block_size=None, **options):
        return super()._open(self.found(path), mode, block_size, **options)

    def info(self, path, **options):
        return super().info(self.found(path), **options) if path.startswith("chatty:") else super().info(path)

    def isdir(self, path):
        return False


@pytest.fixture
def drivers(files, tmp_path, monkeypatch):
    """Both drivers, with the tables of the other tests behind them."""
    monkeypatch.setattr(Chatty, "file", str(tmp_path.parent / f"{tmp_path.name}.db"))
    with sqlite3.connect(Chatty.file) as database:
        for name in ("reference", "accepted", "close", "far"):
            rows = parquet.read_table(files / f"{name}.parquet").to_pylist()
            database.execute(f"create table {name} (id text, age real, income real, city text)")
            database.executemany(f"insert into {name} values (?, ?, ?, ?)", [tuple(r.values()) for r in rows])
    database.close()
    monkeypatch.setattr(ChattyFiles, "folder", files)
    registry.register("postgresql.chatty", __name__, "Chatty")
    registry.register("mssql.chatty", __name__, "Chatty")
    fsspec.register_implementation("chatty", ChattyFiles, clobber=True)


def require_no_traces(folder, *printed):
    """Look for parts of the password in all that was printed, and in all files, packed ones unpacked."""
    for text in printed:
        assert not traced(text.encode()), text
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        content = path.read_bytes()
        assert not traced(content), path
        assert not traced(str(path).encode()), path
        if zipfile.is_zipfile(io.BytesIO(content)):
            with zipfile.ZipFile(path) as archive:
                assert not any(traced(archive.read(name)) for name in archive.namelist()), path


USER = f"geheim:{quote(SECRET, safe='')}"
DATABASE = f"postgresql+chatty://{USER}@db:5432/shop"
ODBC = f"mssql+chatty:///?odbc_connect={quote(f'Driver=x;UID=geheim;PWD={SECRET}', safe='')}"
CHAIN = f"simplecache::chatty://{USER}@host/{{}}.parquet?signature={quote(SECRET)}"
PLAIN = f"chatty://geheim:{SECRET}@host/{{}}.parquet"


@pytest.mark.parametrize("address", [DATABASE, CHAIN], ids=["database", "chain"])
def test_all_that_is_written_is_without(nammd, drivers, tmp_path, address):
    queried = "{}" not in address

    def run(*words, names=(), code=0):
        queries = [word for name in names for word in ("--query", f"select * from {name}")] if queried else []
        ran = nammd(*words, *queries)
        assert ran.code == code, ran
        require_no_traces(tmp_path, ran.out, ran.err)
        return ran

    reference, accepted, close, far = (address.format(n) for n in ("reference", "accepted", "close", "far"))
    two = ("reference", "accepted")
    run("calibrate", reference, accepted, "--margin", "missing=0.2", "-o", "t.json", names=two)
    limit = ("-t", "t.json")
    outputs = ("--html", "far.html", "--junit", "far.xml")
    told = run("check", reference, far, *limit, *outputs, names=("reference", "far"), code=1)
    assert address.partition(":")[0] in told.out
    run("check", reference, close, *limit, "--json", names=("reference", "close"))
    if not queried:
        run("check", reference, close, far, *limit, "--html", "pages", "--junit", "many.xml", code=1)
    run("distance", reference, far, "--html", "distance.html", names=("reference", "far"))
    run("sketch", close, "-o", "close.sketch", "--n-features", 64, *limit, names=("close",))
    run("monitor", "init", "m.monitor", "-r", reference, *limit, names=("reference",))
    (tmp_path / "reports").mkdir()
    words = ("--key", "2026-03-01", "--reports", "reports")
    run("monitor", "add", "m.monitor", far, *words, names=("far",), code=1)
    run("monitor", "status", "m.monitor", "--json", code=1)
    run("monitor", "page", "m.monitor", "-o", "page.html")
    assert {"far.html", "far.xml", "t.json", "close.sketch", "m.monitor", "page.html"} <= {
        path.name for path in tmp_path.iterdir()
    }


@pytest.mark.parametrize("address", [ODBC, PLAIN], ids=["odbc", "plain"])
def test_addresses_of_other_kinds(nammd, drivers, tmp_path, address):
    words = [word for name in ("reference", "far") for word in ("--query", f"select * from {name}")]
    places = [address.format(name) for name in ("reference", "far")]
    ran = nammd("distance", *places, "--json", *(words if address == ODBC else ()))
    assert ran.code == 0, ran
    require_no_traces(tmp_path, ran.out, ran.err)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    "address", [DATABASE, ODBC, CHAIN, PLAIN], ids=["database", "odbc", "chain", "plain"]
)
def test_no_failure_tells_it(nammd, drivers, tmp_path, tolerance, reference, monkeypatch, address, debug):
    monkeypatch.setattr(Chatty, "fails", True)
    monkeypatch.setattr(ChattyFiles, "fails", True)
    if debug:
        monkeypatch.setenv("NAMMD_DEBUG", "1")
    address = address.format("close")
    query = ("--query", "select * from close") if "+chatty" in address else ()
    outputs = ("--html", "x.html", "--junit", "x.xml")
    for words in (
        ("check", reference, address, "-t", tolerance, *outputs, *query),
        ("check", reference, address, "-t", tolerance, "--json", *query),
        ("check", address, address, address, "-t", tolerance, *query),
        ("check", reference, address, "-t", address),
        ("check", reference, reference, "--features", address, "-t", tolerance, "--html", address),
        ("distance", reference, f"{address}#May"),
        ("distance", reference, address, address, "--nonsense"),
        ("distance", reference, "--columns", address, address),
        ("sketch", address, "-o", "x.sketch", *query),
        ("monitor", "init", address, "-r", address, "-t", tolerance, *query),
        ("monitor", "add", address, address),
        ("calibrate", address, address, "-o", address, *query),
    ):
        ran = nammd(*words)
        assert ran.code == 2, ran
        require_no_traces(tmp_path, ran.out, ran.err)


def test_no_error_in_python_holds_it(drivers, monkeypatch):
    monkeypatch.setattr(Chatty, "fails", True)
    monkeypatch.setattr(ChattyFiles, "fails", True)
    for address in (DATABASE, ODBC, CHAIN, PLAIN, f"http://{USER}@127.0.0.1:9/x.csv?sig={SECRET}"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            query = {"query": "select 1"} if "+chatty" in address else {}
            with pytest.raises((ValueError, OSError)) as caught:
                read(address.format("close"), **query)
        error = caught.value
        while error is not None:
            assert not traced(f"{error!r} {error} {error.__dict__}".encode()), error
            error = error.__cause__ or error.__context__


def test_the_driver_of_the_test_talks():
    url = sqlalchemy.make_url(DATABASE)
    assert url.password == SECRET
    assert traced(SECRET.encode())
