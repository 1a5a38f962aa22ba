"""Queries to real servers: what they refuse, and what is said about it.

Each server is started where its programs are (`postgres`, `initdb`, `psql`; `mariadbd` or `mysqld` with their
clients), and skipped where they are not; so is each driver. Oracle and SQL Server are not among them.
"""

from importlib.util import find_spec

import pytest

from nammd.cli import main
from nammd.tables import read
from tests.reading.servers import PASSWORD, QUOTED, SERVERS

DRIVERS = {
    "postgresql": "adbc_driver_postgresql",
    "postgresql+psycopg": "psycopg",
    "postgresql+psycopg2": "psycopg2",
    "mysql+pymysql": "pymysql",
    "mariadb+pymysql": "pymysql",
}


@pytest.fixture(scope="module")
def ports():
    """Ports of servers, each started when it is asked for."""
    import contextlib

    with contextlib.ExitStack() as stack:
        known = {}

        def port(kind):
            if kind not in known:
                known[kind] = stack.enter_context(SERVERS[kind]())
            return known[kind]

        yield port


@pytest.fixture(params=DRIVERS)
def address(request, ports):
    """The address of a table in a server, without the name of the database."""
    if find_spec(DRIVERS[request.param]) is None:
        pytest.skip(f"needs the driver {DRIVERS[request.param]}")
    kind = "postgresql" if request.param.startswith("postgresql") else "mysql"
    return f"{request.param}://clerk:{QUOTED}@127.0.0.1:{ports(kind)}"


def rows(address):
    return read(f"{address}/shop", query="select x, city from orders order by x").data.to_pydict()


GOOD = {"x": [1, 2, 3], "city": ["Ulm", "Bonn", "Ulm"]}


def test_a_server_answers(address):
    assert rows(address) == GOOD
    assert read(
        f"{address}/shop", query="select '100%; :x' as a, x from orders where x = 1;"
    ).data.to_pydict() == {
        "a": ["100%; :x"],
        "x": [1],
    }
    assert read(f"{address}/shop", query="with a as (select 1 as x) select * from a").rows == 1


def changes(kind):
    common = (
        "select 1; drop table orders",
        "select x from orders; select 2",
        "with a as (select 1) delete from orders",
        "delete from orders",
        "set transaction read write",
        "commit",
    )
    if kind == "postgresql":
        return (
            *common,
            "with gone as (delete from orders returning x) select * from gone",
            "select x into other from orders",
            "with a as (select set_config('transaction_read_only', 'off', false)), b as (delete from orders "
            "returning x) select * from b, a",
            "select nextval('numbers')",
            "table orders; delete from orders",
        )
    return (
        *common,
        "select 1 /*! ; drop table orders */",
        "select x from orders into @a",
        "select x from orders for update",
        "select 1 -- '\n; delete from orders",
    )


@pytest.mark.parametrize("option", ["", "?autocommit=true"])
def test_a_server_changes_nothing(address, option):
    kind = address.partition(":")[0].partition("+")[0].replace("mariadb", "mysql")
    refused = r"more than one statement|may only read|the query failed"
    for query in changes(kind):
        with pytest.raises(ValueError, match=refused) as caught:
            read(f"{address}/shop{option}", query=query)
        assert_hidden(str(caught.value))
    assert rows(address) == GOOD


def test_what_a_function_does_is_taken_back(address):
    if not address.startswith("postgresql"):
        pytest.skip("is about large objects, which PostgreSQL before 16 makes also where it only reads")
    assert read(f"{address}/shop", query="select lo_create(0) as x").rows == 1
    found = read(f"{address}/shop", query="select count(*) as x from pg_largeobject_metadata")
    assert found.data.to_pydict() == {"x": [0]}


def test_mysql_writes_no_files(address, tmp_path):
    if address.startswith("postgresql"):
        pytest.skip("is about words of MySQL")
    tmp_path.chmod(0o777)
    file = tmp_path / "x"
    for text in (f"into outfile '{file}'", f"into dumpfile '{file}'", f"/*!50000into outfile '{file}' */"):
        with pytest.raises(ValueError, match="may only read"):
            read(f"{address}/shop", query=f"select 1 as x {text}")
    assert not list(tmp_path.iterdir())


def assert_hidden(said):
    for part in (PASSWORD, QUOTED, "w?rd", "w%3Frd", "clerk", "nobody", "sslmode", "hidden-option"):
        assert part not in said, (part, said)
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/shop", "/nothing"),
        ("127.0.0.1:", "127.0.0.1:1"),  # a port that nobody has
        ("@127.0.0.1", "@nowhere.invalid"),
        ("clerk:", "nobody:"),
        (QUOTED, "hidden-option"),
        (QUOTED, QUOTED[:-1]),
        ("/shop", "/shop?sslmode=hidden-option"),
        ("/shop", "/shop?hidden-option=1"),
        ("/shop", "/shop?odbc_connect=PWD%3Dhidden-option"),
        ("@127.0.0.1:", "@127.0.0.1:hidden-option"),
    ],
)
def test_no_failure_tells_a_password(address, old, new, tmp_path, capfd):
    wrong = f"{address}/shop".replace(old, new, 1)
    if old == "127.0.0.1:":
        wrong = f"{address.rpartition(':')[0]}:1/shop"
    (tmp_path / "x.csv").write_text("x,city\n1,Ulm\n2,Bonn\n3,Ulm\n")
    assert main(["distance", wrong, str(tmp_path / "x.csv"), "--query", "select x, city from orders"]) == 2
    said = "".join(capfd.readouterr())
    assert "the query failed" in said
    assert_hidden(said)
