"""Columns of large files are let go once they are points, and read again for whoever asks for them."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import nammd
from nammd.data.opening import open_dataset
from nammd.encoding import Encoding
from nammd.reading import files
from tests.counting import count_calls

WRITERS = {"parquet": parquet.write_table, "csv": csv.write_csv}


def table(seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": pa.array(rng.normal(40, 10, 400), mask=rng.random(400) < 0.1),
            "count": rng.poisson(4.0, 400),
            "city": rng.choice(["Ulm", "Bonn"], 400),
            "left out": rng.normal(size=400),
        }
    )


@pytest.fixture(params=WRITERS)
def path(request, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_READ_AGAIN_BYTES", 0)
    where = tmp_path / f"table.{request.param}"
    WRITERS[request.param](table(), where)
    return where


def encoded(dataset):
    encoding = Encoding.fit(dataset, exclude=["left out"])
    return encoding, encoding.points(dataset)


def test_columns_of_numbers_are_let_go_and_come_back_as_they_were(path, monkeypatch):
    dataset, kept = open_dataset(path, "x"), open_dataset(files.read(path), "x").frame
    calls = count_calls(monkeypatch, files.read)
    encoding, points = encoded(dataset)
    assert np.array_equal(points, encoding.transform(table()))
    held = [column is not None for column in dataset.frame._of_arrow]
    assert (held, dataset.frame._held) == ([False, False, True, True], None)
    for name in ("left out", "city"):
        dataset.frame.values(name)
    assert not calls
    for name in ("age", "count", "age"):
        now, before = dataset.frame.values(name), kept.values(name)
        assert np.array_equal(now.numbers, before.numbers, equal_nan=True)
        assert (now.kind, now.whole) == (before.kind, before.whole)
    assert dataset.frame.take(np.array([3, 1])).to_arrow() == kept.take(np.array([3, 1])).to_arrow()


def test_what_somebody_else_holds_is_not_let_go(path):
    dataset = open_dataset(files.read(path), "x")
    encoded(dataset)
    assert all(column is not None for column in dataset.frame._of_arrow)


def test_a_file_that_was_changed_is_not_taken_for_the_same(path):
    dataset = open_dataset(path, "x")
    encoded(dataset)
    WRITERS[path.suffix[1:]](table(1), path)
    with pytest.raises(ValueError, match=r"not what it was when it was opened.*run this again"):
        dataset.frame.values("age")
    path.unlink()
    with pytest.raises(ValueError, match="not what it was when it was opened"):
        dataset.frame.series("count")


def test_a_report_shows_columns_that_were_let_go(path, tmp_path):
    later = tmp_path / f"later{path.suffix}"
    WRITERS[path.suffix[1:]](table(1), later)
    pages = []
    for read in (str, files.read):
        nammd.distance(read(path), read(later)).report(tmp_path / "page.html")
        pages.append((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "count" in pages[0]
    assert len(pages[0]) == len(pages[1])
