"""The answer of a database to a query: of a file, or through ADBC where there is a driver, or SQLAlchemy.

The addresses are those of SQLAlchemy: sqlite:///shop.db, duckdb:///shop.duckdb, postgresql://user@host/shop.
A query is one statement that reads. Files are opened for reading only, and never made.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from nammd.errors.addresses import driver_words, local_path, shown
from nammd.errors.advice import Advice, naming, refusal
from nammd.reading.formats import optional
from nammd.reading.sources import TableFile, sliced

_FILES = ("sqlite", "duckdb")
_DRIVERS = {
    "postgresql": "adbc_driver_postgresql.dbapi",
    "postgres": "adbc_driver_postgresql.dbapi",
    "snowflake": "adbc_driver_snowflake.dbapi",
    "flightsql": "adbc_driver_flightsql.dbapi",
}
_SESSION = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"
_TRANSACTION = "SET TRANSACTION READ ONLY"
READ_ONLY = {
    # The session too: an address can ask for a transaction of its own for every statement.
    **dict.fromkeys(("postgresql", "postgres"), (_SESSION, _TRANSACTION)),
    **dict.fromkeys(("cockroachdb", "oracle"), (_TRANSACTION,)),
    **dict.fromkeys(("mysql", "mariadb"), ("SET SESSION TRANSACTION READ ONLY",)),
}
"""How a transaction is made one that only reads, where the database has such."""

_BEGINS = re.compile(r"\(*\s*(select|with|values|table|from|show|describe)\b", re.IGNORECASE)
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")
_DOUBTFUL = re.compile(r"--|/\*|[#$\\`\[]|\bq'", re.IGNORECASE)
"""What quotes or comments in some databases and not in others."""

_WRITES_FILES = re.compile(r"/\*M?!|\binto\b", re.IGNORECASE)
"""How MySQL writes files of its own, also in a read-only transaction; comments with an ! are statements."""

_CHANGES = re.compile(
    r"\b(insert|update|delete|merge|into|exec|execute|call|truncate|drop|alter|create|grant|revoke|deny|copy|"
    r"backup|restore|attach|install|shutdown|kill|dbcc|bulk|declare|use)\b",
    re.IGNORECASE,
)
_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
_AT_ONCE = 1 << 16
NOT_OUTSIDE = {
    "lock_configuration": "true",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
}
"""What holds for every file of DuckDB."""

NO_FILES = {"enable_external_access": "false", "autoload_known_extensions": "false"}


def open_query(address: str, query: str | None) -> TableFile:
    """Open the answer to a query; it is fetched once, when it is opened."""
    name = shown(address)
    if not query or not query.strip():
        raise refusal(
            ValueError,
            f"{name} is a database",
            Advice("say what to read with query='select ...'", "say what to read with --query 'select ...'"),
        )
    table = _answer(address, query)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        for batch in table.select(columns).to_batches():
            yield from sliced(batch, batch_rows)

    if not table.num_rows:
        raise ValueError(f"{name}: the answer to the query has no rows")
    return TableFile(Path(name), tuple(table.column_names), stream, rows=table.num_rows)


def _answer(address: str, query: str) -> Any:
    """Return the answer as an Arrow table, or say why there is none, without words that hold a password."""
    scheme = address.partition(":")[0].lower()
    kind = scheme.partition("+")[0]
    file = _file(address) if kind in _FILES else None
    if file is None:
        with naming(shown(address)):
            require_reading(query, kind)
    try:
        if file is not None:
            external = parse_qs(address.partition("?")[2]).get("external") == ["true"]
            return ask_sqlite(file, query) if kind == "sqlite" else ask_duckdb(file, query, external)
        module = _driver(scheme)
        if module is None:
            return _by_sqlalchemy(kind, address, query)
        return _by_adbc(module, kind, address, query)
    except Exception as error:  # each driver has errors of its own
        failure = ImportError if isinstance(error, ImportError) else ValueError
        refused = failure(f"{shown(address)}: the query failed: {driver_words(error, address)}")
    raise refused  # here, where no error of the driver hangs on to it


def _file(address: str) -> Path:
    """Return the file of a database that is one, after checking that it is there."""
    rest = address.partition("://")[2].removeprefix("/")
    for path in map(local_path, (rest, rest.partition("?")[0])):
        if path.is_file():
            return path
    raise FileNotFoundError(f"there is no database file {shown(address).partition('://')[2][1:]!r}")


def _driver(scheme: str) -> Any:
    try:
        return import_module(_DRIVERS[scheme])
    except (KeyError, ImportError):
        return None


def _by_adbc(module: Any, kind: str, address: str, query: str) -> Any:
    # What is begun is never committed.
    with closing(module.connect(address)) as connection, closing(connection.cursor()) as cursor:
        for statement in (*READ_ONLY.get(kind, ()), query):
            cursor.execute(statement)
        return cursor.fetch_arrow_table()


def _by_sqlalchemy(kind: str, address: str, query: str) -> Any:
    sqlalchemy = optional("sqlalchemy", "sql", "reading from databases")
    engine = sqlalchemy.create_engine(address)
    try:
        with engine.connect() as connection:
            plain = connection.execution_options(no_parameters=True)  # a colon or % is no place for a value
            for statement in (*READ_ONLY.get(kind, ()), query):
                answer = plain.exec_driver_sql(statement)
            names, rows = list(answer.keys()), answer.fetchall()
    finally:
        engine.dispose()
    return as_table(names, [[row[place] for row in rows] for place in range(len(names))])


def require_reading(query: str, kind: str) -> None:
    """Refuse a query that is not one statement, or that may do something else than read.

    Parameters
    ----------
    query : str
        What somebody asks.
    kind : str
        What is asked, such as ``"postgresql"``. Where it has no read-only transactions, words that change
        something are refused too, also as names.

    Examples
    --------
    >>> from nammd.reading.databases import require_reading
    >>> require_reading("select * from orders where note = 'a;b';", "postgresql")
    >>> require_reading("select 1; drop table orders", "postgresql")
    Traceback (most recent call last):
    ...
    ValueError: the query has more than one statement; give one, such as 'select ...'
    >>> require_reading("with x as (select 1) delete from orders", "mssql")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: the query has the word 'delete', and mssql has no read-only transactions; ...
    """
    text = query.strip().rstrip("; \t\r\n")
    bare = text if _DOUBTFUL.search(text) else _LITERAL.sub("''", text)
    if ";" in bare:
        raise ValueError("the query has more than one statement; give one, such as 'select ...'")
    without_comments = re.sub(r"--[^\n]*\n|/\*.*?\*/", " ", text, flags=re.DOTALL).strip()
    if not _BEGINS.match(without_comments):
        raise ValueError(
            f"the query begins with {_first_word(text)!r}, and may only read; give a 'select ...'"
        )
    if kind in ("mysql", "mariadb") and (found := _WRITES_FILES.search(bare)):
        raise ValueError(f"the query has {found[0]!r}, and may only read; leave it out")
    if kind not in READ_ONLY and (found := _CHANGES.search(bare)):
        raise ValueError(
            f"the query has the word {found[0]!r}, and {kind} has no read-only transactions; ask for a view, "
            "or write a column of that name in double quotes"
        )


def _first_word(text: str) -> str:
    return text.split(maxsplit=1)[0][:20]


def ask_sqlite(file: Path, query: str) -> Any:
    """Return the answer of a file of SQLite as an Arrow table; SQLite refuses all but reading."""
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.execute("pragma trusted_schema = off")  # views do not call what could do harm
        connection.set_authorizer(_only_reading)
        try:
            cursor = connection.execute(query)
        except sqlite3.DatabaseError as error:
            if "not authorized" in str(error) or "prohibited" in str(error):
                raise ValueError("it may only read this file; give one 'select ...'") from None
            raise
        if cursor.description is None:
            raise ValueError("it has no answer; give one 'select ...'")
        names = [column[0] for column in cursor.description]
        columns: list[list[Any]] = [[] for _ in names]
        while rows := cursor.fetchmany(_AT_ONCE):
            for column, values in zip(columns, zip(*rows, strict=True), strict=True):
                column += values
    return as_table(names, columns)


def _only_reading(action: int, first: str | None, second: str | None, *where: str | None) -> int:
    """Answer SQLite, which asks before it does anything."""
    harmless = action == sqlite3.SQLITE_FUNCTION and second != "load_extension"
    # Full-text indexes declare their columns, and look whether they are up to date.
    declared = action == sqlite3.SQLITE_UPDATE and first in ("sqlite_master", "sqlite_schema")
    version = action == sqlite3.SQLITE_PRAGMA and first == "data_version" and second is None
    allowed = action in _READS or harmless or declared or version
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def ask_duckdb(file: Path, query: str, external: bool) -> Any:
    """Return the answer of a file of DuckDB; other files are out of reach, unless they are part of it."""
    duckdb = optional("duckdb", "sql", "reading from DuckDB")
    statements = duckdb.extract_statements(query)
    if len(statements) != 1:
        raise ValueError("it has more than one statement; give one, such as 'select ...'")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError("it may only read this file; give one 'select ...'")
    settings = NOT_OUTSIDE if external else NOT_OUTSIDE | NO_FILES
    with duckdb.connect(str(file), read_only=True, config=settings) as connection:
        try:
            return connection.sql(query).to_arrow_table()
        except duckdb.PermissionException:
            if external:
                raise
            raise ValueError(
                "it reads other files than the database, which is off; if the database is made of them, add "
                "?external=true to its address"
            ) from None


def as_table(names: list[str], columns: list[list[Any]]) -> Any:
    """Return columns of Python values as an Arrow table."""
    pa = optional("pyarrow", "app", "reading tables")
    arrays = []
    for name, values in zip(names, columns, strict=True):
        try:
            arrays.append(pa.array(values))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise ValueError(f"the column {name!r} has values of different types") from None
    return pa.table(arrays, names=names)
