"""Lazy tables of Polars and relations of DuckDB, read in batches."""

from functools import cache

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import nammd
from nammd.data import mapped_tables, streamed_tables
from nammd.data.opening import open_dataset
from nammd.kernels import large
from nammd.spaces.space import sample_of
from tests.data.mapped_laws import *  # noqa: F403
from tests.data.mapped_laws import CANDIDATE, REFERENCE, assert_same


def of_polars(rows):
    return pl.from_arrow(rows).lazy()


def of_duckdb(rows):
    return duckdb.connect().from_arrow(rows)


KINDS = {"polars": of_polars, "duckdb": of_duckdb}


@pytest.fixture(params=KINDS)
def lazily(request, monkeypatch):
    """Make a lazy table of which nothing is held in memory."""
    monkeypatch.setattr(streamed_tables, "HELD", 0)
    return KINDS[request.param]


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_memory_holds_are_there(kind):
    assert streamed_tables.HELD == 1 << 30
    assert mapped_tables.HOME_ROWS == large.MOST_ROWS
    x, y = map(KINDS[kind], (REFERENCE, CANDIDATE))
    assert open_dataset(x, "x").in_memory
    assert_same(nammd.distance(x, y), nammd.distance(REFERENCE, CANDIDATE))


@cache
def large_tables():
    """Two tables as large as that, a space, and the distance and a digest of the rows in memory."""
    rng, rows = np.random.default_rng(0), large.MOST_ROWS + 1
    x, y = (
        pa.table({"age": rng.normal(shift, 1.0, rows), "city": rng.choice(["Ulm", "Bonn", "Kiel"], rows)})
        for shift in (0.0, 0.02)
    )
    space = nammd.Space.fit(x)
    return x, y, space, nammd.distance(x, y, space=space), sample_of(open_dataset(x, "x"), space, True).digest


def test_so_many_rows_that_they_are_not_compared_in_pairs(lazily):
    # As they are, without smaller limits: features are float32 then, so this says 1e-9 of a distance of one.
    x, y, space, expected, digest = large_tables()
    found = nammd.distance(lazily(x), lazily(y), space=space)
    assert found.engine == "Mapped()"
    assert found.value == pytest.approx(expected.value, abs=1e-9)
    assert found.standard_error == pytest.approx(expected.standard_error, abs=1e-9)
    assert sample_of(open_dataset(lazily(x), "x"), space, True).digest == digest


def test_rows_that_come_in_another_order_are_refused(lazily, many):
    if lazily is of_duckdb:
        x = duckdb.connect().from_arrow(REFERENCE).order("random()")
    else:
        x = of_polars(REFERENCE).with_columns(pl.col("age").shuffle())
    with pytest.raises(ValueError, match="x gave other rows, or the same in another order"):
        nammd.distance(x, lazily(CANDIDATE), space=nammd.Space.fit(REFERENCE))


def test_a_relation_can_be_asked_for_a_sample(lazily, many):
    """What the refusal says can be done."""
    x, y = lazily(REFERENCE), CANDIDATE
    advice = open_dataset(x, "x").in_pieces().whereabouts
    if lazily is of_polars:
        assert advice.sample == "x.gather_every(100)"
        some = x.gather_every(2)
    else:
        assert "using sample" in advice.sample
        some = x.query("x", "from x using sample 300 rows")
    assert nammd.distance(some, y, exact=True).m == 300
