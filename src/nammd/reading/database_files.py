"""Databases that are files, SQLite and DuckDB: opened for reading only, and allowed to do nothing else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from nammd.reading.formats import optional

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
