"""The data of a pipeline: a reference, its tolerance, and a file for every outcome of a check."""

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import nammd

OUTCOMES = {"close": "CLOSE", "far": "FAR", "few": "UNDECIDED", "copy": "UNDECIDED"}
"""The files by their names; of a copy of the reference a fact says that it proves nothing."""


def table(seed, shift, rows):
    rng = np.random.default_rng(seed)
    return pa.table({"amount": rng.normal(50 + 10 * shift, 10, rows), "age": rng.normal(40, 9, rows)})


def write_files(folder):
    files = {
        "train": table(0, 0.0, 800),
        "accepted": table(1, 0.6, 800),
        "close": table(2, 0.1, 600),
        "far": table(3, 3.0, 600),
        "few": table(4, 0.6, 40),
        "copy": table(0, 0.0, 800),
    }
    for name, content in files.items():
        parquet.write_table(content, folder / f"{name}.parquet")
    train, accepted = (folder / f"{name}.parquet" for name in ("train", "accepted"))
    tolerance = nammd.Tolerance.from_reference(train, accepted, scales="median")
    tolerance.save(folder / "tolerance.json")
    for name, word in OUTCOMES.items():
        verdict = tolerance.check(train, folder / f"{name}.parquet")
        assert (verdict.decision.value, bool(verdict.failures)) == (word, name == "copy")
