"""What is shown of an address, and what is not, whatever a password looks like."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nammd.errors.addresses import driver_words, is_address, repeats, shown, without_addresses
from nammd.reading.places import local

SHOWN = {
    "postgresql://me:secret@db:5432/shop?sslkey=k": "postgresql://db:5432/shop",
    "s3://bucket/x.csv": "s3://bucket/x.csv",
    "https://me:pw@host/x.csv?sig=1": "https://host/x.csv",
    "https://host/shop.xlsx#May": "https://host/shop.xlsx",
    "https://host/x.csv;jsessionid=1": "https://host/x.csv",
    "https://me:p@ss@host/x.csv": "https://host/x.csv",
    "https://me:p:s@host/x.csv": "https://host/x.csv",
    "https://me:p%2Fs@host/x.csv": "https://host/x.csv",
    "https://token@host/x.csv": "https://host/x.csv",
    "https://[::1]:8080/x.csv": "https://[::1]:8080/x.csv",
    "sqlite:////data/my shop.db": "sqlite:////data/my shop.db",
    "sqlite:///C:/data/shop.db?key=secret": "sqlite:///C:/data/shop.db",
    "mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3Dsecret": "mssql+pyodbc:///",
    "simplecache::https://me:secret@host/x.csv": "simplecache::https://host/x.csv",
    "zip://day.csv::simplecache::https://me:secret@host/x.zip": "zip://day.csv::simplecache::https://host/x.zip",
    "s3://bucket/year=2026/month=03/x.parquet": "s3://bucket/year=2026/month=03/x.parquet",
    "s3://bucket/token=secret/x.parquet": "s3://bucket/***/x.parquet",
    "https://host/bot12:secret/x.csv": "https://host/***/x.csv",
    "https://host/a%3Fpassword%3Dsecret": "https://host/***",
    # Where the parts are not certain, nothing is shown.
    "postgresql://me:s/ecret@db/shop": "postgresql://***",
    "postgresql://me:s#ecret@db/shop": "postgresql://***",
    "postgresql://me:s?ecret@db/shop": "postgresql://***",
    "postgresql://me:secret": "postgresql://***",
    "https://host/x.csv?mail=me@secret": "https://***",
    "https://me:a::secret@host/x.csv": "https://***",
    "https://me:12::secret@host/x.csv": "https://***",
    "simplecache::https://me:s/ecret@host/x": "simplecache://***",
    "secret::https://host/x.csv": "***",
    r"https://host\@secret/x": "https://***",
    "jdbc:sqlserver://host;user=me;password=secret": "***",
    "me:secret@db/shop": "***",
    "Driver={x};Server=db;Pwd=secret": "***",
    "data/2026-03-01T10:00.csv": "data/2026-03-01T10:00.csv",
    "-": "standard input",
}


@pytest.mark.parametrize("address", SHOWN)
def test_what_is_certain_is_shown(address):
    assert shown(address) == SHOWN[address]
    assert shown(shown(address)) == shown(address) or address == "-"
    assert "secret" not in shown(Path(address))


PASSWORDS = st.text("Zq7/#?@:;=%& +[]\\'\"*.", min_size=1, max_size=12).map(lambda text: f"Qx{text}xQ")
FORMS = (
    "https://me:{}@host/x.csv",
    "https://{}@host/x.csv",
    "postgresql+psycopg2://me:{}@db:5432/shop?sslmode=require",
    "postgresql://db/shop?password={}",
    "mssql+pyodbc:///?odbc_connect=Driver=x;PWD={};Server=db",
    "simplecache::https://me:{}@host/x.csv",
    "zip://day.csv::https://me:{}@host/x.zip?signature={}",
)


@given(st.sampled_from(FORMS), PASSWORDS, st.booleans())
def test_no_password_is_shown_whatever_it_is_made_of(form, password, coded):
    text = quote(password, safe="") if coded else password
    address = form.replace("{}", text)
    assert "Qx" not in shown(address)
    assert "xQ" not in shown(address)
    for words in (address, f"cannot open {address!r}", f"no port: {password[:6]}", f"<{password[-6:]}>"):
        assert "Qx" not in driver_words(OSError(words), address)
        assert "xQ" not in driver_words(OSError(words), address)
    assert "xQ" not in without_addresses(f"cannot open {address} at all", (address,))


def test_words_of_drivers_are_kept_unless_they_repeat_the_address():
    address = "postgresql://reader:Tr%C3%B6te%2F9@db/shop?options=-csearch"
    for words in (
        "connection to postgresql://reader:Tr%C3%B6te%2F9@db/shop?options=-csearch failed",
        "password 'Tröte/9' was wrong",
        "no such user reader",
        "unknown option -csearch",
        "cannot connect to TRÖTE",
        "Authorization: Basic cmVhZGVyOlRyw7Z0ZS85",
    ):
        assert repeats(words, address), words
        assert driver_words(OSError(words), address).startswith("OSError, whose words repeat a part")
    for words in ('relation "orders" does not exist', "postgresql://db/shop is down", "timeout"):
        assert driver_words(OSError(words + "\nand more"), address) == words


def test_an_address_that_is_a_file_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "https://host/x.csv"
    assert is_address(name)
    Path("https:/host").mkdir(parents=True)
    Path("https:/host/x.csv").write_text("a\n1\n")
    assert not is_address(name)
    assert shown(name) == str(Path(name))
    with local(name) as path:
        assert path.read_text() == "a\n1\n"


def test_only_one_function_decides_what_is_shown():
    """Nobody else takes addresses apart to print them."""
    sources = Path(__file__).parents[2] / "src"
    users = [
        path.name
        for path in sources.rglob("*.py")
        if re.search(r"urlsplit|urlparse|\bnetloc\b", path.read_text("utf-8"))
    ]
    assert users == []
