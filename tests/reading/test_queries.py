"""A query is one statement that reads, and servers are told so before it is sent."""

import sqlite3
import sys
import types

import pyarrow as pa
import pytest
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from nammd.reading.databases import READ_ONLY, require_reading
from nammd.tables import read


@pytest.mark.parametrize("kind", ["postgresql", "mysql", "mssql", "snowflake"])
@pytest.mark.parametrize(
    "query",
    [
        "select * from orders",
        "SELECT 'a;b' as x;",
        "(select 1)",
        "with x as (select 1) select * from x ;\n",
        "-- all of it\nselect 1",
        "/* all; of it */ select 1".replace(";", ","),
        "values (1)",
        "show tables",
    ],
)
def test_what_reads_is_sent(query, kind):
    require_reading(query, kind)


@pytest.mark.parametrize("kind", ["postgresql", "mysql", "mssql", "snowflake"])
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select 1; drop table orders", "more than one statement"),
        ("select 1;;select 2", "more than one statement"),
        ("select 'it\\'; drop table orders --'", "more than one statement"),
        ("select 1 -- it's\n; drop table orders --'", "more than one statement"),
        ("select $$'$$; drop table orders --'", "more than one statement"),
        ("select /*'*/ 1; drop table orders --'", "more than one statement"),
        ("drop table orders", "begins with 'drop'"),
        ("/* select */ drop table orders", "may only read"),
        ("commit", "begins with 'commit'"),
        ("set transaction read write", "begins with 'set'"),
        ("explain analyze delete from orders", "begins with 'explain'"),
    ],
)
def test_what_does_something_else_is_not(query, why, kind):
    with pytest.raises(ValueError, match=why):
        require_reading(query, kind)


@pytest.mark.parametrize(
    "query",
    [
        "select 1 drop table orders",
        "with x as (select 1) delete from orders",
        "select * into copied from orders",
        "select 1 EXEC xp_cmdshell 'x'",
    ],
)
def test_words_that_change_something_are_refused_where_the_database_would_not(query):
    require_reading(query, "postgresql")  # which is told to only read
    with pytest.raises(ValueError, match="mssql has no read-only transactions"):
        require_reading(query, "mssql")
    require_reading("select \"update\", 'drop it' as x from orders", "mssql")


@pytest.mark.parametrize(
    "query",
    [
        "select x from orders into outfile '/tmp/x'",
        "select x INTO DUMPFILE '/tmp/x' from orders",
        "select 1 /*! into outfile '/tmp/x' */",
        "select 1 /*!50000into outfile '/tmp/x' */",
        "select 1 /*M!100000into outfile '/tmp/x' */",
    ],
)
def test_mysql_writes_no_files(query):
    for kind in ("mysql", "mariadb"):
        with pytest.raises(ValueError, match="may only read"):
            require_reading(query, kind)
        require_reading("select 'into' as x from orders", kind)


class Listed(SQLiteDialect_pysqlite):
    """A server that writes down what it was asked."""

    supports_statement_cache = True
    asked: list[str] = []  # noqa: RUF012

    def create_connect_args(self, url):
        return [":memory:"], {}

    def do_execute_no_params(self, cursor, statement, context=None):
        Listed.asked.append(statement)
        if not statement.startswith("SET "):
            super().do_execute_no_params(cursor, statement, context)

    def do_commit(self, connection):
        Listed.asked.append("commit")


@pytest.mark.parametrize("kind", READ_ONLY)
def test_transactions_of_sqlalchemy_are_read_only(kind, monkeypatch):
    monkeypatch.setattr(Listed, "asked", [])
    registry.register(f"{kind}.listed", __name__, "Listed")
    found = read(f"{kind}+listed://db/shop", query="select 1 as x")
    assert found.data.to_pydict() == {"x": [1]}
    assert Listed.asked == [*READ_ONLY[kind], "select 1 as x"]


def test_transactions_of_adbc_are_read_only(monkeypatch):
    asked = []

    class Connection:
        def cursor(self):
            return self

        def execute(self, statement):
            asked.append(statement)
            if "none" in statement:
                raise sqlite3.OperationalError("no such table")

        def fetch_arrow_table(self):
            return pa.table({"x": [1]})

        def close(self):
            pass

    driver = types.ModuleType("adbc_driver_postgresql.dbapi")
    driver.connect = lambda address: Connection()
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", types.ModuleType("adbc_driver_postgresql"))
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", driver)
    assert read("postgresql://db/shop", query="select 1").rows == 1
    with pytest.raises(ValueError, match=r"postgresql://db/shop: the query failed: no such table"):
        read("postgresql://db/shop", query="select * from none")
    told = READ_ONLY["postgresql"]
    assert asked == [*told, "select 1", *told, "select * from none"]
    assert "SET TRANSACTION READ ONLY" in told
