"""What nobody wants to pass, as a new user would find it: files of 1 200 rows, and all defaults."""

import contextlib
import io
import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from nammd.cli import main

ROWS = 1200


def orders(seed, rows=ROWS):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "amount": rng.lognormal(3.2, 0.7, rows).round(2),
            "age": rng.integers(18, 90, rows),
            "score": rng.normal(size=rows).round(4),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], rows, p=[0.5, 0.3, 0.2]),
            "day": pd.Series(pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90, rows), "D")),
            "currency": "EUR",
        }
    )


def some(column, share, value):
    """Return orders with another value in a share of the rows of a column."""
    rows = orders(2)
    values = rows[column].astype(object)
    chosen = np.random.default_rng(5).choice(ROWS, round(share * ROWS), replace=False)
    values.iloc[chosen] = values.iloc[chosen].map(value) if callable(value) else value
    return rows.assign(**{column: values.infer_objects()})


def memorised():
    rows, rng = orders(0), np.random.default_rng(3)
    noise = {name: rows[name] + 1e-9 * rng.normal(size=ROWS) for name in ("amount", "score")}
    return rows.assign(**noise)


CASES = {
    "another currency.csv": (
        lambda: orders(2).assign(currency="USD"),
        "currency: was always 'EUR' and is now 'USD'",
    ),
    "a million times.csv": (
        lambda: some("amount", 0.01, lambda v: 1e6 * v),
        "amount: 12 rows (1.0 %) above ",
    ),
    "negative.csv": (
        lambda: some("amount", 0.02, lambda v: -v),
        "amount: 24 rows (2.0 %) below 0, never before",
    ),
    "minus one.csv": (
        lambda: some("age", 0.03, -1),
        "age: 36 rows (3.0 %) below 0, never before, down to -1",
    ),
    "minus 999.csv": (
        lambda: some("amount", 0.03, -999),
        "amount: -999 in 3.0 % of rows, far from everything",
    ),
    "minus 999.parquet": (lambda: some("age", 0.03, -999), "age: -999 in 3.0 % of rows, far from everything"),
    "a new category.csv": (lambda: some("city", 0.05, "Bern"), "city: 'Bern' is new, 5.0 % of rows"),
    "a new category.jsonl": (lambda: some("city", 0.05, "Bern"), "city: 'Bern' is new, 5.0 % of rows"),
    "twice.csv": (
        lambda: pd.concat([orders(2, 960), orders(2, 960)[:240]]),
        "20 % of rows repeat an earlier row, 0 % before",
    ),
    "cut off.csv": (
        lambda: orders(2).assign(amount=orders(2)["amount"].clip(upper=60)),
        "amount: 60, the largest value, in 9.",
    ),
    "dollars.csv": (
        lambda: orders(2).assign(amount=orders(2)["amount"].map("{:.2f} $".format)),
        "amount: plain numbers before, $ now",
    ),
    "dollars.parquet": (
        lambda: orders(2).assign(amount=orders(2)["amount"].map("${:,.2f}".format)),
        "amount: plain numbers before, $ now",
    ),
    "long ago.csv": (
        lambda: some("day", 0.03, pd.Timestamp("1900-01-01")),
        "day: 1900-01-01 in 3.0 % of rows, 0 % before: a missing value?",
    ),
    "rounded.csv": (
        lambda: orders(2).assign(score=orders(2)["score"].round()),
        " values are in nearly all rows, far more than before: rounded?",
    ),
    "memorised.csv": (memorised, "about 100 % of the candidate's rows are almost rows of the reference"),
    "itself.csv": (lambda: orders(0), "the candidate is the reference: all rows are the same"),
    "good.csv": (lambda: orders(2), ""),
    "good.parquet": (lambda: orders(3), ""),
    "good.jsonl": (lambda: orders(4), ""),
}


def write(table, path):
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_json(path, orient="records", lines=True, date_format="iso")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Calibrate, and check all candidates at once: the reference is read and summed once."""
    folder = tmp_path_factory.mktemp("orders")
    write(orders(0), folder / "reference.csv")
    write(orders(1), folder / "accepted.csv")
    for name, (table, _) in CASES.items():
        write(table(), folder / name)
    patch = pytest.MonkeyPatch()
    with patch.context() as inside:
        inside.chdir(folder)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            assert main(["calibrate", "reference.csv", "accepted.csv", "-o", "t.json"]) == 0
            printed.truncate(0)
            printed.seek(0)
            given = ["-t", "t.json", "--json", "--junit", "j.xml"]
            assert main(["check", "reference.csv", *CASES, *given]) == 1
    cases = ElementTree.parse(folder / "j.xml").getroot().iter("testcase")
    suite = {case.get("name").partition(" is close")[0]: case for case in cases}
    found = json.loads(printed.getvalue())["candidates"]
    return {each["candidate"]: (each, suite[each["candidate"]]) for each in found}


@pytest.mark.parametrize("name", CASES)
def test_what_nobody_wants_does_not_pass(told, name):
    found, case = told[name]
    words, trust = CASES[name][1], name.startswith(("memorised", "itself"))
    decision = "CLOSE" if not words else "UNDECIDED" if trust else "FAR"
    failing = [fact for fact in found["facts"] if fact["fails"]]
    assert found["decision"] == decision, failing
    assert found["exit_code"] == {"CLOSE": 0, "FAR": 1, "UNDECIDED": 3}[decision]
    assert (case.find("failure") is None) == (decision == "CLOSE")
    if not words:
        assert failing == []
        return
    [fact] = [fact for fact in failing if fact["message"] in words or words in _whole(fact)]
    assert fact["kind"] == ("trust" if trust else "data")
    assert words in case.find("failure").get("message")
    assert trust or any(words in reason for reason in found["reasons"])


def _whole(fact):
    return f"{fact['column']}: {fact['message']}" if fact["column"] else fact["message"]
