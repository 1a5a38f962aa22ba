"""What a tolerance file keeps of columns: an array for each field; the former layout is read too."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.errors.seal import sealed
from nammd.errors.stored import Stored
from nammd.tolerances.columns import ColumnTolerances
from nammd.tolerances.file import VERSION, rendered
from nammd.views.serial import packed

FORMER = Path(__file__).with_name("former")
"""Files that were written in the former layout, of the tables below."""


def table(seed: int, shift: float = 0.0, rows: int = 40) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.normal(40 + shift, 10, rows).round(1),
            "income": [
                None if k % 9 == 0 else float(v) for k, v in enumerate(rng.lognormal(8, 1, rows).round(2))
            ],
            "children": rng.integers(0, 4, rows),
            "city": [["Ulm", "Bonn", "Kiel", None][k] for k in rng.integers(0, 4, rows)],
            "member": [bool(k) for k in rng.integers(0, 2, rows)],
            "seen": [datetime(2026, 1, 1) + timedelta(hours=int(h)) for h in rng.integers(0, 2000, rows)],
            "visit": [f"v{k // 2}" for k in range(rows)],
        }
    )


REFERENCE, ACCEPTED, TODAY = table(0), {"spring": table(1, 6.0), "autumn": table(2)}, table(3)
NO_VISIT = {"exclude": ["visit"]}
MADE = {
    "rows": lambda: nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, space=NO_VISIT, anyway=True),
    "groups": lambda: nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, groups="visit", anyway=True),
    "noise": lambda: nammd.Tolerance.from_noise(REFERENCE, level=0.2, space=NO_VISIT, anyway=True),
    "many rows": lambda: nammd.Tolerance.from_reference(
        table(0, rows=2000), {"spring": table(1, 6.0, 1500)}, space=NO_VISIT, anyway=True
    ),
    "text": lambda: nammd.Tolerance.from_reference(
        pa.table(
            {
                "note": [f"the {k % 7} cats and {k} dogs" for k in range(90)],
                "code": [f"c{k % 60}" for k in range(90)],
            }
        ),
        space={"text": "hashed"},
        anyway=True,
    ),
    "array": lambda: nammd.Tolerance.from_split(np.random.default_rng(0).normal(size=(60, 3)), anyway=True),
}


def require_same(one: Any, two: Any, where: str = "") -> None:
    """Refuse whatever differs in a bit."""
    assert type(one) is type(two) or (isinstance(one, float) and isinstance(two, float)), where
    if dataclasses.is_dataclass(one):
        for each in dataclasses.fields(one):
            require_same(getattr(one, each.name), getattr(two, each.name), f"{where}.{each.name}")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape, one.tobytes()) == (two.dtype, two.shape, two.tobytes()), where
    elif isinstance(one, Mapping):
        assert list(one) == list(two), where
        for key in one:
            require_same(one[key], two[key], f"{where}[{key!r}]")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(two), where
        for k, each in enumerate(zip(one, two, strict=True)):
            require_same(*each, f"{where}[{k}]")
    else:
        assert one == two or (one != one and two != two), where


@pytest.mark.parametrize("kind", ["rows", "groups", "noise"])
def test_a_file_of_the_former_layout_is_read_and_written_in_the_present_one(
    kind: str, tmp_path: Path
) -> None:
    former = nammd.Tolerance.load(FORMER / f"{kind}.json")
    plain = json.loads((FORMER / f"{kind}.json").read_text())
    assert former.column_tolerances.tolerances() == plain["column_tolerances"]
    former.save(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["version"] == VERSION == plain["version"] + 1
    require_same(former, nammd.Tolerance.load(tmp_path / "t.json"))
    if kind != "groups":
        made = MADE[kind]()
        assert former.epsilon == pytest.approx(made.epsilon)
        words = [each.check(REFERENCE, TODAY).column_checks for each in (former, made)]
        assert [c.name for c in words[0]] == [c.name for c in words[1]]
        assert [c.pvalue for c in words[0]] == pytest.approx([c.pvalue for c in words[1]])


@pytest.mark.parametrize("kind", MADE)
def test_what_was_written_is_read_to_the_last_bit(kind: str, tmp_path: Path) -> None:
    made = MADE[kind]()
    made.save(tmp_path / "t.json")
    again = nammd.Tolerance.load(tmp_path / "t.json")
    require_same(made.column_tolerances.limits, again.column_tolerances.limits)
    require_same(
        made.column_tolerances.pairs.reference.columns, again.column_tolerances.pairs.reference.columns
    )
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "t.json").read_bytes()
    require_same(again, nammd.Tolerance.load(tmp_path / "again.json"))


LIMITS, NUMBERS = ("columns", "limits"), ("columns", "limits", "reference", "numbers")
PAIRS, HOME = ("columns", "pairs"), ("accepted", "home")


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ((*LIMITS, "names"), "age", "columns.limits.names must be a list"),
        ((*LIMITS, "counted", "of", 0), "shares", "columns.limits.counted.of[0] must be 'numbers' or"),
        ((*LIMITS, "counted", "which"), packed([7] * 6, "<u4"), "columns.limits.counted.which must hold"),
        ((*LIMITS, "scale"), packed([0.0] * 6, "<f8"), "columns.limits.scale must hold"),
        ((*LIMITS, "negligible", "age"), "", "'columns.limits.negligible.age' is no field"),
        (
            (*LIMITS, "negligible", "labels"),
            packed([0.1] * 6, "<f8"),
            "numbers for values and missing of column 0",
        ),
        ((*LIMITS, "fixed", "values"), packed([2.0] * 6, "<f8"), "columns.limits.fixed.values must hold"),
        (
            (*LIMITS, "accepted", 0, "labels"),
            [],
            "columns.limits.accepted[0].labels must be one entry for each",
        ),
        ((*LIMITS, "reference", "labels", 0), {"Ulm": -1}, "columns.limits.reference.labels[0].Ulm must be"),
        ((*LIMITS, "reference", "missing"), packed([np.nan] * 6, "<f8"), "reference.missing must hold"),
        ((*LIMITS, "groups"), [None], "columns.limits.groups must be one entry for each column"),
        ((*NUMBERS, "exact"), packed([2] * 4, "<u1"), "numbers.exact must hold numbers from 0 to 1"),
        ((*NUMBERS, "sizes"), packed([5] * 4, "<u4"), "numbers.rows must hold 20 numbers"),
        (
            (*NUMBERS, "sizes"),
            packed([2**32 - 1] * 4, "<u4"),
            "numbers.sizes must hold numbers from 0 to 102401",
        ),
        ((*NUMBERS, "places"), "?", "numbers.places must be the bytes of numbers"),
        ((*NUMBERS, "present"), packed([0] * 4, "<i8"), "numbers.present must be the number of rows at"),
        ((*NUMBERS, "low"), packed([1e300] * 4, "<f8"), "numbers.low must be at most columns.limits."),
        ((*NUMBERS, "grains"), packed([5] * 4, "<u1"), "numbers.grains must be 0 or 11 or 7"),
        ((*NUMBERS, "units", "of", 0), "€", "numbers.units.of[0] must be a list"),
        ((*PAIRS, "columns", "names", 0), "nobody", "columns.pairs.columns.names must be columns that have"),
        ((*PAIRS, "columns", "cuts"), packed([200] * 6, "<u1"), "columns.pairs.columns.edges must hold"),
        ((*PAIRS, "columns", "labels"), [], "columns.pairs.columns.labels must be one entry for each"),
        ((*PAIRS, "pairs"), packed([0, 99], "<u4"), "columns.pairs.pairs must hold"),
        ((*PAIRS, "pairs"), packed([0, 0], "<u4"), "columns.pairs.pairs must be two columns each"),
        ((*PAIRS, "pairs"), packed([0], "<u4"), "columns.pairs.pairs must be two columns each"),
        ((*PAIRS, "pairs"), packed([0, 1] * 2001, "<u4"), "columns.pairs.pairs must be at most 2000 pairs"),
        ((*PAIRS, "reference", "quantiles"), packed([1.0], "<f8"), "pairs.reference.quantiles must hold"),
        ((*HOME, "slots"), packed([999] * 4, "<i4"), "accepted.home.slots must hold"),
        ((*HOME, "values"), "", "accepted.home.values must hold"),
        (
            ("accepted", "datasets", 0, "maps", "slots"),
            packed([999], "<i4"),
            "those of columns of the reference",
        ),
        (
            ("accepted", "datasets", 0, "maps", "slots"),
            packed([0] * 1000, "<i4"),
            "those of columns of the reference",
        ),
        (("accepted", "datasets", 0, "maps", "after"), "", "maps.after must hold"),
    ],
)
def test_what_cannot_be_is_refused_by_its_place(
    place: tuple[Any, ...], value: Any, words: str, tmp_path: Path
) -> None:
    MADE["rows"]().save(tmp_path / "t.json")
    stored = json.loads((tmp_path / "t.json").read_text())
    inner = stored
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (tmp_path / "t.json").write_bytes(sealed(rendered(stored)))
    with pytest.raises(ValueError, match=r"t\.json is damaged: ") as caught:
        nammd.Tolerance.load(tmp_path / "t.json")
    assert words in str(caught.value)


def test_places_that_are_out_of_order_are_refused(tmp_path: Path) -> None:
    MADE["rows"]().save(tmp_path / "t.json")
    stored = json.loads((tmp_path / "t.json").read_text())
    numbers = stored["columns"]["limits"]["reference"]["numbers"]
    places = Stored(numbers["places"]).unpacked(folded=True)
    numbers["places"] = packed(places[::-1], "<f8")
    (tmp_path / "t.json").write_bytes(sealed(rendered(stored)))
    with pytest.raises(ValueError, match=r"numbers\.places must be places in ascending order"):
        nammd.Tolerance.load(tmp_path / "t.json")


def test_a_file_of_more_columns_has_no_more_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = Stored.__getitem__
    monkeypatch.setattr(Stored, "__getitem__", lambda self, key: asked.append(key) or real(self, key))
    found = []
    for columns in (5, 50):
        rows = np.random.default_rng(0).normal(size=(2, 30, columns))
        x, y = (pa.table({f"c{k}": each for k, each in enumerate(one.T)}) for one in rows)
        content = nammd.Tolerance.from_reference(x, {"y": y}, anyway=True).column_tolerances.to_dict()
        asked.clear()
        ColumnTolerances.read(Stored(json.loads(json.dumps(content))))
        found.append(len(asked))
    assert found[0] == found[1]
