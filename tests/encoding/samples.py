"""Small mixed tables in every library."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

LIBRARIES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "pandas with Arrow types": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns: pl.DataFrame(columns),
    "lazy polars": lambda columns: pl.LazyFrame(columns),
    "Arrow": lambda columns: pa.table(columns),
    "Arrow batch": lambda columns: pa.RecordBatch.from_pydict(columns),
}


def mixed_columns(rows=400, seed=0):
    """Plain lists: every kind of column, with missing values in each."""
    rng = np.random.default_rng(seed)

    def holes(values, share=0.1):
        return [None if gone else v for v, gone in zip(values, rng.random(rows) < share, strict=True)]

    start = dt.datetime(2024, 1, 1)
    moments = [start + dt.timedelta(hours=int(h)) for h in rng.integers(0, 5000, rows)]
    return {
        "age": holes(rng.integers(18, 90, rows).tolist()),
        "income": holes(rng.lognormal(10, 1, rows).tolist()),
        "city": holes(rng.choice(["Ulm", "Bonn", "Köln"], rows).tolist()),
        "member": holes((rng.random(rows) < 0.3).tolist()),
        "joined": holes([m.date() for m in moments]),
        "seen": holes(moments),
        "zoned": holes([m.replace(tzinfo=dt.UTC) for m in moments]),
        "stay": holes([dt.timedelta(minutes=int(m)) for m in rng.integers(1, 500, rows)]),
    }


def table(**columns):
    return pa.table(columns)
