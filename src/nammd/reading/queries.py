"""What a database may be asked: one statement, which reads.

That nothing is changed is up to the database: files are opened for reading only, and servers that have
read-only transactions begin one. Here is what must hold before anything is sent.
"""

from __future__ import annotations

import re

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
    >>> from nammd.reading.queries import require_reading
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
