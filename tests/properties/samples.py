"""Small datasets that the tests of properties share."""

import numpy as np
import pandas as pd

import nammd

KERNEL = nammd.Gaussian(1.5)
FEATURES = nammd.RandomFeatures(KERNEL, 48, rng=4)
LAWS = {
    "equal": {},
    "near": {"loc": 0.2},
    "apart": {"loc": 0.7},
    "wide": {"scale": 1.6},
    "far": {"loc": 2.5},
}


def points(seed, rows, columns=2, **law):
    return np.random.default_rng([7, seed]).normal(size=(rows, columns), **law)


def groups_of_points(seed, groups=30, shift=0.0):
    """Rows of several each, labels that no other seed has, and weights."""
    rng = np.random.default_rng([8, seed])
    labels = np.repeat(np.arange(groups), rng.integers(1, 7, size=groups))
    own = rng.normal(size=(groups, 2))[labels]
    rows = 0.8 * own + 0.6 * rng.normal(size=(len(labels), 2)) + shift
    return rows, 1000 * seed + labels, rng.uniform(0.5, 2.0, len(labels))


def series(seed, rows=160, shift=0.0, memory=0.6):
    """Rows that follow each other and remember."""
    rng = np.random.default_rng([9, seed])
    value, found = np.zeros(2), []
    for step in rng.normal(size=(rows, 2)):
        value = memory * value + step
        found.append(value + shift)
    return np.array(found)


def people(seed, rows=160, older=0.0, missing=0.1, cities=(0.5, 0.3, 0.2), customers=None):
    """A mixed table: numbers, labels, missing values, times, a constant; customers and weights if wanted."""
    rng = np.random.default_rng([10, seed])
    who = np.arange(rows) if customers is None else rng.integers(0, customers, rows)
    own = 0.8 * rng.normal(size=int(who.max()) + 1)[who]
    income = np.round(np.exp(rng.normal(10, 0.4, rows)), 2)
    table = pd.DataFrame(
        {
            "age": np.round(45 + 12 * (rng.normal(size=rows) + older + own), 1),
            "income": np.where(rng.random(rows) < missing, np.nan, income),
            "children": rng.poisson(1.2, rows),
            "city": rng.choice(["Ulm", "Bonn", "Trier"], rows, p=cities),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D"),
            "country": ["DE"] * rows,
        }
    )
    if customers is not None:
        table["customer"] = [f"{seed}-{k}" for k in who]
        table["w"] = np.round(rng.uniform(0.5, 2.0, rows), 3)
    return table


def together(seed, correlation, rows=200):
    """Two columns that go together, and one that goes its own way."""
    rng = np.random.default_rng([11, seed])
    a = rng.normal(size=rows)
    b = correlation * a + np.sqrt(1 - correlation**2) * rng.normal(size=rows)
    return pd.DataFrame({"a": a, "b": b, "c": rng.choice(list("uvw"), rows)})


def numbered(table, seed):
    """The same with a column in which no two rows of any table are alike."""
    return table.assign(row=[f"{seed}-{k}" for k in range(len(table))])
