"""Addresses with passwords of any letters: whatever is shown of them, and whatever a driver says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np

from nammd.errors.addresses import driver_words, shown, without_addresses
from tests.fuzz.rules import Finding

_LETTERS = list("aZ09/#?@:;=%&+ []{}()\\'\"*.,~|<>$!^`_-äß\u202e\x1b\n")
_FORMS = (
    "https://me:{}@host/x.csv",
    "https://{}@host/x.csv?day=1",
    "postgresql+psycopg2://me:{}@db:5432/shop?sslmode=require",
    "postgresql://db/shop?user=me&password={}",
    "mssql+pyodbc:///?odbc_connect=Driver=x;PWD={};Server=db",
    "simplecache::https://me:{}@host/x.csv",
    "zip://day.csv::simplecache::https://me:{}@host/x.zip?signature={}",
    "jdbc:sqlserver://db;user=me;password={}",
    "me:{}@db/shop",
)
_SAYS: tuple[Callable[[str, str], str], ...] = (
    lambda address, secret: f"cannot connect to {address}",
    lambda address, secret: f"password {secret!r} is wrong",
    lambda address, secret: f"no such host: {address.rpartition('@')[0][-20:]}",
    lambda address, secret: f"nonnumeric port: {secret[:9]}",
    lambda address, secret: f"{{'url': {quote(address)!r}}}",
)


def addresses(rng: np.random.Generator, folder: Path) -> None:
    """Look for a password in what is shown of an address, and of what a driver says about it."""
    middle = "".join(rng.choice(_LETTERS, rng.integers(0, 12)))
    secret = f"Qzwx{middle}Vkjq"
    told = quote(secret, safe="") if rng.random() < 0.5 else secret
    address = str(rng.choice(_FORMS)).replace("{}", told)
    says = _SAYS[rng.integers(len(_SAYS))]
    given = Path(address) if rng.random() < 0.2 and "\0" not in address else address
    for text in (
        shown(given),
        driver_words(OSError(says(address, secret)), address),
        without_addresses(f"cannot read {address}: it is not there", (address,)),
    ):
        if "qzwx" in text.lower() or "vkjq" in text.lower():
            raise Finding(f"of {address!r} with {says(address, secret)!r} is shown: {text!r}")
