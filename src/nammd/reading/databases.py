"""The answer of a database to a query: of a file, or through ADBC where there is a driver, or SQLAlchemy.

The addresses are those of SQLAlchemy: sqlite:///shop.db, duckdb:///shop.duckdb, postgresql://user@host/shop.
A query is one statement that reads. Files are opened for reading only, and never made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from nammd.errors.addresses import driver_words, local_path, shown
from nammd.errors.advice import Advice, naming, refusal
from nammd.reading.database_files import as_table, ask_duckdb, ask_sqlite
from nammd.reading.formats import optional
from nammd.reading.queries import READ_ONLY, require_reading
from nammd.reading.sources import TableFile, sliced

_FILES = ("sqlite", "duckdb")
_DRIVERS = {
    "postgresql": "adbc_driver_postgresql.dbapi",
    "postgres": "adbc_driver_postgresql.dbapi",
    "snowflake": "adbc_driver_snowflake.dbapi",
    "flightsql": "adbc_driver_flightsql.dbapi",
}


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
