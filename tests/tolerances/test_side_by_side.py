"""What is looked at beside the sums, in a thread of its own, changes no verdict."""

import threading

import numpy as np
import pytest

import nammd
from nammd.data import threads
from nammd.tolerances.gate import Gate, _values_elsewhere


def table(seed: int, shift: float = 0.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    amount = rng.normal(shift, 1.0, 400)
    return {
        "amount": amount.round(2),
        "paid": (amount + rng.normal(size=400)).round(2),
        "place": rng.choice(["Ulm", "Kiel", "Bonn"], 400),
    }


REFERENCE = table(0)
CANDIDATES = {
    "like it": table(1),
    "shifted": table(2, 1.0),
    "copied": {name: np.r_[column[:399], column[:1]] for name, column in REFERENCE.items()},
    "the same": REFERENCE,
}


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_verdict_is_the_same(name, monkeypatch):
    tolerance = nammd.Tolerance.from_reference(REFERENCE, {"accepted": table(3, 0.2)})
    expected = tolerance.check(REFERENCE, CANDIDATES[name])
    monkeypatch.setattr(threads, "_THREADS_PAY", 0)
    monkeypatch.setattr(threads, "cpu_count", lambda: 2)
    looked, where = Gate._looked_at, []

    def seen(*given):
        where.append(threading.current_thread())
        return looked(*given)

    monkeypatch.setattr(Gate, "_looked_at", seen)
    found = tolerance.check(REFERENCE, CANDIDATES[name])
    assert [thread is not threading.current_thread() for thread in where] == [True]
    assert found.to_dict() == expected.to_dict()


def test_an_error_there_is_the_error_of_the_check(monkeypatch):
    tolerance = nammd.Tolerance.from_reference(REFERENCE)
    monkeypatch.setattr(threads, "_THREADS_PAY", 0)
    monkeypatch.setattr(threads, "cpu_count", lambda: 2)

    def fail(*given):
        raise ValueError("column 'amount' cannot be looked at")

    monkeypatch.setattr(Gate, "facts", fail)
    with pytest.raises(ValueError, match="column 'amount' cannot be looked at"):
        tolerance.check(REFERENCE, CANDIDATES["like it"])


@pytest.mark.parametrize(("kind", "values"), [("tensor", 1200), ("array", 0), ("sketch", 0), ("dask", 0)])
def test_only_of_data_on_a_device_are_values_counted(kind, values):
    """Threads that sum, on this machine or others, would be in the way of one more."""
    x, y = np.random.default_rng(4).normal(size=(2, 400, 3))
    kernel = nammd.RandomFeatures(nammd.Gaussian(2.0), 64)
    if kind == "tensor":
        torch = pytest.importorskip("torch")
        x, y = torch.asarray(x), torch.asarray(y)
    elif kind == "sketch":
        x, y = (nammd.Sketch.of(each, kernel) for each in (x, y))
    elif kind == "dask":
        da = pytest.importorskip("dask.array")
        x, y = (da.from_array(each, chunks=(100, -1)) for each in (x, y))
    gate = nammd.Tolerance.at(0.02, kernel, n_columns=3).with_reference(x)
    assert _values_elsewhere(gate.candidate(gate._open(y))) == values
