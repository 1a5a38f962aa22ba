"""What is noticed of rows that do not stay: on a cluster, and in sketches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.data.opening import open_dataset
from nammd.encoding.noticed import Noticed
from nammd.errors.stored import Stored
from nammd.reading.text_formats.understanding import Unread

ROWS = 600


def months(seed: int, **changed: Any) -> pd.DataFrame:
    """Prices as text, an identifier, a column without values, and numbers."""
    rng = np.random.default_rng(seed)
    found = {
        "price": [f"{value:.2f}".replace(".", ",") for value in rng.lognormal(3, 1, ROWS)],
        "size": rng.normal(size=ROWS),
        "code": [f"row {k}" for k in range(ROWS)],
        "empty": [None] * ROWS,
    }
    return pd.DataFrame(found | changed)


REFERENCE = months(0)
BAD = ["broken" if k % 100 == 7 else price for k, price in enumerate(months(1)["price"])]
SPACE = nammd.Space.fit(REFERENCE)
TOLERANCE = nammd.Tolerance.at(0.1, space=SPACE)
FEATURES = nammd.RandomFeatures(SPACE.kernel, 64, rng=0)

SOURCES = [
    "memory",
    "dask",
    "sketch",
    "sketch of batches",
    "sketch of a file",
    "sketch of dask",
    "added",
    "saved",
]


def given(table: pd.DataFrame, how: str, folder: Path) -> Any:
    """Return a table as one of the things that it may come as."""
    if how == "memory":
        return table
    if how == "dask":
        return dd.from_pandas(table, npartitions=4)
    if how == "sketch of dask":
        return nammd.Sketch.of(dd.from_pandas(table, npartitions=4), FEATURES, space=SPACE)
    batches = [table[:250], table[250:500], table[500:]]
    if how == "sketch of batches":
        return nammd.Sketch.of_batches(batches, FEATURES, space=SPACE)
    if how == "sketch of a file":
        table.to_csv(folder / "x.csv", index=False)
        return nammd.Sketch.of_file(folder / "x.csv", FEATURES, space=SPACE, batch_rows=250)
    if how == "added":
        return sum(nammd.Sketch.of(batch, FEATURES, space=SPACE) for batch in batches)
    whole = nammd.Sketch.of(table, FEATURES, space=SPACE)
    return whole if how == "sketch" else nammd.Sketch.load(whole.save(folder / "x.sketch"))


def said(table: pd.DataFrame, how: str, folder: Path) -> dict[str, str]:
    """Return the cautions and the facts of a check, by their codes."""
    reference = given(REFERENCE, "sketch", folder) if "s" in how[:1] or how == "added" else REFERENCE
    verdict = TOLERANCE.check(reference, given(table, how, folder))
    return {each.code: str(each) for each in (*verdict.cautions, *verdict.facts)}


@pytest.mark.parametrize("how", SOURCES)
def test_cells_that_cannot_be_read_are_counted_wherever_the_rows_are(how: str, tmp_path: Path) -> None:
    words = said(months(1, price=BAD), how, tmp_path)["unreadable"]
    assert "6 of 600 values of 'price' cannot be read as numbers with decimal commas" in words
    assert "such as 'broken'" in words
    assert "unreadable" not in said(months(1), how, tmp_path)


@pytest.mark.parametrize("how", SOURCES)
def test_columns_left_out_that_changed_are_noticed_wherever_the_rows_are(how: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    words = said(months(1, code=rng.normal(size=ROWS), empty=rng.normal(size=ROWS)), how, tmp_path)
    assert words["type-changed"] == "code: text in the reference, numbers now"
    assert "'empty' (all its values are missing in the reference)" in words["now-usable"]
    assert not {"type-changed", "now-usable"} & set(said(months(1), how, tmp_path))


@pytest.mark.parametrize("how", SOURCES)
def test_columns_that_nobody_knows_are_named_wherever_the_rows_are(how: str, tmp_path: Path) -> None:
    assert "'colour'" in said(months(1, colour=1.5), how, tmp_path)["extra-columns"]


def test_nothing_to_say_takes_no_room() -> None:
    assert Noticed().to_dict() == {}
    assert Noticed.read(Stored({})) == Noticed()


def test_what_is_noticed_can_be_stored() -> None:
    cells = {"price": Unread("price", 3, 10, "x", "numbers")}
    noticed = Noticed(cells, {"a": "numbers in the reference, text now"}, (), ("b",))
    assert Noticed.read(Stored(noticed.to_dict())) == noticed


@pytest.mark.parametrize(
    "stored",
    [
        [],
        {"other": []},
        {"types": "text"},
        {"types": [1]},
        {"types": {"a": 1}},
        {"unread": {}},
        {"unread": [{"column": "a"}]},
        {"unread": [{"column": "a", "cells": -1, "rows": 1, "example": "", "words": ""}]},
        {"unread": [{"column": 1, "cells": 1, "rows": 1, "example": "", "words": ""}]},
    ],
)
def test_damaged_notes_are_refused(stored: Any) -> None:
    with pytest.raises(ValueError, match=r"must|missing|no field"):
        Noticed.read(Stored(stored))


def test_readable_columns_on_a_cluster_are_not_read_once_more() -> None:
    read: list[int] = []

    def counting(part: pd.DataFrame) -> pd.DataFrame:
        read.append(len(part))
        return part

    table = months(1)[["size"]].assign(other=range(ROWS), label=["a", "b"] * (ROWS // 2))
    space = nammd.Space.fit(table)
    frame = dd.from_pandas(table, npartitions=4).map_partitions(counting, meta=table.head(0))
    opened = open_dataset(frame, "x")
    read.clear()
    from nammd.encoding.noticed import unread

    assert unread(space.encoding, opened) == {}
    assert len(read) <= 1  # one piece tells that nothing is written as text
