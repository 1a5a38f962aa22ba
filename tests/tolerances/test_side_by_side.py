"""What is looked at beside the sums, in a thread of its own, changes no verdict."""

import threading

import numpy as np
import pytest

import nammd
from nammd.data import arrays, threads
from nammd.data.arrays import digest_of
from nammd.tolerances import gate_columns
from nammd.tolerances.gate import Gate
from nammd.tolerances.gate_columns import GateColumns


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


LOOKS = ((Gate, "facts"), (GateColumns, "check"), (GateColumns, "check_pairs"))


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("accepted", [True, False])
def test_a_verdict_is_the_same(name, accepted, monkeypatch):
    more = {"accepted": table(3, 0.2)} if accepted else None
    tolerance = nammd.Tolerance.from_reference(REFERENCE, more)
    expected = tolerance.check(REFERENCE, CANDIDATES[name])
    monkeypatch.setattr(threads, "_THREADS_PAY", 0)
    monkeypatch.setattr(threads, "cpu_count", lambda: 2)
    where = {}

    def noted(what, look):
        def seen(*given):
            where[what] = threading.current_thread() is not threading.main_thread()
            return look(*given)

        return seen

    for owner, what in LOOKS:
        monkeypatch.setattr(owner, what, noted(what, getattr(owner, what)))
    found = tolerance.check(REFERENCE, CANDIDATES[name])
    assert where.pop("facts")
    assert where.pop("check")
    if not expected.details.nearest.pair.void:  # else nobody asks for pairs
        assert where == {"check_pairs": not accepted}  # what a candidate is like is known from the sums
    assert found.to_dict() == expected.to_dict()


def test_what_columns_are_held_against_is_read_once(monkeypatch):
    """Also where the reference is not the one of the tolerance, so that its columns have to be read."""
    torch = pytest.importorskip("torch")
    x, other, y = torch.asarray(np.random.default_rng(5).normal(size=(3, 400, 3)))
    gate = nammd.Tolerance.from_reference(x).with_reference(other)
    monkeypatch.setattr(threads, "_THREADS_PAY", 0)
    monkeypatch.setattr(threads, "cpu_count", lambda: 2)
    read, count = gate_columns.tally_columns, []

    def counted(dataset, *given, **options):
        count.append(dataset.name)
        return read(dataset, *given, **options)

    monkeypatch.setattr(gate_columns, "tally_columns", counted)
    gate.check(y)
    assert sorted(count) == ["the candidate", "the reference"]


@pytest.mark.parametrize("rows", [400, 70_000])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16])
def test_a_digest_is_that_of_the_numbers_whatever_their_type(rows, kind):
    numbers = (100 * np.random.default_rng(6).normal(size=(rows, 3))).astype(kind)
    assert digest_of(numbers) == digest_of(numbers.astype(np.float64))


def test_a_digest_of_rows_on_a_device_is_begun_early_and_is_the_same(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(threads, "_THREADS_PAY", 1)
    monkeypatch.setattr(threads, "cpu_count", lambda: 2)
    there, asked = nammd.spaces.sample.digest_of, []

    def noted(points):
        asked.append(threading.current_thread() is threading.main_thread())
        return there(points)

    monkeypatch.setattr(nammd.spaces.sample, "digest_of", noted)
    x, y = np.random.default_rng(7).normal(size=(2, 400, 3))
    tolerance = nammd.Tolerance.from_reference(torch.asarray(x))
    assert tolerance.origin.digest == there(x)
    verdict = tolerance.check(torch.asarray(x), torch.asarray(y))
    assert asked == [False, False]
    assert verdict.to_dict() == tolerance.check(torch.asarray(x), torch.asarray(y)).to_dict()
    tolerance.check(x, y)
    assert asked[-1]


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
def test_only_of_data_on_a_device_are_values_counted(kind, values, monkeypatch):
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
    candidate = gate._open(y)
    asked = []
    monkeypatch.setattr(arrays, "beside", lambda look, values: asked.append(values) or look)
    gate.verdict(gate.candidate(candidate), 0.05)
    assert set(asked) == {values}


def test_a_thread_comes_after_what_a_gpu_was_told_before():
    """Also where that was told in a stream of the caller's own, of which other threads know nothing."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    large = torch.rand((8192, 8192), device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.zeros(1 << 21, device="cuda")
        for _ in range(20):
            large @ large
        x += 1
        found = arrays.beside_device(lambda: float(x.sum()), x)
        assert found() == 1 << 21
