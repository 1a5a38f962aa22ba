"""Files as they come out of other programs: none may be CLOSE by mistake, and each has its sentence."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nammd.cli import main
from tests.cli.conftest import MEDIAN

COLUMNS = ["price", "qty", "country", "signup", "active", "discount"]
Row = dict[str, Any]


def orders(seed: int, rows: int = 400) -> list[Row]:
    """Return orders as a clean program would write them."""
    return [dict(row) for row in _orders(seed, rows)]


@cache
def _orders(seed: int, rows: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    first = datetime.date(2015, 1, 1)
    return [
        {
            "price": f"{rng.lognormal(3.5, 0.8):.2f}",
            "qty": str(rng.integers(1, 12)),
            "country": str(rng.choice(["DE", "FR", "AT"], p=[0.6, 0.2, 0.2])),
            "signup": (first + datetime.timedelta(days=int(rng.integers(0, 3000)))).isoformat(),
            "active": str(rng.choice(["yes", "no"], p=[0.7, 0.3])),
            "discount": f"{rng.beta(2, 8):.3f}",
        }
        for _ in range(rows)
    ]


def write(
    path: Path,
    rows: list[Row],
    *,
    before: str = "",
    after: str = "",
    names: list[str] | None = None,
    delimiter: str = ",",
    encoding: str = "utf-8",
    **cells: Callable[[str], str],
) -> None:
    """Write orders, with some columns in another way."""
    lines = [delimiter.join(names or COLUMNS)]
    lines += [delimiter.join(cells.get(name, str)(row[name]) for name in COLUMNS) for row in rows]
    path.write_bytes((before + "\n".join(lines) + "\n" + after).encode(encoding))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the reference and its tolerance, which are the same in all tests."""
    folder = tmp_path_factory.mktemp("clean")
    write(folder / "ref.csv", orders(0, 500))
    words = "calibrate", folder / "ref.csv", "--margin", "missing=0.05", *MEDIAN, "-o", folder / "t.json"
    assert main([*map(str, words)]) == 0
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def reference(nammd: Any, tmp_path: Path, made: dict[str, bytes]) -> Any:
    """Return a function that checks a candidate against a clean reference."""
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)

    def check() -> Any:
        return nammd("check", "ref.csv", "new.csv", "-t", "t.json")

    return check


def comma(text: str) -> str:
    return text.replace(".", ",")


HARMLESS: dict[str, dict[str, Any]] = {
    "as it was": {},
    "a mark at the beginning": {"encoding": "utf-8-sig"},
    "UTF-16": {"encoding": "utf-16"},
    "decimal commas": {"delimiter": ";", "price": comma, "discount": comma},
    "thousands with spaces": {
        "delimiter": ";",
        "price": lambda v: comma(f"{float(v):,.2f}".replace(",", " ")),
    },
    "thousands with apostrophes": {"price": lambda v: f"{float(v):,.2f}".replace(",", "'")},
    "percent signs": {"discount": lambda v: f"{100 * float(v):.1f}%"},
    "American dates": {"signup": lambda v: f"{v[5:7]}/{v[8:]}/{v[:4]}"},
    "moments at midnight": {"signup": lambda v: f"{v} 00:00:00"},
    "everything in quotes": {name: (lambda v: f'"{v}"') for name in COLUMNS},
    "comments": {"before": "# made by a program\n# on a day\n"},
    "Excel": {"before": "sep=;\n", "delimiter": ";", "price": comma},
    "Excel, tabs": {"before": '"sep=\t"\n', "delimiter": "\t", "encoding": "utf-8-sig"},
}


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    """Return what a check of clean rows says, once it was made."""
    return {}


@pytest.mark.parametrize("how", HARMLESS)
def test_the_same_rows_in_another_style_have_the_same_distance(
    how: str, reference: Any, nammd: Any, tmp_path: Path, plain: dict[str, Any]
) -> None:
    rows = orders(1)
    if not plain:
        write(tmp_path / "new.csv", rows)
        plain |= nammd("check", "ref.csv", "new.csv", "-t", "t.json", "--json").checked
    write(tmp_path / "new.csv", rows, **HARMLESS[how])
    found = nammd("check", "ref.csv", "new.csv", "-t", "t.json", "--json").checked
    assert found["distance"] == pytest.approx(plain["distance"], rel=1e-9)
    assert found["decision"] == plain["decision"]
    # Numbers that are written as text are no groups.
    assert "looks-like-groups" not in {each["code"] for each in found["cautions"]}


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "cents": ({"price": lambda v: str(round(100 * float(v)))}, "price: values are about 100 times as large"),
    "percent without a sign": ({"discount": lambda v: f"{100 * float(v):.1f}"}, "about 100 times as large"),
    "true and false": (
        {"active": lambda v: {"yes": "true", "no": "false"}[v]},
        "active: no row has 'yes', 'no' any more, 100 % of the reference",
    ),
    "one and zero": (
        {"active": lambda v: {"yes": "1", "no": "0"}[v]},
        "active: no row has 'yes', 'no' any more, 100 % of the reference",
    ),
    "spaces behind": (
        {"country": lambda v: f"{v} "},
        "are new, 100 % of rows, and known but for case or spaces",
    ),
    "lower case": ({"country": str.lower}, "are new, 100 % of rows, and known but for case or spaces"),
    "nothing": ({"active": lambda v: ""}, "active: 100 % of the values are missing, none so far"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_far_and_say_why(fault: str, reference: Any, tmp_path: Path) -> None:
    how, words = FAULTS[fault]
    write(tmp_path / "new.csv", orders(1), **how)
    ran = reference()
    assert ran.code == 1
    assert words in ran.out


def test_a_word_for_missing_values_that_is_new_is_told(reference: Any, tmp_path: Path) -> None:
    rows = orders(1)
    for row in rows[::40]:
        row["qty"] = "-999"
    write(tmp_path / "new.csv", rows)
    ran = reference()
    assert ran.code != 0
    assert "FAR: qty: -999 in 2.5 % of rows, far from everything so far: a missing value?" in ran.out


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "other names": (
        {"names": [name.title() for name in COLUMNS]},
        "lacks columns that the reference of this space has: 'price', 'qty', 'country', 'signup', 'active', "
        "...; it has 'Price', 'Qty', 'Country', 'Signup', 'Active', ..., which differ only in case or spaces",
    ),
    "one other name": ({"names": ["Price", *COLUMNS[1:]]}, "has no column 'price', which the reference"),
    "seconds": ({"signup": lambda v: v.replace("-", "")}, "'signup' of new.csv holds numbers, but times"),
    "a title": (
        {"before": "Orders of May\n"},
        "row 2 has 6 columns where the header has 1; its first line, 'Orders of May', should be the names",
    ),
    "a note below": (
        {"after": "source: the shop\n"},
        "row 402 has 1 column where the header has 6; it is cut short, or a note that is no row of the",
    ),
    "a comma behind": ({"discount": lambda v: f"{v},"}, "rows end with a delimiter, and the header does not"),
    "a comma too many": ({"price": lambda v: v.replace(".", ",")}, "look for a delimiter inside a value"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_with_what_to_do(case: str, reference: Any, tmp_path: Path) -> None:
    how, words = REFUSED[case]
    write(tmp_path / "new.csv", orders(1), **how)
    assert words in reference().sentence


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("new.ods", b"PK", "it is a workbook of another kind; save it as .xlsx or .csv"),
        ("new.txt", b"a,b\n1,2\n", "rename it to .csv, .tsv or .jsonl"),
        ("new.zip", b"PK", "unpack it first"),
        ("new.db", b"SQLite format 3", "give sqlite:///FILE and a query"),
        ("new.pkl", b"x", "loading it would run code"),
        ("new.csv", b"<!DOCTYPE html><html>not found</html>", "holds a web page or XML, by its content"),
        ("new.jsonl", b'<?xml version="1.0"?>\n<a/>\n', "holds a web page or XML, by its content"),
        ("new.csv", b'{"a": 1}\n{"a": 2}\n', "holds JSON, by its content; give it the extension .jsonl"),
    ],
)
def test_files_of_another_kind_have_their_advice(
    name: str, content: bytes, words: str, nammd: Any, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert words in nammd("distance", name, name).sentence


def test_a_row_that_sums_up_the_others_is_told(reference: Any, nammd: Any, tmp_path: Path) -> None:
    for row in ("99999.50,9000,Total,,,", "Total,9000,,,,", "12,3,Summe:,,,"):
        write(tmp_path / "new.csv", orders(1), after=f"{row}\n")
        assert "new.csv: the last row has '" in reference().err
    write(tmp_path / "new.csv", orders(1))
    assert "the last row" not in reference().err


def test_comments_are_said_and_a_header_with_a_mark_is_none(nammd: Any, tmp_path: Path) -> None:
    write(tmp_path / "a.csv", orders(0), before="# one\n")
    write(tmp_path / "b.csv", orders(1), before="# one\n")
    ran = nammd("distance", "a.csv", "b.csv")
    assert "a.csv and b.csv: the first line is a comment and is left out" in ran.err
    named = ["#price", *COLUMNS[1:]]
    for seed, name in enumerate(("c.csv", "d.csv")):
        write(tmp_path / name, orders(seed), names=named, before="# one, two\n" if seed else "")
    found = nammd("distance", "c.csv", "d.csv", "--json").json
    assert "#price" in found["inputs"]["columns"]


def test_numbers_among_many_words_are_told(nammd: Any, tmp_path: Path) -> None:
    rows = orders(0, 400)
    for row in rows[::4]:
        row["price"] = "on request"
    write(tmp_path / "ref.csv", rows)
    ran = nammd("calibrate", "ref.csv", "--margin", "noise=0.5", "--anyway", *MEDIAN, "-o", "t.json")
    words = "'price': 300 of 400 values can be read as numbers with decimal points and the others cannot"
    assert f"{words}, such as 'on request', so it is taken as text; use --na 'on request'" in ran.err
    ran = nammd(
        "calibrate",
        "ref.csv",
        "--noise",
        0.5,
        "--anyway",
        *MEDIAN,
        "-o",
        "t.json",
        "--force",
        "--na",
        "on request",
    )
    assert "taken as text" not in ran.err
    assert "'price': 100 of 400 values read as missing: on request" in ran.err


def test_a_reference_that_is_there_twice_sets_no_tolerance(nammd: Any, tmp_path: Path) -> None:
    write(tmp_path / "ref.csv", [row for row in orders(0, 200) for _ in range(2)])
    for way in (["--split"], ["--noise", 0.5]):
        sentence = nammd("calibrate", "ref.csv", *way, "-o", "t.json").sentence
        assert "every row of ref.csv is there twice" in sentence
        assert "leave the copies out, and make the tolerance from what is left" in sentence
    ran = nammd("calibrate", "ref.csv", "--split", "--anyway", *MEDIAN, "-o", "t.json")
    assert ran.code == 0
    assert "every row of ref.csv is there twice" in ran.out


def test_a_tolerance_that_hides_nearly_everything_says_so(nammd: Any, tmp_path: Path) -> None:
    write(tmp_path / "ref.csv", orders(0, 400))
    assert (
        "the tolerance is very large"
        in nammd("calibrate", "ref.csv", "--noise", 5, *MEDIAN, "-o", "t.json").sentence
    )
    ran = nammd("calibrate", "ref.csv", "--noise", 5, *MEDIAN, "-o", "t.json", "--anyway")
    assert "the tolerance is very large, as far as" in ran.out
    write(tmp_path / "new.csv", orders(1, 400))
    assert "the tolerance is very large" in nammd("check", "ref.csv", "new.csv", "-t", "t.json").out
    assert "very large" not in nammd("calibrate", "ref.csv", "--noise", 0.5, "-o", "u.json").out
