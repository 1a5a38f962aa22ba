"""What is looked at beside the sums, in a thread of its own, changes no verdict."""

import threading

import numpy as np
import pytest

import nammd
from nammd.data import threads
from nammd.tolerances.gate import Gate


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
