"""A column that is lacking is found under another name, by its values."""

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.cli import main


def flights(seed, **names):
    rng = np.random.default_rng(seed)
    carriers = rng.choice(["UA", "AA", "DL", "B6"], 300, p=[0.4, 0.3, 0.2, 0.1])
    table = {
        "carrier": carriers,
        "origin": rng.choice(["JFK", "LGA", "EWR"], 300),
        "delay": rng.normal(12.0, 30.0, 300),
        "distance": rng.lognormal(7.0, 0.5, 300),
    }
    return pa.table({names.get(name, name): values for name, values in table.items()})


RENAMED = flights(1, carrier="airline", delay="late")


def test_in_the_space_of_a_reference():
    space = nammd.Space.fit(flights(0))
    with pytest.raises(ValueError, match="this space has; 'airline' looks like 'carrier'"):
        space.encoding.transform(flights(1, carrier="airline"))
    with pytest.raises(ValueError, match="'late' looks like 'delay'"):
        space.encoding.transform(RENAMED)


def test_in_a_comparison_of_two_tables():
    message = "y lacks columns that x has: 'carrier', 'delay'; .*'airline' looks like 'carrier'"
    with pytest.raises(ValueError, match=message) as error:
        nammd.distance(flights(0), RENAMED)
    assert "'late' looks like 'delay'" in str(error.value)
    assert str(error.value).endswith("by their values")


def test_what_is_something_else_is_not_named():
    other = flights(1, delay="gate").set_column(2, "gate", pa.array(np.arange(300.0)))
    with pytest.raises(ValueError, match="has no column 'delay'") as error:
        nammd.Space.fit(flights(0)).encoding.transform(other)
    assert "looks like" not in str(error.value)


def test_what_looks_like_several_is_not_named():
    rng = np.random.default_rng(0)
    x, y = (pa.table({name: rng.normal(size=3000) for name in names}) for names in ("abc", "auv"))
    with pytest.raises(ValueError, match="lacks columns") as error:
        nammd.distance(x, y)
    assert "looks like" not in str(error.value)


def test_names_that_differ_in_case_are_said_first():
    with pytest.raises(ValueError, match="'Carrier', which differs only in case or spaces"):
        nammd.distance(flights(0), flights(1, carrier="Carrier"))


def test_the_work_is_bounded(monkeypatch):
    from nammd.data.frames import Frame

    rows = []
    whole = Frame.values
    monkeypatch.setattr(Frame, "values", lambda self, name: rows.append(self.rows) or whole(self, name))
    rng = np.random.default_rng(0)
    wide = {f"new {k}": rng.normal(size=30_000) for k in range(60)}
    with pytest.raises(ValueError, match="lacks columns"):
        nammd.distance(pa.table({"a": rng.normal(size=30_000), "b": rng.normal(size=30_000)}), pa.table(wide))
    assert max(rows) == 10_000
    assert len(rows) <= 42


def test_the_command_line_says_it(tmp_path, capsys):
    from pyarrow import csv

    csv.write_csv(flights(0), tmp_path / "x.csv")
    csv.write_csv(flights(1, carrier="airline"), tmp_path / "y.csv")
    assert main(["distance", str(tmp_path / "x.csv"), str(tmp_path / "y.csv")]) == 2
    assert "'airline' looks like 'carrier'" in " ".join(capsys.readouterr().err.split())
