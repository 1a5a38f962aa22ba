import threading

import numpy as np
import pytest

from nammd.data import ordering, threads
from nammd.data.ordering import ascending, stable_order
from nammd.data.repeats import row_keys
from nammd.data.threads import beside, each_in_threads


def test_results_are_in_their_order_and_come_from_several_threads(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 3)
    meet = threading.Barrier(3, timeout=10)

    def look(number):
        meet.wait()
        return number, threading.current_thread().name

    found = each_in_threads(look, range(3), values=1 << 22)
    assert [number for number, _ in found] == [0, 1, 2]
    assert len({name for _, name in found}) == 3


@pytest.mark.parametrize(("cpus", "values"), [(1, 1 << 22), (3, 1000)])
def test_one_cpu_and_few_values_need_no_threads(monkeypatch, cpus, values):
    monkeypatch.setattr(threads, "cpu_count", lambda: cpus)
    here = threading.current_thread()
    assert (
        each_in_threads(lambda _: threading.current_thread() is here, range(4), values=values) == [True] * 4
    )


def test_the_first_error_is_raised(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 4)

    def fail(number):
        raise ValueError(f"column {number}")

    with pytest.raises(ValueError, match="column 0"):
        each_in_threads(fail, range(4), values=1 << 22)


def test_one_thing_goes_on_beside_another(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 2)
    begun, go_on = threading.Event(), threading.Event()

    def look():
        begun.set()
        assert go_on.wait(10)
        return np.geterr()["divide"], threading.current_thread().name

    with np.errstate(divide="raise"):
        found = beside(look, 1 << 22)
    assert begun.wait(10)  # nobody has asked yet
    go_on.set()
    how, name = found()
    assert how == "raise"  # what was said there holds here
    assert name != threading.current_thread().name


def test_an_error_beside_is_raised_when_somebody_asks(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 2)

    def fail():
        raise ValueError("no such column")

    found = beside(fail, 1 << 22)
    with pytest.raises(ValueError, match="no such column"):
        found()


@pytest.mark.parametrize(("cpus", "values"), [(1, 1 << 22), (2, 1000)])
def test_little_work_waits_until_somebody_asks(monkeypatch, cpus, values):
    monkeypatch.setattr(threads, "cpu_count", lambda: cpus)
    calls = []
    found = beside(lambda: calls.append(threading.current_thread()), values)
    assert not calls
    found()
    found()  # what is known is not worked out again
    assert calls == [threading.current_thread()]


@pytest.mark.parametrize("cpus", [1, 2, 5, 16])
def test_numbers_are_in_order_however_many_parts_there_are(monkeypatch, cpus):
    monkeypatch.setattr(ordering, "cpu_count", lambda: cpus)
    monkeypatch.setattr(threads, "cpu_count", lambda: cpus)
    monkeypatch.setattr(ordering, "_ONE_PART", 2000)
    rng = np.random.default_rng(0)
    for values in (
        rng.integers(-(2**63), 2**63 - 1, 5000),
        rng.normal(size=5000),
        rng.integers(0, 3, 5000),
        np.where(rng.random(5000) < 0.2, np.nan, rng.normal(size=5000).round(1)),
        np.where(rng.random(5000) < 0.9, np.inf, -np.inf),
        np.full(5000, np.nan),
        rng.normal(size=100),
    ):
        np.testing.assert_array_equal(ascending(values), np.sort(values))
        np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))


def test_keys_of_rows_are_the_same_in_any_number_of_threads(monkeypatch):
    points = np.random.default_rng(0).normal(size=(400_000, 3))
    found = []
    for cpus in (1, 4):
        monkeypatch.setattr(threads, "cpu_count", lambda cpus=cpus: cpus)
        found.append(row_keys(points))
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0][:10], row_keys(points[:10]))
