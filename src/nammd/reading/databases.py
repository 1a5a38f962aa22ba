"""The answer of a database to a query, through ADBC where there is a driver, and through SQLAlchemy.

The addresses are those of SQLAlchemy: sqlite:///shop.db, duckdb:///shop.duckdb, postgresql://user@host/shop.
Files are opened for reading only, and never made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from nammd.errors.addresses import driver_words, shown
from nammd.errors.advice import Advice, refusal
from nammd.reading.formats import optional
from nammd.reading.sources import TableFile, sliced

_FILES = ("sqlite", "duckdb")
_DRIVERS = {
    "sqlite": "adbc_driver_sqlite.dbapi",
    "duckdb": "adbc_driver_duckdb.dbapi",
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
    scheme = address.partition(":")[0].lower()
    file = _file(address, scheme)
    module = _driver(scheme)
    try:
        if module is not None:
            table = _by_adbc(module, scheme, address, file, query)
        else:
            table = _by_sqlalchemy(scheme, address, file, query)
        refused = None
    except Exception as error:  # each driver has errors of its own
        kind = ImportError if isinstance(error, ImportError) else ValueError
        refused = kind(f"{name}: the query failed: {driver_words(error, address)}")
    if refused is not None:
        raise refused  # here, where no error of the driver hangs on to it

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        for batch in table.select(columns).to_batches():
            yield from sliced(batch, batch_rows)

    if not table.num_rows:
        raise ValueError(f"{name}: the answer to the query has no rows")
    return TableFile(Path(name), tuple(table.column_names), stream, rows=table.num_rows)


def _file(address: str, scheme: str) -> Path | None:
    """Return the file of a database that is one, after checking that it is there."""
    if scheme.partition("+")[0] not in _FILES:
        return None
    path = Path(address.partition("://")[2].removeprefix("/")).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no database file {str(path)!r}")
    return path


def _driver(scheme: str) -> Any:
    try:
        return import_module(_DRIVERS[scheme])
    except (KeyError, ImportError):
        return None


def _by_adbc(module: Any, scheme: str, address: str, file: Path | None, query: str) -> Any:
    if scheme == "duckdb":
        # Its own function opens for writing too; the driver can do it.
        connection = import_module("adbc_driver_manager.dbapi").connect(
            driver=import_module("adbc_driver_duckdb").driver_path(),
            entrypoint="duckdb_adbc_init",
            db_kwargs={"path": str(file), "access_mode": "READ_ONLY"},
        )
    elif scheme == "sqlite":
        assert file is not None
        connection = module.connect(f"{file.resolve().as_uri()}?mode=ro")
    else:
        connection = module.connect(address)
    with closing(connection), closing(connection.cursor()) as cursor:
        cursor.execute(query)
        return cursor.fetch_arrow_table()


def _for_reading(scheme: str, file: Path | None) -> dict[str, Any]:
    """Return the options with which SQLAlchemy opens a file for reading only."""
    if file is None:
        return {}
    if scheme.startswith("duckdb"):
        return {"connect_args": {"read_only": True}}
    import sqlite3

    return {"creator": lambda: sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)}


def _by_sqlalchemy(scheme: str, address: str, file: Path | None, query: str) -> Any:
    pa = optional("pyarrow", "app", "reading tables")
    sqlalchemy = optional("sqlalchemy", "sql", "reading from databases")
    engine = sqlalchemy.create_engine(address, **_for_reading(scheme, file))
    try:
        with engine.connect() as connection:
            answer = connection.execute(sqlalchemy.text(query))
            names, rows = list(answer.keys()), answer.fetchall()
    finally:
        engine.dispose()
    columns = []
    for place, name in enumerate(names):
        try:
            columns.append(pa.array([row[place] for row in rows]))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise ValueError(f"the column {name!r} has values of different types") from None
    return pa.table(columns, names=names)
